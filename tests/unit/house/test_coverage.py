"""validation/coverage.py: it judges the project's own functions, and shows false promises."""

from __future__ import annotations

import numpy as np
import pytest

import coverage_runs as runs
from byteways.answers.results import repeatability
from coverage_series import KINDS, Judged, chance_of_no_trace, no_trace
from validation import coverage

NORMAL = KINDS[0]


def test_next_runs_hold() -> None:
    """Catches records that the analysis does not read as they were meant: no interval would hold anything."""
    told = runs.next_runs(NORMAL, 60)
    assert len(told.of_next) == 60
    assert np.mean(told.of_median) > 0.9 and np.mean(told.unwarned) > 0.9


def test_narrow_intervals_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a program that passes whatever the analysis does: quantiles a tenth as large must be seen."""
    original = repeatability.student
    monkeypatch.setattr(repeatability, "student", lambda level, freedom: original(level, freedom) / 10)
    assert np.mean(runs.next_runs(NORMAL, 60).unwarned) < 0.5


def test_different_ways_are_told_apart() -> None:
    """Catches a third table that is zero because nothing is ever compared."""
    quiet = runs.normal_rounds(np.full(1, 1e-4), np.full(1, 1e-4))
    each, together = runs.told_apart(np.random.default_rng(1), 2, runs.PATHS, quiet)
    assert not any(each) and not together
    rounds = [Judged(value, value, value, 30, ()) for value in (1.0, 1.0001, 0.9999)]
    slow = [Judged(2 * one.median, 2 * one.low, 2 * one.high, 30, ()) for one in rounds]
    pair = runs.analysed([("gpu0>gpu1", "copy", rounds), ("gpu0>gpu1", "kernel", slow)])
    assert runs.differ(pair)


def test_warnings_reach_the_result() -> None:
    """Catches misses that count as silent although a round was warned of."""
    rounds = [Judged(1.0, 0.99, 1.01, 30, ("bimodal",) if number else ()) for number in range(3)]
    (cell,) = runs.analysed([("gpu0>gpu1", "copy", rounds)])
    assert cell.warning_ids == ("bimodal",)


def test_results_without_a_trace_are_as_many_as_there_must_be() -> None:
    """Catches results that are set aside for more than what no test of their samples can tell."""
    sticky = max(KINDS, key=lambda kind: kind.stay)
    assert chance_of_no_trace([10], 1.0) == pytest.approx(1.0)
    assert chance_of_no_trace([40] * 3, 1.0) == pytest.approx(0.25)
    made, _ = sticky.make(np.random.default_rng(1), 4000)
    few = [Judged(1.0, 1.0, 1.0, 60, (), int(np.sum(series[:60] > 1.01))) for series in made]
    counted = np.mean([no_trace([one]) for one in few])
    assert counted == pytest.approx(chance_of_no_trace([60], sticky.stay), abs=0.03)


def test_a_second_state_that_was_seen_is_told() -> None:
    """Catches a narrow interval without a warning for a series that changed its state once or twice."""
    sticky = max(KINDS, key=lambda kind: kind.stay)
    found = coverage.one_series(sticky, 200)
    assert found.seen > 0.9
    assert found.warned + found.blind > 0.97
