"""Converts a measurement between ranks to record fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from byteways.plan.case import OF_ALL_RANKS, Case
from byteways.plan.interface_rows import BARRIER
from byteways.plan.interfaces import APPLICATIONS, INTERFACES, MULTI_PAIR
from byteways.record import warnings
from byteways.record.stragglers import LATE_NS, LATE_SHARE, NO_CPU, Straggler, stragglers
from byteways.run.work.evidence import evidence_of
from byteways.run.work.outcome import EVERY_WORD, SOME_WORDS, corrupt, on_other_pages, rounded, times_of
from byteways.units import short_time

if TYPE_CHECKING:
    from byteways._core import Buffer, Measurement

#: Ratio of bus to algorithm bandwidth for n ranks, as (a, b) of a · (n - b) / n: nccl-tests,
#: doc/PERFORMANCE.md.
_BUS = {
    "allreduce": (2, 1),
    **dict.fromkeys(("allgather", "reduce-scatter", "alltoall", "gather", "scatter"), (1, 1)),
    **dict.fromkeys(("broadcast", "reduce"), (1, 0)),
}


def bus_factor(pattern: str, ranks: int) -> float:
    """Returns the ratio of bus to algorithm bandwidth as nccl-tests defines it."""
    times, without = _BUS[pattern]
    return times * (ranks - without) / ranks


def of_all_ranks(pattern: str, ranks: int, bytes_per_s: float) -> dict[str, Any]:
    """Returns the fields of the bandwidth, from the size of an operation over its time."""
    pairs = pattern == MULTI_PAIR
    factor = ranks // 2 if pairs else bus_factor(pattern, ranks)
    one = {"counts": "per-pair" if pairs else "algorithm", "bytes_per_s": rounded(bytes_per_s)}
    counts = "sum-of-pairs" if pairs else "bus"
    return {"bandwidth_bytes_per_s": rounded(bytes_per_s * factor), "counts": counts, "other_count": one}


def outcome_of_ranks(
    case: Case, measurement: Measurement, buffers: Sequence[Buffer | None], newness: Mapping[str, str]
) -> dict[str, Any]:
    """Returns rank 0's record fields, valid for all ranks: a sample is the time of the slowest rank.

    Args:
        newness: Whether `memory` and `connection` were `new` or `used` before the case's first operation.
    """
    fields: dict[str, Any] = {
        "status": "measured",
        "reason": None,
        "timed_by": measurement.timed_by,
        "gated": False,
        "batch": measurement.batch,
        "slope": measurement.slope,
        "timer_resolution_ns": rounded(measurement.timer_resolution_ns),
        "host_ns": rounded(measurement.host_ns) if measurement.host_ns else None,
        "discarded_samples": len(measurement.discarded) or None,
        "samples": {
            "device_ns": [],
            "submit_ns": [],
            "host_ns": [rounded(times.host_ns) for times in measurement.times],
            "discarded": [
                {"reason": each.reason, "time_ns": rounded(each.time_ns)} for each in measurement.discarded
            ],
            "flows": [],
        },
        "samples_ns": [rounded(sample) for sample in measurement.samples_ns],
        "engine": measurement.engine,
        "engine_evidence": measurement.engine_evidence,
        "evidence": evidence_of(measurement.evidence),
        "verified": measurement.verified,
        "verification": EVERY_WORD if measurement.verified_every_sample else SOME_WORDS,
        "distinct_bytes": {
            "source": measurement.distinct_source_bytes,
            "destination": measurement.distinct_destination_bytes,
        },
        "page_bytes": {
            side: buffer.page_bytes
            for side, buffer in zip(("source", "destination"), buffers, strict=True)
            if buffer is not None and buffer.page_bytes
        }
        or None,
        "warnings": [
            *(asdict(one) for one in on_other_pages(replace(case, flows=case.flows[:1]), [tuple(buffers)])),
            *(
                asdict(warnings.make(one.id, rounded(one.observed), rounded(one.required)))
                for one in measurement.warnings
            ),
        ],
    }
    if measurement.samples_ns:
        fields |= _figures(case, measurement)
        fields["first_use"] = {"time_ns": rounded(measurement.first_ns), **newness}
        if measurement.ranks:  # none where one thread called for all
            fields["ranks"] = _ranks(case, measurement)
            fields["warnings"] += _stragglers(fields["ranks"], measurement)
    fields |= _corruption(case, measurement)
    return {name: value for name, value in fields.items() if value is not None or name == "reason"}


def _ranks(case: Case, measurement: Measurement) -> list[dict[str, Any]]:
    """Returns when each rank began and ended, in the order of the communicator."""
    return [
        {
            "rank": rank,
            "begin_ns": rounded(skew.begin_ns),
            "end_ns": rounded(skew.end_ns),
            "begins_last": rounded(skew.begins_last),
            "no_cpu": None if skew.waiting is None else rounded(skew.waiting),
            **({"time_ns": rounded(skew.time_ns)} if skew.time_ns else {}),
        }
        for rank, skew in zip(case.members, measurement.ranks, strict=True)
    ]


def _stragglers(ranks: list[dict[str, Any]], measurement: Measurement) -> list[dict[str, Any]]:
    """Returns a warning for each rank that the others wait for."""
    batch_ns = measurement.batch * measurement.time_ns.median

    def allowed(one: Straggler) -> str:
        if one.late_ns:
            return f"below {short_time(max(LATE_NS, LATE_SHARE * batch_ns))}"
        return f"below {100 * NO_CPU:.0f} %"

    found = stragglers(ranks, batch_ns)
    return [asdict(warnings.make("straggler", str(one), allowed(one))) for one in found]


def _figures(case: Case, measurement: Measurement) -> dict[str, Any]:
    median_ns = measurement.time_ns.median
    fields: dict[str, Any] = {"time_ns": asdict(times_of(measurement.time_ns))}
    if case.pattern == BARRIER:
        return {**fields, "latency_ns": rounded(median_ns), "counts": "call"}
    if case.pattern in APPLICATIONS:
        return {**fields, "latency_ns": rounded(median_ns), "counts": case.options.get("timed", "iteration")}
    if INTERFACES[case.interface].figure == "latency":
        times = {"latency_ns": rounded(median_ns), "half_round_trip_ns": rounded(median_ns / 2)}
        return {**fields, **times, "counts": "round-trip"}
    rate = case.size_bytes / median_ns * 1e9
    if case.pattern in OF_ALL_RANKS:
        return {**fields, **of_all_ranks(case.pattern, len(case.ranks), rate)}
    paths = [flow.path for flow in case.flows]
    return {
        **fields,
        "bandwidth_bytes_per_s": rounded(len(paths) * rate),
        "directions": dict.fromkeys(paths, rounded(rate)),
        "counts": "sum-of-directions" if len(paths) > 1 else "per-direction",
    }


def _corruption(case: Case, measurement: Measurement) -> dict[str, Any]:
    """Returns status `corrupt` with place and values if any word on any rank was wrong."""
    found = measurement.flows[0].verification if measurement.flows else None
    if found is not None and not found.ok:
        return corrupt(case.path, found)
    return {} if measurement.verified else {"status": "corrupt", "reason": "the data were not verified"}


def warnings_of(obstacle: str) -> list[dict[str, Any]]:
    """Returns a warning where ranks exchange through host memory for want of peer access."""
    if not obstacle:
        return []
    return [asdict(warnings.make("no-peer-access", obstacle, "access of every pair of GPUs"))]
