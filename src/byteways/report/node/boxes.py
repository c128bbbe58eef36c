"""The places of devices of a node whose GPUs meet at switches: CPUs on top, the GPU fabric below.

Pure geometry in units of a picture 480 wide: letters of 14 units are still read on a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from byteways.machine.model import Link, Topology
from byteways.machine.routes import FABRICS

PICTURE_WIDTH = 480.0
MARGIN = 8.0
HEIGHT = 34.0
#: Between layers: room for a stroke with its number.
LAYER_GAP = 84.0
#: Boxes side by side; more are put into further rows.
BOXES_IN_ROW = 8
WIDEST_BOXES = {"nic": 64.0, "cpu": 150.0, "switch": 120.0, "gpu": 84.0}
NUMA_RISE = 16.0


@dataclass(frozen=True)
class Box:
    """A device, NIC or switch, or a package around devices."""

    name: str
    kind: str  # nic, cpu, switch, gpu, fabric, package
    x: float  # left
    y: float  # top
    width: float
    height: float = HEIGHT

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def moved(self, right: float, down: float) -> Box:
        return replace(self, x=self.x + right, y=self.y + down)


@dataclass(frozen=True)
class Arrangement:
    """All boxes by name, the packages behind them, and the path of the links between NUMA domains."""

    boxes: dict[str, Box]
    packages: tuple[Box, ...]
    height: float
    numa: str  # SVG path data, '' with a single domain
    ring: bool  # whether links between GPUs are straight


def layered(topology: Topology) -> Arrangement:
    """Returns the arrangement in layers: NICs, CPUs, PCI Express switches, GPUs, GPU fabric."""
    boxes: dict[str, Box] = {}
    top = MARGIN + NUMA_RISE * (len(topology.names("cpu")) > 1)
    for kind, names in _layers(topology):
        rows = _rows(kind, names)
        # The boxes of a second row stand in the gaps of the first, whose strokes pass there.
        places = BOXES_IN_ROW + 0.5 if len(rows) > 1 else float(len(names))
        for row, layer in enumerate(rows):
            top += HEIGHT * 0.6 if row else 0.0
            shift = 0.5 * (row % 2)
            boxes |= {box.name: box for box in _row(kind, layer, top, boxes, topology, places, shift)}
            top += HEIGHT
        top += LAYER_GAP
    height = max((box.bottom for box in boxes.values()), default=0.0) + MARGIN
    return Arrangement(boxes, (), height, _numa_bracket(boxes), ring=False)


def _layers(topology: Topology) -> list[tuple[str, list[str]]]:
    fabric: list[str] = []
    between: list[str] = []
    for switch in topology.switches:
        kinds = {link.kind for link in topology.links if switch in (link.a, link.b)}
        (fabric if kinds and kinds <= set(FABRICS) else between).append(switch)
    nics = [nic.name for nic in topology.nics]
    rows = [("nic", nics), ("cpu", topology.names("cpu"))]
    rows += [("switch", names) for names in _by_depth(topology, between)]
    rows += [("gpu", topology.names("gpu")), ("fabric", fabric)]
    return [(kind, names) for kind, names in rows if names]


def _by_depth(topology: Topology, switches: Sequence[str]) -> list[list[str]]:
    """Groups switches by their distance in links from a CPU."""
    depth = dict.fromkeys(topology.names("cpu"), 0)
    left = list(switches)
    step = 0
    while left and step < len(switches):
        step += 1
        near = {end for link in topology.links for end in (link.a, link.b) if other(link, end) in depth}
        next_names = [name for name in left if name in near]
        depth |= dict.fromkeys(next_names, step)
        left = [name for name in left if name not in next_names]
    depth |= dict.fromkeys(left, step or 1)
    return [
        [name for name in switches if depth[name] == value]
        for value in sorted({depth[name] for name in switches})
    ]


def other(link: Link, end: str) -> str:
    return link.b if end == link.a else link.a


def _rows(kind: str, names: Sequence[str]) -> list[Sequence[str]]:
    if kind == "fabric" or len(names) <= BOXES_IN_ROW:
        return [names]
    return [names[start : start + BOXES_IN_ROW] for start in range(0, len(names), BOXES_IN_ROW)]


def _row(
    kind: str,
    names: Sequence[str],
    top: float,
    above: dict[str, Box],
    topology: Topology,
    places: float,
    shift: float,
) -> list[Box]:
    """Places equal boxes side by side, in the order of what they hang from.

    Args:
        kind: Of the boxes.
        names: Of the boxes.
        top: Where the row is.
        above: What is placed already.
        topology: The node.
        places: How many boxes fit side by side.
        shift: By how many of them the row begins farther right.
    """

    def hangs_from(name: str) -> float:
        ends = [other(link, name) for link in topology.links if name in (link.a, link.b)]
        middles = [above[end].middle[0] for end in ends if end in above]
        return sum(middles) / len(middles) if middles else 0.0

    ordered = sorted(names, key=hangs_from)  # stable: equal ones keep their order
    share = (PICTURE_WIDTH - 2 * MARGIN) / places
    width = share - 8 if kind == "fabric" else min(WIDEST_BOXES[kind], share - 12)
    start = MARGIN + share * shift
    return [
        Box(name, kind, start + (index + 0.5) * share - width / 2, top, width)
        for index, name in enumerate(ordered)
    ]


def _numa_bracket(boxes: dict[str, Box]) -> str:
    """Returns a line above the CPUs with a drop to each."""
    cpus = [box for box in boxes.values() if box.kind == "cpu"]
    if len(cpus) < 2:
        return ""
    rise = min(box.y for box in cpus) - NUMA_RISE + 4
    drops = "".join(f"M{box.middle[0]:.1f} {box.y:.1f}V{rise:.1f}" for box in cpus)
    left, right = min(box.middle[0] for box in cpus), max(box.middle[0] for box in cpus)
    return f"{drops}M{left:.1f} {rise:.1f}H{right:.1f}"
