"""make validate: which checks a change asks for."""

from __future__ import annotations

import shlex

import pytest

from scripts.validate import CHECKS, ROOT, chosen


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("src/byteways/verdicts/checks/limits.py", "validation/equal_runs.py"),
        ("src/byteways/ext/audit/imported/osu.py", "validation/fuzz.py"),
        ("native/copy_library/plan_file.cpp", "validation.fuzz_copies"),
        ("src/byteways/models/mi300x-8.toml", "validation/assumed_numbers.py"),
    ],
)
def test_a_change_asks_for_its_check(file: str, command: str) -> None:
    """Catches a path that has moved, so that nothing is checked after a change of it."""
    assert (ROOT / file).is_file()
    assert any(command in one.command for one in chosen([file]))


def test_a_page_asks_for_nothing() -> None:
    """Catches a glob that takes every file."""
    assert chosen(["README.md", "docs/guides/watch.md"]) == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.command)
def test_what_a_check_names_exists(check: object) -> None:
    """Catches a program or a folder that has moved."""
    assert isinstance(check, type(CHECKS[0]))
    first = shlex.split(check.command)[0 if not check.command.startswith("-m") else 1]
    assert (ROOT / (first if first.endswith(".py") else first.replace(".", "/") + ".py")).is_file()
    assert all(any(ROOT.glob(glob)) for glob in check.paths)
