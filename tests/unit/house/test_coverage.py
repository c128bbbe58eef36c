"""validation/coverage.py: it judges the project's own functions, and shows false promises."""

from __future__ import annotations

import numpy as np

import coverage_runs as runs
from coverage_series import KINDS, Judged
from validation import coverage

NORMAL = KINDS[0]


def test_next_runs_hold() -> None:
    """Catches records that the analysis does not read as they were meant: no interval would hold anything."""
    told = runs.next_runs(NORMAL, 60)
    assert len(told.of_next) == 60
    assert np.mean(told.of_median) > 0.9 and np.mean(told.unwarned) > 0.9


def test_warnings_reach_the_result() -> None:
    """Catches misses that count as silent although a round was warned of."""
    rounds = [Judged(1.0, 0.99, 1.01, 30, ("bimodal",) if number else ()) for number in range(3)]
    (cell,) = runs.analysed([("gpu0>gpu1", "copy", rounds)])
    assert cell.warning_ids == ("bimodal",)


def test_a_second_state_that_was_seen_is_told() -> None:
    """Catches a narrow interval without a warning for a series that changed its state once or twice."""
    sticky = max(KINDS, key=lambda kind: kind.stay)
    found = coverage.one_series(sticky, 200)
    assert found.seen > 0.9
    assert found.warned + found.blind > 0.97
