"""Judge whether a source's claims hold on the measured machine: one verdict per claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byteways.base.text import Sentence
from byteways.ext.studies.comparison.built_in import is_built_in
from byteways.ext.studies.comparison.check_result import CheckResult
from byteways.ext.studies.comparison.checks import CHECKS
from byteways.ext.studies.comparison.fitting import NEITHER, Fitting
from byteways.ext.studies.comparison.references import UntestableError, gaps, listed
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.comparison.verdicts import (
    ASSUMED_BY_MODEL,
    BUILT_IN,
    CLOSE,
    CONTRADICTED,
    CORRECTED,
    FAILS,
    HOLDS,
    SELF_CONTRADICTED,
    UNTESTED,
)
from byteways.ext.studies.published.split import FITTED, HELD_OUT
from byteways.ext.studies.published.study import ClaimCheck, PublishedClaim

#: Number of reasons for missing values that a verdict lists.
REASONS = 2
#: States in order of precedence: the first one present decides. _ALL: all checks must hold; _ANY: one of
#: several readings is enough.
_ALL = (FAILS, UNTESTED, CLOSE, ASSUMED_BY_MODEL, HOLDS, BUILT_IN)
_ANY = (HOLDS, BUILT_IN, ASSUMED_BY_MODEL, UNTESTED, CLOSE, FAILS)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim. `detail` names the values behind it, or says why the claim cannot be tested."""

    claim: PublishedClaim
    verdict: str  # one of VERDICTS
    detail: Sentence
    notes: tuple[str, ...] = ()  # how the values differ from what the source measured

    @property
    def contradicted(self) -> bool:
        return self.verdict in CONTRADICTED


@dataclass(frozen=True)
class _Part:
    """The result of one check; `state` is one of _ALL."""

    state: str
    detail: Sentence
    notes: tuple[str, ...] = ()


def judge(claim: PublishedClaim, sheet: Sheet, fitting: Fitting | None = None) -> Verdict:
    """Returns the verdict on a claim.

    A claim stays untested if the run lacks a value that the study requests here, unless the available values
    contradict the claim whatever the missing one is.

    Args:
        fitting: Of a machine model with numbers fitted to the claim's source. A claim that holds there counts
            as a test only if it rests on held-out values.
    """
    if reason := sheet.hardware.elsewhere(claim):
        return Verdict(claim, UNTESTED, f"because {reason}")
    whole = _all([_part(check, claim, sheet, fitting) for check in claim.checks])
    if whole.state != FAILS:
        lead = "because " if whole.state == UNTESTED else ""
        return Verdict(claim, whole.state, lead + whole.detail, whole.notes)
    for elsewhere, verdict in ((claim.at_odds_with, SELF_CONTRADICTED), (claim.corrected_by, CORRECTED)):
        if elsewhere:
            return Verdict(claim, verdict, f"{elsewhere} · {whole.detail}", whole.notes)
    verdict, notes = sheet.hardware.contradicted(claim)
    return Verdict(claim, verdict, whole.detail, tuple(dict.fromkeys((*whole.notes, *notes))))


def _part(check: ClaimCheck, claim: PublishedClaim, sheet: Sheet, fitting: Fitting | None) -> _Part:
    if check.readings:
        return _any([_part(reading, claim, sheet, fitting) for reading in check.readings])
    part = _leaf(check, claim, sheet, fitting)
    detail = f"{check.note}: {part.detail}" if check.note else part.detail
    return _Part(part.state, detail, part.notes)


def _all(parts: Sequence[_Part]) -> _Part:
    """Combines checks that must all hold: the deciding ones first, then the others with their states."""
    state = next(known for known in _ALL if any(part.state == known for part in parts))
    deciding = list(dict.fromkeys(part.detail for part in parts if part.state == state))
    rest = [f"{part.state}: {part.detail}" for part in parts if part.state != state]
    return _Part(state, " · ".join([*deciding, *rest]), _notes(parts))


def _any(parts: Sequence[_Part]) -> _Part:
    """Combines alternative readings: the first that holds, or all of them if none does."""
    state = next(known for known in _ANY if any(part.state == known for part in parts))
    those = [part for part in parts if part.state == state]
    if state in (HOLDS, BUILT_IN, ASSUMED_BY_MODEL):
        those = those[:1]
    return _Part(state, ", or ".join(part.detail for part in those), _notes(those))


