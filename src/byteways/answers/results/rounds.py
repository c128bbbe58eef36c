"""The rounds of one case: results, intervals, and the like cases that share its spread.

Pure: records in, plain data out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from statistics import fmean

from byteways.answers.results.repeatability import Rounds
from byteways.cases.interfaces import metric_of
from byteways.record.record import Record

#: Warnings that a value may differ next time, with the word shown in sentences.
UNSETTLED = {
    "noisy": "noisy",
    "few-samples": "few samples",
    "few-operations": "few operations",
    "drift": "drifting",
    "bimodal": "bimodal",
    "serialised": "serialised",
    "gpu-shared": "shared GPU",
    "short-batch": "short batches",
}
#: Warnings on problems within a round: such results share no variance with undisturbed ones.
RESTLESS = {
    *UNSETTLED,
    *("correlated", "throttled", "clock-drop", "ungated", "steal", "host-busy"),
    *("clocks-disagree", "many-discarded", "short-window", "quantised"),
}
#: Boundaries of size classes, in which launch overhead, then caches and pipelines dominate.
SIZE_CLASSES = (64 * 2**10, 16 * 2**20)

#: Half-width of the normal 95 % interval in standard deviations.
NORMAL_95 = 1.96


def figure(record: Record) -> float | None:
    """Returns bytes/s, or nanoseconds per step or call if that is the metric; None if nothing was measured
    or the value is physically impossible.
    """
    if record.status != "measured" or (record.warnings and record.beyond_limit):
        return None
    if metric_of(record.interface) == "bandwidth":
        return record.bandwidth_bytes_per_s
    return record.latency_ns


def interval(record: Record) -> tuple[float, float]:
    """Returns the 95 % interval of `figure`, converted from that of the median time."""
    value = figure(record)
    if value is None:
        raise ValueError(f"case {record.case_id} has no result")
    times = record.time_ns
    if times is None or min(times.ci95) <= 0:
        return value, value
    low, high = times.ci95
    if metric_of(record.interface) != "bandwidth":
        return value * low / times.median, value * high / times.median
    return value * times.median / high, value * times.median / low


def rounds_of(case: Sequence[Record], values: Sequence[float]) -> Rounds:
    """Returns the results of a case with its keys of like cases.

    Args:
        case: Its records.
        values: The `figure` of each.
    """
    record = case[0]
    ends = tuple(end.partition(":")[0].rstrip("0123456789") for end in (record.source, record.destination))
    inside = record.source.partition(":")[0] == record.destination.partition(":")[0]
    alone = record.pattern == "unidirectional"
    quiet = not RESTLESS & {warning.id for one in case for warning in one.warnings}
    size = sum(record.size_bytes >= bound for bound in SIZE_CLASSES)
    run = (quiet, metric_of(record.interface))
    pair = (*run, alone, ends, inside)
    family = (*pair, record.category, record.executor.rstrip("0123456789"))
    return Rounds(tuple(values), fmean(map(_within, case)), ((*family, size), family, pair, run))


def _within(record: Record) -> float:
    """Returns the relative standard error of one round from its samples: that of the median time."""
    low, high = record.time_ns.ci95 if record.time_ns else (0.0, 0.0)
    return log(high / low) / 2 / NORMAL_95 if high > low > 0 else 0.0
