"""Which interface is fastest, by kind of pair and size, and which cannot be told from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byteways.analyse.selection import KINDS, kind, unidirectional, variant
from byteways.analyse.summary import Cell, Group, Variant, above, group_by, pool


@dataclass(frozen=True)
class BestEntry:
    """The fastest way for a kind of pair at a size; `ties` lie within its interval."""

    variant: Variant
    group: Group
    ties: tuple[Variant, ...]


@dataclass(frozen=True)
class BestMap:
    sizes: tuple[int, ...]
    rows: tuple[tuple[str, tuple[BestEntry | None, ...]], ...]  # kind of pair and caches, an entry per size


def best_map(found: Sequence[Cell]) -> BestMap | None:
    """Which interface is fastest, by size, kind of pair and whether the caches were cold; of sizes at which
    there is a choice, None without any.
    """
    compared = {}
    for name, words in KINDS.items():
        for cache in ("cold", "warm"):
            members = [
                cell
                for cell in unidirectional(found)
                if kind(cell) == name and cell.record.cache == cache and cell.stays
            ]
            by_size = {
                size: some
                for size, some in group_by(members, lambda cell: cell.record.size_bytes).items()
                if _compares(some)
            }
            if by_size:
                compared[f"{words}, {cache}"] = by_size
    sizes = tuple(sorted({size for by_size in compared.values() for size in by_size}))
    rows = tuple(
        (label, tuple(best(by_size.get(size, [])) for size in sizes)) for label, by_size in compared.items()
    )
    return BestMap(sizes, rows) if rows else None


def _compares(members: Sequence[Cell]) -> bool:
    """Whether there is a choice: two interfaces, or two kinds of memory."""
    return len({(cell.record.interface, cell.variant.host_memory) for cell in members}) > 1


def best(members: Sequence[Cell]) -> BestEntry | None:
    """The fastest variant of these cells, and those that cannot be told from it; None without cells."""
    groups = {same: pool(some) for same, some in group_by(members, variant).items()}
    if not groups:
        return None
    first = max(groups, key=lambda same: groups[same].value)
    ties = tuple(same for same in groups if same != first and not above(groups[first], groups[same]))
    return BestEntry(first, groups[first], ties)
