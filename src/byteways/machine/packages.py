"""Which GPUs are in one package, and the orders that fill packages one by one or spread over them.

The two dies of an MI250X are two GPUs of one package, and so are the partitions of a divided device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import TypeVar

from byteways.machine.model import Topology

#: Links between the two dies of an MI250 or MI250X; no other pair has as many (CDNA 2 white paper, AMD 2021).
_LINKS_WITHIN, _TWO_DIES = 4, "gfx90a"
#: Node name of a package whose partitions are separate GPUs (from xgmi.py).
_PACKAGE_NODE = "package"

Item = TypeVar("Item")


def package_of(topology: Topology) -> dict[str, str]:
    """Returns the package of each GPU, named after its first GPU."""
    first = {name: name for name in topology.names("gpu")}
    nodes: dict[str, str] = {}
    for link in topology.links:
        gpus = [end for end in (link.a, link.b) if end in first]
        package = next((end for end in (link.a, link.b) if end.startswith(_PACKAGE_NODE)), None)
        if len(gpus) == 1 and package is not None:
            first[gpus[0]] = nodes.setdefault(package, gpus[0])
        elif len(gpus) == 2 and link.kind == "xgmi" and link.count == _LINKS_WITHIN and _dies(topology, gpus):
            first[gpus[1]] = first[gpus[0]]
    return first


def _dies(topology: Topology, gpus: Iterable[str]) -> bool:
    return all((topology.device(gpu).architecture or "").startswith(_TWO_DIES) for gpu in gpus)


def packed(topology: Topology) -> list[str]:
    """Returns GPUs in an order that fills a package, then a NUMA domain, before the next."""
    return [gpu for domain in _nested(topology) for package in domain for gpu in package]


def spread(topology: Topology) -> list[str]:
    """Returns GPUs in an order that uses every NUMA domain, then every package, once before any twice."""
    return _in_turn([_in_turn(domain) for domain in _nested(topology)])


def _nested(topology: Topology) -> list[list[list[str]]]:
    """Returns GPUs by NUMA domain and package, in order of first appearance."""
    packages = package_of(topology)
    domains: dict[int | None, dict[str, list[str]]] = {}
    for gpu in topology.names("gpu"):
        domain = topology.device(gpu).numa_domain
        domains.setdefault(domain, {}).setdefault(packages[gpu], []).append(gpu)
    return [[*within.values()] for within in domains.values()]


def _in_turn(lists: Sequence[Iterable[Item]]) -> list[Item]:
    """Interleaves lists: the first of each, then the second of each, and so on."""
    return [item for item in chain.from_iterable(zip_longest(*lists)) if item is not None]
