"""The node as one small matrix: what the fastest way of each pair of devices reaches.

Between GPUs and the host memory nearest to each; between NUMA domains without a GPU; between ranks where
nothing was measured within one process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from byteways.analyse.compare import rank
from byteways.analyse.finding import Finding
from byteways.analyse.phrases import sentence
from byteways.analyse.results_index import Index
from byteways.analyse.selection import (
    KINDS,
    broadest_size,
    is_plain,
    kind,
    label_order,
    limited_by_link,
    unidirectional,
)
from byteways.analyse.subjects.messages import is_latency, messages
from byteways.analyse.summary import Cell, Variant, group_by
from byteways.analyse.wording import faster_elsewhere

#: Row and column of the host memory nearest to each GPU.
HOST = "host"
#: Stands for the kind of pair where nothing was measured within one process.
BETWEEN_RANKS = "Between ranks"


@dataclass(frozen=True)
class NodeMatrix:
    """What each pair reaches at `size_bytes`; pairs without a result are left out of `cells`."""

    size_bytes: int
    names: tuple[str, ...]  # of rows (sources) and columns (destinations)
    cells: Mapping[tuple[str, str], Cell]
    shares: Mapping[tuple[str, str], float]  # of the nominal peak, where a link is the limit
    odd: frozenset[tuple[str, str]]  # pairs that a finding calls outliers among equal links
    ways: tuple[tuple[str, str], ...]  # kind of pair (of KINDS, or BETWEEN_RANKS), label of its way
    faster: tuple[str, ...] = ()  # sentences on ways that few of such pairs have, and are faster there


def node_matrix(index: Index, findings: Iterable[Finding]) -> NodeMatrix | None:
    """Returns the matrix; None without bandwidth between two different devices.

    Pairs of one kind and link class show the same way, the best over all of them, so that they can be
    compared; a pair without it shows its own best.

    Args:
        index: The run.
        findings: Its findings, which mark outliers.
    """
    gpus = bool(index.topology.names("gpu"))
    cells = [cell for cell in unidirectional(index.cells) if _plain(index, cell, gpus)]
    between_ranks = not cells
    if between_ranks:
        cells = [
            cell
            for cell in messages(index.cells)
            if cell.record.pattern == "unidirectional" and not is_latency(cell)
        ]
    if not cells:
        return None
    size = broadest_size(cells)
    cells = [cell for cell in cells if cell.record.size_bytes == size]
    best: dict[tuple[str, str], Cell] = {}
    faster: dict[str, None] = {}
    ways: dict[tuple[str, str], None] = {}
    for (what, _), alike in group_by(cells, lambda cell: (kind(cell), _class(index, cell))).items():
        ranking = rank(alike)
        chosen = ranking.variant if ranking else _commonest(alike)
        if ranking and (said := faster_elsewhere(ranking, " GB/s")):
            faster[sentence(said)] = None
        for pair, members in group_by(alike, lambda cell: _ends(cell, gpus and not between_ranks)).items():
            same = [cell for cell in members if cell.variant == chosen]
            best[pair] = max(same or members, key=lambda cell: cell.value)
            ways[BETWEEN_RANKS if between_ranks else what, best[pair].variant.label()] = None
    names = sorted({end for pair in best for end in pair}, key=_order)
    shares = {
        pair: cell.fraction
        for pair, cell in best.items()
        if cell.fraction is not None and limited_by_link(index.topology, cell)
    }
    return NodeMatrix(size, tuple(names), best, shares, _odd(findings, best), _ordered(ways), tuple(faster))


def _ordered(ways: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Returns the ways by kind of pair in the order of KINDS."""
    kinds = [*KINDS]
    return tuple(sorted(ways, key=lambda way: kinds.index(way[0]) if way[0] in kinds else len(kinds)))


def _plain(index: Index, cell: Cell, gpus: bool) -> bool:
    """Whether it is a transfer between two devices of the matrix."""
    ends = cell.source.device, cell.destination.device
    if ends[0] == ends[1] or (gpus and not any(end.startswith("gpu") for end in ends)):
        return False
    return is_plain(index.topology, cell)


def _ends(cell: Cell, with_host: bool) -> tuple[str, str]:
    source, destination = (
        HOST if with_host and end.device.startswith("cpu") else end.place
        for end in (cell.source, cell.destination)
    )
    return source, destination


def _order(name: str) -> tuple[object, ...]:
    """Sort key: by rank, then by device; the host comes last."""
    before, _, device = name.rpartition("/")
    return name == HOST, int(before or 0), *label_order(device)


def _class(index: Index, cell: Cell) -> str:
    known = {*index.topology.names()}
    return index.link_class(cell) if {cell.source.device, cell.destination.device} <= known else ""


def _commonest(alike: Sequence[Cell]) -> Variant:
    """Returns, where nothing can be ranked, the way with the greatest median of those on most paths."""
    ways = group_by(alike, lambda cell: cell.variant)
    return max(ways, key=lambda same: (len(ways[same]), median(cell.value for cell in ways[same])))


def _odd(findings: Iterable[Finding], cells: Mapping[tuple[str, str], Cell]) -> frozenset[tuple[str, str]]:
    claims = (claim for one in findings for claim in one.claims if claim.kind == "odd" and claim.trails)
    paths = {path for claim in claims for path in claim.first.paths}
    return frozenset(pair for pair, cell in cells.items() if cell.record.path in paths)
