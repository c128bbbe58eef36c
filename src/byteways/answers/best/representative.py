"""The result that stands for a pair of devices: one rule for the picture of a node, its matrix and its map.

All pairs of one place show the same interface with the same settings: the best over all of them at one
size. So they can be compared: a pair does not look better because one more interface was tried there. A pair
without that interface shows its own best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from byteways.answers.best.decisions import OVER_LINKS, Decision, decisions, place_of
from byteways.answers.best.wording_rankings import faster_elsewhere
from byteways.answers.claims.phrases import sentence
from byteways.answers.results.index import Index
from byteways.answers.results.selection import is_plain_job
from byteways.answers.results.summary import Result, group_by

#: How the rule is called where its results are shown.
RULE = "best method of each link class"
DevicePair = tuple[str, str]


@dataclass(frozen=True)
class Representatives:
    """The results that stand for pairs of different devices, over cold caches.

    They have `size_bytes`, the large size of the run. Where a place was not measured at that size, its own
    large size stands for it.
    """

    size_bytes: int
    cells: Mapping[DevicePair, Result]  # by source and destination
    faster: tuple[str, ...] = ()  # sentences on interfaces that few pairs have, and are faster there


def representatives(index: Index) -> Representatives | None:
    """Returns the result of each pair of different devices; None without any."""
    found = decisions(index, OVER_LINKS)
    chosen = [found.large(place) for place in found.places if place.cold and place.kind not in ("cpu", "gpu")]
    if not chosen:
        return None
    cells: dict[DevicePair, Result] = {}
    for decision in chosen:
        cells |= of_each_pair(decision, _ends)
    return Representatives(found.large_bytes, cells, tuple(_faster(chosen)))


def _faster(chosen: Iterable[Decision]) -> Iterator[str]:
    for decision in chosen:
        if decision.ranking and (elsewhere := faster_elsewhere(decision.ranking, " GB/s")):
            yield sentence(elsewhere)


def representative_of_each_pair(index: Index, cells: Iterable[Result]) -> dict[DevicePair, Result]:
    """Returns the result that stands for each pair.

    Args:
        index: The run.
        cells: Of one pattern, one cache state and one size.
    """
    found: dict[DevicePair, Result] = {}
    for place, alike in group_by(cells, lambda cell: place_of(index, cell)).items():
        plain = tuple(filter(is_plain_job, alike))
        if plain:
            found |= of_each_pair(Decision(place, plain[0].size_bytes, plain), _ends)
        others = group_by([cell for cell in alike if _ends(cell) not in found], _ends)
        found |= {ends: max(some, key=lambda cell: cell.value) for ends, some in others.items()}
    return found


def of_each_pair(decision: Decision, ends: Callable[[Result], DevicePair]) -> dict[DevicePair, Result]:
    """Returns the result of each pair by the best alternative over all of them, or by its own best.

    Args:
        decision: On comparable pairs.
        ends: Names the pair of a result.
    """
    found = {}
    for pair, members in group_by(decision.cells, ends).items():
        best = [cell for cell in members if cell.variant == decision.variant]
        found[pair] = max(best or members, key=lambda cell: cell.value)
    return found


def _ends(cell: Result) -> DevicePair:
    return cell.source.device, cell.destination.device
