"""Compares the clock of a worker with the conductor's: after each case, and since the worker's first one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

from byteways.cases.reasons import CLOCK_WRONG
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.shared.messages import ClockAnswer, Hello, Message, read
from byteways.measuring.shared.protocol import CLOCK
from byteways.measuring.shared.worker_clock import ClockDoubt, ClockMark, clock_doubt, clock_ns
from byteways.measuring.work.outcome_fields import Outcome

#: A worker between two cases answers at once; ranks that share cores take longer.
_LIMIT_S = 20.0


class _Answering(Protocol):
    hello: Hello

    def ask(self, message: Message, timeout_s: float) -> Message: ...


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
        answer = self.worker.ask({"do": CLOCK}, _LIMIT_S)
        answered = self._read()
        try:
            return ClockMark(asked, read(ClockAnswer, answer)["clock_ns"], answered)
        except (KeyError, ValueError) as error:
            raise WorkerLost(f"worker sent an invalid time: {answer.get('clock_ns')!s:.40}") from error


def without_clock(outcome: Message, doubt: ClockDoubt) -> Outcome:
    """Returns the outcome of a case whose clock was wrong: no figure of it counts."""
    passed = f"{doubt.least_s:.4g} to {doubt.most_s:.4g} s"
    kept = cast(Outcome, {name: outcome[name] for name in ("health",) if name in outcome})
    return {
        **kept,
        "status": "failed",
        "reason": f"the worker's clock showed {doubt.worker_s:.4g} s while {passed} passed",
        "reason_code": CLOCK_WRONG,
        "reason_fields": {name: round(value, 6) for name, value in doubt._asdict().items()},
    }
