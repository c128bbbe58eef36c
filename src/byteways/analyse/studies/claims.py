"""Whether what a source says of its machine is so of the one that was measured: one verdict a claim."""

from __future__ import annotations

from dataclasses import dataclass

from byteways.analyse.studies.cells import Sheet
from byteways.analyse.studies.checks import CHECKS, Finding
from byteways.analyse.studies.fitting import FITTED, HELD_OUT, NEITHER, Fitting
from byteways.analyse.studies.references import UntestableError, gaps, listed
from byteways.studies.study import Claim

HOLDS, FAILS, UNTESTED, BUILT_IN = (
    "holds",
    "does not hold",
    "cannot be tested here",
    "built in",
)
VERDICTS = (HOLDS, FAILS, UNTESTED, BUILT_IN)
#: Reasons that a verdict gives for figures that are missing.
REASONS = 2


@dataclass(frozen=True)
class Verdict:
    """What became of a claim. `detail` has the figures it rests on, or why it cannot be tested."""

    claim: Claim
    verdict: str  # one of VERDICTS
    detail: str
    notes: tuple[str, ...] = ()  # what the figures are of, other than the source's


def judge(claim: Claim, sheet: Sheet, fitting: Fitting | None = None) -> Verdict:
    """The verdict on a claim.

    A figure that the study asks for here and the run does not have leaves a claim untested, unless those that
    there are contradict it whatever that one is.

    Args:
        fitting: Of a machine model with numbers fitted to the claim's source: there a claim that holds is a
            test where it rests on values that were held out.
    """
    try:
        finding = CHECKS[claim.kind](claim.check, sheet)
    except UntestableError as reason:
        return Verdict(claim, UNTESTED, f"because {reason}")
    if not finding.final:
        count, reasons = gaps(claim.check, sheet)
        if count:
            figures = (
                "a figure that it rests on is" if count == 1 else f"{count} figures that it rests on are"
            )
            return Verdict(claim, UNTESTED, f"because {figures} missing: {listed(reasons, REASONS)}")
    if finding.holds and fitting is not None:
        return _fitted(claim, finding, sheet, fitting)
    return Verdict(claim, HOLDS if finding.holds else FAILS, finding.detail, finding.notes)


def _fitted(claim: Claim, finding: Finding, sheet: Sheet, fitting: Fitting) -> Verdict:
    """On a model with numbers fitted to the source, of a claim that holds there."""
    if not fitting.known or fitting.assumed_from(claim.id):
        return Verdict(claim, BUILT_IN, finding.detail, finding.notes)
    study = sheet.study
    sides: dict[str, list[str]] = {}
    for cell in finding.cells:
        side = fitting.side(sheet.published(study.lines[cell.line], study.places[cell.place]))
        sides.setdefault(side, []).append(f"{cell.line} at {cell.place}")
    if unknown := list(dict.fromkeys(sides.get(NEITHER, ()))):
        why = f"the model has assumed {listed(unknown, REASONS)}, and no published value of it was held out"
        return Verdict(claim, UNTESTED, f"because {why}: {finding.detail}")
    if HELD_OUT not in sides:
        return Verdict(claim, BUILT_IN, finding.detail, finding.notes)
    fitted = list(dict.fromkeys(sides.get(FITTED, ())))
    note = f"; the model is fitted to {listed(fitted, REASONS)}, and the rest was held out" if fitted else ""
    return Verdict(claim, HOLDS, finding.detail + note, finding.notes)
