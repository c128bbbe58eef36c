"""STREAM: its four kernels over array size, with arrays in any memory, and over threads per block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import gb, of_peak, rate
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_bandwidth, format_size
from byteways.cases.case import Buffer
from byteways.cases.interfaces import INTERFACES, counts_as_stream, is_scattered
from byteways.questions.display.chart import Axis, Chart, ReferenceLine, Series
from byteways.questions.display.curves import result_point
from byteways.questions.display.table import Columns, Table, figures, shaded, tabulated, words
from byteways.questions.display.topic import Topic

#: In STREAM's order.
KERNELS = tuple(name for name in INTERFACES if counts_as_stream(name) and not is_scattered(name))
#: Least number of sizes in a scan.
LEAST_SCAN_SIZES = 3


@dataclass(frozen=True)
class Scan:
    """One kernel over array sizes with all else equal; `cells` by size."""

    interface: str
    place: str  # the executor, and the memory of the arrays
    cells: tuple[Result, ...]

    @property
    def best(self) -> Result:
        return max(self.cells, key=lambda cell: cell.value)

    @property
    def largest(self) -> Result:
        return self.cells[-1]


@dataclass(frozen=True)
class ThreadMap:
    """A kernel on one GPU in local memory over threads per block × bytes of one array."""

    interface: str
    place: str
    threads: tuple[int, ...]
    sizes: tuple[int, ...]
    cells: Mapping[tuple[int, int], Result]  # by threads and size

    @property
    def best(self) -> float:
        """The highest value in bytes/s."""
        return max(cell.value for cell in self.cells.values())


def other_count(cell: Result) -> tuple[str, dict[str, float]]:
    """Returns the name of the other byte count and the rates under it, in bytes/s by name.

    The count is `per-direction`, `between-agents` or '' (not recorded). Rates are scaled to the cell's
    value (median over rounds); the record's own are those of one round.
    """
    record = cell.middle[0]
    counted = dict(record.other_count or {})
    counts = str(counted.pop("counts", ""))
    scale = cell.value / (record.bandwidth_bytes_per_s or cell.value)
    return counts, {name: float(rate) * scale for name, rate in counted.items()}


def streams(results: Iterable[Result]) -> list[Result]:
    """Returns the STREAM cells with a single flow."""
    return [
        cell
        for cell in results
        if cell.record.pattern == "unidirectional" and cell.record.interface in KERNELS
    ]


def arrays(cell: Result) -> tuple[Buffer, ...]:
    """Returns the buffers of the arrays: those read, then the one written."""
    return cell.case.buffers_of(cell.case.flows[0])


def place(cell: Result) -> str:
    """`gpu0, local device memory`, `gpu0, all in gpu1:device`, `gpu0, reads gpu1:device, writes …`."""
    executor, ends = cell.record.executor, arrays(cell)
    warm = ", warm" if cell.record.cache == "warm" else ""
    if len(set(ends)) == 1:
        own = ends[0].device == executor
        where = f"local {ends[0].memory} memory" if own else f"all in {ends[0]}"
        return f"{executor}, {where}{warm}"
    read = " and ".join(dict.fromkeys(str(end) for end in ends[:-1]))
    return f"{executor}, reads {read}, writes {ends[-1]}{warm}"


def is_local(cell: Result) -> bool:
    """Whether the executor owns all arrays."""
    return all(end.device == cell.record.executor for end in arrays(cell))


def scans(results: Iterable[Result]) -> list[Scan]:
    """Returns kernels over sizes with default options, by place and by kernel in STREAM's order."""
    plain = [cell for cell in streams(results) if not cell.record.options and not cell.record.environment]
    grouped = group_by(plain, lambda cell: (place(cell), cell.record.interface))
    places = list(dict.fromkeys(name for name, _ in grouped))
    made = []
    for name in places:
        for kernel in KERNELS:
            members = sorted(grouped.get((name, kernel), []), key=lambda cell: cell.size_bytes)
            if members:
                made.append(Scan(kernel, name, tuple(members)))
    return made


