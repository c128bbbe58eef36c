"""A hard limit of time for a measurement that somebody waits for."""

from __future__ import annotations

import time
from collections.abc import Callable

from byteways.measuring.conduct.interruption import Interruption


class TimeLimit(Interruption):
    """An interruption that also ends the run at a time, by killing what would not end by itself.

    Args:
        limit_s: Seconds from `began`; None: no limit.
        began: When the command began, in seconds of the clock.
        clock: Monotonic seconds.
    """

    #: What is `requested` when the time is over.
    REASON = "the time limit"
    #: Seconds before the limit at which measuring ends, for the start of the program, a tick of the worker,
    #: the answer, and a busy machine; and at which a machine that is still being probed is given up: its
    #: worker gets a grace period of two seconds.
    TO_ANSWER_S, TO_GIVE_UP_S = 1.5, 3.5

    def __init__(
        self, limit_s: float | None, began: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle = lambda: None
        super().__init__(self._idle)
        self.hurried = limit_s is not None
        self._limit_s, self._began, self._clock = limit_s, began, clock

    @property
    def over(self) -> bool:
        """Whether the time limit ended the run."""
        return self.requested == self.REASON

    def check(self) -> None:
        """Raises Interrupted if an end was requested or the time is over."""
        if self._limit_s is not None and self.requested is None:
            measuring = self.at_once is not self._idle
            spare_s = self.TO_ANSWER_S if measuring else self.TO_GIVE_UP_S
            if self._clock() - self._began >= self._limit_s - spare_s:
                self.requested = self.REASON
                self.at_once()
        super().check()
