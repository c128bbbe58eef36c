"""The nominal peak of a case: what the links it crosses could carry at most, by the vendors' data rates.

A flow's bytes go from the source to its executor and from there to the destination, each leg on one fixed
route, as the hardware sends all traffic of a pair one way. Links are full duplex: each direction has its own
capacity. The peak of a sum is the maximum flow over the link graph with these routes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from byteways.plan.case import Case, Flow
from byteways.plan.interfaces import INTERFACES, counts_as_stream, figure_of
from byteways.plan.relays import paths_of
from byteways.topology.model import Agent, Topology
from byteways.topology.routes import nodes_of, route
from byteways.units import format_bandwidth

#: Below this a number of the simplex tableau, whose entries are of the order of 1, is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Peak:
    """A peak in bytes/s with the sentence that explains it; None with the reason when it is unknown."""

    bytes_per_s: float | None
    source: str
    links: tuple[str, ...]  # directed, in the order the flows cross them: `gpu0>nvswitch`


@dataclass(frozen=True)
class Arc:
    """One direction of a link, or the memory of an agent that copies within itself."""

    name: str
    capacity: float | None
    kind: str  # what equal arcs are called together
    source: str


def peak(topology: Topology, case: Case) -> Peak:
    """Nominal peak of the figure that `case` reports.

    Unidirectional, and interference, where the measured flow counts alone: the narrowest link of the way.
    Bidirectional, fan-out, fan-in and all-pairs: the largest sum of rates, one per flow on its own route,
    such that no direction of a link carries more than its data rate. That is the maximum flow of several
    commodities with fixed routes, a linear programme; it says nothing of how the flows would share. A flow
    of interface `route` counts as one for each of its paths. A copy within an agent reads and writes the
    same memory, so its peak is half the memory's. Of what counts as STREAM counts, each array takes the
    memory where it lies and the links between there and the executor, in its own direction, and the peak
    counts all arrays: that of local ones is the memory's. Links of unknown rate bound nothing, and then the
    sentence calls the figure an upper bound.

    Args:
        topology: Of the machine that runs the case.
        case: With agents of that machine.
    """
    if figure_of(case.interface) != "bandwidth":
        return Peak(None, f"{case.interface} measures latency, which has no peak bandwidth", ())
    flows = case.flows[:1] if case.pattern in ("unidirectional", "interference") else case.flows
    known = set(topology.names())
    by_array = counts_as_stream(case.interface)
    for flow in flows:
        for agent in (flow.executor, *(end.agent for end in flow.buffers)):
            if agent not in known:
                return Peak(None, f"{agent} is not part of this machine's topology", ())
    ways: list[list[Arc]] = []
    paths: list[str] = []
    for flow in flows:
        split = _relayed(topology, case, flow) if case.interface_of(flow) == "route" else []
        own = _arcs_of_arrays(topology, case, flow) if by_array else arcs_of(topology, flow)
        for way in (own, *split):
            if way is None:
                return Peak(None, f"no link joins the agents of {flow.path}", ())
            ways.append(way)
            paths.append(flow.path)
    links = tuple(dict.fromkeys(arc.name for way in ways for arc in way if ">" in arc.name))
    arcs = {arc.name: arc for way in ways for arc in way}
    for path, way in zip(paths, ways, strict=True):
        if all(arc.capacity is None for arc in way):
            return Peak(None, f"{path}: {_reasons(way)}", links)
    capacities = {name: arc.capacity for name, arc in arcs.items() if arc.capacity is not None}
    rate, full = maximum_flow([Counter(arc.name for arc in way) for way in ways], capacities)
    rate *= INTERFACES[case.interface].counted
    unknown = [arc for arc in arcs.values() if arc.capacity is None]
    bound = f"; an upper bound, as {_reasons(unknown)}" if unknown else ""
    return Peak(
        rate, _explain(case, len(flows), len(ways), rate, [arcs[name] for name in full]) + bound, links
    )


def arcs_of(topology: Topology, flow: Flow) -> list[Arc] | None:
    """What a flow's bytes cross: source to executor to destination; None when there is no way."""
    ends = list(dict.fromkeys((flow.source.agent, flow.executor)))
    stops = ends if ends[-1] == flow.destination.agent else [*ends, flow.destination.agent]
    if len(stops) == 1:
        return _within(topology.agent(stops[0]))
    arcs = []
    for a, b in pairwise(stops):
        gpu = _one_memory(topology, a, b)
        if gpu is not None:
            arcs.extend(_within(gpu))
            continue
        way = _links_between(topology, a, b)
        if way is None:
            return None
        arcs += way
    return arcs


def _arcs_of_arrays(topology: Topology, case: Case, flow: Flow) -> list[Arc] | None:
    """What the arrays of a flow cross on their own, each arc once an array; None when one has no way."""
    arcs: list[Arc] = []
    *sources, destination = case.buffers_of(flow)
    ends = [*((end.agent, flow.executor) for end in sources), (flow.executor, destination.agent)]
    for begin, end in ends:
        within = topology.agent(begin) if begin == end else _one_memory(topology, begin, end)
        if within is not None:
            arcs.append(_within(within)[0])
            continue
        way = _links_between(topology, begin, end)
        if way is None:
            return None
        arcs += way
    return arcs


