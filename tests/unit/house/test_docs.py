"""The documentation against the code: links, commands, suites, tables and words."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import get_args

import write_tables
from byteways.base import settings
from byteways.cases.case import PATTERNS
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES
from byteways.cli.frame import VERBS, load_verb
from byteways.plan.suite import parse
from byteways.plan.suite_types import Pairs, SameDevice, SuiteFile, SweepTable
from byteways.plan.suite_values import EXECUTOR_WORDS, When
from byteways.record.record import RECORD_FIELDS, SCHEMA_VERSION, STATUSES
from byteways.record.times import Times
from byteways.record.warnings import ADVICE

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])


def problems(check: Callable[[str, Path], Iterable[object]]) -> dict[str, list[object]]:
    """What a check of a page's text finds wrong, by page; an exception counts as found."""
    found: dict[str, list[object]] = {}
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        try:
            found[name] = list(check(page.read_text(encoding="utf-8"), page))
        except Exception as error:  # of whatever kind: the page it comes from must be named
            found[name] = [f"{type(error).__name__}: {error}"]
    return {name: wrong for name, wrong in found.items() if wrong}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, by the rule of GitHub."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_resolve() -> None:
    """Catches a page, picture, example or heading that was moved, renamed or never made."""

    def broken(text: str, page: Path) -> Iterator[str]:
        for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"src(?:set)?=\"([^\"]+)\"", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path) if path else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                yield target

    assert problems(broken) == {}


def commands(lines: list[str]) -> list[list[str]]:
    """Every `byteways …` command among lines, as words after the program's name."""
    found = []
    for line in lines:
        match = re.match(r"(?:hint: |\$ )?(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?byteways (?:--debug )?(.*)$", line)
        if match and not re.match(r"--(help|version|debug)", match[1]) and not re.search(r"[…\[]", match[1]):
            found.append(shlex.split(match[1].removesuffix("; echo $?"), comments=True))
    return found


def test_commands_in_blocks_parse() -> None:
    """Catches a command that a reader would copy and that byteways would refuse."""

    def refused(text: str, _page: Path) -> Iterator[str]:
        for words in commands(re.findall(r"^    (.*)$", text, re.MULTILINE)):
            if words[0] in VERBS:
                load_verb(words[0]).make_context(words[0], words[1:])
            else:
                yield f"no verb '{words[0]}'"

    assert problems(refused) == {}


def test_commands_in_sentences_exist() -> None:
    """Catches a verb or option that is mentioned and that byteways does not have, or no longer has."""

    def unknown(text: str, _page: Path) -> Iterator[str]:
        for words in commands(re.findall(r"`([^`\n]+)`", text)):
            if words[0] not in VERBS:
                yield f"no verb '{words[0]}'"
                continue
            parameters = load_verb(words[0]).params
            known = {"--help", *(option for parameter in parameters for option in parameter.opts)}
            yield from (word for word in words[1:] if word.startswith("-") and word not in known)

    assert problems(unknown) == {}


def test_suites_in_pages_are_valid() -> None:
    """Catches an example of a suite that byteways would refuse."""

    def refused(text: str, page: Path) -> Iterator[str]:
        for block in re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            if "[[sweep]]" in block:
                parse(block, file=page.name)
        yield from ()

    assert problems(refused) == {}


def test_a_problem_names_its_page() -> None:
    """Catches checks of pages that look at none, or that stop at the first page that is wrong."""
    assert set(problems(lambda _text, page: [page.name])) == {
        page.relative_to(ROOT).as_posix() for page in PAGES
    }

    def raising(text: str, page: Path) -> list[object]:
        if page.name == "README.md":
            raise ValueError("of this page")
        return []

    assert problems(raising)["README.md"] == ["ValueError: of this page"]


def test_generated_tables_are_current() -> None:
    """Catches a setting, warning, option or suite that was changed in the code only."""

    def old(text: str, page: Path) -> Iterator[str]:
        if page.is_relative_to(ROOT / "docs") and write_tables.with_tables(text) != text:
            yield "has an old table: run .venv/bin/python scripts/write_tables.py"

    assert problems(old) == {}


