"""Which tests run for a planted mutant: those that run its lines, of every file some, within the time."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutants_covering
from mutants_covering import (
    Covering,
    failing,
    outdated,
    together,
    without,
)

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


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ({}, set()),
        ({"tests/unit/test_a.py": "9"}, {"tests/unit/test_a.py"}),
        ({"tests/unit/test_new.py": "1"}, {"tests/unit/test_new.py"}),
        ({"tests/unit/new_helper.py": "1"}, set()),
        ({"tests/helper.py": "9"}, {"tests/unit/test_a.py"}),
        ({"tests/unit/conftest.py": "1"}, None),
        ({"tests/conftest.py": "9"}, None),
        ({"src/byteways/a.py": "9"}, None),
        ({"src/byteways/a.py": None}, None),
        ({"tests/unit/test_a.py": None}, {"tests/unit/test_a.py"}),
    ],
    ids=str,
)
def test_what_is_measured_again(after: dict[str, str | None], wanted: set[str] | None) -> None:
    """Catches a line that an old map says no test runs, and a quarter of an hour for one new test."""
    files = ("src/byteways/a.py", "tests/conftest.py", "tests/helper.py", "tests/unit/test_a.py")
    before = dict.fromkeys((*files, "tests/unit/test_b.py"), "1")
    imports = {"tests/unit/test_a.py": {"tests/scene.py"}, "tests/scene.py": {"tests/helper.py"}}
    now = {name: digest for name, digest in {**before, **after}.items() if digest is not None}
    assert outdated(before, now, imports) == wanted


def test_a_table_is_tested_by_comparisons_of_whole_texts(
    cover: Covering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a mutant of a table that survives because another test was the first to import it."""
    monkeypatch.setattr(mutants_covering, "TEXTS", ("b.py",))
    only = Covering(SECONDS, {"source.py": {1: ["a.py::one"]}})
    assert only.of(Path("source.py"), [1]) == ["b.py::one", "a.py::one"]


def test_a_map_is_renewed_in_part() -> None:
    """Catches lines of a test that is gone, and of one that runs others now."""
    old = {
        "seconds": {"a.py::one": 1.0, "b.py::one": 2.0},
        "tests": {"s.py": {"1": ["a.py", "a.py::one", "b.py::one"]}},
    }
    left = without(old, {"a.py"})
    assert left == {"seconds": {"b.py::one": 2.0}, "tests": {"s.py": {"1": ["b.py::one"]}}}
    new = {
        "seconds": {"a.py::two": 3.0},
        "tests": {"s.py": {"1": ["a.py::two"], "2": ["a.py"]}, "t.py": {"4": ["a.py::two"]}},
    }
    assert together(left, new) == {
        "seconds": {"b.py::one": 2.0, "a.py::two": 3.0},
        "tests": {"s.py": {"1": ["a.py::two", "b.py::one"], "2": ["a.py"]}, "t.py": {"4": ["a.py::two"]}},
    }


NAMES = ["a.py::one", "a.py::two[x - y]", "b.py::one"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("FAILED a.py::one - assert 1 == 2", ["a.py::one"]),
        ("FAILED a.py::two[x - y] - assert 1 == 2", ["a.py::two[x - y]"]),
        ("FAILED b.py::one", ["b.py::one"]),
        ("ERROR a.py::one - fixture", ["a.py::one"]),
        ("ERROR b.py - NameError: name 'c' is not defined", ["b.py::one"]),
        ("timeout", []),
        ("FAILED c.py::one - assert 1 == 2", []),
    ],
)
def test_which_test_failed(line: str, found: list[str]) -> None:
    """Catches a mutant taken for caught because a test fails without it too, as on a machine under load."""
    assert failing(f"F\n=== short test summary info ===\n{line}\n1 failed in 0.1s", NAMES) == found
