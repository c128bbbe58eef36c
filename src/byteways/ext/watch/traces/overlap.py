"""How long operations ran while kernels ran on their devices: a sweep over sorted intervals."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from heapq import merge
from itertools import islice
from operator import le


class Cover:
    """A union of intervals of time, in ns, as disjoint ones in order with the lengths before each."""

    def __init__(self, intervals: Iterable[tuple[int, int]]) -> None:
        """Takes intervals (begin, end) sorted by their begins; they may overlap each other."""
        self._begins, self._ends, self._before = array("q"), array("q"), array("q")
        length = 0
        for begin, end in intervals:
            if self._ends and begin <= self._ends[-1]:
                length += max(0, end - self._ends[-1])
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._begins.append(begin)
                self._ends.append(end)
                self._before.append(length)
                length += end - begin

    def within(self, begin: int, end: int) -> int:
        """Returns how many ns of an interval the union covers."""
        return self._until(end) - self._until(begin)

    def _until(self, time: int) -> int:
        last = bisect_right(self._begins, time) - 1
        if last < 0:
            return 0
        return self._before[last] + min(time, self._ends[last]) - self._begins[last]


class BusyDevices:
    """When kernels ran, by device. All kernels are added before the first question."""

    def __init__(self) -> None:
        self._raw: dict[str, tuple[array[int], array[int]]] = {}
        self._covers: dict[tuple[str, ...], Cover] = {}

    def add(self, device: str, begin: int, end: int) -> None:
        """Adds a kernel; one that follows the last in time and touches it takes no memory."""
        begins, ends = self._raw.setdefault(device, (array("q"), array("q")))
        if begins and begins[-1] <= begin <= ends[-1]:
            ends[-1] = max(end, ends[-1])
        else:
            begins.append(begin)
            ends.append(end)

    def overlap(self, devices: tuple[str, ...], begin: int, end: int) -> int:
        """Returns how many ns of an interval kernels ran on any of the devices."""
        cover = self._covers.get(devices)
        if cover is None:
            cover = self._covers[devices] = self._cover(devices)
        return cover.within(begin, end)

    def _cover(self, devices: tuple[str, ...]) -> Cover:
        found = [self._raw[device] for device in devices if device in self._raw]
        return Cover(merge(*(_in_order(*each) for each in found)))


def _in_order(begins: array[int], ends: array[int]) -> Iterable[tuple[int, int]]:
    """Returns intervals sorted by their begins: most traces have them so, and they are not copied then."""
    pairs = zip(begins, ends, strict=True)
    return pairs if all(map(le, begins, islice(begins, 1, None))) else sorted(pairs)
