"""A finding: one sentence with its numbers, the results behind it, and its importance.

Every finding carries its claims and results, so that an independent program can compute it again from the
records.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from byteways.answers.claims.claim import Claim, Operand, operand
from byteways.answers.claims.importance import (
    HALF_GAIN,
    MUST_KNOW,
    NO_DIFFERENCE_IMPORTANCE,
    WARNED_IMPORTANCE,
    Priority,
    if_assumed,
    worth,
)
from byteways.answers.claims.phrases import marked
from byteways.answers.results import selection
from byteways.answers.results.summary import Result, ResultGroup
from byteways.base.text import Sentence
from byteways.record.record import Record


@dataclass(frozen=True)
class Finding:
    """One sentence with its detail, its entry in the list of findings, and its importance (greater first)."""

    sentence: Sentence
    detail: Sentence
    priority: Priority
    importance: float
    claims: tuple[Claim, ...] = ()
    results: tuple[Operand, ...] = ()
    rests_on: tuple[str, ...] = ()
    about: tuple[Hashable, ...] = ()  # what it names, except figures, if others may name it, too
    data: Mapping[str, Any] = field(default_factory=dict)  # what the sentence says, in fields, for programs
    simulated: bool = False
    traits: str = ""  # in what it differs from another finding about the same

    @property
    def title(self) -> Sentence:
        """The sentence as it can be quoted alone."""
        lead = "Simulated: " if self.simulated else ""
        return f"{lead}{self.sentence}{f' [{self.traits}]' if self.traits else ''}"

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units."""
        return {
            "title": self.title,
            "detail": self.detail,
            "importance": self.importance,
            "claims": [claim.to_json() for claim in self.claims],
            "results": [asdict(result) for result in self.results],
            "rests_on": self.rests_on,
            **({"data": dict(self.data)} if self.data else {}),
        }


def finding(
    title: str,
    detail: str,
    priority: Priority,
    results: Sequence[Result | ResultGroup] = (),
    claims: Iterable[Claim] = (),
    *,
    more: float = 0.0,
    about: tuple[Hashable, ...] = (),
) -> Finding:
    """Returns a finding on these results, with importance by the reader's gain.

    Args:
        title: The sentence; data warnings of its results are appended.
        detail: The explanation.
        priority: Its entry in the list of findings.
        results: The results that it quotes.
        claims: The comparisons that it makes.
        more: Orders several findings of one entry; added to its weight.
        about: All that the title names except figures, where other findings may name the same.
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
        priority,
        _importance(priority.weight + more, cells, claims, "assumed" in rests_on),
        claims,
        tuple(operand(one) for one in results),
        tuple(rests_on),
        about,
    )


def notice(title: str, detail: str, priority: Priority) -> Finding:
    """Returns a finding that quotes no results: its importance is the weight of its entry."""
    return Finding(title, detail, priority, priority.weight)


def _importance(weight: float, cells: Sequence[Result], claims: Sequence[Claim], assumed: bool) -> float:
    importance = worth(weight, max((claim.gain for claim in claims), default=HALF_GAIN))
    if weight < MUST_KNOW:
        if 2 * sum(bool(cell.doubts) for cell in cells) >= max(len(cells), 1):
            importance = min(importance, WARNED_IMPORTANCE * importance / weight)
        if claims and not any(claim.differ for claim in claims):
            importance = min(importance, NO_DIFFERENCE_IMPORTANCE)
    return if_assumed(importance) if assumed else importance


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
