"""Expands a sweep to its cases on a machine (pure): globs to devices, ends to flows, axes to a product."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NoReturn, TypeVar

from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interfaces import INTERFACES, OPTIONS
from byteways.cases.memory import MEMORIES, OF_LIBRARIES, OWNERS
from byteways.cases.options import BLOCK_BYTES
from byteways.machine.model import Topology
from byteways.plan import bounds, core_pairs, flow_sets, rank_sweep
from byteways.plan.flow_sets import FlowEnds, FlowGroup
from byteways.plan.legality import executes, kind_of
from byteways.plan.link_classes import Assigned, ClassOfPath, representatives
from byteways.plan.ranks import Rank

if TYPE_CHECKING:
    from byteways.base.toml_reading import TomlPlace
    from byteways.plan.suite_types import Sweep
    from byteways.plan.suite_values import BufferGlob

#: Value of an axis: options and environment variables have different types.
Value = TypeVar("Value")


@dataclass(frozen=True)
class Expansion:
    """The cases of a sweep, and why it has fewer than expected on this machine."""

    cases: tuple[Case, ...]
    notes: tuple[str, ...]


def expand(
    sweep: Sweep,
    topology: Topology,
    link_class: ClassOfPath,
    runtimes: Collection[str] = (),
    ranks: Sequence[Rank] = (),
    before: int = 0,
) -> Expansion:
    """Returns all requested cases on this machine, possible or not, without duplicates, in the sweep's order.

    Args:
        sweep: The sweep.
        topology: The machine.
        link_class: Returns the class of links between two devices.
        runtimes: Names of the runtimes that drive its GPUs.
        ranks: Ranks of the run.
        before: Number of cases of the suite's earlier sweeps, which share its bound.

    Raises:
        BytewaysError: The sweep names (not by a glob) a device that this machine lacks, or there are too many
            cases; they are counted before they are made.
    """
    has_gpu = bool(topology.names("gpu"))
    true_here = {"always", "with-gpu" if has_gpu else "without-gpu", *(f"with-{name}" for name in runtimes)}
    if sweep.when not in true_here:
        return Expansion((), ())  # the suite itself says so: no note
    _check_named(sweep, topology)
    if between_ranks(sweep):
        return _between_ranks(sweep, topology, link_class, ranks, before)
    notes: list[str] = []
    cases: dict[str, Case] = {}
    for pattern in sweep.patterns:
        if reason := flow_sets.lacking(pattern, topology):
            notes.append(reason)
            continue
        groups = _groups(sweep, pattern, topology, notes)
        for interface in sweep.interfaces:
            assigned = _assigned(sweep, interface, groups, topology, notes)
            if sweep.one_of_each_class:
                assigned = representatives(assigned, link_class, topology if pattern == "two-pairs" else None)
            bounds.within(
                before + len(cases) + len(assigned) * bounds.choices(sweep), _counted(sweep, before)
            )
            for group, executors in assigned:
                for flows in _flows(sweep, interface, group, executors, topology, notes):
                    for case in cases_of(sweep, pattern, interface, flows, topology):
                        cases.setdefault(case.case_id, case)
    if sweep.cores == "pairs" and (left_out := core_pairs.note(topology)):
        notes.append(left_out)
    if not cases and not notes:
        notes.append("no buffer pair matches its 'pattern', 'same_device' and 'pairs' on this machine")
    return _expansion(sweep, cases, notes)


def _counted(sweep: Sweep, before: int) -> str:
    """Returns what the count of a bound is of."""
    return f"{sweep.origin.at('name')}: {'the suite up to ' if before else ''}sweep '{sweep.name}'"


def _expansion(sweep: Sweep, cases: Mapping[str, Case], notes: Sequence[str]) -> Expansion:
    named = tuple(dict.fromkeys(f"sweep '{sweep.name}': {note}" for note in notes))
    return Expansion(tuple(cases.values()), named)


def _between_ranks(
    sweep: Sweep, topology: Topology, link_class: ClassOfPath, ranks: Sequence[Rank], before: int
) -> Expansion:
    notes: list[str] = []
    cases: dict[str, Case] = {}
    for placed, options in rank_sweep.placements(sweep, topology, ranks, notes):
        ordered = sweep.replaced(options=options)
        for pattern in sweep.patterns:
            sets = list(rank_sweep.rank_flows(ordered, pattern, placed, link_class, notes))
            most = (len(cases) + len(sets) * len(sweep.interfaces)) * bounds.choices(ordered)
            bounds.within(before + most, _counted(sweep, before))
            for interface, flows in itertools.product(sweep.interfaces, sets):
                own = rank_sweep.executed(interface, flows, placed)
                found = cases_of(ordered, pattern, interface, own, topology)
                for case in map(rank_sweep.with_sizes, found):
                    cases.setdefault(case.case_id, case)
    if not cases and not notes:
        notes.append("no buffer of the ranks matches 'source' and 'destination' on this machine")
    return _expansion(sweep, cases, notes)


def _devices(sweep: Sweep, key: str, glob: str, topology: Topology) -> list[str]:
    names = topology.names()
    if not any(mark in glob for mark in "*?[") and glob not in names:
        _refuse(sweep.origin, key, glob, names)
    some = sweep.devices or names
    return [name for name in names if fnmatchcase(name, glob) and (name in some or name == glob)]


def _executing(sweep: Sweep, key: str, glob: str, topology: Topology) -> list[str]:
    """Returns the devices of a glob that execute; a device that is named is kept, to be refused."""
    named = _devices(sweep, key, glob, topology)
    return named if glob in named else [name for name in named if topology.executor(name) == name]


def _refuse(place: TomlPlace, key: str, device: str, names: Sequence[str]) -> NoReturn:
    """Raises BytewaysError for a device named without a glob that does not exist."""
    heading = place.below(key).heading
    raise BytewaysError(f"{heading}: this machine has no device '{device}'", hint=closest(device, names))


def _check_named(sweep: Sweep, topology: Topology) -> None:
    """Checks that the devices of transfers and relays exist."""
    for device in (device for transfers in sweep.transfers for transfer in transfers for device in transfer):
        if device not in topology.names():
            _refuse(sweep.origin, "transfers", device, topology.names())
    for name, values in sweep.options.items():
        for value in values if OPTIONS[name].names_gpus else ():
            for device in str(value).split(","):
                if device not in topology.names("gpu"):
                    _refuse(sweep.origin.below("options"), name, device, topology.names("gpu"))


def _buffers(
    sweep: Sweep, key: str, globs: Sequence[BufferGlob], topology: Topology, notes: list[str]
) -> list[Buffer]:
    """Returns matching buffers in the machine's order. A memory glob matches what the device kind can own."""
    found: dict[Buffer, None] = {}
    for glob in globs:
        devices = _devices(sweep, key, glob.device, topology)
        touchers = _devices(sweep, key, glob.first_touch, topology) if glob.first_touch else [None]
        exact = glob.memory in MEMORIES
        memories = [name for name in MEMORIES if fnmatchcase(name, glob.memory)]
        for device, memory, toucher in itertools.product(devices, memories, touchers):
            if exact or (kind_of(device) in OWNERS[memory] and memory not in OF_LIBRARIES):
                found[Buffer(device, memory, None if toucher == device else toucher)] = None
        if not devices or not touchers:
            missing = glob.first_touch if devices else glob.device
            notes.append(f"no device here matches '{missing}' of {key} '{glob.text}'")
    return list(found)


