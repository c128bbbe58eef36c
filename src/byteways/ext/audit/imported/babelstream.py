"""BabelStream, 3 to 5: text or CSV, rates in MB of 10^6 bytes or MiB by the header, from the shortest time.

It leaves the first iteration out. A rate counts each array that a loop reads or writes. The text rounds
the size of an array; where only one power of two of elements is printed so, the size is known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading, whole_number
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_CSV = r"(?:phase,n_elements,sizeof|function,num_times,n_elements,sizeof),[a-z_]+,"
_BEGINS = re.compile(rf"\s*(?:BabelStream\s*$|{_CSV})")
_CSV_HEADER = re.compile(_CSV)
_ABOUT = re.compile(
    r"(?P<what>Version|Implementation|Precision|Number of elements|Array size|Driver): (?P<value>.*)$"
)
_DEVICE = re.compile(r"Using (?:CUDA|HIP|OpenCL|SYCL) device (?P<model>.+)$")
_OTHER = re.compile(r"BabelStream$|Running |Total size: |Memory: |Reduction kernel|Using |-{20,}")
#: Printed before the table, and before or behind that of CSV.
_FAILED = re.compile(r"Validation failed\b")
_HEADER = re.compile(r"Function\s+(?P<unit>Mi?Bytes/sec)\s+Min \(sec\)\s+Max\s+Average$")
_ROW = re.compile(r"(?P<loop>Copy|Mul|Add|Triad|Dot|Nstream)\s+(?P<numbers>\S.*)$")
_PHASE = re.compile(r"(?P<phase>Init|Read): +(?P<time>\S+) s \(=(?P<rate>\S+) (?P<unit>Mi?Bytes/sec)\)$")
_ALONE = re.compile(r"(?P<what>Runtime \(seconds\)|Bandwidth \((?P<unit>Gi?B/s)\)): +(?P<number>\S+)$")
_SIZE = re.compile(r"(?P<size>[\d.]+) (?P<unit>Mi?B) ")
_INTERFACES = {"Copy": "stream-copy", "Mul": "stream-scale", "Add": "stream-add", "Triad": "stream-triad"}
_BYTES = {"double": 8, "float": 4}
_ENDS = {"CUDA": "?:device", "HIP": "?:device", "OpenMP": "?:pageable", "TBB": "?:pageable"}
#: Units by what a header calls them, in text and CSV.
_UNITS = {
    "MBytes/sec": Unit("MB/s", written="MBytes/sec"),
    "MiBytes/sec": Unit("MiB/s", written="MiBytes/sec"),
    "max_mbytes_per_sec": Unit("MB/s", written="mbytes_per_sec"),
    "max_mibytes_per_sec": Unit("MiB/s", written="mibytes_per_sec"),
    "gbytes_per_sec": Unit("GB/s", written="gbytes_per_sec"),
    "gibytes_per_sec": Unit("GiB/s", written="gibytes_per_sec"),
    "GB/s": Unit("GB/s"),
    "GiB/s": Unit("GiB/s"),
}
#: Statistic of a column of CSV over iterations; a run of Triad alone has the time of all of them.
_STATISTICS = {"min_runtime": "min", "max_runtime": "max", "avg_runtime": "mean", "runtime": None}


class BabelStreamReader(Reading):
    """Reads the lines of BabelStream."""

    name = "babelstream"
    begins = _BEGINS
    data_check = DataCheck(marks=("Validation failed on c[]",))

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._about: dict[str, str] = {}
        self._unit: Unit | None = None  # of the rates in the table
        self._columns: Sequence[str] = ()  # of CSV
        self._rows = 0
        self._begun = False
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if _CSV_HEADER.match(text):
            return self._take_csv_header(line, text.split(","))
        if self._columns and text.count(",") >= 4:
            self._take_csv_row(line, text.split(","))
        elif found := _HEADER.match(text):
            self._unit = _UNITS[found["unit"]]
        elif self._unit is not None and (found := _ROW.match(text)):
            self._take_row(line, found["loop"], found["numbers"].split())
        elif found := _PHASE.match(text):
            self._add(line, found["phase"], "time", found["time"], Unit("s"), None)
            self._add(line, found["phase"], found["unit"], found["rate"], _UNITS[found["unit"]], None)
        elif found := _ALONE.match(text):
            self._take_alone(line, found)
        elif _FAILED.match(text):
            self.found.call_all_wrong(line.number, text[:100])
        elif text == "BabelStream" and self._begun:
            return False
        else:
            self._begun = self._begun or text == "BabelStream"
            return self._take_about(text)
        return True

    def end(self) -> None:
        if not self._rows:
            self.refuse(self.found.begins_at, "the output ends before its first rate")

    def _take_about(self, text: str) -> bool:
        if found := _ABOUT.match(text):
            self._about[found["what"]] = found["value"]
            if found["what"] == "Version":
                self.know(version=found["value"])
            return True
        if found := _DEVICE.match(text):
            self.know(gpus={0: found["model"]})
            return True
        return not text or _OTHER.match(text) is not None

    def _take_csv_header(self, line: Line, columns: list[str]) -> bool:
        """Takes the header of the phases or of the loops; a second one of the same begins another output."""
        if self._rows or self._columns[:1] == tuple(columns[:1]):
            return False
        self._columns = tuple(columns)
        unknown = [name for name in columns[3:] if name not in (*_UNITS, *_STATISTICS, "sizeof")]
        if unknown:
            self.refuse(line.number, f"the column '{unknown[0][:40]}' is unknown")
            self._columns = ()
        return True

    def _take_csv_row(self, line: Line, cells: list[str]) -> None:
        if len(cells) != len(self._columns):
            self.refuse(line.number, f"a row of {len(cells)} cells under {len(self._columns)} columns")
            return
        row = dict(zip(self._columns, cells, strict=True))
        name = cells[0]
        self._rows += self._columns[0] == "function"
        elements, size = whole_number(row["n_elements"]), whole_number(row["sizeof"])
        size_bytes = None if elements is None or size is None else elements * size
        for column, text in row.items():
            if column in _UNITS:
                statistic = "max" if column.startswith("max") and len(row) > 5 else None
                self._add(line, name, column, text, _UNITS[column], statistic, size_bytes)
            elif column in _STATISTICS:
                self._add(line, name, column, text, Unit("s"), _STATISTICS[column], size_bytes)

    def _take_row(self, line: Line, loop: str, numbers: list[str]) -> None:
        self._rows += 1
        if len(numbers) != 4 or self._unit is None:
            self.refuse(line.number, f"a row of {len(numbers)} numbers instead of 4")
            return
        columns = (
            (self._unit.written, self._unit, "max"),
            ("Min (sec)", Unit("s"), "min"),
            ("Max", Unit("s"), "max"),
            ("Average", Unit("s"), "mean"),
        )
        for (column, unit, statistic), text in zip(columns, numbers, strict=True):
            self._add(line, loop, column, text, unit, statistic, self._printed_size())

    def _take_alone(self, line: Line, found: re.Match[str]) -> None:
        """Takes a line of a run of Triad alone, whose time is that of all iterations."""
        self._rows += 1
        unit = _UNITS[found["unit"]] if found["unit"] else Unit("s")
        elements = whole_number(self._about.get("Number of elements", ""))
        bytes_each = _BYTES.get(self._about.get("Precision", ""))
        size = None if elements is None or bytes_each is None else elements * bytes_each
        self._add(line, "Triad", found["what"], found["number"], unit, None, size)

    def _printed_size(self) -> int | None:
        """Returns the size of an array in bytes, if a power of two of elements alone is printed as it is."""
        found = _SIZE.match(self._about.get("Array size", ""))
        bytes_each = _BYTES.get(self._about.get("Precision", ""))
        if found is None or bytes_each is None:
            return None
        unit = 2**20 if found["unit"] == "MiB" else 10**6
        fitting = [bytes_each << power for power in range(20, 38)]
        sizes = [size for size in fitting if f"{size / unit:.1f}" == found["size"]]
        return sizes[0] if len(sizes) == 1 else None

    def _add(
        self,
        line: Line,
        test: str,
        column: str,
        text: str,
        unit: Unit,
        statistic: str | None,
        size_bytes: int | None = None,
    ) -> None:
        interface = _INTERFACES.get(test, "")
        rate = unit.metric == "bandwidth"
        whole = test == "Triad" and statistic is None and not rate  # the time of all iterations
        differences = [] if interface and not whole else ["no-case"]
        end = _ENDS.get(self._about.get("Implementation", ""), "?:?")
        missing = {"extreme": statistic in ("min", "max"), "memory-unknown": end == "?:?"}
        missing["size-unknown"] = size_bytes is None
        differences += [code for code, missed in missing.items() if missed]
        operation = Operation(interface, "unidirectional" if interface else "", end, end)
        counts = "read+write" if rate and test not in ("Init", "Read") else None
        self.add(
            ForeignValue(
                line.number,
                test,
                column,
                text,
                unit,
                statistic,
                counts,
                size_bytes,
                operation,
                tuple(differences),
            )
        )
