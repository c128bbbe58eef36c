"""The nominal peak of a case: the most that its links can carry, by the vendors' data rates.

A flow's bytes go from the source to its executor and from there to the destination, each leg on one fixed
route, as the hardware sends all traffic of a pair along one route. Links are full duplex: each direction has
its own capacity. The peak of a sum is the maximum flow over the link graph with these routes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from byteways.base.units import format_bandwidth
from byteways.cases.case import OF_ALL_RANKS, Case, Flow
from byteways.cases.interfaces import INTERFACES, counts_as_stream, metric_of
from byteways.cases.relays import paths_of
from byteways.machine.capacity import Arc, links_between, maximum_flow, memory_of, one_memory
from byteways.machine.model import Topology
from byteways.machine.nics import rate_to_nic


@dataclass(frozen=True)
class Peak:
    """A peak in bytes/s with its explanation; None with the reason if unknown."""

    bytes_per_s: float | None
    source: str
    links: tuple[str, ...]  # directed, in the order the flows cross them: `gpu0>nvswitch`


def algorithm_sets_peak(pattern: str) -> str:
    """Returns why an operation of all ranks has no peak."""
    return f"{pattern} is an operation of all ranks: its algorithm sets the peak"


def peak(topology: Topology, case: Case) -> Peak:
    """Returns the nominal peak of the value that `case` reports.

    Unidirectional, and interference (which counts the measured flow only): the narrowest link of the route.

    Bidirectional, fan-out, fan-in and all-pairs: the largest sum of rates, one per flow on its own route,
    such that no direction of a link exceeds its data rate. This is a multi-commodity maximum flow with fixed
    routes, a linear program; it does not say how the flows would share. A flow of interface `route` counts
    as one per path.

    A copy within a device reads and writes the same memory, so its peak is half the memory's. For STREAM
    counts, each array uses its memory and the links between there and the executor, in its own direction,
    and the peak counts all
    arrays: the memory's peak for local ones. Links of unknown rate impose no limit; the explanation then says
    "upper bound".

    Args:
        topology: The machine that runs the case.
        case: A case with devices of that machine.
    """
    if metric_of(case.interface) != "bandwidth":
        return Peak(None, f"{case.interface} measures latency, which has no peak bandwidth", ())
    if case.pattern in OF_ALL_RANKS:
        return Peak(None, algorithm_sets_peak(case.pattern), ())
    if case.hosts:
        return _between_hosts(topology, case)
    flows = measured_flows(case)
    if stranger := stranger_of(topology, flows):
        return Peak(None, f"{stranger} is not in this machine's topology", ())
    ways: list[list[Arc]] = []
    paths: list[str] = []
    for flow in flows:
        try:
            own = ways_of(topology, case, flow)
        except ValueError as error:
            return Peak(None, str(error), ())
        for way in own:
            if way is None:
                return Peak(None, f"no link connects the devices of {flow.path}", ())
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


def _between_hosts(topology: Topology, case: Case) -> Peak:
    """Returns the nominal rate of the narrowest link and NIC of both hosts, in all directions."""
    if not topology.hosts:
        return Peak(None, "the network between the hosts is not in this machine's topology", ())
    ends = (case.flows[0].source, case.flows[0].destination)
    rates = [(*rate_to_nic(topology, end.device), end.host) for end in ends]
    known = [(rate, f"{host}: {source}") for rate, source, host in rates if rate is not None]
    if len(known) < len(rates):
        return Peak(None, next(source for rate, source, _ in rates if rate is None), ())
    rate, source = min(known)
    return Peak(rate * len(case.flows), source, ())


def measured_flows(case: Case) -> tuple[Flow, ...]:
    """Returns the flows counted by the value of a case; background flows are excluded."""
    return case.flows[:1] if case.pattern in ("unidirectional", "interference") else case.flows


def stranger_of(topology: Topology, flows: Sequence[Flow]) -> str | None:
    """Returns a device of the flows that the machine lacks; None if it has all."""
    known = set(topology.names())
    taking_part = (name for flow in flows for name in (flow.executor, *(end.device for end in flow.buffers)))
    return next((name for name in taking_part if name not in known), None)


def ways_of(topology: Topology, case: Case, flow: Flow) -> list[list[Arc] | None]:
    """Returns the arcs that a flow crosses: one route, or one for each path of `route`; None without a link.

    With STREAM counts, the single route contains each arc once per array.

    Raises:
        ValueError: The machine lacks relays of a `route`; the message says which.
    """
    interface = case.interface_of(flow)
    if counts_as_stream(interface):
        return [_arcs_of_arrays(topology, case, flow)]
    return [arcs_of(topology, flow), *(_relayed(topology, case, flow) if interface == "route" else [])]


def arcs_of(topology: Topology, flow: Flow) -> list[Arc] | None:
    """Returns the arcs of a flow: source to executor to destination; None without a route."""
    ends = list(dict.fromkeys((flow.source.device, flow.executor)))
    stops = ends if ends[-1] == flow.destination.device else [*ends, flow.destination.device]
    if len(stops) == 1:
        return _within(topology, stops[0])
    arcs: list[Arc] = []
    for a, b in pairwise(stops):
        gpu = one_memory(topology, a, b)
        if gpu is not None:
            arcs += _within(topology, gpu.name)
            continue
        way = links_between(topology, a, b)
        if way is None:
            return None
        arcs += way
    return arcs


def _arcs_of_arrays(topology: Topology, case: Case, flow: Flow) -> list[Arc] | None:
    """Returns the arcs of a flow's arrays, each arc once per array; None if one has no route."""
    arcs: list[Arc] = []
    read, written = case.arrays_of(flow)
    ends = [*((end.device, flow.executor) for end in read), *((flow.executor, end.device) for end in written)]
    for begin, end in ends:
        if begin == end or one_memory(topology, begin, end) is not None:
            arcs.append(memory_of(topology, begin))
            continue
        way = links_between(topology, begin, end)
        if way is None:
            return None
        arcs += way
    return arcs


