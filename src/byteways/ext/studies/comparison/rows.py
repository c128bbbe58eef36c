"""One value of a figure, published and ours; and the rows of figures that combine several lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from byteways.ext.studies.comparison.figures import Ours
from byteways.ext.studies.comparison.value_lookup import Sheet, nearest_size
from byteways.ext.studies.published.study import Contest, Figure, Quotient


@dataclass(frozen=True)
class ValueRow:
    """One value, published and ours, in the unit of its table; None if missing."""

    line: str
    place: str
    size_bytes: int | None  # our size, otherwise the source's
    published: float | None
    approximate: bool  # the source says "about"
    system: str  # where the source measured it
    ours: float | None
    ratio: float | None  # ours over published; over the nearer end if the source gives a range
    reason: str  # why we have no value
    other_count: str  # our value with bytes counted the other way
    of_peak: float | None = None  # ours relative to the nominal peak here
    published_range: tuple[float, float] | None = (
        None  # the range if the source gives one; `published` is then its middle
    )
    derived: str = ""  # how `published` is computed from what the source prints; '': printed itself
    group: str = ""  # the row of a map of best interfaces
    machine: str = ""  # of our value, if it is of a run beside this one


def quotients(figure: Figure, sheet: Sheet) -> Iterator[ValueRow]:
    """Yields a row per speed-up and place of a figure: the time of one line over that of another."""
    for place in figure.places:
        for quotient in figure.ratios:
            yield _quotient(quotient, figure, place, sheet)


def _quotient(quotient: Quotient, figure: Figure, place: str, sheet: Sheet) -> ValueRow:
    sheet = sheet.side(sheet.study.places[place])
    ends = [
        sheet.ours(sheet.study.lines[name], sheet.study.places[place]) for name in (quotient.of, quotient.to)
    ]
    size = nearest_size(figure.size_bytes, sorted(ends[0].keys() & ends[1].keys()))
    middle = None if quotient.published is None else sum(quotient.published) / 2
    known = (
        quotient.published if quotient.published and quotient.published[0] < quotient.published[1] else None
    )
    if size is None:
        gone = quotient.to if ends[0] else quotient.of
        reason = sheet.missing(sheet.study.lines[gone], sheet.study.places[place], figure.size_bytes)
        return _row(quotient.name, place, figure.size_bytes, middle, known, None, reason)
    return _row(quotient.name, place, size, middle, known, ends[0][size].time_ns / ends[1][size].time_ns, "")


def _row(
    name: str,
    place: str,
    size: int | None,
    published: float | None,
    ends: tuple[float, float] | None,
    ours: float | None,
    reason: str,
) -> ValueRow:
    beside = min(max(ours, ends[0]), ends[1]) if ours is not None and ends else published
    ratio = ours / beside if ours is not None and beside else None
    return ValueRow(name, place, size, published, False, "", ours, ratio, reason, "", published_range=ends)


def best_by_size(figure: Figure, sheet: Sheet) -> Iterator[ValueRow]:
    """Yields for each contest and size the line with the highest bandwidth or the lowest time.

    Lines whose intervals overlap that of the best share the row. A contest without any value has one row with
    the reason.
    """
    for contest in figure.contests:
        rows = list(_best(contest, sheet))
        place = sheet.study.places[contest.place]
        reasons = [sheet.side(place).missing(sheet.study.lines[name], place, None) for name in contest.lines]
        yield from rows or [
            ValueRow("", contest.place, None, None, False, "", None, None, reasons[0], "", group=contest.name)
        ]


def _best(contest: Contest, sheet: Sheet) -> Iterator[ValueRow]:
    place = sheet.study.places[contest.place]
    sheet = sheet.side(place)
    by_size: dict[int, dict[str, Ours]] = {}
    for name in contest.lines:
        for size, value in sheet.ours(sheet.study.lines[name], place).items():
            if value.quantity(contest.unit):
                by_size.setdefault(size, {})[name] = value
    for size, rivals in sorted(by_size.items()):
        if len(rivals) < min(2, len(contest.lines)):
            continue  # one of several alone is not the best of them
        numbers = {name: value.quantity(contest.unit) or 0.0 for name, value in rivals.items()}
        # As speeds, so that the highest is the best in either unit.
        speeds = {name: number if contest.unit == "GB/s" else 1 / number for name, number in numbers.items()}
        first = max(speeds, key=lambda name: speeds[name])
        least = speeds[first] / (1 + rivals[first].half_width)
        alike = [name for name in rivals if speeds[name] * (1 + rivals[name].half_width) >= least]
        names = ", ".join(sorted(alike, key=lambda name: -speeds[name]))
        yield ValueRow(
            names, contest.place, size, None, False, "", numbers[first], None, "", "", group=contest.name
        )
