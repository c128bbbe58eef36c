"""The node as one small matrix: what each pair of devices reaches, by the rule of representative.py.

Between GPUs and the host memory nearest to each; between NUMA domains without a GPU; between ranks where
nothing was measured within one process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from byteways.answers.best.decisions import BETWEEN_RANKS, decisions
from byteways.answers.best.representative import of_each_pair, representatives
from byteways.answers.claims.finding import Finding
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, by_nearest, kind, label_order, limited_by_link
from byteways.answers.results.summary import Result

#: Row and column of the host memory nearest to each GPU.
HOST_HEADING = "host"
#: Stands for the kind of pair where nothing was measured within one process.
RANKS_HEADING = "Between ranks"


@dataclass(frozen=True)
class NodeMatrix:
    """What each pair reaches; pairs without a result are left out of `cells`."""

    sizes: tuple[int, ...]  # bytes; one, unless a kind of pair was not measured at that size
    names: tuple[str, ...]  # of rows (sources) and columns (destinations)
    cells: Mapping[tuple[str, str], Result]
    shares: Mapping[tuple[str, str], float]  # of the nominal peak, where a link is the limit
    odd: frozenset[tuple[str, str]]  # pairs that a finding calls outliers among equal links
    ways: tuple[tuple[str, str], ...]  # kind of pair (of KINDS, or BETWEEN_RANKS), label of its way
    faster: tuple[str, ...] = ()  # sentences on ways that few pairs have, and are faster there


def node_matrix(index: Index, findings: Iterable[Finding]) -> NodeMatrix | None:
    """Returns the matrix; None without bandwidth between two different devices.

    Args:
        index: The run.
        findings: Its findings, which mark outliers.
    """
    best = index.once(representatives)
    cells = _of_devices(index, best.cells) if best else {}
    if not cells:
        return _of_ranks(index, findings)
    ways = {(kind(cell), cell.variant.name): None for cell in cells.values()}
    sizes = {cell.size_bytes for cell in cells.values()}
    faster = best.faster if best else ()
    return replace(_matrix(index, findings, sizes, cells, ways), faster=faster)


def _of_devices(index: Index, results: Mapping[tuple[str, str], Result]) -> dict[tuple[str, str], Result]:
    """Returns the results between GPUs and the host memory nearest to each; without GPUs, of all pairs."""
    gpus = bool(index.topology.names("gpu"))
    cells: dict[tuple[str, str], Result] = {}
    for (source, destination), cell in results.items():
        if gpus and not any(end.startswith("gpu") for end in (source, destination)):
            continue
        if by_nearest(cell, index.topology):
            first, second = (
                HOST_HEADING if gpus and end.startswith("cpu") else end for end in (source, destination)
            )
            cells[first, second] = cell
    return cells


def _of_ranks(index: Index, findings: Iterable[Finding]) -> NodeMatrix | None:
    """Returns the matrix of messages between ranks; None without any."""
    sent = decisions(index, BETWEEN_RANKS)
    cells: dict[tuple[str, str], Result] = {}
    for place in sent.plain_places() or sent.places:
        cells |= of_each_pair(sent.large(place), lambda cell: (cell.source.place, cell.destination.place))
    if not cells:
        return None
    ways = {(RANKS_HEADING, cell.variant.name): None for cell in cells.values()}
    return _matrix(index, findings, {cell.size_bytes for cell in cells.values()}, cells, ways)


def _matrix(
    index: Index,
    findings: Iterable[Finding],
    sizes: Iterable[int],
    cells: Mapping[tuple[str, str], Result],
    ways: Iterable[tuple[str, str]],
) -> NodeMatrix:
    names = sorted({end for pair in cells for end in pair}, key=_order)
    shares = {
        pair: cell.fraction
        for pair, cell in cells.items()
        if cell.fraction is not None and limited_by_link(index.topology, cell)
    }
    return NodeMatrix(
        tuple(sorted(sizes)), tuple(names), cells, shares, _odd(findings, cells), _ordered(ways)
    )


def _ordered(ways: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Returns the ways by kind of pair in the order of KINDS."""
    kinds = [*PAIR_KINDS]
    return tuple(sorted(ways, key=lambda way: kinds.index(way[0]) if way[0] in kinds else len(kinds)))


def _order(name: str) -> tuple[object, ...]:
    """Sort key: by rank, then by device; the host comes last."""
    before, _, device = name.rpartition("/")
    return name == HOST_HEADING, int(before or 0), *label_order(device)


def _odd(findings: Iterable[Finding], cells: Mapping[tuple[str, str], Result]) -> frozenset[tuple[str, str]]:
    claims = (
        claim for finding in findings for claim in finding.claims if claim.kind == "odd" and claim.trails
    )
    paths = {path for claim in claims for path in claim.first.paths}
    return frozenset(pair for pair, cell in cells.items() if cell.record.path in paths)
