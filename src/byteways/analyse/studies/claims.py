"""Whether what a source says of its machine is so of the one that was measured: one verdict a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byteways.analyse.studies.cells import Sheet
from byteways.analyse.studies.checks import CHECKS, Finding
from byteways.analyse.studies.fitting import FITTED, HELD_OUT, NEITHER, Fitting
from byteways.analyse.studies.references import UntestableError, gaps, listed
from byteways.analyse.studies.verdicts import BUILT_IN, CLOSE, CONTRADICTED, FAILS, HOLDS, UNTESTED
from byteways.studies.study import Check, Claim

#: Reasons that a verdict gives for figures that are missing.
REASONS = 2
#: Of several checks that all have to hold, the first of these that there is decides; of readings of which
#: one is enough, the first of those.
_ALL = (FAILS, UNTESTED, CLOSE, HOLDS, BUILT_IN)
_ANY = (HOLDS, BUILT_IN, UNTESTED, CLOSE, FAILS)


@dataclass(frozen=True)
class Verdict:
    """What became of a claim. `detail` has the figures it rests on, or why it cannot be tested."""

    claim: Claim
    verdict: str  # one of VERDICTS
    detail: str
    notes: tuple[str, ...] = ()  # what the figures are of, other than the source's

    @property
    def contradicted(self) -> bool:
        return self.verdict in CONTRADICTED


@dataclass(frozen=True)
class _Part:
    """What became of one check: `state` is one of _ALL."""

    state: str
    detail: str
    notes: tuple[str, ...] = ()


def judge(claim: Claim, sheet: Sheet, fitting: Fitting | None = None) -> Verdict:
    """The verdict on a claim.

    A figure that the study asks for here and the run does not have leaves a claim untested, unless those that
    there are contradict it whatever that one is.

    Args:
        fitting: Of a machine model with numbers fitted to the claim's source: there a claim that holds is a
            test where it rests on values that were held out.
    """
    if reason := sheet.hardware.elsewhere(claim):
        return Verdict(claim, UNTESTED, f"because {reason}")
    whole = _all([_part(check, claim, sheet, fitting) for check in claim.checks])
    if whole.state != FAILS:
        lead = "because " if whole.state == UNTESTED else ""
        return Verdict(claim, whole.state, lead + whole.detail, whole.notes)
    verdict, notes = sheet.hardware.contradicted(claim)
    return Verdict(claim, verdict, whole.detail, tuple(dict.fromkeys((*whole.notes, *notes))))


def _part(check: Check, claim: Claim, sheet: Sheet, fitting: Fitting | None) -> _Part:
    if check.readings:
        return _any([_part(reading, claim, sheet, fitting) for reading in check.readings])
    found = _leaf(check, claim, sheet, fitting)
    detail = f"{check.note}: {found.detail}" if check.note else found.detail
    return _Part(found.state, detail, found.notes)


def _all(parts: Sequence[_Part]) -> _Part:
    """Of checks that all have to hold: those that decide, then the rest, each with its own state."""
    state = next(one for one in _ALL if any(part.state == one for part in parts))
    deciding = list(dict.fromkeys(part.detail for part in parts if part.state == state))
    rest = [f"{part.state}: {part.detail}" for part in parts if part.state != state]
    return _Part(state, " · ".join([*deciding, *rest]), _notes(parts))


def _any(parts: Sequence[_Part]) -> _Part:
    """Of readings of which one is enough: that one, or all of them where none holds."""
    state = next(one for one in _ANY if any(part.state == one for part in parts))
    those = [part for part in parts if part.state == state]
    if state in (HOLDS, BUILT_IN):
        those = those[:1]
    return _Part(state, ", or ".join(part.detail for part in those), _notes(those))


def _notes(parts: Sequence[_Part]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for part in parts for note in part.notes))


def _leaf(check: Check, claim: Claim, sheet: Sheet, fitting: Fitting | None) -> _Part:
    """A check by itself."""
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
    # A fit says more of what holds, and on the source's own GPUs it is the model that is contradicted.
    known = fitting is not None if finding.holds else sheet.hardware.own(claim)
    if guessed and not known:
        why = f"the model assumes all parameters behind {listed(list(guessed), REASONS)}"
        return _Part(UNTESTED, f"{why}: {finding.detail}")
    if not finding.holds:
        return _Part(FAILS, finding.detail, notes)
    if fitting is not None:
        return _fitted(claim.id, finding, sheet, fitting, notes)
    return _Part(HOLDS, finding.detail, notes)


def _assumed(finding: Finding) -> tuple[str, ...]:
    """Of figures of a machine model: what of them nobody published."""
    found = dict.fromkeys(f"{cell.line} at {cell.place}" for cell in finding.cells if cell.assumed)
    return (f"assumed parameters of the model are behind {listed(list(found), REASONS)}",) if found else ()


def _fitted(claim: str, finding: Finding, sheet: Sheet, fitting: Fitting, notes: tuple[str, ...]) -> _Part:
    """On a model with numbers fitted to the source, of a check that holds there."""
    if not fitting.known or fitting.assumed_from(claim):
        return _Part(BUILT_IN, finding.detail, notes)
    study = sheet.study
    sides: dict[str, list[str]] = {}
    for cell in finding.cells:
        side = fitting.side(sheet.published(study.lines[cell.line], study.places[cell.place]))
        sides.setdefault(side, []).append(f"{cell.line} at {cell.place}")
    if unknown := list(dict.fromkeys(sides.get(NEITHER, ()))):
        why = f"the model has assumed {listed(unknown, REASONS)}, and no published value was held out"
        return _Part(UNTESTED, f"{why}: {finding.detail}")
    if HELD_OUT not in sides:
        return _Part(BUILT_IN, finding.detail, notes)
    fitted = list(dict.fromkeys(sides.get(FITTED, ())))
    note = f"; the model is fitted to {listed(fitted, REASONS)}; the rest was held out" if fitted else ""
    return _Part(HOLDS, finding.detail + note, notes)
