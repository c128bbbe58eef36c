"""Families of comparisons: results of one run that may replace each other.

A claim on two results of a family holds for all pairs of the family's alternatives simultaneously
(family-wise error rate; J. Hsu, Multiple Comparisons, 1996). The number of comparisons depends on the two
results only, so that a pair has one verdict, whichever finding tells it.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING

from byteways.plan.interfaces import INTERFACES
from byteways.plan.options import TIMING

if TYPE_CHECKING:
    from byteways.analyse.summary import Cell, Variant


def pairs_of(alternatives: int) -> int:
    """Returns the number of pairs of alternatives; at least 1."""
    return max(alternatives * (alternatives - 1) // 2, 1)


def job(cell: Cell) -> Hashable:
    """Returns what all results of a family share."""
    record = cell.record
    interface = INTERFACES[record.interface]
    return (
        cell.kind,
        cell.stays,
        record.pattern,
        record.size_bytes,
        record.cache,
        record.counts,
        record.options.get(TIMING.name, TIMING.default),
        interface.figure,
        interface.between_ranks,
    )


class Families:
    """The families of a run, by what their results share."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []

    @cached_property
    def _alternatives(self) -> dict[Hashable, set[Variant]]:
        found: dict[Hashable, set[Variant]] = {}
        for cell in self.cells:
            if cell.ranked:
                found.setdefault(job(cell), set()).add(cell.variant)
        return found

    def comparisons(self, cell: Cell) -> int:
        """Returns the number of pairs of alternatives in the family of this result."""
        return pairs_of(len(self._alternatives.get(job(cell), ())))


def comparisons_within(one: Cell, other: Cell) -> int:
    """Returns the number of comparisons in the family of two alternatives; 1 if they are none of one family.

    Results of one variant on two paths are no alternatives.
    """
    families = one.families
    if families is None or families is not other.families or one.variant == other.variant:
        return 1
    return families.comparisons(one) if job(one) == job(other) else 1
