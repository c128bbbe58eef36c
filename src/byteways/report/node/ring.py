"""The places of devices of a node whose GPUs are linked directly: packages in a ring, CPUs outside.

The links between GPUs are the chords, so that every one of them is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import cos, hypot, pi, sin

from byteways.machine.model import Topology
from byteways.machine.packages import package_of, packed
from byteways.report.node.boxes import HEIGHT, MARGIN, PICTURE_WIDTH, Arrangement, Box, other

#: Half axes of the ring; across for up to four packages and for more, which leave room for CPUs beside them.
ACROSS, DOWN = (160.0, 120.0), 112.0
#: A GPU's box, and what is between two of a package: room for a stroke with its number.
GPU_BOX, GPU_SPACE, GPU_PAD = 52.0, 40.0, 7.0
CPU, NIC = 60.0, 46.0
#: From a device to its NIC beside it, and from the frame of a package to one above or below, which leaves the
#: link visible; between NICs of one device.
TO_NIC, FROM_FRAME, NEXT = 34.0, 18.0, 8.0
#: From a package to its CPU: beside it and above it.
CPU_BESIDE, CPU_ABOVE = 90.0, 76.0
#: Packages of a NUMA domain attract each other like a link of this width.
DOMAIN = 0.5

_Point = tuple[float, float]


@dataclass(frozen=True)
class _Unit:
    """A package: its devices in a row, GPUs first."""

    names: tuple[str, ...]

    @property
    def width(self) -> float:
        return len(self.names) * GPU_BOX + (len(self.names) - 1) * GPU_SPACE

    def turned(self) -> _Unit:
        return _Unit(self.names[::-1])

    def places(self, at: _Point) -> dict[str, _Point]:
        """Returns the middle of each device."""
        left = at[0] - self.width / 2 + GPU_BOX / 2
        return {name: (left + index * (GPU_BOX + GPU_SPACE), at[1]) for index, name in enumerate(self.names)}


def in_ring(topology: Topology) -> Arrangement:
    """Returns the arrangement in a ring."""
    units = _ordered(_units(topology), topology)
    places = _places(units)
    kinds = {device.name: device.kind for device in topology.devices}
    boxes = {name: _box(name, kinds[name], at, GPU_BOX) for name, at in places.items()}
    packages = [_frame(unit, places) for unit in units if len(unit.names) > 1]
    boxes |= _cpus(topology, units, places)
    _add_others(boxes, packages, topology)
    everything = [*boxes.values(), *packages]
    top = min(box.y for box in everything)
    left = min(min(box.x for box in everything), 0.0)
    down, right = MARGIN + 8 - top, MARGIN - left if left < 0 else 0.0
    boxes = {name: box.moved(right, down) for name, box in boxes.items()}
    height = max(box.bottom for box in boxes.values()) + MARGIN + 8
    frames = tuple(package.moved(right, down) for package in packages)
    return Arrangement(boxes, frames, height, _numa_frame(boxes, frames), ring=True)


def _units(topology: Topology) -> list[_Unit]:
    package = package_of(topology)
    units: dict[str, list[str]] = {}
    for gpu in packed(topology):
        units.setdefault(package[gpu], []).append(gpu)
    for gpus in units.values():
        gpus += dict.fromkeys(cpu for gpu in gpus if (cpu := topology.device(gpu).shares_memory_with))
    return [_Unit(tuple(names)) for names in units.values()]


def _places(units: Sequence[_Unit]) -> dict[str, _Point]:
    """Returns the middle of each device; the ring's own is 0, 0, its first package is the upper left."""
    places: dict[str, _Point] = {}
    across = ACROSS[len(units) > 4]
    for index, unit in enumerate(units):
        angle = pi / 2 + pi / len(units) + index * 2 * pi / len(units)
        far = 0.0 if len(units) == 1 else 1.0
        places |= unit.places((far * across * cos(angle), -far * DOWN * sin(angle)))
    return places


def _ordered(units: list[_Unit], topology: Topology) -> list[_Unit]:
    """Returns the packages in an order that keeps wide links short, by exchanging two or turning one."""
    pulls = _pulls(units, topology)
    best = _length(units, pulls)
    improved = True
    while improved:
        improved = False
        for changed in _changes(units):
            length = _length(changed, pulls)
            if length < best - 1e-6:
                units, best, improved = changed, length, True
                break
    return units


def _changes(units: list[_Unit]) -> list[list[_Unit]]:
    changes = []
    for a, b in combinations(range(len(units)), 2):
        changes.append(list(units))
        changes[-1][a], changes[-1][b] = units[b], units[a]
    for index, unit in enumerate(units):
        if len(unit.names) > 1:
            changes.append([*units[:index], unit.turned(), *units[index + 1 :]])
    return changes


def _pulls(units: Sequence[_Unit], topology: Topology) -> list[tuple[str, str, float]]:
    """Returns pairs of devices to be near each other, with their weight."""
    inside = {name for unit in units for name in unit.names}
    pulls = [(link.a, link.b, float(link.count)) for link in topology.links if {link.a, link.b} <= inside]
    domain = {unit.names[0]: topology.device(unit.names[0]).numa_domain for unit in units}
    return pulls + [
        (a, b, DOMAIN) for a, b in combinations(domain, 2) if domain[a] is not None and domain[a] == domain[b]
    ]


def _length(units: Sequence[_Unit], pulls: Sequence[tuple[str, str, float]]) -> float:
    at = _places(units)
    return sum(weight * hypot(at[a][0] - at[b][0], at[a][1] - at[b][1]) for a, b, weight in pulls)


def _box(name: str, kind: str, middle: _Point, width: float) -> Box:
    return Box(name, kind, PICTURE_WIDTH / 2 + middle[0] - width / 2, middle[1] - HEIGHT / 2, width)


