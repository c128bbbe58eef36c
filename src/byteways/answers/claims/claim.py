"""A comparison as data: two results, their settings and scope, and the effect with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from byteways.answers.results.summary import Result, ResultGroup
from byteways.base.text import Sentence

#: Two results are equal if the interval of their ratio lies within this of 1.
EQUAL_WITHIN = 0.03

#: A tie decides nothing if the interval of the ratio reaches this factor: a link that runs at four fifths is
#: what a comparison is made to find.
UNDECIDED_FACTOR = 1.25

#: Verdicts on the first of two results.
LEADS, TRAILS, TIE, MIXED, NOT_COMPARED = "leads", "trails", "tie", "mixed", "not-compared"


@dataclass(frozen=True)
class Operand:
    """One side of a comparison: the median over paths of the medians over rounds.

    Unit: bytes/s, nanoseconds or joules per GB. `least` and `most` are the extremes over paths.
    """

    name: str
    value: float
    low: float
    high: float
    least: float
    most: float
    case_ids: tuple[str, ...]
    paths: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...]


@dataclass(frozen=True)
class Reference:
    """What a result is expected to be: a limit, or what results of the same setting are elsewhere.

    Unit of `value`: bytes/s or nanoseconds. `deviation` is the relative standard deviation of a single result
    about it, with its degrees of freedom; 0 for a limit.
    """

    name: Sentence
    value: float
    deviation: float = 0.0
    freedom: float = float("inf")


#: Fields of results that a claim lists as different or shared.
READ: Mapping[str, Callable[[Result], object]] = {
    "interface": lambda cell: cell.record.interface,
    "access": lambda cell: cell.record.access,
    "memory": lambda cell: (cell.variant.source, cell.variant.destination),
    "options": lambda cell: cell.variant.options,
    "environment": lambda cell: cell.variant.environment,
    "path": lambda cell: cell.record.path,
    "executor": lambda cell: cell.record.executor,
    "size": lambda cell: cell.size_bytes,
    "cache": lambda cell: cell.record.cache,
    "counts": lambda cell: cell.record.counts,
    "pattern": lambda cell: cell.record.pattern,
}


@dataclass(frozen=True)
class Claim:
    """A comparison of two results; `effect` is the ratio of the first to the second.

    Rankings make tens of thousands of claims and tell few: what only a told one needs is derived on demand.
    """

    kind: str  # best, difference, odd, moved, contention, …
    verdict: str  # on the first: leads (greater), trails, tie, mixed (paths disagree), not-compared
    quantity: str  # bandwidth, latency, energy
    sides: tuple[Result | ResultGroup, Result | ResultGroup]
    names: tuple[str, str]  # of both sides; '': a description of its settings
    effect: float
    low: float
    high: float
    comparisons: int  # number of comparisons for which the interval holds simultaneously
    pairs: int  # number of paths, or pairs of results, compared individually
    agree: int  # how many of them lead individually
    against: int  # … and how many trail
    reason: Sentence = ""  # why there is no comparison

    @cached_property
    def first(self) -> Operand:
        return operand(self.sides[0], self.names[0])

    @cached_property
    def second(self) -> Operand:
        return operand(self.sides[1], self.names[1])

    @cached_property
    def differs(self) -> tuple[str, ...]:
        """Fields in which the two differ."""
        return tuple(what for what, own, other in self._fields if own != other)

    @cached_property
    def scope(self) -> tuple[tuple[str, str], ...]:
        """Fields of which both have one value, with it."""
        return tuple(
            (what, str(next(iter(own)))) for what, own, other in self._fields if len(own | other) == 1
        )

    @cached_property
    def _fields(self) -> list[tuple[str, set[object], set[object]]]:
        ones, others = map(cells_of, self.sides)
        return [(what, {*map(read, ones)}, {*map(read, others)}) for what, read in READ.items()]

    @cached_property
    def rests_on(self) -> tuple[str, ...]:
        """Kinds of the model's numbers behind simulated results."""
        cells = (cell for side in self.sides for cell in cells_of(side))
        return tuple(dict.fromkeys(what for cell in cells for what in cell.rests_on))

    @property
    def leads(self) -> bool:
        return self.verdict == LEADS

    @property
    def trails(self) -> bool:
        return self.verdict == TRAILS

    @property
    def differ(self) -> bool:
        return self.verdict in (LEADS, TRAILS)

    @property
    def unanimous(self) -> bool:
        return self.pairs in (self.agree, self.against)

    @property
    def undecided(self) -> bool:
        """Whether it is a tie only because its interval is wide, and contains large differences, too."""
        if self.verdict != TIE or not self.low <= 1 <= self.high:
            return False
        return self.low <= 0 or max(self.high, 1 / self.low) >= UNDECIDED_FACTOR

    @property
    def equal(self) -> bool:
        """Whether the two are equal within ALIKE, which is stronger than a tie."""
        near = max(self.high, 1 / self.low) if self.low > 0 else 2.0
        return (
            self.verdict == TIE and near < 1 + EQUAL_WITHIN and not (self.first.doubts or self.second.doubts)
        )

    @property
    def gain(self) -> float:
        """Relative excess of the greater over the other; 0 unless they differ."""
        return max(self.effect, 1 / self.effect) - 1 if self.differ and self.effect > 0 else 0.0

    def turned(self) -> Claim:
        """Returns the claim with its sides swapped."""
        return replace(
            self,
            verdict={LEADS: TRAILS, TRAILS: LEADS}.get(self.verdict, self.verdict),
            sides=self.sides[::-1],
            names=self.names[::-1],
            effect=1 / self.effect if self.effect else 0.0,
            low=1 / self.high if self.high else 0.0,
            high=1 / self.low if self.low else 0.0,
            agree=self.against,
            against=self.agree,
        )

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units."""
        return {
            "kind": self.kind,
            "verdict": self.verdict,
            "quantity": self.quantity,
            "first": asdict(self.first),
            "second": asdict(self.second),
            "differs": self.differs,
            "scope": self.scope,
            "effect": self.effect,
            "low": self.low,
            "high": self.high,
            "comparisons": self.comparisons,
            "pairs": self.pairs,
            "agree": self.agree,
            "against": self.against,
            "reason": self.reason,
            "rests_on": self.rests_on,
        }


def cells_of(result: Result | ResultGroup) -> tuple[Result, ...]:
    return result.cells if isinstance(result, ResultGroup) else (result,)


def operand(result: Result | ResultGroup, name: str = "") -> Operand:
    """Returns a result as one side of a claim."""
    members = cells_of(result)
    record, same = members[0].record, members[0].variant
    settings = (
        ("interface", record.interface),
        ("access", record.access),
        ("source", same.source),
        ("destination", same.destination),
        ("cache", record.cache),
        ("options", same.options.text()),
        ("environment", same.environment.text()),
    )
    values = [cell.value for cell in members]
    return Operand(
        name or same.name,
        result.value,
        result.low,
        result.high,
        min(values),
        max(values),
        tuple(part.record.case_id for cell in members for part in cell.sum_of or cell.between or (cell,)),
        tuple(dict.fromkeys(cell.record.path for cell in members)),
        tuple((what, told) for what, told in settings if told),
        tuple(dict.fromkeys(word for cell in members for word in cell.doubts)),
    )
