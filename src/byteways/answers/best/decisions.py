"""The one engine that decides which interface is best for a transfer.

Title, first table, pictures, matrices, maps, findings, `byteways best` and the Python API ask it. Constraints
say which results are alternatives for each other, a Place which pairs they connect, and a size completes
the question. The answer is a Decision: all alternatives, ranked. So one question has one answer everywhere.

The question is about one transfer. Methods that submit many transfers together (a batched call, a graph)
answer another question, and have a ranking of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from math import log2
from statistics import median

from byteways.answers.best.ranking import Ranking, rank
from byteways.answers.results.index import Index
from byteways.answers.results.selection import (
    PAIR_KINDS,
    REPRESENTS_LARGEST_FACTOR,
    WITH_OWN_TABLES,
    between_ranks,
    by_nearest,
    does_the_job,
    kind,
    submits_many,
    uses_ipc,
)
from byteways.answers.results.summary import Result, group_by
from byteways.answers.results.variants import Variant
from byteways.cases.block_layout import moves_blocks
from byteways.cases.interfaces import COLLECTIVES, INTERFACES, metric_of, moves_pages
from byteways.cases.memory import is_managed
from byteways.cases.options import PACE, TIMING
from byteways.cases.question import PROCESS, RANKS

#: A measured size may differ from the wanted one by this factor; farther off, another interface may be best.
NEAR_SIZE_FACTOR = 2
#: The library of interfaces that byteways itself implements.
OWN_KERNELS = "direct"


@dataclass(frozen=True)
class Constraints:
    """Which results are alternatives: contiguous data, each byte counted once, back to back."""

    pattern: str = "unidirectional"  # or a glob
    within: str = PROCESS
    memory: str | None = None  # a kind or a glob that an end must have; None: any that stays where it is
    host_memory: str | None = None  # exactly these kinds (Variant.host_memory); None: any
    relays: bool = True  # whether a transfer over other GPUs is an alternative; it says nothing of a link
    blocks: bool = False  # scattered blocks in place of contiguous data (block_copies.py)

    def admits(self, cell: Result) -> bool:
        """Whether the result is an alternative."""
        record = cell.record
        if not fnmatchcase(record.pattern, self.pattern) or metric_of(record.interface) != "bandwidth":
            return False
        if moves_blocks(record.interface) != self.blocks:
            return False
        one_by_one = PACE.name in record.options  # another question: how long one takes that is waited for
        if (
            not ((self.blocks and not one_by_one) or does_the_job(cell) or self._moves_pages(cell))
            or record.options.get(TIMING.name, TIMING.default) != TIMING.default
        ):
            return False
        if not self.relays and record.interface in WITH_OWN_TABLES:
            return False
        if self.host_memory is not None and cell.variant.host_memory != self.host_memory:
            return False
        return self._has_processes(cell) and self._has_memory(cell)

    def _has_processes(self, cell: Result) -> bool:
        in_processes = between_ranks(cell) or uses_ipc(cell)
        return not in_processes if self.within == PROCESS else in_processes

    def _moves_pages(self, cell: Result) -> bool:
        """Whether it is a prefetch, an alternative where the question is about memory that migrates."""
        return self.memory is not None and moves_pages(cell.record.interface)

    def _has_memory(self, cell: Result) -> bool:
        if self.memory is None:
            return cell.stays
        ends = cell.source.memory, cell.destination.memory
        moves = any(map(is_managed, ends)) or cell.stays
        return moves and any(fnmatchcase(memory, self.memory) for memory in ends)


#: Any transfer within a process; those that show what links reach; those from one process to another.
TRANSFERS, OVER_LINKS, BETWEEN_RANKS = Constraints(), Constraints(relays=False), Constraints(within=RANKS)


@dataclass(frozen=True)
class Place:
    """Pairs whose results may be compared: of one kind, over links of one class."""

    kind: str  # a key of PAIR_KINDS
    link_classes: tuple[str, ...]  # of all flows, sorted; '' within one device
    pattern: str
    flows: int  # which run at the same time
    nearest: bool  # whether the host memory is that nearest to the GPU
    cold: bool  # whether caches were cold
    ranks: int = 0  # that take part in a collective

    @property
    def link_class(self) -> str:
        """The classes of the flows, each once."""
        return ", ".join(dict.fromkeys(filter(None, self.link_classes)))


@dataclass(frozen=True)
class Decision:
    """The alternatives for a place at one size, and their ranking."""

    place: Place
    size_bytes: int
    cells: tuple[Result, ...]  # all alternatives, also those that cannot be ranked
    prefer: Variant | None = None  # the best of the whole place, which a part of its pairs keeps if they tie
    together: tuple[Result, ...] = ()  # of many transfers that are submitted together
    own: tuple[Result, ...] = ()  # by kernels of byteways, which a program cannot call

    @cached_property
    def many(self) -> Ranking | None:
        """The ranking of the methods for many transfers at once; None if none can be ranked."""
        return rank(self.together)

    @cached_property
    def ranking(self) -> Ranking | None:
        """The ranking; None if no alternative can be ranked."""
        return rank(self.cells, prefer=self.prefer)

    @cached_property
    def variant(self) -> Variant:
        """The best alternative; where none can be ranked, the greatest median of those on most paths."""
        if self.ranking is not None:
            return self.ranking.variant
        variants = group_by(self.cells, lambda cell: cell.variant)
        return max(
            variants, key=lambda same: (len(variants[same]), median(cell.value for cell in variants[same]))
        )


class Decisions:
    """All questions under the same constraints that a run can answer."""

    def __init__(self, index: Index, cells: Iterable[Result], whole: Decisions | None = None) -> None:
        """Groups results by place and size.

        Args:
            index: The run.
            cells: All alternatives under these constraints.
            whole: The decisions of which these are a part.
        """
        self._index = index
        self._whole = whole
        cells = list(cells)
        self._all = cells
        self._cells = [cell for cell in cells if not (submits_many(cell) or _is_own(cell))]
        self._others = group_by(
            (cell for cell in cells if submits_many(cell) or _is_own(cell)),
            lambda cell: (place_of(index, cell), cell.size_bytes),
        )
        self._known: dict[tuple[Place, int], Decision] = {}
        self._large: dict[Place, int] = {}
        groups = group_by(self._cells, lambda cell: place_of(index, cell))
        order = [*PAIR_KINDS]
        self._places = {
            place: group_by(groups[place], lambda cell: cell.size_bytes)
            for place in sorted(
                groups, key=lambda place: (order.index(place.kind), place.link_classes, not place.cold)
            )
        }

    @property
    def places(self) -> list[Place]:
        """All places, in the order of the kinds of pair."""
        return [*self._places]

    def plain_places(self) -> list[Place]:
        """The places of cold caches and of the host memory that is nearest to a GPU."""
        return [place for place in self._places if place.cold and place.nearest]

    def sizes(self, place: Place) -> list[int]:
        """The measured sizes of a place in bytes, the smallest first."""
        return sorted(self._places[place])

    def at(self, place: Place, size_bytes: int) -> Decision | None:
        """Returns the decision at exactly this size; None if nothing was measured there."""
        cells = self._places.get(place, {}).get(size_bytes)
        if cells is None:
            return None
        if (place, size_bytes) not in self._known:
            whole = self._whole.at(place, size_bytes) if self._whole else None
            prefer = whole.variant if whole and len(whole.cells) > len(cells) else None
            others = self._others.get((place, size_bytes), [])
            own = tuple(cell for cell in others if _is_own(cell) and not submits_many(cell))
            together = tuple(cell for cell in others if not _is_own(cell))
            self._known[place, size_bytes] = Decision(place, size_bytes, tuple(cells), prefer, together, own)
        return self._known[place, size_bytes]

    def large(self, place: Place) -> Decision:
        """Returns the decision at the place's large size: the run's, unless another has more to compare."""
        if place not in self._large:
            self._large[place] = _widest(self._of(place), self.large_bytes)
        decision = self.at(place, self._large[place])
        assert decision is not None  # _widest() names a size of the place
        return decision

    @cached_property
    def large_bytes(self) -> int:
        """The size near the largest with most paths, then alternatives: bandwidth dominates there."""
        plain = [cell for place in self.plain_places() for cell in self._of(place)] or self._cells
        across = [cell for cell in plain if cell.source.device != cell.destination.device] or plain
        with_gpus = [cell for cell in across if "gpu" in kind(cell)] or across
        return _widest(with_gpus)

    def near(self, place: Place, wanted_bytes: int) -> Decision | None:
        """Returns the decision at the nearest size with two interfaces, or at the nearest with any.

        None if nothing was measured within a factor of NEAR_SIZE_FACTOR.
        """
        near = [
            decision
            for size in self.sizes(place)
            if max(size, wanted_bytes) <= NEAR_SIZE_FACTOR * min(size, wanted_bytes)
            and (decision := self.at(place, size))
        ]
        return min(near, key=lambda one: _farness(one, wanted_bytes), default=None)

    def part(self, accepts: Callable[[Result], bool]) -> Decisions:
        """Returns the decisions of some of the pairs: they keep the best of all pairs where they tie."""
        return Decisions(self._index, filter(accepts, self._all), self)

    def _of(self, place: Place) -> list[Result]:
        return [cell for cells in self._places[place].values() for cell in cells]


def decisions(index: Index, constraints: Constraints = TRANSFERS) -> Decisions:
    """Returns what a run answers under these constraints; computed once for each."""
    known = index.once(_all_constraints)
    if constraints not in known:
        known[constraints] = Decisions(index, filter(constraints.admits, index.cells))
    return known[constraints]


def _all_constraints(index: Index) -> dict[Constraints, Decisions]:
    return {}


def place_of(index: Index, cell: Result) -> Place:
    """Returns the place that a result belongs to."""
    record = cell.record
    devices = {cell.source.device, cell.destination.device}
    if not devices <= {*index.topology.names()}:  # a device of another host
        classes: tuple[str, ...] = ("",)
    elif record.pattern == "unidirectional":
        classes = (index.link_class(cell),)
    else:
        classes = index.link_classes(cell)
    nearest = by_nearest(cell, index.topology)
    ranks = len(cell.case.ranks) if record.pattern in COLLECTIVES else 0
    cold = record.cache == "cold"
    return Place(kind(cell), classes, record.pattern, len(record.flows), nearest, cold, ranks)


def _is_own(cell: Result) -> bool:
    return INTERFACES[cell.record.interface].library == OWN_KERNELS


def _widest(cells: Sequence[Result], usual_bytes: int = 0) -> int:
    """Returns the size near the largest with most paths, then alternatives; of equals the usual one."""
    sizes = group_by(cells, lambda cell: cell.size_bytes)
    least = max(sizes) / REPRESENTS_LARGEST_FACTOR

    def width(size: int) -> tuple[int, int, bool, int]:
        variants = {cell.variant for cell in sizes[size]}
        return _paths(sizes[size]), len(variants), size == usual_bytes, size

    return max((size for size in sizes if size >= least), key=width)


def _farness(decision: Decision, wanted_bytes: int) -> tuple[object, ...]:
    ranked = [cell for cell in decision.cells if cell.ranked]
    size = decision.size_bytes
    return not ranked, _interfaces(ranked) < 2, abs(log2(size / wanted_bytes)), -size


def _paths(cells: Collection[Result]) -> int:
    return len({cell.record.path for cell in cells})


def _interfaces(cells: Collection[Result]) -> int:
    return len({cell.record.interface for cell in cells})
