"""nccl-tests and rccl-tests: their tables, of versions 2.0 to 2.20.

GB/s are 10^9 bytes, sizes those of all ranks' data. A row has two results: out of place, then in place.
Outputs before 2.17 do not contain which program ran: the columns `redop` and `root` and the ratio of
bus to algorithm bandwidth leave one collective, or several.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from byteways.cases.collective_counts import bus_factor
from byteways.ext.audit.imported.lines import Line
from byteways.ext.audit.imported.reader import DataCheck
from byteways.ext.audit.imported.reading import ABSENT, Reading, mistake_in_number
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit

#: Programs of both, by the collective that each measures; `sendrecv` is a message from each rank to the next.
PROGRAMS: Mapping[str, str] = {
    "all_reduce_perf": "allreduce",
    "all_gather_perf": "allgather",
    "reduce_scatter_perf": "reduce-scatter",
    "reduce_perf": "reduce",
    "broadcast_perf": "broadcast",
    "alltoall_perf": "alltoall",
    "gather_perf": "gather",
    "scatter_perf": "scatter",
    "sendrecv_perf": "sendrecv",
}
PROGRAM_OF = {pattern: program for program, pattern in PROGRAMS.items()}
US, GBS = Unit("us"), Unit("GB/s")
#: Columns of a result, each with its unit and what it counts.
RESULT: Mapping[str, tuple[Unit, str | None]] = {
    "time": (US, None),
    "cputime": (US, None),
    "algbw": (GBS, "algorithm"),
    "busbw": (GBS, "bus"),
}
_BEGINS = re.compile(r"#\s*(?:(?:nccl|rccl)-tests version\b|(?:Collective test starting:|nThreads?:? \d))")
_VERSION = re.compile(
    r"#\s*(?:nccl|rccl)-tests version (?P<version>\d[\w.]*)(?:.*?nccl-library=(?P<library>\d{1,9}))?"
)
_STARTING = re.compile(r"#\s*Collective test starting: (?P<program>\w+)")
_DEVICE = re.compile(
    r"#\s*Rank\s+(?P<rank>\d{1,6})\s+(?:Group\s+\d+\s+)?Pid\s+\d+ on\s+(?P<host>\S+) device\s+\d+ "
    r"\[[^\]]*\]\s+(?P<model>\S.*)$"
)
_HEADER = re.compile(r"#\s*size\s+count\b")
_ROW = re.compile(r"\d+\s+\d+\s+\S.*$")
_END = re.compile(r"#\s*(?:Out of bounds values|Avg bus bandwidth|Collective test concluded)")
_WRONG = "#wrong"
_CHECKS = (_WRONG, "error", "timestamp")
#: Of all rows; rows of programs that print no `#wrong` do not say it themselves.
_FAILED = re.compile(r"#\s*Out of bounds values\s*:\s*(?P<count>\d+)\s+FAILED")
_LEADING = ("size", "count", "type", "redop", "root")


@lru_cache(maxsize=256)  # a log has many rows of few operations, which share one
def operation_of(pattern: str, ranks: int | None, *, in_place: bool) -> Operation:
    """Returns what a program measures on device memory of so many ranks."""
    if pattern == "sendrecv":
        return Operation("xccl", "ring", "0/?:device", "1/?:device", ranks=ranks)
    options = {"in_place": "yes"} if in_place else {}
    return Operation("xccl", pattern, "0/?:device", "0/?:device", ranks=ranks, options=options)


def differences_of(pattern: str, column: str) -> tuple[str, ...]:
    """Returns how a column differs from ours. `cputime` is the time of the calls alone."""
    if not pattern:
        return ("method-unknown",)
    return ("no-case",) if pattern == "sendrecv" or column == "cputime" else ()


def collectives_of(redop: str, root: str, ratio: float | None, ranks: int | None) -> Sequence[str]:
    """Returns the collectives that a row may be of.

    Args:
        redop: Its reduction; empty or `none`: it has none.
        root: Its root; empty or -1: it has none.
        ratio: Of bus to algorithm bandwidth; None: not known.
        ranks: None: not known.
    """
    reduces, rooted = redop not in ("", "none"), root not in ("", "-1")
    found = {
        (True, False): ["allreduce", "reduce-scatter"],
        (True, True): ["reduce"],
        (False, True): ["broadcast", "gather", "scatter"],
        (False, False): ["allgather", "alltoall", "sendrecv"],
    }[reduces, rooted]
    if not ratio or ranks is None or ranks < 2:  # a ratio of 0 is one of damaged numbers
        return found if len(found) == 1 else []
    factors = {name: 1.0 if name == "sendrecv" else bus_factor(name, ranks) for name in found}
    return [name for name in found if abs(factors[name] / ratio - 1) < _ROUNDED]


#: Relative error of the ratio of two numbers of three digits; the factors of collectives differ by more.
_ROUNDED = 0.03
#: Bandwidths with fewer significant digits say nothing about their ratio.
_LEAST_RATED = 1.0


class NcclTestsReader(Reading):
    """Reads the lines of one program of nccl-tests or rccl-tests."""

    name = "nccl-tests"
    begins = _BEGINS
    data_check = DataCheck(marks=("#wrong 8192", "# Out of bounds values : 8192 FAILED"))

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._pattern = ""
        self._ranks = 0
        self._columns: Sequence[str] | None = None
        self._rows = 0
        self._ended = False
        self.take(line)

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if not text:
            return True
        if text[0] == "#":
            return self._take_comment(line, text)
        # Most lines of a log are those of other programs.
        is_row = self._columns is not None and text[0].isdigit() and _ROW.match(text)
        return bool(is_row) and self._take_row(line, text.split())

    def _take_comment(self, line: Line, text: str) -> bool:
        if self._ended and _BEGINS.match(text):
            return False
        if found := _VERSION.match(text):
            self.know(version=found["version"])
            if library := found["library"]:
                self.know(libraries={"nccl": _library(int(library))})
        elif found := _STARTING.match(text):
            self._pattern = PROGRAMS.get(found["program"], "")
        elif found := _DEVICE.match(text):
            rank = int(found["rank"])
            self._ranks = max(self._ranks, rank + 1)
            hosts = dict.fromkeys((*self.found.hints.hosts, found["host"]))
            self.know(gpus={rank: found["model"]}, hosts=tuple(hosts))
        elif _HEADER.match(text):
            self._take_header(line, text.lstrip("#").split())
        elif _END.match(text):
            self._ended = True
            if (failed := _FAILED.match(text)) and not self.found.wrong:
                self.found.call_all_wrong(line.number, f"{failed['count'][:20]} values are out of bounds")
        return True

    def end(self) -> None:
        if not self._rows and self._columns != ():
            self.refuse(self.found.begins_at, "the table has no row: the output was cut")

    def _take_header(self, line: Line, columns: Sequence[str]) -> None:
        known = (*_LEADING, *RESULT, *_CHECKS)
        unknown = [column for column in columns if column not in known]
        self._columns = () if unknown else columns
        if unknown:
            self.refuse(line.number, f"the column '{unknown[0][:40]}' is unknown", "its rows are left out")

    def _take_row(self, line: Line, cells: Sequence[str]) -> bool:
        columns = self._columns or ()
        if not columns:
            return True
        results = [column for column in columns if column not in _LEADING]
        lead = len(cells) - len(results)
        # A program without a reduction or a root leaves the column blank.
        if not 3 <= lead <= len(columns) - len(results):
            if not cells[2:] or not cells[2][0].isalpha():
                return False  # a line of another program that begins with numbers
            self.refuse(line.number, f"a row of {len(cells)} cells under {len(columns)} columns")
            return True
        leading, measured = cells[:lead], cells[lead:]
        if len(leading[0]) > 15:
            self.refuse(line.number, f"'{leading[0][:40]}' is not a size")
            return True
        self._rows += 1
        rest = leading[3:]
        redop = next((cell for cell in rest if not cell.lstrip("-").isdigit()), "")
        root = next((cell for cell in rest if cell.lstrip("-").isdigit()), "")
        self._add_results(line, int(leading[0]), (redop, root), results, measured)
        return True

    def _add_results(
        self, line: Line, size: int, ends: tuple[str, str], results: Sequence[str], measured: Sequence[str]
    ) -> None:
        """Adds both results of a row: a column's second cell is that in place. `N/A` was not measured."""
        pattern = self._pattern or self._by_ratio(ends, _ratio(results, measured))
        since = len(self.found.values)  # the first value of a result, which ends with its check
        for place, (column, text) in enumerate(zip(results, measured, strict=True)):
            if column == _WRONG:
                if says_wrong(text):
                    self.found.call_wrong(line.number, f"#wrong is {text[:20]}", since)
                since = len(self.found.values)
            if column in _CHECKS or text == "N/A":
                continue
            in_place = column in results[:place]
            unit, counts = RESULT[column]
            self.add(
                ForeignValue(
                    line=line.number,
                    test=PROGRAM_OF.get(pattern, "nccl-tests"),
                    column=f"{column} ({'in place' if in_place else 'out of place'})",
                    text=text,
                    unit=unit,
                    statistic="mean",
                    counts=counts,
                    size_bytes=size,
                    operation=operation_of(pattern, self._ranks or None, in_place=in_place),
                    differences=differences_of(pattern, column),
                )
            )

    def _by_ratio(self, ends: tuple[str, str], ratio: float | None) -> str:
        found = collectives_of(*ends, ratio, self._ranks or None)
        return found[0] if len(found) == 1 else ""


def says_wrong(text: str) -> bool:
    """Whether a count of wrong elements says that there are some; N/A: they were not checked."""
    return text not in ABSENT and (mistake_in_number(text) is not None or float(text) > 0)


def _ratio(results: Sequence[str], measured: Sequence[str]) -> float | None:
    """Returns the ratio of bus to algorithm bandwidth of a row; None where its digits are too few."""
    for column, text in zip(results, measured, strict=True):
        rated = column == "algbw" and "busbw" in results and mistake_in_number(text) is None
        if rated and float(text) >= _LEAST_RATED:
            bus = measured[results.index("busbw")]
            return float(bus) / float(text) if mistake_in_number(bus) is None and float(bus) else None
    return None


def _library(code: int) -> str:
    """Returns the version that a code of NCCL means: 22809 is 2.28.9, 2708 is 2.7.8."""
    if code >= 10_000:
        return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"
    return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
