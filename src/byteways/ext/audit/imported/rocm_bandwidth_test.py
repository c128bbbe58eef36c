"""Old logs of rocm_bandwidth_test 2.x: matrices of `-a` and `-A`, and tables by size of a pair.

GB/s are 10^9 bytes. A matrix has the fastest repetition. CPUs come first in its numbering; the list of
devices says which numbers are GPUs. A copy within a GPU counts bytes read and written: once alone, its
published values would exceed the memory of those GPUs.
"""

from __future__ import annotations

import re

from byteways.base.units import parse_size
from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import ABSENT, Reading
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_VERSION = r"RocmBandwidthTest Version: (?P<version>\S+)"
_BEGINS = re.compile(rf"\s*{_VERSION}")
_FIRST = re.compile(_VERSION)
_DEVICE = re.compile(r"Device: (?P<number>\d{1,6}), +(?P<rest>.+)$")
_MATRIX = re.compile(r"(?P<both>Unid|Bd|Bid)irectional copy peak bandwidth GB/s")
_HEADER = re.compile(r"D/D(?P<columns>(?:\s+\d{1,6})+)$")
_ROW = re.compile(r"(?P<row>\d{1,6})(?P<cells>(?:\s+\S+)+)$")
_PAIR = re.compile(r"=+\s+(?:(?P<both>Bidirectional|Unidirectional)\s+)?Benchmark Result\s*=+$")
_END = re.compile(
    r"=+ (?P<end>Src|Dst) (?:Device|Pool) Id: (?P<number>\d{1,6}) .*Type: (?P<kind>Cpu|Gpu) =+$",
    re.IGNORECASE,
)
_SIZES = re.compile(r"Data Size\s+Avg Time\(us\)\s+Avg BW\(GB/s\)\s+Min Time\(us\)\s+Peak BW\(GB/s\)$")
_OF_SIZE = re.compile(r"(?P<size>[1-9][0-9]{0,11} ?[KMG]?B)\s+(?P<numbers>\S+(?:\s+\S+)*)$")
_OTHER = re.compile(
    r"\.+$|Launch Command|Inter-Device|Device (?:Access|Numa)|=+ |Data Path|Info:|Warning|Verification"
)
#: Of `-v`, which compares what was copied.
_FAILED = re.compile(r"Verification\b.*\bfail", re.IGNORECASE)
_CPUS = re.compile(r"\b(?:EPYC|Xeon|Ryzen|Core\(TM\)|CPU|Threadripper|Processor|POWER)\b", re.IGNORECASE)
#: Columns of a table by size: name, unit, statistic.
_COLUMNS = (
    ("Avg Time", Unit("us"), "mean"),
    ("Avg BW", Unit("GB/s"), "mean"),
    ("Min Time", Unit("us"), "min"),
    ("Peak BW", Unit("GB/s"), "max"),
)


