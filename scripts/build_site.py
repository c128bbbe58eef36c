"""Builds the documentation site from docs/ and from reports of recorded runs.

    make site        (or: python scripts/build_site.py [--out FOLDER])

Any warning of Sphinx fails the build, and so does a link inside the site that leads to no file or anchor.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from docs_site.navigation import MOST_REPORT_BYTES, REPORTS
from unpack_examples import recorded

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = ROOT / "scripts" / "docs_site"
#: Marks a folder as a site, which a build may replace; Jekyll would drop names with an underscore without it.
MARK = ".nojekyll"
#: Attributes that hold an address.
ADDRESSES = ("href", "src")


class Page(HTMLParser):
    """The addresses and anchors of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ADDRESSES:
                self.addresses.append(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def broken_links(site: Path) -> Iterator[str]:
    """Yields `PAGE: ADDRESS` for each address in the pages of a site that leads to nothing inside it."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            lacking = target in pages and anchor and anchor not in pages[target].anchors
            # An anchor such as `pair=gpu0>gpu1` is what a report is to show.
            if not target.exists() or (lacking and "=" not in anchor):
                yield f"{path.relative_to(site)}: {address}"


def run(*command: str | Path) -> None:
    """Runs a program of this environment; ends with its status where it fails."""
    status = subprocess.run([sys.executable, "-m", *map(str, command)], cwd=ROOT, check=False).returncode
    if status:
        sys.exit(status)


def emptied(site: Path) -> Path:
    """Removes an earlier site, whose pages may have gone, and makes the folder again.

    Raises:
        SystemExit: The folder has something else.
    """
    if site.exists() and not (site / MARK).exists() and any(site.iterdir()):
        sys.exit(f"error: {site} is neither empty nor an earlier site\nhint: name another folder by --out")
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    (site / MARK).touch()
    return site


def render(docs: Path, site: Path) -> None:
    """Writes the pages of a folder as HTML; ends with Sphinx's status if one has a warning."""
    with tempfile.TemporaryDirectory() as folder:
        # MyST-NB leaves a folder of its own beside the pages.
        written = Path(folder) / "site"
        options = ("--fail-on-warning", "--keep-going", "--quiet", "--jobs=auto")
        run("sphinx", *options, "-c", CONFIGURATION, "-d", Path(folder) / "parsed", docs, written)
        shutil.copytree(written, site, dirs_exist_ok=True)


def add_reports(site: Path) -> None:
    """Writes the reports of recorded runs into a site; ends where one is too large."""
    for report in REPORTS:
        file = site / "reports" / f"{report.name}.html"
        file.parent.mkdir(exist_ok=True)
        run("byteways", "report", recorded(report.run), "--out", file)
        size = file.stat().st_size
        if size > MOST_REPORT_BYTES:
            sys.exit(f"error: {file} has {size:,} bytes\nhint: choose another run in docs_site/navigation.py")


def build(site: Path) -> None:
    """Writes the site into a folder.

    Raises:
        SystemExit: A page has a warning, a link is broken, a report is too large, or Sphinx is not installed.
    """
    if find_spec("sphinx") is None:
        sys.exit("error: Sphinx is not installed\nhint: make site, or pip install 'byteways[site]'")
    render(ROOT / "docs", emptied(site))
    add_reports(site)
    broken = [*broken_links(site)]
    if broken:
        lines = [f"error: links of the site lead to nothing: {len(broken)}", *broken]
        sys.exit("\n".join([*lines, "hint: mend them in docs, or what makes them in scripts/docs_site"]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "site", metavar="FOLDER", help="[default: site]")
    site = parser.parse_args().out.resolve()
    build(site)
    sys.stdout.write(f"{site / 'index.html'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