def _groups(sweep: Sweep, pattern: str, topology: Topology, notes: list[str]) -> list[FlowGroup]:
    """Returns the sets of flows that form one case each, before executors."""
    if one_buffer_sweep(sweep):
        pairs = [(buffer, buffer) for buffer in _buffers(sweep, "buffer", sweep.sources, topology, notes)]
        if pattern == "bidirectional":  # each device reaches the other's buffer
            both = itertools.combinations(pairs, 2)
            return [group for group in both if group[0][0].device != group[1][0].device]
    else:
        pairs = _pairs(sweep, pattern, topology, notes)
    if pattern == "unidirectional":
        return [(pair,) for pair in pairs]
    if pattern == "bidirectional":
        return [(pair, pair[::-1]) for index, pair in enumerate(pairs) if pair[::-1] not in pairs[:index]]
    if pattern == "interference":
        others = _ends(sweep, ("beside_source", "beside_destination"), topology, notes)
        return [
            (pair, other)
            for pair in pairs
            for other in others
            if sweep.beside_interfaces or _device_pair(pair) != _device_pair(other)
        ]
    if pattern == "two-pairs":
        return flow_sets.two_pairs(pairs)
    if pattern == "transfers":
        return [group for transfers in sweep.transfers for group in flow_sets.listed(transfers, pairs)]
    if pattern == "bisection":
        return flow_sets.bisections(pairs, sweep.halves, topology)
    if pattern == "ring":
        return flow_sets.rings(pairs, topology)
    if pattern == "host-and-ring":
        return flow_sets.rings_with_host(
            [pair for pair in pairs if _near(*_device_pair(pair), topology)], topology
        )
    return _hubs(sweep, pattern, pairs, topology)


