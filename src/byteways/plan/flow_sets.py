"""Which flows run concurrently: fans of some GPUs, two pairs, bisections and rings (pure).

Groups are tuples of (source, destination) pairs, before executors are assigned.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations, pairwise, permutations, product

from byteways.cases.case import Buffer
from byteways.cases.transfer_sets import TransferSet
from byteways.cases.vocabulary import PATTERN_NEEDS
from byteways.machine.cached import cached
from byteways.machine.model import Link, Topology
from byteways.machine.packages import packed, spread
from byteways.machine.routes import nodes_of, route
from byteways.plan import bounds

#: (source, destination) of one flow; equal for a chase.
FlowEnds = tuple[Buffer, Buffer]
#: The flows of one case.
FlowGroup = tuple[FlowEnds, ...]
#: One direction of a link: start, end, link class.
ClassedArc = tuple[str, str, str]

#: GPUs of a fan: the first 2 … n in this order, or every two. Default: all.
GPUS = ("packed", "spread", "two")
#: Halves of a bisection: those with the least capacity between them, or all.
HALVES = ("worst", "all")


def lacking(pattern: str, topology: Topology) -> str | None:
    """Returns why a machine has too few devices for a pattern; None if it has enough."""
    devices, gpus = PATTERN_NEEDS[pattern]
    here, gpus_here = len(topology.devices), len(topology.names("gpu"))
    if gpus_here < gpus:
        return f"{pattern} needs {gpus} GPUs, and this machine has {gpus_here or 'none'}"
    if here < devices:
        return f"{pattern} needs {devices} devices (GPUs and NUMA domains), and this machine has {here}"
    return None


def of_some_gpus(group: FlowGroup, side: int, words: Sequence[str], topology: Topology) -> list[FlowGroup]:
    """Returns a fan's flows for 2 … n of its GPUs, or for every two; each set of GPUs once.

    Args:
        group: All flows of the fan.
        side: The end of each flow that is not the hub: 0 source, 1 destination.
        words: Elements of GPUS.
        topology: The machine.
    """
    here = list(dict.fromkeys(ends[side].device for ends in group))
    chosen: dict[tuple[str, ...], None] = {}
    for word in words:
        if word == "two":
            chosen |= dict.fromkeys(combinations(here, 2))
            continue
        order = [gpu for gpu in (packed if word == "packed" else spread)(topology) if gpu in here]
        for count in range(2, len(order) + 1):
            chosen[tuple(gpu for gpu in here if gpu in order[:count])] = None
    return [tuple(ends for ends in group if ends[side].device in gpus) for gpus in chosen]


def there_and_back(group: FlowGroup) -> FlowGroup:
    """Returns the flows followed by their reverses."""
    return (*group, *(ends[::-1] for ends in group))


def two_pairs(pairs: Sequence[FlowEnds]) -> list[FlowGroup]:
    """Returns all combinations of two pairs with equal memory and four distinct devices."""
    sets = sum(math.comb(len(same), 2) for same in _by_memory(pairs))
    bounds.within(sets, "pattern 'two-pairs' on this machine", bounds.MOST_SETS)
    return [
        (one, other)
        for same in _by_memory(pairs)
        for one, other in combinations(same, 2)
        if len({end.device for ends in (one, other) for end in ends}) == 4
    ]


def listed(transfers: TransferSet, pairs: Sequence[FlowEnds]) -> list[FlowGroup]:
    """Returns the flows of a set of transfers, once for every choice of their memory kinds."""
    choices = [
        [(source, destination) for source, destination in pairs if (source.device, destination.device) == one]
        for one in transfers
    ]
    bounds.within(math.prod(map(len, choices)), "pattern 'transfers' on this machine", bounds.MOST_SETS)
    return list(product(*choices))


def common_links(group: FlowGroup, topology: Topology) -> tuple[str, ...]:
    """Returns the sorted classes of links that several flows cross in the same direction."""
    seen: set[ClassedArc] = set()
    shared: set[ClassedArc] = set()
    for source, destination in group:
        crossed = _crossed(topology, source.device, destination.device)
        shared |= seen & crossed
        seen |= crossed
    return tuple(sorted(link_class for _, _, link_class in shared))


@cached
def _crossed(topology: Topology, source: str, destination: str) -> frozenset[ClassedArc]:
    way = route(topology, source, destination)
    steps = zip(way, pairwise(nodes_of(source, way)), strict=True)
    return frozenset((begin, end, link.link_class) for link, (begin, end) in steps)


def bisections(pairs: Sequence[FlowEnds], halves: str, topology: Topology) -> list[FlowGroup]:
    """Returns the flows between two halves of the GPUs, every pair in both directions.

    Args:
        pairs: All pairs of the sweep; GPU pairs are used, separately by memory kind.
        halves: Element of HALVES.
        topology: The machine.
    """
    groups = []
    for same in _by_memory(pairs):
        ends = {(source.device, destination.device): (source, destination) for source, destination in same}
        gpus = [gpu for gpu in topology.names("gpu") if any(gpu in path for path in ends)]
        if len(gpus) < PATTERN_NEEDS["bisection"][1]:
            continue
        bounds.within(
            math.comb(len(gpus), len(gpus) // 2), "pattern 'bisection' on this machine", bounds.MOST_SETS
        )
        # Fix the first GPU in the first half to avoid counting each division twice.
        firsts = [(gpus[0], *rest) for rest in combinations(gpus[1:], len(gpus) // 2 - 1)]
        if len(gpus) % 2:
            firsts += [(gpus[0], *rest) for rest in combinations(gpus[1:], len(gpus) // 2)]
        if halves == "worst":
            firsts = [min(firsts, key=lambda half: _cut(topology, half, gpus))]
        for half in firsts:
            across = [(a, b) for a in half for b in gpus if b not in half]
            paths = [*across, *((b, a) for a, b in across)]
            if all(path in ends for path in paths):
                groups.append(tuple(ends[path] for path in paths))
    return groups


def _cut(topology: Topology, half: Sequence[str], gpus: Sequence[str]) -> float:
    """Returns the capacity in bytes/s from one half of the GPUs to the other.

    Links of unknown rate count as 1 byte/s, so that the fewest links are the worst. A switch (or a CPU, if
    nothing else connects the GPUs) forwards at most what its narrower side can carry.
    """
    other = [gpu for gpu in gpus if gpu not in half]
    direct, at_node = 0.0, dict[str, list[float]]()
    fabric = [link for link in topology.links if link.kind in ("nvlink", "xgmi") and not _to_cpu(link)]
    for link in fabric or topology.links:
        rate = link.peak_bytes_per_s or 1.0
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near in half and far in other:
                direct += rate
            elif near in gpus and far not in gpus:
                at_node.setdefault(far, [0.0, 0.0])[near in half] += rate
    return direct + sum(min(sides) for sides in at_node.values())


def _to_cpu(link: Link) -> bool:
    return link.a.startswith("cpu") or link.b.startswith("cpu")


def rings(pairs: Sequence[FlowEnds], topology: Topology) -> list[FlowGroup]:
    """Returns a ring over the widest links, each GPU to the next, separately by memory kind."""
    groups = []
    for same in _by_memory(pairs):
        ends = {(source.device, destination.device): (source, destination) for source, destination in same}
        gpus = [gpu for gpu in topology.names("gpu") if any(gpu in path for path in ends)]
        order = _ring(gpus, topology) if len(gpus) > 1 else ()
        steps = list(zip(order, (*order[1:], *order[:1]), strict=True))
        if steps and all(step in ends for step in steps):
            groups.append(tuple(ends[step] for step in steps))
    return groups


def rings_with_host(pairs: Sequence[FlowEnds], topology: Topology) -> list[FlowGroup]:
    """Returns a ring of GPUs plus transfers of each GPU with the host: PCI Express and fabric together."""
    host = [pair for pair in pairs if len({end.device[:3] for end in pair}) == 2]
    return [
        (*ring, *same)
        for ring in rings(pairs, topology)
        for same in _by_memory(host)
        if len({end.device for ends in ring for end in ends}) == len(same)
    ]


def _by_memory(pairs: Iterable[FlowEnds]) -> list[list[FlowEnds]]:
    """Groups pairs by memory and first touch at both ends."""
    groups: dict[object, list[FlowEnds]] = {}
    for source, destination in pairs:
        kinds = (*(_kind(source)), *(_kind(destination)))
        groups.setdefault(kinds, []).append((source, destination))
    return [*groups.values()]


def _kind(end: Buffer) -> tuple[str, str, str]:
    return end.device[:3], end.memory, (end.first_touch or "")[:3]


def _ring(gpus: Sequence[str], topology: Topology) -> tuple[str, ...]:
    """Returns the GPUs in ring order, starting with the first."""
    widths = {(a, b): _width(topology, a, b) for a, b in permutations(gpus, 2)}
    for least in sorted({*widths.values()}, reverse=True):
        wide = {step for step, width in widths.items() if width >= least}
        if order := _closed((gpus[0],), gpus, wide):
            return order
    return tuple(gpus)


def _closed(
    begun: tuple[str, ...], gpus: Sequence[str], wide: Collection[tuple[str, str]]
) -> tuple[str, ...]:
    """Extends the begun ring over wide links only; empty if impossible."""
    if len(begun) == len(gpus):
        return begun if (begun[-1], begun[0]) in wide else ()
    for gpu in gpus:
        if gpu not in begun and (begun[-1], gpu) in wide and (ring := _closed((*begun, gpu), gpus, wide)):
            return ring
    return ()


def _width(topology: Topology, a: str, b: str) -> float:
    """Returns the nominal bytes/s between two GPUs; 0 if the route crosses other GPUs."""
    way = route(topology, a, b)
    if not way or set(nodes_of(a, way)[1:-1]) & set(topology.names("gpu")):
        return 0.0
    return min(link.peak_bytes_per_s or 1.0 for link in way)
