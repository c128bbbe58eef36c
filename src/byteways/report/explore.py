"""Data of the part of the page that answers "which way from here to there, at this size?".

The page selects and shows; every comparison is made here, by the claims of answers/claims/compare.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from byteways.answers.best.ranking import Ranking, rank
from byteways.answers.best.representative import representative_of_each_pair, representatives
from byteways.answers.claims.claim import LEADS, TIE
from byteways.answers.claims.phrases import supported
from byteways.answers.claims.wording import LEADER, NO_DIFFERENCE, TOO_FEW_ROUNDS, alike, less
from byteways.answers.results.index import Index
from byteways.answers.results.selection import broadest_size, concurrent, kind, label_order, unidirectional
from byteways.answers.results.summary import Result, group_by
from byteways.answers.results.variants import Variant
from byteways.base.units import format_size
from byteways.cases.memory import MEMORIES
from byteways.machine.routes import route

#: Bits of a mode.
BIDIRECTIONAL_BIT, WARM_BIT = 1, 2
#: Positions of the switch between reads and writes.
ACCESSES = ("", "read", "write")
#: Memory that programs use first, before the kinds for special purposes.
USUAL_MEMORIES = ("device", "pinned", "pageable")


@dataclass(frozen=True)
class Explorer:
    """`data` is for the page's script; the rest is for its controls."""

    data: Mapping[str, Any]
    sizes: tuple[tuple[int, str], ...]  # index in the data, text
    ways: tuple[tuple[str, tuple[tuple[int, str], ...]], ...]  # by interface, the plain ones first
    size: int  # index of the size shown first
    pair: str  # "gpu0>gpu1", shown first
    bidirectional: bool
    warm: bool  # whether caches were warm in some cases
    has_peaks: bool
    accesses: bool  # whether both reads and writes were measured

    @property
    def size_name(self) -> str:
        """The size shown first."""
        return dict(self.sizes)[self.size]


class _Words:
    """Texts by number, so that the page has each of them once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def explorer(index: Index) -> Explorer | None:
    """Returns the data of all transfers between two buffers; None without any over cold caches.

    A mode is the pattern and the cache state: 1 for both directions at once, and 2 for warm caches.
    """
    cells = _between_two(index.cells)
    single = [cell for cell in cells if _mode(cell) == 0]
    if not single:
        return None
    sizes = sorted({cell.size_bytes for cell in cells})
    devices = sorted({end for cell in cells for end in _ends(cell)}, key=label_order)
    at = {cell.record.case_id: number for number, cell in enumerate(cells)}
    ways, words = _Words(), _Words()
    plainest: dict[str, tuple[int, int]] = {}
    interfaces: dict[str, str] = {}
    for cell in cells:
        label, plain = _label(cell), _plainness(cell.variant)
        plainest[label] = min(plain, plainest.get(label, plain))
        interfaces[label] = cell.record.interface
    for label in sorted(plainest, key=lambda label: (interfaces[label], *plainest[label], label)):
        ways(label)
    numbers = [(number, label) for label, number in ways.texts.items()]
    pairs = sorted({(*_ends(cell),) for cell in cells}, key=lambda pair: label_order(">".join(pair)))
    names = [format_size(size) for size in sizes]
    data = {
        "devices": devices,
        "sizes": sizes,
        "sizeNames": names,
        "ways": list(ways.texts),
        "interfaces": [interfaces[label] for label in ways.texts],
        "cells": _columns(cells, devices, sizes, ways, words),
        "order": _orders(index, cells, at, devices, sizes, words),
        "links": {f"{a}>{b}": _links(index, a, b) for a, b in pairs},
        "classes": {f"{a}>{b}": _class(index, a, b) for a, b in pairs},
        "words": list(words.texts),
        "alike": words.texts.get(NO_DIFFERENCE),
    }
    across = [cell for cell in single if _ends(cell)[0] != _ends(cell)[1]] or single
    stood = index.once(representatives)
    largest = stood.size_bytes if stood else broadest_size(across)
    first = min((cell for cell in across if cell.size_bytes == largest), key=_interest)
    return Explorer(
        data,
        tuple(enumerate(names)),
        tuple((name, tuple(group)) for name, group in groupby(numbers, lambda way: interfaces[way[1]])),
        sizes.index(largest),
        ">".join(_ends(first)),
        any(_mode(cell) & BIDIRECTIONAL_BIT for cell in cells),
        any(_mode(cell) & WARM_BIT for cell in cells),
        any(cell.peak for cell in cells),
        {"read", "write"} <= {cell.record.access for cell in single},
    )


def _between_two(cells: Iterable[Result]) -> list[Result]:
    """Returns the results of transfers between two buffers, one way or both ways at once."""
    cells = list(cells)
    both = [cell for cell in concurrent(cells) if cell.record.pattern == "bidirectional"]
    return [*unidirectional(cells), *both]


def _mode(cell: Result) -> int:
    both = BIDIRECTIONAL_BIT if cell.record.pattern == "bidirectional" else 0
    return both | (WARM_BIT if cell.record.cache == "warm" else 0)


def _label(cell: Result) -> str:
    """Names the way; the cache state is a switch of the page."""
    return _cold(cell.variant)


@lru_cache(maxsize=1 << 14)  # a few hundred variants, each of many cells
def _cold(variant: Variant) -> str:
    return replace(variant, cache="cold").name


@lru_cache(maxsize=1 << 14)
def _plainness(variant: Variant) -> tuple[int, int]:
    """Returns the number of settings, and how unusual the memory is: a program's default is smallest."""
    order = (*USUAL_MEMORIES, *(memory for memory in MEMORIES if memory not in USUAL_MEMORIES))
    ends = [memory.partition("@") for memory in (variant.source, variant.destination)]
    touched = sum(bool(device) for _, _, device in ends)
    settings = len(variant.options) + len(variant.environment)
    return settings + touched, max(order.index(memory) for memory, _, _ in ends)


