"""Resolve the references of a claim (ext/studies/published/reference.py) to values, and list those that the run lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from byteways.base.units import format_size, parse_size
from byteways.ext.studies.comparison.value_lookup import Sheet, nearest_size
from byteways.ext.studies.published.reference import EXTREMES, FASTEST, ends_of, parts, references, sizes_of
from byteways.ext.studies.published.study import StudyLine, StudyPlace
from byteways.record.record import Record


@dataclass(frozen=True)
class ReferencedValue:
    """A value of the run that a claim refers to, in the claim's unit."""

    line: str
    place: str
    size_bytes: int
    number: float
    published: float | None
    peak: float | None  # bytes/s, nominal, of the path on this machine
    half_width: float = 0.0  # of the repeatability interval, relative to the value
    assumed: bool = False  # whether it rests on parameters that a machine model assumes …
    guessed: bool = False  # … and on no others
    record: Record | None = field(default=None, compare=False)  # the first round

    @property
    def low(self) -> float:
        return self.number / (1 + self.half_width)

    @property
    def high(self) -> float:
        return self.number * (1 + self.half_width)

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def name(self) -> str:
        return f"{self.line}, {self.place}, {format_size(self.size_bytes)}"


class UntestableError(Exception):
    """A claim cannot be tested; the message is the reason."""


def cells(reference: str | Sequence[str], sheet: Sheet, unit: str) -> list[ReferencedValue]:
    """Returns the values that one reference, or each of several, stands for.

    Raises:
        UntestableError: The run has none of them.
    """
    if not isinstance(reference, str):
        return [cell for single in reference for cell in cells(single, sheet, unit)]
    fastest = reference.startswith(FASTEST)
    values = list(_cells(reference.removeprefix(FASTEST), sheet, unit))
    if not values:
        raise UntestableError(_why_not(reference.removeprefix(FASTEST), sheet))
    if not fastest:
        return values
    rivals: dict[tuple[str, int], list[ReferencedValue]] = {}
    for cell in values:
        rivals.setdefault((cell.place, cell.size_bytes), []).append(cell)
    best = [max(members, key=lambda cell: cell.number) for members in rivals.values() if len(members) > 1]
    if not best:  # one line alone cannot be "the fastest": an interrupted run may lack the others
        raise UntestableError("it needs two methods at one place and size, and this run has one")
    return best


def gaps(check: Mapping[str, Any], sheet: Sheet) -> tuple[int, list[str]]:
    """Returns how many of a check's values the run lacks though possible here, and the distinct reasons."""
    gone = {
        (line.name, place.name, size)
        for reference in references(check)
        for line, place, wanted in _pairs(reference, sheet)
        for size in _wanted_sizes(wanted, line, place, sheet)
        if size not in sheet.ours(line, place)
    }
    reasons = dict.fromkeys(
        sheet.missing(sheet.study.lines[line], sheet.study.places[place], size)
        for line, place, size in sorted(gone)
    )
    return len(gone), list(reasons)


def _wanted_sizes(wanted: str, line: StudyLine, place: StudyPlace, sheet: Sheet) -> set[int]:
    """Returns the sizes in bytes that a reference covers; the ends of a range count even if not requested."""
    asked = sheet.asked(line, place)
    known = asked or sheet.ours(line, place)
    return {*sizes_of(wanted, asked), *(ends_of(wanted) if known else ())}


def unlike(check: Mapping[str, Any], sheet: Sheet, values: Sequence[ReferencedValue]) -> tuple[str, ...]:
    """Describes how the values differ from the source's, one phrase each: places represented by other links,
    places without an equivalent here, and lines represented by others.
    """
    seen = dict.fromkeys(cell.place for cell in values)
    asked = {name for reference in references(check) for name in _parts(reference, sheet)[1]}
    gone: dict[str, list[str]] = {}
    for name in sheet.study.places:
        located = sheet.located[name]
        if name in asked and name not in seen and located.devices is None:
            gone.setdefault(located.why or located.reason, []).append(name)
    stands = [f"{name} is {sheet.located[name].note}" for name in seen if sheet.located[name].note]
    used: dict[str, dict[str, None]] = {}
    for cell in values:
        used.setdefault(cell.line, {})[cell.place] = None
    proxies = [note for name, places in used.items() for note in sheet.stands_for(name, places)]
    return (*stands, *(f"without {listed(names)}: {why}" for why, names in gone.items()), *proxies)


def outcomes(reference: str, sheet: Sheet) -> list[tuple[str, str]]:
    """Returns the name and the reason of every case that a reference stands for; the reason of one that was
    measured is ''.

    Raises:
        UntestableError: The run has none of them.
    """
    cases = [
        (f"{line.name}, {place.name}, {format_size(size)}", reason)
        for line, place, wanted in _pairs(reference, sheet)
        for size, reason in sheet.reasons(line, place).items()
        if size in sizes_of(wanted, [size])
    ]
    if not cases:
        raise UntestableError(_why_not(reference, sheet))
    return cases


def listed(names: Sequence[str], most: int = 4) -> str:
    """Returns the first `most` names and the number of the others."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _pairs(reference: str, sheet: Sheet) -> Iterator[tuple[StudyLine, StudyPlace, str]]:
    """Yields the matching lines and places of a reference, with its size."""
    lines, places, wanted = _parts(reference, sheet)
    for line in lines:
        for place in places:
            pair = sheet.study.lines[line], sheet.study.places[place]
            if pair[0].fits(pair[1]):
                yield (*pair, wanted)


def _cells(reference: str, sheet: Sheet, unit: str) -> Iterator[ReferencedValue]:
    for line, place, wanted in _pairs(reference, sheet):
        ours = sheet.ours(line, place)
        # "largest" is the study's largest size, which an interrupted run may not have reached.
        known = {*ours, *sheet.asked(line, place)} if wanted in EXTREMES and ours else ours
        for size in sorted(ours.keys() & sizes_of(wanted, known)):
            number = ours[size].quantity(unit)
            if number is not None:
                published = _published(sheet, line, place, size, unit)
                value = ours[size]
                yield ReferencedValue(
                    line.name,
                    place.name,
                    size,
                    number,
                    published,
                    value.peak,
                    value.half_width,
                    value.assumed,
                    value.guessed,
                    value.record,
                )


def _published(sheet: Sheet, line: StudyLine, place: StudyPlace, size: int, unit: str) -> float | None:
    """Returns the source's value there, the most precise of several prints."""
    ours = list(sheet.ours(line, place))
    prints = [known for known in sheet.published(line, place) if nearest_size(known.size_bytes, ours) == size]
    prints.sort(
        key=lambda known: (
            sheet.models.index(known.value.machine),
            bool(known.value.same_as),
            known.value.exactness == "approximate",
        )
    )
    numbers = [number for known in prints if (number := known.quantity(unit)) is not None]
    return numbers[0] if numbers else None


def _parts(reference: str, sheet: Sheet) -> tuple[list[str], list[str], str]:
    return parts(reference, sheet.study.lines, sheet.study.places)


def _why_not(reference: str, sheet: Sheet) -> str:
    """Returns why a run has no value for a reference."""
    reasons = []
    for line, place, wanted in _pairs(reference, sheet):
        exact = None if wanted in ("*", *EXTREMES) or ".." in wanted else parse_size(wanted)
        reasons.append(sheet.missing(line, place, exact))
    return "; ".join(dict.fromkeys(reasons))
