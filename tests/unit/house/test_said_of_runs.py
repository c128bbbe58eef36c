"""Everything that is said of runs and planned for machines, compared with what was said before."""

from __future__ import annotations

import pytest

from tests.unit.said_of_runs import FOLDER, TEXTS


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_else_is_said(name: str) -> None:
    """Catches any figure, interval, word, rank or column that changes with a change of something else.

    Renew: python -m tests.unit.said_of_runs
    """
    assert TEXTS[name]() == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_text_is_compared() -> None:
    """Catches a file that nothing computes any more."""
    assert {path.stem for path in FOLDER.iterdir()} == set(TEXTS)
