"""Checks a run: what the user asks, and which reference answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from byteways.errors import BytewaysError
from byteways.explain.checks.limits import against_limits, read_limits
from byteways.explain.checks.normal import NORMAL, read_normal
from byteways.explain.checks.normal_reference import against_normal
from byteways.explain.checks.peak_reference import AT_LEAST, against_peak
from byteways.explain.checks.run_reference import against_run
from byteways.explain.checks.verdict import DEFAULT_TOLERANCE, CheckedCases
from byteways.explain.checks.wording_check import page, whole_summary
from byteways.explain.results.blamed_ranks import blamed_in
from byteways.explain.results.index import Index
from byteways.explain.results.summary import RecordedRun
from byteways.plan.spelling import closest
from byteways.record.simulation_mark import mark_of, subject

PEAK = "peak"
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


class Check(CheckedCases):
    """The verdicts on a run, which says itself what it found."""

    def __str__(self) -> str:
        """The verdict with its counts, and what most failing cases have in common."""
        return whole_summary(self)

    def __repr__(self) -> str:
        """What a prompt shows: the fields hold every case."""
        return f"<byteways check of {self.run}: {self}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict and the cases that fail."""
        return page(self)


@dataclass(frozen=True)
class CheckQuestion:
    """What a run is checked against."""

    kind: str  # normal, learned, peak, limits, run
    against: str
    tolerance: float = DEFAULT_TOLERANCE
    at_least: float = AT_LEAST
    allow_missing: bool = False
    mixed: bool = False

    @classmethod
    def of(
        cls,
        against: str,
        tolerance: str | float | None = None,
        at_least: str | float | None = None,
        *,
        allow_missing: bool = False,
        mixed: bool = False,
    ) -> CheckQuestion:
        """Reads what a user asks.

        Args:
            against: `normal`, `peak`, or the path of a run, of limits or of what was learned.
            tolerance: `5%` or 0.05; None: TOLERANCE.
            at_least: `70%` or 0.7; None: AT_LEAST.
            allow_missing: Whether cases that were not planned may be missing.
            mixed: Whether simulated results may be judged by measured ones, or the reverse.

        Raises:
            BytewaysError: The reference is neither a word nor a file or folder, a part is no percentage, or
                an option does not belong to the reference.
        """
        kind = _kind(against)
        if at_least is not None and kind != PEAK:
            raise BytewaysError("--at-least is a part of the peak", hint="--against peak")
        if tolerance is not None and kind in (PEAK, "limits"):
            raise BytewaysError(f"--tolerance does not change {kind}", hint="raise or lower the limit itself")
        return cls(
            kind,
            against,
            DEFAULT_TOLERANCE if tolerance is None else _part("--tolerance", tolerance),
            AT_LEAST if at_least is None else _part("--at-least", at_least),
            allow_missing,
            mixed,
        )


def _kind(against: str) -> str:
    if against in (NORMAL, PEAK):
        return against
    path = Path(against)
    if path.is_dir():
        return "run"
    if path.suffix == ".toml":
        return "limits"
    if path.suffix == ".json" or path.is_file():
        return "learned"
    hint = f"{closest(against, (NORMAL, PEAK))}, a run folder, limits.toml, or a file that --learn wrote"
    raise BytewaysError(f"unknown reference '{against}'", hint=hint)


def _part(option: str, told: str | float) -> float:
    if isinstance(told, str):
        found = _PART.fullmatch(told)
        if found is None or not 0 <= float(found[1]) <= 100:
            raise BytewaysError(
                f"{option} '{told}' is no percentage from 0% to 100%", hint=f"write for example {option} 5%"
            )
        return float(found[1]) / 100
    if not 0 <= told <= 1:  # also of nan
        name = option.removeprefix("--").replace("-", "_")
        raise BytewaysError(f"{name}={told} is no part of 1", hint=f"{name}=0.05 is 5 %")
    return float(told)


def checked(
    run: RecordedRun, name: str, question: CheckQuestion, reference: RecordedRun | None = None
) -> Check:
    """Judges a run.

    Args:
        run: The run to check.
        name: What it is called.
        question: What it is checked against.
        reference: The other run, if that is what it is checked against.

    Raises:
        BytewaysError: The run has no records, the reference cannot be read, or both cannot be compared.
    """
    index = Index.of(run)
    if not index.records:
        raise BytewaysError(f"{name} has no results to check", hint="measure first: byteways run")
    marks = [mark_of(index.manifest)]
    links: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    if question.kind == "run":
        if reference is None:
            raise ValueError("a check against a run needs that run")
        other = Index.of(reference)
        marks = [f"{name}: {marks[0]}" if marks[0] else ""]
        if mark := mark_of(other.manifest):
            marks.append(f"{question.against}: {mark}")
        cases, links = against_run(
            index,
            other,
            (name, question.against),
            tolerance=question.tolerance,
            allow_missing=question.allow_missing,
            mixed=question.mixed,
        )
    elif question.kind == PEAK:
        cases = against_peak(index, at_least=question.at_least)
    elif question.kind == "limits":
        cases = against_limits(index, read_limits(Path(question.against)))
    else:
        path = None if question.kind == NORMAL else Path(question.against)
        normal = read_normal(path)
        cases, notes = against_normal(
            index,
            normal,
            (name, question.against),
            tolerance=question.tolerance,
            allow_missing=question.allow_missing,
            mixed=question.mixed,
            own=path is not None,
        )
    blamed = blamed_in(index.manifest, index.records)
    cases = tuple(
        replace(one, parts=one.parts | blamed[one.case_id]) if one.case_id in blamed else one for one in cases
    )
    return Check(
        name,
        question.against,
        str((index.manifest.get("host") or {}).get("name") or subject(index.manifest)),
        _time(index.manifest.get("finished_at")),
        cases,
        tuple(filter(None, marks)),
        links,
        notes,
    )


def _time(text: str | None) -> datetime | None:
    """Returns the time that a manifest tells; None if it is none, as in runs that were ended."""
    try:
        found = datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