def thread_maps(results: Iterable[Result]) -> list[ThreadMap]:
    """Returns kernels with at least two values of threads per block."""
    swept = [
        cell
        for cell in streams(results)
        if set(cell.record.options) == {"threads"} and cell.record.executor.startswith("gpu")
    ]
    made = []
    for (name, kernel), members in group_by(swept, lambda cell: (place(cell), cell.record.interface)).items():
        at = {(int(cell.record.options["threads"]), cell.size_bytes): cell for cell in members}
        threads = tuple(sorted({count for count, _ in at}))
        if len(threads) > 1:
            made.append(ThreadMap(kernel, name, threads, tuple(sorted({size for _, size in at})), at))
    return made


def topic(index: Index) -> Topic | None:
    """Returns the topic of STREAM; None if the run has none."""
    made = scans(index.cells)
    maps = thread_maps(index.cells)
    if not made and not maps:
        return None
    tables = [_both_counts(made)] if made else []
    for each in maps:
        tables += [_map(each, relative=False), _map(each, relative=True)]
    charts = []
    for name, members in group_by(made, lambda scan: scan.place).items():
        drawn = [scan for scan in members if len(scan.cells) >= LEAST_SCAN_SIZES]
        if drawn:
            charts += [_chart(name, drawn, logarithmic=False), _chart(name, drawn, logarithmic=True)]
    return Topic(
        "stream",
        "STREAM",
        "copy (c = a), scale (b = 3 c), add (c = a + b) and triad (a = b + 3 c) over doubles. Bandwidth "
        "is counted as in STREAM: every array read or written (“read + write”). The other count is given "
        "as well: bytes that arrive if all arrays belong to the executor, otherwise bytes exchanged with "
        "other devices. Sizes are per array.",
        tuple(tables),
        tuple(charts),
    )


def _both_counts(made: Sequence[Scan]) -> Table:
    columns: Columns[Scan] = (
        words("threads of, arrays", lambda scan: scan.place),
        words("kernel", lambda scan: scan.interface),
        figures("size", lambda scan: format_size(scan.largest.record.size_bytes)),
        figures("read + write, GB/s", lambda scan: _gb(scan.largest.value)),
        figures("of peak", _of_peak),
        figures("one direction, GB/s", lambda scan: _other(scan, "per-direction", "bytes_per_s")),
        figures(
            "between devices: read, GB/s", lambda scan: _other(scan, "between-agents", "read_bytes_per_s")
        ),
        figures("written, GB/s", lambda scan: _other(scan, "between-agents", "written_bytes_per_s")),
        figures("maximum, GB/s", lambda scan: _gb(scan.best.value)),
        figures("at size", lambda scan: format_size(scan.best.record.size_bytes)),
    )
    note = (
        "At the largest size; the last two columns give the maximum over all sizes (read + write). Peaks "
        "are nominal and use the same count."
    )
    return tabulated("Bandwidth, both ways of counting", columns, made, note)


def _of_peak(scan: Scan) -> str:
    fraction = scan.largest.fraction
    return "" if fraction is None else f"{100 * fraction:.0f} %"


def _other(scan: Scan, wanted: str, name: str) -> str:
    """Returns a rate of the other count; '' if the case does not count so."""
    counts, rates = other_count(scan.largest)
    return _gb(rates[name]) if counts == wanted and name in rates else ""


def _gb(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e9:.1f}"


def _map(each: ThreadMap, *, relative: bool) -> Table:
    """Tabulates threads per block × array size, in GB/s or as percent of the highest."""
    least = min(cell.value for cell in each.cells.values()) / each.best
    unit = "% of maximum" if relative else "GB/s, read + write"
    at = {(str(threads), format_size(size)): cell for (threads, size), cell in each.cells.items()}
    table = shaded(
        f"{each.interface}, {each.place}: threads per block × size, {unit}",
        "threads \\ size",
        (list(map(str, each.threads)), list(map(format_size, each.sizes))),
        at,
        lambda cell: f"{100 * cell.value / each.best:.1f}" if relative else _gb(cell.value),
        # Values of one kernel lie close together, so the shade spans their range only.
        lambda cell: _shade(cell.value / each.best, least),
        missing="",
        notes=(f"The maximum is {format_bandwidth(each.best)}." if relative else "",),
    )
    return replace(table, numeric=(0, *table.numeric))


