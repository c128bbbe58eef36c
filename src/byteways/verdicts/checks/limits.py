"""Checks a run against limits of the user's own: a TOML file of what selected cases must reach."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from byteways.answers.claims.claim import Reference
from byteways.answers.claims.compare import compare_with_reference
from byteways.answers.results.index import Index
from byteways.answers.results.summary import WHY_NOT_RANKED, Result
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_TOML_BYTES, read_text
from byteways.base.system_errors import not_read
from byteways.base.toml_files import read_toml
from byteways.base.toml_reading import TextList, TomlPlace, TomlValueError, kind_of_value
from byteways.cases.interfaces import metric_of
from byteways.cases.sizes import size_filter
from byteways.plan.filters import only_filter
from byteways.verdicts.checks.common import failures, judged, ordered, sound, unjudged
from byteways.verdicts.checks.verdict import HIGH, MISSING, PASS, Bounds, Judged

_UNITS = {"GB/s": 1e9, "MB/s": 1e6, "%": 0.01, "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6}


@dataclass(frozen=True)
class Requirement:
    """What the selected cases must reach: a least bandwidth, a least part of the peak, or a most time."""

    title: str
    only: tuple[str, ...]
    place: str  # in its file, for messages
    size: str | None
    text: str  # `at least 380 GB/s`
    value: float  # bytes/s, part of the peak, or ns
    unit: str  # "bandwidth", "peak", "time"

    def of(self, cell: Result) -> float | None:
        """Returns the limit of a result in its own unit; None if it does not apply to it."""
        by_rate = metric_of(cell.record.interface) == "bandwidth"
        if by_rate != (self.unit != "time"):
            return None
        if self.unit == "peak":
            return self.value * cell.peak if cell.peak else None
        return self.value


class LimitText(str):
    """What a result is compared with: a number with its unit."""

    __slots__ = ()
    form: ClassVar[re.Pattern[str]]
    valid: ClassVar[str]

    @classmethod
    def from_toml(cls, value: Any) -> LimitText:
        found = cls.form.fullmatch(value) if isinstance(value, str) else None
        if found is None or not float(found[1]):
            raise TomlValueError(f"{kind_of_value(value)} is no limit", f"write it as {cls.valid}")
        return cls(value.strip())

    @property
    def parts(self) -> tuple[float, str]:
        """The value in bytes/s, parts of the peak or ns, and "bandwidth", "peak" or "time"."""
        found = self.form.fullmatch(self)
        assert found is not None
        unit = {"%": "peak", "GB/s": "bandwidth", "MB/s": "bandwidth"}.get(found[2], "time")
        return float(found[1]) * _UNITS[found[2]], unit


class LeastRate(LimitText):
    __slots__ = ()
    form, valid = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(GB/s|MB/s|%)\s*"), "'380 GB/s', '80 %'"


class MostTime(LimitText):
    __slots__ = ()
    form, valid = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms)\s*"), "'700 ns', '2.5 us'"


class LimitSize(str):
    """A size or a range of sizes."""

    @classmethod
    def from_toml(cls, value: Any) -> LimitSize:
        try:
            size_filter(str(value))
        except ValueError as error:
            raise TomlValueError(str(error), 'size = "16MiB..1GiB"') from error
        return cls(value)


class LimitTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a limit."""

    only: TextList = TextList()
    size: LimitSize | None = None
    at_least: LeastRate | None = None
    at_most: MostTime | None = None
    title: str = ""


class LimitsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The key of a file of limits; each limit is read with its own place."""

    limit: Any = None


def read_limits(path: Path) -> list[Requirement]:
    """Reads a file of limits.

    Raises:
        BytewaysError: The file cannot be read, or is no valid file of limits; the message says which entry.
    """
    try:
        text = read_text(path, MOST_TOML_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise not_read(f"cannot read the limits '{path}'", error) from error
    place = TomlPlace.of(read_toml(text, file=str(path)), text, str(path))
    place.read(LimitsFile)
    return [
        _requirement(own, own.read(LimitTable)) for own in place.tables("limit", "the file has no limits")
    ]


def _requirement(place: TomlPlace, limit: LimitTable) -> Requirement:
    bound = limit.at_least or limit.at_most
    if bound is None or (limit.at_least and limit.at_most):
        place.fail("", "it needs either at_least or at_most", 'at_least = "380 GB/s"')
    title = limit.title or ", ".join(filter(None, (*limit.only, limit.size))) or "every case"
    text = f"{'at least' if limit.at_least else 'at most'} {bound}"
    return Requirement(title, limit.only, place.heading, limit.size, text, *bound.parts)


def against_limits(run: Index, limits: Sequence[Requirement], bounds: Bounds) -> tuple[Judged, ...]:
    """Judges every result that a limit selects; all claims hold simultaneously.

    A result is FAIL if its interval lies beyond the limit. A limit that selects no result is MISSING.

    Raises:
        BytewaysError: A filter or size of a limit is invalid.
    """
    chosen = [(limit, _selected(run, limit)) for limit in limits]
    number = sum(cell.ranked for _, cells in chosen for cell in cells)
    cases = failures(run)
    bounds = replace(bounds, tolerance=0.0)
    for limit, cells in chosen:
        if not cells:
            cases.append(Judged(MISSING, limit.title, reason=f"no result to be {limit.text}"))
        cases += [_judged(cell, limit, number, run, bounds) for cell in cells]
    return ordered(cases)


def _selected(run: Index, limit: Requirement) -> list[Result]:
    try:
        wanted = only_filter(limit.only, run.topology)
    except BytewaysError as error:
        what = f"{limit.place}: {error.what.replace('--only', 'only =', 1)}"
        raise BytewaysError(what, cause=error.cause, hint=error.hint) from error
    fits: Callable[[int], bool] = size_filter(limit.size) if limit.size else lambda size: True
    return [
        cell
        for cell in sound(run)
        if fits(cell.size_bytes) and limit.of(cell) is not None and wanted(cell.case, cell.record.sweep)
    ]


def _judged(cell: Result, limit: Requirement, comparisons: int, run: Index, bounds: Bounds) -> Judged:
    value = limit.of(cell)
    if not cell.ranked or value is None:
        return unjudged(cell, WHY_NOT_RANKED, run.topology)
    claim = compare_with_reference(cell, Reference(limit.text, value), kind="check", comparisons=comparisons)
    told = judged(cell, claim, bounds, limit.text, run.topology)
    return replace(told, verdict=PASS) if told.verdict == HIGH else told
