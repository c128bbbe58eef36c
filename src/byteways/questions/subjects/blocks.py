"""Scattered blocks: the rate of each method over size and number of blocks, and where the best changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from byteways.answers.best.block_answers import call_ns
from byteways.answers.best.block_copies import BlockGrid, block_grids
from byteways.answers.best.crossovers import USUAL_MEMORY, Crossover, Crossovers, crossovers, sizes_of
from byteways.answers.best.decisions import Place
from byteways.answers.best.wording_blocks import faster_up_to, in_short, never_faster, usual_example, where
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS
from byteways.answers.results.summary import Result, group_by, pool
from byteways.answers.results.variants import Variant
from byteways.base.units import format_size, short_time
from byteways.cases.block_list import BlockList
from byteways.questions.display.chart import Axis, Chart, Series
from byteways.questions.display.curves import result_point
from byteways.questions.display.grids import grid_of
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.block_slowdowns import (
    BlockSlowdown,
    block_slowdowns,
    slowdown_table,
    slowdown_text,
)

_INTRODUCTION = (
    "Copies of N blocks of S bytes, each from its own address to its own, as paged caches and adapters are "
    "moved. The rate counts the bytes of the blocks. Where no gate holds operations, it "
    "contains the time of the calls, with the lists that they need."
)
_CAPTION = (
    "What to see: where the lines cross, another method is best. Below, calls and launches take the time; "
    "above, the link or the engine."
)
#: The number of blocks of charts: the largest with most sizes, near this one.
CHARTED_BLOCKS = 1024


def topic(index: Index) -> Topic | None:
    """Returns the topic of scattered blocks; None if the run has none."""
    grids = block_grids(index)
    if not grids:
        return None
    tables: list[Table] = []
    charts: list[Chart] = []
    found = crossovers(index)
    if found:
        tables.append(_crossover_table(found))
    if beside := block_slowdowns(index):
        tables.append(slowdown_table(beside))
    for job, grid in grids.items():
        suffix = "" if job.is_usual else f", {job}"
        for place in grid.places:
            methods = _methods(grid, place)
            charts += _charts(place, methods, suffix)
            tables += [_table(place, variant, cells, suffix) for variant, cells in methods.items()]
    return Topic("blocks", "Scattered blocks", _INTRODUCTION, tuple(tables), tuple(charts))


Cells = dict[BlockList, list[Result]]


def _methods(grid: BlockGrid, place: Place) -> dict[Variant, Cells]:
    """Returns the results of each method by what they copy."""
    found: dict[Variant, Cells] = {}
    for blocks in grid.measured(place):
        decision = grid.exactly(place, blocks)
        for cell in decision.cells if decision else ():
            found.setdefault(cell.variant, {}).setdefault(blocks, []).append(cell)
    return found


def _table(place: Place, variant: Variant, cells: Cells, suffix: str) -> Table:
    """Returns a method's rates: a row for each number of blocks, a column for each size."""
    counts = sorted({blocks.count for blocks in cells})
    sizes = sorted({blocks.block_bytes for blocks in cells})
    names = [f"{count:,}" for count in counts], [format_size(size) for size in sizes]
    members = (
        (f"{blocks.count:,}", format_size(blocks.block_bytes), max(some, key=lambda cell: cell.value))
        for blocks, some in cells.items()
    )
    calls = [(blocks, call) for blocks, some in cells.items() if (call := call_ns(pool(some))) is not None]
    note = ""
    if calls:
        blocks, call = max(calls, key=lambda one: (one[0].count, -one[0].block_bytes))
        note = f"the call for {blocks} takes {short_time(call)}"
    title = f"{PAIR_KINDS[place.kind]}, {variant.name}{suffix}"
    return grid_of(title, "blocks \\ size of a block", members, names, notes=(note,) if note else ())


