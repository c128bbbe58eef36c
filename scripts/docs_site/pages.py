"""What the site changes of the pages, which are written for GitHub; an extension of Sphinx.

The files of docs/ stay as they are. When Sphinx reads one:

- a link to a folder or out of docs/ leads to the repository, at the site's version;
- the first page gets the navigation, and a line with the reports at `<!-- site: reports -->`;
- a picture NAME-light.png is shown in the light theme, and NAME-dark.png beside it in the dark one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byteways import __version__
from docs_site.navigation import NAVIGATION, REPORTS

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/byteways/byteways"
#: The tag of a release; a version in development links to the branch.
BRANCH = "main" if "dev" in __version__ else f"v{__version__}"
#: A line of code that fits into static/site.css's width.
PAGE_CHARACTERS = 110
PLACE_OF_REPORTS = "<!-- site: reports -->"
_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")
#: Between two columns of a table that a command prints.
_COLUMNS = re.compile(r"\S {2,}\S")
_LIGHT = re.compile(r"^!\[([^\]]*)\]\((\S+)-light\.png\)$", re.MULTILINE)


def with_links_to_repository(text: str, page: Path) -> str:
    """Returns the text of a page whose links to folders, and to files outside docs/, lead to the repository.

    Args:
        text: Markdown, or a notebook's JSON.
        page: The file that it comes from, below docs/.
    """

    def replaced(link: re.Match[str]) -> str:
        target = (page.parent / link[1]).resolve()
        is_page = target.is_relative_to(DOCS) and not target.is_dir()
        if is_page or not target.is_relative_to(ROOT) or not target.exists():  # Sphinx refuses what is broken
            return link[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/{BRANCH}/{target.relative_to(ROOT).as_posix()}{link[2] or ''})"

    return _LINK.sub(replaced, text)


def with_both_themes(text: str, page: Path) -> str:
    """Returns the text of a page in which a picture of the light theme has the dark one beside it."""

    def replaced(picture: re.Match[str]) -> str:
        if not (page.parent / f"{picture[2]}-dark.png").is_file():
            return picture[0]
        both = (f"![{picture[1]}]({picture[2]}-{theme}.png){{.only-{theme}}}" for theme in ("light", "dark"))
        return "\n".join(both)

    return _LIGHT.sub(replaced, text)


def navigation() -> str:
    """The navigation as directives of Sphinx, one for each caption."""
    parts = (
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])
        for caption, pages in NAVIGATION.items()
    )
    return "\n".join(["", *parts])


def reports() -> str:
    """The links to the reports of recorded runs: HTML, because they are no pages of Sphinx."""
    links = (f'<a href="reports/{report.name}.html">{report.title}</a>' for report in REPORTS)
    return f"<p>{' · '.join(links)}, as <code>byteways report</code> writes them.</p>"


def changed(text: str, page: Path) -> str:
    """Returns what Sphinx reads in place of the text of a page."""
    text = with_both_themes(with_links_to_repository(text, page), page)
    if page == DOCS / "index.md":
        if PLACE_OF_REPORTS not in text:
            raise ValueError(f"{page} lacks {PLACE_OF_REPORTS}")
        text = text.replace(PLACE_OF_REPORTS, reports()) + navigation()
    return text


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Handles Sphinx's event `source-read`."""
    source[0] = changed(source[0], Path(app.env.doc2path(name)))


def has_long_sentences(block: str) -> bool:
    """Whether an output is wider than a page and may be wrapped, as none of its wide lines has columns."""
    wide = [line for line in block.split("\n") if len(line) > PAGE_CHARACTERS]
    return bool(wide) and not any(_COLUMNS.search(line) for line in wide)


def mark_blocks(_app: Sphinx, document: nodes.document) -> None:
    """Gives shell sessions their colours, and blocks with sentences a class (event `doctree-read`)."""
    from docutils import nodes

    for block in document.findall(nodes.literal_block):
        text = block.astext()
        if text.startswith("$ "):
            block["language"] = "console"
        if has_long_sentences(text):
            block["classes"].append("sentences")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("source-read", read)
    app.connect("doctree-read", mark_blocks)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
