"""Which tests run for a planted mutant: those that run its lines, of every file some, within the time."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutants_covering
from mutants_covering import Covering, within_functions

SOURCE = """\
LIMIT = 1

@decorated
def first():
    return 1

class Holder:
    def second(self):
        return LIMIT
"""
SECONDS = {"a.py::one": 1.0, "a.py::two": 2.0, "b.py::one": 3.0, "c.py::one": 4.0, "c.py::two": 5.0}
LINES = {1: ["c.py"], 5: ["b.py::one", "a.py::two", "a.py::one"], 9: ["c.py", "a.py::failed"]}


@pytest.fixture
def cover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Covering:
    (tmp_path / "source.py").write_text(SOURCE)
    monkeypatch.setattr(mutants_covering, "ROOT", tmp_path)
    return Covering(SECONDS, {"source.py": LINES})


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ([5], ["a.py::one", "b.py::one", "a.py::two"]),
        ([9], ["c.py::one", "c.py::two"]),
        ([1], ["a.py::one", "b.py::one", "c.py::one", "a.py::two", "c.py::two"]),
        ([4, 5], ["a.py::one", "b.py::one", "a.py::two"]),
    ],
    ids=["of the line, in turn", "of the file that ran it on import", "on import only", "decorated"],
)
def test_the_tests_of_a_line(cover: Covering, lines: list[int], names: list[str]) -> None:
    """Catches a mutant that survives because its tests were not run, and tests that fail without it."""
    assert cover.of(Path("source.py"), lines) == names


def test_the_time_for_tests_is_kept(cover: Covering, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a mutant that takes minutes, and one without any test because the only one is slow."""
    monkeypatch.setattr(mutants_covering, "TESTS_S", 4.5)
    assert cover.of(Path("source.py"), [5]) == ["a.py::one", "b.py::one"]
    monkeypatch.setattr(mutants_covering, "TESTS_S", 0.5)
    assert cover.of(Path("source.py"), [5]) == ["a.py::one"]
    assert cover.of(Path("unknown.py"), [1]) == []


def test_lines_within_functions() -> None:
    """Catches a constant taken for code that a test runs."""
    assert within_functions(SOURCE) == {5, 9}
