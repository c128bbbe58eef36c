"""OSU Micro-Benchmarks: tables of its MPI, NCCL, RCCL and Python programs, versions 5 to 7.

MB/s are 10^6 bytes. The latency of two ranks is half of a round trip; times of collectives are means over
ranks. OSU gives the size of allgather, alltoall, gather and scatter for one rank's block and does not print
how many ranks there are, so that their sizes are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from byteways.cases.interfaces import MULTI_PAIR
from byteways.cases.osu import SIZED_BY_BLOCK
from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import Reading, whole_number
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

_TITLE = re.compile(
    r"#\s*(?:OSU|OMB(?:[- ]Py(?:thon)?)?)\s+(?P<test>\S.*?(?:Test|Benchmark))\b(?:\s+v(?P<version>\d[\w.]*))?"
)
#: `# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)`.
_PLACES = re.compile(
    r"#\s*Send Buffer on (?P<send>\w+) \(\w+\) and Receive Buffer on (?P<receive>\w+) \(\w+\)"
)
_PAIRS = re.compile(
    r"#\s*\[\s*pairs:\s*(?P<pairs>\d{1,7})\s*\](?:\s*\[\s*window size:\s*(?P<window>\d{1,7})\s*\])?"
)
#: Of a table with sizes, and of that of barriers, which has none.
_HEADER = re.compile(r"#\s*(?:Size\b|(?:Avg |)Latency\s?\(us\))")
_ROW = re.compile(r"-?\d\S*(?:\s+\S+)*$")
#: Printed behind the row whose data are wrong.
_ERROR = "DATA VALIDATION ERROR"
_US, _MBS, _RATE = Unit("us"), Unit("MB/s"), Unit("1/s", written="Messages/s")
_MEMORIES = {"HOST": "pageable", "DEVICE": "device", "MANAGED": "managed"}
#: Columns of times: unit, statistic and what makes them differ from ours.
_LATENCY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "latency(us)": ("mean", ()),
    "avglatency(us)": ("mean", ()),
    "avglat(us)": ("mean", ()),
    "minlatency(us)": ("min", ("extreme",)),
    "minlat(us)": ("min", ("extreme",)),
    "maxlatency(us)": ("max", ()),
    "maxlat(us)": ("max", ()),
    "overall(us)": ("mean", ("no-case",)),
    "compute(us)": ("mean", ("no-case",)),
    "coll.init(us)": ("mean", ("no-case",)),
    "mpi_test(us)": ("mean", ("no-case",)),
    "mpi_wait(us)": ("mean", ("no-case",)),
    "purecomm.(us)": ("mean", ("no-case",)),
    "minpurecomm.(us)": ("min", ("no-case",)),
    "maxpurecomm.(us)": ("max", ("no-case",)),
    "mincomm.(us)": ("min", ("no-case",)),
    "maxcomm.(us)": ("max", ("no-case",)),
}
_TAIL = re.compile(r"p(?P<percent>\d+)taillat\(us\)")
_BANDWIDTH = ("bandwidth(mb/s)", "mb/s", "avgbandwidth(mb/s)")
_TAIL_BANDWIDTH = re.compile(r"p(?P<percent>\d+)tailbw\(mb/s\)")
_MESSAGES = ("messages/s", "avgmessagerate", "messagerate")
_NOT_MEASURED = ("size", "iterations", "validation", "overlap(%)", "transfersize", "transfers")
#: Words of titles, in order of precedence, and the pattern that they mean.
_COLLECTIVES: Sequence[tuple[str, str]] = (
    ("reduce_scatter", "reduce-scatter"),
    ("reduce-scatter", "reduce-scatter"),
    ("allreduce", "allreduce"),
    ("allgather", "allgather"),
    ("all-to-all", "alltoall"),
    ("alltoall", "alltoall"),
    ("broadcast", "broadcast"),
    ("gather", "gather"),
    ("scatter", "scatter"),
    ("reduce", "reduce"),
)
_ONE_SIDED = (("mpi_put", "mpi-put"), ("mpi_get", "mpi-get"))
#: Words of titles of programs that measure what byteways does not.
_OTHERS = (
    *(
        "multi-threaded",
        "multi-process",
        "non-blocking",
        "partitioned",
        "accumulate",
        "fetch",
        "compare and swap",
    ),
    *("hello", "init", "neighborhood", "persistent", "congestion", "shmem", "upc", "get_accumulate"),
)


def _column(text: str) -> str:
    """Returns a column's name without blanks and capitals, which differ between versions."""
    return text.replace(" ", "").lower()


