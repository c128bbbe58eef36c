"""The cases of two runs beside each other, as data: found by comparison.py, worded elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import log
from typing import Any

from byteways.answers.claims.claim import UNDECIDED_FACTOR, Claim
from byteways.answers.claims.compare import least_change
from byteways.answers.results.summary import Result
from byteways.cases.interfaces import metric_of
from byteways.questions.bottlenecks.culprits import CaseEvidence, evidence
from byteways.record.record import Record
from byteways.verdicts.two_runs.environments import Difference
from byteways.verdicts.two_runs.pooled import PooledChange
from byteways.verdicts.two_runs.suspects import Suspect, suspect

#: Loss that the comparison of a case must be able to find, or it is not decided: a link at four fifths of its
#: rate is what a comparison is made to find.
DEFAULT_LEAST_EFFECT = 1 - 1 / UNDECIDED_FACTOR


@dataclass(frozen=True)
class PairedCase:
    """A case in two runs. `claim.first` is the later named run's result, `claim.second` the first one's."""

    case: str  # `copy issued by the source, gpu0>gpu1, 1 GiB`
    first: Result
    second: Result
    claim: Claim
    parts: frozenset[str] = frozenset()  # what it involves (culprits.py)
    least_effect: float = DEFAULT_LEAST_EFFECT

    @property
    def speed(self) -> float:
        """The second run's speed relative to the first's: of times, the inverse of their ratio."""
        by_rate = metric_of(self.first.record.interface) == "bandwidth"
        return self.claim.effect if by_rate else 1 / self.claim.effect

    @property
    def interval(self) -> tuple[float, float]:
        """The simultaneous interval of `speed`."""
        low, high = self.claim.low, self.claim.high
        if metric_of(self.first.record.interface) == "bandwidth":
            return low, high
        return (1 / high if high else 0.0), (1 / low if low else float("inf"))

    @property
    def slower(self) -> bool:
        return self.claim.differ and self.speed < 1

    @property
    def faster(self) -> bool:
        return self.claim.differ and self.speed > 1

    @property
    def undecided(self) -> bool:
        """Whether it does not differ by a comparison that would not have found each loss that matters."""
        return not self.claim.differ and least_change(self.claim) > self.least_effect

    @property
    def evidence(self) -> CaseEvidence:
        """What it says of the parts that it involves: affected or not, at which speed."""
        affected = self.slower or self.newly_serialised
        return evidence(self.parts, affected, self.second, self.speed, self.interval[0])

    @property
    def newly_serialised(self) -> bool:
        """Whether flows that should overlap ran one after another in the second run alone."""
        return "serialised" in self.second.warning_ids and "serialised" not in self.first.warning_ids


def moved(pair: PairedCase) -> float:
    """Returns the logarithm of the change of speed, without sign; 0 without a significant difference."""
    return abs(log(pair.speed)) if pair.claim.differ else 0.0


def most_changed(pairs: Iterable[PairedCase]) -> PairedCase:
    """Returns the case that stands for equal ones: the one that changed most; the first without a change.

    A median over equal cases would hide the one that a fault concerns.

    Raises:
        ValueError: There are no cases.
    """
    return max(pairs, key=moved)


@dataclass(frozen=True)
class ComparedCases:
    """Two runs, case by case, the largest differences first."""

    names: tuple[str, str]
    environment: tuple[Difference, ...]
    pairs: tuple[PairedCase, ...]
    not_compared: Mapping[str, int]  # cases in both runs by the reason why they are not compared
    lost: tuple[Record, ...]  # cases with a result in the first run that failed in the second
    only_first: int
    only_second: int
    simulated: bool
    same_gpus: bool  # whether both machines have as many GPUs of each model
    missing_links: tuple[str, ...] = ()  # of the first machine, which the second lacks
    missing: tuple[frozenset[str], ...] = ()  # parts of cases that the second run failed or skipped
    pooled: tuple[PooledChange, ...] = ()  # cases together: all of them first
    least_effect: float = DEFAULT_LEAST_EFFECT

    @cached_property
    def slower(self) -> tuple[PairedCase, ...]:
        return tuple(pair for pair in self.pairs if pair.slower)

    @cached_property
    def faster(self) -> tuple[PairedCase, ...]:
        return tuple(pair for pair in self.pairs if pair.faster)

    @cached_property
    def undecided(self) -> tuple[PairedCase, ...]:
        return tuple(pair for pair in self.pairs if pair.undecided)

    @cached_property
    def affected(self) -> tuple[PairedCase, ...]:
        """The slower cases, and those whose flows were serialised in the second run alone."""
        return tuple(pair for pair in self.pairs if pair.slower or pair.newly_serialised)

    @cached_property
    def suspect(self) -> Suspect | None:
        """What explains affected and missing cases best, of two runs with equal GPUs; None without any."""
        if not self.same_gpus:
            return None
        return suspect(
            [*(pair.evidence for pair in self.pairs), *(CaseEvidence(parts, True) for parts in self.missing)],
            self.missing_links,
        )

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units, with every claim."""
        return {
            "runs": [*self.names],
            "simulated": self.simulated,
            "same_gpus": self.same_gpus,
            "environment": [asdict(one) for one in self.environment],
            "missing_links": [*self.missing_links],
            "suspect": asdict(self.suspect) if self.suspect else None,
            "compared": len(self.pairs),
            "slower_cases": len(self.slower),
            "faster_cases": len(self.faster),
            "undecided_cases": len(self.undecided),
            "least_effect": self.least_effect,
            "together": [one.to_json() for one in self.pooled],
            "missing_cases": len(self.missing),
            "not_compared": dict(self.not_compared),
            "failed": [
                {"case_id": one.case_id, "status": one.status, "reason": one.reason} for one in self.lost
            ],
            "only_first": self.only_first,
            "only_second": self.only_second,
            "cases": [
                {
                    "case": pair.case,
                    "case_id": pair.first.record.case_id,
                    "speed": pair.speed,
                    "speed_interval": [*pair.interval],
                    "least_change": least_change(pair.claim),
                    "claim": pair.claim.to_json(),
                }
                for pair in self.pairs
            ],
        }
