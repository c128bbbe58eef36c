"""What a run expects of a change: the program's time in calls and transfers with it, beside that without.

Each bin takes the time of its method in the run, times a factor for contention, and what it waits beyond.
A change scales the first by the ratio of the run's times with and without it, and leaves the waiting alone.
Contention, such as of processes that share cores, slows down all that a program does: its factor is the least
by which an operation of any of its processes takes longer than in the run. Who waits for others has greater
ones. A program may be faster than the run, because it has more transfers at once. A change that shortens them
leaves less to hide: then it takes the run's time with the change, at most what it takes now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, hypot, log
from statistics import geometric_mean
from typing import Any

from byteways.answers.results.index import Index
from byteways.answers.results.summary import Part
from byteways.cases.option_set import OptionSet
from byteways.ext.watch.advice.figures import Figures, interface_of
from byteways.ext.watch.bins import Bin, Watched
from byteways.ext.watch.changes import ProgramChange
from byteways.ext.watch.questions import is_nonblocking, may_alter, time_of

#: Operations with less of the run's time for a program than this share say nothing of contention.
LEAST_COMPARED_SHARE = 0.05
#: No ratio is expected where the run knows less of a program's time than this share.
LEAST_KNOWN = 0.9
#: The memory that a change makes of pageable memory, as runs measure it.
_MEMORY = {"pinned": "pinned", "registered": "pinned", "hugepage": "hugepage"}


@dataclass(frozen=True)
class ExpectedRatio:
    """What a run expects of a change."""

    ratio: Part | None  # of the time in calls and transfers; None: the run knows too little of it
    known: float  # share of that time with results of the run, or which the change leaves alone

    def to_json(self) -> dict[str, Any]:
        return {"ratio": asdict(self.ratio) if self.ratio else None, "known": self.known}


@dataclass
class _Sums:
    """Times of a program in ns."""

    taken: float = 0.0
    unknown: float = 0.0
    changed: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("low", "value", "high"), 0.0))

    def add(self, taken: float, low: float, value: float, high: float) -> None:
        self.taken += taken
        for name, scale in zip(self.changed, (low, value, high), strict=True):
            self.changed[name] += scale * taken


@dataclass
class ComparedBins:
    """Bins with their times in the program and, as it is and changed, in the run, in ns."""

    taken: float = 0.0
    plain: Part = field(default_factory=lambda: Part(0.0, 0.0, 0.0))
    changed: Part = field(default_factory=lambda: Part(0.0, 0.0, 0.0))
    at_once: bool = False  # the calls return before their transfers end, which may overlap others

    def add(self, taken: float, plain: Part, changed: Part) -> None:
        self.taken += taken
        self.plain, self.changed = _sum(self.plain, plain), _sum(self.changed, changed)

    def scales(self, contention: float) -> tuple[float, float, float]:
        """Returns by what the time changes: at least, probably and at most."""
        ratio = self.ratio
        ends = [
            scale(end, factor)
            for end in (ratio.low, ratio.high)
            for factor in (1.0, contention)
            for scale in (self._scale, self._overlapping)
        ]
        return min(ends), self._scale(ratio.value, contention), max(ends)

    @property
    def ratio(self) -> Part:
        """The run's time changed over that as it is; both vary by themselves, so their variances add up."""
        value = self.changed.value / self.plain.value
        down = hypot(log(self.changed.value / self.changed.low), log(self.plain.high / self.plain.value))
        up = hypot(log(self.changed.high / self.changed.value), log(self.plain.value / self.plain.low))
        return Part(value, value * exp(-down), value * exp(up))

    def _scale(self, ratio: float, contention: float) -> float:
        """Returns by what the time changes at a ratio of the run, if no more is hidden than now."""
        if not self.at_once or ratio >= 1 or contention * self.plain.value <= self.taken:
            return self._overlapping(ratio, contention)
        # Part of the run's time is hidden by other transfers; a shorter time need not be.
        return min(1.0, ratio * contention * self.plain.value / self.taken)

    def _overlapping(self, ratio: float, contention: float) -> float:
        """Returns the same if as large a part is hidden as now."""
        busy = min(self.taken, contention * self.plain.value)
        return 1 + busy / self.taken * (ratio - 1)


