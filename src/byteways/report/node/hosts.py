"""A row below the picture of a node: this host, the network, the other hosts, and what passes between."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from byteways.answers.claims.phrases import percent
from byteways.answers.results.index import Index
from byteways.answers.results.selection import device_order
from byteways.answers.results.summary import Result
from byteways.base.units import format_size
from byteways.questions.subjects.messages import is_latency, messages
from byteways.record.simulation_mark import Voice
from byteways.report.node.boxes import HEIGHT, MARGIN, PICTURE_WIDTH, Box
from byteways.report.node.drawing import THINNEST_STROKE, LinkStroke, Node, NodeDrawing, shade_of
from byteways.report.node.lines import Labels, straight
from byteways.report.node.rates import gb_per_s

#: Width of the boxes and of the stroke of the fastest message between hosts; space above the row.
HOST_BOX, HOST_STROKE, HOST_ROW_SPACE = 116.0, 6.0, 22.0
NETWORK_LABEL = "network"


def with_hosts(drawing: NodeDrawing, index: Index) -> NodeDrawing:
    """Returns the picture with a row for the hosts; unchanged with one host."""
    cells = [
        cell
        for cell in messages(index.cells)
        if cell.record.pattern == "unidirectional"
        and not is_latency(cell)
        and cell.source.host != cell.destination.host
    ]
    named = {end.host for cell in cells for end in (cell.source, cell.destination) if end.host}
    hosts = list(index.topology.hosts) or sorted(named, key=device_order)
    if len(hosts) < 2:
        return drawing
    best = max(cells, key=lambda cell: cell.value, default=None)
    others = hosts[1] if len(hosts) == 2 else f"{len(hosts) - 1} more"
    row = _row(drawing.height + HOST_ROW_SPACE - MARGIN, (hosts[0], NETWORK_LABEL, others))
    equal = "equal to the host above" if index.topology.hosts else "not drawn"
    facts = ("the host drawn above", "network between the hosts", f"{others}: {equal}")
    nodes = tuple(Node(box, f"{box.name}: {fact}") for box, fact in zip(row, facts, strict=True))
    strokes = tuple(_stroke(first, second, best, index.voice) for first, second in pairwise(row))
    return replace(
        drawing,
        height=row[0].bottom + MARGIN,
        nodes=(*drawing.nodes, *nodes),
        strokes=(*drawing.strokes, *strokes),
        hosts=len(hosts),
    )


def _row(top: float, names: tuple[str, str, str]) -> list[Box]:
    middles = (MARGIN + HOST_BOX / 2, PICTURE_WIDTH / 2, PICTURE_WIDTH - MARGIN - HOST_BOX / 2)
    kinds = ("host", "fabric", "host")
    return [
        Box(name, kind, middle - HOST_BOX / 2, top, HOST_BOX, HEIGHT)
        for name, kind, middle in zip(names, kinds, middles, strict=True)
    ]


def _stroke(first: Box, second: Box, best: Result | None, voice: Voice) -> LinkStroke:
    """Returns the stroke between a host and the network; both have the rate between two hosts."""
    line = straight(first, second)
    number = gb_per_s(best) if best else ""
    x, y = Labels((first, second)).place(line, number, HOST_STROKE)
    details = f"{first.name} – {second.name}: no message between hosts was {voice.measured}"
    if best is not None:
        share = f" ({percent(best.fraction)} of the peak)" if best.fraction is not None else ""
        size = format_size(best.size_bytes)
        details = f"{best.record.path}: {number} GB/s{share}, {best.variant.name} at {size}"
    return LinkStroke(
        f"{first.name} – {second.name}",
        line.path,
        HOST_STROKE if best else THINNEST_STROKE,
        shade_of(best.fraction) if best else "none",
        1,
        number,
        x,
        y,
        False,
        details,
    )
