"""Evaluate the checks of a claim: each tests a condition on values and reports the values that decide it.

Every value has an interval. A check holds (or fails) only if it does so for all numbers within the intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from byteways.ext.studies.comparison.check_result import AcceptedRange, CheckResult
from byteways.ext.studies.comparison.curve_checks import linear, reaches
from byteways.ext.studies.comparison.node_checks import node, refused
from byteways.ext.studies.comparison.references import ReferencedValue, UntestableError, cells, unlike
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.published.reference import FASTEST, number_of, unit_of
from byteways.plan.legality import kind_of


def _unit(check: Mapping[str, Any]) -> str:
    """Returns the check's `unit`, or the unit of the number it names."""
    if "unit" in check:
        return str(check["unit"])
    for key in ("about", "at_least", "at_most", "level"):
        if unit := unit_of(check.get(key)):
            return unit
    return "GB/s"


def wanted(check: Mapping[str, Any]) -> AcceptedRange:
    """Builds the range from `about` and `within` (relative; default 10 %), or `at_least` and `at_most`."""
    of_peak = check.get("unit") == "of peak"

    def said(value: object) -> str:
        return f"{100 * value:g} %" if of_peak and isinstance(value, float | int) else str(value)

    if "about" in check:
        about, within = number_of(check["about"]), float(check.get("within", 0.1))
        words = f"{said(check['about'])} ± {100 * within:g} %"
        return AcceptedRange(about * (1 - within), about * (1 + within), words)
    least = number_of(check["at_least"]) if "at_least" in check else float("-inf")
    most = number_of(check["at_most"]) if "at_most" in check else float("inf")
    words = " and ".join(
        f"{name.replace('_', ' ')} {said(check[name])}" for name in ("at_least", "at_most") if name in check
    )
    return AcceptedRange(least, most, words)


def _text(number: float, unit: str) -> str:
    if unit == "of peak":
        return f"{100 * number:.1f} %"
    digits = 0 if abs(number) >= 1000 else 1 if abs(number) >= 100 else 2
    return f"{number:.{digits}f} {unit}"


def _summary(named: Sequence[tuple[str, float]], text: Callable[[float], str]) -> str:
    """Returns one value, or the lowest and highest of several, with their names."""
    if len(named) == 1:
        return f"{text(named[0][1])} ({named[0][0]})"
    ordered = sorted(named, key=lambda entry: entry[1])
    ends = (ordered[0], ordered[-1])
    return f"{len(named)} values from " + " to ".join(f"{text(number)} ({name})" for name, number in ends)


