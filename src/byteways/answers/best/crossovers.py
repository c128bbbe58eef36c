"""Up to which block size a kernel leads the vendor's calls in copying scattered blocks, for each number.

A crossover is measured as an interval of two block sizes: the largest at which the kernel leads, and the
first at which the call leads; at sizes between them neither does. The size at which both take the same time
is interpolated there in the logarithm of the size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log

from byteways.answers.best.block_copies import BlockGrid, block_grids
from byteways.answers.best.decisions import Place
from byteways.answers.best.headline import ORDER
from byteways.answers.best.ranking import rank
from byteways.answers.claims.claim import TRAILS, Claim
from byteways.answers.claims.compare import compare
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result, ResultGroup, group_by
from byteways.answers.results.variants import Variant
from byteways.cases.block_list import BlockList
from byteways.cases.option_set import NO_OPTIONS, OptionSet
from byteways.cases.options import SUBMIT

#: The kernel, and the vendor's calls: one for all blocks, or, where there is none, one for each.
KERNEL = "kernel-blocks", NO_OPTIONS
VENDOR_CALLS = ("copy-blocks", OptionSet({SUBMIT.name: "batch"})), ("copy-blocks", NO_OPTIONS)
#: Kinds of host memory (Variant.host_memory) whose crossovers are first; '': plain GPU memory alone.
USUAL_MEMORY = ("pinned", "")


@dataclass(frozen=True)
class ComparedBlocks:
    """The kernel beside the vendor's call for measured blocks."""

    blocks: BlockList
    kernel: ResultGroup
    calls: ResultGroup
    claim: Claim  # of the kernel versus the call

    @property
    def ratio(self) -> float:
        """The kernel's rate over the call's."""
        return self.kernel.value / self.calls.value


@dataclass(frozen=True)
class Crossover:
    """The comparisons for one number of blocks, by ascending size of a block."""

    count: int
    compared: tuple[ComparedBlocks, ...]

    @cached_property
    def following(self) -> ComparedBlocks | None:
        """The first size at which the call leads; None if it leads at none. Ties decide nothing."""
        return next((one for one in self.compared if one.claim.verdict == TRAILS), None)

    @cached_property
    def leading(self) -> tuple[ComparedBlocks, ...]:
        """The sizes at which the kernel leads, below the first one at which the call does."""
        end = self.compared.index(self.following) if self.following else len(self.compared)
        return tuple(one for one in self.compared[:end] if one.claim.leads)

    @property
    def between(self) -> tuple[int, int] | None:
        """The measured block sizes in bytes between which the lead ends; None if it does not begin or end."""
        if not self.leading or self.following is None:
            return None
        return self.leading[-1].blocks.block_bytes, self.following.blocks.block_bytes

    @property
    def leads_at_all(self) -> bool:
        """Whether the kernel leads at the largest size, and the call at none."""
        return bool(self.leading) and self.following is None and self.leading[-1] is self.compared[-1]

    @property
    def equal_at(self) -> float | None:
        """The block size in bytes at which both take the same time; None unless it lies between two."""
        if self.between is None or self.following is None:
            return None
        return crossing([self.leading[-1].ratio], [self.following.ratio], *self.between)


@dataclass(frozen=True)
class Crossovers:
    """The crossovers of pairs of one kind, over links of one class, with one kind of host memory."""

    place: Place
    paths: tuple[str, ...]
    memory: str  # '' if both ends have plain GPU memory
    calls: str  # the vendor's call, by its name
    counts: tuple[Crossover, ...]

    @property
    def compared(self) -> list[ComparedBlocks]:
        return [one for crossover in self.counts for one in crossover.compared]


def crossing(low: Sequence[float], high: Sequence[float], low_bytes: int, high_bytes: int) -> float:
    """Returns the block size at which the geometric mean of ratios is 1, between two sizes.

    Args:
        low: Ratios at the smaller size, above 1 on average.
        high: Ratios at the larger size.
        low_bytes: The smaller size.
        high_bytes: The larger size.
    """
    above, below = (sum(map(log, ratios)) / len(ratios) for ratios in (low, high))
    if below >= 0:  # of several paths: nothing says that the kernel is slower at the larger size
        return float(high_bytes)
    share = above / (above - below)
    return exp((1 - share) * log(low_bytes) + share * log(high_bytes))


def crossovers(index: Index) -> list[Crossovers]:
    """Returns the crossovers of a run, of blocks at random places on both sides.

    The most usual memory is first, and with it from the host, to the host, and between GPUs.
    """
    return index.once(_crossovers)


def _crossovers(index: Index) -> list[Crossovers]:
    grids = [grid for job, grid in block_grids(index).items() if job.is_usual]
    found = [one for grid in grids for place in grid.places if place.cold for one in _of(grid, place)]
    return sorted(found, key=lambda one: (one.memory not in USUAL_MEMORY, ORDER.index(one.place.kind)))


def _of(grid: BlockGrid, place: Place) -> Iterator[Crossovers]:
    cells = [
        (blocks, cell)
        for blocks in grid.measured(place)
        if (decision := grid.exactly(place, blocks))
        for cell in decision.cells
        if cell.ranked
    ]
    for memory, some in group_by(cells, lambda one: one[1].variant.host_memory).items():
        by_method = group_by(some, lambda one: (one[1].variant.interface, one[1].variant.options))
        calls = next((method for method in VENDOR_CALLS if method in by_method), None)
        if calls is None or KERNEL not in by_method:
            continue
        ways = len({cell.variant for _, cell in some})
        compared = list(_compared(by_method[KERNEL], by_method[calls], ways))
        if len({one.blocks.block_bytes for one in compared}) < 2:
            continue
        counts = group_by(compared, lambda one: one.blocks.count)
        paths = tuple(dict.fromkeys(cell.record.path for _, cell in by_method[KERNEL]))
        yield Crossovers(
            place,
            paths,
            memory,
            _name([cell.variant for _, cell in by_method[calls]]),
            tuple(
                Crossover(count, tuple(sorted(counts[count], key=lambda one: one.blocks.block_bytes)))
                for count in sorted(counts)
            ),
        )


def _name(variants: Sequence[Variant]) -> str:
    """Returns what one method is called, without the end that issues it if either does."""
    return variants[0].named(access=len({one.access for one in variants}) == 1)


def _compared(
    kernels: Sequence[tuple[BlockList, Result]], calls: Sequence[tuple[BlockList, Result]], ways: int
) -> Iterator[ComparedBlocks]:
    others = group_by(calls, lambda one: one[0])
    for blocks, some in group_by(kernels, lambda one: one[0]).items():
        kernel = rank([cell for _, cell in some])
        call = rank([cell for _, cell in others.get(blocks, [])])
        if kernel and call:
            claim = compare(kernel.group, call.group, kind="blocks", ways=ways)
            yield ComparedBlocks(blocks, kernel.group, call.group, claim)


def sizes_of(found: Crossovers) -> list[int]:
    """Returns the measured block sizes in bytes, ascending."""
    return sorted({one.blocks.block_bytes for one in found.compared})
