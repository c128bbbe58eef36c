"""Families of comparisons: results of one run that may replace each other.

A claim on two results of a family holds for all pairs of the family's alternatives simultaneously
(family-wise error rate; J. Hsu, Multiple Comparisons, 1996). The number of comparisons depends on the two
results only, so that a pair has one verdict, whichever finding tells it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Protocol


class Alternative(Protocol):
    """A result as a member of a family."""

    @property
    def job(self) -> Hashable: ...  # what all results of its family share
    @property
    def variant(self) -> Hashable: ...  # how it does the job
    @property
    def ranked(self) -> bool: ...
    @property
    def families(self) -> Families: ...  # those of its run


class Families:
    """The families of a run."""

    def __init__(self, members: Iterable[Alternative] = ()) -> None:
        self.members = list(members)

    @cached_property
    def _variants(self) -> dict[Hashable, set[Hashable]]:
        variants: dict[Hashable, set[Hashable]] = {}
        for member in self.members:
            if member.ranked:
                variants.setdefault(member.job, set()).add(member.variant)
        return variants

    def comparisons(self, job: Hashable) -> int:
        """Returns the number of pairs of alternatives for a job; at least 1."""
        return pairs_of(len(self._variants.get(job, ())))


def pairs_of(alternatives: int) -> int:
    """Returns the number of pairs of alternatives; at least 1."""
    return max(alternatives * (alternatives - 1) // 2, 1)


def comparisons_within(alternative: Alternative, other: Alternative) -> int:
    """Returns the number of comparisons in the family of two alternatives; 1 if they are none of one family.

    Results of one variant on two paths are no alternatives.
    """
    if (
        alternative.families is not other.families
        or alternative.variant == other.variant
        or alternative.job != other.job
    ):
        return 1
    return alternative.families.comparisons(alternative.job)
