"""Whether what a source says of its machine is so of the one that was measured: one verdict a claim.

A claim names figures as `LINE@PLACE/SIZE`, where LINE and PLACE may be globs and SIZE a size, `*`, `largest`
or a range `64KiB..1GiB` (either end may be left out). `fastest:` before it takes the highest of its lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from byteways.analyse.studies.cells import Sheet, nearest_size
from byteways.plan.legality import kind_of
from byteways.studies.study import Claim
from byteways.units import format_size, parse_size

HOLDS, FAILS, UNTESTED, BUILT_IN = (
    "holds",
    "does not hold",
    "cannot be tested here",
    "built in",
)
VERDICTS = (HOLDS, FAILS, UNTESTED, BUILT_IN)

FASTEST = "fastest:"
_REFERENCE = re.compile(r"^(?P<line>[^@]+)@(?P<place>[^/]+)/(?P<size>.+)$")
_NUMBER = re.compile(r"^(?P<number>[\d.]+)\s*(?P<unit>GB/s|ns|µs|us|%)$")


@dataclass(frozen=True)
class Verdict:
    """What became of a claim. `detail` has the figures it rests on, or why it cannot be tested."""

    claim: Claim
    verdict: str  # one of VERDICTS
    detail: str


@dataclass(frozen=True)
class Cell:
    """A figure of ours that a claim names, in the claim's unit."""

    line: str
    place: str
    size_bytes: int
    number: float
    published: float | None
    peak: float | None  # bytes/s, nominal, of the path here

    @property
    def name(self) -> str:
        return f"{self.line}, {self.place}, {format_size(self.size_bytes)}"


class UntestableError(Exception):
    """A claim cannot be tested; the text is the reason."""


@dataclass(frozen=True)
class Wanted:
    """What a number has to be, as a check's keys say: `about` and `within`, or `at_least` and `at_most`."""

    least: float
    most: float
    words: str

    def __contains__(self, number: float) -> bool:
        return self.least <= number <= self.most


def judge(claim: Claim, sheet: Sheet, *, built_in: bool = False) -> Verdict:
    """The verdict on a claim.

    Args:
        built_in: Whether the figures are of a model that was fitted to the claim's source, so that a claim
            that holds says nothing.
    """
    try:
        holds, detail = _CHECKS[claim.kind](claim.check, sheet)
    except UntestableError as reason:
        return Verdict(claim, UNTESTED, f"because {reason}")
    if holds and built_in:
        return Verdict(claim, BUILT_IN, detail)
    return Verdict(claim, HOLDS if holds else FAILS, detail)


def cells(reference: str | Sequence[str], sheet: Sheet, unit: str) -> list[Cell]:
    """The figures that a reference, or each of several, stands for.

    Raises:
        UntestableError: There is none.
    """
    if not isinstance(reference, str):
        return [cell for one in reference for cell in cells(one, sheet, unit)]
    fastest = reference.startswith(FASTEST)
    found = list(_cells(reference.removeprefix(FASTEST), sheet, unit))
    if not found:
        raise UntestableError(_why_not(reference.removeprefix(FASTEST), sheet))
    if not fastest:
        return found
    rivals: dict[tuple[str, int], list[Cell]] = {}
    for cell in found:
        rivals.setdefault((cell.place, cell.size_bytes), []).append(cell)
    best = [max(some, key=lambda cell: cell.number) for some in rivals.values() if len(some) > 1]
    if not best:  # what is alone is no fastest: an interrupted run may have no more
        raise UntestableError("it takes two methods at one place and size, and this run has one")
    return best


def _cells(reference: str, sheet: Sheet, unit: str) -> Iterable[Cell]:
    lines, places, wanted = _parts(reference, sheet)
    for line in lines:
        for place in places:
            ours = sheet.ours(sheet.study.lines[line], sheet.study.places[place])
            for size in sorted(_sizes(wanted, ours)):
                number = ours[size].quantity(unit)
                if number is not None:
                    published = _published(sheet, line, place, size, unit)
                    yield Cell(line, place, size, number, published, ours[size].peak)


