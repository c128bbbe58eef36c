"""Ctrl-C, SIGTERM and a closed terminal, turned into a flag: a run ends between two system calls of its own
choosing.

A handler that raised could strike while a record is being written. The second signal does not wait for
anything.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType

from byteways.errors import ExitStatus
from byteways.run.conductor import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """While entered, the first signal sets `requested`; the second calls `at_once` and leaves the process.

    Args:
        at_once: Kills what must not outlive the process; must be quick and must not raise.
    """

    def __init__(self, at_once: Callable[[], None] = lambda: None) -> None:
        self.requested: str | None = None  # name of the signal
        self.at_once = at_once
        self._before: dict[int, object] = {}

    def check(self) -> None:
        """Raises Interrupted when an end was asked for."""
        if self.requested:
            raise Interrupted(self.requested)

    def __enter__(self) -> Interruption:
        for number in SIGNALS:
            # nohup says that a closed terminal is to be ignored. Shells without job control ignore SIGINT for
            # what they start in the background; there, a run must still end when somebody asks it to.
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested is None:
            self.requested = signal.Signals(number).name
            return
        self.at_once()
        if sys.stderr.isatty():
            os.write(2, b"\033[?25h\n")  # the progress display hides the cursor
        os._exit(int(ExitStatus.INTERRUPTED))
