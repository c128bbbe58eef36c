"""What the affected cases of two runs have in common: a device, a link, or a role of a device.

Candidates are ranked by the harmonic mean of two parts: of their own cases that are affected, and of the
affected cases that are theirs. A link that one run lacks explains more than any of them, and then a rank
that the records themselves blame, or a device that they blame for more cases (blamed_ranks.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from byteways.explain.results.blamed_ranks import ERRORS_ON
from byteways.record.record import Record
from byteways.topology.model import Topology
from byteways.topology.routes import route

#: A rank, host or device that at least this share of the affected cases blames may come before what they have
#: in common: not every case that waits for it says so (long batches hide a late begin).
NAMED_SHARE = 0.25
_IS_BLAMED = re.compile(r"(?:rank|host) ").match


@dataclass(frozen=True)
class Suspect:
    """What most affected cases have in common."""

    name: str  # `gpu0`, `gpu0-nvswitch`, `memory of gpu0`, `concurrent flows issued by gpu0`, `rank 1 (gpu1)`
    slower: int  # its affected cases
    compared: int  # its compared cases
    of: int  # all affected cases
    missing: bool = False  # a link that the later run lacks


def parts_of(record: Record, topology: Topology) -> frozenset[str]:
    """Returns what a case involves: devices, pairs of them, links on its routes, roles of devices.

    Args:
        record: The case.
        topology: The machine whose routes count: of two runs the reference.
    """
    found: set[str] = set()
    for flow in record.flows:
        source, destination = (_device(str(flow[end])) for end in ("source", "destination"))
        executor = _device(str(flow["executor"]))
        if source == executor == destination:
            found |= {source, f"memory of {source}"}
            continue
        found |= {source, executor, destination}
        found |= {_joined({source, destination})} if source != destination else set()
        for begin, end in pairwise((source, executor, destination)):
            if begin != end:
                found |= {_joined((begin, end)), *_links(topology, begin, end)}
    issuers = Counter(_device(str(flow["executor"])) for flow in record.flows)
    return frozenset(found | {f"concurrent flows issued by {name}" for name, n in issuers.items() if n > 1})


def suspect(
    compared: Sequence[frozenset[str]], affected: Sequence[frozenset[str]], missing: Iterable[str] = ()
) -> Suspect | None:
    """Returns what explains the affected cases best; None without any.

    Args:
        compared: What each compared case involves, affected ones included.
        affected: What each affected case involves.
        missing: Links that the later run lacks; one that an affected case involves comes before all else.
    """
    all_cases = Counter(name for parts in compared for name in parts)
    own = Counter(name for parts in affected for name in parts)
    if not own:
        return None
    total = len(affected)
    failed = {name.removeprefix(ERRORS_ON) for name in own if name.startswith(ERRORS_ON)}
    failed = {name for name in failed if own[ERRORS_ON + name] >= NAMED_SHARE * total}
    own = Counter({name: number for name, number in own.items() if not name.startswith(ERRORS_ON)})

    def best(names: Iterable[str]) -> str:
        return max(names, key=lambda name: (2 * own[name] / (all_cases[name] + total), -len(name), name))

    lacking = set(missing) & {*own}
    blamed = {name for name, number in own.items() if _IS_BLAMED(name) and number >= NAMED_SHARE * total}
    name = best(lacking or blamed or own)
    # A device that fails halfway may have links with failed cases only. Broken links fail calls on it, too.
    if not lacking and not blamed and failed and own[device := best(failed)] > own[name]:
        name = device
    return Suspect(name, own[name], all_cases[name], total, bool(lacking))


def missing_links(first: Topology, second: Topology) -> tuple[str, ...]:
    """Returns the links of the first machine that the second lacks, `gpu0-nvswitch`, if it has their ends."""
    there = {_joined((link.a, link.b)) for link in second.links}
    ends = {*second.names(), *second.switches}
    names = (_joined((link.a, link.b)) for link in first.links if {link.a, link.b} <= ends)
    return tuple(dict.fromkeys(name for name in names if name not in there))


def _device(text: str) -> str:
    """Returns the device of a buffer or executor: `gpu0` of `1/gpu0:device@cpu0`."""
    return text.partition("@")[0].partition(":")[0].rpartition("/")[2]


def _joined(ends: Iterable[str]) -> str:
    return "-".join(sorted(ends))


def _links(topology: Topology, a: str, b: str) -> Iterable[str]:
    if not {a, b} <= {*topology.names()}:
        return ()
    return (_joined((link.a, link.b)) for link in route(topology, a, b))
