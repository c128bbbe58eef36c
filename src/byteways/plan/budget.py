"""What of a plan fits a time budget: every sweep gets a part, the important ones the rest. Pure.

A budget that is spent from the top leaves a suite's last sweeps empty, and of each sweep its last sizes and
memories. So what has to be there is taken first, part of what is left is dealt evenly over the sweeps, each
by cases that differ as much as they can, and the rest by priority.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
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


@dataclass(frozen=True)
class Wanted:
    """A case once, with the sweep that sets its budget and precision."""

    case: Case
    sweep: Sweep
    priority: int
    reason: str | None = None
    estimated_s: float = 0.0  # of one round, allocation included
    spare: bool = False  # dropped for the budget alone

    @property
    def block(self) -> tuple[object, ...]:
        """Cases of one block use the same buffers, so they run one after another."""
        flows = self.case.flows
        return tuple(sorted({str(end) for flow in flows for end in (flow.source, flow.destination)}))

    @property
    def process(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What is fixed per process: the kind of worker, and its variables."""
        return self.case.worker, tuple(sorted(self.case.environment.items()))


@dataclass
class Load:
    """The time that cases take together: the first one that uses a buffer or an environment pays for it."""

    estimator: Estimator
    rounds: int
    total_s: float = 0.0
    _buffers: set[tuple[object, ...]] = field(default_factory=set)
    _environments: set[object] = field(default_factory=set)

    def started_s(self) -> float:
        """Seconds so far, with those of starting at all."""
        return self.total_s or self.estimator.start_s()

    def empty(self) -> Load:
        """Of no case yet."""
        return Load(self.estimator, self.rounds)

    def cost(self, item: Wanted) -> tuple[float, float]:
        """Seconds that one round of the case takes, and that the whole run takes longer with it."""
        round_s = self.estimator.case_s(item.case, item.sweep.case_budget_s)
        for key in self._needed(item) - self._buffers:
            round_s += self.estimator.allocation_s(key[1], key[2])
        start_s = 0.0
        if item.process not in self._environments:
            start_s = self.estimator.start_s() * (self.rounds if self._environments else 1)
        return round_s, start_s + self.rounds * round_s

    def add(self, item: Wanted) -> Wanted:
        """The case with its estimate, now part of the load."""
        round_s, whole_s = self.cost(item)
        self._buffers |= self._needed(item)
        self._environments.add(item.process)
        self.total_s += whole_s
        return replace(item, estimated_s=round_s)

    def _needed(self, item: Wanted) -> set[tuple[object, Buffer, int, int, bool]]:
        needed = buffers(item.case, self.estimator.capabilities)
        alone = one_buffer(item.case.interface)  # shares no buffer with copies
        return {  # a case may need the same buffer twice at once
            (item.process, buffer, size, needed[:index].count((buffer, size)), alone)
            for index, (buffer, size) in enumerate(needed)
        }


@dataclass
class _Deal:
    """A budget being dealt: what is taken is in `load`, what is left out in `over`, as it would come back."""

    limit_s: float
    load: Load
    waiting: dict[str, list[Wanted]]  # by sweep, in the order in which they are asked
    given_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
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
        """Every sweep up to its share, and one case at least."""
        share_s = EVEN_PART * (self.limit_s - self.load.started_s()) / max(1, len(self.waiting))
        most_s = MOST_OF_ONE * self.limit_s
        for name, items in self.waiting.items():
            kept: list[Wanted] = []
            for item in items:
                cost_s = self._own_s(item)
                room_s = max(share_s - self.given_s[name], 0 if self.given_s[name] else most_s)
                if not (cost_s <= room_s and self._take(item)):
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
        self.load.add(item)
        return True


def within(ordered: Sequence[Wanted], budget_s: float, load: Load) -> tuple[list[Wanted], list[Wanted]]:
    """The same with cases dropped that the budget has no room for, and those apart: first to come back first.

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
    deal = _Deal(limit_s, load.empty(), {name: list(_varied(items)) for name, items in sweeps.items()})
    deal.run()
    enough_s = math.ceil(whole.total_s / PLANNED_PART)
    alone = {item.case.case_id: load.empty().cost(item)[1] for item in deal.over}
    if len(deal.over) == len(running):
        least_s = math.ceil(min(alone.values()) / PLANNED_PART)
        raise BytewaysError(
            f"no case fits the budget of {budget_s:g} s",
            cause=f"starting and the shortest case take about {least_s} s, the whole suite {enough_s} s",
            hint=f"byteways run --budget {least_s}",
        )
    reason = (
        f"dropped to fit the budget of {budget_s:g} s; run with --budget {enough_s} or choose with --only"
    )
    dropped = {
        item.case.case_id: replace(item, reason=reason, spare=True, estimated_s=alone[item.case.case_id])
        for item in deal.over
    }
    return [dropped.get(item.case.case_id, item) for item in ordered], list(dropped.values())


def _varied(items: Sequence[Wanted]) -> Iterator[Wanted]:
    """The cases of a sweep so that wherever one stops, every size, memory and agent has had its turn.

    Next is always the case whose values have been seen least.
    """
    left = [(item, tuple(_values(item.case))) for item in items]
    seen: Counter[tuple[str, object]] = Counter()
    while left:
        index = min(range(len(left)), key=lambda index: sum(seen[value] for value in left[index][1]))
        item, values = left.pop(index)
        seen.update(values)
        yield item


def _values(case: Case) -> Iterable[tuple[str, object]]:
    """What tells a case from others of its sweep, by axis."""
    flow = case.flows[0]
    yield from (("interface", case.interface), ("pattern", case.pattern), ("path", case.path))
    yield from (("executors", case.executors), ("size", case.size_bytes), ("cache", case.cache))
    for name, end in (("source", flow.source), ("destination", flow.destination)):
        yield name, (end.memory, end.first_touch)
    yield from case.options.items()
    yield from case.environment.items()
    for other in case.flows[1:]:
        yield from other.options.items()