def _relayed(topology: Topology, case: Case, flow: Flow) -> list[list[Arc] | None]:
    """Returns the routes over each relay: source to relay, relay to destination."""
    return [
        arcs_of(topology, replace(flow, executor=relay))
        for relay in paths_of(case, flow, topology.names("gpu")).relays
    ]


def _within(topology: Topology, device: str) -> list[Arc]:
    """Returns the arcs of a copy within one memory: each byte is read once and written once."""
    memory = memory_of(topology, device)
    return [memory, memory]


def _reasons(arcs: Sequence[Arc]) -> str:
    """Formats `the rate of cpu0>cpu1 is unknown (no nominal rate …)`; equal reasons once."""
    by_reason: dict[str, list[str]] = {}
    for arc in arcs:
        names = by_reason.setdefault(arc.source, [])
        if arc.name not in names:
            names.append(arc.name)
    return "; ".join(
        f"the rate of {', '.join(names)} is unknown ({reason})" for reason, names in by_reason.items()
    )


def _explain(case: Case, flows: int, ways: int, rate: float, full: Sequence[Arc]) -> str:
    """Names the limit of the peak; equal arcs are merged."""
    groups: dict[tuple[str, str], list[str]] = {}
    for arc in full:
        groups.setdefault((arc.kind, arc.source), []).append(arc.name)
    limits = "; ".join(f"{', '.join(names)} ({kind}: {source})" for (kind, source), names in groups.items())
    total = format_bandwidth(rate)
    if case.pattern == "interference":
        return f"{total} for the measured flow alone, limited by {limits}"
    if counts_as_stream(case.interface):
        read, written = case.arrays_of(case.flows[0])
        if not read or not written:
            return f"{total} {'read' if read else 'written'}, limited by {limits}"
        arrays = INTERFACES[case.interface].counted
        return f"{total} read and written, {arrays} arrays counted, limited by {limits}"
    if any(arc.kind == "memory" for arc in full):
        return f"{total} copied, each byte read and written once, limited by {limits}"
    if ways > flows:
        return f"{total} as the sum of {ways} paths, limited by {limits}"
    if flows == 1:
        return f"{total} per direction, limited by {limits}"
    return f"{total} as the sum of {flows} flows, every link full duplex, limited by {limits}"
