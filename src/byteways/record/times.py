"""Statistics of the samples of one record. Workers make them: nothing heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Times:
    """Statistics over the samples, in nanoseconds per operation."""

    median: float
    ci95: tuple[float, float]
    min: float
    max: float
    mean: float
    sd: float
    n: int
