"""What no number can exceed: physical limits of cases, and of the links of a GPU for collectives."""

from __future__ import annotations

from dataclasses import dataclass, replace

from byteways.base.units import format_bandwidth
from byteways.cases.case import OF_ALL_RANKS, Case
from byteways.cases.collective_counts import bus_factor
from byteways.cases.interfaces import INTERFACES, counts_as_stream
from byteways.ext.audit.imported.cases import OwnCase
from byteways.ext.audit.judging.verdict import NOMINAL_BOUND, PHYSICAL_BOUND, Bound
from byteways.machine.capacity import memory_of
from byteways.machine.model import Topology
from byteways.machine.routes import FABRICS
from byteways.plan.limits import CACHES_EXCEEDED, limit
from byteways.plan.peaks import measured_flows, peak, stranger_of

#: Raw over data rate of links, at most: 26.5625 over 25 GB/s of NVLink 4 (machine/link_rates.py). A link
#: whose raw rate is not published is taken to be at most so much faster than its data rate.
RAW_OVER_DATA = 1.0625
#: Distinct bytes of a working set that no cache holds.
_BEYOND_CACHES = 2**44


@dataclass(frozen=True)
class NoBound:
    """Why there is no bound: a key of NOT_JUDGED_REASONS."""

    reason: str


def bound_of(topology: Topology, own: OwnCase) -> Bound | NoBound:
    """Returns what no value of a case exceeds, in its count; of a time the least.

    Loops over arrays claim to measure memory: caches do not excuse them. Other transfers may be in caches.
    """
    case = own.case
    if stranger_of(topology, case.flows):
        return NoBound("no-device")
    if case.pattern in OF_ALL_RANKS:
        return _of_collective(topology, case)
    if own.metric == "time":
        return _least_time(topology, own)
    return _of_transfer(topology, case, claims_memory=counts_as_stream(case.interface))


def _of_transfer(topology: Topology, case: Case, *, claims_memory: bool) -> Bound | NoBound:
    warm = replace(case, cache="cold" if claims_memory else "warm")
    distinct = _distinct(case, _BEYOND_CACHES if claims_memory else case.size_bytes)
    found: list[Bound] = []
    most = limit(topology, warm, distinct if case.size_bytes or claims_memory else None)
    if most.bytes_per_s is not None:
        found.append(Bound(most.bytes_per_s, PHYSICAL_BOUND, most.source))
    cached = not claims_memory and in_caches(topology, case)
    nominal = peak(topology, case)
    if nominal.bytes_per_s is not None and not cached and not (found and _local(topology, case)):
        found.append(Bound(nominal.bytes_per_s * RAW_OVER_DATA, NOMINAL_BOUND, nominal.source))
    if not found:
        return NoBound("cache" if cached else "no-reference")
    return min(found, key=lambda bound: bound.value)


def _distinct(case: Case, size_bytes: int) -> dict[str, int]:
    read, written = case.arrays_of(case.flows[0])
    flows = len(case.flows)
    return {
        "source": size_bytes * len(read) * flows,
        "destination": size_bytes * max(1, len(written)) * flows,
    }


def _local(topology: Topology, case: Case) -> bool:
    """Whether the bytes stay within one memory."""
    ends = ((flow.source.device, flow.destination.device) for flow in measured_flows(case))
    return all(memory_of(topology, one).name == memory_of(topology, other).name for one, other in ends)


def in_caches(topology: Topology, case: Case) -> bool:
    """Whether caches of the devices may hold a part of the bytes that makes a difference; also if the size is
    not known, and the path is within one memory or by loads and stores.
    """
    flows, local = measured_flows(case), _local(topology, case)
    direct = INTERFACES[case.interface].category == "direct access"
    if not (local or direct or any(flow.executor.startswith("cpu") for flow in flows)):
        return False
    names = {name for flow in flows for name in flow.devices}
    sizes = [topology.device(name).last_level_cache_bytes for name in names]
    touched = sum(_distinct(case, case.size_bytes).values())
    return not all(sizes) or not touched or touched <= CACHES_EXCEEDED * sum(size or 0 for size in sizes)


def _least_time(topology: Topology, own: OwnCase) -> Bound | NoBound:
    """Returns the least time of a round trip of messages: their bytes at the physical limit of the path."""
    case = own.case
    if own.counts != "round-trip" or case.size_bytes < 2**16:
        return NoBound("no-reference")
    most = _of_transfer(topology, _as_copy(case), claims_memory=False)
    if isinstance(most, NoBound):
        return most
    return Bound(2e9 * case.size_bytes / most.value, most.kind, most.source)


def _as_copy(case: Case) -> Case:
    by_gpu = case.flows[0].executor.startswith("gpu")
    return replace(case, interface="copy" if by_gpu else "memcpy", options={})


def _of_collective(topology: Topology, case: Case) -> Bound | NoBound:
    """Returns the bound of a bus bandwidth: what a GPU's links carry in one direction.

    Every rank of an all-gather, reduce-scatter, all-to-all, broadcast or reduce sends or receives at least
    the bytes that its bus bandwidth counts. In an all-reduce every rank sends and receives its whole vector,
    also where switches compute the sum: the algorithm bandwidth is bounded, the bus bandwidth by its factor
    more. Links to the host are not added: fabrics are used alone.
    """
    devices = list(dict.fromkeys(case.devices_of_ranks.values()))
    if len(devices) < len(case.members) or not all(name.startswith("gpu") for name in devices):
        return NoBound("no-reference")
    rates = [_leaving(topology, name) for name in devices]
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return NoBound("no-reference")
    rate, kind = min(known)
    several = bus_factor(case.pattern, len(devices)) if case.pattern == "allreduce" else 1.0
    source = f"links of a GPU: {format_bandwidth(rate)} in one direction"
    return Bound(rate * several, kind, source)


def _leaving(topology: Topology, gpu: str) -> tuple[float, str] | None:
    """Returns what the links of a GPU to other GPUs carry in one direction; None if one has no known rate."""
    own = [link for link in topology.links if gpu in (link.a, link.b)]
    links = [link for link in own if link.kind in FABRICS and _to_gpus(topology, link.a, link.b)] or own
    raw = [link.signalling_bytes_per_s for link in links]
    if links and all(raw):
        return sum(rate or 0.0 for rate in raw), PHYSICAL_BOUND
    data = [link.peak_bytes_per_s for link in links]
    if links and all(data):
        return sum(rate or 0.0 for rate in data) * RAW_OVER_DATA, NOMINAL_BOUND
    return None


def _to_gpus(topology: Topology, *ends: str) -> bool:
    return all(end.startswith("gpu") or end in topology.switches for end in ends)
