"""A comparison as data: two results, their settings and scope, and the effect with its interval."""

from __future__ import annotations

from dataclasses import dataclass, replace

from byteways.analyse.summary import Cell, Group

#: Two results are equal if the interval of their ratio lies within this of 1.
ALIKE = 0.03

#: A tie decides nothing if the interval of the ratio reaches this factor: a link that runs at four fifths is
#: what a comparison is made to find.
UNDECIDED = 1.25

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

    name: str
    value: float
    deviation: float = 0.0
    freedom: float = float("inf")


@dataclass(frozen=True)
class Claim:
    """A comparison of two results; `effect` is the ratio of the first to the second."""

    kind: str  # best, difference, odd, moved, contention, …
    verdict: str  # on the first: leads (greater), trails, tie, mixed (paths disagree), not-compared
    quantity: str  # bandwidth, latency, energy
    first: Operand
    second: Operand
    differs: tuple[str, ...]  # fields in which the two differ
    scope: tuple[tuple[str, str], ...]  # fields that both share
    effect: float
    low: float
    high: float
    comparisons: int  # number of comparisons for which the interval holds simultaneously
    pairs: int  # number of paths, or pairs of results, compared individually
    agree: int  # how many of them lead individually
    against: int  # … and how many trail
    reason: str = ""  # why there is no comparison
    rests_on: tuple[str, ...] = ()

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
        return self.low <= 0 or max(self.high, 1 / self.low) >= UNDECIDED

    @property
    def equal(self) -> bool:
        """Whether the two are equal within ALIKE, which is stronger than a tie."""
        near = max(self.high, 1 / self.low) if self.low > 0 else 2.0
        return self.verdict == TIE and near < 1 + ALIKE and not (self.first.doubts or self.second.doubts)

    @property
    def gain(self) -> float:
        """Relative excess of the greater over the other; 0 unless they differ."""
        return max(self.effect, 1 / self.effect) - 1 if self.differ and self.effect > 0 else 0.0

    def turned(self) -> Claim:
        """Returns the claim with its sides swapped."""
        return replace(
            self,
            verdict={LEADS: TRAILS, TRAILS: LEADS}.get(self.verdict, self.verdict),
            first=self.second,
            second=self.first,
            effect=1 / self.effect if self.effect else 0.0,
            low=1 / self.high if self.high else 0.0,
            high=1 / self.low if self.low else 0.0,
            agree=self.against,
            against=self.agree,
        )


def cells_of(result: Cell | Group) -> tuple[Cell, ...]:
    return result.cells if isinstance(result, Group) else (result,)


def operand(result: Cell | Group, name: str = "") -> Operand:
    """Returns a result as one side of a claim."""
    members = cells_of(result)
    record, same = members[0].record, members[0].variant
    settings = (
        ("interface", record.interface),
        ("access", record.access),
        ("source", same.source),
        ("destination", same.destination),
        ("cache", record.cache),
        ("options", same.options),
        ("environment", same.environment),
    )
    values = [cell.value for cell in members]
    return Operand(
        name or same.label(),
        result.value,
        result.low,
        result.high,
        min(values),
        max(values),
        tuple(part.record.case_id for cell in members for part in cell.sum_of or (cell,)),
        tuple(dict.fromkeys(cell.record.path for cell in members)),
        tuple((what, told) for what, told in settings if told),
        tuple(dict.fromkeys(word for cell in members for word in cell.doubts)),
    )
