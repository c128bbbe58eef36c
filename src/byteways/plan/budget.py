"""What of a plan fits a time budget: every sweep gets a part, the important ones the rest. Pure.

A case is taken with all its rounds: fewer cases, never fewer rounds, as nothing can be compared with a figure
of one round. A budget that is spent from the top leaves a suite's last sweeps empty, and of each sweep its
last sizes and memories. So what has to be there is taken first, one size whole before the next; part of what
is left is dealt evenly over the sweeps, each by small groups that can be compared within and differ as much
as they can from each other; and the rest by priority.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from byteways.errors import BytewaysError
from byteways.plan.case import Buffer, Case
from byteways.plan.estimate import Estimator
from byteways.plan.footprint import buffers
from byteways.plan.interfaces import one_buffer
from byteways.plan.suite_types import Sweep

#: Part of a time budget that is planned for; the rest is for estimates that were too low, and the report.
PLANNED_PART = 0.85
#: Sweeps of this priority are had first, what a suite is for, such as every pair of GPUs; up to this part.
FIRST = 9
FIRST_PART = 0.75
#: Part of what they leave that all other sweeps share alike, whatever their priority.
EVEN_PART = 0.4
#: A case that takes more than this part by itself waits until all others have been asked.
MOST_OF_ONE = 0.2
#: Groups of so many cases that differ in one axis are not divided; larger ones are, into pairs.
SMALL_GROUP = 4


@dataclass(frozen=True)
class Wanted:
    """A case once, with the sweep that sets its budget and precision."""

    case: Case
    sweep: Sweep
    priority: int
    reason: str | None = None
    estimated_s: float = 0.0  # of one round, allocation included
    spare: bool = False  # left out for the budget alone

    @property
    def block(self) -> tuple[object, ...]:
        """Cases of one block use the same buffers, so they run one after another."""
        flows = self.case.flows
        return tuple(sorted({str(end) for flow in flows for end in (flow.source, flow.destination)}))

    @property
    def process(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What is fixed per process: the kind of worker, and its variables."""
        return self.case.worker, tuple(sorted(self.case.environment.items()))


#: A buffer as a worker holds it: its process, what it is, its bytes, which of several equal ones of a case,
#: and whether it is the one buffer of an interface, which copies do not share.
_Held = tuple[object, Buffer, int, int, bool]


@dataclass
class Load:
    """The time that cases take together: the first one that uses a buffer or an environment pays for it."""

    estimator: Estimator
    rounds: int
    total_s: float = 0.0
    _buffers: set[_Held] = field(default_factory=set)
    _environments: set[object] = field(default_factory=set)
    _known: dict[str, tuple[float, frozenset[_Held]]] = field(default_factory=dict)  # by case

    def started_s(self) -> float:
        """Seconds so far, with those of starting at all."""
        return self.total_s or self.estimator.start_s()

    def empty(self) -> Load:
        """Of no case yet."""
        return Load(self.estimator, self.rounds, _known=self._known)

    def cost(self, item: Wanted) -> tuple[float, float]:
        """Seconds that one round of the case takes, and that the whole run takes longer with it."""
        round_s, needed = self._of_case(item)
        for held in needed - self._buffers:
            round_s += self.estimator.allocation_s(held[1], held[2])
        start_s = 0.0
        if item.process not in self._environments:
            further_s = self.rounds * self.estimator.further_start_s()
            start_s = further_s if self._environments else self.estimator.start_s()
        return round_s, start_s + self.rounds * round_s

    def add(self, item: Wanted) -> Wanted:
        """The case with its estimate, now part of the load."""
        round_s, whole_s = self.cost(item)
        self._buffers |= self._of_case(item)[1]
        self._environments.add(item.process)
        self.total_s += whole_s
        return replace(item, estimated_s=round_s)

    def _of_case(self, item: Wanted) -> tuple[float, frozenset[_Held]]:
        """Seconds of one round whose buffers are there, and these; a budget asks ten times for each case."""
        found = self._known.get(item.case.case_id)
        if found is None:
            seconds = self.estimator.case_s(item.case, item.sweep.case_budget_s, self.rounds)
            found = self._known[item.case.case_id] = seconds, self._needed(item)
        return found

    def _needed(self, item: Wanted) -> frozenset[_Held]:
        alone = one_buffer(item.case.interface)
        times: Counter[tuple[Buffer, int]] = Counter()
        needed = []
        for buffer, size in buffers(item.case, self.estimator.capabilities):
            needed.append((item.process, buffer, size, times[buffer, size], alone))
            times[buffer, size] += 1  # a case may need the same buffer twice at once
        return frozenset(needed)


