"""Checks of a claim on the course of a line over size: where it reaches a level, whether it is straight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from byteways.base.units import format_size, parse_size
from byteways.ext.studies.comparison.check_result import AcceptedRange, CheckResult
from byteways.ext.studies.comparison.references import ReferencedValue, UntestableError, cells, unlike
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.published.reference import number_of

#: Least number of sizes of a fit: a line goes through any two.
FEWEST_POINTS = 4


def reaches(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """`of` first reaches `level`, or the fraction `of_best` of its highest value, at `size`.

    The size may differ by `factor` (default 2).
    """
    factor = float(check.get("factor", 2.0))
    values = sorted(cells(check["of"], sheet, "GB/s"), key=lambda cell: cell.size_bytes)
    notes = unlike(check, sheet, values)
    best = max(values, key=lambda cell: cell.number)
    part = float(check["of_best"]) if "of_best" in check else None
    goal = number_of(check["level"]) if part is None else best.number * part
    size, surely, perhaps = _reached(values, best, goal, part)
    if size is None:
        detail = f"{goal:.4g} GB/s is never reached: {best.number:.4g} GB/s at most"
        return CheckResult(None if perhaps else False, detail, tuple(values), notes=notes)
    about, measured = parse_size(str(check["size"])), sheet.voice.measured
    if size == values[0].size_bytes and size >= about / factor:
        raise UntestableError(
            f"no size below {format_size(size)} was {measured}, where it is already reached"
        )
    if part is not None and size == values[-1].size_bytes and size <= about * factor:
        raise UntestableError(f"no size above {format_size(size)} was {measured}, where it may still rise")
    said = f"{goal:.4g} GB/s is reached from {format_size(size)}"
    if part is not None:
        said = f"{100 * part:g} % of the highest value, {said}"
    detail = f"{said}; expected {format_size(about)}, within a factor of {factor:g}"
    answers = {
        reached is not None and about / factor <= reached <= about * factor for reached in (surely, perhaps)
    }
    return CheckResult(answers.pop() if len(answers) == 1 else None, detail, tuple(values), notes=notes)


def _reached(
    values: Sequence[ReferencedValue], best: ReferencedValue, goal: float, part: float | None
) -> tuple[int | None, int | None, int | None]:
    """Returns the first size in bytes that reaches the goal: nominally, with certainty, and possibly."""
    lowest, highest = (goal, goal) if part is None else (best.low * part, best.high * part)

    def first(reaches: Callable[[ReferencedValue], bool]) -> int | None:
        return next((cell.size_bytes for cell in values if reaches(cell)), None)

    return (
        first(lambda cell: cell.number >= goal),
        first(lambda cell: cell.low >= highest or (part is not None and cell == best)),
        first(lambda cell: cell.high >= lowest),
    )


def linear(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """The time of `of` is a straight line over size, to within `at_most`, or deviates by `at_least`.

    The line `t = a + b × size` has the least sum of squared relative deviations, so that short times count as
    much as long ones. The largest deviation at one size decides; every line and place is fitted alone, and
    each must be as required.
    """
    values = cells(check["of"], sheet, "ns")
    notes = unlike(check, sheet, values)
    groups: dict[tuple[str, str], list[ReferencedValue]] = {}
    for cell in values:
        groups.setdefault((cell.line, cell.place), []).append(cell)
    short = [f"{line}, {place}" for (line, place), members in groups.items() if len(members) < FEWEST_POINTS]
    if short:
        raise UntestableError(f"a fit needs {FEWEST_POINTS} sizes, and this run has fewer of {short[0]}")
    worst = {name: _deviation(members) for name, members in groups.items()}
    least, most = float(check.get("at_least", 0.0)), float(check.get("at_most", float("inf")))
    # Times that are known to ± h move a deviation by h, and the line by as much.
    loose = {name: 2 * max(cell.half_width for cell in members) for name, members in groups.items()}
    intervals = [(max(0.0, worst[name] - loose[name]), worst[name] + loose[name]) for name in groups]
    holds = AcceptedRange(least, most, "").holds(intervals)
    said = " and ".join(
        f"{word} {100 * float(check[key]):g} %"
        for key, word in (("at_least", "at least"), ("at_most", "at most"))
        if key in check
    )
    ordered = sorted(worst.items(), key=lambda item: item[1])
    ends = [ordered[-1]] if len(ordered) == 1 else [ordered[0], ordered[-1]]
    text = " to ".join(f"{100 * value:.3g} % ({line}, {place})" for (line, place), value in ends)
    detail = f"largest deviation from a straight line of time vs message size: {text}; expected {said}"
    return CheckResult(holds, detail, tuple(values), False, notes)


def _deviation(values: Sequence[ReferencedValue]) -> float:
    """Returns the largest relative deviation of the times from their best line (weighted least squares)."""
    sizes, times = [float(cell.size_bytes) for cell in values], [cell.number for cell in values]
    weights = [1 / time**2 for time in times]
    total = sum(weights)
    middle = sum(weight * size for weight, size in zip(weights, sizes, strict=True)) / total
    mean = sum(weight * time for weight, time in zip(weights, times, strict=True)) / total
    spread = sum(weight * (size - middle) ** 2 for weight, size in zip(weights, sizes, strict=True))
    rise = (
        sum(
            weight * (size - middle) * (time - mean)
            for weight, size, time in zip(weights, sizes, times, strict=True)
        )
        / spread
    )
    return max(
        abs(mean + rise * (size - middle) - time) / time for size, time in zip(sizes, times, strict=True)
    )
