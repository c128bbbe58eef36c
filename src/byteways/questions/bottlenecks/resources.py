"""Candidates for bottlenecks: resources that flows may share, besides known link rates.

A resource is a link, a memory, an engine or a hidden switch, with the flows that use it. Resources of a kind
(the memories of all NUMA domains) may form a family with equal members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from byteways.answers.results.counting import listed
from byteways.base.text import Sentence
from byteways.cases.case import Flow
from byteways.machine.cached import cached
from byteways.machine.model import Link, Topology
from byteways.machine.packages import package_of
from byteways.machine.routes import nodes_of, route
from byteways.questions.bottlenecks.prediction import Together

#: Whether a flow uses the resource. Those below are equal if they ask the same, so that the answers of one
#: setting serve for the others.
Uses = Callable[[Flow], bool]
#: A direction of a link: from one device to the next.
LinkDirection = tuple[str, str]


@dataclass(frozen=True)
class Crosses:
    """Whether a flow crosses one of some arcs."""

    arcs: frozenset[LinkDirection]
    topology: Topology = field(compare=False, repr=False)

    def __call__(self, flow: Flow) -> bool:
        return not self.arcs.isdisjoint(_arcs(self.topology, *_devices(flow)))


@dataclass(frozen=True)
class Touches:
    """Whether a flow reads from some devices, or writes to others."""

    sources: frozenset[str]
    destinations: frozenset[str]

    def __call__(self, flow: Flow) -> bool:
        return flow.source.device in self.sources or flow.destination.device in self.destinations


@dataclass(frozen=True)
class BetweenHost:
    """Whether a flow is between the host and some GPUs: `from`, `to` or `with` the host."""

    gpus: frozenset[str]
    direction: str

    def __call__(self, flow: Flow) -> bool:
        source, destination = flow.source.device, flow.destination.device
        comes = source.startswith("cpu") and destination in self.gpus
        goes = destination.startswith("cpu") and source in self.gpus
        return (comes and self.direction != "to") or (goes and self.direction != "from")


@dataclass(frozen=True)
class Executed:
    """Whether a device executes a flow; `peers`: only one between GPUs."""

    executor: str
    peers: bool = False

    def __call__(self, flow: Flow) -> bool:
        return flow.executor == self.executor and (not self.peers or flow.path.count("gpu") == 2)


def _devices(flow: Flow) -> tuple[str, str, str]:
    return flow.source.device, flow.executor, flow.destination.device


@cached
def _arcs(topology: Topology, *devices: str) -> frozenset[LinkDirection]:
    """Returns the arcs that a flow over these devices crosses; empty if one of them is unknown."""
    return frozenset(arc for _, arc in _crossed(topology, devices))


def _crossed(topology: Topology, devices: Sequence[str]) -> Iterator[tuple[Link, LinkDirection]]:
    if not {*devices} <= {*topology.names()}:
        return
    for a, b in pairwise(dict.fromkeys(devices)):
        way = route(topology, a, b)
        yield from zip(way, pairwise(nodes_of(a, way)), strict=True)


@dataclass(frozen=True)
class Resource:
    """A resource, or a family of equal ones. `uses` has one predicate per member."""

    name: Sentence  # as in a sentence: "reads from cpu0's memory"
    uses: tuple[Uses, ...]
    hidden: str = ""  # devices that share something the topology does not show, and …
    towards: str = ""  # … in which direction: "from the host"

    @property
    def family(self) -> bool:
        return len(self.uses) > 1


def resources(
    topology: Topology, cases: Sequence[Together], pairs_held_back: Sequence[Together]
) -> list[Resource]:
    """Returns the candidates, the most specific first.

    Args:
        topology: The machine.
        cases: All cases of one setting.
        pairs_held_back: Cases of two GPUs below prediction: they share something hidden.
    """
    candidates = [*_links(topology, cases), *_memories(topology, cases), *_packages(topology)]
    candidates += _hidden(topology, pairs_held_back)
    candidates += _engines(topology, cases)
    candidates += _gpus(topology)
    return candidates


def _each(
    names: Sequence[str], each: Callable[[str], Uses], name_of_one: str, all_: str
) -> Iterator[Resource]:
    """Yields a resource for every name, then the family of all."""
    for name in names:
        yield Resource(name_of_one.format(name), (each(name),))
    if len(names) > 1:
        yield Resource(all_, tuple(each(name) for name in names))


def _links(topology: Topology, cases: Sequence[Together]) -> Iterator[Resource]:
    """Yields each direction of each link, both directions together, and families of equal link class."""
    flows = {_devices(flow) for case in cases for flow in case.flows}
    classes: dict[str, dict[LinkDirection, None]] = {}
    for devices in sorted(flows):
        for link, _ in _crossed(topology, devices):
            classes.setdefault(link.link_class, {})[link.a, link.b] = None

    def over(*arcs: LinkDirection) -> Uses:
        return Crosses(frozenset(arcs), topology)

    for bundles in classes.values():
        for a, b in bundles:
            yield Resource(f"the link {a}>{b}", (over((a, b)),))
            yield Resource(f"the link {b}>{a}", (over((b, a)),))
    for link_class, bundles in classes.items():
        for a, b in bundles:
            yield Resource(f"the link {a}–{b}, both directions together", (over((a, b), (b, a)),))
        if len(bundles) > 1:
            both = tuple(over((a, b), (b, a)) for a, b in bundles)
            yield Resource(f"each {link_class} link, both directions together", both)


def _reads(*names: str) -> Uses:
    return Touches(frozenset(names), frozenset())


def _writes(*names: str) -> Uses:
    return Touches(frozenset(), frozenset(names))


def _both(*names: str) -> Uses:
    return Touches(frozenset(names), frozenset(names))


def _memories(topology: Topology, cases: Sequence[Together]) -> Iterator[Resource]:
    """Yields host memory reads, writes, and both: of one NUMA domain, of each, and of all together."""
    ends = {end.device for case in cases for flow in case.flows for end in (flow.source, flow.destination)}
    domains = [name for name in topology.names("cpu") if name in ends]
    yield from _each(domains, _reads, "reads from {}'s memory", "reads from each NUMA domain's memory")
    yield from _each(domains, _writes, "writes to {}'s memory", "writes to each NUMA domain's memory")
    yield from _each(
        domains, _both, "reads and writes of {}'s memory", "reads and writes of each NUMA domain's memory"
    )
    if len(domains) > 1:
        yield Resource("reads from all host memory", (_reads(*domains),))
        yield Resource("writes to all host memory", (_writes(*domains),))
        yield Resource("reads and writes of all host memory", (_both(*domains),))


def _hidden(topology: Topology, pairs: Sequence[Together]) -> Iterator[Resource]:
    """Yields hidden resources of GPUs towards the host, inferred from pairs below prediction."""
    for direction in ("from", "to", "with"):
        groups: list[frozenset[str]] = []
        for case in pairs:
            gpus = frozenset(
                end.device
                for flow in case.flows
                for end in (flow.source, flow.destination)
                if BetweenHost(frozenset({end.device}), direction)(flow)
            )
            if len(gpus) == 2:
                joined = gpus.union(*(group for group in groups if group & gpus))
                groups = [group for group in groups if not group & gpus] + [joined]
        names = topology.names("gpu")
        uplinks = [
            ([name for name in names if name in group], BetweenHost(group, direction)) for group in groups
        ]
        way = _WAYS[direction]
        for sharing, uses in uplinks:
            yield Resource(_hidden_name(listed(sharing), way), (uses,), ", ".join(sharing), way)
        if len(uplinks) > 1:
            text = "; ".join(", ".join(gpus) for sharing, _ in uplinks)
            yield Resource(_hidden_name(f"({text})", way), tuple(uses for _, uses in uplinks), text, way)


_WAYS = {"from": "from the host", "to": "to the host", "with": "to and from the host"}


def _hidden_name(gpus: str, way: str) -> str:
    return f"an uplink shared by {gpus}, {way}"


def _packages(topology: Topology) -> Iterator[Resource]:
    """Yields the path to the host shared by a package's dies."""
    packages: dict[str, list[str]] = {}
    for gpu, first in package_of(topology).items():
        packages.setdefault(first, []).append(gpu)
    shared = [frozenset(gpus) for gpus in packages.values() if len(gpus) > 1]
    for direction, way in (
        ("from", "from the host"),
        ("to", "to the host"),
        ("with", "to and from the host"),
    ):
        for gpus in shared:
            uses = BetweenHost(gpus, direction)
            yield Resource(f"the package of {' and '.join(sorted(gpus))} {way}", (uses,))
        if len(shared) > 1:
            yield Resource(f"each package {way}", tuple(BetweenHost(gpus, direction) for gpus in shared))


def _engines(topology: Topology, cases: Sequence[Together]) -> Iterator[Resource]:
    """Yields an executor's copy engines, those for peers and all of them."""
    if not any(case.cell.record.engine == "copy-engine" for case in cases):
        return
    gpus = topology.names("gpu")
    each = "each GPU's peer copy engines"
    yield from _each(gpus, lambda name: Executed(name, peers=True), "the peer copy engines of {}", each)
    yield from _each(gpus, Executed, "the copy engines of {}", "each GPU's copy engines")


def _gpus(topology: Topology) -> Iterator[Resource]:
    """Yields the total traffic into a GPU, out of it, and both."""
    gpus = topology.names("gpu")
    yield from _each(gpus, _reads, "total egress of {}", "total egress of a GPU")
    yield from _each(gpus, _writes, "total ingress of {}", "total ingress of a GPU")
    yield from _each(gpus, _both, "total ingress and egress of {}", "total ingress and egress of a GPU")
