"""Options of a run: read from its manifest, and applied to its suite."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.measuring.conduct.execution import repetition_of
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite import load


def test_the_first_unknown_option_is_told() -> None:
    """Catches an option of another version passed over, and another one named first."""
    with pytest.raises(ValueError, match="unknown option 'later'"):
        RunOptions.from_json({"later": 1, "rounds": 2, "last": 3})
    assert RunOptions.from_json({"rounds": 2}) == RunOptions(rounds=2)


def test_a_duration_is_left_in_full() -> None:
    """Catches a repeated suite that ends a second early."""
    found = repetition_of([], RunOptions(for_s=60.0), False)
    assert found is not None and found.left_s == 60.0
    assert repetition_of([], RunOptions(), False) is None


@pytest.mark.parametrize(
    ("given", "rounds"),
    [({}, 3), ({"for_s": 60.0}, 1), ({"rounds": 5}, 5), ({"for_s": 60.0, "rounds": 4}, 4)],
)
def test_rounds_of_a_suite_under_options(given: dict[str, Any], rounds: int) -> None:
    """Catches rounds of the suite in a run that repeats it, or one round where none was asked for."""
    applied = RunOptions(**given).applied(load("quick"))
    assert applied.rounds == rounds


def test_an_optional_precision_is_that_of_every_sweep() -> None:
    """Catches sweeps that keep their own precision, and one that is set without being asked for."""
    suite = load("quick")
    assert RunOptions().applied(suite) == suite
    asked = RunOptions(precision=0.125).applied(suite)
    assert {sweep.precision for sweep in asked.sweeps} == {0.125} == {asked.precision}