def _charts(place: Place, methods: dict[Variant, Cells], suffix: str) -> Iterator[Chart]:
    """Yields the rates of all methods over the size of a block, for each kind of memory at one number."""
    for memory, some in group_by(methods, lambda variant: variant.host_memory).items():
        count = _charted([blocks for variant in some for blocks in methods[variant]])
        lines = []
        for variant in some:
            points = tuple(
                result_point(blocks.block_bytes, pool(methods[variant][blocks]))
                for blocks in sorted(methods[variant], key=lambda blocks: blocks.block_bytes)
                if blocks.count == count
            )
            if len(points) > 1:
                lines.append(Series(variant.name, points))
        if lines:
            of_memory = f", {memory} memory" if memory else ""
            title = f"{PAIR_KINDS[place.kind]}, {count:,} blocks{of_memory}{suffix}"
            yield Chart(title, _CAPTION, Axis("size of a block", "log", "bytes"), Axis("GB/s"), tuple(lines))


def _charted(measured: Sequence[BlockList]) -> int:
    """Returns the number of blocks with most sizes; of equals the one nearest to CHARTED_BLOCKS."""
    sizes = group_by(measured, lambda blocks: blocks.count)
    return max(
        sizes,
        key=lambda count: (len({one.block_bytes for one in sizes[count]}), -abs(count - CHARTED_BLOCKS)),
    )


def _crossover_table(found: Sequence[Crossovers]) -> Table:
    """Returns where the lead of the kernel ends: a row for each kind of pair, a column for each number."""
    counts = sorted({one.count for each in found for one in each.counts})

    def column(count: int) -> TableColumn[Crossovers]:
        return figures(f"{count:,} blocks", lambda each: _at_count(each, count))

    columns: Columns[Crossovers] = (
        words("between", where),
        words("kernel-blocks beside", lambda each: each.calls),
        *map(column, counts),
    )
    note = "The block sizes between which the lead of the kernel ends; none: it leads at no size"
    return tabulated("Up to which block size a kernel leads", columns, found, note)


def _at_count(each: Crossovers, count: int) -> str:
    found = {one.count: one for one in each.counts}.get(count)
    return in_short(found) if found else ""


def changes(index: Index) -> Iterator[Finding]:
    """Reports for each kind of pair and memory up to which block size the kernel leads the vendor's call."""
    slower = group_by(block_slowdowns(index), lambda one: one.path)
    for found in crossovers(index):
        beside = [one for path in found.paths for one in slower.get(path, ())]
        yield _changes(found, beside if found.memory in USUAL_MEMORY else [])


def _changes(found: Crossovers, beside: Sequence[BlockSlowdown]) -> Finding:
    nearest = sorted(found.counts, key=lambda one: abs(log(one.count / CHARTED_BLOCKS)))
    told = next((one for one in nearest if one.leading), nearest[0])
    text = faster_up_to if told.leading else never_faster
    claims = [one.claim for crossover in found.counts for one in crossover.compared]
    if not told.leading and any(one.claim.leads for one in told.compared):
        text, told = faster_up_to, _from_its_lead(told)
    first = usual_example(told)
    others = "; ".join(f"{one.count:,} blocks: {in_short(one)}" for one in found.counts)
    sizes = sizes_of(found)
    detail = (
        f"The block sizes between which its lead ends, of {format_size(sizes[0])} to "
        f"{format_size(sizes[-1])}: {others}. For {first.blocks} the kernel reaches "
        f"{rate(first.kernel)} GB/s, the call {rate(first.calls)}."
    )
    if beside:
        detail += f" {slowdown_text(beside)}"
        claims += [one.pair.claim for one in beside]
    title = f"{where(found)}: {text(told, found.calls)}"
    return finding(title, detail, Priority.BLOCKS, (first.kernel, first.calls), claims)


def _from_its_lead(one: Crossover) -> Crossover:
    """Returns the sizes from the first one on at which the kernel leads."""
    start = next(number for number, each in enumerate(one.compared) if each.claim.leads)
    return Crossover(one.count, one.compared[start:])
