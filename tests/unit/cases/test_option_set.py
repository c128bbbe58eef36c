"""Options and variables as pairs: when sets are equal, their text, and that no code passes joined ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import byteways
from byteways.cases.option_set import NO_OPTIONS, OptionSet

PACKAGE = Path(byteways.__file__).parent
#: Options as a text, or a set of such texts. A sequence has names of options.
_JOINED = re.compile(r"(?:(?:set|frozenset|Collection)\[str\]|str)(?: \| None)?")


def test_the_order_of_names_says_nothing() -> None:
    """Catches two methods of equal options that are taken for different ones."""
    one, other = OptionSet({"submit": "batch", "blocks": 8}), OptionSet({"blocks": 8, "submit": "batch"})
    assert one == other and hash(one) == hash(other) and {one, other} == {one}
    assert one == {"submit": "batch", "blocks": 8} and one != OptionSet({"blocks": 8})
    assert [*one.items()] == [("blocks", 8), ("submit", "batch")]


def test_what_is_left_out_leaves_the_rest() -> None:
    """Catches an option that is found as a part of another one's name or value."""
    options = OptionSet({"submit": "batch", "block_bytes": 4096, "blocks": 8})
    assert options.without("block") == options
    assert options.without("blocks", "submit", "window") == {"block_bytes": 4096}
    assert options.without(*options) == NO_OPTIONS and not NO_OPTIONS
    assert options.get("submit") == "batch" and options.get("window") is None


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, ""),
        ({"submit": "graph", "blocks": 8}, "blocks=8 submit=graph"),
        ({"piece_bytes": 4 * 2**20, "gate": False}, "gate=false piece_bytes=4MiB"),
        ({"UCX_TLS": "tcp, self", "HSA_XNACK": "1"}, "HSA_XNACK=1 UCX_TLS=tcp, self"),
    ],
)
def test_text(values: dict[str, int | str | bool], text: str) -> None:
    """Catches an option that is not written as a suite has it."""
    options = OptionSet(values)
    assert options.text() == str(options) == text
    assert len(options.words()) == len(values)


def test_sets_sort_as_their_texts() -> None:
    """Catches a number beside a word that cannot be compared."""
    sets = [OptionSet({"blocks": value}) for value in (8, 16, "all")] + [NO_OPTIONS]
    assert [one.text() for one in sorted(sets)] == ["", "blocks=16", "blocks=8", "blocks=all"]


def _joined(tree: ast.AST) -> Iterator[str]:
    """Yields the fields, arguments and functions for options or variables whose type is text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation:
            name, annotation = node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, annotation = node.target.id, node.annotation
        elif isinstance(node, ast.FunctionDef) and node.returns:
            name, annotation = node.name, node.returns
        else:
            continue
        if re.fullmatch(r"(?:\w*_)?(?:options|environment)(?:_of)?", name) and _JOINED.fullmatch(
            ast.unparse(annotation)
        ):
            yield f"{name}: {ast.unparse(annotation)}"


def test_no_code_passes_joined_options() -> None:
    """Catches options that travel as text, where a search finds them by their order or in another's value."""
    found = {
        f"{path.relative_to(PACKAGE)}: {one}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for one in _joined(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("class A:\n options: str", True),
        ("def f(environment: str = '') -> None: ...", True),
        ("def own_options() -> set[str]: ...", True),
        ("def _options(cell: Result) -> str: ...", True),
        ("class A:\n options: OptionSet\n environment: Mapping[str, str]", False),
        ("def _row(options: Sequence[str]) -> None: ...", False),
    ],
)
def test_joined_options_are_found(code: str, refused: bool) -> None:
    """Catches a rule that no longer sees what it forbids."""
    assert bool([*_joined(ast.parse(code))]) is refused
