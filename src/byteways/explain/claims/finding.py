"""A finding: one sentence with its numbers, the results behind it, and its importance.

Every finding carries its claims and results, so that an independent program can compute it again from the
records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from byteways.explain.claims.claim import Claim, Operand, operand
from byteways.explain.claims.phrases import marked
from byteways.explain.results import selection
from byteways.explain.results.summary import Result, ResultGroup
from byteways.record.record import Record

#: Findings from this importance on must be known, whatever the gain.
MUST_KNOW = 800.0
#: Importance of findings with a warning, without significant difference, and on assumed numbers.
WARNED_IMPORTANCE, NO_DIFFERENCE_IMPORTANCE, ASSUMED_IMPORTANCE = 350.0, 250.0, 240.0
#: Findings on assumed numbers are ordered above this, which is below warnings and skipped cases.
LEAST_ASSUMED = 125.0
#: Relative gain whose findings have half the importance of a very large one.
_HALF_GAIN = 0.1


@dataclass(frozen=True)
class Finding:
    """One sentence with its detail and importance (greater first)."""

    title: str
    detail: str
    importance: float
    claims: tuple[Claim, ...] = ()
    results: tuple[Operand, ...] = ()
    rests_on: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units."""
        return {
            **vars(self),
            "claims": [claim.to_json() for claim in self.claims],
            "results": [asdict(result) for result in self.results],
        }


def finding(
    title: str,
    detail: str,
    importance: float,
    results: Sequence[Result | ResultGroup] = (),
    claims: Iterable[Claim] = (),
) -> Finding:
    """Returns a finding on these results, with importance by the reader's gain.

    Args:
        title: The sentence; data warnings of its results are appended.
        detail: The explanation.
        importance: Of its subject, for a very large effect.
        results: The results that it quotes.
        claims: The comparisons that it makes.
    """
    claims = tuple(claims)
    rests_on = dict.fromkeys(what for claim in claims for what in claim.rests_on)
    cells = [cell for one in results for cell in (one.cells if isinstance(one, ResultGroup) else (one,))]
    rests_on |= dict.fromkeys(what for cell in cells for what in cell.rests_on)
    if "assumed" in rests_on:
        detail = f"{detail} Based on assumed parameters of the model.".strip()
    return Finding(
        marked(title, *results),
        detail,
        _importance(importance, cells, claims, "assumed" in rests_on),
        claims,
        tuple(operand(one) for one in results),
        tuple(rests_on),
    )


def _importance(subject: float, cells: Sequence[Result], claims: Sequence[Claim], assumed: bool) -> float:
    told = worth(subject, max((claim.gain for claim in claims), default=_HALF_GAIN))
    if subject < MUST_KNOW:
        if 2 * sum(bool(cell.doubts) for cell in cells) >= max(len(cells), 1):
            told = min(told, WARNED_IMPORTANCE * told / subject)
        if claims and not any(claim.differ for claim in claims):
            told = min(told, NO_DIFFERENCE_IMPORTANCE)
    return if_assumed(told) if assumed else told


def worth(subject: float, gain: float) -> float:
    """Returns the importance of a finding whose relative gain or loss is `gain`."""
    return subject if subject >= MUST_KNOW else subject * (0.5 + 0.5 * gain / (gain + _HALF_GAIN))


def if_assumed(importance: float) -> float:
    """Returns the importance of a finding that rests on a model's assumed numbers."""
    if not LEAST_ASSUMED < importance < MUST_KNOW:
        return importance
    part = (importance - LEAST_ASSUMED) / (MUST_KNOW - LEAST_ASSUMED)
    return LEAST_ASSUMED + part * (ASSUMED_IMPORTANCE - LEAST_ASSUMED)


def cpu_threads(record: Record) -> int | None:
    """Returns the threads of a CPU transfer: blocks × threads of its launch; None if not recorded."""
    launch = record.launch or {}
    if "threads" not in launch:
        return None
    return int(launch.get("blocks") or 1) * int(launch["threads"])


def devices_of(cells: Iterable[Result]) -> list[str]:
    """Returns the devices at either end, in natural order."""
    ends = {device for cell in cells for device in (cell.source.device, cell.destination.device)}
    return sorted(ends, key=selection.device_order)
