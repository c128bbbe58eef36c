"""What explains a number that is impossible, high or low: every correction that makes it fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log

from byteways.cases.case import OF_ALL_RANKS, Case, Flow
from byteways.cases.collective_counts import bus_factor
from byteways.cases.interfaces import INTERFACES, counts_as_stream
from byteways.ext.audit.imported.cases import OwnCase
from byteways.ext.audit.imported.value import ForeignValue
from byteways.ext.audit.judging.bound import in_caches
from byteways.ext.audit.judging.expected import HIGH_TOLERANCE, References
from byteways.ext.audit.judging.verdict import FROM_PEAK, Bound, Cause, Expected
from byteways.machine.capacity import links_between
from byteways.plan.limits import CACHES_EXCEEDED
from byteways.plan.peaks import peak

#: What messages and small transfers reach of the nominal peak, at least, to count as an explanation.
LEAST_OF_PEAK = 0.25
#: Times of calls that return before the work is done, in ns: from a write to a queue to a slow driver.
CALL_TIME_NS = (200.0, 20e3)
#: … while the work itself takes at least so many times as long.
CALL_AHEAD = 1.5

#: What a corrected number has to be, if not within what is expected: very near to it, as the correction
#: changes little; any usual part of the peak, as the path is not well defined; what machines
#: with any CPUs gave.
_NEAR, _WIDE, _SEEN = "near", "wide", "seen"


@dataclass(frozen=True)
class _Try:
    """A correction: the case that the number is then of, and the factor to it."""

    code: str
    own: OwnCase
    factor: float = 1.0
    by: str = (
        "expected"  # _NEAR: very near to what is expected; _WIDE: a part of the peak; _SEEN: of machines
    )


def causes_of(value: ForeignValue, own: OwnCase, counted: float, known: References) -> tuple[Cause, ...]:
    """Returns every explanation that fits a number, the nearest first, and those without a figure last.

    Args:
        value: The number as printed.
        own: The case that it is taken for.
        counted: The number in the case's count; bytes/s.
        known: What is normal on the machine.
    """
    if own.metric != "bandwidth":
        return ()
    fitting = (_fits(each, counted, known) for each in _tries(value, own, known))
    found = list(dict.fromkeys(cause for cause in fitting if cause is not None))
    found.sort(key=lambda cause: abs(log(cause.then / cause.expected)))
    return (*found, *_of_the_call(own, counted, known), *_of_a_cache(own, counted, known))


def _fits(one: _Try, counted: float, known: References) -> Cause | None:
    then = counted * one.factor
    if one.by == _SEEN:
        target = known.of_machines(one.own, other_cpus=True)
    else:
        target = _part_of_peak(one.own, known) if one.by == _WIDE else _target(one.own, known)
    if target is None or then <= 0:
        return None
    near = abs(log(then / target.value)) <= log(1 + HIGH_TOLERANCE)
    fits = near if one.by == _NEAR else target.least <= then <= target.most
    return Cause(one.code, one.factor, then, target.value, target.basis) if fits else None


def _target(own: OwnCase, known: References) -> Expected | None:
    """Returns what a corrected number has to be: what is expected, or a part of the nominal peak."""
    if found := known.expected(own):
        bound = known.bound(own)
        return replace(found, most=min(found.most, bound.value)) if isinstance(bound, Bound) else found
    return _part_of_peak(own, known)


def _part_of_peak(own: OwnCase, known: References) -> Expected | None:
    """Returns the part of the nominal peak, or of a collective's bound, that slower ways reach as well."""
    if own.case.pattern in OF_ALL_RANKS:
        bound = known.bound(own)
        rate = bound.value if isinstance(bound, Bound) else None
    else:
        rate = peak(known.topology, _plain(own.case)).bytes_per_s
    if rate is None:
        return None
    return Expected(rate, LEAST_OF_PEAK * rate, rate, FROM_PEAK, "", own.case.size_bytes)


def _plain(case: Case) -> Case:
    """Returns a case as a copy, whose peak is known; loops over arrays have their own."""
    if counts_as_stream(case.interface) or case.interface in ("copy", "kernel"):
        return case
    by_gpu = all(executor.startswith("gpu") for executor in case.executors)
    return replace(case, interface="copy" if by_gpu else "memcpy", options={})