def _notes(parts: Sequence[_Part]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for part in parts for note in part.notes))


def _leaf(check: ClaimCheck, claim: PublishedClaim, sheet: Sheet, fitting: Fitting | None) -> _Part:
    """Evaluates a single check."""
    try:
        finding = CHECKS[check.kind](check.keys, sheet)
    except UntestableError as reason:
        return _Part(UNTESTED, str(reason))
    if not finding.final:
        count, reasons = gaps(check.keys, sheet)
        if count:
            figures = "a value it needs is" if count == 1 else f"{count} values it needs are"
            return _Part(UNTESTED, f"{figures} missing: {listed(reasons, REASONS)}")
    notes = (*finding.notes, *_assumed(finding))
    if finding.holds is None:
        widest = max(cell.half_width for cell in finding.cells)
        return _Part(CLOSE, f"{finding.detail}; values are known to ± {100 * widest:.2g} %", notes)
    guessed = dict.fromkeys(f"{cell.line} at {cell.place}" for cell in finding.cells if cell.guessed)
    # If the check holds, `_fitted` reports more; on the source's own GPUs a failure contradicts the model.
    known = fitting is not None if finding.holds else sheet.hardware.own(claim)
    if guessed and not known:
        why = f"the model assumes all parameters behind {listed(list(guessed), REASONS)}"
        return _Part(ASSUMED_BY_MODEL if finding.holds else UNTESTED, f"{why}: {finding.detail}")
    if not finding.holds:
        if sheet.hardware.simulated and not finding.cells and not sheet.hardware.own(claim):
            return _Part(UNTESTED, f"the model states another machine: {finding.detail}", notes)
        return _Part(FAILS, finding.detail, notes)
    if fitting is not None:
        part = _fitted(claim.id, finding, sheet, fitting, notes)
    else:
        part = _unfitted(finding, notes)
    if part.state == HOLDS and sheet.hardware.simulated and is_built_in(check, finding, sheet):
        return _Part(BUILT_IN, finding.detail, notes)
    return part


def _unfitted(finding: CheckResult, notes: tuple[str, ...]) -> _Part:
    """Judges a check that holds where no number is fitted to the source."""
    unknown = dict.fromkeys(
        f"{cell.line} at {cell.place}" for cell in finding.cells if cell.assumed and cell.published is None
    )
    if unknown:
        why = f"the model has assumed numbers behind {listed(list(unknown), REASONS)}, which nobody published"
        return _Part(ASSUMED_BY_MODEL, f"{why}: {finding.detail}", notes)
    return _Part(HOLDS, finding.detail, notes)


def _assumed(finding: CheckResult) -> tuple[str, ...]:
    """Returns a note naming the values of a machine model that rest on assumed parameters."""
    names = dict.fromkeys(f"{cell.line} at {cell.place}" for cell in finding.cells if cell.assumed)
    return (f"assumed parameters of the model are behind {listed(list(names), REASONS)}",) if names else ()


def _fitted(
    claim: str, finding: CheckResult, sheet: Sheet, fitting: Fitting, notes: tuple[str, ...]
) -> _Part:
    """Judges a check that holds on a model with numbers fitted to the source."""
    if not fitting.known or fitting.assumed_from(claim):
        return _Part(BUILT_IN, finding.detail, notes)
    study = sheet.study
    sides: dict[str, list[str]] = {}
    for cell in finding.cells:
        side = fitting.side(sheet.published(study.lines[cell.line], study.places[cell.place]))
        sides.setdefault(side, []).append(f"{cell.line} at {cell.place}")
    unknown = list(dict.fromkeys(sides.get(NEITHER, ())))
    if unknown and fitting.predicts(claim) and not any(cell.guessed for cell in finding.cells):
        note = f"; the model was not fitted to {listed(unknown, REASONS)}, and the claim was held out"
        return _Part(HOLDS, finding.detail + note, notes)
    if unknown:
        why = f"the model has assumed {listed(unknown, REASONS)}, and no published value was held out"
        return _Part(ASSUMED_BY_MODEL, f"{why}: {finding.detail}")
    if HELD_OUT not in sides:
        return _Part(BUILT_IN, finding.detail, notes)
    fitted = list(dict.fromkeys(sides.get(FITTED, ())))
    note = f"; the model is fitted to {listed(fitted, REASONS)}; the rest was held out" if fitted else ""
    return _Part(HOLDS, finding.detail + note, notes)
