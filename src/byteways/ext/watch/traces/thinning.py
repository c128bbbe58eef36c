"""Thins operations to bounded size: bins that grow wider, and a time line whose intervals do."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from byteways.ext.watch.bins import FIRST_INTERVAL_NS, MOST_BINS, MOST_INTERVALS, Series, TimeLine, What


class TimeLineThinner:
    """Bytes over time in at most MOST_INTERVALS intervals, whatever the order of the operations.

    Intervals are FIRST_INTERVAL_NS wide at first, and double until they cover the program. An operation
    counts in the interval in which it begins. The intervals are those of the clock of the trace, so that the
    order in which operations come changes nothing.
    """

    def __init__(self) -> None:
        self._width = FIRST_INTERVAL_NS
        self._bytes: dict[tuple[What, int], dict[int, int]] = {}
        self._first: int | None = None
        self._last = 0

    def add(self, what: What, process: int, begin_ns: int, size: int) -> None:
        """Adds the bytes of an operation."""
        index = begin_ns // self._width
        if self._first is None or not self._first <= index <= self._last:
            first = index if self._first is None else min(self._first, index)
            last = index if self._first is None else max(self._last, index)
            while last - first >= MOST_INTERVALS:
                self._widen()
                index, first, last = index // 2, first // 2, last // 2
            self._first, self._last = first, last
        series = self._bytes.setdefault((what, process), {})
        series[index] = series.get(index, 0) + size

    def _widen(self) -> None:
        self._width *= 2
        for key, series in self._bytes.items():
            wider: dict[int, int] = {}
            for index, size in series.items():
                wider[index // 2] = wider.get(index // 2, 0) + size
            self._bytes[key] = wider

    def time_line(self) -> TimeLine | None:
        """Returns the time line; None if no operation had a time."""
        if self._first is None:
            return None
        indices = range(self._first, self._last + 1)
        return TimeLine(
            self._width,
            [
                Series(what, process, [series.get(index, 0) for index in indices])
                for (what, process), series in sorted(self._bytes.items())
            ],
        )


@dataclass(slots=True)
class Sums:
    """What the operations of a bin add up to. Times are in ns; those that were not observed stay 0."""

    count: int = 0
    bytes: int = 0
    size_from: int = 0
    size_to: int = 0
    time_ns: int = 0
    call_ns: int = 0
    waiting_ns: int = 0
    overlap_ns: int = 0


_BinKind = TypeVar("_BinKind", bound=Hashable)


class BinTable(Generic[_BinKind]):
    """Sums by kind and size: exact sizes while there are bins enough for a process, then powers of two."""

    def __init__(self) -> None:
        self.sums: dict[tuple[_BinKind, int, int], Sums] = {}
        self._of_process: dict[int, int] = {}

    def sums_of(self, kind: _BinKind, process: int, size: int, count: int = 1) -> Sums:
        """Returns the sums of operations of a kind and a size in bytes, these counted already."""
        found = self.sums.get((kind, size, size))
        if found is None:
            taken = self._of_process.get(process, 0)
            low, high = (size, size) if taken < MOST_BINS else _power_of_two(size)
            found = self.sums.get((kind, low, high))
            if found is None:
                self._of_process[process] = taken + 1
                found = self.sums[kind, low, high] = Sums(size_from=size, size_to=size)
        found.count += count
        found.bytes += size * count
        if not found.size_from <= size <= found.size_to:
            found.size_from, found.size_to = min(found.size_from, size), max(found.size_to, size)
        return found


def _power_of_two(size: int) -> tuple[int, int]:
    """Returns the bounds of the power of two that a size lies in."""
    low = 1 << max(0, size.bit_length() - 1)
    return low, 2 * low


def joined_lines(lines: list[tuple[int, TimeLine]]) -> TimeLine | None:
    """Returns time lines as one, in the widest of their intervals, each from its own beginning.

    Args:
        lines: Each with what is added to the processes of its series.
    """
    if not lines:
        return None
    width = max(line.interval_ns for _, line in lines)
    joined = []
    for first, line in lines:
        for series in line.series:
            length = max(
                (index * line.interval_ns // width + 1 for index in range(len(series.bytes))), default=0
            )
            sums = [0] * length
            for index, size in enumerate(series.bytes):
                sums[index * line.interval_ns // width] += size
            joined.append(Series(series.what, series.process + first, sums))
    longest = max((len(series.bytes) for series in joined), default=0)
    return TimeLine(
        width,
        [Series(one.what, one.process, one.bytes + [0] * (longest - len(one.bytes))) for one in joined],
    )
