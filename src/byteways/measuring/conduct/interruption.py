"""Turns Ctrl-C, SIGTERM and a closed terminal into a flag, so that a run ends at a safe point.

A handler that raised could strike while a record is being written. The second signal ends the process
immediately.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType

from byteways.base.errors import ExitStatus
from byteways.measuring.conduct.conductor import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """While active, the first signal sets `requested`; the second calls `at_once` and exits.

    Args:
        at_once: Kills processes that must not outlive this one; must be quick and must not raise.
    """

    def __init__(self, at_once: Callable[[], None] = lambda: None) -> None:
        self.requested: str | None = None  # name of the signal
        self.at_once = at_once
        self.hurried = False  # whether a finished worker is killed instead of waiting until it has exited
        self._before: dict[int, object] = {}

    def check(self) -> None:
        """Raises Interrupted if an end was requested."""
        if self.requested:
            raise Interrupted(self.requested)

    def __enter__(self) -> Interruption:
        for number in SIGNALS:
            # nohup makes a process ignore SIGHUP; keep that. Shells without job control make background
            # processes ignore SIGINT; there a run must still end on request.
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            # None: a library that was loaded before has a handler of its own, which Python cannot put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # type: ignore[arg-type]
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested is None:
            self.requested = signal.Signals(number).name
            return
        self.at_once()
        if sys.stderr.isatty():
            os.write(2, b"\033[?25h\n")  # show the cursor again, which the progress display hides
        os._exit(int(ExitStatus.INTERRUPTED))
