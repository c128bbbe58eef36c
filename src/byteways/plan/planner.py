"""Puts a suite, a machine and a time budget together into the list of cases to run, in running order.

Every case that the suite asks for is in the plan: to be measured, or skipped with its reason. Pure.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from byteways.errors import BytewaysError
from byteways.plan.case import Buffer, Case, PlannedCase
from byteways.plan.estimate import Estimator
from byteways.plan.filters import nothing_matches, only_filter, sizes_filter
from byteways.plan.footprint import buffers
from byteways.plan.interfaces import one_buffer
from byteways.plan.legality import refusal
from byteways.plan.suite_types import Suite, Sweep
from byteways.plan.sweep import Expansion, LinkClass, expand
from byteways.plan.variables import runtime_of
from byteways.topology.model import Capabilities, Topology

#: Part of a time budget that is planned for; the rest is for estimates that were too low, and the report.
PLANNED_PART = 0.85


@dataclass(frozen=True)
class Plan:
    """What will run, in running order, then what will not."""

    suite: Suite
    cases: tuple[PlannedCase, ...]
    notes: tuple[str, ...]  # why sweeps have fewer cases here than one may expect
    estimated_s: float
    budget_s: float | None


@dataclass(frozen=True)
class _Wanted:
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


def plan(
    suite: Suite,
    topology: Topology,
    capabilities: Capabilities,
    *,
    only: Sequence[str] = (),
    sizes: str | None = None,
    budget_s: float | None = None,
) -> list[PlannedCase]:
    """The cases of make_plan(), replicates included, in running order."""
    return list(make_plan(suite, topology, capabilities, only=only, sizes=sizes, budget_s=budget_s).cases)


def make_plan(
    suite: Suite,
    topology: Topology,
    capabilities: Capabilities,
    *,
    only: Sequence[str] = (),
    sizes: str | None = None,
    budget_s: float | None = None,
    link_class: LinkClass | None = None,
) -> Plan:
    """Plans a suite on a machine.

    Args:
        suite: What is asked for.
        topology: The machine.
        capabilities: What its runtimes offer.
        only: `--only` filters, alternatives.
        sizes: `--size` filter.
        budget_s: Time for the whole run; None: what the suite says.
        link_class: Names the class of links between two agents; None: byteways.topology.routes.link_class.

    Raises:
        BytewaysError: A filter is malformed or matches nothing, a named agent is not here, or the budget is
            too small.
    """
    if link_class is None:
        link_class = _link_class(topology)
    budget_s = suite.budget_s if budget_s is None else budget_s
    if budget_s is not None and not budget_s > 0:
        raise BytewaysError(f"a budget of {budget_s:g} s measures nothing", hint="byteways run --budget 60")
    runtimes = {runtime for name in topology.names("gpu") if (runtime := runtime_of(name, capabilities))}
    expansions = [expand(sweep, topology, link_class, runtimes) for sweep in suite.sweeps]
    wanted, notes = _wanted(suite, expansions, only, sizes)
    wanted = [replace(item, reason=refusal(item.case, topology, capabilities)) for item in wanted]
    estimator = Estimator(topology, capabilities)
    ordered = [item for group in _groups(wanted) for item in group]
    rounds = suite.replicates
    if budget_s is not None:
        ordered = _within(ordered, budget_s, _Load(estimator, rounds))
    load = _Load(estimator, rounds)
    running = [load.add(item) for item in ordered if item.reason is None]
    refused = [item for item in ordered if item.reason is not None and not item.spare]
    spares = sorted((item for item in ordered if item.spare), key=lambda item: -item.priority)
    cases = [_planned(item, round_) for round_ in range(rounds) for item in _round(running, suite, round_)]
    cases += [_planned(item, 0) for item in (*refused, *spares)]
    return Plan(suite, tuple(cases), tuple(notes), load.total_s, budget_s)


def _link_class(topology: Topology) -> LinkClass:
    from byteways.topology.routes import link_class  # kept out of the planner's imports: it needs no routes

    return lambda source, destination: link_class(topology, source, destination)


def _wanted(
    suite: Suite, expansions: Sequence[Expansion], only: Sequence[str], sizes: str | None
) -> tuple[list[_Wanted], list[str]]:
    """Every case that the suite asks for and the filters let through, once, and the notes."""
    lets_through, right_size = only_filter(only), sizes_filter(sizes)
    wanted: dict[str, _Wanted] = {}
    notes: list[str] = []
    asked: list[tuple[Case, str]] = []
    for sweep, expansion in zip(suite.sweeps, expansions, strict=True):
        notes += expansion.notes
        for case in expansion.cases:
            asked.append((case, sweep.name))
            if not lets_through(case, sweep.name) or not right_size(case.size_bytes):
                continue
            earlier = wanted.get(case.case_id)
            if earlier is None:
                wanted[case.case_id] = _Wanted(case, sweep, sweep.priority)
            elif sweep.priority > earlier.priority:
                wanted[case.case_id] = replace(earlier, priority=sweep.priority)
    if not wanted:
        if asked:
            raise nothing_matches(asked, only, sizes)
        cause = "; ".join(notes) or "what its sweeps are for ('when' in the suite) is not here"
        raise BytewaysError(
            f"suite '{suite.name}' has no case on this machine", cause=cause, hint="byteways doctor"
        )
    return list(wanted.values()), notes


def _process(item: _Wanted) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What is fixed per process: the kind of worker, and its variables."""
    return item.case.worker, tuple(sorted(item.case.environment.items()))


