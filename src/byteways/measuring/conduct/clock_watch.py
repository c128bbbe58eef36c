"""Compares the clock of a worker with the conductor's: after each case, and since the worker's first one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from byteways.cases.reasons import CLOCK_WRONG
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.shared.protocol import CLOCK
from byteways.measuring.shared.worker_clock import ClockDoubt, ClockMark, clock_doubt, clock_ns

#: A worker between two cases answers at once; ranks that share cores take longer.
_LIMIT_S = 20.0


class _Answering(Protocol):
    hello: dict[str, Any]

    def ask(self, message: Mapping[str, Any], timeout_s: float) -> dict[str, Any]: ...


class ClockWatch:
    """Asks one worker for its clock.

    Args:
        worker: One whose hello has no `clock_step_ns` (of a simulated machine) is never asked.
        read: The conductor's clock, in ns.
    """

    def __init__(self, worker: _Answering, read: Callable[[], int] = clock_ns) -> None:
        self.worker = worker
        self._read = read
        self._first: ClockMark | None = None
        self._last: ClockMark | None = None

    def begin(self) -> None:
        """Notes the clocks before the worker's first case. Raises WorkerLost."""
        if self._first is None and "clock_step_ns" in self.worker.hello:
            self._first = self._last = self._mark()

    def doubt(self) -> ClockDoubt | None:
        """Returns how the clocks disagree since the last case, or since the first. Raises WorkerLost."""
        if self._first is None or self._last is None:
            return None
        mark = self._mark()
        doubt = clock_doubt(self._last, mark) or clock_doubt(self._first, mark)
        self._last = mark
        return doubt

    def _mark(self) -> ClockMark:
        asked = self._read()
        shown = self.worker.ask({"do": CLOCK}, _LIMIT_S).get("clock_ns")
        if not isinstance(shown, int):
            raise WorkerLost(f"worker sent an invalid time: {shown!s:.40}")
        return ClockMark(asked, shown, self._read())


def without_clock(outcome: Mapping[str, Any], doubt: ClockDoubt) -> dict[str, Any]:
    """Returns the outcome of a case whose clock was wrong: no figure of it counts."""
    passed = f"{doubt.least_s:.4g} to {doubt.most_s:.4g} s"
    kept = {name: outcome[name] for name in ("health",) if name in outcome}
    return {
        **kept,
        "status": "failed",
        "reason": f"the worker's clock showed {doubt.worker_s:.4g} s while {passed} passed",
        "reason_code": CLOCK_WRONG,
        "reason_fields": {name: round(value, 6) for name, value in doubt._asdict().items()},
    }
