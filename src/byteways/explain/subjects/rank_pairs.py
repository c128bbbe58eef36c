"""Messages between every two ranks: matrices of latency and bandwidth, absolute and relative to the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from byteways.explain.claims.phrases import percent
from byteways.explain.display.table import Table
from byteways.explain.results.selection import kind, label_order
from byteways.explain.results.summary import Part, Result, group_by
from byteways.explain.subjects.ranks import gb_figure, library, memory, note_of, settings, us_figure, versions
from byteways.plan.interfaces import metric_of
from byteways.units import format_size

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
        sizes = group_by(members, lambda cell: cell.record.size_bytes)
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
    between = {(sender, to): cell for (sender, to), cell in pairs.items() if sender != to}
    how = ", ".join(part for part in (library(first), memory(first), settings(first)) if part)
    if is_latency:
        best = min(cell.value for cell in between.values())
        what, unit = "latency", "µs"
    else:
        best = max(cell.value for cell in between.values())
        what, unit = "bandwidth", "GB/s"

    def share(cell: Result) -> float:
        return best / cell.value if is_latency else cell.value / best

    def figure(cell: Result) -> str:
        half = Part(cell.value / 2, cell.low / 2, cell.high / 2)
        return us_figure(half, cell) if is_latency else gb_figure(cell)

    title = f"{how}: {what} of every pair of ranks at {size}"
    notes = [versions([*pairs.values()])]
    if len(between) < len(pairs):
        notes.append("the diagonal is of two ranks on one GPU, whose memory limits it")
    yield _table(f"{title}, {unit}", pairs, figure, share, "; ".join(note for note in notes if note))
    text = "best latency over that of the pair" if is_latency else "bandwidth over the best"
    yield _table(f"{title}, relative to the best", between, lambda cell: percent(share(cell)), share, text)


def _table(
    title: str,
    pairs: ResultsByRankPair,
    figure: Callable[[Result], str],
    share: Callable[[Result], float],
    note: str,
) -> Table:
    ends = sorted({end for pair in pairs for end in pair}, key=label_order)
    rows = tuple(
        (sender, *(figure(pairs[sender, end]) if (sender, end) in pairs else "–" for end in ends))
        for sender in ends
    )
    heat = tuple(
        (None, *(share(pairs[sender, end]) if sender != end else None for end in ends)) for sender in ends
    )
    columns = tuple(range(1, len(ends) + 1))
    return Table(title, ("from \\ to", *ends), rows, columns, note_of(rows, note), heat)
