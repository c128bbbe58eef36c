"""Lays out the topology drawing: CPUs at the top, then PCI Express switches, GPUs, and the GPU fabric.

Pure geometry in units of a picture 960 wide; the template converts it to SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byteways.topology.model import Device, Link, Topology
from byteways.units import format_bandwidth, format_size

WIDTH = 960.0
MARGIN = 12.0
LAYER_GAP = 84.0
HEIGHTS = {"cpu": 64.0, "gpu": 64.0, "switch": 30.0, "fabric": 32.0}
WIDEST = {"cpu": 300.0, "gpu": 168.0, "switch": 150.0}
#: Links for GPUs only; a switch without other links is drawn below the GPUs.
FABRIC_KINDS = ("nvlink", "xgmi")


@dataclass(frozen=True)
class Node:
    name: str
    kind: str  # cpu, gpu, switch, fabric
    x: float  # left
    y: float  # top
    width: float
    height: float
    lines: tuple[str, ...]  # below the name

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height


@dataclass(frozen=True)
class Edge:
    path: str  # SVG path data
    kind: str
    letter: str  # of the legend
    badge_x: float
    badge_y: float
    title: str


@dataclass(frozen=True)
class LegendRow:
    letter: str
    link_class: str
    kind: str
    count: int
    peak: str
    source: str


@dataclass(frozen=True)
class Drawing:
    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    legend: tuple[LegendRow, ...]


def draw(topology: Topology) -> Drawing:
    """Returns the drawing of a topology."""
    layers = _layers(topology)
    devices = {device.name: device for device in topology.devices}
    # Arcs between neighbours in one layer need space above the CPUs, or below the other layers.
    top = MARGIN + (26.0 if _arcs(topology, layers[0][1]) else 0.0)
    nodes: dict[str, Node] = {}
    for kind, names in layers:
        for node in _place(kind, names, top, devices, nodes, topology):
            nodes[node.name] = node
        top += HEIGHTS[kind] + LAYER_GAP
    rows = _legend(topology.links)
    letters = {row.link_class: row.letter for row in rows}
    edges = [
        _edge(nodes[link.a], nodes[link.b], link, letters[link.link_class])
        for link in topology.links
        if link.a in nodes and link.b in nodes
    ]
    depth = max([node.bottom for node in nodes.values()] + [edge.badge_y + 10 for edge in edges], default=0.0)
    return Drawing(WIDTH, depth + MARGIN, tuple(nodes.values()), tuple(edges), tuple(rows))


def _layers(topology: Topology) -> list[tuple[str, list[str]]]:
    """Returns kinds and names of nodes from top to bottom."""
    fabric: list[str] = []
    between: list[str] = []
    for switch in topology.switches:
        kinds = {link.kind for link in topology.links if switch in (link.a, link.b)}
        (fabric if kinds and kinds <= set(FABRIC_KINDS) else between).append(switch)
    rows = [("cpu", topology.names("cpu"))]
    rows += [("switch", names) for names in _by_depth(topology, between)]
    rows += [("gpu", topology.names("gpu")), ("fabric", fabric)]
    return [(kind, names) for kind, names in rows if names] or [("cpu", [])]


def _by_depth(topology: Topology, switches: Sequence[str]) -> list[list[str]]:
    """Groups switches by their distance in links from a CPU."""
    depth = dict.fromkeys(topology.names("cpu"), 0)
    left = list(switches)
    step = 0
    while left and step < len(switches):
        step += 1
        near = {end for link in topology.links for end in (link.a, link.b) if _other(link, end) in depth}
        found = [name for name in left if name in near]
        depth |= dict.fromkeys(found, step)
        left = [name for name in left if name not in found]
    depth |= dict.fromkeys(left, step or 1)
    steps = sorted({depth[name] for name in switches})
    return [[name for name in switches if depth[name] == value] for value in steps]


def _other(link: Link, end: str) -> str:
    return link.b if end == link.a else link.a


def _arcs(topology: Topology, names: Sequence[str]) -> bool:
    return any(link.a in names and link.b in names for link in topology.links)


def _place(
    kind: str,
    names: Sequence[str],
    top: float,
    devices: dict[str, Device],
    above: dict[str, Node],
    topology: Topology,
) -> list[Node]:
    """Places a layer: equal boxes side by side, ordered by the centre of their parents."""
    height = HEIGHTS[kind]
    if kind == "fabric":
        share = (WIDTH - 2 * MARGIN) / len(names)
        return [
            Node(name, kind, MARGIN + index * share + 4, top, share - 8, height, ())
            for index, name in enumerate(names)
        ]

    def hangs_from(name: str) -> float:
        ends = [_other(link, name) for link in topology.links if name in (link.a, link.b)]
        middles = [above[end].middle for end in ends if end in above]
        return sum(middles) / len(middles) if middles else 0.0

    ordered = sorted(names, key=hangs_from)  # stable: equal ones keep their order
    share = (WIDTH - 2 * MARGIN) / len(ordered)
    width = min(WIDEST[kind], share - 10)
    return [
        Node(
            name,
            kind,
            MARGIN + (index + 0.5) * share - width / 2,
            top,
            width,
            height,
            _lines(devices.get(name), width),
        )
        for index, name in enumerate(ordered)
    ]


def _lines(device: Device | None, width: float) -> tuple[str, ...]:
    if device is None:
        return ()
    letters = int(width / 6.6)  # width of a character in the small text
    facts = [f"{len(device.cores)} cores"] if device.kind == "cpu" and device.cores else []
    if device.memory_bytes:
        facts.append(format_size(device.memory_bytes))
    return tuple(_cut(line, letters) for line in (device.model, ", ".join(facts)) if line)


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: max(letters - 1, 1)].rstrip() + "…"


def _edge(first: Node, second: Node, link: Link, letter: str) -> Edge:
    peak = format_bandwidth(link.peak_bytes_per_s) if link.peak_bytes_per_s else "peak unknown"
    title = f"{link.a} – {link.b}: {link.link_class}, {peak} per direction"
    upper, lower = sorted((first, second), key=lambda node: node.y)
    if upper.y == lower.y:
        left, right = sorted((first, second), key=lambda node: node.x)
        return _arc(left, right, link, letter, title)
    start = upper.middle
    end = start if lower.kind == "fabric" else lower.middle
    bend = (lower.y - upper.bottom) / 2
    path = (
        f"M{start:.1f} {upper.bottom:.1f} C{start:.1f} {upper.bottom + bend:.1f} "
        f"{end:.1f} {lower.y - bend:.1f} {end:.1f} {lower.y:.1f}"
    )
    # Label nearer to the end with fewer links, where the edges have diverged.
    along = 0.5 if start == end else 0.72
    x = start + (end - start) * (3 * along**2 - 2 * along**3)  # cubic with vertical ends
    y = upper.bottom + 2 * bend * (1.5 * along - 1.5 * along**2 + along**3)
    return Edge(path, link.kind, letter, x, y, title)


def _arc(left: Node, right: Node, link: Link, letter: str, title: str) -> Edge:
    """Returns an arc between nodes of one layer: above CPUs, below GPUs; deeper for greater distance."""
    span = right.middle - left.middle
    if left.kind == "cpu":
        y, depth = left.y, -22.0
    else:
        y, depth = left.bottom, 26.0 + 70.0 * span / WIDTH
    # A cubic reaches three quarters of the depth of its control points.
    control = y + depth / 0.75
    path = (
        f"M{left.middle:.1f} {y:.1f} C{left.middle:.1f} {control:.1f} "
        f"{right.middle:.1f} {control:.1f} {right.middle:.1f} {y:.1f}"
    )
    return Edge(path, link.kind, letter, (left.middle + right.middle) / 2, y + depth, title)


def _legend(links: Sequence[Link]) -> list[LegendRow]:
    rows = []
    for index, name in enumerate(dict.fromkeys(link.link_class for link in links)):
        same = [link for link in links if link.link_class == name]
        peaks = sorted({link.peak_bytes_per_s for link in same if link.peak_bytes_per_s})
        peak = (
            " to ".join(format_bandwidth(value) for value in dict.fromkeys(peaks[:1] + peaks[-1:]))
            or "unknown"
        )
        letter = chr(ord("A") + index) if index < 26 else str(index + 1)
        rows.append(LegendRow(letter, name, same[0].kind, len(same), peak, same[0].source))
    return rows
