"""A finding: one sentence with its numbers, what it rests on, and how much it matters.

Every finding carries the claims and results that it is made of, so that an independent program can compute it
again from the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from byteways.analyse import selection
from byteways.analyse.claim import Claim, Operand, operand
from byteways.analyse.phrases import marked
from byteways.analyse.summary import Cell, Group
from byteways.results.record import Record

#: From here on a finding is what a reader must know, whatever there is to gain.
MUST_KNOW = 800.0
#: What carries a warning, what is no significant difference and what rests on assumed numbers comes later.
UNSURE, NO_DIFFERENCE, ASSUMED = 350.0, 250.0, 240.0
#: What rests on assumed numbers keeps its order above this, which is beyond warnings and what was skipped.
LEAST_ASSUMED = 125.0
#: A gain of this part is worth half of what a very large one is.
_HALF_GAIN = 0.1


@dataclass(frozen=True)
class Finding:
    """One sentence with its number, the reason behind it, and how much it matters (greater first)."""

    title: str
    detail: str
    importance: float
    claims: tuple[Claim, ...] = ()
    results: tuple[Operand, ...] = ()
    rests_on: tuple[str, ...] = ()


def finding(
    title: str,
    detail: str,
    importance: float,
    results: Sequence[Cell | Group] = (),
    claims: Iterable[Claim] = (),
) -> Finding:
    """A finding on these results, ordered by what a reader would gain.

    Args:
        title: The sentence; what makes its results unsure is added.
        detail: The reason behind it.
        importance: Of its subject, for a very large effect.
        results: What the sentence quotes.
        claims: What it compares.
    """
    claims = tuple(claims)
    rests_on = dict.fromkeys(what for claim in claims for what in claim.rests_on)
    cells = [cell for one in results for cell in (one.cells if isinstance(one, Group) else (one,))]
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


def _importance(subject: float, cells: Sequence[Cell], claims: Sequence[Claim], assumed: bool) -> float:
    told = worth(subject, max((claim.gain for claim in claims), default=_HALF_GAIN))
    if subject < MUST_KNOW:
        if 2 * sum(bool(cell.doubts) for cell in cells) >= max(len(cells), 1):
            told = min(told, UNSURE * told / subject)
        if claims and not any(claim.differ for claim in claims):
            told = min(told, NO_DIFFERENCE)
    return if_assumed(told) if assumed else told


def worth(subject: float, gain: float) -> float:
    """The importance of a finding of this subject by which a part of `gain` is won, or was lost."""
    return subject if subject >= MUST_KNOW else subject * (0.5 + 0.5 * gain / (gain + _HALF_GAIN))


def if_assumed(importance: float) -> float:
    """The importance of a finding that rests on assumed numbers of a model."""
    if not LEAST_ASSUMED < importance < MUST_KNOW:
        return importance
    part = (importance - LEAST_ASSUMED) / (MUST_KNOW - LEAST_ASSUMED)
    return LEAST_ASSUMED + part * (ASSUMED - LEAST_ASSUMED)


def cpu_threads(record: Record) -> int | None:
    """Threads that a CPU's transfer ran on: blocks × threads of its launch, None when not recorded."""
    launch = record.launch or {}
    if "threads" not in launch:
        return None
    return int(launch.get("blocks") or 1) * int(launch["threads"])


def devices_of(cells: Iterable[Cell]) -> list[str]:
    """Devices on either end, as people count them."""
    ends = {device for cell in cells for device in (cell.source.device, cell.destination.device)}
    return sorted(ends, key=selection.device_order)
