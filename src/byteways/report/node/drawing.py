"""The picture of the node: boxes, and a stroke per link, whose width is its rate and whose colour its
share of the peak. The template converts it to SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byteways.answers.claims.phrases import gb, percent_number
from byteways.answers.results.summary import Result
from byteways.base.units import format_bandwidth, format_size
from byteways.machine.model import Device, Link, Topology
from byteways.questions.subjects.missing_links import missing_pairs
from byteways.report.node.boxes import PICTURE_WIDTH, Arrangement, Box, layered
from byteways.report.node.lines import Labels, PathLine, arc, around, between_layers, straight
from byteways.report.node.rates import LinkRate, gb_per_s
from byteways.report.node.ring import in_ring

#: Width of the fastest link's stroke, and of the slowest.
WIDEST_STROKE, THINNEST_STROKE = 13.0, 2.0
#: Shares of the peak from which a stroke has this colour; the colours differ for every kind of colour vision.
SHADES = ((0.85, "good"), (0.7, "fair"), (0.5, "low"), (0.0, "poor"))
#: … of a picture with so many strokes that the widest would hide others.
CROWDED, WIDEST_OF_MANY = 24, 6.0
#: The frame between NUMA domains.
WIDEST_FRAME = 4.0
#: A GPU at such a distance from its CPU has others in between.
FAR_FROM_CPU = 70.0
#: With more links, only the marked ones have a number: numbers would hide the strokes.
NUMBERED = 24
#: A bundle of up to this many links is drawn in as many strands.
STRANDS = 4


@dataclass(frozen=True)
class LinkStroke:
    """A link in the picture."""

    name: str  # "gpu0 – gpu1"
    path: str  # SVG path data
    width: float
    shade: str  # one of SHADES, or "unknown" without a result or a peak, or "missing"
    strands: int
    number: str  # GB/s beside the stroke; '' if there is no room
    x: float
    y: float  # of the number or mark
    suspect: bool
    details: str


@dataclass(frozen=True)
class Node:
    """A box with its facts."""

    box: Box
    details: str


@dataclass(frozen=True)
class DrawnLinkClass:
    """A row of the table of links."""

    name: str
    count: int
    peak: str
    reached: str
    source: str


@dataclass(frozen=True)
class NodeDrawing:
    width: float
    height: float
    packages: tuple[Box, ...]
    nodes: tuple[Node, ...]
    strokes: tuple[LinkStroke, ...]
    classes: tuple[DrawnLinkClass, ...]
    numbered: bool  # whether every stroke has its number
    hosts: int  # how many there are; one is drawn

    @property
    def shades(self) -> tuple[str, ...]:
        """The colours that occur, for the legend."""
        return tuple(dict.fromkeys(stroke.shade for stroke in self.strokes))

    @property
    def suspects(self) -> bool:
        return any(stroke.suspect for stroke in self.strokes)


def draw(topology: Topology, rates: Sequence[LinkRate]) -> NodeDrawing:
    """Returns the picture of a topology with these rates."""
    at = arranged(topology)
    places = Labels(at.boxes.values())
    cpus = {*topology.names("cpu")}
    between_domains = [
        rate for rate in rates if rate.link.kind == "numa" and {rate.link.a, rate.link.b} <= cpus
    ]
    others = [rate for rate in rates if not (at.numa and rate in between_domains)]
    numbered, scale = len(others) <= NUMBERED, _scale(others)
    strokes = [_numa(at, between_domains, scale)] if at.numa and between_domains else []
    strokes += [
        _stroke(at, rate, scale, numbered, places)
        for rate in sorted(others, key=lambda rate: -(rate.best.value if rate.best else 0.0))
        if rate.link.a in at.boxes and rate.link.b in at.boxes
    ]
    strokes += [_missing(at, *pair, places) for pair in missing_pairs(topology) if at.ring]
    facts = {device.name: device for device in topology.devices}
    nodes = tuple(Node(box, facts_of(box, facts.get(box.name), topology)) for box in at.boxes.values())
    classes = tuple(_classes(rates))
    return NodeDrawing(
        PICTURE_WIDTH,
        at.height,
        at.packages,
        nodes,
        tuple(strokes),
        classes,
        numbered,
        max(len(topology.hosts), 1),
    )


def arranged(topology: Topology) -> Arrangement:
    """Returns the places: in a ring if GPUs have links of their own, otherwise in layers."""
    gpus = set(topology.names("gpu"))
    direct = any({link.a, link.b} <= gpus for link in topology.links)
    return in_ring(topology) if direct else layered(topology)


@dataclass(frozen=True)
class _Scale:
    """Widths in proportion to rates: the fastest link has the widest stroke."""

    fastest: float
    widest: float

    def width(self, cell: Result | None) -> float:
        if cell is None:
            return THINNEST_STROKE
        return min(max(THINNEST_STROKE, self.widest * cell.value / self.fastest), self.widest)


def _scale(rates: Sequence[LinkRate]) -> _Scale:
    # Without a peak it is no link but memory that a package shares.
    reached = [rate.best.value for rate in rates if rate.best and rate.link.peak_bytes_per_s]
    fastest = max(reached or [rate.best.value for rate in rates if rate.best], default=1.0)
    return _Scale(fastest, WIDEST_OF_MANY if len(rates) > CROWDED else WIDEST_STROKE)


def shade_of(fraction: float | None) -> str:
    """Returns the colour of a share of the peak; `unknown` without one."""
    if fraction is None:
        return "unknown"
    return next(name for least, name in SHADES if fraction >= least)


def _stroke(at: Arrangement, rate: LinkRate, scale: _Scale, numbered: bool, places: Labels) -> LinkStroke:
    link, best = rate.link, rate.best
    line = line_of(at, link)
    width = scale.width(best)
    strands = link.count if 2 <= link.count <= STRANDS else 1
    number = gb_per_s(best) if best and (numbered or rate.suspect) else ""
    text = f"⚠ {number}" if rate.suspect else number
    x, y = places.place(line, text, width) if text else (0.0, 0.0)
    return LinkStroke(
        f"{link.a} – {link.b}",
        line.path,
        width,
        shade_of(rate.fraction) if best else "none",
        strands if width >= 2 * strands else 1,
        number,
        x,
        y,
        bool(rate.suspect),
        rate.details,
    )


def _numa(at: Arrangement, rates: Sequence[LinkRate], scale: _Scale) -> LinkStroke:
    """Returns the one stroke for all links between NUMA domains."""
    best = max((rate.best for rate in rates if rate.best), key=lambda cell: cell.value, default=None)
    name = f"{rates[0].link.a} – {rates[0].link.b}" if len(rates) == 1 else "between NUMA domains"
    details = [f"{len(rates)} links between NUMA domains", *(rate.details for rate in rates[:6])]
    if len(rates) > 6:
        details.append(f"and {len(rates) - 6} others")
    start = at.numa.lstrip("M").split("H")[0].split("V")[0].split()
    return LinkStroke(
        name,
        at.numa,
        min(scale.width(best), WIDEST_FRAME),
        "unknown" if best else "none",
        1,
        "",
        float(start[0]),
        float(start[1]),
        any(rate.suspect for rate in rates),
        rates[0].details if len(rates) == 1 else "\n".join(details),
    )


def _missing(at: Arrangement, a: str, b: str, places: Labels) -> LinkStroke:
    line = straight(at.boxes[a], at.boxes[b])
    x, y = places.place(line, "no link", THINNEST_STROKE)
    details = f"{a} – {b}: no direct link, as all other pairs have one"
    return LinkStroke(f"{a} – {b}", line.path, THINNEST_STROKE, "missing", 1, "", x, y, True, details)


def line_of(at: Arrangement, link: Link) -> PathLine:
    """Returns the line of a link between its two boxes."""
    first, second = at.boxes[link.a], at.boxes[link.b]
    if at.ring:
        return _in_ring(at, link)
    upper, lower = sorted((first, second), key=lambda box: box.y)
    return arc(upper, lower) if upper.y == lower.y else between_layers(upper, lower)


def _in_ring(at: Arrangement, link: Link) -> PathLine:
    first, second = at.boxes[link.a], at.boxes[link.b]
    cpu, gpu = sorted((first, second), key=lambda box: box.kind)
    if (cpu.kind, gpu.kind) != ("cpu", "gpu") or abs(cpu.middle[1] - gpu.middle[1]) < FAR_FROM_CPU:
        return straight(first, second)
    beside = cpu.middle[0] < PICTURE_WIDTH / 4 or cpu.middle[0] > 3 * PICTURE_WIDTH / 4
    return (
        around(cpu, gpu)
        if beside and abs(cpu.middle[0] - gpu.middle[0]) > FAR_FROM_CPU
        else straight(first, second)
    )


def facts_of(box: Box, device: Device | None, topology: Topology) -> str:
    """Returns the facts on a device, NIC or switch, one a line."""
    if device is None:
        nic = next((nic for nic in topology.nics if nic.name == box.name), None)
        if nic is None:
            return f"{box.name}: switch"
        names = ", ".join(part for part in (*nic.interfaces, nic.port) if part)
        rate = format_bandwidth(nic.peak_bytes_per_s) if nic.peak_bytes_per_s else "rate unknown"
        return f"{nic.name}: {names or 'NIC'}\n{rate}, {'up' if nic.up else 'down'}"
    lines = [f"{device.name}: {device.model}"]
    if device.cores:
        lines.append(f"{len(device.cores)} logical CPUs")
    if device.memory_bytes:
        lines.append(f"{format_size(device.memory_bytes)} of memory")
    if device.memory_peak_bytes_per_s:
        lines.append(f"memory peak {format_bandwidth(device.memory_peak_bytes_per_s)}")
    return "\n".join(lines)


def _classes(rates: Sequence[LinkRate]) -> list[DrawnLinkClass]:
    """Returns a row per link class: nominal peak, and what its links reached."""
    rows = []
    for name in dict.fromkeys(rate.link.link_class for rate in rates):
        alike = [rate for rate in rates if rate.link.link_class == name]
        peaks = sorted({rate.link.peak_bytes_per_s for rate in alike if rate.link.peak_bytes_per_s})
        reached = sorted(rate.best.value for rate in alike if rate.best)
        shares = sorted(rate.fraction for rate in alike if rate.fraction is not None)
        reached_text = _span([gb(value) for value in reached], " GB/s")
        if shares:
            reached_text += f" ({_span([percent_number(share) for share in shares], ' %')} of peak)"
        peak = _span([format_bandwidth(value) for value in peaks], "") or "unknown"
        rows.append(DrawnLinkClass(name, len(alike), peak, reached_text or "–", alike[0].link.source))
    return rows


def _span(texts: Sequence[str], unit: str) -> str:
    """'396 GB/s', '37.1–151 GB/s', '' without any."""
    ends = list(dict.fromkeys((*texts[:1], *texts[-1:])))
    return f"{'–'.join(ends)}{unit}" if ends else ""
