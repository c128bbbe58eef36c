"""A program in turns with other settings: ratios with intervals, of turns that both ended well."""

from __future__ import annotations

import pytest

from byteways.ext.watch.advice.trials import ProgramRun, moving_ns, trials_table, tried
from byteways.ext.watch.bins import Bin, Watched

TCP = "UCX_TLS=tcp"


def trial(
    variant: str, turn: int, duration: float, moving: float | None = None, status: int | None = 0
) -> ProgramRun:
    return ProgramRun(variant, turn, duration, moving, status)


def test_ratios_are_of_one_turn() -> None:
    """Catches medians that are compared: a machine that gets slower would change every ratio."""
    drift = (1.0, 2.0, 4.0)
    trials = [
        trial(name, turn, scale * factor * 1e9, scale * factor * 5e8)
        for turn, scale in enumerate(drift)
        for name, factor in (("", 1.0), (TCP, 1.5))
    ]
    plain, other = tried(trials)
    assert (plain.change, plain.turns, plain.of_duration) == ("", 3, None)
    assert other.of_duration is not None and other.of_moving is not None
    for ratio in (other.of_duration, other.of_moving):
        assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.5, 1.5, 1.5))
    assert plain.duration_ns == 2e9


def test_an_interval_follows_from_the_turns() -> None:
    """Catches an interval that does not contain ratios which differ from turn to turn; t is 12.7."""
    trials = [trial("", 0, 1e9), trial(TCP, 0, 1e9), trial("", 1, 1e9), trial(TCP, 1, 1.21e9)]
    ratio = tried(trials)[1].of_duration
    assert ratio is not None
    assert ratio.value == pytest.approx(1.1)
    assert ratio.low == pytest.approx(1.1 / 1.1**12.706, rel=1e-3)


def test_runs_that_failed_do_not_count() -> None:
    """Catches the ratio to a program that ended early."""
    trials = [
        trial("", 0, 1e9),
        trial(TCP, 0, 1e6, status=1),
        trial("", 1, 1e9),
        trial(TCP, 1, 1e6, status=None),
    ]
    found = tried(trials)[1]
    assert (found.turns, found.duration_ns, found.of_duration) == (0, None, None)
    assert trials_table(tried(trials), {}, {TCP: "badly"}).rows[1][0] == TCP
    assert found.to_json()["duration_ratio"] is None


def test_how_changed_programs_ended() -> None:
    """Catches a crash that is shown as turns that were not made."""
    trials = [
        *(trial("", 0, 1e9), trial("", 1, 1e9), trial("", 2, 1e9, status=5)),
        *(ProgramRun(TCP, turn, 1e6, None, None, 11) for turn in (0, 2)),
        trial(TCP, 1, 1e6, status=3),
    ]
    plain, found = tried(trials)
    assert [(end.code, end.turns) for end in found.bad_ends] == [(-11, 2), (3, 1)]
    assert (found.turns, found.of_turns, found.bad_alone) == (0, 3, 2)
    assert [(end.code, end.turns) for end in plain.bad_ends] == [(5, 1)]
    assert found.to_json()["bad_ends"][0] == {"exit_status": None, "signal": 11, "turns": 2}
    table = trials_table([plain, found], {}, {TCP: "badly"})
    assert [row[-1] for row in table.rows] == ["", "badly"] and table.rows[1][1] == "0 of 3"


def test_the_time_that_was_seen() -> None:
    """Catches waiting that is left out, and a time of nothing."""
    calls = Bin("message", "MPI_Send", 2, 16, 8, 8, call_ns=100, waiting_ns=50)
    assert moving_ns(Watched([], [calls, calls])) == 300.0
    assert moving_ns(Watched([], [Bin("message", "MPI_Send", 2, 16, 8, 8)])) is None
