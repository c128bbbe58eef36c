"""Results at a size between two measured ones: interpolated in time, each method and path by itself.

The time of a transfer grows linearly with its size as long as neither its method nor a cache changes, so that
the time at a size between two measured ones is the linear interpolation of theirs over bytes. Rounds are
interpolated one by one: a comparison of interpolated results is paired and widened as that of measured ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from msgspec import structs

from byteways.answers.best.decisions import Decision, Decisions, Place
from byteways.answers.results.repeatability import Spread
from byteways.answers.results.rounds import figure
from byteways.answers.results.summary import Result, group_by
from byteways.record.record import Record
from byteways.record.times import Times

#: Neighbours that differ by a greater factor have other methods and caches between them. Suites step by
#: powers of two up to this one.
MOST_APART = 64


def interpolated(found: Decisions, place: Place, size_bytes: int) -> Decision | None:
    """Returns the decision at a size between measured ones; None if no method has results on both sides."""
    sizes = found.sizes(place)
    below = [size for size in sizes if size_bytes / MOST_APART < size < size_bytes]
    above = [size for size in sizes if size_bytes < size < size_bytes * MOST_APART]
    sides = [[one for size in side if (one := found.at(place, size))] for side in (below, above)]
    low, high = ([cell for one in side for cell in one.cells] for side in sides)
    cells = tuple(between_cells(low, high, size_bytes))
    low, high = ([cell for one in side for cell in one.together] for side in sides)
    together = tuple(between_cells(low, high, size_bytes))
    return Decision(place, size_bytes, cells, together=together) if cells else None


def neighbours(decision: Decision) -> tuple[int, int]:
    """Returns the measured sizes in bytes between which the best of an interpolated decision lies."""
    parts = decision.ranking.group.cells if decision.ranking else decision.cells
    sizes = [part.size_bytes for cell in parts for part in cell.between]
    return min(sizes), max(sizes)


def between_cells(below: Sequence[Result], above: Sequence[Result], size_bytes: int) -> Iterator[Result]:
    """Yields the result of each method and path that was measured on both sides.

    Args:
        below: Results of a smaller size.
        above: Results of a larger size.
        size_bytes: A size between them.
    """
    upper = group_by(above, _what)
    for what, cells in group_by(below, _what).items():
        low = max(cells, key=_size)
        if what in upper:
            high = min(upper[what], key=_size)
            rounds = {record.round for record in low.records} & {record.round for record in high.records}
            able = rounds and all(figure(record) for one in (low, high) for record in one.records)
            if able and _size(high) <= MOST_APART * _size(low):
                yield _one(low, high, size_bytes)


def _what(cell: Result) -> tuple[object, ...]:
    return cell.record.path, cell.record.executor, cell.variant


def _size(cell: Result) -> int:
    return cell.size_bytes


def _one(low: Result, high: Result, size_bytes: int) -> Result:
    """Returns the result between two of one method and path."""
    share = (size_bytes - _size(low)) / (_size(high) - _size(low))
    others = {record.round: record for record in high.records}
    both = [(one, others[one.round]) for one in low.records if one.round in others]
    records = tuple(_record(one, other, share, size_bytes) for one, other in both)
    value = median(figure(record) or 0.0 for record in records)
    scale = value / _rate(low, high, share, size_bytes, "value")
    return replace(
        low,
        record=records[0],
        records=records,
        value=value,
        low=scale * _rate(low, high, share, size_bytes, "low"),
        high=scale * _rate(low, high, share, size_bytes, "high"),
        spread=_spread(low, high, share),
        by_round={record.round: figure(record) or 0.0 for record in records},
        between=(low, high),
    )


def _spread(low: Result, high: Result, share: float) -> Spread:
    """Returns the spread of a time between two: each end counts by its part of that time.

    Their deviations are added, as those of rounds that shift both. Degrees of freedom: Welch and
    Satterthwaite.
    """
    times = (1 - share) * _size(low) / low.value, share * _size(high) / high.value
    parts = [
        (time / sum(times) * end.spread.deviation, end.spread)
        for time, end in zip(times, (low, high), strict=True)
    ]
    squares = [deviation**2 for deviation, _ in parts]
    freedom = sum(squares) ** 2 / sum(
        square**2 / spread.freedom for square, (_, spread) in zip(squares, parts, strict=True)
    )
    return replace(
        low.spread,
        deviation=sum(deviation for deviation, _ in parts),
        freedom=freedom,
        shared=low.spread.shared and high.spread.shared,
        two_states=low.spread.two_states or high.spread.two_states,
    )


def _rate(low: Result, high: Result, share: float, size_bytes: int, bound: str) -> float:
    """Returns the rate in bytes/s by the time between those of both ends."""
    rates = getattr(low, bound), getattr(high, bound)
    return _interpolated_rate(_size(low), _size(high), *rates, share, size_bytes)


def _interpolated_rate(
    low_bytes: int, high_bytes: int, low_rate: float, high_rate: float, share: float, size_bytes: int
) -> float:
    time_s = (1 - share) * low_bytes / low_rate + share * high_bytes / high_rate
    return size_bytes / time_s


def _record(low: Record, high: Record, share: float, size_bytes: int) -> Record:
    """Returns a round between those of both ends, with the warnings of both."""
    rate = _interpolated_rate(
        *(low.size_bytes, high.size_bytes, figure(low) or 0.0, figure(high) or 0.0), share, size_bytes
    )
    warnings = {warning.id: warning for warning in (*high.warnings, *low.warnings)}
    return structs.replace(
        low,
        size_bytes=size_bytes,
        bandwidth_bytes_per_s=rate,
        time_ns=_times(low.time_ns, high.time_ns, share),
        submit_ns=_mean(low.submit_ns, high.submit_ns, share),
        fraction_of_peak=None,
        launch=low.launch if low.launch == high.launch else None,
        library_choice=low.library_choice if low.library_choice == high.library_choice else None,
        rests_on=[*dict.fromkeys([*(low.rests_on or ()), *(high.rests_on or ())])] or None,
        warnings=[*warnings.values()],
    )


def _mean(low: float | None, high: float | None, share: float) -> float | None:
    return None if low is None or high is None else (1 - share) * low + share * high


def _times(low: Times | None, high: Times | None, share: float) -> Times | None:
    """Interpolates the median time and its interval; the other figures are those of no sample."""
    if low is None or high is None:
        return None

    def mean(one: float, other: float) -> float:
        return (1 - share) * one + share * other

    ci95 = [mean(one, other) for one, other in zip(low.ci95, high.ci95, strict=True)]
    return replace(low, median=mean(low.median, high.median), ci95=(ci95[0], ci95[1]))
