"""A figure of a study, ours or published, and what its bandwidth counts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from byteways.plan.interfaces import INTERFACES, READ_WRITE
from byteways.results.record import Record, Times
from byteways.studies.study import Line
from byteways.studies.values import Value

#: `count` of a line whose bandwidth is what one direction carries of a figure that counts every array; also
#: what a published value may count.
ONE_DIRECTION = "per-direction"
_TOLD_ONE_DIRECTION = "one direction"
#: Rounds from which on their spread says how far the next one may be, as elsewhere (docs/concepts).
FEWEST_ROUNDS = 3
#: What a figure of fewer rounds is taken to be known to: a lead that counts is as much.
ALONE = 0.01
#: Two-sided 95 % quantiles of Student's t for 1, 2, … degrees of freedom; beyond, the last one.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)


@dataclass(frozen=True)
class Ours:
    """A figure of the run. `bandwidth` in bytes/s and `time_ns` of one operation are by the source's
    statistic; a latency has a time alone.
    """

    bandwidth: float | None
    time_ns: float
    peak: float | None  # bytes/s, nominal, here
    record: Record  # the first round
    other_count: str = ""  # what the bandwidth is when bytes are counted in the other way, with its name
    half_width: float = 0.0  # of the repeatability interval, as a part of the figure

    @property
    def assumed(self) -> bool:
        """Whether it is simulated and rests on numbers that the machine model assumes."""
        return "assumed" in (self.record.rests_on or ())

    @property
    def guessed(self) -> bool:
        """Whether it rests on nothing else."""
        return set(self.record.rests_on or ()) == {"assumed"}

    def quantity(self, unit: str) -> float | None:
        """In GB/s, as a fraction of the peak here, in ns or in µs; None when there is no such figure."""
        if unit == "GB/s":
            return None if self.bandwidth is None else self.bandwidth / 1e9
        if unit == "of peak":
            return self.bandwidth / self.peak if self.bandwidth is not None and self.peak else None
        return self.time_ns if unit == "ns" else self.time_ns / 1e3


@dataclass(frozen=True)
class Published:
    """A published value at a line, a place and a size (None: the source states none).

    `part` of its bandwidth is what the line counts: a half where the source counts what is read and written.
    """

    value: Value
    size_bytes: int | None
    part: float = 1.0

    def quantity(self, unit: str) -> float | None:
        """As of Ours; a fraction is of the peak that the source names."""
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
        """The ends of the range that the source gives, in the same quantity, if it gives one."""
        middle = self.quantity(unit)
        if self.value.range is None or middle is None:
            return None
        ends = sorted(middle * end / self.value.value for end in self.value.range)
        return ends[0], ends[1]

    def derived(self, unit: str) -> str:
        """How the quantity comes from what the source prints; '' where it prints it."""
        told = [self.value.derived] if self.value.derived and unit != "of peak" else []
        if self.part != 1.0:
            told.append(f"{self.part:.3g} of the source's count")
        if self.value.metric == "time" and unit not in ("ns", "µs"):
            told.append("size over time")
        if unit == "of peak" and not self.value.derived:
            told.append("over the peak that the source names")
        return ", ".join(told)


def figure_of(records: Sequence[Record], line: Line, statistic: str) -> Ours:
    """The figure of a case from all its rounds, by the source's statistic.

    Args:
        records: Measured, at least one.
        line: Whose count it is in.
        statistic: One of STATISTICS.
    """
    record = records[0]
    if line.submits:
        submits = [one.submit_ns for one in records if one.submit_ns is not None]
        half_width = repeatability(submits, 0.0)
        return Ours(None, _over_rounds(submits, statistic), None, record, half_width=half_width)
    assert record.time_ns is not None
    told = [one.time_ns for one in records if one.time_ns]
    times = [_by_statistic(one, statistic) for one in told]
    half_width = repeatability(times, max(map(_within_round, told)))
    time_ns = _over_rounds(times, statistic)
    # The record's rates are those of its own median time.
    faster = record.time_ns.median / time_ns if time_ns else 1.0
    rate, peak = record.bandwidth_bytes_per_s, record.peak_bytes_per_s
    if rate is None:
        return Ours(None, (record.latency_ns or 0.0) / faster, None, record, half_width=half_width)
    other = ""
    if line.count == ONE_DIRECTION and rate:
        part = _one_direction(record, rate) / rate
        rate, peak = rate * part, peak and peak * part  # the peak is of the record's own count
    elif record.other_count:
        other = f"one direction {_one_direction(record, rate) * faster / 1e9:.1f} GB/s"
    return Ours(rate * faster, time_ns, peak, record, other, half_width)


def repeatability(times: Sequence[float], within: float) -> float:
    """Half the width of the 95 % interval of a figure over its rounds, as a part of the figure.

    By Student's t from the spread of the rounds, and never narrower than within a round. Fewer than three
    rounds do not show how far rounds are apart: then it is ALONE at least.

    Args:
        times: Of the rounds, in any unit.
        within: Half the width of the widest interval of a single round, as a part of it.
    """
    count = len(times)
    mean = statistics.fmean(times) if times else 0.0
    if count < FEWEST_ROUNDS or not mean:
        apart = (max(times) - min(times)) / mean if mean else 0.0
        return max(within, apart, ALONE)
    quantile = STUDENT[min(count - 1, len(STUDENT)) - 1]
    return max(within, quantile * statistics.stdev(times) / math.sqrt(count) / mean)


def _within_round(times: Times) -> float:
    low, high = times.ci95
    return (high - low) / 2 / times.median if times.median else 0.0


def part_of(value: Value, line: Line) -> float:
    """What a line counts of a published value's bytes: 1 where both count alike, or the source does not say.

    STREAM counts every array. In one direction goes, in own memory, what arrives; of arrays on another device
    all that are read. A copy has one array each way.
    """
    told = INTERFACES.get(value.method, INTERFACES[line.interface])
    local = value.source.device == value.destination.device == value.executor
    one = (1 if local else told.sources) / (told.sources + 1)
    both = INTERFACES[line.interface].counts == READ_WRITE and line.count != ONE_DIRECTION
    if value.counts == READ_WRITE and not both:
        return one
    return 1 / one if value.counts == _TOLD_ONE_DIRECTION and both else 1.0


def _by_statistic(times: Times, statistic: str) -> float:
    """ns; the highest bandwidth is the shortest time. A source that does not say gets the median."""
    return {"mean": times.mean, "max": times.min}.get(statistic, times.median)


def _over_rounds(times: Sequence[float], statistic: str) -> float:
    if statistic == "max":
        return min(times)
    return statistics.fmean(times) if statistic == "mean" else statistics.median(times)


def _one_direction(record: Record, rate: float) -> float:
    """bytes/s that go one way: of arrays on other devices the busier way, locally what arrives."""
    other = record.other_count
    if not other:
        return rate
    if "read_bytes_per_s" in other:
        return float(max(other["read_bytes_per_s"], other["written_bytes_per_s"]))
    return float(other["bytes_per_s"])
