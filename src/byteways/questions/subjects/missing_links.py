"""Direct links that most GPU pairs have and one pair lacks: such a link is down or was not discovered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from byteways.answers.claims.finding import Finding, notice
from byteways.answers.claims.importance import Priority
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.machine.model import Topology
from byteways.machine.routes import FABRICS, link_class, route

#: Fewer GPUs may be linked in pairs by design.
LEAST_GPUS = 4
_Pair = tuple[str, str]


def missing_link(index: Index) -> Iterator[Finding]:
    """Reports GPU pairs without the direct link that all others have."""
    topology = index.topology
    pairs = missing_pairs(topology)
    if not pairs:
        return
    others = [pair for pair in combinations(topology.names("gpu"), 2) if pair not in pairs]
    classes = listed(list(dict.fromkeys(link_class(topology, *pair) for pair in others)))
    ends = sorted({end for pair in pairs for end in pair})
    first = next(end for end in ends if all(end in pair for pair in pairs))
    rest = listed([end for end in ends if end != first])
    title = f"No direct link connects {first} to {rest}, although {classes} connects all other GPUs"
    ways = listed(list(dict.fromkeys(_way(topology, *pair) for pair in pairs)))
    detail = (
        f"Traffic between them is routed over {ways}. A link that is down looks like this: check the link "
        f"state (nvidia-smi nvlink --status, amd-smi xgmi)."
    )
    yield notice(title, detail, Priority.MISSING_LINK)


def missing_pairs(topology: Topology) -> Sequence[_Pair]:
    """Returns GPU pairs without a direct link; empty unless one GPU is part of all of them.

    If several GPUs lack links to several others, the machine is built that way.
    """
    gpus = topology.names("gpu")
    pairs = list(combinations(gpus, 2))
    missing = [pair for pair in pairs if not _direct(topology, *pair)]
    if len(gpus) < LEAST_GPUS or not missing or len(missing) >= len(gpus):
        return ()
    ends = {end for pair in missing for end in pair}
    if any(topology.device(end).hidden_links for end in ends):
        return ()
    return missing if any(all(end in pair for pair in missing) for end in ends) else ()


def _direct(topology: Topology, a: str, b: str) -> bool:
    """Whether peer links connect the two GPUs, directly or through switches only."""
    way = route(topology, a, b)
    between = {end for link in way for end in (link.a, link.b)} & set(topology.names("gpu"))
    return bool(way) and all(link.kind in FABRICS for link in way) and between == {a, b}


def _way(topology: Topology, a: str, b: str) -> str:
    """Describes the remaining route: `gpu2`, `PCIe 4.0 ×16 through host`."""
    between = {end for link in route(topology, a, b) for end in (link.a, link.b)} - {a, b}
    over = sorted(between & set(topology.names("gpu")))
    return listed(over) if over else link_class(topology, a, b)