class OsuReader(Reading):
    """Reads the lines of one program of OSU."""

    name = "osu"
    begins = _TITLE
    data_check = DataCheck(marks=("Fail", "DATA VALIDATION ERROR"))

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        title = _TITLE.match(line.text)
        assert title is not None  # the line matched to get here
        self._test = title["test"]
        if title["version"]:
            self.know(version=title["version"].rstrip("."))
        self._places: tuple[str, str] | None = None
        self._pairs: int | None = None
        self._columns: Sequence[str] | None = None  # empty: its header was refused
        self._rows = 0
        self._row_begins = 0  # the place of the first value of the last row

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if _TITLE.match(text):
            return False  # of the next program
        if found := _PLACES.match(text):
            send, receive = (_MEMORIES.get(found[end].upper(), "?") for end in ("send", "receive"))
            self._places = send, receive
        elif found := _PAIRS.match(text):
            self._pairs = int(found["pairs"])
        elif _HEADER.match(text):
            self._take_header(line, text)
        elif self._columns is not None and _ROW.match(text):
            if not self._columns:
                return True
            return self._take_row(line, text.split())
        elif text.startswith(_ERROR):
            self.found.call_wrong(line.number, text[:100], self._row_begins)
        else:
            return not text or text.startswith("#")
        return True

    def end(self) -> None:
        if not self._rows and self._columns != ():
            self.refuse(self.found.begins_at, f"the table of {self._test} has no row: the output was cut")

    def _take_header(self, line: Line, text: str) -> None:
        columns = [column for column in re.split(r"\s{2,}|\t+", text.lstrip("#").strip()) if column]
        unknown = [column for column in columns if not self._knows(_column(column))]
        self._columns = () if unknown else columns
        if unknown:
            self.refuse(line.number, f"the column '{unknown[0][:40]}' is unknown", "its rows are left out")

    @staticmethod
    def _knows(column: str) -> bool:
        known = (*_LATENCY, *_BANDWIDTH, *_MESSAGES, *_NOT_MEASURED)
        return column in known or bool(_TAIL.fullmatch(column) or _TAIL_BANDWIDTH.fullmatch(column))

    def _take_row(self, line: Line, cells: Sequence[str]) -> bool:
        columns = self._columns or ()
        if len(cells) != len(columns):
            if not cells[0].isdigit() or len(cells) > len(columns) + 2:
                return False  # a line of another program that begins with a number
            self.refuse(line.number, f"a row of {len(cells)} cells under {len(columns)} columns")
            return True
        row = dict(zip(map(_column, columns), cells, strict=True))
        size = row.get("size", "")
        if "size" in row and whole_number(size) is None:
            self.refuse(line.number, f"'{size[:40]}' is not a size")
            return True
        self._rows += 1
        self._row_begins = len(self.found.values)
        for column, written in zip(columns, cells, strict=True):
            if _column(column) not in _NOT_MEASURED:
                self._add(line, column, written, int(size) if size else None)
        if row.get("validation", "").lower() == "fail":
            self.found.call_wrong(line.number, "its validation is Fail", self._row_begins)
        return True

    def _add(self, line: Line, column: str, text: str, size_bytes: int | None) -> None:
        name = _column(column)
        unit, statistic, differences = _US, "mean", tuple[str, ...]()
        if name in _LATENCY:
            statistic, differences = _LATENCY[name]
        elif tail := _TAIL.fullmatch(name) or _TAIL_BANDWIDTH.fullmatch(name):
            unit = _US if name.endswith("(us)") else _MBS
            statistic, differences = f"p{tail['percent']}", ("extreme",)
        else:
            unit = _RATE if name in _MESSAGES else _MBS
        operation, counts, unlike = self._operation(unit)
        if operation.pattern in SIZED_BY_BLOCK:
            size_bytes, unlike = None, (*unlike, "size-unknown")
        self.add(
            ForeignValue(
                line=line.number,
                test=self._test,
                column=column,
                text=text,
                unit=unit,
                statistic=statistic,
                counts=counts,
                size_bytes=size_bytes,
                operation=operation,
                differences=tuple(dict.fromkeys((*differences, *unlike))),
            )
        )

    def _memories(self) -> tuple[str, str]:
        """Returns the memory of both ends: as printed, or that of a program without GPUs."""
        if self._places is not None:
            return self._places
        of_gpus = re.search(r"-(?:CUDA|ROCM|HIP|SYCL)\b", self._test, re.IGNORECASE)
        if re.match(r"(?:NCCL|RCCL|xCCL)\b", self._test, re.IGNORECASE):
            return "device", "device"
        return ("?", "?") if of_gpus else ("pageable", "pageable")

    def _operation(self, unit: Unit) -> tuple[Operation, str | None, tuple[str, ...]]:
        """Returns what the program does, what a value counts, and how that differs from ours."""
        title = self._test.lower()
        carrier = "xccl" if re.match(r"(?:nccl|rccl|xccl)\b", title) else "mpi"
        first, second = (f"{rank}/?:{memory}" for rank, memory in enumerate(self._memories()))
        if any(word in title for word in _OTHERS):
            return Operation(), None, ("no-case",)
        if "barrier" in title:
            return Operation("mpi-barrier", "barrier"), "call", ()
        one_sided = next((name for word, name in _ONE_SIDED if word in title), None)
        if one_sided is None:
            for word, pattern in _COLLECTIVES:
                if word in title:
                    return Operation(carrier, pattern, first, first), None, ()
        if "multi" in title:  # several pairs: `osu_mbw_mr` and `osu_multi_lat`
            ranks = None if self._pairs is None else 2 * self._pairs
            return Operation(carrier, MULTI_PAIR, first, second, ranks=ranks), None, ("no-case",)
        both = "bi-directional" in title or "bidirectional" in title
        pattern = (
            "bidirectional" if both else "ping-pong" if unit == _US and not one_sided else "unidirectional"
        )
        counts = (
            "sum-of-directions" if both else "one-way" if unit == _US and not one_sided else "per-direction"
        )
        return Operation(one_sided or carrier, pattern, first, second, ranks=2), counts, ()