@dataclass
class _Deal:
    """A budget being dealt: what is taken is in `load`, what is left out in `over`, as it would come back."""

    limit_s: float
    load: Load
    waiting: dict[str, list[Wanted]]  # by sweep, in the order in which they are asked
    given_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    taken: Counter[str] = field(default_factory=Counter)  # cases by sweep
    over: list[Wanted] = field(default_factory=list)

    def run(self) -> None:
        large = self._by_priority(FIRST, FIRST_PART * self.limit_s)
        self._even()
        for tier in range(FIRST, -1, -1):
            large += self._by_priority(tier, self.limit_s)
        self.over += [item for item in large if not self._take(item)]

    def _by_priority(self, tier: int, until_s: float) -> list[Wanted]:
        """Takes what waits with this priority, as far as it fits; returns what is too large to ask now."""
        large: list[Wanted] = []
        for item in self._in_turn(tier):
            if self.load.total_s > until_s:
                self.waiting.setdefault(item.sweep.name, []).append(item)
            elif self._own_s(item) > MOST_OF_ONE * self.limit_s:
                large.append(item)
            elif not self._take(item):
                self.over.append(item)
        return large

    def _even(self) -> None:
        """Every sweep one case, then one to compare it with, then up to its share, as far as there is time.

        Those of the highest priority are served first, and of one priority in the order of the suite.
        """
        share_s = EVEN_PART * (self.limit_s - self.load.started_s()) / max(1, len(self.waiting))
        names = sorted(self.waiting, key=lambda name: -max(item.priority for item in self.waiting[name]))
        for least, until_s in ((1, 0.0), (2, 0.0), (2, share_s)):
            for name in names:
                self._serve(name, least, until_s)

    def _serve(self, name: str, least: int, until_s: float) -> None:
        """Takes cases of a sweep in their order up to a number, and on as long as they take no longer."""
        kept: list[Wanted] = []
        for item in self.waiting[name]:
            cost_s = self._own_s(item)
            lacking = self.taken[name] < least and cost_s <= MOST_OF_ONE * self.limit_s
            fits = self.given_s[name] + cost_s <= until_s
            if not ((lacking or fits) and self._take(item)):
                kept.append(item)
        self.waiting[name] = kept

    def _in_turn(self, tier: int) -> Iterator[Wanted]:
        """The cases that wait with a priority, and no longer do; always of the sweep given least so far."""
        queues: dict[str, list[Wanted]] = {}
        others: dict[str, list[Wanted]] = {}
        for name, items in self.waiting.items():
            for item in items:
                (queues if item.priority == tier else others).setdefault(name, []).append(item)
        self.waiting = others
        asked_s = self.given_s.copy()  # also of what is not taken, or one sweep would be asked to its end
        while queues:
            name = min(queues, key=lambda name: asked_s[name])
            item = queues[name].pop(0)
            asked_s[name] += self._own_s(item)
            yield item
            if not queues[name]:
                del queues[name]

    def _own_s(self, item: Wanted) -> float:
        """Seconds of all its rounds, without those of starting a process for it."""
        return self.load.cost(item)[0] * self.load.rounds

    def _take(self, item: Wanted) -> bool:
        if self.load.total_s + self.load.cost(item)[1] > self.limit_s:
            return False
        self.given_s[item.sweep.name] += self._own_s(item)
        self.taken[item.sweep.name] += 1
        self.load.add(item)
        return True


