"""Messages between every two ranks: matrices of latency and bandwidth, absolute and relative to the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from byteways.answers.results.selection import kind, label_order
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size
from byteways.cases.interfaces import metric_of
from byteways.questions.display.table import Table
from byteways.questions.subjects.ranks import absolute_and_relative, library, memory, settings, versions

#: Fewest ranks with a matrix: two ranks have a row in the table of messages.
LEAST_RANKS = 3

#: Cells by (sending rank, receiving rank), each written `0/cpu0`.
ResultsByRankPair = Mapping[tuple[str, str], Result]


def matrices(cells: Iterable[Result]) -> Iterator[Table]:
    """Yields the tables of messages in one direction, where every ordered pair of ranks was measured.

    Latencies are of the smallest size, bandwidths of the largest.
    """
    plain = [cell for cell in cells if cell.record.pattern == "unidirectional"]
    for members in group_by(plain, _alike).values():
        sizes = group_by(members, lambda cell: cell.size_bytes)
        whole = {size: pairs for size, group in sizes.items() if (pairs := _all_pairs(group))}
        if not whole:
            continue
        is_latency = metric_of(members[0].record.interface) == "latency"
        size = min(whole) if is_latency else max(whole)
        yield from _tables(whole[size], format_size(size), is_latency)


def _alike(cell: Result) -> tuple[object, ...]:
    return library(cell), metric_of(cell.record.interface), memory(cell), settings(cell)


def _all_pairs(cells: Sequence[Result]) -> ResultsByRankPair:
    """Returns the cells by their ends; empty unless each rank sends to every other."""
    pairs: dict[tuple[str, str], Result] = {}
    for cell in cells:
        sender, _, receiver = cell.record.path.partition(">")
        # The second rank of a GPU is there for messages within it: they are the diagonal.
        within = kind(cell) == "gpu"
        pairs[sender, sender if within else receiver] = cell
    ends = {end for pair in pairs for end in pair}
    complete = len(ends) >= LEAST_RANKS and all((a, b) in pairs for a in ends for b in ends if a != b)
    return pairs if complete else {}


def _tables(pairs: ResultsByRankPair, size: str, is_latency: bool) -> Iterator[Table]:
    first = next(iter(pairs.values()))
    how = ", ".join(part for part in (library(first), memory(first), settings(first)) if part)
    what, unit = ("latency", "µs") if is_latency else ("bandwidth", "GB/s")
    notes = [versions([*pairs.values()])]
    between = {ends: cell for ends, cell in pairs.items() if ends[0] != ends[1]}
    if len(between) < len(pairs):
        notes.append("the diagonal has two ranks on one GPU, limited by its memory")
    ends = sorted({end for pair in pairs for end in pair}, key=label_order)
    title = f"{how}: {what} of every pair of ranks at {size}"
    yield from absolute_and_relative(title, unit, pairs, between, (ends, ends), notes)
