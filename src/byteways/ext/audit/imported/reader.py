"""What a reader of a format is, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.value import DATA_WRONG, ForeignValue, Hints


@dataclass(frozen=True)
class UnreadPlace:
    """A line or place that looks like a part of a known output and cannot be read."""

    line: int | None
    what: str  # completes "line 7: …"
    hint: str = ""


@dataclass(frozen=True)
class DataCheck:
    """How an output says that the data it moved were wrong. Such values are no results.

    Attributes:
        marks: What is printed then, for readers of the code and for tests; the reader recognises each.
        none_because: Where there is no such mark: why the output cannot say it.
    """

    marks: tuple[str, ...] = ()
    none_because: str = ""


@dataclass
class Found:
    """What an output contains: of one table of text, or one document of JSON."""

    format: str  # the name of its row in formats.py
    begins_at: int  # line from 1
    values: list[ForeignValue] = field(default_factory=list)
    hints: Hints = field(default_factory=Hints)
    mistakes: list[UnreadPlace] = field(default_factory=list)
    wrong: list[UnreadPlace] = field(default_factory=list)  # where the program calls its data wrong
    all_wrong: bool = False  # whether that is said of all its values, also of later ones

    def call_wrong(self, line: int | None, what: str, since: int = 0) -> None:
        """Notes that the program calls data wrong that it moved.

        Args:
            line: Where it says so.
            what: Completes "line 7: …".
            since: Values from this place on are of such data.
        """
        place_of_mark = UnreadPlace(line, what)
        if place_of_mark not in self.wrong[-1:]:
            self.wrong.append(place_of_mark)
        for place in range(since, len(self.values)):
            value = self.values[place]
            if DATA_WRONG not in value.differences:
                self.values[place] = replace(value, differences=(DATA_WRONG, *value.differences))

    def call_all_wrong(self, line: int | None, what: str) -> None:
        """Notes that the program calls the data of all its values wrong, before or behind them."""
        self.all_wrong = True
        self.call_wrong(line, what)


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
