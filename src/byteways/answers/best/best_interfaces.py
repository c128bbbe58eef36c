"""Maps of the best interface by kind of pair, link class and size, also by kind of host memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass

from byteways.answers.best.decisions import TRANSFERS, Constraints, Decision, Decisions, Place, decisions
from byteways.answers.best.ranking import Ranking
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS
from byteways.answers.results.summary import Result


@dataclass(frozen=True)
class BestMap:
    """Rankings by size for each kind of pair, link class and cache state; None without alternatives."""

    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[Ranking | None, ...]], ...]


def best_map(index: Index) -> BestMap | None:
    """Returns rankings by size, kind of pair, link class and whether caches were cold.

    Only sizes with two interfaces or two kinds of memory are included; None if there are none.
    """
    found = decisions(index)
    places = [place for place in found.places if place.nearest]
    several = Counter((place.kind, place.cold) for place in places)

    def label(place: Place) -> str:
        link_class = place.link_class if several[place.kind, place.cold] > 1 else ""
        words = PAIR_KINDS[place.kind], link_class, "cold" if place.cold else "warm"
        return ", ".join(filter(None, words))

    return _map({label(place): _compared(found, place, _alternatives) for place in places})


def map_by_memory(index: Index) -> BestMap | None:
    """Returns rankings over cold caches by size, kind of pair, link class and kind of host memory.

    Only sizes with two interfaces are included; None if there are none.
    """
    whole = decisions(index)
    memories = {cell.variant.host_memory for cell in index.cells if TRANSFERS.admits(cell)}
    rows: dict[tuple[int, str, str], dict[int, Ranking]] = {}
    order = [*PAIR_KINDS]
    for memory in memories:
        found = decisions(index, Constraints(host_memory=memory)) if len(memories) > 1 else whole
        for place in found.plain_places():
            key = order.index(place.kind), place.link_class, memory
            rows[key] = _compared(found, place, _interfaces)
    labels = {
        ", ".join(filter(None, (PAIR_KINDS[order[place]], link_class, memory))): by_size
        for (place, link_class, memory), by_size in sorted(rows.items())
    }
    return _map(labels)


def _map(rows: dict[str, dict[int, Ranking]]) -> BestMap | None:
    sizes = sorted({size for by_size in rows.values() for size in by_size})
    filled = {label: by_size for label, by_size in rows.items() if by_size}
    if not filled:
        return None
    return BestMap(
        tuple(sizes),
        tuple((label, tuple(map(by_size.get, sizes))) for label, by_size in filled.items()),
    )


def _compared(
    found: Decisions, place: Place, alternatives: Callable[[Collection[Result]], int]
) -> dict[int, Ranking]:
    """Returns the rankings by size where there are at least two alternatives."""
    rankings = {}
    for size in found.sizes(place):
        decision = found.at(place, size)
        if decision and alternatives(_ranked(decision)) > 1 and decision.ranking:
            rankings[size] = decision.ranking
    return rankings


def _ranked(decision: Decision) -> list[Result]:
    return [cell for cell in decision.cells if cell.ranked]


def _alternatives(cells: Collection[Result]) -> int:
    """The number of interfaces with their kinds of memory."""
    return len({(cell.record.interface, cell.variant.host_memory) for cell in cells})


def _interfaces(cells: Collection[Result]) -> int:
    return len({cell.record.interface for cell in cells})
