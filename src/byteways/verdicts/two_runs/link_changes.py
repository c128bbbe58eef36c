"""How each link of a node changed between two runs: the change that all transfers over it share.

A transfer crosses several links, and one of them slows it down. A link is blamed for no more than the least
change of the transfers of one interface over it, in one direction: the links of the other GPUs carry
transfers that did not change. Transfers that a narrower link limits say nothing of a wider one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from byteways.answers.results.selection import broadest_size, is_plain, kind, within_a_process
from byteways.answers.results.summary import group_by
from byteways.answers.results.variants import Variant
from byteways.cases.interfaces import metric_of
from byteways.machine.model import Link, Topology
from byteways.machine.routes import nodes_of, route
from byteways.verdicts.two_runs.paired_cases import ComparedCases, PairedCase, moved


@dataclass(frozen=True)
class SharedChange:
    """The least change of the transfers by one way over a link in one direction."""

    direction: str  # "gpu0 > nvswitch"
    variant: Variant
    pair: PairedCase
    paths: int  # how many transfers share it

    @property
    def moved(self) -> float:
        """Logarithm of the change of speed, without sign; 0 without a significant difference."""
        return moved(self.pair)


@dataclass(frozen=True)
class LinkChange:
    """A link with the changes over it, the greatest first; empty where nothing was compared."""

    link: Link
    shared: tuple[SharedChange, ...]
    lost: tuple[str, ...]  # why transfers over it alone failed in the second run

    @property
    def pair(self) -> PairedCase | None:
        """The greatest of the shared changes."""
        return self.shared[0].pair if self.shared else None


def link_changes(compared: ComparedCases, topology: Topology) -> list[LinkChange]:
    """Returns every link of the first run's topology with its change, in the topology's order."""
    over: dict[tuple[Link, str], list[PairedCase]] = {}
    for pair in _plain(compared.pairs, topology):
        crossed = [*_crossed(topology, pair.first.source.device, pair.first.destination.device)]
        narrowest = min((_width(link) for link, _ in crossed), default=0.0)
        for link, direction in crossed:
            if _width(link) == narrowest:
                over.setdefault((link, direction), []).append(pair)
    lost: dict[Link, list[str]] = {}
    for record in compared.lost:
        source, _, destination = record.path.partition(">")
        for link, _ in _crossed(topology, source, destination):
            lost.setdefault(link, []).append(
                f"{record.interface} {record.path}: {record.status}, {record.reason}"
            )
    return [
        LinkChange(
            link,
            tuple(
                sorted(
                    (
                        change
                        for (other, direction), pairs in over.items()
                        if other == link
                        for change in _shared(direction, pairs)
                    ),
                    key=lambda change: (-round(change.moved, 2), -change.pair.first.value),
                )
            ),
            () if any(other == link for other, _ in over) else tuple(lost.get(link, ())),
        )
        for link in topology.links
    ]


def _plain(pairs: Sequence[PairedCase], topology: Topology) -> Iterator[PairedCase]:
    """Yields transfers between two devices, of each kind at the size near the largest with most paths."""
    single = [
        pair
        for pair in pairs
        if pair.first.record.pattern == "unidirectional"
        and metric_of(pair.first.record.interface) == "bandwidth"
        and within_a_process(pair.first)
        and pair.first.source.device != pair.first.destination.device
        and is_plain(topology, pair.first)
    ]
    for alike in group_by(single, lambda pair: kind(pair.first)).values():
        size = broadest_size([pair.first for pair in alike])
        yield from (pair for pair in alike if pair.first.size_bytes == size)


def _crossed(topology: Topology, source: str, destination: str) -> Iterator[tuple[Link, str]]:
    if not {source, destination} <= {*topology.names()}:
        return
    way = route(topology, source, destination)
    nodes = nodes_of(source, way)
    for link, start, end in zip(way, nodes, nodes[1:], strict=False):
        yield link, f"{start} > {end}"


def _width(link: Link) -> float:
    return link.peak_bytes_per_s or float("inf")


def _shared(direction: str, pairs: Sequence[PairedCase]) -> Iterator[SharedChange]:
    """Yields the least change by each way that at least half as many transfers use as the most common one."""
    ways = group_by(pairs, lambda pair: pair.first.variant)
    most = max(len(some) for some in ways.values())
    for variant, some in ways.items():
        if 2 * len(some) >= most:
            yield SharedChange(direction, variant, min(some, key=moved), len(some))
