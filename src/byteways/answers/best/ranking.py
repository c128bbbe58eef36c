"""Ranks the alternatives for one job: the best, and its comparison with each other one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from byteways.answers.best.usual import how_unusual
from byteways.answers.claims.claim import TIE, Claim
from byteways.answers.claims.compare import compare
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.answers.results.variants import Variant
from byteways.cases.interfaces import INTERFACES


@dataclass(frozen=True)
class Rival:
    """An alternative compared with the best one; the claim's first side is the best."""

    variant: Variant
    group: ResultGroup
    claim: Claim


@dataclass(frozen=True)
class Unranked:
    """An alternative that cannot be compared: its batches are too short, or its rounds too few."""

    variant: Variant
    group: ResultGroup


@dataclass(frozen=True)
class Ranking:
    """Alternatives for the same job over the same paths: the best, and its comparison with each other one."""

    variant: Variant
    group: ResultGroup
    rivals: tuple[Rival, ...]  # by value, the greatest first
    default: Rival | None = None  # the best with default settings, if the best of all needs others
    narrow: tuple[Rival, ...] = ()  # measured on few of the paths, by value, the greatest first
    unranked: tuple[Unranked, ...] = ()  # faster by their values

    @property
    def ties(self) -> tuple[Rival, ...]:
        return tuple(one for one in self.rivals if not one.claim.leads)

    @property
    def elsewhere(self) -> tuple[Rival, ...]:
        """Measured on few of the paths, and faster there."""
        return tuple(one for one in self.narrow if one.claim.trails)

    @property
    def slower(self) -> tuple[Rival, ...]:
        return tuple(one for one in self.rivals if one.claim.leads)


def rank(members: Iterable[Result], *, kind: str = "best", prefer: Variant | None = None) -> Ranking | None:
    """Ranks the alternatives among these cells, which must share kind of pair, link class and size.

    An alternative must have been measured on at least half of the paths. None if no cell can be ranked.

    Args:
        members: The results of all alternatives.
        kind: Of the claims.
        prefer: The alternative that is first if the best one does not lead it: the best of a larger number of
            paths, of which these are a part.
    """
    members = [*members]
    ways = _without_front_ends(_by_way(members))
    if not ways:
        return None
    groups = _broad(ways)
    first = _first(groups, len(ways))
    if prefer is not None and prefer in groups and not _leads(groups, first, prefer, len(ways)):
        first = prefer

    def against(variant: Variant, group: ResultGroup) -> Rival:
        return Rival(variant, group, compare(groups[first], group, kind=kind, ways=len(ways)))

    rivals = [against(same, group) for same, group in groups.items() if same != first]
    narrow = [against(same, pool(some)) for same, some in ways.items() if same not in groups]
    rivals = sorted(rivals, key=lambda one: -one.group.value)
    plain = [one for one in rivals if not _settings(one.variant)]
    return Ranking(
        first,
        groups[first],
        tuple(rivals),
        plain[0] if _settings(first) and plain else None,
        tuple(sorted(narrow, key=lambda one: -one.group.value)),
        _unranked(members, ways, ways[first]),
    )


def _unranked(
    members: Iterable[Result], ways: Collection[Variant], best: Sequence[Result]
) -> tuple[Unranked, ...]:
    """Returns the alternatives without any ranked cell whose value is above that of the best one over the
    paths of both, the greatest first.
    """
    others = group_by((cell for cell in members if not cell.ranked), lambda cell: cell.variant)
    found = []
    for same, some in others.items():
        paths = {cell.record.path for cell in some}
        there = [cell for cell in best if cell.record.path in paths]
        shared = {cell.record.path for cell in there}
        here = [cell for cell in some if cell.record.path in shared]
        if here and same not in ways and pool(here).value > pool(there).high:
            found.append(Unranked(same, pool(here)))
    return tuple(sorted(found, key=lambda one: -one.group.value))


def _by_way(members: Iterable[Result]) -> dict[Variant, list[Result]]:
    return group_by((cell for cell in members if cell.ranked), lambda cell: cell.variant)


def _without_front_ends(ways: Mapping[Variant, list[Result]]) -> dict[Variant, list[Result]]:
    """Returns the alternatives without front ends that are as fast as the call that they make.

    A front end is another method only where its own work shows.
    """

    def adds_nothing(same: Variant, some: list[Result]) -> bool:
        calls = [
            pool(ways[other])
            for other in ways
            if other.interface == INTERFACES[same.interface].front_end_of
            and (other.source, other.destination) == (same.source, same.destination)
            and not _settings(other)
        ]
        claims = [compare(pool(some), call, ways=len(ways)) for call in calls]
        return any(not (claim.leads or claim.trails) for claim in claims)

    return {same: some for same, some in ways.items() if not adds_nothing(same, some)}


def _broad(ways: Mapping[Variant, list[Result]]) -> dict[Variant, ResultGroup]:
    """Returns the alternatives that were measured on at least half of the paths."""
    paths = {same: len({cell.record.path for cell in some}) for same, some in ways.items()}
    widest = max(paths.values())
    return {same: pool(some) for same, some in ways.items() if 2 * paths[same] >= widest}


def _first(groups: Mapping[Variant, ResultGroup], ways: int) -> Variant:
    """Returns the alternative of greatest value. If that is too noisy to lead one that the alternative with
    the greatest lower bound leads, and the two tie, returns the latter.
    """
    greatest = max(groups, key=lambda same: groups[same].value)
    steady = max(groups, key=lambda same: groups[same].low)

    if steady != greatest and not _leads(groups, greatest, steady, ways):
        led = [same for same in groups if same != steady and _leads(groups, steady, same, ways)]
        if any(same != greatest and not _leads(groups, greatest, same, ways) for same in led):
            greatest = steady
    return _most_usual(groups, greatest, ways)


def _leads(groups: Mapping[Variant, ResultGroup], one: Variant, other: Variant, ways: int) -> bool:
    return compare(groups[one], groups[other], ways=ways).leads


def _most_usual(groups: Mapping[Variant, ResultGroup], first: Variant, ways: int) -> Variant:
    """Returns the most usual alternative (usual.py) that ties with the best one and that none leads.

    A comparison that its wide interval leaves undecided makes no tie, except with the default settings of the
    best one: settings must show their gain.
    """
    unusual = {same: how_unusual(same, group.cells[0]) for same, group in groups.items()}
    more_usual = [same for same in groups if unusual[same] < unusual[first]]
    for same in sorted(more_usual, key=lambda same: (unusual[same], -groups[same].value)):
        claim = compare(groups[first], groups[same], ways=ways)
        if claim.verdict == TIE and (not claim.undecided or _is_default_of(same, first)):
            others = (other for other in groups if other not in (first, same))
            if not any(_leads(groups, other, same, ways) for other in others):
                return same
    return first


def _is_default_of(same: Variant, first: Variant) -> bool:
    """Whether it is the same method in the same memory with default settings."""
    ends = [(one.interface, one.source, one.destination) for one in (same, first)]
    return ends[0] == ends[1] and not _settings(same)


def _settings(variant: Variant) -> bool:
    """Whether it differs from a program's defaults."""
    return bool(variant.environment or variant.options)
