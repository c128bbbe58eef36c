"""Rows that lie a pitch apart: where the vendor's call and a packing kernel differ."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.rules.facts import Facts, Finding, faster, gb, listed, marked, span
from byteways.analyse.selection import KINDS, kind
from byteways.analyse.strided import Rivals, rivals
from byteways.analyse.summary import group_by
from byteways.units import format_size

ROWS = 380.0


def rows(facts: Facts) -> Iterator[Finding]:
    """For each kind of pair the shape on which the two interfaces differ most."""
    for name, some in group_by(rivals(facts.cells), lambda each: kind(each.first)).items():
        most = max(some, key=lambda each: each.factor)
        yield _finding(name, most, some)


def _finding(name: str, most: Rivals, some: list[Rivals]) -> Finding:
    shape, first, second = most.shape, most.first, most.second
    title = (
        f"{KINDS[name]}, rows of {format_size(shape.width_bytes)} every {format_size(shape.pitch_bytes)}: "
        f"{first.record.interface} moves {gb(first.value)} GB/s, "
        f"{faster(most.factor)} {second.record.interface} ({gb(second.value)})"
    )
    wins = group_by(some, lambda each: each.first.record.interface)
    detail = (
        f"{format_size(shape.size_bytes)} of rows by {shape.work} on {first.record.path}, "
        f"interval {span(first)} GB/s; the gaps are not counted."
    )
    if len(some) > 1:
        each = [f"{interface} is faster on {len(won)}" for interface, won in wins.items()]
        told = f"{len(some)} shapes that tell them apart"
        detail += f" Of {told}, {listed(each)}." if len(wins) > 1 else f" It is the faster one on all {told}."
    return Finding(marked(title, first, second), detail, ROWS)
