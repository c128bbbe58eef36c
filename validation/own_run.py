"""Values of a run of byteways itself, for the machine model that is fitted to one.

A value is one case: the median over its rounds. Taken are copies, kernels and walks of one flow or of two
opposite ones, with default options, in memory that stays where it is; what else the run has is for people.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path

from byteways.cases.case import Buffer
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from published_values import PublishedValue

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from unpack_examples import recorded

#: Recorded runs by machine.
RUNS = {"h200-x4": "h200x4"}
SOURCE = "own-run"
TIMING = "own run: batches back to back behind a gate"
_METHODS = ("copy", "kernel", "kernel-bulk", "pointer-chase")
_MEMORIES = ("device", "pinned", "pageable")


def values(machine: str) -> list[PublishedValue]:
    """What the model of this machine is fitted to beside published values; empty for most machines."""
    if machine not in RUNS:
        return []
    rounds: dict[str, list[Record]] = defaultdict(list)
    for record in RunFolder(recorded(RUNS[machine])).records:
        if record.status == "measured" and _is_taken(record):
            rounds[record.case_id].append(record)
    return [_value(machine, records) for records in rounds.values()]


def _is_taken(record: Record) -> bool:
    buffers = [Buffer.parse(flow[end]) for flow in record.flows for end in ("source", "destination")]
    return (
        record.interface in _METHODS
        and record.pattern in ("unidirectional", "bidirectional")
        and not record.options
        and not record.environment
        and all(buffer.memory in _MEMORIES for buffer in buffers)
    )


def _value(machine: str, records: list[Record]) -> PublishedValue:
    record = records[0]
    is_chase = record.interface == "pointer-chase"
    flow = record.flows[0]
    figures = [_figure(one) for one in records]
    bidirectional = record.pattern == "bidirectional"
    return PublishedValue(
        machine=machine,
        key=f"{SOURCE}/{record.interface}/{record.case_id}",
        system="the machine of the run",
        source_key=SOURCE,
        locator="measurements.jsonl",
        statistic="median",
        method=record.interface,
        options={},
        environment={},
        executor=flow["executor"],
        access=record.access,
        pattern=record.pattern,
        source=Buffer.parse(flow["source"]),
        destination=Buffer.parse(flow["destination"]),
        size_bytes=record.size_bytes,
        metric="latency" if is_chase else "bandwidth",
        value=statistics.median(figures),
        counts="" if is_chase else "sum of both directions" if bidirectional else "one direction",
        exactness="exact",
        half_unit=0.0,
        peak_bytes_per_s=None,
        timing=TIMING,
        same_as="",
        note="",
    )


def _figure(record: Record) -> float:
    """Bytes/s, or ns of one load."""
    if record.interface == "pointer-chase":
        assert record.time_ns is not None
        return record.time_ns.median
    assert record.bandwidth_bytes_per_s is not None
    return record.bandwidth_bytes_per_s
