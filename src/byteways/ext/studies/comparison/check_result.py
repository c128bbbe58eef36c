"""The result of a check, and the range that a check accepts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from byteways.base.text import Sentence
from byteways.ext.studies.comparison.references import ReferencedValue


@dataclass(frozen=True)
class CheckResult:
    """The result of a check on the available values.

    `cells` are the values that decide it. `final`: missing values could not change the result.
    """

    holds: bool | None  # None: too close to call, an interval contains a bound
    detail: Sentence
    cells: tuple[ReferencedValue, ...]
    final: bool = False
    notes: tuple[str, ...] = ()  # how the values differ from what the source measured


@dataclass(frozen=True)
class AcceptedRange:
    """The accepted range of a check: `about` and `within`, or `at_least` and `at_most`."""

    least: float
    most: float
    words: str

    def holds(self, intervals: Iterable[tuple[float, float]]) -> bool | None:
        """Whether all intervals lie in the range; None if one overlaps a bound and none lies outside."""
        ends = list(intervals)
        if any(high < self.least or low > self.most for low, high in ends):
            return False
        return all(self.least <= low and high <= self.most for low, high in ends) or None