def _gather(items: Iterable[_Wanted], key: Callable[[_Wanted], object]) -> list[list[_Wanted]]:
    """Items of equal key side by side, keys in order of appearance."""
    gathered: dict[object, list[_Wanted]] = {}
    for item in items:
        gathered.setdefault(key(item), []).append(item)
    return list(gathered.values())


def _groups(wanted: Iterable[_Wanted]) -> list[list[_Wanted]]:
    """One list a process environment, within it one block of equal buffers after another."""
    groups = _gather(wanted, _process)
    return [[item for block in _gather(group, lambda item: item.block) for item in block] for group in groups]


def _round(running: Sequence[_Wanted], suite: Suite, round_: int) -> list[_Wanted]:
    """The order of one round: as given when it is the only one, else shuffled.

    So no case always follows the same other. Blocks stay together, or buffers would be made anew for every
    case; groups alternate.
    """
    if suite.replicates == 1:
        return list(running)
    shuffle = random.Random(f"{suite.name} {round_}").shuffle  # seeded: a resumed run has the same order
    groups = _gather(running, _process)
    if round_ % 2:
        groups.reverse()
    order = []
    for group in groups:
        blocks = _gather(group, lambda item: item.block)
        shuffle(blocks)
        for block in blocks:
            shuffle(block)
            order += block
    return order


@dataclass
class _Load:
    """The time that cases take together: the first one that uses a buffer or an environment pays for it."""

    estimator: Estimator
    rounds: int
    total_s: float = 0.0
    _buffers: set[tuple[object, ...]] = field(default_factory=set)
    _environments: set[object] = field(default_factory=set)

    def cost(self, item: _Wanted) -> tuple[float, float]:
        """Seconds that one round of the case takes, and that the whole run takes longer with it."""
        round_s = self.estimator.case_s(item.case, item.sweep.case_budget_s)
        for key in self._needed(item) - self._buffers:
            round_s += self.estimator.allocation_s(key[1], key[2])
        start_s = 0.0
        if _process(item) not in self._environments:
            start_s = self.estimator.start_s() * (self.rounds if self._environments else 1)
        return round_s, start_s + self.rounds * round_s

    def add(self, item: _Wanted) -> _Wanted:
        """The case with its estimate, now part of the load."""
        round_s, whole_s = self.cost(item)
        self._buffers |= self._needed(item)
        self._environments.add(_process(item))
        self.total_s += whole_s
        return replace(item, estimated_s=round_s)

    def _needed(self, item: _Wanted) -> set[tuple[object, Buffer, int, int, bool]]:
        needed = buffers(item.case, self.estimator.capabilities)
        alone = one_buffer(item.case.interface)  # shares no buffer with copies
        return {  # a case may need the same buffer twice at once
            (_process(item), buffer, size, needed[:index].count((buffer, size)), alone)
            for index, (buffer, size) in enumerate(needed)
        }


def _within(ordered: Sequence[_Wanted], budget_s: float, load: _Load) -> list[_Wanted]:
    """The same with cases dropped that the budget has no room for.

    Highest priority first, then in the order asked for; whatever no longer fits is left out, and what comes
    after it may still fit.
    """
    limit = PLANNED_PART * budget_s + 1e-9
    running = sorted((item for item in ordered if item.reason is None), key=lambda item: -item.priority)
    alone = {item.case.case_id: replace(item, estimated_s=load.cost(item)[1]) for item in running}
    whole = replace(load, _buffers=set(), _environments=set())
    for item in running:
        whole.add(item)
        if load.total_s + load.cost(item)[1] <= limit:
            load.add(item)
            del alone[item.case.case_id]
    enough_s = math.ceil(whole.total_s / PLANNED_PART)
    if running and len(alone) == len(running):
        least_s = math.ceil(min(item.estimated_s for item in alone.values()) / PLANNED_PART)
        raise BytewaysError(
            f"no case fits the budget of {budget_s:g} s",
            cause=f"starting and the shortest case take about {least_s} s, the whole suite {enough_s} s",
            hint=f"byteways run --budget {least_s}",
        )
    reason = (
        f"dropped to fit the budget of {budget_s:g} s; run with --budget {enough_s} or choose with --only"
    )
    dropped = {key: replace(item, reason=reason, spare=True) for key, item in alone.items()}
    return [dropped.get(item.case.case_id, item) for item in ordered]


def _planned(item: _Wanted, replicate: int) -> PlannedCase:
    sweep = item.sweep
    return PlannedCase(
        item.case,
        sweep.name,
        replicate,
        sweep.case_budget_s,
        sweep.precision,
        item.reason,
        item.estimated_s,
        item.spare,
    )
