"""Data of the part of the page that answers "which way from here to there, at this size?".

The page selects and shows; every comparison is made here, by the claims of analyse/compare.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byteways.analyse.claim import LEADS, TIE
from byteways.analyse.phrases import supported
from byteways.analyse.ranking import Ranking, rank
from byteways.analyse.results_index import Index
from byteways.analyse.selection import (
    broadest_size,
    concurrent,
    kind,
    label_order,
    unidirectional,
)
from byteways.analyse.summary import Cell, group_by
from byteways.analyse.wording import ALIKE, LEADER, NOT_RANKED, less
from byteways.topology.routes import route
from byteways.units import format_size


@dataclass(frozen=True)
class Explorer:
    """`data` is for the page's script; the rest is for its controls."""

    data: Mapping[str, Any]
    sizes: tuple[tuple[int, str], ...]  # index in the data, text
    ways: tuple[tuple[int, str], ...]
    size: int  # index of the size shown first
    pair: str  # "gpu0>gpu1", shown first
    bidirectional: bool
    has_peaks: bool
    accesses: bool  # whether both reads and writes were measured


class _Words:
    """Texts by number, so that the page has each of them once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def explorer(index: Index, worded: Callable[[str], str]) -> Explorer | None:
    """Returns the data of all transfers between two buffers over cold caches; None without any.

    Args:
        index: The run.
        worded: Replaces claims of measuring in texts of a simulated run.
    """
    single = [cell for cell in unidirectional(index.cells) if cell.record.cache == "cold"]
    both = [
        cell
        for cell in concurrent(index.cells)
        if cell.record.pattern == "bidirectional" and cell.record.cache == "cold"
    ]
    cells = [*single, *both]
    if not single:
        return None
    sizes = sorted({cell.record.size_bytes for cell in cells})
    devices = sorted({end for cell in cells for end in _ends(cell)}, key=label_order)
    at = {cell.record.case_id: number for number, cell in enumerate(cells)}
    ways, words = _Words(), _Words()
    for label in sorted({cell.variant.label() for cell in cells}):
        ways(label)
    pairs = sorted({(*_ends(cell),) for cell in cells}, key=lambda pair: label_order(">".join(pair)))
    names = [format_size(size) for size in sizes]
    data = {
        "devices": devices,
        "sizes": sizes,
        "sizeNames": names,
        "ways": list(ways.texts),
        "cells": _columns(cells, devices, sizes, ways, words, worded),
        "order": [
            *_orders(single, at, devices, sizes, 0, words, worded),
            *_orders(both, at, devices, sizes, 1, words, worded),
        ],
        "links": {f"{a}>{b}": _links(index, a, b) for a, b in pairs},
        "classes": {f"{a}>{b}": _class(index, a, b) for a, b in pairs},
        "words": list(words.texts),
    }
    across = [cell for cell in single if _ends(cell)[0] != _ends(cell)[1]] or single
    largest = broadest_size(across)
    first = min((cell for cell in across if cell.record.size_bytes == largest), key=_interest)
    return Explorer(
        data,
        tuple(enumerate(names)),
        tuple((number, label) for label, number in ways.texts.items()),
        sizes.index(largest),
        ">".join(_ends(first)),
        bool(both),
        any(cell.peak for cell in cells),
        {"read", "write"} <= {cell.record.access for cell in single},
    )


def _interest(cell: Cell) -> tuple[object, ...]:
    return kind(cell) != "gpu-gpu", *label_order(cell.record.path)


def _ends(cell: Cell) -> tuple[str, str]:
    return cell.source.device, cell.destination.device


def _columns(
    cells: Sequence[Cell],
    devices: Sequence[str],
    sizes: Sequence[int],
    ways: _Words,
    words: _Words,
    worded: Callable[[str], str],
) -> dict[str, list[Any]]:
    """Returns the results by column; rates in GB/s."""
    place = {name: number for number, name in enumerate(devices)}
    size = {value: number for number, value in enumerate(sizes)}
    return {
        "from": [place[_ends(cell)[0]] for cell in cells],
        "to": [place[_ends(cell)[1]] for cell in cells],
        "size": [size[cell.record.size_bytes] for cell in cells],
        "way": [ways(cell.variant.label()) for cell in cells],
        "both": [int(cell.record.pattern == "bidirectional") for cell in cells],
        "rate": [_gb(cell.value) for cell in cells],
        "low": [_gb(cell.low) for cell in cells],
        "high": [_gb(cell.high) for cell in cells],
        "text": [supported(cell.value / 1e9, cell.low / 1e9, cell.high / 1e9) for cell in cells],
        "share": [round(100 * cell.fraction, 1) if cell.fraction is not None else None for cell in cells],
        "engine": [words(cell.record.engine or "unknown") for cell in cells],
        "warnings": [words(worded(", ".join(cell.warning_ids))) for cell in cells],
    }


def _gb(value: float) -> float:
    return float(f"{value / 1e9:.4g}")


def _orders(
    cells: Iterable[Cell],
    at: Mapping[str, int],
    devices: Sequence[str],
    sizes: Sequence[int],
    both: int,
    words: _Words,
    worded: Callable[[str], str],
) -> list[list[Any]]:
    """Returns the ways of each pair and size in their order: [from, to, size, both, cells, verdicts]."""
    found = []
    for (a, b, size), members in group_by(cells, lambda cell: (*_ends(cell), cell.record.size_bytes)).items():
        order = _order(members)
        found.append(
            [
                devices.index(a),
                devices.index(b),
                sizes.index(size),
                both,
                [at[cell.record.case_id] for cell, _ in order],
                [words(worded(verdict)) for _, verdict in order],
            ]
        )
    return found


def _order(members: Sequence[Cell]) -> list[tuple[Cell, str]]:
    """Returns the results of one pair and size, the fastest first, each with how it compares."""
    ranking = rank(members)
    told = _told(ranking) if ranking else {}
    rest = [cell for cell in members if cell.record.case_id not in told]
    of_case = {cell.record.case_id: cell for cell in members}
    ordered = [(of_case[case], verdict) for case, verdict in told.items()]
    return ordered + [(cell, NOT_RANKED) for cell in sorted(rest, key=lambda cell: -cell.value)]


def _told(ranking: Ranking) -> dict[str, str]:
    """Returns the verdict by case, best first."""
    found = {cell.record.case_id: LEADER for cell in ranking.group.cells}
    for rival in ranking.rivals:
        claim = rival.claim
        verdict = less(claim) if claim.verdict == LEADS else ALIKE
        if claim.verdict not in (LEADS, TIE):
            verdict = claim.reason or ALIKE
        found.update((cell.record.case_id, verdict) for cell in rival.group.cells)
    return found


def _links(index: Index, source: str, destination: str) -> list[str]:
    """Returns the names of the strokes that a path crosses."""
    names = index.topology.names()
    if source not in names or destination not in names:
        return []
    return [f"{link.a} – {link.b}" for link in route(index.topology, source, destination)]


def _class(index: Index, source: str, destination: str) -> str:
    names = index.topology.names()
    if source not in names or destination not in names:
        return ""
    return index.class_between(source, destination)
