"""The order of groups of cases in which any prefix has the most different values. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from random import Random
from typing import TypeAlias

#: What a group of cases has, and how often: values of axes.
Counts: TypeAlias = Counter[Hashable]

#: Up to so many groups, the next is the best of all that are left: the shipped suites have 1,008 at most, on
#: 16 GPUs. The time grows with the square of the number; of more, the next is the best of DRAWN.
MOST_COMPARED = 1024
DRAWN = 128


def by_variety(groups: Sequence[Counts]) -> Iterator[int]:
    """Yields the index of every group: next the one whose values occurred least so far, on average; among
    equals, the first.

    Of more than MOST_COMPARED groups, DRAWN are compared at a time: a group that was taken makes room for the
    next of a random order.
    """
    waiting = [*range(len(groups))]
    if len(groups) > MOST_COMPARED:
        Random(len(groups)).shuffle(waiting)  # seeded: a resumed run has the same plan
        count = DRAWN
    else:
        count = len(groups)
    drawn = _Drawn(groups, waiting[:count])
    for index in waiting[count:]:
        yield drawn.take(then=index)
    for _ in range(count):
        yield drawn.take(then=None)


class _Drawn:
    """The groups among which the next is chosen."""

    def __init__(self, groups: Sequence[Counts], indices: Sequence[int]) -> None:
        self._groups = groups
        self._telling = _telling(groups)
        self._seen: Counts = Counter()
        self._having: defaultdict[Hashable, dict[int, int]] = defaultdict(dict)  # how often, by place
        self._indices = [*indices]
        self._sums = [0] * len(indices)
        self._often = [0.0] * len(indices)
        self._lengths = [1] * len(indices)
        for place, index in enumerate(indices):
            self._put(place, index)

    def _put(self, place: int, index: int) -> None:
        group = self._groups[index]
        self._indices[place], self._lengths[place] = index, group.total()
        self._sums[place] = 0
        for value, times in group.items():
            if value in self._telling:
                self._having[value][place] = times
                self._sums[place] += self._seen[value] * times
        self._often[place] = self._sums[place] / self._lengths[place]

    def take(self, then: int | None) -> int:
        """Returns the index of the best group, and puts another one in its place, if there is one."""
        place = self._often.index(min(self._often))
        taken = self._indices[place]
        for value, times in self._groups[taken].items():
            if value not in self._telling:
                continue
            self._seen[value] += times
            having = self._having[value]
            del having[place]
            for other, count in having.items():
                self._sums[other] += times * count
                self._often[other] = self._sums[other] / self._lengths[other]
        if then is None:
            self._often[place] = math.inf
        else:
            self._put(place, then)
        return taken


def _telling(groups: Sequence[Counts]) -> set[Hashable]:
    """Returns the values that distinguish groups: not those that every group has in equal parts."""
    parts: defaultdict[Hashable, set[float]] = defaultdict(set)
    owners: Counts = Counter()
    for group in groups:
        length = group.total()
        owners.update([*group])
        for value, times in group.items():
            parts[value].add(times / length)
    return {value for value, those in parts.items() if len(those) > 1 or owners[value] < len(groups)}
