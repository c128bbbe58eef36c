"""Progress of a run: drawn in place on a terminal or in a notebook, occasional plain lines elsewhere.

Updates between cases and at most twice a second during one: on a small machine more would disturb the
measurement.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable

from byteways.base.units import format_bandwidth, format_size, format_time
from byteways.cases.case import OF_ALL_RANKS, Case, PlannedCase
from byteways.console.screens import Screen, Status, Terminal
from byteways.console.terminal import say
from byteways.measuring.conduct.interruption import Interruption
from byteways.record.record import Record
from byteways.record.simulation_mark import MEASURED, Voice

REDRAW_S = 0.5
PLAIN_EVERY_S = 5.0
PLANNING_EVERY_S = 2.0
#: Statuses of failed measurements.
WRONG = ("failed", "corrupt", "timeout", "lost")

_STYLES = {
    "measured": "green",
    "skipped": "dim",
    "left out": "dim",
    "corrupt": "bold red",
    "failed": "red",
    "timeout": "red",
    "lost": "red",
}


def describe(case: Case) -> str:
    """'copy bidirectional gpu0<>gpu1 1 GiB'."""
    # Paths of collectives already begin with the pattern.
    told = case.pattern == "unidirectional" or case.pattern in OF_ALL_RANKS
    pattern = "" if told else f"{case.pattern} "
    interface = "" if case.interface == case.pattern else f"{case.interface} "
    return f"{interface}{pattern}{case.path} {format_size(case.size_bytes)}"


def figure(record: Record) -> str:
    """Returns the value of a record: bandwidth or latency, or why there is none."""
    if record.status not in ("measured", "corrupt"):
        return f"{record.status}: {record.reason}"
    said = f"corrupt: {record.reason}, " if record.status == "corrupt" else ""
    if record.latency_ns is not None:
        return f"{said}{format_time(record.latency_ns)}"
    return f"{said}{format_bandwidth(record.bandwidth_bytes_per_s)}" if record.bandwidth_bytes_per_s else said


def counts_text(counts: Counter[str], voice: Voice = MEASURED) -> str:
    """Formats '120 measured, 23 skipped, 40 left out, 1 lost' from displayed statuses."""
    names = {status: voice.measured if status == "measured" else status for status in _STYLES}
    return (
        ", ".join(f"{counts[status]} {names[status]}" for status in names if counts[status]) or "nothing yet"
    )


class Planning:
    """Reports the progress of planning if it takes long, as on machines with many GPUs.

    Args:
        sweeps: Number of sweeps in the suite.
        clock: Monotonic seconds.
    """

    def __init__(self, sweeps: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._sweeps, self._clock = sweeps, clock
        self._said_at = clock()

    def __call__(self, done: int, cases: int) -> None:
        if self._clock() - self._said_at >= PLANNING_EVERY_S:
            say(f"planning: {done} of {self._sweeps} sweeps, {cases} cases so far")
            self._said_at = self._clock()


class Progress:
    """Observer of a run that shows progress and ends the run when an interruption is requested.

    Args:
        total: Number of cases.
        interruption: Checked before every case and while waiting.
        screen: Where progress is drawn in place; None: plain lines on stderr.
    """

    def __init__(self, total: int, interruption: Interruption, screen: Screen | None) -> None:
        self.counts: Counter[str] = Counter()
        self._total = total
        self._interruption = interruption
        self._done = 0
        self._round = 1
        self._current: PlannedCase | None = None
        self._last = ""  # the latest result
        self._time_left_s = 0.0
        self._said_at = self._drawn_at = time.monotonic()
        self._screen = screen

    def __enter__(self) -> Progress:
        if self._screen is not None:
            self._screen.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen is not None:
            self._screen.stop()

    def began(self, planned: PlannedCase, position: int, time_left_s: float) -> None:
        self._interruption.check()
        self._current, self._time_left_s = planned, time_left_s
        self._draw()

    def ended(self, record: Record) -> None:
        self.counts[record.display_status] += 1
        self._done += 1
        self._current = None
        if record.status == "measured":
            self._last = f"{record.interface} {record.path} {figure(record)}"
        due = time.monotonic() - self._said_at >= PLAIN_EVERY_S
        if record.status in WRONG or (due and self._screen is None and record.status != "skipped"):
            self._say(record)

    def begins_round(self, number: int, cases: int) -> None:
        """Reports the next round of a repeated suite; `number` counts from 1 after round 0."""
        self._total += cases
        self._round = number + 1

    def tick(self) -> None:
        self._interruption.check()
        self._draw()

    def _say(self, record: Record) -> None:
        label = f"{record.interface} {record.path} {format_size(record.size_bytes)}"
        round_ = f", round {self._round}" if self._round > 1 else ""
        line = f"[{self._done}/{self._total}{round_}] {label}: {figure(record)}"
        if self._screen is not None:
            self._screen.line(line, _STYLES[record.status])
        else:
            say(f"{line} ({_minutes(self._time_left_s)} left)")
        self._said_at = time.monotonic()

    def _draw(self) -> None:
        if self._screen is None or time.monotonic() - self._drawn_at < REDRAW_S:
            return
        case = describe(self._current.case) if self._current else ""
        left = _minutes(self._time_left_s)
        status = Status(
            self._done, self._total, left, case, counts_text(self.counts), round=self._round, last=self._last
        )
        self._screen.draw(status)
        self._drawn_at = time.monotonic()


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def stderr_screen() -> Screen | None:
    """The terminal, where stderr is one."""
    return Terminal() if sys.stderr.isatty() else None
