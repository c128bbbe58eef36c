"""A page of a summary, charts and tables, for what is no run: audits, watched programs."""

from __future__ import annotations

from dataclasses import dataclass

from byteways.questions.display.chart import Chart
from byteways.questions.display.table import Table
from byteways.report.render import Deferred, asset, page_environment


@dataclass(frozen=True)
class SimplePage:
    """The content of the page."""

    kind: str  # audit, watch
    title: str
    marks: tuple[str, ...]
    summary: str
    notes: tuple[str, ...]
    heading: str  # of the tables
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()
    notes_heading: str = "How to read it"


def simple_page(page: SimplePage) -> str:
    """Returns the HTML text, which loads nothing from elsewhere, and has no script without charts."""
    names = ("page.js", "axes.js", "chart.js", "save.js") if page.charts else ()
    return (
        page_environment()
        .get_template("simple.html.j2")
        .render(
            page=page,
            style=asset("page.css"),
            scripts=[asset(name) for name in names],
            tips=Deferred(),
            later=Deferred(),
            charts=Deferred(),
        )
    )
