"""Marks records whose bytes over time exceed a physical limit: `beyond-limit`.

Such a value is wrong whatever the cause, so it is void: see Record.beyond_limit. New records are checked
when they are made; records of runs older than this check when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from byteways.base.units import format_bandwidth
from byteways.cases.case import Case, Flow
from byteways.cases.memory import is_managed
from byteways.machine.model import Topology
from byteways.plan.limits import Excess, Limit, excess, excess_of_pages, limit, worst
from byteways.record import warnings
from byteways.record.record import BEYOND_LIMIT, Record
from byteways.record.warnings import Warning, WarningFields

#: Byte counts that can be compared with a limit. Other bandwidths, such as the bus bandwidth of a collective,
#: are defined by a formula instead of the bytes moved.
COMPARABLE_COUNTS = ("per-direction", "sum-of-directions", "read+write")


def judged(record: Record, case: Case, topology: Topology) -> Record:
    """Returns the record with its physical limit, and with a warning if it or one of its flows exceeds it."""
    if record.status not in ("measured", "corrupt") or record.beyond_limit:
        return record
    try:
        most, found = _limit_and_excess(record, case, topology)
    except ValueError as error:  # a relay that this machine lacks
        most, found = Limit(None, str(error)), None
    if record.bandwidth_bytes_per_s is not None:
        record = structs.replace(record, limit_bytes_per_s=most.bytes_per_s, limit_source=most.source)
    return record if found is None else structs.replace(record, warnings=[*record.warnings, _warning(found)])


def _limit_and_excess(record: Record, case: Case, topology: Topology) -> tuple[Limit, Excess | None]:
    if record.counts == "sum-of-pairs":
        return Limit(None, "it is the sum over pairs of ranks, whose routes are not added up"), None
    if record.bandwidth_bytes_per_s is not None and record.counts not in COMPARABLE_COUNTS:
        return Limit(None, "its bandwidth is computed by a formula and did not cross a link"), None
    most = limit(topology, case, record.distinct_bytes)
    found = []
    if record.bandwidth_bytes_per_s is not None and most.bytes_per_s is not None:
        found.append(Excess(case.path, record.bandwidth_bytes_per_s, most.bytes_per_s))
        found.append(Excess(case.path, _of_fastest_sample(record, case), most.bytes_per_s))
    for rates in _at_once(record):
        if one := excess(topology, case, record.distinct_bytes, rates):
            found.append(one)
    if one := _of_pages(record, case.flows[0], topology):
        found.append(one)
    return most, worst(found)


def _of_fastest_sample(record: Record, case: Case) -> float:
    """Returns the bandwidth of the fastest sample; 0 where samples are differences of two times, or are of
    several flows. An operation that is left out and takes no time makes one sample too fast, and no median.
    """
    times = record.time_ns
    if record.bandwidth_bytes_per_s is None or times is None or times.min <= 0:
        return 0
    if record.slope or len(case.flows) > 1:
        return 0
    return record.bandwidth_bytes_per_s * times.median / times.min


def _at_once(record: Record) -> list[dict[str, float]]:
    """Returns the rates by path of concurrent flows, grouped by what ran at the same time. A serialised load
    has the rate of its own time slices, which must not be added to the measured flow's.
    """
    rates = dict(record.directions or {})
    turns = any(warning.id == "serialised" for warning in record.warnings)
    if record.pattern == "interference" and turns:
        return [{path: rate} for path, rate in rates.items()]
    return [rates]


def _of_pages(record: Record, flow: Flow, topology: Topology) -> Excess | None:
    managed = any(is_managed(buffer.memory) for buffer in flow.buffers)
    if not managed or not record.migrated_bytes or record.time_ns is None or record.time_ns.median <= 0:
        return None
    return excess_of_pages(topology, flow, record.migrated_bytes / record.time_ns.median * 1e9)


def _warning(found: Excess) -> Warning:
    most = f"at most {format_bandwidth(found.limit_bytes_per_s)} over {found.resource}"
    fields: WarningFields = {
        "bytes_per_s": found.bytes_per_s,
        "limit_bytes_per_s": found.limit_bytes_per_s,
        "resource": found.resource,
    }
    return warnings.make(BEYOND_LIMIT, format_bandwidth(found.bytes_per_s), most, fields)


def judged_all(
    records: Sequence[Record], topology: Topology, capabilities: Mapping[str, Mapping[str, object]]
) -> list[Record]:
    """Checks the records of a run that is older than this check.

    Args:
        records: The records as read.
        topology: Of the run, without device caches.
        capabilities: Fields of DeviceInfo by device, as in the manifest.
    """
    topology = with_caches(topology, capabilities)
    return [
        judged(record, Case.from_json(record.definition), topology) if _has_rates(record) else record
        for record in records
    ]


def _has_rates(record: Record) -> bool:
    return record.bandwidth_bytes_per_s is not None or bool(record.directions)


def with_caches(topology: Topology, capabilities: Mapping[str, Mapping[str, object]]) -> Topology:
    """Returns the topology with the probed caches, which older runs stored separately."""
    told = {name: fields.get("last_level_cache_bytes") for name, fields in capabilities.items()}
    devices = tuple(
        replace(device, last_level_cache_bytes=size)
        if device.last_level_cache_bytes is None and isinstance(size := told.get(device.name), int)
        else device
        for device in topology.devices
    )
    return replace(topology, devices=devices)
