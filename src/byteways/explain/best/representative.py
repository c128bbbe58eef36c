"""The result that stands for a pair of devices: one rule for the picture of a node, its matrix and its map.

All pairs of one kind and link class show the same way, the best over all of them at one size. So they can be
compared: a pair does not look better because one more way was tried there. A pair without that way shows its
own best. Host memory that is not nearest to the GPU makes a class of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from byteways.explain.best.ranking import best_of, rank
from byteways.explain.best.wording_rankings import faster_elsewhere
from byteways.explain.claims.phrases import sentence
from byteways.explain.results.index import Index
from byteways.explain.results.selection import broadest_size, by_nearest, is_plain_job, kind, unidirectional
from byteways.explain.results.summary import Result, group_by
from byteways.explain.results.variants import Variant

#: How the rule is called where its results are shown.
RULE = "best way of each link class"
DevicePair = tuple[str, str]


@dataclass(frozen=True)
class Representatives:
    """The results that stand for pairs of different devices, over cold caches.

    They have `size_bytes`, near the largest with most paths. Where a kind and link class was not measured at
    that size, its own such size stands for it.
    """

    size_bytes: int
    cells: Mapping[DevicePair, Result]  # by source and destination
    faster: tuple[str, ...] = ()  # sentences on ways that few pairs of a class have, and are faster there


def representatives(index: Index) -> Representatives | None:
    """Returns the result of each pair of different devices; None without any."""
    cells = [
        cell
        for cell in unidirectional(index.cells)
        if cell.record.cache == "cold" and _ends(cell)[0] != _ends(cell)[1] and is_plain_job(cell)
    ]
    if not cells:
        return None
    # NUMA domains among themselves count where there are no GPUs.
    shown = [cell for cell in cells if any(end.startswith("gpu") for end in _ends(cell))] or cells
    size = broadest_size([cell for cell in shown if by_nearest(cell, index.topology)] or shown)
    chosen: list[Result] = []
    for alike in group_by(cells, lambda cell: _class(index, cell)).values():
        sizes = group_by(alike, lambda cell: cell.record.size_bytes)
        chosen += sizes.get(size) or sizes[broadest_size(alike)]
    return Representatives(size, representative_of_each_pair(index, chosen), tuple(_faster(index, chosen)))


def _faster(index: Index, chosen: Iterable[Result]) -> Iterator[str]:
    for alike in group_by(filter(is_plain_job, chosen), lambda cell: _class(index, cell)).values():
        ranking = rank(alike)
        if ranking and (said := faster_elsewhere(ranking, " GB/s")):
            yield sentence(said)


def representative_of_each_pair(index: Index, cells: Iterable[Result]) -> dict[DevicePair, Result]:
    """Returns the result that stands for each pair.

    Args:
        index: The run.
        cells: Of one pattern and one cache state, each class at one size.
    """
    found: dict[DevicePair, Result] = {}
    for alike in group_by(cells, lambda cell: _class(index, cell)).values():
        plain = [cell for cell in alike if is_plain_job(cell)]
        found |= by_one_variant(plain, _ends)
        others = group_by([cell for cell in alike if _ends(cell) not in found], _ends)
        found |= {ends: max(some, key=lambda cell: cell.value) for ends, some in others.items()}
    return found


def by_one_variant(alike: Sequence[Result], ends: Callable[[Result], DevicePair]) -> dict[DevicePair, Result]:
    """Returns the result of each pair by the best way over all of them, or by its own best.

    Args:
        alike: Results of comparable pairs at one size.
        ends: Names the pair of a result.
    """
    way = best_way(alike) if alike else None
    found = {}
    for pair, members in group_by(alike, ends).items():
        same = [cell for cell in members if cell.variant == way]
        found[pair] = max(same or members, key=lambda cell: cell.value)
    return found


def best_way(alike: Sequence[Result]) -> Variant:
    """Returns the best way by the ranking; without one, the greatest median of those on most paths.

    Args:
        alike: Results of comparable pairs at one size.
    """
    best = best_of(alike)
    if best is not None:
        return best
    ways = group_by(alike, lambda cell: cell.variant)
    return max(ways, key=lambda same: (len(ways[same]), median(cell.value for cell in ways[same])))


def _ends(cell: Result) -> DevicePair:
    return cell.source.device, cell.destination.device


def _class(index: Index, cell: Result) -> tuple[str, str, bool]:
    known = {*_ends(cell)} <= {*index.topology.names()}
    return kind(cell), index.link_class(cell) if known else "", by_nearest(cell, index.topology)