def _shade(part: float, least: float) -> float:
    return 1.0 if least >= 1 else (part - least) / (1 - least)


def _chart(name: str, made: Sequence[Scan], *, logarithmic: bool) -> Chart:
    lines = tuple(
        Series(scan.interface, tuple(result_point(cell.size_bytes, cell) for cell in scan.cells))
        for scan in made
    )
    first = max(made, key=lambda scan: scan.best.value)
    greatest = f"{first.interface}, {format_bandwidth(first.best.value)}"
    kind = "logarithmic" if logarithmic else "linear"
    return Chart(
        f"STREAM: {name}, {kind}",
        f"The dotted lines mark the maximum: {greatest} at {format_size(first.best.size_bytes)}.",
        Axis("size of one array", "log", "bytes"),
        Axis("GB/s, read + write", "log" if logarithmic else "linear"),
        lines,
        levels=(ReferenceLine(f"maximum {greatest}", first.best.value / 1e9),),
        marks=(ReferenceLine("maximum", first.best.size_bytes),),
    )


PRIORITIES = {
    "gpu": Priority.STREAM_ON_GPU,
    "remote": Priority.STREAM_REMOTE,
    "cpu": Priority.STREAM_ON_CPU,
}


def stream(index: Index) -> Iterator[Finding]:
    """Reports copy and triad in local GPU memory, peer memory and CPU memory, with both byte counts."""
    chosen = [scan for scan in scans(index.ranked) if scan.largest.record.cache == "cold"] or scans(
        index.ranked
    )
    for name, priority in PRIORITIES.items():
        members = [scan for scan in chosen if _class(scan) == name]
        by_place = group_by(members, lambda scan: scan.place)
        # Prefer the place with most kernels, then the fastest.
        alike = max(
            by_place.values(),
            key=lambda scans: (len(scans), max(scan.largest.value for scan in scans)),
            default=None,
        )
        if alike:
            yield _stream(alike, priority)


def _class(scan: Scan) -> str:
    if is_local(scan.largest):
        return scan.largest.record.executor.rstrip("0123456789")
    return "remote"


def _of_one_size(group: list[Scan]) -> list[Result]:
    """Returns the cells of the largest size that all kernels have, else of the largest size measured.

    Mixing sizes could compare a cached array with one in memory.
    """
    by_size = [{cell.size_bytes: cell for cell in scan.cells} for scan in group]
    common = set.intersection(*({*sizes} for sizes in by_size))
    size = max(common or {size for sizes in by_size for size in sizes})
    return [sizes[size] for sizes in by_size if size in sizes]


def _stream(group: list[Scan], priority: Priority) -> Finding:
    cells = _of_one_size(group)
    speeds = [f"{cell.record.interface} {rate(cell)}{of_peak(cell)}" for cell in cells]
    title = f"STREAM on {group[0].place}: {listed(speeds)} GB/s, read and write counted"
    counts, rates = other_count(cells[0])
    sizes = listed(list(dict.fromkeys(format_size(cell.size_bytes) for cell in cells)))
    detail = f"Arrays of {sizes}."
    if counts == "per-direction":
        detail += f" {cells[0].record.interface} moves {gb(rates['bytes_per_s'])} GB/s in one direction."
    elif counts:
        read, written = rates["read_bytes_per_s"], rates["written_bytes_per_s"]
        detail += (
            f" Of {cells[0].record.interface}, {gb(read)} GB/s are read from other devices and "
            f"{gb(written)} written to them."
        )
    return finding(title, detail, priority, cells)