def _links_between(topology: Topology, begin: str, end: str) -> list[Arc] | None:
    """The links from one agent to another; None when there is no way."""
    way = route(topology, begin, end)
    if not way:
        return None
    return [
        Arc(f"{one}>{other}", link.peak_bytes_per_s, link.link_class, link.source)
        for link, (one, other) in zip(way, pairwise(nodes_of(begin, way)), strict=True)
    ]


def _relayed(topology: Topology, case: Case, flow: Flow) -> list[list[Arc] | None]:
    """The ways of a route's relays: from the source to the relay, and from there to the destination."""
    return [
        arcs_of(topology, replace(flow, executor=relay))
        for relay in paths_of(case, flow, topology.names("gpu")).relays
    ]


def _within(agent: Agent) -> list[Arc]:
    """A copy within one memory: each byte is read once and written once."""
    reason = agent.memory_peak_source or "nobody tells it"
    memory = Arc(f"{agent.name} memory", agent.memory_peak_bytes_per_s, "memory", reason)
    return [memory, memory]


def _one_memory(topology: Topology, a: str, b: str) -> Agent | None:
    """The GPU of two agents that have one memory, whose nominal rate is known; None when they have two."""
    for gpu, cpu in ((topology.agent(a), b), (topology.agent(b), a)):
        if gpu.shares_memory_with == cpu:
            return gpu
    return None


def maximum_flow(
    uses: Sequence[Mapping[str, int]], capacities: Mapping[str, float]
) -> tuple[float, list[str]]:
    """Largest sum of flows on fixed routes: max Σ_f r_f with Σ_f uses[f][a] · r_f ≤ capacities[a] for all a.

    Dantzig's simplex method; a packing problem, so r = 0 is a first solution. Bland's rule keeps it from
    cycling (R. G. Bland, Mathematics of Operations Research 2, 1977).

    Args:
        uses: How often each flow crosses each arc; each flow crosses at least one arc that has a capacity.
        capacities: bytes/s by arc.

    Returns:
        The sum in bytes/s and the arcs that limit it (whose capacities alone prove that no sum is larger).
    """
    names = [name for name in capacities if any(name in use for use in uses)]
    scale = max(capacities[name] for name in names)
    rows = []
    for name in names:
        slack = [float(other == name) for other in names]
        rows.append([*(float(use.get(name, 0)) for use in uses), *slack, capacities[name] / scale])
    gain = [1.0] * len(uses) + [0.0] * (len(names) + 1)
    basis = [len(uses) + index for index in range(len(names))]  # variable that each row stands for
    while True:
        entering = next((column for column, value in enumerate(gain[:-1]) if value > _ROUNDING), None)
        if entering is None:
            break
        _pivot(rows, gain, basis, entering)
    limits = [name for index, name in enumerate(names) if gain[len(uses) + index] < -_ROUNDING]
    return -gain[-1] * scale, limits


def _pivot(rows: list[list[float]], gain: list[float], basis: list[int], entering: int) -> None:
    """One simplex step. The row with the least ratio leaves; of several, the one of the first variable."""
    ratios = {index: row[-1] / row[entering] for index, row in enumerate(rows) if row[entering] > _ROUNDING}
    least = min(ratios.values()) + _ROUNDING
    leaving = min((index for index, ratio in ratios.items() if ratio <= least), key=basis.__getitem__)
    factor = rows[leaving][entering]
    pivot = [value / factor for value in rows[leaving]]
    rows[leaving] = pivot
    basis[leaving] = entering
    for row in (*(row for row in rows if row is not pivot), gain):
        multiple = row[entering]
        if multiple:
            row[:] = [value - multiple * other for value, other in zip(row, pivot, strict=True)]


def _reasons(arcs: Sequence[Arc]) -> str:
    """`the rate of cpu0>cpu1 is unknown (no nominal rate …)`, equal reasons once."""
    by_reason: dict[str, list[str]] = {}
    for arc in arcs:
        names = by_reason.setdefault(arc.source, [])
        if arc.name not in names:
            names.append(arc.name)
    return "; ".join(
        f"the rate of {', '.join(names)} is unknown ({reason})" for reason, names in by_reason.items()
    )


def _explain(case: Case, flows: int, ways: int, rate: float, full: Sequence[Arc]) -> str:
    """Names what limits the peak, equal arcs together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for arc in full:
        groups.setdefault((arc.kind, arc.source), []).append(arc.name)
    limits = "; ".join(f"{', '.join(names)} ({kind}: {source})" for (kind, source), names in groups.items())
    total = format_bandwidth(rate)
    if case.pattern == "interference":
        return f"{total} for the measured flow alone, limited by {limits}"
    if counts_as_stream(case.interface):
        arrays = INTERFACES[case.interface].counted
        return f"{total} read and written, {arrays} arrays counted, limited by {limits}"
    if any(arc.kind == "memory" for arc in full):
        return f"{total} copied, each byte read and written once, limited by {limits}"
    if ways > flows:
        return f"{total} as the sum of {ways} paths, limited by {limits}"
    if flows == 1:
        return f"{total} per direction, limited by {limits}"
    return f"{total} as the sum of {flows} flows, every link full duplex, limited by {limits}"
