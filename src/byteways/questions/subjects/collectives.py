"""Collectives: time and bus bandwidth over size, one table per group of ranks and timing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate, time_said
from byteways.answers.results.index import Index
from byteways.answers.results.selection import label_order
from byteways.answers.results.summary import Part, Result, group_by
from byteways.base.units import format_size
from byteways.cases.interface_rows import BARRIER
from byteways.cases.interfaces import COLLECTIVES
from byteways.cases.options import TIMING
from byteways.cases.osu import OSU, osu_bytes
from byteways.questions.display.chart import Chart, Series
from byteways.questions.display.curves import rates_over_size, result_point
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.questions.subjects import collective_ways
from byteways.questions.subjects.ranks import (
    MARK,
    gb_figure,
    library,
    marked,
    memory,
    note_of,
    plain_us,
    settings,
    us_figure,
    versions,
)

INTRODUCTION = "Collectives of all ranks, one table per library. The time is that of the slowest rank."
#: Table notes: what each timing means.
TIMINGS = {
    "pipelined": "Pipelined: operations follow each other without a pause",
    "isolated": "Isolated: one operation at a time, each from a common start of all ranks",
    OSU: "Timed as in OSU's programs: the mean over a fixed number of calls, with an untimed barrier after "
    "each, averaged over all ranks; sizes are as the programs print them",
}
BUS = (
    "Bus bandwidth as nccl-tests defines it: size over time, times a factor that depends on the operation "
    "and the number of ranks"
)
#: Sizes that differ by no more than this share of the larger are in one row.
SAME_ROW = 0.01
#: The collective that findings report.
REPORTED_COLLECTIVE = "allreduce"


def collectives(results: Iterable[Result]) -> list[Result]:
    """Returns the collectives that move data."""
    return [cell for cell in results if cell.record.pattern in COLLECTIVES]


def barriers(results: Iterable[Result]) -> list[Result]:
    """Returns the barriers."""
    return [cell for cell in results if cell.record.pattern == BARRIER]


def timing(cell: Result) -> str:
    """How operations follow each other: `pipelined` or `isolated`."""
    return str(cell.record.options.get(TIMING.name, TIMING.default))


def size_of(cell: Result) -> int:
    """The size in bytes by which tables name it: that of OSU's program where it is timed as that does."""
    return osu_bytes(cell.case) if timing(cell) == OSU else cell.size_bytes


def members_of(cell: Result) -> str:
    """The participating ranks: `0-3/cpu0`."""
    return cell.record.path.partition(":")[2]


def ranks_of(cell: Result) -> int:
    """The number of participating ranks."""
    return len(cell.case.ranks)


def time_of(cell: Result) -> Part:
    """Returns the time of one operation in ns with the value's interval, over the rounds it comes from."""
    time_ns = cell.time_ns
    if cell.record.pattern == BARRIER or time_ns is None:
        return Part(cell.value, cell.low, cell.high)
    return Part(time_ns, time_ns * cell.value / cell.high, time_ns * cell.value / cell.low)


def _alike(cell: Result) -> tuple[str, str, str, str, str]:
    """Returns the grouping key of a table; different libraries and timings never share one."""
    return library(cell), members_of(cell), memory(cell), timing(cell), settings(cell, TIMING.name)


def _order(alike: tuple[str, str, str, str, str]) -> tuple[object, ...]:
    name, ranks, where, how, others = alike
    return name, label_order(ranks), where, TIMING.words.index(how), others


def _waits_alike(cell: Result) -> Hashable:
    """Returns the key that matches barriers to collectives; without memory: barriers have none."""
    return library(cell), members_of(cell), timing(cell), cell.variant.environment


def topic(index: Index) -> Topic | None:
    """Returns the topic of collectives and barriers; None if the run has none."""
    moving, waiting = collectives(index.cells), group_by(barriers(index.cells), _waits_alike)
    if not moving and not waiting:
        return None
    tables: list[Table] = collective_ways.tables(moving)
    charts: list[Chart] = []
    groups = group_by(moving, _alike)
    for alike in sorted(groups, key=_order):
        members = groups[alike]
        title = ", ".join(part for part in alike if part)
        waited = waiting.get(_waits_alike(members[0]), [])
        tables += [*_tables(title, members, waited), *_choices(title, members)]
        charts += _charts(title, members)
    charts += _comparisons(moving)
    beside = {_waits_alike(cell) for cell in moving}
    if alone := [cell for key, cells in waiting.items() if key not in beside for cell in cells]:
        tables.append(_barriers(alone))
    return Topic("collectives", "Collectives", INTRODUCTION, tuple(tables), tuple(charts))


def _tables(title: str, members: Sequence[Result], waited: Sequence[Result]) -> list[Table]:
    """Builds tables of times and bus bandwidths, a row per size and a column per pattern."""
    rows = _rows_of([size_of(cell) for cell in members])
    at = {(rows[size_of(cell)], cell.record.pattern): cell for cell in members}
    patterns = [pattern for pattern in COLLECTIVES if any(pattern == told for _, told in at)]
    sizes = sorted({*rows.values()})
    most = max(cell.value for cell in members)

    def of_each(
        text: Callable[[Result], str], share: Callable[[Result], float] | None = None
    ) -> Columns[int]:
        return _by_pattern(patterns, at, text, share)

    times = tabulated(f"{title}: time, µs", of_each(lambda cell: us_figure(time_of(cell), cell)), sizes)
    rates = tabulated(
        f"{title}: bus bandwidth, GB/s", of_each(gb_figure, lambda cell: cell.value / most), sizes
    )
    barriers_us = [us_figure(time_of(cell), cell) for cell in waited]
    told = (f"a barrier takes {value} µs" for value in barriers_us)
    note = note_of([*times.rows, barriers_us], TIMINGS[timing(members[0])], versions(members), *told)
    return [
        replace(times, notes=(note,)),
        *_extremes(title, at, sizes, patterns),
        marked(rates, BUS, versions(members)),
    ]


def _by_pattern(
    patterns: Sequence[str],
    at: Mapping[tuple[int, str], Result],
    text: Callable[[Result], str],
    share: Callable[[Result], float] | None = None,
) -> Columns[int]:
    """Returns the columns of sizes and of each pattern's result at them; without one, the cell is empty."""

    def column(pattern: str) -> TableColumn[int]:
        def told(size: int) -> str:
            return text(at[size, pattern]) if (size, pattern) in at else ""

        def shaded(size: int) -> float | None:
            return share(at[size, pattern]) if share and (size, pattern) in at else None

        return figures(pattern, told, shaded if share else None)

    return (figures("size", format_size), *map(column, patterns))


def _extremes(
    title: str, at: Mapping[tuple[int, str], Result], sizes: Sequence[int], patterns: Sequence[str]
) -> list[Table]:
    """Builds tables of the fastest and the slowest rank, if the ranks timed their calls themselves."""
    tables = []
    for said, choose in (("min", min), ("max", max)):
        columns = _by_pattern(patterns, at, partial(_of_ranks, choose=choose))
        table = tabulated(f"{title}: {said} over ranks, µs", columns, sizes)
        if any(text for row in table.rows for text in row[1:]):
            tables.append(marked(table))
    return tables


def _of_ranks(cell: Result, choose: Callable[[Iterable[float]], float]) -> str:
    """The time of the rank that `choose` takes, in µs: the median over the rounds; empty if unknown."""
    told = [[rank["time_ns"] for rank in record.ranks or () if "time_ns" in rank] for record in cell.records]
    if not told or not all(told):
        return ""
    return plain_us(median(map(choose, told))) + MARK * bool(cell.warning_ids)


def _choices(title: str, members: Sequence[Result]) -> list[Table]:
    """Builds the table of what the library chose, if its log says so of any size."""
    rows = _rows_of([size_of(cell) for cell in members])
    choices = {(rows[size_of(cell)], cell.record.pattern): _choice(cell) for cell in members}
    patterns = [
        pattern for pattern in COLLECTIVES if any(choices.get((size, pattern)) for size in rows.values())
    ]
    if not patterns:
        return []

    def column(pattern: str) -> TableColumn[int]:
        return words(pattern, lambda size: choices.get((size, pattern), ""))

    columns: Columns[int] = (
        words("size", format_size),
        *map(column, patterns),
    )
    sources = [(cell.record.library_choice or {}).get("source") for cell in members]
    note = "; ".join(dict.fromkeys(f"by {source}" for source in sources if source))
    return [tabulated(f"{title}: choice of the library", columns, sorted({*rows.values()}), note)]


def _choice(cell: Result) -> str:
    """`Ring, LL128, 16 channels`; empty if unknown."""
    choice = cell.record.library_choice or {}
    if choice.get("algorithm") is None:
        return ""
    channels = choice.get("channels")
    counted = "" if channels is None else f", {channels} channel{'s' * (channels != 1)}"
    return f"{choice['algorithm']}, {choice['protocol']}{counted}"


def _rows_of(sizes: Iterable[int]) -> dict[int, int]:
    """Returns the size that names the table row of each size.

    Patterns in blocks round a size down to a multiple of the number of ranks: 1 MiB is 1048560 bytes for 3.
    """
    rows: dict[int, int] = {}
    row = 0
    for size in sorted(set(sizes), reverse=True):
        if row - size > SAME_ROW * row or not row:
            row = size
        rows[size] = row
    return rows


def _barriers(waited: Sequence[Result]) -> Table:
    """Builds the table of barriers that do not appear next to collectives."""
    columns: Columns[Result] = (
        words("ranks", members_of),
        words("timing", timing),
        words("settings", lambda cell: settings(cell, TIMING.name)),
        figures("time, µs", lambda cell: us_figure(time_of(cell), cell)),
    )
    rows = sorted(waited, key=lambda cell: (label_order(members_of(cell)), timing(cell)))
    return marked(tabulated("Barrier", columns, rows))


def _charts(title: str, members: Sequence[Result]) -> list[Chart]:
    """Draws bus bandwidth over size, a line for each pattern with at least two sizes."""
    by_pattern = group_by(members, lambda cell: cell.record.pattern)
    lines = [
        _line(pattern, by_pattern[pattern]) for pattern in COLLECTIVES if len(by_pattern.get(pattern, [])) > 1
    ]
    return [_drawn(title, lines)] if lines else []


def _comparisons(moving: Sequence[Result]) -> list[Chart]:
    """Draws each operation that several libraries carry out among as many ranks, one line per library."""
    charts = []
    alike = group_by(moving, lambda cell: (cell.record.pattern, ranks_of(cell), timing(cell)))
    for (pattern, ranks, how), members in alike.items():
        groups = group_by(members, _alike)
        groups = {key: cells for key, cells in groups.items() if len(cells) > 1}
        if len({name for name, *_ in groups}) > 1:
            lines = [_line(_worked_on(key, groups), groups[key]) for key in sorted(groups, key=_order)]
            charts.append(_drawn(f"{pattern} of {ranks} ranks, {how}", lines))
    return charts


def _worked_on(alike: tuple[str, ...], others: Iterable[tuple[str, ...]]) -> str:
    """`NCCL, device memory, warm`, with the ranks where others differ in nothing else."""
    name, ranks, *rest = alike
    equals = [other for other in others if (other[0], *other[2:]) == (name, *rest)]
    where, _, settings_ = rest
    return ", ".join(part for part in (name, ranks * (len(equals) > 1), where, settings_) if part)


def _line(label: str, members: Sequence[Result]) -> Series:
    return Series(label, tuple(result_point(cell.size_bytes, cell) for cell in _by_size(members)))


def _drawn(title: str, lines: Sequence[Series]) -> Chart:
    caption = "Bus bandwidth as nccl-tests defines it, with its 95 % interval."
    return rates_over_size(title, caption, lines, "GB/s, bus bandwidth")


def _by_size(cells: Sequence[Result]) -> list[Result]:
    return sorted(cells, key=lambda cell: cell.size_bytes)


def allreduce(index: Index) -> Iterator[Finding]:
    """Reports the time of the smallest and the bus bandwidth of the largest size, for most ranks."""
    chosen = [cell for cell in collectives(index.between_ranks) if cell.record.pattern == REPORTED_COLLECTIVE]
    waiting = group_by(barriers(index.between_ranks), _waits_alike)
    for group in group_by(chosen, _but_members).values():
        most = max(map(ranks_of, group))
        widest = [cell for cell in group if ranks_of(cell) == most]
        for members in group_by(widest, members_of).values():
            yield _finding(members, most, waiting.get(_waits_alike(members[0]), []))


def _but_members(cell: Result) -> tuple[str, ...]:
    name, _, *others = _alike(cell)
    return name, *others


def _finding(members: Sequence[Result], ranks: int, waited: Sequence[Result]) -> Finding:
    ordered = _by_size(members)
    first, last = ordered[0], ordered[-1]
    how = ", ".join(filter(None, (timing(first), memory(first), settings(first, TIMING.name))))
    title = (
        f"{library(first)} {REPORTED_COLLECTIVE} of {ranks} ranks, {how}: {time_said(time_of(first))} at "
        f"{format_size(first.size_bytes)}"
    )
    if last is not first:
        title += f"; bus bandwidth {rate(last)} GB/s at {format_size(last.size_bytes)}"
    detail = f"Ranks {members_of(first)}."
    for cell in waited:
        detail += f" A barrier takes {time_said(time_of(cell))}."
    ends = [first] if last is first else [first, last]
    sizes = tuple(cell.size_bytes for cell in ends)
    about = library(first), ranks, how, sizes
    return finding(title, detail, Priority.COLLECTIVE, [*ends, *waited], about=about)
