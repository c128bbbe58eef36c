"""Block copies: the methods for N scattered blocks of S bytes, decided between measured N and S.

A block copy is one operation of N blocks, each from its own address to its own. Its methods are ranked by the
one engine (decisions.py), like those of a contiguous transfer. Between measured N and between measured S the
time is interpolated linearly, each method by itself (interpolation.py). Beyond the largest measured N it
grows in proportion: from some hundred blocks on each further block takes the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from msgspec import structs

from byteways.answers.best.decisions import Constraints, Decision, Decisions, Place
from byteways.answers.best.interpolation import MOST_APART, between_cells, interpolated
from byteways.answers.results.index import Index
from byteways.answers.results.rounds import figure
from byteways.answers.results.summary import Result, group_by
from byteways.cases.block_layout import BlockLayout, blocks_of_options
from byteways.cases.block_list import BlockList, MixedBlocks
from byteways.cases.interfaces import OF_ALL
from byteways.cases.options import BLOCK_BYTES, BLOCK_SIZES, LAYOUT, PITCH_BYTES, SCATTERED
from byteways.record.record import Record

#: Options that say which blocks are copied, not how.
OF_THE_BLOCKS = frozenset(
    option.name for option in (BLOCK_BYTES, BLOCK_SIZES, LAYOUT, PITCH_BYTES, SCATTERED)
)
#: From so many blocks on each further one takes the same time.
LEAST_EXTRAPOLATED = 256


@dataclass(frozen=True)
class BlockJob:
    """Where the blocks are: what block copies share whose times may be compared."""

    layout: str
    scattered: str
    pitch_blocks: float  # of a strided layout, in blocks; 0: random

    @property
    def is_usual(self) -> bool:
        return (self.layout, self.scattered) == (LAYOUT.default, SCATTERED.default)

    def __str__(self) -> str:
        """`at random places on both sides`."""
        where = "at random places" if not self.pitch_blocks else f"every {self.pitch_blocks:g} blocks"
        sides = {"both": "both sides", "source": "the source's side", "destination": "the destination's side"}
        return f"{where} on {sides[self.scattered]}"


@dataclass(frozen=True)
class BlockDecision:
    """The alternatives for a number of blocks of one size, and what they are interpolated between."""

    decision: Decision
    around: tuple[BlockList, ...] = ()  # measured neighbours, if it is interpolated
    beyond: int = 0  # the largest measured number of blocks, if more are asked for


def layout_of(cell: Result) -> BlockLayout:
    return blocks_of_options(cell.record.options, cell.size_bytes)


def job_of(cell: Result) -> BlockJob:
    found = layout_of(cell)
    pitch = 0.0 if found.layout == LAYOUT.default else found.pitch_bytes / found.block_bytes
    return BlockJob(found.layout, found.scattered, pitch)


def method_alone(cell: Result, shared: Collection[str]) -> Result:
    """Returns the result without the options that say which blocks are copied, and those in `shared`."""

    def plain(record: Record) -> Record:
        left_out = {*OF_THE_BLOCKS, *shared}
        options = {name: value for name, value in record.options.items() if name not in left_out}
        return structs.replace(record, options=options)

    return replace(cell, record=plain(cell.record), records=tuple(map(plain, cell.records)))


class BlockGrid:
    """What a run says of block copies of one job.

    Args:
        index: The run.
        cells: Its results by the bytes of a block.
        whole: The grid of all pairs, of which this is a part.
    """

    def __init__(
        self, index: Index, cells: Mapping[int, Sequence[Result]], whole: BlockGrid | None = None
    ) -> None:
        self._index, self._cells = index, cells
        self._by_size = {
            block_bytes: Decisions(index, some, whole.of_size(block_bytes) if whole else None)
            for block_bytes, some in sorted(cells.items())
        }

    def of_size(self, block_bytes: int) -> Decisions:
        """Returns the decisions on blocks of exactly this size, by the bytes of all."""
        return self._by_size[block_bytes]

    @cached_property
    def places(self) -> list[Place]:
        return list(dict.fromkeys(place for found in self._by_size.values() for place in found.places))

    def measured(self, place: Place) -> list[BlockList]:
        """Returns what was measured, by size, then by number."""
        return [
            BlockList(size // block_bytes, block_bytes)
            for block_bytes, found in self._by_size.items()
            if place in found.places
            for size in found.sizes(place)
        ]

    def part(self, accepts: Callable[[Result], bool]) -> BlockGrid:
        """Returns the grid of some of the pairs: they keep the best of all pairs where they tie."""
        some = {size: [cell for cell in cells if accepts(cell)] for size, cells in self._cells.items()}
        return BlockGrid(self._index, {size: cells for size, cells in some.items() if cells}, self)

    def exactly(self, place: Place, blocks: BlockList) -> Decision | None:
        """Returns the decision on measured blocks; None if they were not measured."""
        found = self._by_size.get(blocks.block_bytes)
        return found.at(place, blocks.size_bytes) if found and place in found.places else None

    def at(self, place: Place, blocks: BlockList) -> BlockDecision | None:
        """Returns the decision on these blocks, interpolated if needed; None if nothing is near enough."""
        sizes = [size for size, found in self._by_size.items() if place in found.places]
        if blocks.block_bytes in sizes:
            return self._at_size(place, blocks)
        below = [size for size in sizes if blocks.block_bytes / MOST_APART < size < blocks.block_bytes]
        above = [size for size in sizes if blocks.block_bytes < size < blocks.block_bytes * MOST_APART]
        if not below or not above:
            return None
        low, high = (
            {size: one for size in side if (one := self._at_size(place, replace(blocks, block_bytes=size)))}
            for side in (below, above)
        )
        if not low or not high:
            return None
        sides = ([cell for one in side.values() for cell in one.decision.cells] for side in (low, high))
        cells = tuple(between_cells(next(sides), next(sides), blocks.size_bytes))
        nearest = {max(low): low[max(low)], min(high): high[min(high)]}
        around = tuple(
            neighbour
            for size, one in nearest.items()
            for neighbour in one.around or (BlockList(one.beyond or blocks.count, size),)
        )
        beyond = max(one.beyond for one in nearest.values())
        return BlockDecision(Decision(place, blocks.size_bytes, cells), around, beyond) if cells else None

    def _at_size(self, place: Place, blocks: BlockList) -> BlockDecision | None:
        """Returns the decision on blocks of a measured size."""
        found = self._by_size[blocks.block_bytes]
        if (exact := found.at(place, blocks.size_bytes)) is not None:
            return BlockDecision(exact)
        counts = [size // blocks.block_bytes for size in found.sizes(place)]
        if blocks.count > counts[-1]:
            return self._beyond(found, place, blocks, counts[-1])
        decision = interpolated(found, place, blocks.size_bytes)
        if decision is None:
            return None
        below, above = (
            choose(count for count in counts if (count < blocks.count) == less)
            for choose, less in ((max, True), (min, False))
        )
        around = tuple(replace(blocks, count=count) for count in (below, above))
        return BlockDecision(decision, around)

    def _beyond(self, found: Decisions, place: Place, blocks: BlockList, most: int) -> BlockDecision | None:
        """Returns the decision on more blocks than were measured: at the rates of the largest number."""
        known = found.at(place, most * blocks.block_bytes)
        if known is None or most < LEAST_EXTRAPOLATED or blocks.count >= most * MOST_APART:
            return None
        factor = blocks.count / most
        cells = tuple(_more(cell, factor, blocks.size_bytes) for cell in known.cells)
        return BlockDecision(Decision(place, blocks.size_bytes, cells, known.prefer), beyond=most)


def _more(cell: Result, factor: float, size_bytes: int) -> Result:
    """Returns a result at `factor` times the number of blocks, in as many times the time."""

    def scaled(record: Record) -> Record:
        times = record.time_ns
        if times is not None:
            low, high = times.ci95
            times = replace(times, median=factor * times.median, ci95=(factor * low, factor * high))
        submit_ns = None if record.submit_ns is None else factor * record.submit_ns
        return structs.replace(record, size_bytes=size_bytes, time_ns=times, submit_ns=submit_ns)

    return replace(cell, record=scaled(cell.record), records=tuple(map(scaled, cell.records)))


def block_grids(index: Index, constraints: Constraints | None = None) -> dict[BlockJob, BlockGrid]:
    """Returns the grid of each job that the run has block copies of, the usual one first; computed once.

    Args:
        index: The run.
        constraints: Which results are alternatives; None: all of one flow within a process.
    """
    known = index.once(_all_grids)
    constraints = constraints or Constraints(blocks=True)
    if constraints not in known:
        admitted = (cell for cell in index.cells if constraints.admits(cell))
        # Blocks of different sizes have no size by which they could be interpolated.
        cells = [cell for cell in admitted if all(map(figure, cell.records)) and not layout_of(cell).mixed]
        known[constraints] = _grids(index, cells)
    return known[constraints]


def mixed_decisions(index: Index, constraints: Constraints, blocks: MixedBlocks) -> Decisions:
    """Returns the decisions on exactly these blocks of several sizes, at random places on both sides."""
    wanted = {size: count for count, size in blocks.sizes}
    cells = [
        cell
        for cell in index.cells
        if constraints.admits(cell)
        and all(map(figure, cell.records))
        and layout_of(cell).mixed
        and job_of(cell).is_usual
        and layout_of(cell).counts == wanted
    ]
    shared = _shared(cells)
    return Decisions(index, [method_alone(cell, shared) for cell in cells])


def _all_grids(index: Index) -> dict[Constraints, dict[BlockJob, BlockGrid]]:
    return {}


def _grids(index: Index, cells: Iterable[Result]) -> dict[BlockJob, BlockGrid]:
    cells = list(cells)
    shared = _shared(cells)
    jobs = group_by(cells, job_of)
    return {
        job: BlockGrid(
            index,
            {
                size: [method_alone(cell, shared) for cell in some]
                for size, some in group_by(jobs[job], lambda cell: layout_of(cell).block_bytes).items()
            },
        )
        for job in sorted(jobs, key=lambda job: (not job.is_usual, str(job)))
    }


def _shared(cells: Sequence[Result]) -> list[str]:
    """Returns the options of every interface of which all results have the same value."""
    return [name for name in OF_ALL if len({repr(cell.record.options.get(name)) for cell in cells}) == 1]
