"""The fixed route between every two devices, as the hardware sends traffic.

GPUs forward traffic over xGMI. On NVLink only switches forward, on PCIe switches and CPUs.
"""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byteways.machine.cached import cached
from byteways.machine.model import Link, Topology

#: Links beside PCI Express, which routes prefer.
FABRICS = ("nvlink", "c2c", "xgmi")
#: Links over which GPUs forward.
_FORWARDED = "xgmi"
_Neighbours = Mapping[str, Sequence[tuple[str, Link]]]


@dataclass(frozen=True)
class Route:
    """The route from one device to another."""

    nodes: tuple[str, ...]  # devices and switches from source to destination
    links: tuple[Link, ...]

    @property
    def hops(self) -> int:
        return len(self.links)

    @property
    def peak_bytes_per_s(self) -> float | None:
        """Rate of the narrowest link per direction; None if no link has a known rate."""
        known = [link.peak_bytes_per_s for link in self.links if link.peak_bytes_per_s is not None]
        return min(known, default=None)


def routes(topology: Topology) -> dict[tuple[str, str], Route]:
    """Returns the routes of all connected ordered pairs of devices, by (source, destination)."""
    found = {}
    for source in topology.names():
        for destination in topology.names():
            way = route(topology, source, destination)
            if way:
                found[source, destination] = Route(tuple(nodes_of(source, way)), way)
    return found


@cached
def route(topology: Topology, source: str, destination: str) -> tuple[Link, ...]:
    """Returns the links from one device to another; empty if they are the same or not connected.

    Between GPUs connected by xGMI: their own bundle, otherwise the widest route over other GPUs (among
    equals the one with fewest links), equal in both directions. A CPU that shares a GPU's memory in its
    package uses that GPU's links. Otherwise the route with the fewest non-fabric links, then the fewest
    links, then the widest, passing only through switches and CPU devices.
    """
    if source == destination:
        return ()
    neighbours = _neighbours_in(topology)
    own = [link for node, link in neighbours.get(source, ()) if node == destination and link.kind in FABRICS]
    if own:
        return (max(own, key=_width),)
    begin, end = (_package_gpu(topology, name) for name in (source, destination))
    way = _over_peers(topology, begin, end)
    if way and begin != source:
        way = (*route(topology, source, begin), *way)
    if way and end != destination:
        way = (*way, *route(topology, end, destination))
    return way or _without_forwarding(topology, source).get(destination, ())


@cached
def link_class(topology: Topology, source: str, destination: str) -> str:
    """Returns the class of the route between two devices, equal in both directions.

    `local` and `same domain` within a GPU and a CPU device, `routed` over other GPUs; otherwise the classes
    of the links, with the connecting node for two GPUs on PCI Express: `PCIe 5.0 ×16 through host`.
    """
    if source == destination:
        return "same domain" if topology.device(source).kind == "cpu" else "local"
    way = route(topology, source, destination)
    if not way:
        return "no link"
    nodes = nodes_of(source, way)
    for turn in (1, -1):  # a CPU's route starts in its package, represented by the GPU
        way, nodes = way[::turn], nodes[::turn]
        if len(way) > 1 and _package_gpu(topology, nodes[0]) == nodes[1]:
            way, nodes = way[1:], nodes[1:]
        way, nodes = way[::turn], nodes[::turn]
    kinds = _kinds(topology)
    inner = {kinds.get(node) for node in nodes[1:-1]}
    if "gpu" in inner:
        return "routed"
    classes = " + ".join(sorted({link.link_class for link in way}))
    if {kinds[source], kinds[destination]} != {"gpu"} or not inner:
        return classes
    if "cpu" in inner:
        return f"{classes} through host"
    return classes if way[0].kind in FABRICS else f"{classes} through switch"


def alike(topology: Topology) -> list[list[str]]:
    """Returns the devices in groups: exchanging two of a group changes no class of a link.

    They have equal links to the same nodes. Devices that share memory are alone, as routes differ by them.
    """
    neighbours = _neighbours_in(topology)
    sharing = {
        name
        for device in topology.devices
        if device.shares_memory_with
        for name in (device.name, device.shares_memory_with)
    }
    groups: dict[object, list[str]] = {}
    for device in topology.devices:
        links = tuple(
            (node, link.kind, link.link_class, _width(link)) for node, link in neighbours.get(device.name, ())
        )
        key = device.name if device.name in sharing else (device.kind, links)
        groups.setdefault(key, []).append(device.name)
    return list(groups.values())


