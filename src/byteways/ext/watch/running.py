"""Runs a command as if nobody were in between: its streams, signals and exit status are its own."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Signals that are passed on. Those of a terminal reach the command itself: it is in the process group.
_PASSED = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGWINCH),
)
#: siginfo_t.si_code of signals that the kernel sends, such as a terminal's (sigaction(2)).
_FROM_KERNEL = 0x80
#: Signals whose default Python changes at its start; a command gets the default, as of subprocess.
_RESTORED = [signal.SIGPIPE, signal.SIGXFSZ]
#: How often the command is looked at, should its end be missed, in seconds.
_LOOK_S = 0.2


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int  # wait status of waitpid(2)
    duration_ns: int

    @property
    def exit_status(self) -> int | None:
        """Its exit status; None if a signal ended it."""
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else None

    @property
    def signal(self) -> int | None:
        """The signal that ended it."""
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else None

    @property
    def as_shell(self) -> int:
        """The exit status that a shell would give: 128 plus the signal's number."""
        return self.exit_status if self.exit_status is not None else 128 + (self.signal or 0)


def run_command(program: Path, command: list[str], environment: Mapping[str, str]) -> Ended:
    """Runs a command to its end. Raises OSError if it cannot be started."""
    with _blocked() as before:
        start = time.monotonic_ns()
        child = os.posix_spawn(program, command, environment, setsigmask=before, setsigdef=_RESTORED)
        while True:
            found = signal.sigtimedwait([*_PASSED, signal.SIGCHLD], _LOOK_S)
            if found is not None and found.si_signo != signal.SIGCHLD and found.si_code != _FROM_KERNEL:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, found.si_signo)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended == child:
                return Ended(status, time.monotonic_ns() - start)


@contextlib.contextmanager
def _blocked() -> Iterator[list[signal.Signals]]:
    """Holds signals back, so that they are waited for; provides the mask that was before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [*_PASSED, signal.SIGCHLD])
    mask = [one for one in before if isinstance(one, signal.Signals)]
    try:
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