def _value(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """Every value of `of` lies in the accepted range or, with `published = true`, near the published one."""
    unit = _unit(check)
    values = cells(check["of"], sheet, unit)
    notes = unlike(check, sheet, values)
    if check.get("published"):
        return _as_published(check, values, unit, notes)
    aim = wanted(check)
    if unit == "GB/s" and aim.least == float("-inf"):
        peaks = [cell.peak / 1e9 for cell in values if cell.peak]
        if len(peaks) == len(values) and max(peaks) <= aim.most:
            raise UntestableError(f"the links here allow no more: {_text(max(peaks), unit)}")
    said = _summary([(cell.name, cell.number) for cell in values], lambda number: _text(number, unit))
    holds = aim.holds(cell.interval for cell in values)
    return CheckResult(holds, f"{said}; expected {aim.words}", tuple(values), holds is False, notes)


def _as_published(
    check: Mapping[str, Any], values: Sequence[ReferencedValue], unit: str, notes: tuple[str, ...]
) -> CheckResult:
    """Values within a relative tolerance of the published ones."""
    known = [(cell, cell.published) for cell in values if cell.published]
    if not known:
        raise UntestableError("the source has no value for this machine's configuration")
    within = float(check.get("within", 0.1))
    ratios = [(cell, cell.number / published) for cell, published in known]
    if len(known) == 1:
        (cell, published) = known[0]
        said = f"{_text(cell.number, unit)}, {ratios[0][1]:.3g} × the published {_text(published, unit)}"
        said += f" ({cell.name})"
    else:
        named = [(cell.name, ratio) for cell, ratio in ratios]
        said = _summary(named, lambda number: f"{number:.3g} × published")
    intervals = [(cell.low / published, cell.high / published) for cell, published in known]
    holds = AcceptedRange(1 - within, 1 + within, "").holds(intervals)
    decided = tuple(cell for cell, _ in known)
    return CheckResult(holds, f"{said}; expected ± {100 * within:g} %", decided, holds is False, notes)


def _pairs(
    check: Mapping[str, Any], sheet: Sheet, unit: str
) -> list[tuple[ReferencedValue, ReferencedValue]]:
    """Pairs values of `of` with values of `to`: one each, or by equal place and size, or by equal size."""
    left, right = cells(check["of"], sheet, unit), cells(check["to"], sheet, unit)
    if len(left) == len(right) == 1:
        return [(left[0], right[0])]
    by_both = {(cell.place, cell.size_bytes): cell for cell in right}
    pairs = [
        (cell, by_both[cell.place, cell.size_bytes])
        for cell in left
        if (cell.place, cell.size_bytes) in by_both
    ]
    if not pairs and len({cell.place for cell in right}) == 1:
        by_size = {cell.size_bytes: cell for cell in right}
        pairs = [(cell, by_size[cell.size_bytes]) for cell in left if cell.size_bytes in by_size]
    if not pairs:
        raise UntestableError("this run has no two comparable values")
    return pairs


def _ratio(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """`of` over `to` lies in the accepted range: for every pair, or the extreme one (`most`, `least`)."""
    unit = _unit({key: check[key] for key in check if key == "unit"})
    pairs = [pair for pair in _pairs(check, sheet, unit) if pair[1].number]
    if not pairs:
        raise UntestableError("the value to compare with is zero here")
    aim = wanted(check)
    over = check.get("over", "all")
    intervals = [_quotient(value, other) for value, other in pairs]
    if over in ("most", "least"):
        pick = max if over == "most" else min
        pairs = [pick(pairs, key=lambda pair: pair[0].number / pair[1].number)]
        intervals = [(pick(low for low, _ in intervals), pick(high for _, high in intervals))]
    ratios = [
        (f"{value.name} to {other.line}, {other.place}", value.number / other.number)
        for value, other in pairs
    ]
    said = _summary(ratios, lambda number: f"{number:.3g}×")
    lead = {"most": "at most ", "least": "at least "}.get(over, "")
    holds = aim.holds(intervals)
    decided = tuple(cell for pair in pairs for cell in pair)
    fastest = any(str(check[name]).find(FASTEST) >= 0 for name in ("of", "to"))
    final = holds is False and over == "all" and not fastest
    detail = f"{lead}{said}; expected {aim.words}"
    return CheckResult(holds, detail, decided, final, unlike(check, sheet, decided))


def _gap(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """The difference between the two values of `of` over that between the two of `to` lies in the range."""
    unit = _unit({key: check[key] for key in check if key == "unit"})
    four = [cells(reference, sheet, unit) for name in ("of", "to") for reference in check[name]]
    if any(len(values) != 1 for values in four):
        raise UntestableError("this run has several values of one side of a difference")
    (value, other), (whole, base) = ((four[0][0], four[1][0]), (four[2][0], four[3][0]))
    decided = (value, other, whole, base)
    notes, aim = unlike(check, sheet, decided), wanted(check)
    gap, total = value.number - other.number, whole.number - base.number
    said = f"{_text(gap, unit)} of {_text(total, unit)} ({value.name}, less {other.name}, in {whole.name})"
    least, most = whole.low - base.high, whole.high - base.low
    if most <= 0:  # there is no difference to explain
        return CheckResult(
            False, f"{said}; expected {aim.words} of a positive difference", decided, True, notes
        )
    if least <= 0:
        return CheckResult(None, f"{said}; expected {aim.words}", decided, notes=notes)
    ends = [
        gap_end / total_end
        for gap_end in (value.low - other.high, value.high - other.low)
        for total_end in (least, most)
    ]
    holds = aim.holds([(min(ends), max(ends))])
    detail = f"{said}, {100 * gap / total:.3g} %; expected {aim.words}"
    return CheckResult(holds, detail, decided, holds is False, notes)


def _quotient(value: ReferencedValue, other: ReferencedValue) -> tuple[float, float]:
    """Returns the interval of the first over the second; exactly 1 if both are the same value."""
    return (1.0, 1.0) if value == other else (value.low / other.high, value.high / other.low)


def _spread(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """Values that differ only in `over` (`place`, `line` or `size`) lie within `at_most` of each other.

    With `across` (`cpu` or `gpu`), the places must include two such devices; else the check is untestable.
    """
    over = check["over"]
    values = cells(check["of"], sheet, _unit({key: check[key] for key in check if key == "unit"}))
    compared = _groups(values, over, sheet)
    if not compared:
        why = "; ".join(unlike(check, sheet, values))
        raise UntestableError(f"it needs two {over}s, and this run has one{': ' + why if why else ''}")
    across = check.get("across")
    ends = {cell.place: sheet.located[cell.place].devices or () for cell in values}
    if across and all(len(_devices(group, ends, across)) < 2 for group in compared):
        what = {"cpu": "NUMA domains", "gpu": "GPUs"}[across]
        raise UntestableError(f"it needs two {what}, and this run's values come from one")
    worst, least, most = 0.0, values[0], values[0]
    for group in compared:
        low, high = (pick(group, key=lambda cell: cell.number) for pick in (min, max))
        if high.number / low.number - 1 >= worst:
            worst, least, most = high.number / low.number - 1, low, high
    decided = tuple(cell for group in compared for cell in group)
    said = f"{len(decided)} values differ by at most {100 * worst:.1f} % ({most.name} over {least.name})"
    limit = float(check["at_most"])
    holds = AcceptedRange(float("-inf"), limit, "").holds(map(_difference, compared))
    detail = f"{said}; expected at most {100 * limit:g} %"
    return CheckResult(holds, detail, decided, holds is False, unlike(check, sheet, values))


def _difference(group: Sequence[ReferencedValue]) -> tuple[float, float]:
    """Returns the interval of the relative difference between the highest and the lowest value."""
    least = max(cell.low for cell in group) / min(cell.high for cell in group)
    most = max(cell.high for cell in group) / min(cell.low for cell in group)
    return max(0.0, least - 1), most - 1


def _groups(values: Iterable[ReferencedValue], over: str, sheet: Sheet) -> list[list[ReferencedValue]]:
    """Groups values that differ only in `over`; only groups of two or more."""
    groups: dict[tuple[str | int, ...], list[ReferencedValue]] = {}
    first: dict[tuple[str, ...], str] = {}
    for cell in values:
        # Places of the source that map to the same devices here count as one place.
        ends = sheet.located[cell.place].devices or ()
        if over == "place" and first.setdefault(ends, cell.place) != cell.place:
            continue
        parts: dict[str, str | int] = {"line": cell.line, "place": cell.place, "size": cell.size_bytes}
        groups.setdefault(tuple(parts[name] for name in parts if name != over), []).append(cell)
    return [group for group in groups.values() if len(group) > 1]


def _devices(group: Iterable[ReferencedValue], ends: Mapping[str, tuple[str, ...]], kind: str) -> set[str]:
    """Returns the devices of a kind at the places of these values."""
    return {name for cell in group for name in ends[cell.place] if kind_of(name) == kind}


def _order(check: Mapping[str, Any], sheet: Sheet) -> CheckResult:
    """Each value exceeds the next by at least `margin` (relative; default 0)."""
    unit, margin = str(check.get("unit", "GB/s")), float(check.get("margin", 0.0))
    steps = [cells(reference, sheet, unit) for reference in check["of"]]
    row = [min(values, key=lambda cell: cell.number) for values in steps[:-1]]
    row.append(max(steps[-1], key=lambda cell: cell.number))
    ends = [(min(cell.low for cell in values), min(cell.high for cell in values)) for values in steps[:-1]]
    ends.append((max(cell.low for cell in steps[-1]), max(cell.high for cell in steps[-1])))
    leads = [(values[0] / other[1], values[1] / other[0]) for values, other in pairwise(ends)]
    holds = AcceptedRange(math.nextafter(1 + margin, math.inf), float("inf"), "").holds(leads)
    said = (" > " if holds else ", ").join(
        f"{_text(cell.number, unit)} ({cell.line}, {cell.place})" for cell in row
    )
    margins = f", each by {100 * margin:g} % at least" if margin else ""
    notes = unlike(check, sheet, [cell for values in steps for cell in values])
    return CheckResult(
        holds, f"{said}; expected in this decreasing order{margins}", tuple(row), holds is False, notes
    )


CHECKS: Mapping[str, Callable[[Mapping[str, Any], Sheet], CheckResult]] = {
    "value": _value,
    "ratio": _ratio,
    "gap": _gap,
    "spread": _spread,
    "order": _order,
    "reaches": reaches,
    "linear": linear,
    "node": node,
    "refused": refused,
}