def _published(sheet: Sheet, line: str, place: str, size: int, unit: str) -> float | None:
    """The source's figure there; of several prints the one with the most digits."""
    ours = list(sheet.ours(sheet.study.lines[line], sheet.study.places[place]))
    found = [
        one
        for one in sheet.published(sheet.study.lines[line], sheet.study.places[place])
        if nearest_size(one.size_bytes, ours) == size
    ]
    found.sort(key=lambda one: (sheet.study.models.index(one.value.machine), bool(one.value.same_as)))
    numbers = [number for one in found if (number := one.quantity(unit)) is not None]
    return numbers[0] if numbers else None


def _parts(reference: str, sheet: Sheet) -> tuple[list[str], list[str], str]:
    """Names of lines and of places, and the size as written. Raises ValueError when it names nothing."""
    match = _REFERENCE.match(reference)
    if match is None:
        raise ValueError(f"study {sheet.study.key}: '{reference}' is no figure; write line@place/size")
    lines = [name for name in sheet.study.lines if fnmatchcase(name, match["line"])]
    places = [name for name in sheet.study.places if fnmatchcase(name, match["place"])]
    if not lines or not places:
        raise ValueError(f"study {sheet.study.key}: '{reference}' names no line or no place")
    return lines, places, match["size"]


def _sizes(wanted: str, known: Iterable[int]) -> list[int]:
    sizes = list(known)
    if wanted == "*":
        return sizes
    if wanted == "largest":
        return sizes and [max(sizes)]
    if ".." in wanted:
        low, high = (text.strip() for text in wanted.split(".."))
        least = parse_size(low) if low else 0
        most = parse_size(high) if high else float("inf")
        return [size for size in sizes if least <= size <= most]
    return [size for size in sizes if size == parse_size(wanted)]


def _why_not(reference: str, sheet: Sheet) -> str:
    lines, places, wanted = _parts(reference, sheet)
    exact = None if wanted in ("*", "largest") or ".." in wanted else parse_size(wanted)
    reasons = [
        sheet.missing(sheet.study.lines[line], sheet.study.places[place], exact)
        for line in lines
        for place in places
    ]
    return "; ".join(dict.fromkeys(reasons))


# --- what a number has to be


def _unit(check: Mapping[str, Any]) -> str:
    """`unit`, or that of the number that the check names."""
    if "unit" in check:
        return str(check["unit"])
    for key in ("about", "at_least", "at_most", "level"):
        match = _NUMBER.match(str(check.get(key, "")))
        if match:
            return {"us": "µs", "%": "of peak"}.get(match["unit"], match["unit"])
    return "GB/s"


def _number(value: object) -> float:
    """A number, with or without a unit; per cent are hundredths."""
    match = _NUMBER.match(str(value))
    if match is None:
        return float(str(value))
    return float(match["number"]) / (100 if match["unit"] == "%" else 1)


def wanted(check: Mapping[str, Any]) -> Wanted:
    """From `about` and `within` (relative; 10 % without it), or `at_least` and `at_most`."""
    if "about" in check:
        about, within = _number(check["about"]), float(check.get("within", 0.1))
        words = f"{check['about']} ± {100 * within:g} %"
        return Wanted(about * (1 - within), about * (1 + within), words)
    least = _number(check["at_least"]) if "at_least" in check else float("-inf")
    most = _number(check["at_most"]) if "at_most" in check else float("inf")
    words = " and ".join(
        f"{name.replace('_', ' ')} {check[name]}" for name in ("at_least", "at_most") if name in check
    )
    return Wanted(least, most, words)


def _text(number: float, unit: str) -> str:
    if unit == "of peak":
        return f"{100 * number:.1f} %"
    digits = 0 if abs(number) >= 1000 else 1 if abs(number) >= 100 else 2
    return f"{number:.{digits}f} {unit}"


def _summary(found: Sequence[tuple[str, float]], text: Callable[[float], str]) -> str:
    """One figure, or the lowest and the highest of several, each with its name."""
    if len(found) == 1:
        return f"{text(found[0][1])} ({found[0][0]})"
    ordered = sorted(found, key=lambda one: one[1])
    ends = (ordered[0], ordered[-1])
    return f"{len(found)} figures from " + " to ".join(f"{text(number)} ({name})" for name, number in ends)


