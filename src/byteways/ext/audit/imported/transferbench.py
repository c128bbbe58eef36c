"""AMD's TransferBench, 1.50 to 1.70: tests with their transfers, and the matrices of its presets p2p and a2a.

GB/s are 10^9 bytes, means over iterations. Frames are `|`, box drawings, none or commas (OUTPUT_TO_CSV=1).
A time of 0.000 ms is below its last digit. "Aggregate (CPU)" includes launches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import ABSENT, Reading
from byteways.ext.audit.imported.transferbench_routes import TransferRoute, route_of
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_BEGINS = re.compile(
    r"\s*(?:TransferBench v\d|Executor: [A-Z]+ \d+\W.*GB/s|(?:Uni|Bi)directional copy peak bandwidth GB/s \[)"
)
_VERSION = re.compile(r"TransferBench v(?P<version>\d[\w.]*)")
_FRAMES = str.maketrans("|│,", "   ")
_TEST = re.compile(r"Test (?P<number>\d{1,6}):$")
_ROW = re.compile(
    r"(?P<what>Executor: [A-Z]+ \d+|Transfer \d+|Iter \d+|Aggregate \(CPU\)|StandardDev) *(?P<numbers>\S.*)$"
)
#: Cells of a row: whole words of a bounded length, so that a search takes a long line once.
_RATE = re.compile(r"(?<!\S)(?P<number>\S{1,40}) GB/s(?P<sum> \(sum\))?")
_TIME = re.compile(r"(?<!\S)(?P<number>\S{1,40}) ms\b")
_BYTES = re.compile(r"(?<!\S)(?P<number>\d{1,15}) bytes\b")
_ARROWS = re.compile(r"(?<!\S)\S{1,200} -> \S{1,40} -> \S{1,200}")
_SIZE = re.compile(r"Bytes Per Direction[ ,]+(?P<size>\d{1,15})$")
_PEERS = re.compile(
    r"(?P<both>Uni|Bi)directional copy peak bandwidth GB/s \[(?P<read>Local|Remote) read / \w+ write\]"
    r" \(GPU-Executor: (?P<executor>\w+)\)"
)
_SUMMARY = re.compile(r"Summary: \[(?P<size>\d{1,15}) bytes per Transfer\]")
_HEADER = re.compile(r"SRC\S*DST\s+(?P<columns>.*)$")
_COLUMN = re.compile(r"[CG]PU \d{1,6}|NIC\([^)]*\)|STotal|Actual")
_CELLS = re.compile(
    r"(?P<kind>[CG])PU (?P<row>\d{1,6})\s+(?:(?P<way>->|<->|<-|min|max|sd)\s+)?(?P<cells>\S+(?:\s+\S+)*)$"
)
_TOTAL = re.compile(r"RTotal\s+(?P<cells>\S+(?:\s+\S+)*)$")
_AVERAGES = re.compile(r"Averages \(During\s+(?P<both>UniDir|BiDir)\):\s*(?P<cells>\S+(?:\s+\S+)*)$")
_WAYS = re.compile(r"[CG]PU->[CG]PU(?:\s+[CG]PU->[CG]PU)*$")
_ALL = re.compile(r"(?P<what>(?:Average|Aggregate)\s+bandwidth \([CG]PU Timed\)):\s+(?P<number>\S+) GB/s$")
_OTHER = re.compile(
    r"=+$|-+[-┬┼┴+ ]*$|\[[A-Z0-9 a-z-]+\]|[A-Z][A-Z0-9_]+\s*[=,]"
    r"|##|GPU-\w+ All-To-All|- Copying|Completed|Run"
)
_MISMATCH = re.compile(r"\[ERROR\].*\b(?:mismatch at index|output mismatch)\b")
_GBS, _MS = Unit("GB/s"), Unit("ms")


class TransferBenchReader(Reading):
    """Reads the lines of TransferBench."""

    name = "transferbench"
    begins = _BEGINS
    data_check = DataCheck(
        marks=(
            "[ERROR] Transfer 0: Unexpected mismatch at index 7 of destination 0",
            "[ERROR] Transfer 0: Unexpected output mismatch for destination 0",
        )
    )

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._test = ""
        self._pending: list[tuple[ForeignValue, bool]] = []  # of a test, and whether it is of a transfer
        self._transfers = 0
        self._route: TransferRoute | None = None  # of the last transfer
        self._size_bytes: int | None = None
        self._peers: re.Match[str] | None = None
        self._columns: Sequence[str] = ()
        self._ways: Sequence[str] = ()  # of averages
        self._open_at: int | None = None  # the title of a matrix without a row so far
        self._begun = False
        if "Executor:" in line.text:
            self._test = "Test"  # pasted without its number
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if _MISMATCH.match(text):
            self._end_of_test()
            self.found.call_all_wrong(line.number, text[:100])  # it ends the program
            return True
        if text[:1].islower():  # none of its lines, and most of a log's
            return False
        plain = " ".join(text.translate(_FRAMES).split())
        if found := _VERSION.match(text):
            if self._begun:
                return False
            self.know(version=found["version"])
        elif found := _TEST.match(plain):
            self._end_of_test()
            self._test, self._open_at = f"Test {found['number']}", line.number
        elif self._test and (found := _ROW.match(plain)):
            self._take_row(line, found["what"], found["numbers"])
        elif not self._take_matrix(line, text, plain):
            return not text or _OTHER.match(text) is not None or set(plain) <= set("-=┬┼┴├┤┌┐└┘─+ ")
        self._begun = True
        return True

    def end(self) -> None:
        self._end_of_test()
        self._end_of_matrix()

    def _take_row(self, line: Line, what: str, numbers: str) -> None:
        rates, times = list(_RATE.finditer(numbers)), list(_TIME.finditer(numbers))
        size, route = _BYTES.search(numbers), _ARROWS.search(numbers)
        self._open_at = None
        if what == "StandardDev":
            return
        if not rates or not times or (what.startswith("Transfer") and (route is None or size is None)):
            self.refuse(line.number, f"the row of {what} ends early: it was cut")
            return
        if route is not None:
            self._transfers += 1
            self._route = route_of(route[0])
        size_bytes = int(size["number"]) if size else None
        for rate in rates:
            self._hold(line, what + (" (sum)" if rate["sum"] else ""), rate["number"], _GBS, size_bytes)
        self._hold(line, what, times[0]["number"], _MS, size_bytes)

    def _hold(self, line: Line, what: str, text: str, unit: Unit, size_bytes: int | None) -> None:
        """Keeps a value until the test ends: with other transfers beside it, it is another one."""
        transfer = what.startswith(("Transfer", "Iter"))
        route = (
            self._route if transfer and self._route is not None else TransferRoute(Operation(), ("no-case",))
        )
        one = what.startswith("Iter")
        rate = unit is _GBS
        differences = tuple(dict.fromkeys((*route.differences, *(("no-case",) if one else ()))))
        stores_or_loads = route.operation.interface in ("store", "load")
        value = ForeignValue(
            line=line.number,
            test=self._test,
            column=f"{what} {'GB/s' if rate else 'ms'}",
            text=text,
            unit=unit,
            statistic=None if one else "mean",
            counts=("read+write" if stores_or_loads else "per-direction") if rate and transfer else None,
            size_bytes=size_bytes,
            operation=route.operation,
            differences=differences,
        )
        self._pending.append((value, transfer))

    def _end_of_test(self) -> None:
        if self._test and self._open_at is not None:
            self.refuse(self._open_at, f"{self._test} has no row: the output was cut")
        for value, transfer in self._pending:
            if transfer and self._transfers > 1:
                operation = replace(value.operation, pattern="transfers")
                value = replace(value, operation=operation, differences=_with_no_case(value.differences))
            self.add(value)
        self._pending, self._transfers, self._route, self._test, self._open_at = [], 0, None, "", None

    def _take_matrix(self, line: Line, text: str, plain: str) -> bool:
        """Takes a line of a matrix of p2p or a2a, or below it."""
        if found := _SIZE.match(text):
            self._size_bytes = int(found["size"])
        elif found := _PEERS.match(plain):
            self._begin_matrix(line)
            self._peers = found
        elif found := _SUMMARY.match(plain):
            self._begin_matrix(line)
            self._peers, self._size_bytes = None, int(found["size"])
        elif found := _HEADER.match(plain):
            self._columns = _COLUMN.findall(found["columns"])
        elif _WAYS.match(plain):
            self._ways = plain.split()
        elif found := _AVERAGES.match(plain):
            self._add_totals(line, f"Averages (During {found['both']})", self._ways, found["cells"].split())
        elif self._columns and (found := _TOTAL.match(plain)):
            self._add_totals(line, "RTotal", (*self._columns, "Actual (max)"), found["cells"].split())
        elif found := _ALL.match(plain):
            self._add_totals(line, " ".join(found["what"].split()), ("GB/s",), [found["number"]])
        elif self._columns and (found := _CELLS.match(plain)):
            self._take_cells(line, found)
        else:
            return False
        return True

    def _begin_matrix(self, line: Line) -> None:
        self._end_of_test()
        self._end_of_matrix()
        self._columns, self._open_at = (), line.number

    def _end_of_matrix(self) -> None:
        if self._open_at is not None:
            self.refuse(self._open_at, "the matrix has no row: the output was cut")
        self._open_at = None

    def _take_cells(self, line: Line, found: re.Match[str]) -> None:
        self._open_at = None
        cells, way = found["cells"].split(), found["way"] or ""
        if way == "sd":
            return
        if len(cells) != len(self._columns):
            wanted = len(self._columns)
            self.refuse(line.number, f"a row of {len(cells)} cells in a matrix of {wanted} columns")
            return
        row = f"{found['kind']}PU {found['row']}"
        for column, text in zip(self._columns, cells, strict=True):
            if text not in ABSENT:
                self.add(self._cell(line, row, way, column, text))

    def _cell(self, line: Line, row: str, way: str, column: str, text: str) -> ForeignValue:
        name = f"({row} {way} {column})" if way else f"({row}, {column})"
        operation, counts = self._operation(row, way, column)
        differences = () if self._peers is not None else ("no-case",)
        if way in ("min", "max"):
            differences = ("extreme",)
        both = self._peers is not None and self._peers["both"] == "Bi"
        return ForeignValue(
            line=line.number,
            test="a2a" if self._peers is None else f"p2p {'bidirectional' if both else 'unidirectional'}",
            column=name,
            text=text,
            unit=_GBS,
            statistic=way if way in ("min", "max") else "mean",
            counts=counts,
            size_bytes=self._size_bytes,
            operation=operation,
            differences=differences,
        )

    def _operation(self, row: str, way: str, column: str) -> tuple[Operation, str | None]:
        """Returns what a cell does, and what it counts."""
        if not column.startswith(("CPU", "GPU")):  # a sum, or a NIC
            return Operation(), None
        if self._peers is None:
            ends = _end(row), _end(column)
            return Operation("", "all-pairs", *ends, executor=_end(row).partition(":")[0]), "per-direction"
        source, destination = (column, row) if way == "<-" else (row, column)
        executing = destination if self._peers["read"] == "Remote" else source
        kernels = "kernel" if self._peers["executor"] == "GFX" else "copy"
        both = self._peers["both"] == "Bi"
        operation = Operation(
            kernels if executing.startswith("GPU") else "memcpy-mt",
            "bidirectional" if both else "unidirectional",
            _end(source),
            _end(destination),
            executor=_end(executing).partition(":")[0],
        )
        return operation, "sum-of-directions" if way == "<->" else "per-direction"

    def _add_totals(self, line: Line, test: str, columns: Sequence[str], cells: Sequence[str]) -> None:
        """Adds sums and means of cells: of several devices, measured in turns or at once."""
        if len(cells) > len(columns):
            self.refuse(line.number, f"{len(cells)} numbers under {len(columns)} columns")
            return
        for column, text in zip(columns, cells, strict=False):
            if text not in ABSENT:
                codes = ("devices-unknown",)
                size = self._size_bytes
                self.add(
                    ForeignValue(
                        line.number, test, column, text, _GBS, "mean", None, size, Operation(), codes
                    )
                )


def _end(name: str) -> str:
    """Returns the buffer of `GPU 03` or `CPU 01` in byteways' words."""
    kind, _, number = name.partition(" ")
    return f"{kind.lower()}{int(number)}:{'device' if kind == 'GPU' else 'pinned'}"


def _with_no_case(differences: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*differences, "no-case")))
