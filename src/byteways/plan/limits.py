"""The physical limit of a case, and whether a measurement exceeds it on any link or memory of its path.

Bytes over time beyond a link's raw signalling rate, or a memory's pin rate, cannot have taken that path: the
value is wrong, whatever the cause. Routes and sums are those of peaks.py. Unknown limits are None with the
reason, never guessed; no vendor publishes one for copy engines.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from byteways.base.units import format_size
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interfaces import INTERFACES, metric_of
from byteways.machine.cached import cached
from byteways.machine.capacity import Arc, host_memory, maximum_flow, memory_of, package_gpu
from byteways.machine.model import Topology
from byteways.plan.peaks import measured_flows, stranger_of, ways_of

#: Timers and links have different clocks, with relative deviations of about 10⁻⁴.
CLOCK_TOLERANCE = 1.001
#: A memory limits a pass only if its bytes exceed this multiple of the caches on the path.
CACHES_EXCEEDED = 2
#: Maximum number of resources that a sentence lists; the others are counted.
_NAMED = 4


@dataclass(frozen=True)
class Limit:
    """A limit in bytes/s, in the byte count of the case's bandwidth, with the limiting resources and their
    source; None with the reason if unknown.
    """

    bytes_per_s: float | None
    source: str


@dataclass(frozen=True)
class Excess:
    """A measured rate of a resource, or of the whole case, beyond its limit."""

    resource: str
    bytes_per_s: float
    limit_bytes_per_s: float


@dataclass
class _Resources:
    """How often each path of a case's flows uses each resource, and the resources' limits."""

    ways: list[list[Counter[str]]] = field(default_factory=list)  # [flow][path of a route]
    arcs: dict[str, Arc] = field(default_factory=dict)  # with their limits for this case
    closed: str | None = None  # a flow's path without a link

    def limits(self) -> dict[str, float]:
        return {name: arc.limit for name, arc in self.arcs.items() if arc.limit is not None}


def limit(topology: Topology, case: Case, distinct_bytes: Mapping[str, int] | None = None) -> Limit:
    """Returns the physical limit of the value that `case` reports.

    Args:
        topology: The machine that runs the case.
        case: A case with devices of that machine.
        distinct_bytes: Bytes that all flows touch before an address repeats, by `source` and `destination`;
            None: unknown, so memories impose no limit.
    """
    if metric_of(case.interface) != "bandwidth":
        return Limit(None, f"{case.interface} measures time, which has no physical limit here")
    if case.hosts:
        return Limit(None, "the network between the hosts is not in this machine's topology")
    flows = measured_flows(case)
    if stranger := stranger_of(topology, flows):
        return Limit(None, f"{stranger} is not in this machine's topology")
    used = _used(topology, case, flows, distinct_bytes)
    if used.closed:
        return Limit(None, f"no link connects the devices of {used.closed}")
    limits = used.limits()
    ways = [way for paths in used.ways for way in paths]
    for way in ways:
        if not limits.keys() & way.keys():
            return Limit(None, _unknown([used.arcs[name] for name in way] or used.arcs.values()))
    rate, full = _largest(topology, tuple(frozenset(way.items()) for way in ways), frozenset(limits.items()))
    links = [arc for arc in used.arcs.values() if arc.limit is None and arc.kind != "memory"]
    unknown = f"; not counted are {_named(links)}" if links else ""
    told = _named([used.arcs[name] for name in full]) + unknown
    return Limit(rate * INTERFACES[case.interface].counted, told)


def excess(
    topology: Topology,
    case: Case,
    distinct_bytes: Mapping[str, int] | None,
    directions: Mapping[str, float],
) -> Excess | None:
    """Returns the resource with the largest excess; None if no known limit is exceeded.

    Args:
        topology: The machine that ran the case.
        case: A case with devices of that machine.
        distinct_bytes: See limit().
        directions: Measured bytes/s by path, including background flows.
    """
    flows = [flow for flow in case.flows if case.interface_of(flow) != "route"]  # limit() checks its paths
    if case.hosts or stranger_of(topology, flows):
        return None
    used = _used(topology, case, flows, distinct_bytes)
    if used.closed:
        return None
    alike = Counter(flow.path for flow in flows)
    loads: defaultdict[str, float] = defaultdict(float)
    for flow, paths in zip(flows, used.ways, strict=True):
        rate = directions.get(flow.path, 0.0) / alike[flow.path] / INTERFACES[case.interface_of(flow)].counted
        for name, times in paths[0].items():
            loads[name] += times * rate
    return worst(Excess(name, loads[name], most) for name, most in used.limits().items())


def excess_of_pages(topology: Topology, flow: Flow, bytes_per_s: float) -> Excess | None:
    """Checks the rate of pages migrated by a flow against the links between its ends.

    Args:
        topology: The machine that ran the case.
        flow: A flow with managed memory.
        bytes_per_s: Rate in whole pages.
    """
    if stranger_of(topology, [flow]) or flow.source.device == flow.destination.device == flow.executor:
        return None
    links = [
        arc for way in ways_of(topology, _as_copy(flow), flow) for arc in way or [] if arc.kind != "memory"
    ]
    known = {arc.name: arc.limit for arc in links if arc.limit is not None}
    if len(known) < len({arc.name for arc in links}) or not known:
        return None  # all pages may have used the link of unknown rate
    return worst([Excess(f"{', '.join(known)}, by pages", bytes_per_s, min(known.values()))])


def worst(found: Iterable[Excess]) -> Excess | None:
    """Returns the resource with the largest excess; None if there is none."""
    beyond = [one for one in found if one.bytes_per_s > CLOCK_TOLERANCE * one.limit_bytes_per_s]
    return max(beyond, key=lambda one: one.bytes_per_s / one.limit_bytes_per_s, default=None)


def _as_copy(flow: Flow) -> Case:
    return Case("copy", "unidirectional", (flow,), 1)


@cached
def _largest(
    topology: Topology,
    ways: tuple[frozenset[tuple[str, int]], ...],
    limits: frozenset[tuple[str, float]],
) -> tuple[float, list[str]]:
    carried = dict(sorted(limits))
    rate, full = maximum_flow([dict(way) for way in ways], carried)
    return rate, full


def _used(
    topology: Topology, case: Case, flows: Iterable[Flow], distinct_bytes: Mapping[str, int] | None
) -> _Resources:
    used = _Resources()
    touched: defaultdict[str, float] = defaultdict(float)  # distinct bytes by memory
    near: defaultdict[str, set[str]] = defaultdict(set)  # devices whose caches may hold a memory's bytes
    for flow in flows:
        shares = _shares(case, flow, distinct_bytes)
        counted: list[Counter[str]] = []
        for way in ways_of(topology, case, flow):
            if way is None:
                used.closed = used.closed or flow.path
                continue
            links = [_link_arc(topology, case, flow, arc, shares) for arc in way if arc.kind != "memory"]
            used.arcs |= {arc.name: arc for arc in links}
            counted.append(Counter(arc.name for arc in links))
        for buffer, share in shares:
            memory = _memory(topology, buffer.device)
            used.arcs.setdefault(memory.name, memory)
            if share is not None:
                touched[memory.name] += share
                near[memory.name] |= {buffer.device, flow.executor}
                counted[:1] = [counted[0] + Counter([memory.name])] if counted else []
        used.ways.append(counted)
    for name, arc in used.arcs.items():
        if arc.kind == "memory":
            used.arcs[name] = _beyond_caches(topology, arc, touched.get(name), near[name])
    return used


def _shares(
    case: Case, flow: Flow, distinct_bytes: Mapping[str, int] | None
) -> list[tuple[Buffer, float | None]]:
    """Returns each array of a flow with its distinct bytes; None: unknown."""
    buffers = case.buffers_of(flow)
    alike = all(other.interface is None and other.size_bytes is None for other in case.flows)
    if distinct_bytes is None or not alike:
        return [(buffer, None) for buffer in buffers]
    source, destination = (
        distinct_bytes.get(side, 0) / len(case.flows) for side in ("source", "destination")
    )
    read, written = case.arrays_of(flow)
    return [
        *((buffer, source / len(read)) for buffer in read),
        *((buffer, destination) for buffer in written),
    ]


def _link_arc(
    topology: Topology, case: Case, flow: Flow, arc: Arc, shares: list[tuple[Buffer, float | None]]
) -> Arc:
    """Returns the link, without a limit if the executor's loads and stores may stay in its caches."""
    executor = topology.device(flow.executor)
    by_loads = executor.kind == "cpu" or INTERFACES[case.interface_of(flow)].category == "direct access"
    if not by_loads or case.cache_of(flow) == "cold":
        return arc
    held = sum(share or 0.0 for _, share in shares)
    cache = executor.last_level_cache_bytes
    if cache and held > CACHES_EXCEEDED * cache:
        return arc
    return replace(arc, limit=None, limit_source=f"the caches of {executor.name} may absorb the traffic")


@cached
def _memory(topology: Topology, device: str) -> Arc:
    one = topology.device(device)
    if one.kind == "cpu" and one.executed_by is None and package_gpu(topology, device) is None:
        return host_memory(topology)
    return memory_of(topology, device)


def _beyond_caches(topology: Topology, memory: Arc, touched: float | None, near: Iterable[str]) -> Arc:
    """Returns the memory with its limit for bytes that caches may partly hold; no limit if they may hold all.

    In each pass, caches serve at most as many bytes as they hold, whatever their replacement policy.
    """
    if memory.limit is None:
        return memory
    if touched is None:
        return replace(memory, limit=None, limit_source="the bytes touched in it are not recorded")
    names = set(near) | {
        device.name for device in topology.devices if _memory(topology, device.name).name == memory.name
    }
    sizes = [topology.device(name).last_level_cache_bytes for name in names]
    if not all(sizes):
        return replace(memory, limit=None, limit_source="the size of the caches above it is unknown")
    caches = sum(size or 0 for size in sizes)
    if touched <= CACHES_EXCEEDED * caches:
        held = f"{format_size(round(touched))} are touched in it; caches of {format_size(caches)}"
        return replace(memory, limit=None, limit_source=f"{held} may hold them")
    source = f"{memory.limit_source}, and caches of {format_size(caches)} may hold a part"
    return replace(memory, limit=memory.limit * touched / (touched - caches), limit_source=source)


def _unknown(arcs: Iterable[Arc]) -> str:
    """`cpu0>cpu1: no raw signalling rate is known …; host memory: …`, equal reasons once."""
    return "; ".join(f"{names}: {reason}" for reason, names in _by_source(arcs).items())


def _named(arcs: Iterable[Arc]) -> str:
    """`gpu0>nvswitch (NVLink4 ×18: raw signalling rate of 478.1 GB/s)`."""
    return "; ".join(f"{names} ({source})" for source, names in _by_source(arcs).items())


def _by_source(arcs: Iterable[Arc]) -> dict[str, str]:
    grouped: dict[str, dict[str, None]] = {}
    for arc in arcs:
        grouped.setdefault(arc.limit_source, {})[arc.name] = None
    return {source: _some(list(names)) for source, names in grouped.items()}


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