def _left_out(reference: str | Sequence[str], sheet: Sheet, found: Iterable[Cell]) -> str:
    """Places that a glob stands for and that have no figure here."""
    seen = {cell.place for cell in found}
    named = [reference] if isinstance(reference, str) else list(reference)
    asked = {name for one in named for name in _parts(one.removeprefix(FASTEST), sheet)[1]}
    gone = [
        name for name in sheet.study.places if name in asked - seen and sheet.located[name].agents is None
    ]
    if not gone:
        return ""
    some = ", ".join(gone[:4]) + (f" and {len(gone) - 4} more" if len(gone) > 4 else "")
    return f"; without {some}, which {'has' if len(gone) == 1 else 'have'} no counterpart here"


# --- checks


def _value(check: Mapping[str, Any], sheet: Sheet) -> tuple[bool, str]:
    """Every figure of `of` is what is wanted, or as published with `published = true`."""
    unit = _unit(check)
    found = cells(check["of"], sheet, unit)
    note = _left_out(check["of"], sheet, found)
    if check.get("published"):
        known = [cell for cell in found if cell.published]
        if not known:
            raise UntestableError("the source prints no figure for what this machine has")
        within = float(check.get("within", 0.1))
        ratios = [(cell.name, cell.number / (cell.published or 1.0)) for cell in known]
        said = _summary(ratios, lambda number: f"{number:.3f} × published")
        return all(
            abs(ratio - 1) <= within for _, ratio in ratios
        ), f"{said}, wanted ± {100 * within:g} %{note}"
    aim = wanted(check)
    if unit == "GB/s" and aim.least == float("-inf"):
        peaks = [cell.peak / 1e9 for cell in found if cell.peak]
        if len(peaks) == len(found) and max(peaks) <= aim.most:
            raise UntestableError(f"the links here carry no more in any case: {_text(max(peaks), unit)}")
    said = _summary([(cell.name, cell.number) for cell in found], lambda number: _text(number, unit))
    return all(cell.number in aim for cell in found), f"{said}; wanted {aim.words}{note}"


def _pairs(check: Mapping[str, Any], sheet: Sheet, unit: str) -> list[tuple[Cell, Cell]]:
    """Figures of `of` with those of `to`: one each, or else at equal places and sizes, or at equal sizes."""
    left, right = cells(check["of"], sheet, unit), cells(check["to"], sheet, unit)
    if len(left) == len(right) == 1:
        return [(left[0], right[0])]
    by_both = {(cell.place, cell.size_bytes): cell for cell in right}
    found = [
        (cell, by_both[cell.place, cell.size_bytes])
        for cell in left
        if (cell.place, cell.size_bytes) in by_both
    ]
    if not found and len({cell.place for cell in right}) == 1:
        by_size = {cell.size_bytes: cell for cell in right}
        found = [(cell, by_size[cell.size_bytes]) for cell in left if cell.size_bytes in by_size]
    if not found:
        raise UntestableError("this run has no two figures that may be compared")
    return found


def _ratio(check: Mapping[str, Any], sheet: Sheet) -> tuple[bool, str]:
    """`of` over `to` is what is wanted: of every pair, or of that where it is `most` or `least`."""
    unit = _unit({key: check[key] for key in check if key == "unit"})
    ratios = [
        (f"{one.name} to {other.line}, {other.place}", one.number / other.number)
        for one, other in _pairs(check, sheet, unit)
        if other.number
    ]
    if not ratios:
        raise UntestableError("what it is compared with is zero here")
    aim = wanted(check)
    over = check.get("over", "all")
    ordered = sorted(ratios, key=lambda entry: entry[1])
    if over == "most":
        ratios = ordered[-1:]
    elif over == "least":
        ratios = ordered[:1]
    said = _summary(ratios, lambda number: f"{number:.3g}×")
    lead = {"most": "at most ", "least": "at least "}.get(over, "")
    return all(number in aim for _, number in ratios), f"{lead}{said}; wanted {aim.words}"


