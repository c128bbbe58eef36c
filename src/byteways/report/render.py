"""Page model in, one self-contained HTML file out. Nothing on it is fetched from anywhere."""

from __future__ import annotations

import base64
import gzip
import json
from importlib import resources
from typing import Any

from byteways.plan.interfaces import INTERFACES
from byteways.report.page import Page
from byteways.text import visible, visible_data


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element or a line of script."""
    text = json.dumps(visible_data(value), separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def packed(value: Any) -> str:
    """JSON, gzipped, in base64: what is only there to be downloaded shall not slow the page down."""
    text = json.dumps(value, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(text, mtime=0)).decode("ascii")


def render(page: Page) -> str:
    """The HTML text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("byteways.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("report.html.j2")
    return template.render(
        page=page,
        interfaces=list(INTERFACES.items()),
        style=_asset("page.css"),
        script=_asset("page.js"),
        plotly=_plotly() if page.charts else "",
        charts_json=script_json([chart.figure for chart in page.charts]),
        columns_json=script_json(list(page.columns.items())),
        records_packed=packed({"manifest": page.manifest, "records": page.records}),
        manifest_text=json.dumps(page.manifest, indent=2, ensure_ascii=False),
    )


def _shown(value: Any) -> Any:
    """What the template places, from whatever file it comes; assets are marked as safe and stay as they
    are.
    """
    return visible(value) if type(value) is str else value


def _asset(name: str) -> str:
    return (resources.files("byteways.report") / "assets" / name).read_text(encoding="utf-8")


def _plotly() -> str:
    """Plotly's script as the installed package has it, read without importing the package (0.3 s)."""
    from importlib.metadata import distribution

    files = distribution("plotly").files or []
    entry = next(file for file in files if file.name == "plotly.min.js")
    return entry.read_text().replace("</script", "<\\/script")
