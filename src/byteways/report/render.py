"""Renders the page model to one self-contained HTML file, which loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from byteways.answers.best.representative import RULE
from byteways.answers.results.summary import RecordedRun, shown
from byteways.base.text import visible, visible_data
from byteways.cases.interfaces import INTERFACES
from byteways.questions.display.chart import Chart
from byteways.report.compared import ComparedPage
from byteways.report.packing import packed
from byteways.report.page import Page
from byteways.report.record_data import record_data
from byteways.verdicts.two_runs.wording_comparison import HEADINGS

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


class Deferred:
    """What the page unpacks after its first view, each once: details of cells, large tables, and charts."""

    def __init__(self) -> None:
        self._items: dict[str | Chart, int] = {}

    def number(self, item: str | Chart) -> int:
        """Returns the place of an item in `packed`."""
        return self._items.setdefault(item if isinstance(item, Chart) else str(item), len(self._items))

    def packed(self) -> str:
        """Returns all items so far, compressed; '' without any."""
        return packed([_without_defaults(item) for item in self._items]) if self._items else ""


def _without_defaults(value: Any) -> Any:
    """Returns a text, or a chart without what it leaves to the page, as JSON with five significant digits."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, tuple):
        return [_without_defaults(item) for item in value]
    if is_dataclass(value):
        items = ((item.name, getattr(value, item.name), item.default) for item in fields(value))
        return {name: _without_defaults(own) for name, own, default in items if own != default}
    return value


def packed_records(run: RecordedRun) -> str:
    """Returns the records of a run for the table of its page."""
    return packed(record_data(run.manifest, list(map(shown, run.records))))


def render(page: Page, records: str) -> str:
    """Returns the HTML text.

    Args:
        page: What is on it.
        records: From `packed_records`.
    """
    environment = page_environment()
    template = environment.get_template("report.html.j2")
    return template.render(
        page=page,
        interfaces=list(INTERFACES.items()),
        rule=RULE,
        style=asset("page.css"),
        script=asset("page.js"),
        axes=asset("axes.js"),
        chart=asset("chart.js"),
        parts=asset("parts.js"),
        explore=asset("explore.js"),
        explorer_json=script_json(page.explorer.data) if page.explorer else "",
        save=asset("save.js"),
        records=asset("records.js"),
        records_packed=records,
        tips=Deferred(),
        later=Deferred(),
        charts=Deferred(),
    )


def render_compared(page: ComparedPage) -> str:
    """The HTML text of the page on two runs."""
    return (
        page_environment()
        .get_template("compared.html.j2")
        .render(
            page=page,
            headings=HEADINGS,
            style=asset("page.css"),
            own_style=asset("compared.css"),
            script=asset("page.js"),
            axes=asset("axes.js"),
            chart=asset("chart.js"),
            parts=asset("parts.js"),
            own_script=asset("compared.js"),
            save=asset("save.js"),
            charts=Deferred(),
            map_json=script_json(page.map),
        )
    )


def page_environment() -> Environment:
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


def asset(name: str) -> str:
    """Returns an asset; a script without its lines of comment, which no reader of a page needs."""
    text = (resources.files("byteways.report") / "assets" / name).read_text(encoding="utf-8")
    return _COMMENT_LINE.sub("", text) if name.endswith(".js") else text
