"""Messages by memory of sender and receiver: matrices for each library, absolute and relative to the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size
from byteways.cases.interfaces import metric_of
from byteways.cases.memory import MEMORIES
from byteways.questions.display.table import Table
from byteways.questions.subjects.ranks import absolute_and_relative, library, settings, versions

#: Fewest kinds of memory at each end: fewer are columns of the tables of messages.
LEAST_KINDS = 2
SIDES = ("source", "destination")

#: Cells by (memory of the sender, of the receiver), each written `gpu0 device`.
Memories = Mapping[tuple[str, str], Result]


def matrices(cells: Iterable[Result]) -> Iterator[Table]:
    """Yields the tables of messages in one direction between two ranks, by memory of both ends.

    Latencies are of the smallest size, bandwidths of every size.
    """
    plain = [cell for cell in cells if cell.record.pattern == "unidirectional"]
    for members in group_by(plain, _alike).values():
        is_latency = metric_of(members[0].record.interface) == "latency"
        sizes = group_by(members, lambda cell: cell.size_bytes)
        for size in sorted(sizes)[: 1 if is_latency else None]:
            if pairs := _pairs(sizes[size]):
                yield from _tables(pairs, format_size(size), is_latency)


def _alike(cell: Result) -> tuple[object, ...]:
    ranks = cell.source.rank, cell.destination.rank
    own = library(cell), metric_of(cell.record.interface), cell.record.cache, settings(cell)
    return (*own, ranks, cell.source.host, cell.destination.host)


def _pairs(cells: Sequence[Result]) -> Memories:
    """Returns the cells by memory; empty if an end has too few kinds of it, or each kind only one partner."""
    pairs = {(_end(cell, "source"), _end(cell, "destination")): cell for cell in cells}
    kinds = [len({pair[side] for pair in pairs}) for side in (0, 1)]
    return pairs if min(kinds, default=0) >= LEAST_KINDS and len(pairs) > max(kinds) else {}


def _end(cell: Result, side: str) -> str:
    buffer = cell.source if side == "source" else cell.destination
    touched = f"@{buffer.first_touch}" if buffer.first_touch else ""
    return f"{buffer.device} {buffer.memory}{touched}"


def _tables(pairs: Memories, size: str, is_latency: bool) -> Iterator[Table]:
    first = next(iter(pairs.values()))
    between = f"rank {first.source.rank} to rank {first.destination.rank}"
    cache = "warm" if first.record.cache == "warm" and not is_latency else ""
    how = ", ".join(part for part in (library(first), between, cache, settings(first)) if part)
    what, unit = ("latency", "µs") if is_latency else ("bandwidth", "GB/s")
    orders = {_end(cell, side): _order(cell, side) for cell in pairs.values() for side in SIDES}
    senders, receivers = (sorted({pair[side] for pair in pairs}, key=orders.__getitem__) for side in (0, 1))
    missing = len(pairs) < len(senders) * len(receivers)
    gaps = "–: no result (skipped or failed: listed below)" if missing else ""
    title, notes = f"{how}: {what} by memory of sender and receiver at {size}", [versions([*pairs.values()])]
    yield from absolute_and_relative(title, unit, pairs, pairs, (senders, receivers), notes, gaps)


def _order(cell: Result, side: str) -> tuple[str, int, str]:
    """Sorts by device, then by memory in the order of the vocabulary."""
    buffer = cell.source if side == "source" else cell.destination
    return buffer.device, MEMORIES.index(buffer.memory), buffer.first_touch or ""