def test_every_table_is_in_a_page() -> None:
    """Catches a marker with a slip of the pen, which would never be filled."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in write_tables.TABLES:
        assert f"<!-- table: {name} -->" in text, name


def test_variables_exist() -> None:
    """Catches an environment variable of ours that is documented and read by nobody."""
    known = {setting.name for setting in settings.SETTINGS}
    assert problems(lambda text, _page: set(re.findall(r"BYTEWAYS_[A-Z_]+", text)) - known) == {}


def test_variables_of_the_code_are_settings() -> None:
    """Catches a variable that the code reads although no table, and so no page, has it."""
    known = {setting.name for setting in settings.SETTINGS}
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "native").rglob("*.[ch]pp")]
    text = "".join(path.read_text("utf-8") for path in sources)
    used = set(re.findall(r"(?<!startswith\()\"(BYTEWAYS_[A-Z_]+)\"", text))
    assert used <= known


def test_warnings_of_the_native_core_have_advice() -> None:
    """Catches a warning that a user would meet with "No advice is known"."""
    source = "".join(path.read_text("utf-8") for path in (ROOT / "native" / "timing").glob("*.cpp"))
    given = set(re.findall(r"warnings\.push_back\(\{\"([a-z-]+)\"", source))
    assert given
    assert given <= set(ADVICE)


def test_every_warning_is_given_somewhere() -> None:
    """Catches advice, and with it a row of the documentation, for a warning that nothing gives."""
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "native").rglob("*.[ch]pp")]
    text = "".join(path.read_text("utf-8") for path in sources if path.name != "warnings.py")
    assert sorted(id for id in ADVICE if f'"{id}"' not in text) == []


def test_vocabulary_has_every_word() -> None:
    """Catches an interface, memory kind, pattern or status that the vocabulary does not explain."""
    text = text_of("docs/concepts/vocabulary.md")
    missing = [word for word in (*INTERFACES, *MEMORIES, *PATTERNS, *STATUSES) if f"`{word}`" not in text]
    assert missing == []


def test_suite_format_has_every_key() -> None:
    """Catches a key or option of suite files that no page explains."""
    text = text_of("docs/reference/suite-format.md")
    options = {option for row in INTERFACES.values() for option in row.takes}
    words = {*SuiteFile.__struct_encode_fields__, *SweepTable.__struct_encode_fields__, *options}
    words |= {*get_args(Pairs), *get_args(SameDevice), *When.valid, *EXECUTOR_WORDS}
    assert sorted(word for word in words if f"`{word}`" not in text) == []


def test_record_format_has_every_field() -> None:
    """Catches a field of records that no page explains, and a page that names one that is gone."""
    text = text_of("docs/reference/record-format.md")
    fields = {*RECORD_FIELDS, *(field.name for field in dataclasses.fields(Times))}
    assert sorted(name for name in fields if f"`{name}`" not in text) == []
    section = text.partition("## A record")[2].partition("## Samples")[0]
    rows = re.findall(r"^\| ((?:`[a-z_0-9]+`(?:, )?)+) \|", section, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`([a-z_0-9]+)`", row)}
    assert sorted(documented - fields - set(STATUSES)) == []


def test_manifest_schema_version() -> None:
    """Catches a new format of runs that the page does not know."""
    assert f"| `schema_version` | {SCHEMA_VERSION} |" in text_of("docs/reference/record-format.md")


def test_layout_in_architecture_exists() -> None:
    """Catches a folder that the architecture page names and that is not there, or the reverse."""
    block = text_of("docs/concepts/architecture.md").partition("## The rooms")[2].partition("## Rules")[0]
    for root in ("native",):
        listed = block.partition(f"    {root}/\n")[2]
        named = set()
        for line in listed.splitlines():
            if not line.startswith("      "):
                break
            if line.startswith("       "):  # inside one of its folders
                continue
            named |= {word for word in line.split() if word.endswith("/")}
        there = {
            f"{path.name}/"
            for path in (ROOT / root).iterdir()
            if path.is_dir() and any(file.suffix not in ("", ".pyc") for file in path.rglob("*"))
        }
        assert named == there
