"""The picture of a node in two runs: links that changed are wide and coloured, all others thin and grey."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from byteways.answers.claims.wording import alike
from byteways.base.units import format_size
from byteways.machine.model import Topology
from byteways.report.node.boxes import PICTURE_WIDTH
from byteways.report.node.drawing import LinkStroke, Node, NodeDrawing, arranged, facts_of, line_of
from byteways.report.node.lines import Labels, PathLine
from byteways.verdicts.two_runs.link_changes import LinkChange, SharedChange
from byteways.verdicts.two_runs.paired_cases import PairedCase
from byteways.verdicts.two_runs.wording_comparison import percent, values

#: Width of a link that kept its speed, of one that changed at all, and of one at half or twice its speed.
SAME_WIDTH, CHANGED_WIDTH, DOUBLED_WIDTH = 3.0, 6.0, 13.0
#: Speed from which on a slower link has the mildest colour.
MILD = 0.8
#: Changes that the details of a link list.
MOST_LISTED_CHANGES = 6


def draw_changes(topology: Topology, changes: Sequence[LinkChange]) -> NodeDrawing:
    """Returns the picture of a topology with how its links changed."""
    at = arranged(topology)
    places = Labels(at.boxes.values())
    shown = [
        link_change
        for link_change in changes
        if {link_change.link.a, link_change.link.b} <= {*at.boxes}
        and not (at.numa and link_change.link.kind == "numa" and not _marked(link_change))
    ]
    strokes = [
        _stroke(line_of(at, link_change.link), link_change, places)
        for link_change in sorted(shown, key=_marked)
    ]
    facts = {device.name: device for device in topology.devices}
    nodes = tuple(Node(box, facts_of(box, facts.get(box.name), topology)) for box in at.boxes.values())
    return NodeDrawing(
        PICTURE_WIDTH, at.height, at.packages, nodes, tuple(strokes), (), True, max(len(topology.hosts), 1)
    )


def _marked(link_change: LinkChange) -> bool:
    return bool(link_change.lost) or (link_change.pair is not None and link_change.pair.claim.differ)


def _stroke(line: PathLine, link_change: LinkChange, places: Labels) -> LinkStroke:
    pair, marked = link_change.pair, _marked(link_change)
    number = "failed" if link_change.lost else _short(pair.speed) if pair and marked else ""
    width = _width(pair) if marked else SAME_WIDTH
    slower = bool(link_change.lost) or (pair is not None and pair.slower)
    x, y = places.place(line, f"⚠ {number}" if slower else number, width) if number else (0.0, 0.0)
    name = f"{link_change.link.a} – {link_change.link.b}"
    return LinkStroke(
        name, line.path, width, _shade(link_change), 1, number, x, y, slower, _details(link_change)
    )


def _short(speed: float) -> str:
    """`-50 %`, `+3.2 %`: there is little room beside a link."""
    percent = 100 * (speed - 1)
    return f"{percent:+.0f} %" if abs(percent) >= 10 else f"{percent:+.1f} %"


def _width(pair: PairedCase | None) -> float:
    if pair is None:
        return CHANGED_WIDTH
    return CHANGED_WIDTH + (DOUBLED_WIDTH - CHANGED_WIDTH) * min(abs(log2(pair.speed)), 1.0)


def _shade(link_change: LinkChange) -> str:
    if link_change.lost:
        return "missing"
    if link_change.pair is None:
        return "none"
    if not link_change.pair.claim.differ:
        return "unknown"
    if link_change.pair.faster:
        return "good"
    return "low" if link_change.pair.speed >= MILD else "poor"


def _details(link_change: LinkChange) -> str:
    """Every fact on the link, one a line."""
    lines = [f"{link_change.link.a} – {link_change.link.b}: {link_change.link.link_class}"]
    lines += [_change_text(shared) for shared in link_change.shared[:MOST_LISTED_CHANGES]]
    if len(link_change.shared) > MOST_LISTED_CHANGES:
        lines.append(f"and {len(link_change.shared) - MOST_LISTED_CHANGES} more methods")
    if not link_change.shared:
        lines.append("no transfer over it was compared")
    return "\n".join((*lines, *link_change.lost[:MOST_LISTED_CHANGES]))


def _change_text(shared: SharedChange) -> str:
    pair = shared.pair
    first, second = values(pair)
    size = format_size(pair.first.size_bytes)
    said = percent(pair.speed) if pair.claim.differ else alike(pair.claim)
    paths = "1 path" if shared.paths == 1 else f"least change of {shared.paths} paths"
    return f"{shared.direction}: {said}, {first} and {second}, {shared.variant.name} at {size}, {paths}"
