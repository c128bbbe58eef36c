"""What a reader of a format is, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from byteways.imported.lines import Line
from byteways.imported.value import ForeignValue, Hints


@dataclass(frozen=True)
class UnreadPlace:
    """A line or place that looks like a part of a known output and cannot be read."""

    line: int | None
    what: str  # completes "line 7: …"
    hint: str = ""


@dataclass
class Found:
    """What an output contains: of one table of text, or one document of JSON."""

    format: str  # the name of its row in formats.py
    begins_at: int  # line from 1
    values: list[ForeignValue] = field(default_factory=list)
    hints: Hints = field(default_factory=Hints)
    mistakes: list[UnreadPlace] = field(default_factory=list)


class TextReader(Protocol):
    """Reads the lines of one process from the first line of an output on.

    Lines of other programs lie between those of a table: warnings, log lines, messages of launchers. A reader
    says of each line whether it belongs to its output, and goes on behind those that do not.
    """

    found: Found

    def take(self, line: Line) -> bool:
        """Reads a line; False: it does not belong to this output. What cannot be read is noted."""
        ...

    def end(self) -> None:
        """The file ends here, or another output begins: a table that was cut is noted."""
        ...


class DocumentReader(Protocol):
    """Reads a document of JSON."""

    def __call__(self, document: Mapping[str, Any], line: int) -> Found:
        """Returns what a document contains that begins at a line.

        Raises:
            FormatError: It is not of the format.
        """
        ...
