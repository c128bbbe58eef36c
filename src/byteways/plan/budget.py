"""Selects the cases that fit a time budget: a share for every sweep, the rest by priority. Pure.

A case is selected with all its rounds, never with fewer, as nothing can be compared with a result of one
round. Filling the budget in suite order would leave the last sweeps empty, and of each sweep the last sizes
and memory kinds. So the selection first takes cases of the highest priority, one complete size after the
other. Then part of the remaining time is shared evenly by all sweeps, in small groups that can be compared
within and differ as much as possible from each other. The rest is filled by priority.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from byteways.base.errors import BytewaysError
from byteways.cases.case import Buffer, Case
from byteways.cases.interfaces import one_buffer
from byteways.cases.reasons import OUT_OF_TIME
from byteways.plan.estimate import Estimator, library_of_gpu_ranks
from byteways.plan.footprint import buffers
from byteways.plan.suite_types import Sweep
from byteways.plan.variety import Counts, by_variety

#: Fraction of a time budget that is planned; the rest covers low estimates and the report.
PLANNED_PART = 0.85
#: Sweeps of this priority come first (the purpose of a suite, such as every pair of GPUs), up to FIRST_PART.
FIRST_PRIORITY = 9
FIRST_PART = 0.85
#: Fraction of the remaining time that all other sweeps share evenly, whatever their priority.
EVEN_PART = 0.4
#: A case above this fraction of the budget waits until all others have been considered; the second one is of
#: sweeps that come first.
MOST_OF_ONE, MOST_OF_FIRST = 0.2, 0.4
#: Of a sweep whose cases all take longer than that, the cheapest is measured if it takes up to this part of
#: the time left: cold copies of any size first fill buffers of several times the last-level cache.
LARGEST_PART_OF_REST = 0.5
#: Groups of up to this many cases that differ in one axis stay whole; larger ones are split into pairs.
SMALL_GROUP = 4


class BudgetError(BytewaysError):
    """The time budget is too short for any case."""


#: A worker's kind and environment, fixed per process.
Process = tuple[str, tuple[tuple[str, str], ...]]
#: The process that probes the machine, and measures if the first case is one of its kind.
PROBING: Process = ("native", ())


@dataclass(frozen=True)
class BudgetCase:
    """A case (counted once for all rounds), with the sweep that sets its budget and precision."""

    case: Case
    sweep: Sweep
    priority: int
    reason: str | None = None
    reason_code: str | None = None  # as of PlannedCase
    estimated_s: float = 0.0  # of one round, including allocation
    once_s: float = 0.0  # what the first round takes longer: pages are new, and are locked once
    spare: bool = False  # left out for lack of time only

    @property
    def block(self) -> tuple[object, ...]:
        """Key of cases that use the same buffers; they run consecutively."""
        flows = self.case.flows
        return tuple(sorted({str(end) for flow in flows for end in (flow.source, flow.destination)}))

    @property
    def process(self) -> Process:
        """The process that measures it."""
        return self.case.worker, tuple(sorted(self.case.environment.items()))


#: A buffer held by a worker: its process, the buffer, its bytes, its index among equal ones of a case, and
#: whether it is the only buffer of its interface (such buffers are not shared with copies).
_Held = tuple[object, Buffer, int, int, bool]


@dataclass
class TotalTime:
    """The total time of a set of cases; the first one that uses a buffer or environment pays for it."""

    estimator: Estimator
    rounds: int
    total_s: float = 0.0
    _buffers: set[_Held] = field(default_factory=set)
    _processes: set[Process] = field(default_factory=set)
    _libraries: set[str] = field(default_factory=set)  # between GPUs of ranks
    _known: dict[str, tuple[float, frozenset[_Held]]] = field(default_factory=dict)  # by case id

    def started_s(self) -> float:
        """Total seconds so far, including start-up."""
        return self.total_s or self.estimator.start_s()

    def empty(self) -> TotalTime:
        """Seconds of start-up alone."""
        return TotalTime(self.estimator, self.rounds, _known=self._known)

    def cost(self, item: BudgetCase) -> tuple[float, float]:
        """Returns the seconds of one round of the case, and the seconds it adds to the whole run."""
        round_s, once_s = self._of_rounds(item)
        start_s = self.estimator.library_start_s(item.case, self._libraries)
        if not self._processes:
            start_s += self.estimator.start_s()
        if item.process not in self._processes | {PROBING}:
            # Processes of several kinds start in each round.
            start_s += (self.rounds if self._processes else 1) * self.estimator.further_start_s()
        return round_s, start_s + once_s + self.rounds * round_s

    def own_s(self, item: BudgetCase) -> float:
        """Returns the seconds of all rounds of the case, without the start of a process for it."""
        round_s, once_s = self._of_rounds(item)
        return once_s + self.rounds * round_s

    def add(self, item: BudgetCase) -> BudgetCase:
        """Adds the case to the load; returns it with its estimate."""
        (round_s, once_s), (_, whole_s) = self._of_rounds(item), self.cost(item)
        self._buffers |= self._of_case(item)[1]
        self._processes.add(item.process)
        self._libraries.add(library_of_gpu_ranks(item.case))
        self.total_s += whole_s
        return replace(item, estimated_s=round_s, once_s=once_s)

    def _of_rounds(self, item: BudgetCase) -> tuple[float, float]:
        """Returns the seconds of each round, and those that the first one takes longer."""
        round_s, needed = self._of_case(item)
        once_s = 0.0
        for _, buffer, size, _, _ in needed - self._buffers:
            again_s = self.estimator.again_s(buffer, size)
            round_s += again_s
            once_s += self.estimator.allocation_s(buffer, size) - again_s
        return round_s, once_s

    def _of_case(self, item: BudgetCase) -> tuple[float, frozenset[_Held]]:
        """Returns the seconds of one round with existing buffers, and its buffers; cached: called often."""
        found = self._known.get(item.case.case_id)
        if found is None:
            seconds = self.estimator.case_s(item.case, item.sweep.case_budget_s, self.rounds)
            found = self._known[item.case.case_id] = seconds, self._needed(item)
        return found

    def _needed(self, item: BudgetCase) -> frozenset[_Held]:
        alone = one_buffer(item.case.interface)
        times: Counter[tuple[Buffer, int]] = Counter()
        needed = []
        for buffer, size in buffers(item.case, self.estimator.capabilities):
            needed.append((item.process, buffer, size, times[buffer, size], alone))
            times[buffer, size] += 1  # a case may need two equal buffers
        return frozenset(needed)


@dataclass
class _Deal:
    """A selection in progress: `load` has the selected cases, `over` the others in the order of return."""

    limit_s: float
    load: TotalTime
    waiting: dict[str, list[BudgetCase]]  # by sweep, in the order in which they are considered
    given_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    taken: Counter[str] = field(default_factory=Counter)  # cases by sweep
    over: list[BudgetCase] = field(default_factory=list)

    def run(self) -> None:
        large = self._by_priority(FIRST_PRIORITY, FIRST_PART * self.limit_s)
        self._even()
        for tier in range(FIRST_PRIORITY, -1, -1):
            large += self._by_priority(tier, self.limit_s)
        self.over += self._rest(self._rest(large, most=1))

    def _by_priority(self, tier: int, until_s: float) -> list[BudgetCase]:
        """Selects waiting cases of this priority that fit; returns those too large to consider now."""
        large: list[BudgetCase] = []
        most_s = self.limit_s * (MOST_OF_FIRST if tier == FIRST_PRIORITY else MOST_OF_ONE)
        for item in self._in_turn(tier):
            if self.load.total_s > until_s:
                self.waiting.setdefault(item.sweep.name, []).append(item)
            elif self._own_s(item) > most_s:
                large.append(item)
            elif not self._take(item):
                self.over.append(item)
        return large

    def _even(self) -> None:
        """Selects for every sweep one case, then one to compare with it, then cases up to its share.

        Sweeps of higher priority come first, then suite order.
        """
        share_s = EVEN_PART * (self.limit_s - self.load.started_s()) / max(1, len(self.waiting))
        names = sorted(self.waiting, key=lambda name: -max(item.priority for item in self.waiting[name]))
        for name in names:
            self._serve(name, 1, 0.0)
        self._cheapest(names)
        for least, until_s in ((2, 0.0), (2, share_s)):
            for name in names:
                self._serve(name, least, until_s)

    def _cheapest(self, names: Sequence[str]) -> None:
        """Selects the cheapest case of each sweep that has none, up to half of the time left for each."""
        for name in names:
            if self.taken[name] or not self.waiting[name]:
                continue
            item = min(self.waiting[name], key=self._own_s)
            left_s = self.limit_s - self.load.started_s()
            if self._own_s(item) <= LARGEST_PART_OF_REST * left_s and self._take(item):
                self.waiting[name].remove(item)

    def _serve(self, name: str, least: int, until_s: float) -> None:
        """Selects cases of a sweep in order: up to `least` cases, and more within `until_s` seconds."""
        kept: list[BudgetCase] = []
        for item in self.waiting[name]:
            cost_s = self._own_s(item)
            lacking = self.taken[name] < least and cost_s <= MOST_OF_ONE * self.limit_s
            fits = self.given_s[name] + cost_s <= until_s
            if not ((lacking or fits) and self._take(item)):
                kept.append(item)
        self.waiting[name] = kept

    def _rest(self, items: Sequence[BudgetCase], most: float = math.inf) -> list[BudgetCase]:
        """Selects what fits, of each sweep until it has `most` cases; returns the others."""
        return [item for item in items if self.taken[item.sweep.name] >= most or not self._take(item)]

    def _in_turn(self, tier: int) -> Iterator[BudgetCase]:
        """Yields and removes waiting cases of a priority, always from the sweep with the least time."""
        queues: defaultdict[str, deque[BudgetCase]] = defaultdict(deque)
        others: defaultdict[str, list[BudgetCase]] = defaultdict(list)
        for name, items in self.waiting.items():
            for item in items:
                if item.priority == tier:
                    queues[name].append(item)
                else:
                    others[name].append(item)
        self.waiting = dict(others)
        # Seconds asked for count rejected cases, too, so that sweeps alternate; among equals, suite order.
        turns = [(self.given_s[name], order, name) for order, name in enumerate(queues)]
        heapq.heapify(turns)
        while turns:
            asked_s, order, name = turns[0]
            item = queues[name].popleft()
            if queues[name]:
                heapq.heapreplace(turns, (asked_s + self._own_s(item), order, name))
            else:
                heapq.heappop(turns)
            yield item

    def _own_s(self, item: BudgetCase) -> float:
        """Returns the seconds of all its rounds."""
        return self.load.own_s(item)

    def _take(self, item: BudgetCase) -> bool:
        if self.load.total_s + self.load.cost(item)[1] > self.limit_s:
            return False
        self.given_s[item.sweep.name] += self._own_s(item)
        self.taken[item.sweep.name] += 1
        self.load.add(item)
        return True


def within(
    ordered: Sequence[BudgetCase], budget_s: float, load: TotalTime
) -> tuple[list[BudgetCase], list[BudgetCase]]:
    """Returns the cases that fit the budget and the others, first to return first.

    Raises:
        BudgetError: Not even one case fits.
    """
    limit_s = PLANNED_PART * budget_s + 1e-9
    running = [item for item in ordered if item.reason is None]
    whole = load.empty()
    for item in running:
        whole.add(item)
    if whole.total_s <= limit_s:
        return list(ordered), []
    sweeps: dict[str, list[BudgetCase]] = {}
    for item in running:
        sweeps.setdefault(item.sweep.name, []).append(item)
    deal = _Deal(limit_s, load.empty(), {name: _in_order(items) for name, items in sweeps.items()})
    deal.run()
    enough_s = math.ceil(whole.total_s / PLANNED_PART)
    if len(deal.over) == len(running):
        least_s = math.ceil(min(load.empty().cost(item)[1] for item in running) / PLANNED_PART)
        raise BudgetError(
            f"no case fits the budget of {budget_s:g} s",
            cause=f"start-up and the shortest case take about {least_s} s, the whole suite {enough_s} s",
            hint=f"byteways run --budget {least_s}",
        )
    reason = (
        f"left out to fit the budget of {budget_s:g} s; run with --budget {enough_s} or choose with --only"
    )
    # What it adds to the run: the process that measures it may be there already.
    added = {item.case.case_id: deal.load.cost(item)[1] for item in deal.over}
    left_out = {
        case: replace(
            item, reason=reason, reason_code=OUT_OF_TIME, spare=True, estimated_s=added[case] / load.rounds
        )
        for case, item in ((item.case.case_id, item) for item in deal.over)
    }
    return [left_out.get(item.case.case_id, item) for item in ordered], list(left_out.values())


def _in_order(items: Sequence[BudgetCase]) -> list[BudgetCase]:
    """Returns the cases of a sweep in the order of consideration."""
    first = [item for item in items if item.priority == FIRST_PRIORITY]
    return [*_by_size(first), *_varied([item for item in items if item.priority != FIRST_PRIORITY])]


def _by_size(items: Sequence[BudgetCase]) -> list[BudgetCase]:
    """Orders by size, largest first; within a size one matrix after another."""
    matrices: dict[object, int] = {}
    place: dict[str, tuple[int, int]] = {}
    for item in items:
        matrix = _without(_axes(item.case), "between", "size")
        place[item.case.case_id] = -item.case.size_bytes, matrices.setdefault(matrix, len(matrices))
    return sorted(items, key=lambda item: place[item.case.case_id])


def _varied(items: Sequence[BudgetCase]) -> Iterator[BudgetCase]:
    """Orders the cases of a sweep so that any prefix contains comparisons of the most different kinds.

    Cases that differ in one axis only stay together. The next group is the one whose values occurred least
    so far; among equals, the one whose size comes first in _spread() (variety.py).
    """
    ranks = {size: rank for rank, size in enumerate(_spread({item.case.size_bytes for item in items}))}
    groups = _groups(sorted(items, key=lambda item: ranks[item.case.size_bytes]))
    values: list[Counts] = [
        Counter(value for item in group for value in _axes(item.case).items()) for group in groups
    ]
    for index in by_variety(values):
        yield from groups[index]


def _spread(sizes: set[int]) -> Iterator[int]:
    """Yields the largest, the smallest, and then repeatedly the middle between two neighbours."""
    order = sorted(sizes, reverse=True)
    yield from dict.fromkeys((*order[:1], *order[-1:]))
    between = [order[1:-1]]
    while between:
        part = between.pop(0)
        if part:
            middle = len(part) // 2
            yield part[middle]
            between += [part[:middle], part[middle + 1 :]]


def _groups(items: Sequence[BudgetCase]) -> list[list[BudgetCase]]:
    """Groups cases that differ in one axis: the axis that leaves fewest alone, then the smallest groups."""
    axes = [(item, _axes(item.case)) for item in items]
    best = [[item] for item in items]
    for axis in dict.fromkeys(name for _, values in axes for name in values):
        groups: dict[object, list[BudgetCase]] = {}
        for item, values in axes:
            groups.setdefault(_without(values, axis), []).append(item)
        best = min(best, list(groups.values()), key=_alone_and_most)
    return [part for group in best for part in _divided(group)]


def _alone_and_most(groups: Sequence[Sequence[BudgetCase]]) -> tuple[int, int]:
    sizes = [len(group) for group in groups]
    return sizes.count(1), max(sizes, default=0)


def _divided(group: list[BudgetCase]) -> list[list[BudgetCase]]:
    """Returns a small group whole, a larger one in pairs; the last part may have three."""
    if len(group) <= SMALL_GROUP:
        return [group]
    starts = range(0, len(group) - 1, 2)
    return [group[start : start + 2 if start + 3 < len(group) else None] for start in starts]


def _axes(case: Case) -> dict[str, object]:
    """Returns the axis values that distinguish a case within its sweep."""
    flow = case.flows[0]
    return {
        "between": (case.path, case.executors),
        "size": case.size_bytes,
        "interface": case.interface,
        "pattern": case.pattern,
        "cache": case.cache,
        "source": (flow.source.memory, flow.source.first_touch),
        "destination": (flow.destination.memory, flow.destination.first_touch),
        **{f"option {name}": value for name, value in case.options.items()},
        **{f"variable {name}": value for name, value in case.environment.items()},
        **{f"beside {name}": value for other in case.flows[1:] for name, value in other.options.items()},
    }


def _without(values: dict[str, object], *axes: str) -> frozenset[tuple[str, object]]:
    """Returns the values of all other axes, as a key."""
    return frozenset((name, value) for name, value in values.items() if name not in axes)
