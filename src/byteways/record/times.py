"""Statistics of the samples of one record. Workers make them: nothing heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass

from byteways.record.part_types import TimesFields


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

    def to_json(self) -> TimesFields:
        return {
            "median": self.median,
            "ci95": self.ci95,
            "min": self.min,
            "max": self.max,
            "mean": self.mean,
            "sd": self.sd,
            "n": self.n,
        }
