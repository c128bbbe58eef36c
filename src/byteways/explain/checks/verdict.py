"""Verdicts on the cases of a run and on all of it, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from byteways.explain.bottlenecks.culprits import CaseEvidence, evidence
from byteways.explain.claims.claim import Claim, cells_of
from byteways.explain.two_runs.suspects import Suspect, suspect

PASS, LOW, HIGH, UNKNOWN, MISSING = "PASS", "LOW", "HIGH", "UNKNOWN", "MISSING"
#: In order of importance: the verdict on a run is the first one that any case has, but PASS before UNKNOWN.
CHECK_VERDICTS = (LOW, MISSING, HIGH, PASS, UNKNOWN)
#: Verdicts that make a check fail. A result is never rejected for being too good.
FAILING = (LOW, MISSING)
#: Least relative difference from a run or from normal results that is LOW or HIGH: equal machines differ by
#: up to 4 % in bandwidth between GPUs (validation/normal.py).
DEFAULT_TOLERANCE = 0.05


@dataclass(frozen=True)
class Judged:
    """The verdict on one case. Values are in bytes/s (`figure` "bandwidth") or nanoseconds."""

    verdict: str
    case: str  # `copy, write, gpu0>gpu1, 1 GiB`
    case_id: str = ""  # '' for what is no case: a link, a GPU, a limit
    figure: str = ""
    value: float | None = None
    expected: float | None = None
    speed: float | None = None  # value relative to what is expected; of times the inverse
    interval: tuple[float, float] | None = None  # of `speed`, simultaneous over all cases
    basis: str = ""  # what the expectation rests on: `3 machines`, `at least 380 GB/s`
    reason: str = ""  # why it is MISSING or UNKNOWN
    parts: frozenset[str] = frozenset()  # what it involves (culprits.py)
    claim: Claim | None = None

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

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of cases by verdict, in the order of VERDICTS."""
        found = Counter(one.verdict for one in self.cases)
        return {verdict: found[verdict] for verdict in CHECK_VERDICTS}

    @property
    def verdict(self) -> str:
        """The verdict on the run: UNKNOWN if no case could be judged."""
        return next((verdict for verdict in CHECK_VERDICTS if self.counts[verdict]), UNKNOWN)

    @property
    def judged(self) -> int:
        """Number of cases with a verdict other than UNKNOWN."""
        return len(self.cases) - self.counts[UNKNOWN]

    @property
    def failed(self) -> bool:
        return self.verdict in FAILING

    @cached_property
    def failing(self) -> tuple[Judged, ...]:
        return tuple(one for one in self.cases if one.failing)

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
            "counts": self.counts,
            "suspect": asdict(self.suspect) if self.suspect else None,
            "missing_links": [*self.missing_links],
            "notes": [*self.notes],
            "cases": [one.to_json() for one in self.cases],
        }
