"""Mean times of operations in a run: what a program's sum over many operations is compared with.

Tables of a run have medians, over samples and over rounds. The time that a program takes is a sum, so that
the mean counts: launches of which one in three is slow cost a program a third of the difference, and the
median nothing. Over rounds it is the geometric mean, as of the turns of a trial.
"""

from __future__ import annotations

from math import exp, log, sqrt
from statistics import fmean, median, stdev

from byteways.answers.claims.phrases import times_of
from byteways.answers.results.repeatability import CONFIDENCE, student
from byteways.answers.results.summary import Part, Result, ResultGroup


def mean_time_of(group: ResultGroup) -> Part | None:
    """Returns the mean time of one operation in ns with its 95 % interval; of several paths the median.

    None: the run has no times.
    """
    times = [time for cell in group.cells if (time := _mean_time(cell)) is not None] or times_of(group)
    if not times:
        return None
    low, value, high = (
        median(ends) for ends in zip(*((one.low, one.value, one.high) for one in times), strict=True)
    )
    return Part(value, low, high)


def _mean_time(cell: Result) -> Part | None:
    """Returns the geometric mean over rounds; None: the result lies between others, or lacks times."""
    means = [log(one.time_ns.mean) for one in cell.records if one.time_ns and one.time_ns.mean > 0]
    if cell.between or cell.sum_of or not means:
        return None
    deviation = max(cell.spread.deviation, stdev(means) if len(means) > 1 else 0.0)
    half = student(1 - CONFIDENCE, cell.spread.freedom) * deviation / sqrt(len(means))
    middle = fmean(means)
    return Part(exp(middle), exp(middle - half), exp(middle + half))
