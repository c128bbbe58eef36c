"""Dips of a curve over size: sizes with a lower rate than both neighbours, in every round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from byteways.answers.best.decisions import decisions, place_of
from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate
from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, is_plain
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size

#: A dip has less than this part of the rate of each neighbour, in every round.
DIP_BELOW = 0.9
#: Two sizes are neighbours up to this factor; farther apart, a curve says nothing of what is between them.
NEIGHBOUR_FACTOR = 4


@dataclass(frozen=True)
class Dip:
    """A result with those of the next smaller and the next larger size on the same path."""

    smaller: Result
    cell: Result
    larger: Result

    @property
    def part(self) -> float:
        """The rate as a part of the lower one of its neighbours."""
        return self.cell.value / min(self.smaller.value, self.larger.value)


def dips(index: Index) -> list[Dip]:
    """Returns all dips of plain transfers over cold caches, the deepest first."""
    plain = [cell for cell in index.singles if is_plain(index.topology, cell)]
    curves = group_by(plain, lambda cell: (cell.variant, cell.record.path))
    all_dips = [dip for curve in curves.values() for dip in _of_curve(curve)]
    return sorted(all_dips, key=lambda dip: dip.part)


def _of_curve(curve: Sequence[Result]) -> Iterator[Dip]:
    ordered = sorted(curve, key=lambda cell: cell.size_bytes)
    for smaller, cell, larger in zip(ordered, ordered[1:], ordered[2:], strict=False):
        near = larger.size_bytes <= NEIGHBOUR_FACTOR**2 * smaller.size_bytes
        if near and _in_every_round(cell, smaller) and _in_every_round(cell, larger):
            yield Dip(smaller, cell, larger)


def _in_every_round(cell: Result, neighbour: Result) -> bool:
    """Whether the result is below its neighbour in each round that has both."""
    own, others = _by_round(cell), _by_round(neighbour)
    shared = own.keys() & others.keys()
    return bool(shared) and all(own[number] < DIP_BELOW * others[number] for number in shared)


def _by_round(cell: Result) -> dict[int, float]:
    values = ((record.round, record.bandwidth_bytes_per_s) for record in cell.records)
    return {number: value for number, value in values if value is not None}


def curve_dips(index: Index) -> Iterator[Finding]:
    """Reports for each kind of pair the deepest dip, and how many there are."""
    for kind, of_kind in group_by(dips(index), lambda dip: dip.cell.kind).items():
        deepest = of_kind[0]
        cell, neighbours = deepest.cell, (deepest.smaller, deepest.larger)
        at = [f"{rate(neighbour)} at {format_size(neighbour.size_bytes)}" for neighbour in neighbours]
        title = (
            f"{PAIR_KINDS[kind]}, {cell.variant.name} dips at {format_size(cell.size_bytes)}: "
            f"{rate(cell)} GB/s, but {' and '.join(at)}"
        )
        more = f" {count(len(of_kind), 'such size')} on all paths." if len(of_kind) > 1 else ""
        detail = f"{cell.record.path}, in every round.{more}"
        results, claims = [cell, *neighbours], [_dip(neighbour, cell) for neighbour in neighbours]
        if other := _better_there(index, cell):
            detail += f" {other.variant.name} reaches {rate(other)} GB/s at this size."
            results.append(other)
        yield finding(title, detail, Priority.CURVE_DIP, results, claims)


def _dip(neighbour: Result, cell: Result) -> Claim:
    return compare(neighbour, cell, kind="dip", across=("size",))


def _better_there(index: Index, cell: Result) -> Result | None:
    """Returns the best alternative on the path at this size; None if that is the result itself."""
    there = decisions(index).part(lambda other: other.record.path == cell.record.path)
    decision = there.at(place_of(index, cell), cell.size_bytes)
    ranking = decision.ranking if decision else None
    if ranking is None or ranking.variant == cell.variant:
        return None
    own = [rival.claim for rival in ranking.rivals if rival.variant == cell.variant]
    return ranking.group.cells[0] if own and own[0].leads else None
