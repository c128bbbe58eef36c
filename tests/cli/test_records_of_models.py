"""What simulated runs record of every interface, compared with what they recorded before."""

from __future__ import annotations

import pytest

from tests.cli.records_of_models import FOLDER, RUNS, text

#: Six seconds; the other machine's text of the same suite is always compared.
SLOW = ("elcap-mi300a-ranks",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in RUNS]
)
def test_nothing_else_is_recorded(name: str) -> None:
    """Catches any field, figure, warning or reason for skipping that changes with something else.

    Renew: python -m tests.cli.records_of_models
    """
    assert text(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_text_is_compared() -> None:
    """Catches a file that nothing computes any more."""
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(RUNS)
