"""Checks a run: what the user asks, and which reference answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from byteways.answers.results.blamed_ranks import blamed_in
from byteways.answers.results.index import Index
from byteways.answers.results.summary import RecordedRun
from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.record.imported_values import without_equal_case
from byteways.record.simulation_mark import mark_of, subject
from byteways.verdicts.checks.limits import against_limits, read_limits
from byteways.verdicts.checks.normal import NORMAL, read_normal
from byteways.verdicts.checks.normal_reference import against_normal
from byteways.verdicts.checks.peak_reference import AT_LEAST, against_peak
from byteways.verdicts.checks.run_reference import against_run
from byteways.verdicts.checks.verdict import (
    DEFAULT_TOLERANCE,
    Bounds,
    CheckedCases,
    Judged,
)
from byteways.verdicts.checks.wording_check import page, whole_summary
from byteways.verdicts.two_runs.paired_cases import DEFAULT_LEAST_EFFECT
from byteways.verdicts.two_runs.wording_comparison import part_of

PEAK = "peak"


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
    bounds: Bounds = field(default_factory=Bounds)
    at_least: float = AT_LEAST
    allow_missing: bool = False
    mixed: bool = False
    strict: bool = False

    @classmethod
    def of(
        cls,
        against: str,
        tolerance: str | float | None = None,
        at_least: str | float | None = None,
        *,
        least_effect: str | float | None = None,
        strict: bool = False,
        allow_missing: bool = False,
        mixed: bool = False,
    ) -> CheckQuestion:
        """Reads what a user asks.

        Args:
            against: `normal`, `peak`, or the path of a run, of limits or of what was learned.
            tolerance: `5%` or 0.05; None: TOLERANCE.
            at_least: `70%` or 0.7; None: AT_LEAST.
            least_effect: `5%` or 0.05, the loss that a PASS must have been able to find; None:
                DEFAULT_LEAST_EFFECT.
            strict: Whether a case that is NOT DECIDED fails.
            allow_missing: Whether cases that were left out for lack of time, or lost, may be missing.
            mixed: Whether simulated results may be judged by measured ones, or the reverse.

        Raises:
            BytewaysError: The reference is neither a word nor a file or folder, a part is no percentage, or
                an option does not belong to the reference.
        """
        kind = _kind(against)
        if at_least is not None and kind != PEAK:
            raise BytewaysError("--at-least is a fraction of the peak", hint="--against peak")
        if tolerance is not None and kind in (PEAK, "limits"):
            raise BytewaysError(f"--tolerance does not change {kind}", hint="raise or lower the limit itself")
        return cls(
            kind,
            against,
            Bounds(
                DEFAULT_TOLERANCE if tolerance is None else part_of("--tolerance", tolerance),
                DEFAULT_LEAST_EFFECT if least_effect is None else part_of("--least-effect", least_effect),
            ),
            AT_LEAST if at_least is None else part_of("--at-least", at_least),
            allow_missing,
            mixed,
            strict,
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
        why = without_equal_case(index.manifest) or None  # of an imported run
        raise BytewaysError(f"{name} has no results to check", cause=why, hint="measure first: byteways run")
    marks = [mark_of(index.manifest)]
    links: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    together: tuple[Judged, ...] = ()
    if question.kind == "run":
        if reference is None:
            raise ValueError("a check against a run needs that run")
        other = Index.of(reference)
        marks = [f"{name}: {marks[0]}" if marks[0] else ""]
        if mark := mark_of(other.manifest):
            marks.append(f"{question.against}: {mark}")
        found = against_run(
            index,
            other,
            (name, question.against),
            bounds=question.bounds,
            allow_missing=question.allow_missing,
            mixed=question.mixed,
        )
        cases, links, together, notes = found.cases, found.missing_links, found.together, found.notes
    elif question.kind == PEAK:
        cases = against_peak(index, at_least=question.at_least, bounds=question.bounds)
    elif question.kind == "limits":
        cases = against_limits(index, read_limits(Path(question.against)), question.bounds)
    else:
        path = None if question.kind == NORMAL else Path(question.against)
        normal = read_normal(path)
        cases, notes = against_normal(
            index,
            normal,
            (name, question.against),
            bounds=question.bounds,
            allow_missing=question.allow_missing,
            mixed=question.mixed,
            own=path is not None,
            least_rounds=not index.imported,
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
        together,
        question.bounds.least_effect,
        question.strict,
    )


def _time(text: str | None) -> datetime | None:
    """Returns the time that a manifest tells; None if it is none, as in runs that were ended."""
    try:
        found = datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
