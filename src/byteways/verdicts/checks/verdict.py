"""Verdicts on the cases of a run and on all of it, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from byteways.answers.claims.claim import Claim, cells_of
from byteways.answers.claims.compare import HasInterval, least_change
from byteways.answers.claims.wording import UNDECIDED
from byteways.base.text import Sentence
from byteways.questions.bottlenecks.culprits import CaseEvidence, evidence
from byteways.verdicts.two_runs.paired_cases import DEFAULT_LEAST_EFFECT
from byteways.verdicts.two_runs.suspects import Suspect, suspect

PASS, FAIL, HIGH, UNKNOWN, MISSING = "PASS", "FAIL", "HIGH", "UNKNOWN", "MISSING"
#: Not significantly slower, by a comparison too wide to find each loss that matters.
NOT_DECIDED = UNDECIDED.upper()
#: In order of importance.
CHECK_VERDICTS = (FAIL, MISSING, HIGH, NOT_DECIDED, PASS, UNKNOWN)
#: The number of a verdict in time series, larger where it is worse: `>= 4` fails.
VERDICT_CODES = {PASS: 0, HIGH: 1, UNKNOWN: 2, NOT_DECIDED: 3, MISSING: 4, FAIL: 5}
#: Verdicts that make a check fail. A result is never rejected for being too good.
FAILING = (FAIL, MISSING)
#: Least relative difference from a run or from normal results that is FAIL or HIGH: equal machines differ by
#: up to 4 % in bandwidth between GPUs (validation/normal.py).
DEFAULT_TOLERANCE = 0.05


@dataclass(frozen=True)
class Bounds:
    """What decides on a case, as parts of 1."""

    tolerance: float = DEFAULT_TOLERANCE  # least difference that is FAIL or HIGH
    least_effect: float = DEFAULT_LEAST_EFFECT  # loss that a PASS must have been able to find

    def verdict(self, found: HasInterval, *, slower: bool, faster: bool, slowest: float) -> str:
        """Returns the verdict on a change in speed.

        Args:
            found: The comparison, for what it would have found.
            slower: Whether the loss is significant and not tolerated.
            faster: The same of a gain.
            slowest: Lower end of the interval of the speed, relative to what is expected.
        """
        if slower or faster:
            return FAIL if slower else HIGH
        excluded = slowest >= 1 - self.least_effect
        return PASS if excluded or least_change(found) <= self.least_effect else NOT_DECIDED


@dataclass(frozen=True)
class CaseLabels:
    """What a case is, by which programs select it."""

    source: str = ""  # a device: `gpu0`
    destination: str = ""
    method: str = ""  # `copy issued by the source`
    size_bytes: int = 0
    pattern: str = ""


@dataclass(frozen=True)
class Judged:
    """The verdict on one case. Values are in bytes/s (`figure` "bandwidth") or nanoseconds."""

    verdict: str
    case: Sentence  # `copy issued by the source, gpu0>gpu1, 1 GiB`
    case_id: str = ""  # '' for what is no case: a link, a GPU, a limit
    figure: str = ""
    value: float | None = None
    expected: float | None = None
    speed: float | None = None  # value relative to what is expected; of times the inverse
    interval: tuple[float, float] | None = None  # of `speed`, simultaneous over all cases
    basis: Sentence = ""  # what the expectation rests on: `3 machines`, `at least 380 GB/s`
    reason: Sentence = ""  # why it is MISSING or UNKNOWN, or FAIL without a result
    parts: frozenset[str] = frozenset()  # what it involves (culprits.py)
    claim: Claim | None = None
    least_change: float | None = None  # the least loss that would have been found, as a part of 1
    labels: CaseLabels | None = None  # None for what is no case

    @property
    def failing(self) -> bool:
        return self.verdict in FAILING

    @property
    def evidence(self) -> CaseEvidence:
        """What it says of the parts that it involves: failing or not, at which speed."""
        if self.claim is None or self.speed is None or self.interval is None:
            return CaseEvidence(self.parts, self.failing)
        result = cells_of(self.claim.sides[0])[0]
        return evidence(self.parts, self.failing, result, self.speed, self.interval[0])

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units; None where there is no number."""
        told = {**vars(self), "parts": sorted(self.parts), "interval": None}
        told |= asdict(told.pop("labels") or CaseLabels())
        if self.interval is not None:
            told["interval"] = [one if one < float("inf") else None for one in self.interval]
        return {**told, "claim": self.claim.to_json() if self.claim else None}


@dataclass(frozen=True)
class CheckedCases:
    """The verdicts on a run, the worst first: found by check.py, worded elsewhere."""

    run: str
    against: str
    host: str
    finished_at: datetime | None  # of the run
    cases: tuple[Judged, ...]
    marks: tuple[str, ...] = ()  # lines that say what was simulated
    missing_links: tuple[str, ...] = ()  # of the reference's machine, which this one lacks
    notes: tuple[str, ...] = field(default=())
    together: tuple[Judged, ...] = ()  # cases pooled: all of the run first, then by class of links
    least_effect: float = DEFAULT_LEAST_EFFECT
    strict: bool = False  # whether a case that is NOT DECIDED fails

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of cases by verdict, in the order of VERDICTS."""
        found = Counter(one.verdict for one in self.cases)
        return {verdict: found[verdict] for verdict in CHECK_VERDICTS}

    @property
    def verdict(self) -> str:
        """The verdict on the run: PASS, FAIL, NOT DECIDED, or UNKNOWN if no case could be judged.

        It passes if nothing fails and at least half of the judged cases were decided, or all together.
        """
        if any(one.failing for one in self.everything):
            return FAIL
        if not self.judged:
            return UNKNOWN
        undecided = self.counts[NOT_DECIDED]
        together = bool(self.together) and self.together[0].verdict in (PASS, HIGH)
        if (self.strict and undecided) or (2 * undecided > self.judged and not together):
            return NOT_DECIDED
        return PASS

    @property
    def judged(self) -> int:
        """Number of cases with a verdict other than UNKNOWN."""
        return len(self.cases) - self.counts[UNKNOWN]

    @property
    def failed(self) -> bool:
        return self.verdict == FAIL or (self.strict and self.verdict == NOT_DECIDED)

    @cached_property
    def failing(self) -> tuple[Judged, ...]:
        """The cases that fail."""
        return tuple(one for one in self.cases if one.failing)

    @property
    def everything(self) -> tuple[Judged, ...]:
        """All verdicts: on cases together, then on each."""
        return (*self.together, *self.cases)

    @cached_property
    def undecided(self) -> tuple[Judged, ...]:
        return tuple(one for one in self.cases if one.verdict == NOT_DECIDED)

    @cached_property
    def suspect(self) -> Suspect | None:
        """What most failing cases have in common; None without any."""
        judged = [one.evidence for one in self.cases if one.verdict != UNKNOWN and one.parts]
        return suspect(judged, self.missing_links)

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units, with every claim."""
        return {
            "run": self.run,
            "against": self.against,
            "host": self.host,
            "marks": [*self.marks],
            "verdict": self.verdict,
            "failed": self.failed,
            "counts": self.counts,
            "least_effect": self.least_effect,
            "strict": self.strict,
            "suspect": asdict(self.suspect) if self.suspect else None,
            "missing_links": [*self.missing_links],
            "notes": [*self.notes],
            "together": [one.to_json() for one in self.together],
            "cases": [one.to_json() for one in self.cases],
        }
