"""The best interface by kind of pair, link class and size, with its ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byteways.explain.best.ranking import Ranking, rank
from byteways.explain.results.index import Index
from byteways.explain.results.selection import PAIR_KINDS, kind, unidirectional
from byteways.explain.results.summary import Result, group_by


@dataclass(frozen=True)
class BestMap:
    """Rankings by size for each kind of pair, link class and cache state; None without alternatives."""

    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[Ranking | None, ...]], ...]


def best_map(index: Index, found: Sequence[Result]) -> BestMap | None:
    """Returns rankings by size, kind of pair, link class and whether caches were cold.

    Only sizes with alternatives are included; None if there are none.
    """
    compared = {}
    order = list(PAIR_KINDS)
    places = group_by(
        [cell for cell in unidirectional(found) if cell.stays and cell.ranked],
        lambda cell: (order.index(kind(cell)), index.link_class(cell), cell.record.cache),
    )
    for (place, link_class, cache), members in sorted(places.items()):
        by_size = {
            size: some
            for size, some in group_by(members, lambda cell: cell.record.size_bytes).items()
            if _compares(some)
        }
        several = len({one for at, one, _ in places if at == place}) > 1
        if by_size:
            words = PAIR_KINDS[order[place]], link_class if several else "", cache
            compared[", ".join(word for word in words if word)] = by_size
    sizes = tuple(sorted({size for by_size in compared.values() for size in by_size}))
    rows = tuple(
        (label, tuple(rank(by_size.get(size, [])) for size in sizes)) for label, by_size in compared.items()
    )
    return BestMap(sizes, rows) if rows else None


def _compares(members: Sequence[Result]) -> bool:
    """Whether there are alternatives: two interfaces or two memory kinds."""
    return len({(cell.record.interface, cell.variant.host_memory) for cell in members}) > 1
