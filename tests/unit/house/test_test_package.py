"""The tests are one package: helpers are imported by their full name, not by a search path."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[2]
FILES = sorted(TESTS.rglob("*.py"))


def test_every_folder_of_tests_is_a_package() -> None:
    """Catches two test files of one name that take each other's place, and helpers without a full name."""
    folders = {file.parent for file in FILES}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []
