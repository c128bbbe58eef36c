"""STREAM: its four kernels over the size of an array, wherever the arrays are, and over threads per block."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.stream import LEAST_SIZES, Scan, ThreadMap, other_count, scans, thread_maps
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Line, Mark, Plot, PlotPoint, Table, Topic
from byteways.units import format_bandwidth, format_size


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run with STREAM kernels; None of any other."""
    made = scans(found)
    maps = thread_maps(found)
    if not made and not maps:
        return None
    tables = [_both_counts(made)] if made else []
    for each in maps:
        tables += [_map(each, relative=False), _map(each, relative=True)]
    plots = []
    for name, some in group_by(made, lambda scan: scan.place).items():
        drawn = [scan for scan in some if len(scan.cells) >= LEAST_SIZES]
        if drawn:
            plots += [_plot(name, drawn, logarithmic=False), _plot(name, drawn, logarithmic=True)]
    return Topic(
        "stream",
        "STREAM",
        "copy (c = a), scale (b = 3 c), add (c = a + b) and triad (a = b + 3 c) over doubles. Bandwidth "
        "counts as STREAM counts, every array that is read or written (“read + write”); the other count "
        "stands beside: what arrives where all arrays are the executor's own, else what goes between it and "
        "others. "
        "Sizes are those of one array.",
        tuple(tables),
        tuple(plots),
    )


def _both_counts(made: Sequence[Scan]) -> Table:
    headings = (
        *("threads of, arrays", "kernel", "size", "read + write, GB/s", "of peak"),
        *("one direction, GB/s", "between agents: read, GB/s", "written, GB/s", "greatest, GB/s", "at size"),
    )
    note = (
        "At the largest size; the last two columns have the greatest figure of all sizes, read + write. "
        "Peaks are nominal, for the same count: of own memory its rate, else what the links allow."
    )
    rows = tuple(_row(scan) for scan in made)
    return Table("Both counts", headings, rows, (2, 3, 4, 5, 6, 7, 8, 9), note)


def _row(scan: Scan) -> tuple[str, ...]:
    cell, best = scan.largest, scan.best
    counts, rates = other_count(cell)

    def beside(wanted: str, name: str) -> str:
        return _gb(rates[name]) if counts == wanted and name in rates else ""

    return (
        scan.place,
        scan.interface,
        format_size(cell.record.size_bytes),
        _gb(cell.value),
        "" if cell.fraction is None else f"{100 * cell.fraction:.0f} %",
        beside("per-direction", "bytes_per_s"),
        beside("between-agents", "read_bytes_per_s"),
        beside("between-agents", "written_bytes_per_s"),
        _gb(best.value),
        format_size(best.record.size_bytes),
    )


def _gb(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e9:.1f}"


def _map(each: ThreadMap, *, relative: bool) -> Table:
    """Threads per block down, size of an array across; in GB/s, or in percent of the greatest."""
    rows, heat = [], []
    least = min(cell.value for cell in each.cells.values()) / each.best
    for threads in each.threads:
        cells = [each.cells.get((threads, size)) for size in each.sizes]
        parts = [None if cell is None else cell.value / each.best for cell in cells]
        figures = [
            "" if cell is None or part is None else f"{100 * part:.1f}" if relative else _gb(cell.value)
            for cell, part in zip(cells, parts, strict=True)
        ]
        rows.append((str(threads), *figures))
        # Figures of one kernel lie close together: the shade spans what they differ by.
        heat.append((None, *(None if part is None else _shade(part, least) for part in parts)))
    unit = "% of the greatest" if relative else "GB/s, read + write"
    title = f"{each.interface}, {each.place}: threads per block × size, {unit}"
    headings = ("threads \\ size", *(format_size(size) for size in each.sizes))
    note = f"The greatest is {format_bandwidth(each.best)}." if relative else ""
    return Table(title, headings, tuple(rows), tuple(range(len(headings))), note, tuple(heat))


def _shade(part: float, least: float) -> float:
    return 1.0 if least >= 1 else (part - least) / (1 - least)


def _plot(name: str, made: Sequence[Scan], *, logarithmic: bool) -> Plot:
    lines = tuple(
        Line(
            scan.interface,
            tuple(
                PlotPoint(
                    cell.record.size_bytes,
                    cell.value / 1e9,
                    cell.low / 1e9,
                    cell.high / 1e9,
                    f"{format_size(cell.record.size_bytes)}: {format_bandwidth(cell.value)}",
                )
                for cell in scan.cells
            ),
        )
        for scan in made
    )
    first = max(made, key=lambda scan: scan.best.value)
    greatest = f"{first.interface}, {format_bandwidth(first.best.value)}"
    kind = "logarithmic" if logarithmic else "linear"
    return Plot(
        f"STREAM: {name}, {kind}",
        f"The dotted lines mark the maximum: {greatest} at {format_size(first.best.record.size_bytes)}.",
        "size of one array",
        "GB/s, read + write",
        lines,
        x_sizes=True,
        y_log=logarithmic,
        levels=(Mark(f"maximum {greatest}", first.best.value / 1e9),),
        places=(Mark("maximum", first.best.record.size_bytes),),
    )
