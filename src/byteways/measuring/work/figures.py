"""Times and rates of a measurement as record fields, within a process and between ranks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from byteways.cases.case import OF_ALL_RANKS, Case
from byteways.cases.collective_counts import bus_factor
from byteways.cases.interface_rows import BARRIER
from byteways.cases.interfaces import APPLICATIONS, INTERFACES, MULTI_PAIR, counts_as_stream, metric_of
from byteways.measuring.work.outcome_fields import Outcome
from byteways.record.times import Times

if TYPE_CHECKING:
    from byteways._core import Measurement, Summary

#: Digits kept of a sample: 1e-6 is far below any timer's resolution over any batch.
SIGNIFICANT = 7


def of_all_ranks(pattern: str, ranks: int, bytes_per_s: float) -> Outcome:
    """Returns the fields of the bandwidth, from the size of an operation over its time."""
    pairs = pattern == MULTI_PAIR
    factor = ranks // 2 if pairs else bus_factor(pattern, ranks)
    one = {"counts": "per-pair" if pairs else "algorithm", "bytes_per_s": rounded(bytes_per_s)}
    counts = "sum-of-pairs" if pairs else "bus"
    return {"bandwidth_bytes_per_s": rounded(bytes_per_s * factor), "counts": counts, "other_count": one}


def rounded(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT}g}")


def times_of(summary: Summary) -> Times:
    """Converts the statistics of a series to those of a record."""
    return Times(
        median=rounded(summary.median),
        ci95=(rounded(summary.ci95[0]), rounded(summary.ci95[1])),
        min=rounded(summary.min),
        max=rounded(summary.max),
        mean=rounded(summary.mean),
        sd=rounded(summary.sd),
        n=summary.n,
    )


def figures_of(case: Case, measurement: Measurement) -> Outcome:
    """Returns times and rates; between ranks a sample is the time of the slowest one."""
    fields: Outcome = {"time_ns": asdict(times_of(measurement.time_ns))}
    return {**fields, **(_of_ranks(case, measurement) if case.ranks else _of_flows(case, measurement))}


def _of_flows(case: Case, measurement: Measurement) -> Outcome:
    """A sample of concurrent flows is one operation of each, at the summed rate."""
    median_ns = measurement.time_ns.median
    fields: Outcome = {}
    interface = INTERFACES[case.interface]
    if case.pattern == "interference":
        disturbing = [flow.bytes_per_s for flow in measurement.flows[1:]]
        fields["load_bytes_per_s"] = rounded(sum(disturbing))
    if interface.figure != "bandwidth":
        halved = interface.counts == "round-trip" and case.options.get("pace") != "one-at-a-time"
        unidirectional: Outcome = {"half_round_trip_ns": rounded(rounded(median_ns) / 2)} if halved else {}
        fields |= {"latency_ns": rounded(median_ns), **unidirectional, "counts": interface.counts}
        return {**fields, **_window(case, measurement)} if len(case.flows) > 1 else fields
    if len(case.flows) == 1:
        bandwidth = interface.counted * case.size_bytes / median_ns * 1e9
        directions = {case.flows[0].path: rounded(bandwidth)}
        return {
            **fields,
            "bandwidth_bytes_per_s": rounded(bandwidth),
            "directions": directions,
            "counts": interface.counts,
            "other_count": _other_count(case, median_ns),
        }
    measured = 1 if case.pattern == "interference" else len(case.flows)
    bandwidth = measured * interface.counted * case.size_bytes / median_ns * 1e9
    return {
        **fields,
        "bandwidth_bytes_per_s": rounded(bandwidth),
        "counts": interface.counts
        if measured == 1 or counts_as_stream(case.interface)
        else "sum-of-directions",
        **_window(case, measurement),
    }


def _of_ranks(case: Case, measurement: Measurement) -> Outcome:
    median_ns = measurement.time_ns.median
    if case.pattern == BARRIER:
        return {"latency_ns": rounded(median_ns), "counts": "call"}
    if case.pattern in APPLICATIONS:
        return {"latency_ns": rounded(median_ns), "counts": str(case.options.get("timed", "iteration"))}
    if INTERFACES[case.interface].figure == "latency":
        times: Outcome = {"latency_ns": rounded(median_ns), "half_round_trip_ns": rounded(median_ns / 2)}
        return {**times, "counts": "round-trip"}
    rate = case.size_bytes / median_ns * 1e9
    if case.pattern in OF_ALL_RANKS:
        return of_all_ranks(case.pattern, len(case.ranks), rate)
    paths = [flow.path for flow in case.flows]
    return {
        "bandwidth_bytes_per_s": rounded(len(paths) * rate),
        "directions": dict.fromkeys(paths, rounded(rate)),
        "counts": "sum-of-directions" if len(paths) > 1 else "per-direction",
    }


def _window(case: Case, measurement: Measurement) -> Outcome:
    """Returns each flow's rate in the common window, and the quality of that window."""
    return {
        "directions": _by_path(case, [flow.bytes_per_s for flow in measurement.flows]),
        "end_to_end_bytes_per_s": _by_path(case, [flow.end_to_end_bytes_per_s for flow in measurement.flows]),
        "start_skew_ns": {
            flow.path: rounded(result.start_skew_ns)
            for flow, result in zip(case.flows, measurement.flows, strict=True)
        },
        "window_ns": rounded(measurement.window_ns),
        "end_to_end_ns": rounded(measurement.end_to_end_ns),
        "clock_alignment_ns": rounded(measurement.clock_alignment_ns),
    }


def _other_count(case: Case, median_ns: float) -> dict[str, Any] | None:
    """Returns the rate of one direction for values that count every array.

    Local arrays: the bytes that arrive at the destination. Arrays on another device: the bytes read from it
    and written to it by the executor.
    """
    if not counts_as_stream(case.interface):
        return None
    flow = case.flows[0]
    rate = case.size_bytes / median_ns * 1e9
    sources, destinations = case.arrays_of(flow)
    read = rate * sum(source.device != flow.executor for source in sources)
    written = rate * sum(destination.device != flow.executor for destination in destinations)
    if not read and not written:
        return {"counts": "per-direction", "bytes_per_s": rounded(rate)}
    return {
        "counts": "between-agents",
        "bytes_per_s": rounded(read + written),
        "read_bytes_per_s": rounded(read),
        "written_bytes_per_s": rounded(written),
    }


def _by_path(case: Case, rates: list[float]) -> dict[str, float]:
    """Returns rates by path, summed over flows on the same path; without flows that move no bytes."""
    total: dict[str, float] = defaultdict(float)
    for flow, rate in zip(case.flows, rates, strict=True):
        if metric_of(case.interface_of(flow)) == "bandwidth":
            total[flow.path] += rate
    return {path: rounded(rate) for path, rate in total.items()}
