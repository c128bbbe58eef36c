"""The clock of a worker beside the conductor's: fed with readings, so that no test waits for a real clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.cases.reasons import CLOCK_WRONG
from byteways.measuring.conduct.clock_watch import ClockWatch, without_clock
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.shared.worker_clock import (
    MOST_STEP_NS,
    ClockDoubt,
    ClockMark,
    clock_answer,
    clock_doubt,
    clock_step_ns,
    step_refusal,
)

SECOND = 1_000_000_000


def stepped(step: int, each: int = 100) -> Iterator[int]:
    """Readings every `each` ns of a clock with steps of this length."""
    return (1_000 * SECOND + now - now % step for now in count(7, each))


@pytest.mark.parametrize("step", [1, 300, 4_000, 1_000_000, 4_000_000])
def test_steps_of_a_clock(step: int) -> None:
    """Would catch a first, partial step taken for the resolution, and a coarse clock taken for a fine one."""
    found = clock_step_ns(stepped(step).__next__)
    assert found == max(step, 100)
    assert (step_refusal(found) is None) == (step <= MOST_STEP_NS)


def test_a_step_during_which_the_process_waited_is_no_resolution() -> None:
    """Would catch a worker refused because it did not have a core for one reading."""
    late = iter([0, 100, 50_000_100, 50_000_200, 120_000_000, 120_000_100, 120_000_200, 120_000_300])
    assert clock_step_ns(late.__next__) == 100


def test_clocks_without_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a worker that waits for ever for a clock that stands still, or one that runs backwards."""
    monkeypatch.setattr("byteways.measuring.shared.worker_clock._MOST_READINGS", 1000)
    assert clock_step_ns(lambda: 5) is None
    assert clock_step_ns(iter([5, 4, 6, 7]).__next__) is None
    assert step_refusal(None) is not None
    assert "10 ms" in (step_refusal(10_000_000) or "")


def test_own_clock_is_fine() -> None:
    """Would catch a clock that is not there, or a worker refused on the machine of this test."""
    assert step_refusal(clock_step_ns()) is None and isinstance(clock_answer()["clock_ns"], int)


DELAYS = st.lists(st.integers(0, 50 * SECOND), min_size=4, max_size=4)


@given(st.integers(0, 1000 * SECOND), st.integers(0, 10**15), DELAYS)
def test_late_processes_raise_no_doubt(between: int, offset: int, delays: list[int]) -> None:
    """Would catch a valid result that is lost because a busy machine let conductor or worker wait."""
    asked = offset
    read = asked + delays[0]
    first = ClockMark(asked, read - offset // 2, read + delays[1])
    asked = first.answered + between
    read = asked + delays[2]
    last = ClockMark(asked, read - offset // 2, read + delays[3])
    assert clock_doubt(first, last) is None


@pytest.mark.parametrize("rate", [0.0, 0.5, 0.98, 1.02, 2.0, -1.0])
def test_a_clock_of_another_rate_is_doubted(rate: float) -> None:
    """Would catch a clock at half speed, at which everything looks twice as fast."""
    first = ClockMark(0, 5 * SECOND, 1000)
    last = ClockMark(10 * SECOND, 5 * SECOND + round(10 * SECOND * rate), 10 * SECOND + 1000)
    found = clock_doubt(first, last)
    assert found is not None and found.worker_s == pytest.approx(10 * rate)
    assert found.least_s == pytest.approx(10, rel=1e-6) and found.most_s == pytest.approx(10, rel=1e-6)


class Worker:
    """A worker whose clock runs at a rate of the true time, which passes by a step for each message."""

    def __init__(self, rate: float, clocked: bool = True) -> None:
        self.hello: dict[str, Any] = {"clock_step_ns": 40} if clocked else {}
        self.now, self.rate, self.asked = 0, rate, 0

    def read(self) -> int:
        self.now += 1000
        return self.now

    def ask(self, message: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        assert message == {"do": "clock"}
        self.asked += 1
        self.now += 20_000
        return {"did": "clock", "clock_ns": round(self.now * self.rate)}


def test_short_cases_are_judged_together() -> None:
    """Would catch a clock 5 % slow that no case alone shows, since each lasts no longer than a question."""
    worker = Worker(0.95)
    watch = ClockWatch(worker, worker.read)
    found = []
    for _ in range(100):
        watch.begin()
        worker.now += 20_000
        found.append(watch.doubt())
    assert found[0] is None and found[-1] is not None


@pytest.mark.parametrize(("rate", "doubted"), [(1.0, False), (0.5, True), (1.5, True)])
def test_each_case_is_judged(rate: float, doubted: bool) -> None:
    """Would catch a watch that compares the first case alone, or the last one."""
    worker = Worker(rate)
    watch = ClockWatch(worker, worker.read)
    for _ in range(3):
        watch.begin()
        worker.now += SECOND
        assert (watch.doubt() is not None) == doubted
    assert worker.asked == 4


def test_workers_without_a_clock_are_not_asked() -> None:
    """Would catch simulated machines, whose time is virtual, judged by a real clock."""
    worker = Worker(0.5, clocked=False)
    watch = ClockWatch(worker, worker.read)
    watch.begin()
    assert watch.doubt() is None and worker.asked == 0


def test_an_answer_that_is_no_time_loses_the_worker() -> None:
    """Would catch a traceback of the conductor for a damaged answer."""
    worker: Any = SimpleNamespace(hello={"clock_step_ns": 1}, ask=lambda message, limit: {"clock_ns": "soon"})
    with pytest.raises(WorkerLost):
        ClockWatch(worker).begin()


def test_no_figure_is_left_of_a_doubted_case() -> None:
    """Would catch a bandwidth that is kept beside the doubt."""
    outcome = {"status": "measured", "bandwidth_bytes_per_s": 1e9, "time_ns": {}, "health": {"host": {}}}
    found = without_clock(outcome, ClockDoubt(1.0, 2.0, 2.0))
    assert found.keys() == {"status", "reason", "reason_code", "reason_fields", "health"}
    assert (found["status"], found["reason_code"]) == ("failed", CLOCK_WRONG)
    assert found["reason_fields"] == {"worker_s": 1.0, "least_s": 2.0, "most_s": 2.0}
