"""The one exception a user may see, printed as `error:` / `caused by:` / `hint:`."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of every verb: 1 when a measurement failed or a check did not hold, 2 on wrong usage.

    Those above 128 are 128 and a signal's number, as shells give them: SIGINT, SIGPIPE.
    """

    GOOD = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130
    NOT_READ = 141


class BytewaysError(Exception):
    """Something the user can act on.

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

    def lines(self) -> list[str]:
        """The message as it is printed, without colour."""
        text = [f"error: {self.what}"]
        if self.cause:
            text.append(f"  caused by: {self.cause}")
        if self.hint:
            text.append(f"hint: {self.hint}")
        return text
