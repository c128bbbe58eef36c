"""The documentation site: its navigation, what it changes of the pages, its links, and the build."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import build_site
from docs_site import pages
from docs_site.navigation import MOST_REPORT_BYTES, NAVIGATION, REPORTS
from scripts.unpack_examples import recorded

FIRST = pages.DOCS / "index.md"


def test_every_page_is_in_the_navigation_once() -> None:
    """Catches a page that no reader of the site finds, one that is listed twice, or that has gone."""
    found = sorted(
        path.relative_to(pages.DOCS).with_suffix("").as_posix()
        for suffix in ("md", "ipynb")
        for path in pages.DOCS.rglob(f"*.{suffix}")
        if path != FIRST
    )
    assert sorted(page for listed in NAVIGATION.values() for page in listed) == found


@pytest.mark.parametrize(
    ("link", "leads_to"),
    [
        ("../CONTRIBUTING.md#release", f"{pages.REPOSITORY}/blob/{pages.BRANCH}/CONTRIBUTING.md#release"),
        ("../examples", f"{pages.REPOSITORY}/tree/{pages.BRANCH}/examples"),
        ("reference/schemas", f"{pages.REPOSITORY}/tree/{pages.BRANCH}/docs/reference/schemas"),
        ("guides/ask.md#how-long-a-load-takes", "guides/ask.md#how-long-a-load-takes"),
        ("../lost.md", "../lost.md"),
        ("https://example.org/a", "https://example.org/a"),
        ("#owners-of-nodes", "#owners-of-nodes"),
    ],
)
def test_links_out_of_the_pages_lead_to_the_repository(link: str, leads_to: str) -> None:
    """Catches a link that works on GitHub and is dead on the site, or one to a page that leaves it."""
    assert pages.with_links_to_repository(f"see [x]({link}), too", FIRST) == f"see [x]({leads_to}), too"


def test_first_page_has_navigation_reports_and_both_pictures() -> None:
    """Catches a site without side bar, without its reports, or with a light picture in the dark theme."""
    text = pages.changed(FIRST.read_text(encoding="utf-8"), FIRST)
    assert all(f"\n{page}\n" in text for listed in NAVIGATION.values() for page in listed)
    assert re.findall(r'href="reports/(\w+)\.html"', text) == [report.name for report in REPORTS]
    assert re.findall(r"-(\w+)\.png\)\{\.only-(\w+)\}", text) == [("light", "light"), ("dark", "dark")]
    with pytest.raises(ValueError, match=re.escape(pages.PLACE_OF_REPORTS)):
        pages.changed("# No place\n", FIRST)
    other = pages.DOCS / "tutorial.md"
    assert pages.changed("# Other\n", other) == "# Other\n"


@pytest.mark.parametrize(
    ("block", "wrapped"),
    [
        ("$ byteways best a b 1MiB\n" + "word " * 30, True),
        ("name  value\n" + "word " * 30, True),
        ("a  b\n" + "case " * 20 + "      12 GB/s", False),
        ("short", False),
    ],
)
def test_only_sentences_are_wrapped(block: str, wrapped: bool) -> None:
    """Catches an answer that is cut off at the page's edge, or a wide table that is broken."""
    assert pages.has_long_sentences(block) == wrapped


def test_broken_links_are_found(tmp_path: Path) -> None:
    """Catches a check of links that accepts what leads to nothing."""
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="#top">1</a><a href="b.html#there">2</a><a href="b.html#gone">3</a>'
        '<a href="c.html">4</a><img src="no.png"><a href="https://example.org/x">5</a><a href="#none">6</a>'
        '<a href="b.html#pair=gpu0">7</a>',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text('<p id="there">B</p>', encoding="utf-8")
    broken = ["b.html#gone", "c.html", "no.png", "#none"]
    assert [*build_site.broken_links(tmp_path)] == [f"a.html: {address}" for address in broken]


def test_only_an_earlier_site_is_replaced(tmp_path: Path) -> None:
    """Catches a build that deletes somebody's files, or that keeps pages which have gone."""
    site = tmp_path / "site"
    build_site.emptied(site)
    (site / "old.html").touch()
    build_site.emptied(site)
    assert [path.name for path in site.iterdir()] == [build_site.MARK]
    (tmp_path / "mine.txt").touch()
    with pytest.raises(SystemExit) as refused:
        build_site.emptied(tmp_path)
    assert str(refused.value).startswith("error: ") and "\nhint: " in str(refused.value)
    assert (tmp_path / "mine.txt").exists()


def test_a_site_that_is_wrong_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a build that succeeds with a broken link or a huge report, or that empties a site in vain."""

    def refusal() -> str:
        with pytest.raises(SystemExit) as refused:
            build_site.build(tmp_path / "site")
        assert str(refused.value).startswith("error: ") and "\nhint: " in str(refused.value)
        return str(refused.value)

    monkeypatch.setattr(build_site, "find_spec", lambda name: None)
    assert "byteways[site]" in refusal() and not (tmp_path / "site").exists()
    monkeypatch.setattr(build_site, "find_spec", lambda name: name)
    page = '<a href="gone.html">x</a>'
    monkeypatch.setattr(build_site, "render", lambda docs, site: (site / "index.html").write_text(page))
    monkeypatch.setattr(build_site, "run", lambda *command: command[-1].write_text("<p>report</p>"))
    assert "\nindex.html: gone.html\n" in refusal()
    monkeypatch.setattr(build_site, "MOST_REPORT_BYTES", 3)
    assert f"reports/{REPORTS[0].name}.html" in refusal()


def test_reports_are_of_recorded_runs() -> None:
    """Catches a report of a run that is not in examples/recorded."""
    assert all(recorded(report.run) for report in REPORTS)
    assert len({report.name for report in REPORTS}) == len(REPORTS) >= 2


@pytest.mark.slow
def test_site_is_built_without_warnings(tmp_path: Path) -> None:
    """Catches pages that Sphinx warns of, broken links, and reports that are missing or too large."""
    site = tmp_path / "site"
    build_site.build(site)
    for name in ("index", "search", *(page for listed in NAVIGATION.values() for page in listed)):
        assert (site / f"{name}.html").is_file(), name
    for report in REPORTS:
        assert 100_000 < (site / "reports" / f"{report.name}.html").stat().st_size <= MOST_REPORT_BYTES


@pytest.mark.slow
def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    """Catches a build that passes over warnings."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "other.md").write_text("---\norphan: true\n---\n# Other\n", encoding="utf-8")
    first = docs / "index.md"
    first.write_text("# First\n\n[x](other.md#other)\n", encoding="utf-8")
    build_site.render(docs, tmp_path / "site")
    for link in ("other.md#gone", "gone.md"):
        first.write_text(f"# First\n\n[x]({link})\n", encoding="utf-8")
        with pytest.raises(SystemExit) as failed:
            build_site.render(docs, tmp_path / "site")
        assert failed.value.code != 0
