"""The exception shown to users, printed as `error:` / `caused by:` / `hint:`."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of every verb: 1 if a measurement failed or a check did not hold, 2 for wrong usage.

    Statuses above 128 are 128 plus a signal number, as in shells: SIGINT, SIGPIPE.
    """

    GOOD = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130
    NOT_READ = 141


class BytewaysError(Exception):
    """An error that the user can act on.

    Args:
        what: What went wrong, one line, no trailing full stop.
        cause: The exact cause (errno text, parser message, vendor code), or None.
        hint: A command or change to try, or None.
        status: Exit status of the process.
    """

    def __init__(
        self,
        what: str,
        *,
        cause: str | None = None,
        hint: str | None = None,
        status: ExitStatus = ExitStatus.USAGE,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.cause = cause
        self.hint = hint
        self.status = status
        self.__notes__ = self.lines()[1:]  # printed below the message where nothing else formats it

    def lines(self) -> list[str]:
        """Returns the lines of the printed message, without colour."""
        text = [f"error: {self.what}"]
        if self.cause:
            text.append(f"  caused by: {self.cause}")
        if self.hint:
            text.append(f"hint: {self.hint}")
        return text