def _hubs(sweep: Sweep, pattern: str, pairs: list[FlowEnds], topology: Topology) -> list[FlowGroup]:
    """Returns concurrent flows: per hub of a fan, or all if hubs are near or there is no hub."""
    if pattern == "fan-in":
        order = topology.names()
        pairs.sort(key=lambda pair: order.index(pair[1].device))
    near = sweep.nearest_alone
    groups: dict[object, list[FlowEnds]] = {}
    for source, destination in pairs:
        kinds: tuple[object, ...] = (source.memory, destination.memory)
        if pattern in ("fan-out", "fan-bidirectional") and not near:
            kinds = (source, destination.memory, destination.first_touch)
        elif pattern == "fan-in" and not near:
            kinds = (destination, source.memory, source.first_touch)
        groups.setdefault(kinds, []).append((source, destination))
    hubs = [tuple(group) for group in groups.values()]
    if sweep.gpus:
        spokes = 0 if pattern == "fan-in" else 1
        hubs = [
            some for group in hubs for some in flow_sets.of_some_gpus(group, spokes, sweep.gpus, topology)
        ]
    hubs = [group for group in hubs if len(group) > 1]
    return [flow_sets.there_and_back(group) for group in hubs] if pattern == "fan-bidirectional" else hubs


def _device_pair(ends: FlowEnds) -> tuple[str, str]:
    return ends[0].device, ends[1].device


def _ends(sweep: Sweep, keys: tuple[str, str], topology: Topology, notes: list[str]) -> list[FlowEnds]:
    """Returns every source with every destination, except a device with itself."""
    besides = keys[0] == "beside_source"
    globs = (
        (sweep.beside_sources, sweep.beside_destinations) if besides else (sweep.sources, sweep.destinations)
    )
    sources, destinations = (
        _buffers(sweep, key, glob, topology, notes) for key, glob in zip(keys, globs, strict=True)
    )
    pairs = itertools.product(sources, destinations)
    local = not besides or bool(sweep.beside_interfaces)
    return [pair for pair in pairs if local or pair[0].device != pair[1].device]


def _pairs(sweep: Sweep, pattern: str, topology: Topology, notes: list[str]) -> list[FlowEnds]:
    local = pattern in ("unidirectional", "transfers")
    same = sweep.same_device or ("also" if local else "never")
    pairs = [
        pair
        for pair in _ends(sweep, ("source", "destination"), topology, notes)
        if same == "also" or (pair[0].device == pair[1].device) == (same == "only")
    ]
    if sweep.nearest_alone:
        pairs = [pair for pair in pairs if _near(*_device_pair(pair), topology)]
    return pairs


def _near(source: str, destination: str, topology: Topology) -> bool:
    """Whether the CPU of a CPU-GPU pair is the GPU's nearest; true for all other pairs."""
    if kind_of(source) == kind_of(destination):
        return True
    cpu, gpu = (source, destination) if kind_of(source) == "cpu" else (destination, source)
    return cpu == topology.nearest_cpu(gpu)


def between_ranks(sweep: Sweep) -> bool:
    """Whether its flows connect ranks (suite_check.py rejects mixed sweeps)."""
    return bool(INTERFACES[sweep.interfaces[0]].between_ranks)


def one_buffer_sweep(sweep: Sweep) -> bool:
    """Whether its cases have a single buffer, key `buffer` (suite_check.py rejects mixed sweeps)."""
    return INTERFACES[sweep.interfaces[0]].buffers == "one"


def _executors(
    sweep: Sweep, interface: str, group: FlowGroup, topology: Topology
) -> Iterator[tuple[str, ...]]:
    """Returns for each case a tuple of executors, one per flow, according to the sweep's `executor`.

    `both` uses each end in turn and omits ends of a kind that never executes the interface (a CPU for
    `copy`); if neither can, the source is used so that the refusal is recorded.
    """
    for word in sweep.executors:
        if word in ("source", "destination"):
            side = 0 if word == "source" else 1
            yield tuple(topology.executor(ends[side].device) for ends in group)
        elif word == "both":
            for side in (0, 1):
                yield tuple(topology.executor(_capable_end(interface, ends, side)) for ends in group)
        else:
            for device in _executing(sweep, "executor", word, topology):
                yield (device,) * len(group)


def _capable_end(interface: str, ends: FlowEnds, side: int) -> str:
    for end in (ends[side], ends[1 - side]):
        if executes(interface, kind_of(end.device)):
            return end.device
    return ends[0].device


