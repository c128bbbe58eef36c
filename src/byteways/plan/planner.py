"""Combines suite, machine and time budget into the list of cases to run, in running order.

The plan contains every case that the suite requests: to be measured, or skipped with a reason. Pure.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from byteways.base.errors import BytewaysError
from byteways.cases.case import Case, PlannedCase
from byteways.cases.reasons import NO_SIMULATED_NETWORK, Refusal
from byteways.machine.model import Capabilities, Topology
from byteways.plan import bounds
from byteways.plan.budget import PROBING, BudgetCase, TotalTime, within
from byteways.plan.device_sample import DeviceSample, sample_for
from byteways.plan.estimate import Estimator, library_of_gpu_ranks
from byteways.plan.filters import only_filter, sizes_filter
from byteways.plan.hosts.all_hosts import is_of_all, refusal_of_all
from byteways.plan.hosts.templates import between_hosts
from byteways.plan.legality import broken_rule
from byteways.plan.link_classes import ClassOfPath
from byteways.plan.memory_fallback import instead
from byteways.plan.ranks import Rank, default_ranks, layout
from byteways.plan.requested_sizes import sweeps_of_requested_sizes
from byteways.plan.suite_types import Suite, Sweep
from byteways.plan.sweep import Expansion, between_ranks, expand
from byteways.plan.unmatched import nothing_matches
from byteways.plan.variables import runtime_of


class NoCaseError(BytewaysError):
    """No case of the suite can run on this machine."""

    def __init__(self, suite: Suite, topology: Topology, notes: Sequence[str]) -> None:
        cause = "; ".join(notes) or "this machine does not meet the 'when' condition of any sweep"
        what = f"suite '{suite.name}' has no case on this machine"
        super().__init__(what, cause=cause, hint="byteways doctor")
        self.topology = topology


@dataclass(frozen=True)
class Plan:
    """Cases that will run, in running order, followed by the others."""

    suite: Suite
    cases: tuple[PlannedCase, ...]
    notes: tuple[str, ...]  # why sweeps have fewer cases than expected on this machine
    estimated_s: float
    budget_s: float | None
    sample: DeviceSample | None = None  # the devices that globs mean; None: all
    #: Memory that stands in for memory which the machine lacks; also in notes.
    substitutes: tuple[str, ...] = ()


def make_plan(
    suite: Suite,
    topology: Topology,
    capabilities: Capabilities,
    *,
    only: Sequence[str] = (),
    sizes: str | None = None,
    budget_s: float | None = None,
    link_class: ClassOfPath | None = None,
    ranks: int | None = None,
    with_self: bool = False,
    all_devices: bool = False,
    on_sweep: Callable[[int, int], None] = lambda done, cases: None,
) -> Plan:
    """Plans a suite on a machine.

    Args:
        suite: The suite.
        topology: The machine.
        capabilities: What its runtimes offer.
        only: `--only` filters; alternatives.
        sizes: `--size` filter.
        budget_s: Time budget of the whole run; None: the suite's own.
        link_class: Returns the class of links between two devices; None: byteways.machine.routes.link_class.
        ranks: Number of ranks; None: one per GPU, at least two.
        with_self: Whether messages also go between two ranks on one GPU.
        all_devices: Whether globs mean every device of a large machine, too, and not a sample.
        on_sweep: Progress: receives the numbers of sweeps expanded and of their cases; large machines take
            seconds.

    Raises:
        BytewaysError: There are too many cases, a filter is malformed or matches nothing, a named device
            does not exist, or the budget is too small.
    """
    budget_s = _checked_budget(suite.budget_s if budget_s is None else budget_s)
    machine = _machine(suite, topology, capabilities, link_class, ranks, with_self)
    sample = None if all_devices else sample_for(suite, topology, only)
    suite = _on_sample(suite, sample)
    expansions = _expansions(suite, machine, only, sizes, on_sweep)
    wanted, notes, substitutes = _wanted(suite, expansions, only, sizes, topology, capabilities)
    if sample is not None:
        notes.insert(0, sample.note())
    if not wanted:
        raise NoCaseError(suite, topology, notes)
    opened_gpus = sample.opened_gpus if sample and not machine.ranks else None
    load = TotalTime(Estimator(topology, capabilities, opened_gpus), suite.rounds)
    judged = [_judged(item, topology, capabilities) for item in wanted]
    cases = _in_running_order(judged, suite, budget_s, load)
    every_note = (*notes, *substitutes)
    return Plan(suite, cases, every_note, load.total_s, budget_s, sample, tuple(substitutes))


@dataclass(frozen=True)
class _Machine:
    """What sweeps are expanded on."""

    topology: Topology
    link_class: ClassOfPath
    runtimes: Collection[str]
    hosts: tuple[str, ...]  # simulated hosts between which ranks run; empty: one host
    ranks: Sequence[Rank]  # empty: no sweep uses ranks

    def expanded(self, sweep: Sweep, before: int) -> Expansion:
        """Returns the cases of a sweep; `before` is the number of cases of earlier ones."""
        if self.hosts and between_ranks(sweep):
            return between_hosts(sweep, self.topology)
        return expand(sweep, self.topology, self.link_class, self.runtimes, self.ranks, before)


def _checked_budget(budget_s: float | None) -> float | None:
    if budget_s is not None and not budget_s > 0:
        raise BytewaysError(
            f"a budget of {budget_s:g} s is too short to measure anything", hint="byteways run --budget 60"
        )
    return budget_s


def _machine(
    suite: Suite,
    topology: Topology,
    capabilities: Capabilities,
    link_class: ClassOfPath | None,
    ranks: int | None,
    with_self: bool,
) -> _Machine:
    """Returns the machine with its ranks. Raises BytewaysError if it cannot have so many."""
    hosts = topology.hosts if needs_ranks(suite) else ()
    if hosts and ranks not in (None, len(hosts)):
        raise BytewaysError(
            f"{len(hosts)} simulated hosts have one rank each, not {ranks} in all",
            hint=f"--ranks {len(hosts)}",
        )
    if with_self:
        _check_self(suite, topology)
    count = len(hosts) or ranks or default_ranks(topology)
    twins = with_self or shares_gpus(suite, topology)
    processes = layout(topology, count, twins=twins) if needs_ranks(suite) else ()
    runtimes = {runtime for name in topology.names("gpu") if (runtime := runtime_of(name, capabilities))}
    return _Machine(topology, link_class or _link_class(topology), runtimes, hosts, processes)


def _on_sample(suite: Suite, sample: DeviceSample | None) -> Suite:
    """Returns the suite with the devices that its globs mean; ranks are on every GPU."""
    if sample is None:
        return suite
    sampled = (one if between_ranks(one) else one.replaced(devices=sample.devices) for one in suite.sweeps)
    return replace(suite, sweeps=tuple(sampled))


def _expansions(
    suite: Suite,
    machine: _Machine,
    only: Sequence[str],
    sizes: str | None,
    on_sweep: Callable[[int, int], None],
) -> list[Expansion]:
    """Returns the cases of each sweep, with those of sizes that only `--size` names.

    Raises:
        BytewaysError: There are too many.
    """
    found: list[Expansion] = []
    count = 0
    for sweep in suite.sweeps:
        found.append(machine.expanded(sweep, count))
        count += len(found[-1].cases)
        bounds.within(count, f"suite '{suite.name}'")
        on_sweep(len(found), count)
    pairs = zip(suite.sweeps, (expansion.cases for expansion in found), strict=True)
    for index, sweep in sweeps_of_requested_sizes(sizes, pairs, only_filter(only, machine.topology)).items():
        more = machine.expanded(sweep, count).cases
        found[index] = replace(found[index], cases=(*found[index].cases, *more))
    bounds.within(sum(len(expansion.cases) for expansion in found), f"suite '{suite.name}'")
    return found


def _in_running_order(
    judged: Sequence[BudgetCase], suite: Suite, budget_s: float | None, load: TotalTime
) -> tuple[PlannedCase, ...]:
    """Returns the cases of all rounds, then those that cannot run, then those that the budget leaves out."""
    ordered = [item for group in _groups(judged) for item in group]
    spares: list[BudgetCase] = []
    if budget_s is not None:
        ordered, spares = within(ordered, budget_s, load)
    running = [load.add(item) for item in ordered if item.reason is None]
    refused = [item for item in ordered if item.reason is not None and not item.spare]
    rounds = range(suite.rounds)
    placed = [
        *((item, number) for number in rounds for item in _round(running, suite, number)),
        *((item, 0) for item in refused),
        *((item, number) for number in rounds for item in spares),
    ]
    planned = [(item, _planned(item, number, suite.rounds)) for item, number in placed]
    return tuple(_with_starts(planned, load))


def _with_starts(placed: Sequence[tuple[BudgetCase, PlannedCase]], load: TotalTime) -> Iterator[PlannedCase]:
    """Yields the cases with estimates of what falls into each: the start of its process if another one
    measures the case before it, the first use of a library between GPUs, and new pages in the first round.
    """
    estimator, process, libraries = load.estimator, PROBING, set[str]()
    for item, planned in placed:
        if planned.reason is not None:
            yield planned
            continue
        seconds = planned.estimated_s + estimator.library_start_s(item.case, libraries)
        if item.process != process:
            seconds += estimator.further_start_s()
        if planned.round == 0:
            seconds += item.once_s
        process = item.process
        libraries.add(library_of_gpu_ranks(item.case))
        yield replace(planned, estimated_s=seconds)


def shares_gpus(suite: Suite, topology: Topology) -> bool:
    """Whether the suite asks for two ranks on each GPU, and this is one host with GPUs."""
    return suite.self_pairs and bool(topology.names("gpu")) and not topology.hosts


def _check_self(suite: Suite, topology: Topology) -> None:
    """Checks that two ranks can share a GPU in this run."""
    if not needs_ranks(suite):
        raise BytewaysError(
            f"suite '{suite.name}' has no ranks: --self only applies to messages between ranks"
        )
    if topology.hosts or not topology.names("gpu"):
        cause = "ranks of several hosts have a GPU each" if topology.hosts else "this machine has no GPU"
        raise BytewaysError("--self has two ranks share each GPU", cause=cause, hint="leave --self out")


def needs_ranks(suite: Suite) -> bool:
    """Whether any of its sweeps uses several ranks."""
    return any(between_ranks(sweep) for sweep in suite.sweeps)


def _judged(item: BudgetCase, topology: Topology, capabilities: Capabilities) -> BudgetCase:
    """Returns the case with why it cannot run, if it cannot."""
    found = _refusal(item.case, topology, capabilities)
    return replace(item, reason=found.text, reason_code=found.code) if found else item


def _refusal(case: Case, topology: Topology, capabilities: Capabilities) -> Refusal | None:
    if case.hosts and case.by_xccl:
        return Refusal(NO_SIMULATED_NETWORK, "the simulated NCCL and RCCL reach no other host")
    if case.hosts and is_of_all(case):
        return refusal_of_all(case, len(case.hosts), topology, capabilities)
    return broken_rule(case, topology, capabilities)


def _link_class(topology: Topology) -> ClassOfPath:
    from byteways.machine.routes import link_class  # imported late: most uses pass their own

    return lambda source, destination: link_class(topology, source, destination)


def _wanted(
    suite: Suite,
    expansions: Sequence[Expansion],
    only: Sequence[str],
    sizes: str | None,
    topology: Topology,
    capabilities: Capabilities,
) -> tuple[list[BudgetCase], list[str], list[str]]:
    """Returns every requested case that the filters accept, once, the notes, and what stands in for what.

    A case in memory that the machine lacks is planned in what stands in for it, unless the filters ask for
    that memory: then it is refused with the reason.
    """
    lets_through, right_size = only_filter(only, topology), sizes_filter(sizes)
    wanted: dict[str, BudgetCase] = {}
    notes: list[str] = []
    asked: list[tuple[Case, str]] = []
    replaced: Counter[str] = Counter()
    for sweep, expansion in zip(suite.sweeps, expansions, strict=True):
        notes += expansion.notes
        for case in expansion.cases:
            asked.append((case, sweep.name))
            if not lets_through(case, sweep.name) or not right_size(case.size_bytes):
                continue
            if (found := instead(case, capabilities)) and lets_through(found[0], sweep.name):
                case, reason = found
                replaced[reason] += 1
            earlier = wanted.get(case.case_id)
            if earlier is None:
                wanted[case.case_id] = BudgetCase(case, sweep, sweep.priority)
            elif sweep.priority > earlier.priority:
                wanted[case.case_id] = replace(earlier, priority=sweep.priority)
    if asked and not wanted:
        raise nothing_matches(asked, only, sizes, topology, suite.name)
    substitutes = [
        f"{'1 case is' if count == 1 else f'{count} cases are'} measured in pageable memory instead: {reason}"
        for reason, count in replaced.items()
    ]
    return list(wanted.values()), notes, substitutes


def _gather(items: Iterable[BudgetCase], key: Callable[[BudgetCase], object]) -> list[list[BudgetCase]]:
    """Groups items by key, keys in order of first appearance."""
    gathered: dict[object, list[BudgetCase]] = {}
    for item in items:
        gathered.setdefault(key(item), []).append(item)
    return list(gathered.values())


def _groups(wanted: Iterable[BudgetCase]) -> list[list[BudgetCase]]:
    """Returns one list per process environment, with cases grouped by equal buffers."""
    groups = _gather(wanted, lambda item: item.process)
    return [[item for block in _gather(group, lambda item: item.block) for item in block] for group in groups]


def _round(running: Sequence[BudgetCase], suite: Suite, round_: int) -> list[BudgetCase]:
    """Returns the order of one round: as given if it is the only one, otherwise shuffled.

    Shuffling prevents that a case always follows the same other one. Blocks with equal buffers stay
    together, to reuse the buffers; groups alternate.
    """
    if suite.rounds == 1:
        return list(running)
    shuffle = random.Random(f"{suite.name} {round_}").shuffle  # seeded: a resumed run has the same order
    groups = _gather(running, lambda item: item.process)
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


def _planned(item: BudgetCase, round: int, rounds: int) -> PlannedCase:
    sweep = item.sweep
    return PlannedCase(
        item.case,
        sweep.name,
        round,
        sweep.case_budget_s / rounds,
        sweep.precision,
        item.reason,
        item.estimated_s,
        item.spare,
        rounds,
        item.reason_code,
        item.priority,
    )