def _spread(check: Mapping[str, Any], sheet: Sheet) -> tuple[bool, str]:
    """Figures that differ in `over` (`place`, `line` or `size`) alone are within `at_most` of each other.

    With `across` (`cpu` or `gpu`) it takes places of two such agents: else nothing could differ by them.
    """
    over = check["over"]
    found = cells(check["of"], sheet, _unit({key: check[key] for key in check if key == "unit"}))
    groups: dict[tuple[str | int, ...], list[Cell]] = {}
    ends = {cell.place: sheet.located[cell.place].agents or () for cell in found}
    first: dict[tuple[str, ...], str] = {}
    for cell in found:
        # Places of the source that one pair of this machine stands for are one place here.
        if over == "place" and first.setdefault(ends[cell.place], cell.place) != cell.place:
            continue
        parts: dict[str, str | int] = {"line": cell.line, "place": cell.place, "size": cell.size_bytes}
        groups.setdefault(tuple(parts[name] for name in parts if name != over), []).append(cell)
    compared = {key: group for key, group in groups.items() if len(group) > 1}
    if not compared:
        raise UntestableError(f"it takes two {over}s, and this run has one")
    across = check.get("across")
    if across and all(len(_agents(group, ends, across)) < 2 for group in compared.values()):
        what = {"cpu": "NUMA domains", "gpu": "GPUs"}[across]
        raise UntestableError(f"it takes two {what}, and the figures of this run are of one")
    worst, least, most = 0.0, found[0], found[0]
    for group in compared.values():
        low, high = (pick(group, key=lambda cell: cell.number) for pick in (min, max))
        if high.number / low.number - 1 >= worst:
            worst, least, most = high.number / low.number - 1, low, high
    count = sum(len(group) for group in compared.values())
    said = f"{count} figures differ by at most {100 * worst:.1f} % ({most.name} over {least.name})"
    limit = float(check["at_most"])
    return worst <= limit, f"{said}; wanted {100 * limit:g} % at most{_left_out(check['of'], sheet, found)}"


def _agents(group: Iterable[Cell], ends: Mapping[str, tuple[str, ...]], kind: str) -> set[str]:
    """Agents of a kind at the places of some figures."""
    return {name for cell in group for name in ends[cell.place] if kind_of(name) == kind}


def _order(check: Mapping[str, Any], sheet: Sheet) -> tuple[bool, str]:
    """Each figure is higher than the next by `margin` at least (0 without it)."""
    unit, margin = str(check.get("unit", "GB/s")), float(check.get("margin", 0.0))
    found = [cells(reference, sheet, unit) for reference in check["of"]]
    row = [min(some, key=lambda cell: cell.number) for some in found[:-1]]
    row.append(max(found[-1], key=lambda cell: cell.number))
    holds = all(one.number > other.number * (1 + margin) for one, other in pairwise(row))
    said = " > ".join(f"{_text(cell.number, unit)} ({cell.line}, {cell.place})" for cell in row)
    if not holds:
        said = said.replace(" > ", ", ")
    apart = f", each by {100 * margin:g} % at least" if margin else ""
    return holds, f"{said}; wanted in this order, falling{apart}"


def _reaches(check: Mapping[str, Any], sheet: Sheet) -> tuple[bool, str]:
    """The least size at which `of` reaches `level`, or the part `of_best` of its highest figure, is `size`
    within a `factor` (2 without it).
    """
    factor = float(check.get("factor", 2.0))
    found = sorted(cells(check["of"], sheet, "GB/s"), key=lambda cell: cell.size_bytes)
    best = max(cell.number for cell in found)
    goal = best * float(check["of_best"]) if "of_best" in check else _number(check["level"])
    above = [cell.size_bytes for cell in found if cell.number >= goal]
    if not above:
        return False, f"{goal:.4g} GB/s is never reached: {best:.4g} GB/s at most"
    size, about = above[0], parse_size(str(check["size"]))
    if size == found[0].size_bytes and size >= about / factor:
        raise UntestableError(f"no size below {format_size(size)} was measured, where it is reached already")
    if "of_best" in check and size == found[-1].size_bytes and size <= about * factor:
        raise UntestableError(f"no size above {format_size(size)} was measured, where it may still rise")
    said = f"{goal:.4g} GB/s is reached from {format_size(size)}"
    wanted_size = f"{format_size(about)}, within a factor of {factor:g}"
    return about / factor <= size <= about * factor, f"{said}; wanted {wanted_size}"


_CHECKS: Mapping[str, Callable[[Mapping[str, Any], Sheet], tuple[bool, str]]] = {
    "value": _value,
    "ratio": _ratio,
    "spread": _spread,
    "order": _order,
    "reaches": _reaches,
}
