"""Intel MPI Benchmarks: tables of IMB-MPI1 and the like, 3.x to 2021.

"Mbytes/sec" are 10^6 bytes from 2018 on and 2^20 before; without the version, the row's own time decides.
Times are means of all repetitions: t_min and t_max are those of the fastest and the slowest process. Sizes
of Allgather, Alltoall, Gather and Scatter are those of one block; here they are those of all blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byteways.cases.osu import SIZED_BY_BLOCK
from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading, mistake_in_number, whole_number
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_BEGINS = re.compile(r"\s*#\s*(?:Intel ?\(R\) MPI Benchmarks|Benchmarking \S)")
_VERSION = re.compile(r"#\s*Intel ?\(R\) MPI Benchmarks (?P<version>\d{1,6}(?:\.\d{1,6})*)")
_TITLE = re.compile(r"#\s*Benchmarking (?P<test>\S+)")
_RANKS = re.compile(r"#\s*#processes = (?P<ranks>\d{1,7})\b")
_GROUPS = re.compile(r"#\s*\( \d+ groups of (?P<ranks>\d{1,7}) processes")
_HEADER = re.compile(r"(?:Group\s+)?#(?:bytes|repetitions)\b")
_ROW = re.compile(r"\d+(?:\s+\S+)+$")
_US, _PLAIN = Unit("us", written="usec"), Unit("1/s", written="Msg/sec")
#: Columns of times, each with what makes it differ from our slowest process's.
_TIMES: Mapping[str, tuple[str, ...]] = {
    "t[usec]": (),
    "t_min[usec]": ("extreme",),
    "t_max[usec]": (),
    "t_avg[usec]": (),
    "t_ovrl[usec]": ("no-case",),
    "t_pure[usec]": ("no-case",),
    "t_CPU[usec]": ("no-case",),
    "t_calc[usec]": ("no-case",),
}
_BANDWIDTH, _RATE = "Mbytes/sec", "Msg/sec"
_DEFECTS = "defects"
_NOT_MEASURED = ("Group", "#bytes", "#repetitions", "overlap[%]", _DEFECTS)
_COLUMNS = (*_TIMES, _BANDWIDTH, _RATE, *_NOT_MEASURED)
_COLLECTIVES = {
    "allreduce": "allreduce",
    "reduce": "reduce",
    "reduce_scatter": "reduce-scatter",
    "allgather": "allgather",
    "alltoall": "alltoall",
    "gather": "gather",
    "scatter": "scatter",
    "bcast": "broadcast",
}
#: Between two processes: pattern, what the bandwidth counts, bytes of a time in messages' sizes.
_PAIRS: Mapping[str, tuple[str, str, int]] = {
    "pingpong": ("ping-pong", "per-direction", 1),
    "pingping": ("bidirectional", "per-direction", 1),
    "sendrecv": ("bidirectional", "sum-of-directions", 2),
    "exchange": ("bidirectional", "sum-of-directions", 4),
    "uniband": ("unidirectional", "per-direction", 1),
    "biband": ("bidirectional", "sum-of-directions", 2),
}
#: The first version whose Mbytes are 10^6 bytes.
_DECIMAL_SINCE = 2018


@dataclass(frozen=True)
class _Row:
    """A row's cells by column, where they are."""

    line: int
    cells: Mapping[str, str]

    def number(self, column: str) -> float | None:
        text = self.cells.get(column, "")
        return float(text) if text and mistake_in_number(text) is None else None


