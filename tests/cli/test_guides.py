"""The guides: each command in them is run, and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.outputs_of_guides import GUIDES, PAGES, ROOT, Examples, commands


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    return Examples(tmp_path_factory.mktemp("guides"))


#: Simulates a whole suite of messages, six seconds.
SLOW = ("for-code-authors",)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page.stem in SLOW else []) for page in PAGES],
    ids=lambda page: page.stem,
)
def test_examples_print_what_the_page_says(page: Path, examples: Examples) -> None:
    """Catches a command that a reader would copy and that fails or prints something else.

    `python -m tests.cli.outputs_of_guides` renews the pages.
    """
    text = page.read_text(encoding="utf-8")
    assert commands(text)
    assert examples.current(text).splitlines() == text.splitlines()


def test_every_command_of_the_guides_is_run() -> None:
    """Catches a command in another form, which nothing runs."""
    loose = r"^    (?!\$ )(?:\S*/)?byteways .*$"
    found = {page.name: re.findall(loose, page.read_text("utf-8"), re.MULTILINE) for page in GUIDES}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_stranger_finds_them() -> None:
    """Catches a guide that the first page of the documentation does not name."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in GUIDES if f"{page.stem}.md)" not in index] == []


def test_an_output_may_be_cut_short(examples: Examples) -> None:
    """Catches examples that are compared with themselves, or whose later lines replace the page."""
    shown = "\n    $ byteways --version\n    old\n    older\n\n    oldest\n\ntext\n"
    current = examples.current(shown)
    assert re.fullmatch(r"\n    \$ byteways --version\n    byteways \S+\n\ntext\n", current)
    cut = "    $ byteways list suites\n    suites\n    …\n"
    assert examples.current(cut) == cut
    failing = "    $ byteways best gpu0; echo $?\n    0"
    assert examples.current(failing).splitlines()[-1] == "    2"
    with pytest.raises(AssertionError, match="missing argument"):
        examples.current("    $ byteways best gpu0")
