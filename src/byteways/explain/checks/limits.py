"""Checks a run against limits of the user's own: a TOML file of what selected cases must reach."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from byteways.errors import BytewaysError
from byteways.explain.checks.common import failures, judged, ordered, sound, unjudged
from byteways.explain.checks.verdict import HIGH, MISSING, PASS, Judged
from byteways.explain.claims.claim import Reference
from byteways.explain.claims.compare import compare_with_reference
from byteways.explain.results.index import Index
from byteways.explain.results.summary import WHY_NOT_RANKED, Result
from byteways.files import MOST_TOML_BYTES, read_text
from byteways.plan.case import Case
from byteways.plan.filters import only_filter
from byteways.plan.interfaces import metric_of
from byteways.plan.sizes import size_filter
from byteways.plan.spelling import closest
from byteways.plan.toml_files import read_toml
from byteways.system_errors import not_read

_KEYS = ("title", "only", "size", "at_least", "at_most")
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(GB/s|MB/s|%)\s*")
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms)\s*")
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


def read_limits(path: Path) -> list[Requirement]:
    """Reads a file of limits.

    Raises:
        BytewaysError: The file cannot be read, or is no valid file of limits; the message says which entry.
    """
    try:
        text = read_text(path, MOST_TOML_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise not_read(f"cannot read the limits '{path}'", error) from error
    data = read_toml(text, file=str(path))
    if unknown := next((key for key in data if key != "limit"), None):
        raise BytewaysError(f"{path}: unknown key '{unknown}'", hint=closest(unknown, ["limit"]))
    entries = data.get("limit")
    if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
        raise BytewaysError(f"{path} has no limits", hint="write one or more tables [[limit]]")
    return [_limit(one, f"{path}: limit {number}") for number, one in enumerate(entries, start=1)]


def _limit(entry: Mapping[str, Any], place: str) -> Requirement:
    for key in entry:
        if key not in _KEYS:
            raise BytewaysError(f"{place}: unknown key '{key}'", hint=closest(key, _KEYS))
    only = entry.get("only", [])
    only = only if isinstance(only, list) else [only]
    texts = [*only, *(entry[key] for key in ("title", "size", "at_least", "at_most") if key in entry)]
    if not all(isinstance(text, str) for text in texts):
        raise BytewaysError(f"{place}: every value is a text", hint='at_least = "380 GB/s"')
    given = [key for key in ("at_least", "at_most") if key in entry]
    if len(given) != 1:
        raise BytewaysError(f"{place} needs either at_least or at_most", hint='at_least = "380 GB/s"')
    key, text = given[0], entry[given[0]]
    found = (_RATE if key == "at_least" else _TIME).fullmatch(text)
    if found is None or not float(found[1]):
        valid = "'380 GB/s', '80 %'" if key == "at_least" else "'700 ns', '2.5 us'"
        raise BytewaysError(f"{place}: {key} = '{text}' is no limit", hint=f"write it as {valid}")
    unit = "time" if key == "at_most" else "peak" if found[2] == "%" else "bandwidth"
    told = f"{key.replace('_', ' ')} {text.strip()}"
    title = entry.get("title") or ", ".join(filter(None, (*only, entry.get("size")))) or "every case"
    size = entry.get("size")
    try:
        size_filter(size) if size else None
    except ValueError as error:
        raise BytewaysError(f"{place}: {error}", hint='size = "16MiB..1GiB"') from error
    return Requirement(title, tuple(only), place, size, told, float(found[1]) * _UNITS[found[2]], unit)


def against_limits(run: Index, limits: Sequence[Requirement]) -> tuple[Judged, ...]:
    """Judges every result that a limit selects; all claims hold simultaneously.

    A result is LOW if its interval lies beyond the limit. A limit that selects no result is MISSING.

    Raises:
        BytewaysError: A filter or size of a limit is invalid.
    """
    chosen = [(limit, _selected(run, limit)) for limit in limits]
    number = sum(cell.ranked for _, cells in chosen for cell in cells)
    cases = failures(run)
    for limit, cells in chosen:
        if not cells:
            cases.append(Judged(MISSING, limit.title, reason=f"no result to be {limit.text}"))
        cases += [_judged(cell, limit, number, run) for cell in cells]
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
        if fits(cell.record.size_bytes)
        and limit.of(cell) is not None
        and wanted(Case.from_json(cell.record.definition), cell.record.sweep)
    ]


def _judged(cell: Result, limit: Requirement, comparisons: int, run: Index) -> Judged:
    value = limit.of(cell)
    if not cell.ranked or value is None:
        return unjudged(cell, WHY_NOT_RANKED, run.topology)
    claim = compare_with_reference(cell, Reference(limit.text, value), kind="check", comparisons=comparisons)
    told = judged(cell, claim, 0.0, limit.text, run.topology)
    return replace(told, verdict=PASS) if told.verdict == HIGH else told
