"""The clock of the processes that measure: its steps, and what it shows beside the conductor's.

Every figure rests on this clock. A virtual machine whose clock source is wrong, or a library that replaces
clock_gettime(), would give figures that are wrong by any factor and look good. Uses the standard library
only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

#: A coarser clock cannot time what is measured here: clock sources of hardware have steps below 1 µs, while
#: one that ticks with the kernel has 1 to 10 ms.
MOST_STEP_NS = 10_000
#: Steps that are looked at; a process that waited for a core sees a long one, but not every time.
_STEPS = 5
#: Readings after which a clock counts as standing still: some 0.2 s.
_MOST_READINGS = 2_000_000
#: Share by which clocks of one host may differ. Both read the raw clock, which nothing slews; 1 % leaves room
#: for a host on which they read different ones.
TOLERANCE = 0.01


def clock_ns() -> int:
    """Returns the time of the clock that measurements read (native/runtimes/host/host_clock.cpp)."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def clock_answer() -> dict[str, Any]:
    """Returns the answer to a request for the clock."""
    return {"did": "clock", "clock_ns": clock_ns()}


def clock_step_ns(read: Callable[[], int] = clock_ns) -> int | None:
    """Returns the smallest of some steps of the clock; None: it stands still, or runs backwards."""
    steps: list[int] = []
    before = read()
    for _ in range(_MOST_READINGS):
        now = read()
        if now < before:
            return None
        if now > before:
            steps.append(now - before)
            before = now
            if len(steps) > _STEPS:
                return min(steps[1:])  # the first one had begun before
    return None


def step_refusal(step_ns: int | None) -> str | None:
    """Returns why a process with this clock cannot measure; None: it can."""
    if step_ns is None:
        return "the clock of the worker stands still or runs backwards, so that nothing can be timed"
    if step_ns > MOST_STEP_NS:
        return (
            f"the clock of the worker has a resolution of {step_ns / 1e6:.3g} ms; measurements need "
            f"{MOST_STEP_NS / 1e3:.0f} µs or finer"
        )
    return None


STEP_HINT = (
    "cat /sys/devices/system/clocksource/clocksource0/current_clocksource: choose tsc, kvm-clock or "
    "arch_sys_counter; see that no preloaded library replaces clock_gettime()"
)


class ClockMark(NamedTuple):
    """The worker's clock, and the conductor's before it asked for it and when it had the answer, in ns."""

    asked: int
    worker: int
    answered: int


class ClockDoubt(NamedTuple):
    """Clocks that disagree: what passed by the worker's, and by the conductor's, in seconds."""

    worker_s: float
    least_s: float
    most_s: float


def clock_doubt(first: ClockMark, last: ClockMark) -> ClockDoubt | None:
    """Returns how the clocks disagree between two marks; None: they agree.

    The worker read its clock some time between question and answer. So what passed between its two readings
    is known within bounds, however late each process ran: a busy machine widens them and raises no doubt.
    """
    least, most = last.asked - first.answered, last.answered - first.asked
    shown = last.worker - first.worker
    if least * (1 - TOLERANCE) <= shown <= most * (1 + TOLERANCE):
        return None
    return ClockDoubt(shown / 1e9, least / 1e9, most / 1e9)