def _tries(value: ForeignValue, own: OwnCase, known: References) -> Iterator[_Try]:
    case = own.case
    yield _Try("unit-of-1000", own, 1e-3)
    yield _Try("unit-of-1000", own, 1e3)
    yield _Try("bits-for-bytes", own, 1 / 8)
    yield _Try("bits-for-bytes", own, 8.0)
    yield _Try("binary-unit", own, 1e6 / 2**20, by=_NEAR)
    yield _Try("binary-unit", own, 1e9 / 2**30, by=_NEAR)
    if case.pattern in OF_ALL_RANKS:
        yield from _of_collectives(value, own)
        return
    flow = case.flows[0]
    local = flow.source.device == flow.destination.device
    if own.counts == "per-direction":
        yield _Try("read-and-write" if local else "sum-of-directions", own, 0.5)
    if own.counts == "sum-of-directions":
        yield _Try("one-direction", own, 2.0)
    gpus = len(known.topology.names("gpu"))
    if gpus > 2 and case.executors[0].startswith("gpu"):
        yield _Try("sum-of-devices", own, 1 / gpus)
    if not local:
        yield from _on_other_paths(value, own, flow, known)


def _of_collectives(value: ForeignValue, own: OwnCase) -> Iterator[_Try]:
    factor = bus_factor(own.case.pattern, len(own.case.members))
    if factor == 1:
        return
    if value.counts == "algorithm":
        yield _Try("bus-for-algorithm", own, 1 / factor)
    elif value.counts == "bus":
        yield _Try("algorithm-for-bus", own, factor)


def _on_other_paths(value: ForeignValue, own: OwnCase, flow: Flow, known: References) -> Iterator[_Try]:
    """Yields corrections of the path: the bytes did not go where the output says."""
    ends = (flow.source, flow.destination)
    ranks = value.operation.ranks or flow.source.rank is not None  # messages cost more than copies
    for end in dict.fromkeys(ends):
        if end.device.startswith("gpu") or not any(one.device.startswith("gpu") for one in ends):
            yield _Try(
                "one-device", _within(own, flow, end is flow.source), by=_WIDE if ranks else "expected"
            )
    hosts = [end for end in ends if end.memory == "pinned"]
    if hosts and own.case.pattern == "unidirectional":
        plain = tuple(replace(end, memory="pageable") if end in hosts else end for end in ends)
        pageable = _with_flow(own, replace(flow, source=plain[0], destination=plain[1]))
        yield _Try("pageable-memory", pageable, by=_SEEN)
    if all(end.device.startswith("gpu") for end in ends) and own.case.pattern == "unidirectional":
        yield from _through_host(own, flow, known)


def _through_host(own: OwnCase, flow: Flow, known: References) -> Iterator[_Try]:
    topology, gpu = known.topology, flow.source.device
    direct = links_between(topology, gpu, flow.destination.device) or ()
    ways = ((cpu, links_between(topology, gpu, cpu)) for cpu in topology.with_cores())
    lengths = {cpu: len(way) for cpu, way in ways if way}
    if not lengths or any(">cpu" in arc.name for arc in direct):
        return
    host = replace(flow.source, device=min(lengths, key=lengths.__getitem__), memory="pinned")
    staged = _with_flow(own, replace(flow, destination=host, executor=flow.source.device))
    yield _Try("through-host", staged, by=_WIDE)


def _within(own: OwnCase, flow: Flow, at_source: bool) -> OwnCase:
    end = flow.source if at_source else flow.destination
    there = replace(flow, source=end, destination=end, executor=end.device)
    return _with_flow(own, there)


def _with_flow(own: OwnCase, flow: Flow) -> OwnCase:
    """Returns a case with another single flow, within a process: what it gives is that of a copy."""
    plain = [replace(end, rank=None) for end in (flow.source, flow.destination)]
    flow = replace(flow, source=plain[0], destination=plain[1])
    case = replace(_plain(own.case), pattern="unidirectional", flows=(flow,), cache="cold")
    row = INTERFACES[case.interface]
    return replace(own, case=case, counts=row.counts)


def _of_the_call(own: OwnCase, counted: float, known: References) -> tuple[Cause, ...]:
    """Returns the explanation that the time is that of an asynchronous call alone."""
    size, target = own.case.size_bytes, _target(own, known)
    if not size or target is None or own.case.executors[0].startswith("cpu"):
        return ()
    taken, needed = 1e9 * size / counted, 1e9 * size / target.value
    if not CALL_TIME_NS[0] <= taken <= CALL_TIME_NS[1] or needed < CALL_AHEAD * taken:
        return ()
    return (Cause("launch-time", target.value / counted, target.value, target.value, target.basis),)


def _of_a_cache(own: OwnCase, counted: float, known: References) -> tuple[Cause, ...]:
    """Returns the explanation that the bytes never left the caches of the device."""
    target = None if own.case.pattern in OF_ALL_RANKS else _target(own, known)
    if not own.case.size_bytes or target is None or counted <= target.most:
        return ()
    executors = {flow.executor for flow in own.case.flows}
    caches = sum(known.topology.device(name).last_level_cache_bytes or 0 for name in executors)
    if own.case.size_bytes > CACHES_EXCEEDED * caches or not in_caches(known.topology, own.case):
        return ()
    return (Cause("cache", 1.0, counted, target.value, target.basis),)
