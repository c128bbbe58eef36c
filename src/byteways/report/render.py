"""Renders the page model to one self-contained HTML file, which loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from byteways.explain.best.representative import RULE
from byteways.explain.results.summary import RecordedRun, shown
from byteways.explain.two_runs.wording_comparison import HEADINGS
from byteways.plan.interfaces import INTERFACES
from byteways.report.charts import Chart
from byteways.report.compared import ComparedPage
from byteways.report.packing import packed, packed_text
from byteways.report.page import Page
from byteways.report.record_data import record_data
from byteways.text import visible, visible_data

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: A number with its unit.
_QUANTITY = re.compile(r"[\d.–]+ (?:%|[KMGT]iB|[GM]?B/s|[nµm]s)(?!\w)")
#: A line of a script that is a comment.
_COMMENT_LINE = re.compile(r"^[ ]*//.*\n", re.MULTILINE)


def script_json(value: Any) -> str:
    """Returns JSON that is safe within a script element: it cannot end the element or a line of script."""
    text = json.dumps(visible_data(value), separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class DeferredTexts:
    """Texts that the page unpacks after its first view, each once: details of cells, and large tables."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Returns the place of a text in `packed`."""
        return self._texts.setdefault(str(text), len(self._texts))

    def packed(self) -> str:
        """Returns all texts so far, compressed; '' without any."""
        return packed(visible_data(list(self._texts))) if self._texts else ""


def packed_records(run: RecordedRun) -> str:
    """Returns the records of a run for the table of its page."""
    return packed(record_data(run.manifest, list(map(shown, run.records))))


def render(page: Page, records: str, library: str | None = None) -> str:
    """Returns the HTML text.

    Args:
        page: What is on it.
        records: From `packed_records`.
        library: From `packed_library`; None: it is packed here if the page needs it.
    """
    environment = _environment()
    template = environment.get_template("report.html.j2")
    return template.render(
        page=page,
        interfaces=list(INTERFACES.items()),
        rule=RULE,
        style=_asset("page.css"),
        script=_asset("page.js"),
        curve=_asset("curve.js"),
        parts=_asset("parts.js"),
        explore=_asset("explore.js"),
        explorer_json=script_json(page.explorer.data) if page.explorer else "",
        plotly_packed=(library or packed_library()) if _needs_library(page.charts) else "",
        charts_packed=packed([visible_data(chart.figure) for chart in page.charts]),
        save=_asset("save.js"),
        records=_asset("records.js"),
        records_packed=records,
        tips=DeferredTexts(),
        later=DeferredTexts(),
    )


def render_compared(page: ComparedPage) -> str:
    """The HTML text of the page on two runs."""
    return (
        _environment()
        .get_template("compared.html.j2")
        .render(
            page=page,
            headings=HEADINGS,
            style=_asset("page.css"),
            own_style=_asset("compared.css"),
            script=_asset("page.js"),
            curve=_asset("curve.js"),
            parts=_asset("parts.js"),
            own_script=_asset("compared.js"),
            two_runs=_asset("two_runs.js"),
            save=_asset("save.js"),
            plotly_packed=packed_library() if _needs_library(page.charts) else "",
            charts_packed=packed([visible_data(chart.figure) for chart in page.charts]),
            map_json=script_json(page.map),
        )
    )


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("byteways.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["quantities"] = _quantities
    return environment


def _quantities(text: str) -> Markup:
    """Keeps each number of a heading on one line with its unit."""
    from markupsafe import Markup, escape

    return Markup(_QUANTITY.sub(r'<span class="quantity">\g<0></span>', str(escape(visible(text)))))


def _shown(value: Any) -> Any:
    """Makes texts from any file harmless for the template; assets are marked as safe and stay unchanged."""
    return visible(value) if type(value) is str else value


def _asset(name: str) -> str:
    """Returns an asset; a script without its lines of comment, which no reader of a page needs."""
    text = (resources.files("byteways.report") / "assets" / name).read_text(encoding="utf-8")
    return _COMMENT_LINE.sub("", text) if name.endswith(".js") else text


def _needs_library(charts: Sequence[Chart]) -> bool:
    """Whether the page does not draw all of these charts itself."""
    return not all("lines" in chart.figure for chart in charts)


def packed_library() -> str:
    """Returns Plotly's script, packed: 1.8 instead of 4.8 MB.

    The page unpacks it when a chart needs it. It is read from the installed package: importing takes 0.3 s.
    """
    from importlib.metadata import distribution

    files = distribution("plotly").files or []
    entry = next(file for file in files if file.name == "plotly.min.js")
    return packed_text(entry.read_text())