def _assigned(
    sweep: Sweep, interface: str, groups: Sequence[FlowGroup], topology: Topology, notes: list[str]
) -> list[Assigned]:
    """Returns every group with every set of executors of the sweep for this interface."""
    assigned = []
    for group in groups:
        executors = list(dict.fromkeys(_executors(sweep, interface, group, topology)))
        if one_buffer_sweep(sweep) and len(group) > 1 and not sweep.beside_interfaces:
            owners = tuple(buffer.device for buffer, _ in group)
            if not {names[0] for names in executors} >= set(owners):
                continue
            executors = [owners[::-1]]
        if not executors:
            notes.append(f"no device here matches its executor {', '.join(sweep.executors)}")
        if sweep.beside_interfaces:
            disturbers = _end(sweep, "beside_executor", sweep.beside_executor, group[-1], topology)
            executors = [
                (names[0], *others) for names in executors for others in itertools.product(disturbers)
            ]
            executors = list(dict.fromkeys(executors))
        if one_buffer_sweep(sweep):
            executors = [
                names for names in executors if _chase_wanted(sweep, names[0], group[0][0], topology)
            ]
        assigned += [(group, names) for names in executors]
    return assigned


def _end(sweep: Sweep, key: str, word: str, ends: FlowEnds, topology: Topology) -> list[str]:
    """Returns the devices that "source", "destination" or a glob stand for."""
    if word in ("source", "destination"):
        return [topology.executor(ends[0 if word == "source" else 1].device)]
    return _executing(sweep, key, word, topology)


def _chase_wanted(sweep: Sweep, executor: str, buffer: Buffer, topology: Topology) -> bool:
    """For a chase, `same_device` and `pairs = "near"` compare its executor with the owner of its buffer."""
    same = sweep.same_device or "also"
    if same != "also" and (executor == buffer.device) != (same == "only"):
        return False
    return not sweep.nearest_alone or _near(executor, buffer.device, topology)


def _flows(
    sweep: Sweep,
    interface: str,
    group: FlowGroup,
    executors: tuple[str, ...],
    topology: Topology,
    notes: list[str],
) -> Iterator[tuple[Flow, ...]]:
    """Returns the flows of a group for every second source, partner and background load of the sweep."""
    seconds: list[Buffer | None] = [None]
    if INTERFACES[interface].sources > 1 and sweep.second_sources:
        seconds = [*_buffers(sweep, "second_source", sweep.second_sources, topology, notes)]
    partners: list[str | None] = [None]
    if INTERFACES[interface].partner:
        named = [_end(sweep, "partner", word, group[0], topology) for word in sweep.partners]
        partners = [*dict.fromkeys(itertools.chain.from_iterable(named))]
    for second, partner in itertools.product(seconds, partners):
        flows = tuple(
            Flow(*_buffers_of(sweep, ends), executor, second, partner)
            for ends, executor in zip(group, executors, strict=True)
        )
        if not sweep.beside_interfaces:
            yield flows
        for other in sweep.beside_interfaces:
            for options, size in itertools.product(
                _products(sweep.beside_options), sweep.beside_sizes or (None,)
            ):
                yield (
                    flows[0],
                    Flow(*group[-1], executors[-1], interface=other, options=options, size_bytes=size),
                )


def _buffers_of(sweep: Sweep, ends: FlowEnds) -> FlowEnds:
    return (ends[0], ends[0]) if sweep.arrays == "source" else ends


def _products(axes: Mapping[str, Sequence[Value]]) -> Iterator[dict[str, Value]]:
    """Returns every combination of one value per key."""
    named = [[(key, value) for value in values] for key, values in axes.items()]
    for chosen in itertools.product(*named):
        yield dict(chosen)


def cases_of(
    sweep: Sweep, pattern: str, interface: str, flows: tuple[Flow, ...], topology: Topology
) -> Iterator[Case]:
    options = [
        {name: value for name, value in chosen.items() if OPTIONS[name].default != value}
        for chosen in _products(sweep.options)
    ]
    if sweep.cores == "pairs":
        options = [
            {**chosen, "core": core, "partner_core": other}
            for chosen in options
            for core, other in _core_pairs(flows[0], topology)
        ]
    axes = (sweep.sizes, sweep.caches, options, _products(sweep.environment))
    for size, cache, chosen, environment in itertools.product(*axes):
        if sweep.counts and not _has_count(sweep.counts, size, chosen):
            continue
        yield Case(interface, pattern, flows, size, cache, chosen, environment)


def _has_count(counts: Sequence[int], size_bytes: int, options: Mapping[str, int | str | bool]) -> bool:
    """Whether blocks of these options are one of the numbers that a sweep asks for."""
    block_bytes = int(options.get(BLOCK_BYTES.name, BLOCK_BYTES.usual))
    return size_bytes % block_bytes == 0 and size_bytes // block_bytes in counts


def _core_pairs(flow: Flow, topology: Topology) -> Iterator[tuple[int, int]]:
    """Returns the core options of a flow between CPUs; other flows have none."""
    if flow.partner is not None and {kind_of(flow.executor), kind_of(flow.partner)} == {"cpu"}:
        yield from core_pairs.core_pairs(flow.executor, flow.partner, topology)