@cached
def _kinds(topology: Topology) -> dict[str, str]:
    """Returns the kind of each device by name; switches are not among them."""
    return {device.name: device.kind for device in topology.devices}


def nodes_of(source: str, way: Sequence[Link]) -> list[str]:
    """Returns the devices and switches of a route that starts at `source`."""
    nodes = [source]
    for link in way:
        nodes.append(link.b if nodes[-1] == link.a else link.a)
    return nodes


@cached
def _neighbours_in(topology: Topology) -> _Neighbours:
    return _neighbours(topology.links)


def _neighbours(links: Sequence[Link]) -> dict[str, list[tuple[str, Link]]]:
    found: dict[str, list[tuple[str, Link]]] = {}
    for link in links:
        found.setdefault(link.a, []).append((link.b, link))
        found.setdefault(link.b, []).append((link.a, link))
    return found


def _width(link: Link) -> float:
    return link.peak_bytes_per_s or float("inf")


@cached
def _package_gpu(topology: Topology, name: str) -> str:
    """Returns the GPU that shares the CPU device's memory; the device itself if there is none."""
    return next((device.name for device in topology.devices if device.shares_memory_with == name), name)


def _over_peers(topology: Topology, source: str, destination: str) -> tuple[Link, ...]:
    """Returns the widest route over forwarding GPUs; among equals the one with fewest links."""
    first, last = sorted((source, destination), key=_natural)
    way = _from_over_peers(topology, first).get(last, ())
    return way if first == source else way[::-1]


@cached
def _from_over_peers(topology: Topology, source: str) -> dict[str, tuple[Link, ...]]:
    """Returns the widest route over forwarding GPUs to each node that has one."""
    found: dict[str, tuple[Link, ...]] = {}
    for neighbours in _forwarding(topology):
        if source in neighbours:
            for node, way in _shortest(neighbours, source).items():
                found.setdefault(node, way)
    return found


@cached
def _forwarding(topology: Topology) -> list[_Neighbours]:
    """Returns the forwarding links by node: the widest ones, then those and the next width, and so on."""
    cpus = set(topology.names("cpu"))
    links = [link for link in topology.links if link.kind == _FORWARDED and not {link.a, link.b} & cpus]
    levels: list[_Neighbours] = []
    for width in sorted({_width(link) for link in links}, reverse=True):
        neighbours = _neighbours([link for link in links if _width(link) >= width])
        levels.append(
            {node: sorted(near, key=lambda pair: _natural(pair[0])) for node, near in neighbours.items()}
        )
    return levels


def _shortest(neighbours: _Neighbours, source: str) -> dict[str, tuple[Link, ...]]:
    """Returns routes with the fewest links to all nodes; among equals the first by node order."""
    ways: dict[str, tuple[Link, ...]] = {source: ()}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for neighbour, link in neighbours.get(node, ()):
            if neighbour not in ways:
                ways[neighbour] = (*ways[node], link)
                queue.append(neighbour)
    return ways


def _natural(name: str) -> tuple[str, int]:
    """Sort key that puts `gpu10` after `gpu9`."""
    letters, digits = re.fullmatch(r"(.*?)(\d*)", name).groups()  # type: ignore[union-attr]
    return letters, int(digits or 0)


@cached
def _without_forwarding(topology: Topology, source: str) -> dict[str, tuple[Link, ...]]:
    """Returns the routes to all nodes that pass only through switches and CPU devices."""
    neighbours = _neighbours_in(topology)
    gpus = set(topology.names("gpu"))
    # Order: non-fabric links, hops, narrowest (negated); a running number breaks ties.
    queue: list[tuple[int, int, float, int, str, tuple[Link, ...]]] = [(0, 0, -float("inf"), 0, source, ())]
    found: dict[str, tuple[Link, ...]] = {}
    pushed = 0
    while queue:
        others, hops, narrow, _, node, way = heapq.heappop(queue)
        if node in found:
            continue
        found[node] = way
        if node in gpus and node != source:
            continue
        for neighbour, link in neighbours.get(node, ()):
            if neighbour in found:
                continue
            pushed += 1
            width = max(narrow, -_width(link))
            fabric = link.kind in FABRICS
            heapq.heappush(queue, (others + (not fabric), hops + 1, width, pushed, neighbour, (*way, link)))
    return found
