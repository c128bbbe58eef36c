"""UCX's ucx_perftest: its boxes of text, 1.3 to 1.22, and the CSV of `-v`.

"MB/s" are 2^20 bytes per second (perftest_run.c divides by 1024 twice). The server prints the test, the
memory and the size, the client the numbers; one file may have both, in either order. Latencies are half of
a round trip.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading, whole_number
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_CSV = r"(?:[^,\s]+,)*iterations,(?:typical|\d{1,3}(?:\.\d+)?_percentile)_lat,avg_lat,overall_lat,"
_BOX = r"[|│]\s*API:\s+(?:protocol|transport) layer"
_UNITS = r"[|│][|│ ]*(?P<kind>\w+) \(usec\)\s*[|│]\s*bandwidth \(MB/s\)"
#: The box of the test, or the first line with words of the table or of the CSV, whichever comes first.
_BEGINS = re.compile(rf"\s*(?:{_BOX}|{_UNITS}|{_CSV})")
_ABOUT = re.compile(
    r"[|│]\s*(?P<what>API|Test|Data layout|(?:Send|Recv) (?:memory|device)|(?:Message|Window|AM header) size)"
    r":(?P<value>.*)$"
)
_TABLE_UNITS = re.compile(_UNITS)
_COLUMNS = re.compile(
    r"[|│]\s*(?P<first>Stage|Test)?\s*[|│]?\s*# iterations\s*[|│]"
    r"\s*(?P<rank>typical|\d{1,3}(?:\.\d+)?%ile)\s*[|│]"
)
_CSV_HEADER = re.compile(
    r"(?P<batches>(?:[^,\s]+,)*)iterations,(?P<rank>typical|\d{1,3}(?:\.\d+)?)(?:_percentile)?_lat,avg_lat"
)
_FRAME = re.compile(r"[+├└┌─┬┴┼┤┐┘][-+├└┌─┬┴┼┤┐┘]*$")
_NAMED = re.compile(r"\+(?P<test>[A-Za-z]\w*(?:/\w+)*)-[-+]*$")
_LABEL = re.compile(
    r"(?:(?P<label>(?:log:)?Final:|\[thread \d+\]|[A-Za-z]\w*(?:/\w+)*)[\s|│]+)?(?P<numbers>\d[^:;()=]*)$"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
#: Columns of a row, and of the last one with several threads (print_progress).
_LATENCIES, _BANDWIDTHS, _RATES = Unit("us"), Unit("MiB/s", written="MB/s"), Unit("1/s", written="msg/s")
_MEMORY = {
    "host": "pageable",
    "cuda": "device",
    "rocm": "device",
    "ze-device": "device",
    "cuda-managed": "managed",
}
#: Beginnings of descriptions of tests that send back and forth.
_BACK_AND_FORTH = "latency"


@dataclass
class _Test:
    """What the box says of a test."""

    name: str = ""
    send: str = ""
    receive: str = ""
    size_bytes: int | None = None


class UcxPerftestReader(Reading):
    """Reads the lines of ucx_perftest."""

    name = "ucx_perftest"
    begins = _BEGINS
    data_check = DataCheck(none_because="it checks no data")

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._about: dict[str, str] = {}
        self._kind = ""  # of the times: latency or overhead
        self._rank = ""  # 50.0: of the first column of times
        self._batches: int | None = None  # names before a row of CSV; None: it is a table
        self._final_rows = False  # the table has final rows alone (-f)
        self._old = False  # rows have no labels; the last one of a test is final
        self._pending: tuple[int, str, Sequence[str]] | None = None
        self._named = ""  # of a batch file
        self._finals = 0
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if found := _ABOUT.match(text):
            return self._take_about(found)
        if found := _TABLE_UNITS.match(text):
            return self._take_units(found)
        if found := _CSV_HEADER.match(text):
            return self._take_csv_header(found)
        if found := _COLUMNS.match(text):
            self._rank = found["rank"].removesuffix("%ile")
            self._old, self._final_rows = found["first"] is None, found["first"] == "Test"
            return True
        if found := _NAMED.match(text):
            self._finish_old()
            self._named = found["test"]
            return True
        if self._batches is not None:
            return self._take_csv_row(line, text)
        if self._rank and (found := _LABEL.match(text)):
            return self._take_row(line, found)
        return _FRAME.match(text) is not None

    def end(self) -> None:
        self._finish_old()
        if self._rank and not self._finals:
            self.refuse(self.found.begins_at, "the output ends before its final numbers", "let the test end")

    def _take_about(self, found: re.Match[str]) -> bool:
        if found["what"] == "API" and (self._finals or "API" in self._about):
            return False  # another test
        self._about[found["what"]] = found["value"].strip(" \t|│")
        return True

    def _take_units(self, found: re.Match[str]) -> bool:
        if self._kind:
            return False
        self._kind = found["kind"]
        return True

    def _take_csv_header(self, found: re.Match[str]) -> bool:
        if self._rank:
            return False
        self._rank, self._batches = found["rank"], found["batches"].count(",")
        return True

    def _take_row(self, line: Line, found: re.Match[str]) -> bool:
        label, numbers = found["label"] or "", re.split(r"[\s|│]+", found["numbers"].strip(" |│"))
        if len(numbers) not in (4, 8) or whole_number(numbers[0].replace(",", "")) is None:
            if label.endswith("Final:"):
                self.refuse(
                    line.number, f"a final row of {len(numbers)} numbers instead of 8, or 4 of threads"
                )
                self._finals += 1
            return label.endswith("Final:")
        if self._old:
            self._pending = (line.number, self._named, numbers)
        elif label.endswith("Final:") or (self._final_rows and not label.startswith("[thread")):
            self._add_row(line.number, self._named if label.endswith("Final:") else label, numbers)
        return True

    def _take_csv_row(self, line: Line, text: str) -> bool:
        cells = text.split(",")
        names, numbers = cells[: self._batches], cells[self._batches or 0 :]
        if numbers and numbers[0].startswith("[thread"):
            return True
        if len(numbers) not in (4, 8) or whole_number(numbers[0].strip()) is None:
            if len(cells) > 1 and numbers and whole_number(numbers[0].strip()) is not None:
                self.refuse(line.number, f"a row of {len(numbers)} numbers instead of 8, or 4 of threads")
                self._finals += 1
                return True
            return False
        self._add_row(line.number, "/".join(names), numbers)
        return True

    def _finish_old(self) -> None:
        """Adds the last row of a test whose rows have no labels."""
        if self._pending is not None:
            self._add_row(*self._pending)
            self._pending = None

    def _add_row(self, line: int, label: str, numbers: Sequence[str]) -> None:
        self._finals += 1
        times = f"{self._kind or 'lat'}"
        rank = "typical" if self._rank == "typical" else f"{self._rank}%ile"
        columns: list[tuple[str, Unit, str | None]] = [
            (f"{times} {rank}", _LATENCIES, _statistic_of(self._rank)),
            (f"{times} average", _LATENCIES, "mean"),
            (f"{times} overall", _LATENCIES, "mean"),
            ("bandwidth average", _BANDWIDTHS, "mean"),
            ("bandwidth overall", _BANDWIDTHS, "mean"),
            ("message rate average", _RATES, "mean"),
            ("message rate overall", _RATES, "mean"),
        ]
        if len(numbers) == 4:  # the sum of several threads
            columns = columns[2::2]
        test = _test_of(self._about, label)
        for (column, unit, statistic), number in zip(columns, numbers[1:], strict=True):
            text = number.strip()
            if unit is _RATES and _THOUSANDS.fullmatch(text):  # -N: rates have no decimals
                text = text.replace(",", "")
            self.add(self._value(line, column, text, unit, statistic, test))

    def _value(
        self, line: int, column: str, text: str, unit: Unit, statistic: str | None, test: _Test
    ) -> ForeignValue:
        back_and_forth = self._kind == _BACK_AND_FORTH or test.name.endswith(("lat", _BACK_AND_FORTH))
        one_way = unit is _LATENCIES and back_and_forth
        ends = [f"?:{_MEMORY.get(memory, '?')}" for memory in (test.send, test.receive)]
        missing = [
            *(("memory-unknown",) if "?:?" in ends else ()),
            *(("size-unknown",) if not test.size_bytes else ()),
        ]
        return ForeignValue(
            line=line,
            test=test.name or self.name,
            column=column,
            text=text,
            unit=unit,
            statistic=statistic,
            counts="one-way" if one_way else "per-direction" if unit is _BANDWIDTHS else None,
            size_bytes=test.size_bytes,
            operation=Operation("", "unidirectional", ends[0], ends[1], ranks=2),
            differences=("no-case", "devices-unknown", *missing),
        )


def _statistic_of(rank: str) -> str | None:
    """Returns the statistic of a percentile; the "typical" time of versions before 1.10 is a median."""
    if rank == "typical" or float(rank) == 50:
        return "median"
    return f"p{float(rank):g}"


def _test_of(about: Mapping[str, str], label: str) -> _Test:
    size = about.get("Message size", "")
    return _Test(
        label or about.get("Test", "").removeprefix("UCP "),
        about.get("Send memory", ""),
        about.get("Recv memory", ""),
        whole_number(size),
    )
