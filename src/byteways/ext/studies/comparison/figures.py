"""A measured or published value of a study, and which bytes its bandwidth counts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from byteways.cases.interface import READ_WRITE
from byteways.cases.interfaces import INTERFACES
from byteways.ext.studies.published.study import StudyLine
from byteways.ext.studies.published.values import PublishedValue
from byteways.record.record import Record
from byteways.record.times import Times

#: `count` of a line that reports the bandwidth of one direction where the interface counts every array;
#: published values may count this way, too.
ONE_DIRECTION = "per-direction"
_TOLD_ONE_DIRECTION = "one direction"
#: `count` of a line of ping-pongs whose source gives half of a round trip, as OSU's programs do.
HALF_ROUND_TRIP = "half-round-trip"
#: From this number of rounds on, the spread between rounds gives the interval (docs/concepts).
FEWEST_ROUNDS = 3
#: Least relative half-width of the interval with fewer rounds; equals the least lead that counts.
ALONE = 0.01
#: Two-sided 95 % quantiles of Student's t for 1, 2, … degrees of freedom; beyond, the last one.
STUDENT_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)


@dataclass(frozen=True)
class Ours:
    """A value of the run.

    `bandwidth` (bytes/s) and `time_ns` (one operation) follow the source's statistic; latencies have a time
    only.
    """

    bandwidth: float | None
    time_ns: float
    peak: float | None  # bytes/s, nominal, on this machine
    record: Record  # the first round
    other_count: str = ""  # the bandwidth with bytes counted the other way, and the name of that count
    half_width: float = 0.0  # of the repeatability interval, relative to the value

    @property
    def assumed(self) -> bool:
        """Whether the value is simulated and rests on parameters that the machine model assumes."""
        return "assumed" in (self.record.rests_on or ())

    @property
    def guessed(self) -> bool:
        """Whether it rests on assumed parameters only."""
        return set(self.record.rests_on or ()) == {"assumed"}

    def faster(self, factor: float) -> Ours:
        """Returns the value of something that is `factor` times as fast."""
        bandwidth = None if self.bandwidth is None else self.bandwidth * factor
        return replace(self, bandwidth=bandwidth, time_ns=self.time_ns / factor)

    def quantity(self, unit: str) -> float | None:
        """Returns the value in GB/s, as a fraction of the peak here, in ns or in µs; None if undefined."""
        if unit == "GB/s":
            return None if self.bandwidth is None else self.bandwidth / 1e9
        if unit == "of peak":
            return self.bandwidth / self.peak if self.bandwidth is not None and self.peak else None
        return self.time_ns if unit == "ns" else self.time_ns / 1e3


@dataclass(frozen=True)
class Published:
    """A published value at a line, a place and a size in bytes (None: not stated by the source).

    `part` is the fraction of its bandwidth that the line counts: 0.5 if the source counts reads and writes.
    """

    value: PublishedValue
    size_bytes: int | None
    part: float = 1.0

    def quantity(self, unit: str) -> float | None:
        """Like `Ours.quantity`; a fraction is relative to the peak that the source names."""
        size, is_rate = self.size_bytes, self.value.metric == "bandwidth"
        number = self.value.value * (self.part if is_rate else 1.0)
        if unit in ("ns", "µs"):
            if is_rate:
                return None
            return number if unit == "ns" else number / 1e3
        rate = number if is_rate else size / number * 1e9 if size else None
        if rate is None or unit == "GB/s":
            return None if rate is None else rate / 1e9
        return rate / self.value.peak_bytes_per_s if self.value.peak_bytes_per_s else None

    def range(self, unit: str) -> tuple[float, float] | None:
        """Returns the range that the source gives, in the same unit; None if it gives none."""
        middle = self.quantity(unit)
        if self.value.range is None or middle is None:
            return None
        ends = sorted(middle * end / self.value.value for end in self.value.range)
        return ends[0], ends[1]

    def derived(self, unit: str) -> str:
        """Returns how the value is derived from the printed number; '' if it is printed itself."""
        steps = [self.value.derived] if self.value.derived and unit != "of peak" else []
        if self.part != 1.0:
            steps.append(f"{self.part:.3g} of the source's count")
        if self.value.metric == "time" and unit not in ("ns", "µs"):
            steps.append("size over time")
        if unit == "of peak" and not self.value.derived:
            steps.append("over the peak that the source names")
        return ", ".join(steps)


def our_value(records: Sequence[Record], line: StudyLine, statistic: str) -> Ours:
    """Returns the value of a case over all its rounds, by the source's statistic.

    Args:
        records: Measured records of the case, at least one.
        line: Determines how bytes are counted.
        statistic: One of STATISTICS.
    """
    record = records[0]
    if line.submits:
        submits = [each.submit_ns for each in records if each.submit_ns is not None]
        half_width = repeatability(submits, 0.0)
        return Ours(None, _over_rounds(submits, statistic), None, record, half_width=half_width)
    assert record.time_ns is not None
    measured = [each.time_ns for each in records if each.time_ns]
    times = [_by_statistic(each, statistic) for each in measured]
    half_width = repeatability(times, max(map(_within_round, measured)))
    time_ns = _over_rounds(times, statistic)
    # The record's rates belong to its own median time; rescale them to `time_ns`.
    faster = record.time_ns.median / time_ns if time_ns else 1.0
    rate, peak = record.bandwidth_bytes_per_s, record.peak_bytes_per_s
    if rate is None:
        half = line.count == HALF_ROUND_TRIP
        latency = (record.half_round_trip_ns if half else record.latency_ns) or 0.0
        return Ours(None, latency / faster, None, record, half_width=half_width)
    other = ""
    if line.count == ONE_DIRECTION and rate:
        part = _one_direction(record, rate) / rate
        rate, peak = rate * part, peak and peak * part  # the record's peak counts bytes like its rate
    elif record.other_count:
        other = f"one direction {_one_direction(record, rate) * faster / 1e9:.1f} GB/s"
    return Ours(rate * faster, time_ns, peak, record, other, half_width)


def repeatability(times: Sequence[float], within: float) -> float:
    """Returns the relative half-width of the 95 % interval of a value over its rounds.

    Uses Student's t on the spread between rounds, and is never narrower than within a round. Fewer than three
    rounds do not show the spread; the result is then at least ALONE.

    Args:
        times: One per round, in any unit.
        within: Relative half-width of the widest interval of a single round.
    """
    count = len(times)
    mean = statistics.fmean(times) if times else 0.0
    if count < FEWEST_ROUNDS or not mean:
        spread = (max(times) - min(times)) / mean if mean else 0.0
        return max(within, spread, ALONE)
    quantile = STUDENT_95[min(count - 1, len(STUDENT_95)) - 1]
    return max(within, quantile * statistics.stdev(times) / math.sqrt(count) / mean)


def _within_round(times: Times) -> float:
    low, high = times.ci95
    return (high - low) / 2 / times.median if times.median else 0.0


def part_of(value: PublishedValue, line: StudyLine) -> float:
    """Returns the factor from a published value's byte count to the line's: 1 if equal or not stated.

    STREAM counts every array. "One direction" counts the bytes that arrive (local arrays) or all bytes
    read (arrays on another device). A copy has one array each way.
    """
    interface = INTERFACES.get(value.method, INTERFACES[line.interface])
    local = value.source.device == value.destination.device == value.executor
    part = (1 if local else interface.sources) / (interface.sources + 1)
    both = INTERFACES[line.interface].counts == READ_WRITE and line.count != ONE_DIRECTION
    if value.counts == READ_WRITE and not both:
        return part
    return 1 / part if value.counts == _TOLD_ONE_DIRECTION and both else 1.0


def _by_statistic(times: Times, statistic: str) -> float:
    """Returns the statistic in ns; the maximum bandwidth is the minimum time. Default: the median."""
    return {"mean": times.mean, "max": times.min}.get(statistic, times.median)


def _over_rounds(times: Sequence[float], statistic: str) -> float:
    if statistic == "max":
        return min(times)
    return statistics.fmean(times) if statistic == "mean" else statistics.median(times)


def _one_direction(record: Record, rate: float) -> float:
    """Returns the bytes/s of one direction: the busier one (remote arrays) or arriving bytes (local)."""
    other = record.other_count
    if not other:
        return rate
    if "read_bytes_per_s" in other:
        return float(max(other["read_bytes_per_s"], other["written_bytes_per_s"]))
    return float(other["bytes_per_s"])
