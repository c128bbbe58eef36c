"""CSV of Google Benchmark, as of Comm|Scope: one row an entry, counters behind it."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence

from byteways.ext.audit.imported.google_benchmark import value_of_entry
from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading, mistake_in_number, whole_number
from byteways.ext.audit.imported.value import TIME_UNITS, Unit

_BEGINS = re.compile(r"\s*name,iterations,real_time,cpu_time,time_unit,bytes_per_second,")
#: Aggregates have their kind behind the name; a deviation is no value.
_AGGREGATE = re.compile(r".*_(?P<kind>mean|median|stddev|cv|min|max)$")
_NO_VALUES = ("stddev", "cv")
#: A row has a name, iterations and times; what is shorter is a line of something else.
_LEAST_COMMAS = 2


class GoogleBenchmarkCsvReader(Reading):
    """Reads the lines of `--benchmark_format=csv`."""

    name = "google-benchmark-csv"
    begins = _BEGINS
    data_check = DataCheck(none_because="an entry whose benchmark reports an error has no value")

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._columns = _cells(line.text)
        self._rows = 0

    def take(self, line: Line) -> bool:
        if _BEGINS.match(line.text):
            return False
        cells = _cells(line.text) if line.text.count(",") >= _LEAST_COMMAS else ()
        if len(cells) < 2 or not cells[0] or whole_number(cells[1]) is None:
            return not line.text.strip()
        self._rows += 1
        if len(cells) != len(self._columns):
            wanted = len(self._columns)
            self.refuse(line.number, f"a row of {len(cells)} cells under {wanted} columns")
        else:
            self._take_row(line, dict(zip(self._columns, cells, strict=True)))
        return True

    def end(self) -> None:
        if not self._rows:
            self.refuse(self.found.begins_at, "the output ends before its first row")

    def _take_row(self, line: Line, row: Mapping[str, str]) -> None:
        name, unit = row["name"], row["time_unit"]
        if row.get("error_occurred") == "true":
            self.refuse(line.number, f"{name[:80]} failed")
            return
        aggregate = _AGGREGATE.match(name)
        kind = aggregate["kind"] if aggregate else "mean"
        if kind in _NO_VALUES:
            return
        counters = {key: float(text) for key, text in row.items() if mistake_in_number(text) is None}
        numbers = {"bytes_per_second": Unit("B/s")}
        if unit in TIME_UNITS:
            numbers["real_time"] = Unit(unit)
        else:
            self.refuse(line.number, f"'{unit[:20]}' is no unit of time")
        for column, of in numbers.items():
            if row[column]:
                value = value_of_entry(name, column, row[column], of, kind, counters, line=line.number)
                self.add(value)


def _cells(text: str) -> Sequence[str]:
    """Returns the cells of a line of CSV, whose names have quotes."""
    try:
        return [cell.strip() for cell in next(csv.reader([text]), [])]
    except csv.Error:
        return []
