"""Placement of host memory: what transfers with a GPU gain from the NUMA domain that is nearest to it."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.answers.best.decisions import OVER_LINKS, Decision, decisions
from byteways.answers.claims.claim import TIE
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate, sentence
from byteways.answers.claims.wording import less, tie
from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.selection import by_nearest
from byteways.answers.results.summary import Result, group_by, pool
from byteways.base.units import format_size

_DIRECTIONS = {"cpu-gpu": "From host to GPU", "gpu-cpu": "From GPU to host"}
_NAMES = "memory of other NUMA domains", "memory of the nearest NUMA domain"


def placement(index: Index) -> Iterator[Finding]:
    """Compares farther NUMA domains with the nearest one, each GPU by itself, by the best method."""
    found = decisions(index, OVER_LINKS)
    for place in found.plain_places():
        if place.kind in _DIRECTIONS and (decision := found.large(place)).ranking:
            yield from _of(index, decision)


def _of(index: Index, decision: Decision) -> Iterator[Finding]:
    alike = [
        cell
        for cell in index.of_kind(decision.place.kind)
        if cell.variant == decision.variant and cell.size_bytes == decision.size_bytes
    ]
    groups = group_by([cell for cell in alike if _gpu(cell)], lambda cell: by_nearest(cell, index.topology))
    if len(groups) < 2:
        return
    near, far = pool(groups[True]), pool(groups[False])
    claim = compare(far, near, kind="placement", match=_gpu, across=("path",), names=_NAMES)
    lead = f"{_DIRECTIONS[decision.place.kind]}, {decision.variant.interface}"
    if claim.trails:
        title = f"{lead} with {_NAMES[0]} gets {less(claim)}: {rate(far)} vs {rate(near)} GB/s"
    elif claim.verdict == TIE:
        title = f"{lead}: {tie(claim, _NAMES)}, {rate(far)} and {rate(near)} GB/s"
    else:
        return
    detail = sentence(
        f"{format_size(decision.size_bytes)}, {decision.variant.name}, {count(len(far.cells), 'path')} from "
        f"farther domains and {len(near.cells)} from the nearest; each GPU is compared with itself."
    )
    yield finding(title, detail, Priority.PLACEMENT, (far, near), (claim,))


def _gpu(cell: Result) -> str:
    return next((end for end in (cell.source.device, cell.destination.device) if end.startswith("gpu")), "")