class ImbReader(Reading):
    """Reads the lines of Intel MPI Benchmarks."""

    name = "imb"
    begins = _BEGINS
    data_check = DataCheck(marks=("defects 3.00",))

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._test = ""
        self._ranks: int | None = None
        self._columns: Sequence[str] = ()
        self._headed = False
        self._rows = 0
        self._titled_at = 0
        self._begun = False
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if found := _VERSION.match(text):
            if self._begun:
                return False
            self.know(version=found["version"])
        elif found := _TITLE.match(text):
            self.end()
            self._test, self._ranks, self._columns, self._headed = found["test"], None, (), False
            self._rows, self._titled_at = 0, line.number
        elif found := _RANKS.match(text) or _GROUPS.match(text):
            self._ranks = int(found["ranks"])
        elif _HEADER.match(text):
            self._take_header(line, text.split())
        elif self._headed and _ROW.match(text):
            if self._columns:  # else its header was refused
                self._take_row(line, text.split())
        else:
            return not text or text.startswith("#")
        self._begun = True
        return True

    def end(self) -> None:
        if self._titled_at and not self._rows:
            self.refuse(self._titled_at, f"the table of {self._test} has no row: the output was cut")

    def _take_header(self, line: Line, columns: Sequence[str]) -> None:
        unknown = [column for column in columns if column not in _COLUMNS]
        self._columns, self._headed = () if unknown else columns, True
        if unknown:
            self.refuse(line.number, f"the column '{unknown[0][:40]}' is unknown", "its rows are left out")
            self._titled_at = 0

    def _take_row(self, line: Line, cells: Sequence[str]) -> None:
        self._rows += 1
        if any(cell.startswith(("out-of-mem", "int-overflow")) for cell in cells):
            return  # it was not measured
        if len(cells) != len(self._columns):
            self.refuse(line.number, f"a row of {len(cells)} cells under {len(self._columns)} columns")
            return
        row = _Row(line.number, dict(zip(self._columns, cells, strict=True)))
        since = len(self.found.values)
        for column in self._columns:
            if column not in _NOT_MEASURED:
                self._add(row, column)
        defects = row.cells.get(_DEFECTS, "0")
        if mistake_in_number(defects) is not None or float(defects) > 0:
            self.found.call_wrong(line.number, f"its defects are {defects[:20]}", since)

    def _add(self, row: _Row, column: str) -> None:
        test, size = self._test.lower().removeprefix("multi-"), row.cells.get("#bytes", "")
        size_bytes = whole_number(size)
        if size and size_bytes is None:
            self.refuse(row.line, f"'{size[:40]}' is not a size")
            return
        pattern = _COLLECTIVES.get(test)
        if pattern in SIZED_BY_BLOCK and size_bytes is not None:
            size_bytes = None if self._ranks is None else size_bytes * self._ranks
        operation, counts, differences = self._operation(test, column)
        unit = _US if column in _TIMES else _PLAIN if column == _RATE else self._megabytes(row, test)
        if size and size_bytes is None:
            differences = (*differences, "size-unknown")
        self.add(
            ForeignValue(
                line=row.line,
                test=self._test,
                column=column,
                text=row.cells[column],
                unit=unit,
                statistic="mean",
                counts=counts,
                size_bytes=size_bytes,
                operation=operation,
                differences=tuple(dict.fromkeys((*_TIMES.get(column, ()), *differences))),
            )
        )

    def _operation(self, test: str, column: str) -> tuple[Operation, str | None, tuple[str, ...]]:
        """Returns what a test does, what a column counts, and how that differs from ours."""
        timed = column in _TIMES
        if test == "barrier":
            return Operation("mpi-barrier", "barrier", ranks=self._ranks), "call", ()
        if pattern := _COLLECTIVES.get(test):
            end = "0/?:pageable"
            return Operation("mpi", pattern, end, end, ranks=self._ranks), None, ()
        if test not in _PAIRS:
            return Operation(ranks=self._ranks), None, ("no-case",)
        pattern, counts, _ = _PAIRS[test]
        operation = Operation("mpi", pattern, "0/?:pageable", "1/?:pageable", ranks=self._ranks)
        if test == "pingpong":
            return operation, "one-way" if timed else counts, () if timed else ("no-case",)
        equal = test in ("sendrecv", "uniband", "biband") and self._ranks == 2 and not timed
        return operation, None if timed else counts, () if equal and column != _RATE else ("no-case",)

    def _megabytes(self, row: _Row, test: str) -> Unit:
        """Returns what the row means by Mbytes: by the version, else by its own time and size."""
        decimal, binary = Unit("MB/s", written=_BANDWIDTH), Unit("MiB/s", written=_BANDWIDTH)
        if version := self.found.hints.version:
            return decimal if int(version.split(".")[0]) >= _DECIMAL_SINCE else binary
        size, printed = row.number("#bytes"), row.number(_BANDWIDTH)
        time_us = row.number("t[usec]") or row.number("t_max[usec]")
        if not (size and printed and time_us):
            return decimal
        rate = _PAIRS.get(test, ("", "", 1))[2] * size / time_us  # in bytes/µs, which are MB/s
        return min((decimal, binary), key=lambda unit: abs(rate - printed * unit.factor / 1e6))
