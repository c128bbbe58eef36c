"""The tests are one package: helpers are imported by their full name, not by a search path."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("*.py"))
#: Calls that load a module from a place which the import system does not know, and the list it searches.
LOADERS = {"run_path", "spec_from_file_location", "addsitedir", "SourceFileLoader"}
CHANGES = {"insert", "append", "extend"}


def path_hacks(source: str) -> Iterator[int]:
    """Line numbers of all changes of sys.path and of all modules loaded by their path."""
    if "sys.path" not in source and not any(name in source for name in LOADERS):
        return  # not parsed: there are hundreds of files
    for node in ast.walk(ast.parse(source)):
        written = [node.func] if isinstance(node, ast.Call) else getattr(node, "targets", None) or []
        if isinstance(node, ast.AugAssign):
            written = [node.target]
        for part in written:
            text = ast.unparse(part)
            name = text.split(".")[-1]
            changed = text == "sys.path" or text.startswith("sys.path[")
            called = name in CHANGES and text == f"sys.path.{name}"
            if changed or called or name in LOADERS:
                yield node.lineno


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("sys.path.insert(0, 'there')", [1]),
        ("x = 1\nsys.path.append('there')", [2]),
        ("sys.path += ['there']", [1]),
        ("sys.path[:0] = ['there']", [1]),
        ("sys.path = ['there']", [1]),
        ("M = runpy.run_path('there.py')", [1]),
        ("from runpy import run_path\nrun_path('there.py')", [2]),
        ("importlib.util.spec_from_file_location('there', 'there.py')", [1]),
        ("for entry in sys.path: print(entry)", []),
        ("'sys.path.insert' in text", []),
    ],
)
def test_hacks_are_recognised(source: str, found: list[int]) -> None:
    """Catches a search that looks past one way of changing the search path."""
    assert list(path_hacks(source)) == found


def test_no_test_changes_the_search_path() -> None:
    """Catches helpers that are found only from some folders, or loaded twice as two different modules."""
    found = {
        f"{file.relative_to(TESTS)}:{line}"
        for file in FILES
        for line in path_hacks(file.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_every_folder_of_tests_is_a_package() -> None:
    """Catches two test files of one name that take each other's place, and helpers without a full name."""
    folders = {file.parent for file in FILES}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []
