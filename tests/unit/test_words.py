"""What people read is in the field's words: no private words for things that have a standard name."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages import parsed

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "byteways"
#: Words and turns that this project once had of its own -> what the field says.
PRIVATE = {
    r"agents?": "device",
    r"there and back": "round trip, ping-pong",
    r"flows together": "contention",
    r"in turns": "serialised",
    r"two groups of samples": "bimodal",
    r"held back by": "limited by",
    r"over size": "vs message size",
    r"cost of calls": "launch overhead",
    r"cost of memory itself": "allocation cost",
    r"movement by pages": "managed-memory migration",
    r"strided copies": "pitched (2D) copies",
    r"(?:lies?|rows) a pitch apart": "pitched (2D) rows",
    r"straight (?:path|one)": "direct path",
    r"as a (?:read|write)": "issued by the destination, by the source",
    r"in sum": "in total",
    r"cannot be told apart": "no significant difference",
    r"nothing explains it": "unexplained",
    r"(?:is|are|to be) had": "is allocated, is available",
    r"at hand": "available",
    r"taken? up": "resume",
    r"stands? beside": "is listed as well",
    r"nothing stands in the way": "no problems found",
    r"counts? for nothing": "void",
    r"nobody can tell": "unknown",
    r"for want of": "for lack of",
    r"names no (?:agent|device)": "unknown device",
    r"what (?:moving|a transfer) \w+ (?:takes?|costs?)": "energy per GB, slowdown",
    r"lose nothing beside": "do not slow each other down",
    r"an? \w+ is no \w+": "is not a",
    r"odd pairs?": "outlier",
    r"one with another": "together",
}
#: Other tools' names stand in the first; the second lists them, and quotes studies in their own words.
EXEMPT = ("aliases.py",)
_WORD = {words: re.compile(rf"(?<![\w`_-])(?:{words})(?![\w_-])", re.IGNORECASE) for words in PRIVATE}


def strings(path: Path) -> Iterator[str]:
    """Literals of a Python file, f-strings as one text, without docstrings and single words."""
    nodes = [*ast.walk(parsed(path))]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and id(node) not in docs | inside and " " in str(node.value):
            yield str(node.value)


def visible() -> Iterator[tuple[str, str]]:
    """(where, text) of all that the program prints and the documentation says."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name not in EXEMPT:
            yield from ((path.relative_to(ROOT).as_posix(), text) for text in strings(path))
    for path in sorted(PACKAGE.rglob("*.j2")):
        words = re.sub(r"{[{%].*?[%}]}", " ", path.read_text(encoding="utf-8"))
        yield path.relative_to(ROOT).as_posix(), re.sub(r"<[^>]*>", " ", words)
    for path in sorted((PACKAGE / "plan/suites").glob("*.toml")):
        yield path.name, path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = re.sub(r"<!-- table: names-.*?<!-- end -->", "", path.read_text(encoding="utf-8"), flags=re.S)
        yield path.relative_to(ROOT).as_posix(), re.sub(r"`[^`\n]*`", "", text)


@functools.cache
def texts() -> list[tuple[str, str]]:
    """The same, spaces folded; not read by every process that only collects these tests."""
    return [(where, " ".join(text.split())) for where, text in visible()]


@pytest.mark.parametrize("words", PRIVATE)
def test_private_words_are_not_used(words: str) -> None:
    """Catches a private word that a reader from the field would have to look up."""
    found = [
        f"{where}: …{text[max(match.start() - 40, 0) : match.end() + 40]}…"
        for where, text in texts()
        for match in _WORD[words].finditer(text)
    ]
    assert not found, f"say {PRIVATE[words]}"


def test_all_that_is_read_is_searched() -> None:
    """Catches a search that finds no strings, which would pass for ever."""
    places = {where for where, _ in texts()}
    assert {"README.md", "src/byteways/cli/run.py", "quick.toml"} <= places
    assert any(where.endswith(".j2") for where in places)
    assert len(texts()) > 2000
    assert _WORD[r"agents?"].search("list agents here") and not _WORD[r"agents?"].search("between_agents")
