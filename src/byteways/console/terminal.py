"""The terminal interface: everything that a verb prints passes here.

Standard output is for data, standard error for messages. Text from foreign files is made harmless
(byteways.base.text), and a standard error that cannot be written does not end the program.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import typer

from byteways.base.aliases import NOTES
from byteways.base.text import visible

#: Standard input, output, error.
_STANDARD = (0, 1, 2)


class _Forgiving(io.RawIOBase):
    """Writes to a descriptor until that fails, and then discards data: nobody reads it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any, /) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        with contextlib.suppress(OSError):  # full disk, closed pipe, closed terminal
            while left:
                left = left[os.write(self._descriptor, left) :]
        return size


def prepare() -> None:
    """Makes the standard streams writable, whatever the caller did to them.

    A closed one is redirected to /dev/null: otherwise the next opened file would get its number, and prints
    would go there. If the locale lacks a character, a question mark is printed instead of an error.
    """
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = forgiving(2)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def forgiving(descriptor: int) -> TextIO:
    """Returns a text stream for a descriptor that ignores write errors."""
    raw = io.BufferedWriter(_Forgiving(descriptor), 1)
    encoding = getattr(sys.__stderr__, "encoding", None) or "utf-8"
    return io.TextIOWrapper(
        raw, encoding=encoding, errors="backslashreplace", line_buffering=True, write_through=True
    )


def echo(text: str = "", *, end: str = "\n") -> None:
    """Prints data on standard output."""
    typer.echo(visible(text) + end, nl=False)


def echo_rendered(text: str) -> None:
    """Prints text rendered by a console() of this module on standard output, including colours."""
    typer.echo(text)


def say(text: str) -> None:
    """Prints messages on standard error: progress, missing things, advice."""
    print(visible(text), file=sys.stderr, flush=True)  # noqa: T201 - the one place that prints there


class _NotesOnce(logging.Handler):
    """Prints each note on standard error, once."""

    def __init__(self) -> None:
        super().__init__()
        self._printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._printed:
            self._printed.add(text)
            say(f"note: {text}")


def print_notes() -> None:
    """From here on, notes about accepted names are printed."""
    NOTES.handlers[:] = [_NotesOnce()]
    NOTES.setLevel(logging.INFO)
    NOTES.propagate = False


def console(**settings: Any) -> Any:
    """A Rich console that makes harmless what is printed on it; its own colours stay."""
    from rich.console import Console
    from rich.segment import Segment

    class Harmless(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    return Harmless(**settings)