def expected_of_turns(
    turns: Sequence[Watched], run: Index, changes: Sequence[ProgramChange], name: str = "RUN"
) -> dict[str, ExpectedRatio]:
    """Returns what a run expects of each change, over several turns of the program as it is.

    A ratio and its ends are geometric means over the turns, as a realised one is; what is known is the least.

    Args:
        turns: What the program moved as it is, at least one.
        run: As of expected().
        changes: As of expected().
        name: The run's folder, for hints.
    """
    found = [expected(one, run, changes, name) for one in turns]
    return {name: _mean([one[name] for one in found]) for name in found[0]}


def _mean(found: Sequence[ExpectedRatio]) -> ExpectedRatio:
    ratios = [one.ratio for one in found if one.ratio]
    known = min(one.known for one in found)
    if len(ratios) < len(found):
        return ExpectedRatio(None, known)
    ends = ((one.value, one.low, one.high) for one in ratios)
    return ExpectedRatio(Part(*map(geometric_mean, zip(*ends, strict=True))), known)


def expected(
    watched: Watched, run: Index, changes: Sequence[ProgramChange], name: str = "RUN"
) -> dict[str, ExpectedRatio]:
    """Returns what a run expects of each change that it can know something of.

    Args:
        watched: What the program moved as it is.
        run: Of this machine, with the settings of the changes.
        changes: The program as it is may be among them.
        name: The run's folder, for hints.
    """
    figures = Figures(watched, run, name)
    taken = figures.taken_ns(watched)
    return {
        change.name: _expected(watched, taken, figures, change)
        for change in changes
        if change.memory in _MEMORY or change.variables
    }


def communication_ns(each: Bin) -> float | None:
    """Returns what a bin adds to the time in calls and transfers, in ns; None: nothing.

    Waits for a device are no communication: the device may compute.
    """
    if each.what in ("allocation", "release", "start"):
        return None
    return time_of(each) if each.what != "synchronisation" or each.method.startswith("MPI_") else None


def instead(change: ProgramChange) -> tuple[dict[str, str], OptionSet]:
    """Returns kinds of memory that take the place of others, and variables, as runs measure a change."""
    memory = {"pageable": _MEMORY[change.memory]} if change.memory in _MEMORY else {}
    return memory, OptionSet(change.variables)


def _expected(
    watched: Watched, taken: Sequence[float | None], figures: Figures, change: ProgramChange
) -> ExpectedRatio:
    memory, environment = instead(change)
    sums = _Sums()
    # What a process waits for together is one: its time cannot be separated from that of the others.
    groups: dict[tuple[int, int], ComparedBins] = defaultdict(ComparedBins)
    for place, (each, time_ns) in enumerate(zip(watched.bins, taken, strict=True)):
        if not time_ns or communication_ns(each) is None:
            continue  # most waits are in the times of what was waited for
        if not _concerns(each, memory, change.variables):
            sums.add(time_ns, 1.0, 1.0, 1.0)
            continue
        found = figures.both_groups(each, memory, environment)
        plain, changed = (figures.all_ns(each, one) for one in found) if found else (None, None)
        if plain is None or changed is None:
            sums.unknown += time_ns
            sums.add(time_ns, 1.0, 1.0, 1.0)
            continue
        group = groups[each.process, -1 if is_nonblocking(each) else place]
        group.at_once = is_nonblocking(each) or interface_of(each) == "copy"
        group.add(time_ns, plain, changed)
    factor = contention_of([*groups.values()])
    for group in groups.values():
        sums.add(group.taken, *group.scales(factor))
    known = 1 - sums.unknown / sums.taken if sums.taken else 0.0
    if known < LEAST_KNOWN:
        return ExpectedRatio(None, known)
    low, value, high = (sums.changed[name] / sums.taken for name in ("low", "value", "high"))
    return ExpectedRatio(Part(value, low, high), known)


def contention_of(groups: Sequence[ComparedBins]) -> float:
    """Returns the factor of contention, at least 1."""
    whole = sum(one.plain.value for one in groups)
    factors = [
        one.taken / one.plain.value for one in groups if one.plain.value >= LEAST_COMPARED_SHARE * whole
    ]
    return max(1.0, min(factors, default=1.0))


def _concerns(each: Bin, memory: Mapping[str, str], variables: Mapping[str, str]) -> bool:
    """Whether a change may alter the time of a bin."""
    if variables:
        interface = interface_of(each)
        return bool(each.bytes and interface) and may_alter(variables, interface)
    return each.what == "copy" and not {each.source.memory, each.destination.memory}.isdisjoint(memory)


def _sum(one: Part, other: Part) -> Part:
    return Part(one.value + other.value, one.low + other.low, one.high + other.high)
