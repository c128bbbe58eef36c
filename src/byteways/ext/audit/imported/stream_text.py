"""McCalpin's STREAM, 5.x: rates in MB/s of 10^6 bytes from the shortest time, and times in seconds.

It leaves the first iteration out. Its rates count each array that a loop reads or writes.
"""

from __future__ import annotations

import re

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading, whole_number
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_HEADER = r"Function\s+(?:Best )?Rate \(?MB/s\)?\s+Avg time\s+Min time\s+Max time"
_BEGINS = re.compile(rf"\s*(?:STREAM version |{_HEADER})")
_VERSION = re.compile(r"STREAM version \$Revision: (?P<version>\S+) \$")
_TABLE = re.compile(_HEADER)
_ELEMENTS = re.compile(r"Array size = (?P<elements>\d+)\b")
_BYTES = re.compile(r"This system uses (?P<bytes>\d+) bytes per")
_ROW = re.compile(r"(?P<loop>Copy|Scale|Add|Triad):\s*(?P<numbers>.*)$")
_ABOUT = re.compile(
    r"-{20,}|Memory per array|Total memory|Total Aggregate|Each kernel will|The \*best|will be used"
    r"|Number of Threads|Your clock|Each test below|\(= \d+ clock|Increase the size"
    r"|you are not getting|WARNING -- The above"
    r"|For best results|precision of your|Solution Validates|Offset ="
)
#: Printed behind the table.
_FAILED = re.compile(r"Failed Validation\b")
#: Columns of a row: name, unit, statistic over iterations, whether it is of one iteration alone.
_COLUMNS = (
    ("Best Rate", Unit("MB/s"), "max", True),
    ("Avg time", Unit("s"), "mean", False),
    ("Min time", Unit("s"), "min", True),
    ("Max time", Unit("s"), "max", True),
)
_LOOPS = 4


class StreamReader(Reading):
    """Reads the lines of STREAM."""

    name = "stream"
    begins = _BEGINS
    data_check = DataCheck(marks=("Failed Validation on array a[]",))

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._elements: int | None = None
        self._element_bytes: int | None = 8  # doubles, unless it is said
        self._in_table = False
        self._loops = 0
        self._versions = 0
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if found := _ROW.match(text):
            if self._in_table:
                self._take_row(line, found["loop"], found["numbers"].split())
            return self._in_table
        if text.startswith("STREAM version"):
            return self._take_version(text)
        if _TABLE.match(text):
            begun, self._in_table = self._in_table, True
            return not begun
        if found := _ELEMENTS.match(text):
            self._elements = whole_number(found["elements"])
        elif found := _BYTES.match(text):
            self._element_bytes = whole_number(found["bytes"])
        elif _FAILED.match(text):
            self.found.call_all_wrong(line.number, text[:100])
        else:
            return not text or _ABOUT.match(text) is not None
        return True

    def end(self) -> None:
        if self._loops < _LOOPS:
            self.refuse(self.found.begins_at, f"the output has {self._loops} of {_LOOPS} loops: it was cut")

    def _take_version(self, text: str) -> bool:
        """Takes the first line; that of another run begins another output."""
        self._versions += 1
        if self._versions > 1 or self._in_table:
            return False
        if found := _VERSION.match(text):
            self.know(version=found["version"])
        return True

    def _take_row(self, line: Line, loop: str, numbers: list[str]) -> None:
        self._loops += 1
        if len(numbers) != len(_COLUMNS):
            self.refuse(line.number, f"a row of {len(numbers)} numbers instead of {len(_COLUMNS)}")
            return
        known = self._elements is not None and self._element_bytes is not None
        size = (self._elements or 0) * (self._element_bytes or 0) if known else None
        end = "?:pageable"
        for (column, unit, statistic, alone), text in zip(_COLUMNS, numbers, strict=True):
            value = ForeignValue(
                line=line.number,
                test=loop,
                column=column,
                text=text,
                unit=unit,
                statistic=statistic,
                counts="read+write" if unit.metric == "bandwidth" else None,
                size_bytes=size,
                operation=Operation(f"stream-{loop.lower()}", "unidirectional", end, end),
                differences=("extreme",) if alone else (),
            )
            self.add(value)