class RocmBandwidthTestReader(Reading):
    """Reads the lines of rocm_bandwidth_test."""

    name = "rocm-bandwidth-test"
    begins = _BEGINS
    data_check = DataCheck(marks=("Verification failed",))

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._kinds: dict[int, str] = {}  # cpu or gpu, by their number
        self._listed = False  # all devices are known
        self._both: bool | None = None  # of the matrix or table; None: it has no bandwidths
        self._columns: list[int] | None = None
        self._ends: dict[str, int] = {}
        self._sizes = False
        self._titled_at, self._rows = 0, 0
        self._begun = False
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if found := _FIRST.match(text):
            if self._begun:
                return False
            self.know(version=found["version"])
            self._begun = True
        elif found := _DEVICE.match(text):
            self._take_device(int(found["number"]), found["rest"])
        elif found := _MATRIX.match(text) or _PAIR.match(text):
            self.end()
            self._both = (found["both"] or "")[:1] == "B"
            self._titled_at, self._rows, self._columns, self._sizes = line.number, 0, None, False
        elif found := _END.match(text):
            self._ends[found["end"].lower()] = int(found["number"])
            self._kinds[int(found["number"])] = found["kind"].lower()
        elif found := _HEADER.match(text):
            self._columns = [int(column) for column in found["columns"].split()]
        elif _SIZES.match(text):
            self._sizes = True
        elif self._sizes and (found := _OF_SIZE.match(text)):
            self._take_size(line, found["size"], found["numbers"].split())
        elif self._columns is not None and (found := _ROW.match(text)):
            self._take_row(line, found)
        else:
            return self._take_other(line, text)
        return True

    def end(self) -> None:
        if self._titled_at and not self._rows:
            self.refuse(self._titled_at, "the table has no row: the output was cut")
        self._titled_at = 0

    def _take_other(self, line: Line, text: str) -> bool:
        if _FAILED.match(text):
            self.found.call_all_wrong(line.number, text[:100])
            return True
        if text.startswith(("Inter-Device", "Device Access", "Device Numa")):
            self._both = None  # a matrix without bandwidths
        return not text or _OTHER.match(text) is not None

    def _take_device(self, number: int, rest: str) -> None:
        """Notes a device: a CPU by its name alone, a GPU with its identity and PCI address behind it."""
        self._listed = True
        self._kinds[number] = "cpu" if _CPUS.search(rest) else "gpu"
        if self._kinds[number] == "gpu":
            gpus = [each for each, kind in self._kinds.items() if kind == "gpu"]
            self.know(gpus={len(gpus) - 1: rest.split(",")[0].strip()})

    def _take_row(self, line: Line, found: re.Match[str]) -> None:
        assert self._columns is not None  # the caller has seen it
        if self._both is None:
            return
        self._rows += 1
        cells = found["cells"].split()
        if len(cells) != len(self._columns):
            wanted = len(self._columns)
            self.refuse(line.number, f"a row of {len(cells)} cells in a matrix of {wanted} columns")
            return
        row, test = int(found["row"]), "Bidirectional" if self._both else "Unidirectional"
        for column, text in zip(self._columns, cells, strict=True):
            if text not in ABSENT:
                name = f"(row {row}, column {column})"
                self._add(
                    line, f"{test} copy peak bandwidth", name, text, Unit("GB/s"), "max", (row, column), None
                )

    def _take_size(self, line: Line, size: str, numbers: list[str]) -> None:
        self._rows += 1
        if len(numbers) != len(_COLUMNS):
            self.refuse(line.number, f"a row of {len(numbers)} numbers instead of {len(_COLUMNS)}")
            return
        size_bytes = parse_size(size.replace(" ", "").replace("B", "iB") if size[-2:-1] in "KMG" else size)
        pair = (self._ends.get("src", -1), self._ends.get("dst", -1))
        test = "Bidirectional" if self._both else "Unidirectional"
        for (column, unit, statistic), text in zip(_COLUMNS, numbers, strict=True):
            self._add(line, test, column, text, unit, statistic, pair, size_bytes)

    def _add(
        self,
        line: Line,
        test: str,
        column: str,
        text: str,
        unit: Unit,
        statistic: str,
        pair: tuple[int, int],
        size_bytes: int | None,
    ) -> None:
        ends = [self._end(number) for number in pair]
        local = pair[0] == pair[1]
        rate = unit.metric == "bandwidth"
        counts = "read+write" if local else "sum-of-directions" if self._both else "per-direction"
        differences = {
            "extreme": statistic in ("min", "max"),
            "size-unknown": size_bytes is None,
            "devices-unknown": "?:?" in ends,
            "no-case": bool(self._both and not rate),
        }
        operation = Operation("copy", "bidirectional" if self._both else "unidirectional", ends[0], ends[1])
        self.add(
            ForeignValue(
                line=line.number,
                test=test,
                column=column,
                text=text,
                unit=unit,
                statistic=statistic,
                counts=counts if rate else "call",
                size_bytes=size_bytes,
                operation=operation,
                differences=tuple(code for code, holds in differences.items() if holds),
            )
        )

    def _end(self, number: int) -> str:
        """Returns a buffer of a device by its number: GPUs are counted among GPUs, CPUs among CPUs."""
        kind = self._kinds.get(number)
        if kind is None:
            return "?:?"
        if not self._listed:
            return "?:device" if kind == "gpu" else f"cpu{number}:pinned"
        alike = sorted(each for each, other in self._kinds.items() if other == kind)
        return f"{kind}{alike.index(number)}:{'device' if kind == 'gpu' else 'pinned'}"