def question(cell: Result) -> str:
    """Returns the address of the selection that shows a result; '' if it is not between two buffers."""
    if not _between_two([cell]):
        return ""
    selection = {"pair": ">".join(_ends(cell)), "size": format_size(cell.size_bytes)}
    modes = {"both": _mode(cell) & BIDIRECTIONAL_BIT, "warm": _mode(cell) & WARM_BIT}
    return urlencode({**selection, **{name: "1" for name, mode in modes.items() if mode}})


def _interest(cell: Result) -> tuple[object, ...]:
    return kind(cell) != "gpu-gpu", *label_order(cell.record.path)


def _ends(cell: Result) -> tuple[str, str]:
    return cell.source.device, cell.destination.device


def _columns(
    cells: Sequence[Result],
    devices: Sequence[str],
    sizes: Sequence[int],
    ways: _Words,
    words: _Words,
) -> dict[str, list[Any]]:
    """Returns the results by column; rates in GB/s."""
    place = {name: number for number, name in enumerate(devices)}
    size = {value: number for number, value in enumerate(sizes)}
    return {
        "from": [place[_ends(cell)[0]] for cell in cells],
        "to": [place[_ends(cell)[1]] for cell in cells],
        "size": [size[cell.size_bytes] for cell in cells],
        "way": [ways(_label(cell)) for cell in cells],
        "access": [words(cell.record.access) for cell in cells],
        "mode": [_mode(cell) for cell in cells],
        "rate": [_gb(cell.value) for cell in cells],
        "low": [_gb(cell.low) for cell in cells],
        "high": [_gb(cell.high) for cell in cells],
        "text": [supported(cell.value / 1e9, cell.low / 1e9, cell.high / 1e9) for cell in cells],
        "share": [round(100 * cell.fraction, 1) if cell.fraction is not None else None for cell in cells],
        "engine": [words(cell.record.engine or "unknown") for cell in cells],
        "warnings": [words(", ".join(cell.warning_ids)) for cell in cells],
    }


def _gb(value: float) -> float:
    return float(f"{value / 1e9:.4g}")


def _orders(
    index: Index,
    cells: Iterable[Result],
    at: Mapping[str, int],
    devices: Sequence[str],
    sizes: Sequence[int],
    words: _Words,
) -> list[list[Any]]:
    """Returns the ways of each pair and size in their order: [from, to, size, mode, cells, verdicts, stands].

    `stands` has the cell that stands for the pair (answers/best/representative.py) of all ways, of reads and
    of writes.
    """
    orders = []
    for (mode, size), group in group_by(cells, lambda cell: (_mode(cell), cell.size_bytes)).items():
        stood = [
            representative_of_each_pair(index, [cell for cell in group if _allowed(cell, access)])
            for access in ACCESSES
        ]
        for (a, b), members in group_by(group, _ends).items():
            order = _order(members)
            best = [result_of.get((a, b)) for result_of in stood]
            orders.append(
                [
                    devices.index(a),
                    devices.index(b),
                    sizes.index(size),
                    mode,
                    [at[cell.record.case_id] for cell, _ in order],
                    [words(verdict) for _, verdict in order],
                    [at[cell.record.case_id] if cell else None for cell in best],
                ]
            )
    return orders


def _allowed(cell: Result, access: str) -> bool:
    return not access or cell.record.access == access


def _order(members: Sequence[Result]) -> list[tuple[Result, str]]:
    """Returns the results of one pair and size, the fastest first, each with how it compares.

    Among neighbours that are alike, the plain ones are first: those with no significant difference from the
    fastest, and those with the same verdict and equal figures.
    """
    ranking = rank(members)
    verdicts = _verdicts(ranking) if ranking else {}
    rest = [cell for cell in members if cell.record.case_id not in verdicts]
    of_case = {cell.record.case_id: cell for cell in members}
    ordered = [(of_case[case], verdict) for case, verdict in verdicts.items()]
    ordered += [(cell, TOO_FEW_ROUNDS) for cell in sorted(rest, key=lambda cell: -cell.value)]
    return [
        entry
        for _, alike_ones in groupby(ordered, _figure)
        for entry in sorted(alike_ones, key=lambda entry: _plainness(entry[0].variant))
    ]


def _figure(ranked: tuple[Result, str]) -> tuple[str, str]:
    cell, verdict = ranked
    return verdict, "" if verdict == NO_DIFFERENCE else f"{cell.value:.3g}"


def _verdicts(ranking: Ranking) -> dict[str, str]:
    """Returns the verdict by case, best first."""
    verdicts = {cell.record.case_id: LEADER for cell in ranking.group.cells}
    for rival in ranking.rivals:
        claim = rival.claim
        verdict = less(claim) if claim.verdict == LEADS else alike(claim)
        if claim.verdict not in (LEADS, TIE):
            verdict = claim.reason or NO_DIFFERENCE
        verdicts.update((cell.record.case_id, verdict) for cell in rival.group.cells)
    return verdicts


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
