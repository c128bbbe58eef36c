"""What is said of reproduced studies, compared with what was said before."""

from __future__ import annotations

import pytest

from tests.cli.texts_of_studies import FOLDER, RUNS, text


@pytest.mark.parametrize("name", RUNS)
def test_nothing_else_is_said(name: str) -> None:
    """Catches any figure, verdict, note or reason that changes with a change of something else.

    Renew: python -m tests.cli.texts_of_studies
    """
    assert text(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_text_is_compared() -> None:
    """Catches a file that nothing computes any more."""
    assert {path.stem for path in FOLDER.iterdir()} == set(RUNS)