def within(ordered: Sequence[Wanted], budget_s: float, load: Load) -> tuple[list[Wanted], list[Wanted]]:
    """The same without what the budget has no room for, and that apart: first to come back first.

    Raises:
        BytewaysError: Not one case fits.
    """
    limit_s = PLANNED_PART * budget_s + 1e-9
    running = [item for item in ordered if item.reason is None]
    whole = load.empty()
    for item in running:
        whole.add(item)
    if whole.total_s <= limit_s:
        return list(ordered), []
    sweeps: dict[str, list[Wanted]] = {}
    for item in running:
        sweeps.setdefault(item.sweep.name, []).append(item)
    deal = _Deal(limit_s, load.empty(), {name: _in_order(items) for name, items in sweeps.items()})
    deal.run()
    enough_s = math.ceil(whole.total_s / PLANNED_PART)
    alone = {item.case.case_id: load.empty().cost(item)[1] for item in deal.over}
    if len(deal.over) == len(running):
        least_s = math.ceil(min(alone.values()) / PLANNED_PART)
        raise BytewaysError(
            f"no case fits the budget of {budget_s:g} s",
            cause=f"start-up and the shortest case take about {least_s} s, the whole suite {enough_s} s",
            hint=f"byteways run --budget {least_s}",
        )
    reason = (
        f"left out to fit the budget of {budget_s:g} s; run with --budget {enough_s} or choose with --only"
    )
    left_out = {
        item.case.case_id: replace(
            item, reason=reason, spare=True, estimated_s=alone[item.case.case_id] / load.rounds
        )
        for item in deal.over
    }
    return [left_out.get(item.case.case_id, item) for item in ordered], list(left_out.values())


def _in_order(items: Sequence[Wanted]) -> list[Wanted]:
    """The cases of a sweep in the order in which they are asked."""
    first = [item for item in items if item.priority == FIRST]
    return [*_by_size(first), *_varied([item for item in items if item.priority != FIRST])]


def _by_size(items: Sequence[Wanted]) -> list[Wanted]:
    """The largest size first and whole, in it one matrix after another."""
    matrices: dict[object, int] = {}
    place: dict[str, tuple[int, int]] = {}
    for item in items:
        matrix = _without(_axes(item.case), "between", "size")
        place[item.case.case_id] = -item.case.size_bytes, matrices.setdefault(matrix, len(matrices))
    return sorted(items, key=lambda item: place[item.case.case_id])


def _varied(items: Sequence[Wanted]) -> Iterator[Wanted]:
    """The cases of a sweep so that wherever one stops, there are comparisons, and of as much as can be.

    Cases that differ in one axis alone stay together. The next group is always the one whose values have been
    seen least, of such groups that with sizes farthest apart.
    """
    ranks = {size: rank for rank, size in enumerate(_spread({item.case.size_bytes for item in items}))}
    groups = _groups(sorted(items, key=lambda item: ranks[item.case.size_bytes]))
    left = [(group, [value for item in group for value in _axes(item.case).items()]) for group in groups]
    seen: Counter[tuple[str, object]] = Counter()
    while left:
        often = [sum(seen[value] for value in values) / len(values) for _, values in left]
        index = often.index(min(often))
        group, values = left.pop(index)
        seen.update(values)
        yield from group


def _spread(sizes: set[int]) -> Iterator[int]:
    """The largest, the smallest, and then always the middle of what lies between two of them."""
    order = sorted(sizes, reverse=True)
    yield from dict.fromkeys((*order[:1], *order[-1:]))
    between = [order[1:-1]]
    while between:
        part = between.pop(0)
        if part:
            middle = len(part) // 2
            yield part[middle]
            between += [part[:middle], part[middle + 1 :]]


def _groups(items: Sequence[Wanted]) -> list[list[Wanted]]:
    """Small groups of cases that differ in one axis: by which fewest stay alone, then the smallest."""
    axes = [(item, _axes(item.case)) for item in items]
    best = [[item] for item in items]
    for axis in dict.fromkeys(name for _, values in axes for name in values):
        groups: dict[object, list[Wanted]] = {}
        for item, values in axes:
            groups.setdefault(_without(values, axis), []).append(item)
        best = min(best, list(groups.values()), key=_alone_and_most)
    return [part for group in best for part in _divided(group)]


def _alone_and_most(groups: Sequence[Sequence[Wanted]]) -> tuple[int, int]:
    sizes = [len(group) for group in groups]
    return sizes.count(1), max(sizes, default=0)


def _divided(group: list[Wanted]) -> list[list[Wanted]]:
    """A small group whole, a larger one in pairs, the last of which may be three."""
    if len(group) <= SMALL_GROUP:
        return [group]
    starts = range(0, len(group) - 1, 2)
    return [group[start : start + 2 if start + 3 < len(group) else None] for start in starts]


def _axes(case: Case) -> dict[str, object]:
    """What tells a case from others of its sweep, by axis."""
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
    """The values of all other axes."""
    return frozenset((name, value) for name, value in values.items() if name not in axes)
