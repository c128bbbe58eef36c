"""How a process ended, in words."""

from __future__ import annotations

import signal


def describe_exit(returncode: int) -> str:
    """'SIGSEGV', 'exit status 3', or 'exit status 143 (128 + SIGTERM: a process of it was killed)'.

    Shells and MPI launchers end by 128 + the number of the signal that ended their process (POSIX, Shell
    Command Language, 2.8.2).
    """
    if returncode < 0:
        return _signal_name(-returncode) or f"signal {-returncode}"
    name = _signal_name(returncode - 128) if returncode > 128 else ""
    return f"exit status {returncode}" + (f" (128 + {name}: a process of it was killed)" if name else "")


def _signal_name(number: int) -> str:
    """Returns `SIGTERM`; '' if no signal has the number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
