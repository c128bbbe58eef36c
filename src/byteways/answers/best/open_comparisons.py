"""Which comparisons a run has not decided of its first page and of its copy plan, and what would decide them.

The first page shows up to which size of scattered blocks a kernel leads (crossovers.py), and the best
interface of each kind of pair and link class at a few sizes (headline.py). The copy library uses a method
between measured sizes and numbers of blocks only if it leads at all of them (copy_plan.py).

A comparison is open if an alternative ties with the best one although the interval of their ratio is wide, or
although it is ahead or behind by more than equal results may be. Alternatives that trail are out: further
rounds measure those that may still be the best (successive elimination; E. Even-Dar, S. Mannor, Y. Mansour,
J. Mach. Learn. Res. 7, 2006). Comparisons that a run may settle come before those that need more rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, log
from pathlib import Path

from byteways.answers.best.block_copies import block_grids
from byteways.answers.best.copy_plan import copy_plan, without_lead
from byteways.answers.best.crossovers import crossovers
from byteways.answers.best.headline import PAIR_LABELS, Lead, headline
from byteways.answers.claims.claim import EQUAL_WITHIN, TIE, Claim, cells_of
from byteways.answers.claims.wording import UNDECIDED, ratio_between
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result
from byteways.base.errors import BytewaysError
from byteways.base.text import Sentence
from byteways.base.units import format_size
from byteways.cases.block_list import BlockList
from byteways.plan.suite_types import MOST_ROUNDS
from byteways.record.run_folder import RunFolder

#: More rounds than this are not recommended: such a difference is within what runs differ.
MOST_TO_ASK = 100


@dataclass(frozen=True)
class OpenComparison:
    """Two alternatives of which the run does not show the better one."""

    label: Sentence  # of the pairs and of what is moved: "host > GPU at 128 MiB"
    claim: Claim

    @property
    def cells(self) -> tuple[Result, ...]:
        """The results of both sides, in place of interpolated ones those that they lie between."""
        both = (cell for side in self.claim.sides for cell in cells_of(side))
        return tuple(part for cell in both for part in cell.between or (cell,))

    @property
    def interfaces(self) -> list[str]:
        return [cells_of(side)[0].record.interface for side in self.claim.sides]

    @property
    def rounds(self) -> int:
        """The fewest rounds of a result."""
        return min(cell.rounds for cell in self.cells)

    @property
    def rounds_needed(self) -> float:
        """Rounds that would show the difference if it is as measured; infinite if there is none.

        The interval narrows with the square root of the number of rounds.
        """
        half, effect = log(self.claim.high / self.claim.low) / 2, abs(log(self.claim.effect))
        return ceil(self.rounds * (half / effect) ** 2) if effect else inf


def open_comparisons(index: Index) -> list[OpenComparison]:
    """Returns the open comparisons of the first page, in its order, then those of the plan, each once.

    Those that may be settled within MOST_ROUNDS come first.
    """
    found: dict[frozenset[str], OpenComparison] = {}
    for one in _all(index):
        found.setdefault(frozenset(cell.record.case_id for cell in one.cells), one)
    return sorted(found.values(), key=lambda one: one.rounds_needed > MOST_ROUNDS)


def _all(index: Index) -> Iterator[OpenComparison]:
    for found in crossovers(index):
        for one in found.compared:
            if is_open(one.claim):
                yield OpenComparison(f"{PAIR_LABELS[found.place.kind]}, {one.blocks}", one.claim)
    table = headline(index)
    for label, leads in table.rows if table else ():
        for lead in leads:
            if isinstance(lead, Lead):
                interfaces: set[str] = {lead.variant.interface}
                for rival in lead.ranking.rivals:
                    if rival.variant.interface not in interfaces and is_open(rival.claim):
                        interfaces.add(rival.variant.interface)
                        yield OpenComparison(f"{label} at {format_size(lead.size_bytes)}", rival.claim)
    yield from _of_plan(index)


def _of_plan(index: Index) -> Iterator[OpenComparison]:
    """Yields the comparisons that are open, so that the copy library would use the driver's calls."""
    if not block_grids(index):
        return
    try:
        plan = copy_plan(index)
    except BytewaysError:  # a run without what a plan needs has no plan
        return
    for path, cell in without_lead(plan):
        if cell.claim is not None and is_open(cell.claim):
            blocks = BlockList(cell.count, cell.block_bytes)
            yield OpenComparison(f"{path}, {blocks}", cell.claim)


def is_open(claim: Claim) -> bool:
    """Whether further rounds may show a difference."""
    if claim.verdict != TIE or claim.low <= 0 or claim.effect <= 0:
        return False
    return claim.undecided or max(claim.effect, 1 / claim.effect) > 1 + EQUAL_WITHIN


def open_cases(folder: Path) -> list[list[str]]:
    """Returns the identifiers of the cases that each open comparison of a run needs."""
    found = open_comparisons(Index(RunFolder(folder)))
    return [list(dict.fromkeys(cell.record.case_id for cell in one.cells)) for one in found]


def what_is_open(found: Sequence[OpenComparison]) -> str:
    """'not decided: host > GPU at 128 MiB, copy against kernel (0.9 to 1.2 times; 6 rounds would decide)'."""
    first = found[0]
    needed = first.rounds_needed
    remedy = f"{needed:.0f} rounds would decide" if needed <= MOST_TO_ASK else "they may be equal"
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    names = " against ".join(first.interfaces)
    return f"{UNDECIDED}: {first.label}, {names} ({ratio_between([first.claim])}; {remedy}){more}"