def _frame(unit: _Unit, places: dict[str, _Point]) -> Box:
    xs, y = [places[name][0] for name in unit.names], places[unit.names[0]][1]
    width = unit.width + 2 * GPU_PAD
    left = PICTURE_WIDTH / 2 + (min(xs) + max(xs)) / 2 - width / 2
    return Box(
        " and ".join(unit.names), "package", left, y - HEIGHT / 2 - GPU_PAD, width, HEIGHT + 2 * GPU_PAD
    )


def _cpus(topology: Topology, units: Sequence[_Unit], places: dict[str, _Point]) -> dict[str, Box]:
    """Places each CPU outside, next to its GPUs; those without GPUs in a row below."""
    cpus: dict[str, Box] = {}
    alone = []
    for cpu in topology.names("cpu"):
        if cpu in places:
            continue
        linked = {other(link, cpu) for link in topology.links if cpu in (link.a, link.b)}
        at = [places[name] for name in places if name in linked]
        if not at:
            alone.append(cpu)
            continue
        homes = sum(bool(linked & set(unit.names)) for unit in units)
        cpus[cpu] = _box(cpu, "cpu", _outside(at, homes), CPU)
    bottom = max(box.y for box in (_box(name, "gpu", at, GPU_BOX) for name, at in places.items()))
    bottom = max([bottom] + [box.y for box in cpus.values()])
    for index, cpu in enumerate(alone):
        share = (PICTURE_WIDTH - 2 * MARGIN) / len(alone)
        width = min(CPU, share - 8)
        cpus[cpu] = Box(
            cpu, "cpu", MARGIN + (index + 0.5) * share - width / 2, bottom + CPU_ABOVE * 0.8, width
        )
    return cpus


def _outside(at: Sequence[_Point], homes: int) -> _Point:
    """Returns the place of a CPU from those of its GPUs, which are in `homes` packages."""
    x, y = (sum(place[axis] for place in at) / len(at) for axis in (0, 1))
    side, end = (-1 if x < 0 else 1), (-1 if y < 0 else 1)
    if homes == 1:
        room = abs(x) > 1.3 * abs(y) and abs(x) + CPU_BESIDE <= PICTURE_WIDTH / 2 - MARGIN - CPU / 2
        return (x + side * CPU_BESIDE, y) if room else (x, y + end * CPU_ABOVE)
    if abs(x) > abs(y):
        return side * (PICTURE_WIDTH / 2 - MARGIN - CPU / 2), y
    return x, (end if abs(y) > 1 else -1) * (DOWN + CPU_ABOVE)


def _add_others(boxes: dict[str, Box], frames: Sequence[Box], topology: Topology) -> None:
    """Places NICs and switches outside of the device that they are linked to."""
    taken: dict[str, int] = {}
    names = [*(nic.name for nic in topology.nics), *topology.switches]
    for name in names:
        linked = [other(link, name) for link in topology.links if name in (link.a, link.b)]
        home = next((end for end in linked if end in boxes and end not in names), None)
        if home is None:
            boxes[name] = Box(name, "nic", MARGIN, max(box.bottom for box in boxes.values()) + 20, NIC)
            continue
        number = taken.get(home, 0)
        taken[home] = number + 1
        tried = [Box(name, "nic", *at, NIC) for at in _outer(boxes[home], number)]
        others = [*boxes.values(), *frames]
        boxes[name] = next(
            (box for box in tried if not any(_touch(box, placed) for placed in others)), tried[-1]
        )


def _outer(home: Box, number: int) -> list[_Point]:
    """Returns places of a device's NIC, best first: beside it, above or below it, and at the picture's edge.

    Args:
        home: The device.
        number: How many NICs it has already.
    """
    side, end = (-1 if home.middle[0] < PICTURE_WIDTH / 2 else 1), (-1 if home.middle[1] < HEIGHT / 2 else 1)
    beside = home.x - NIC - TO_NIC if side < 0 else home.x + home.width + TO_NIC
    down = home.y + number * (HEIGHT + NEXT)
    edge = home.x if side < 0 else home.x + home.width - NIC
    away = home.y + end * (HEIGHT + GPU_PAD + FROM_FRAME)
    within = min(max(beside, MARGIN), PICTURE_WIDTH - MARGIN - NIC)
    level = [(beside, down)] if beside == within else []
    return [*level, (edge - side * number * (NIC + NEXT), away), (within, down)]


def _touch(box: Box, two: Box) -> bool:
    across = min(box.x + box.width, two.x + two.width) - max(box.x, two.x)
    return across > 0 and min(box.bottom, two.bottom) > max(box.y, two.y)


def _numa_frame(boxes: dict[str, Box], packages: Sequence[Box]) -> str:
    """Returns a rounded frame around the ring that passes through all CPUs outside it."""
    inside = {name for package in packages for name in package.name.split(" and ")}
    cpus = [box for box in boxes.values() if box.kind == "cpu" and box.name not in inside]
    if len(cpus) < 2:
        return ""
    rest = [box for box in boxes.values() if box.kind == "gpu"] + list(packages)
    left = min([box.middle[0] for box in cpus] + [box.x - 12 for box in rest])
    right = max([box.middle[0] for box in cpus] + [box.x + box.width + 12 for box in rest])
    top = min([box.middle[1] for box in cpus] + [box.y - 12 for box in rest])
    bottom = max([box.middle[1] for box in cpus] + [box.bottom + 12 for box in rest])
    return (
        f"M{left + 14:.1f} {top:.1f}H{right - 14:.1f}q14 0 14 14V{bottom - 14:.1f}q0 14 -14 14"
        f"H{left + 14:.1f}q-14 0 -14 -14V{top + 14:.1f}q0 -14 14 -14z"
    )
