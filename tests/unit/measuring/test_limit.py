"""The limit of time of a question that is measured now."""

from __future__ import annotations

import pytest

from byteways.measuring.conduct.conductor import Interrupted
from byteways.measuring.conduct.time_limit import TimeLimit


class Clock:
    """Virtual seconds."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_machine_that_is_not_opened_in_time_is_given_up() -> None:
    """Catches a probe that hangs for minutes, and a worker's grace period that exceeds the limit."""
    clock = Clock()
    limit = TimeLimit(10.0, 100.0, clock)
    clock.now_s = 106.4
    limit.check()
    clock.now_s = 106.6
    with pytest.raises(Interrupted, match="the time limit"):
        limit.check()
    assert limit.over


def test_a_measurement_that_is_not_done_in_time_is_killed() -> None:
    """Catches a worker that hangs in a case, whose own limit is a minute, and is waited for."""
    clock, killed = Clock(), []
    limit = TimeLimit(10.0, 100.0, clock)
    limit.at_once = lambda: killed.append(clock.now_s)
    clock.now_s = 108.4
    limit.check()
    assert killed == []
    for _ in range(2):
        clock.now_s += 1.0
        with pytest.raises(Interrupted):
            limit.check()
    assert killed == [109.4] and limit.over


def test_a_signal_is_no_time_limit() -> None:
    """Catches an interruption by the user that is answered as if the time were over."""
    clock = Clock()
    limit = TimeLimit(10.0, 100.0, clock)
    limit.requested = "SIGINT"
    clock.now_s = 200.0
    with pytest.raises(Interrupted, match="SIGINT"):
        limit.check()
    assert not limit.over


def test_a_simulated_machine_has_no_limit() -> None:
    """Catches a simulated answer that depends on the speed of this machine."""
    clock = Clock()
    limit = TimeLimit(None, 100.0, clock)
    clock.now_s = 1e9
    limit.check()
    assert not limit.over and not limit.hurried
