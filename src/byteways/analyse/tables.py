"""The tables of a run as plain data: `show` prints them, the report renders them. No formatting here.

A grid is two-dimensional with one cell per crossing; the other tables are lists of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from byteways.analyse.best import BestMap, best_map
from byteways.analyse.summary import (
    KINDS,
    NEAR,
    Cell,
    Variant,
    agent_order,
    at_largest,
    cells,
    chases,
    concurrent,
    group_by,
    kind,
    one_way,
    variant,
)
from byteways.plan.case import PATTERNS, is_device
from byteways.plan.interfaces import INTERFACES
from byteways.results.record import Record, Warning
from byteways.units import format_bandwidth, format_size

#: How the figures of a warning are written; those of others are plain numbers.
FIGURES: Mapping[str, Callable[[float], str]] = {
    "noisy": lambda value: f"{100 * value:.2g} %",
    "drift": lambda value: f"{100 * value:.2g} %",
    "placement": lambda value: f"{100 * value:.3g} %",
    "serialised": format_bandwidth,
    "unexpected-path": lambda value: format_size(round(value)),
    "ungated": lambda value: "gated" if value else "not gated",
    "clock-drop": lambda value: f"{value:.0f} MHz",
}
#: Interfaces whose one-way figures stand in tables of their own.
APART = ("route",)
#: From so many matrices of a single pair on, they are one list.
LISTED_FROM = 3


@dataclass(frozen=True)
class GridRow:
    label: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Grid:
    """`rows` × `columns`; `quantity` is "bandwidth" (bytes/s) or "latency" (ns)."""

    title: str
    corner: str  # what rows and columns are
    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]
    quantity: str
    size_bytes: int | None
    note: str = ""

    def heading(self) -> str:
        """The title with the size of all figures, where they share one."""
        if self.size_bytes is None:
            return self.title
        between = " " if self.quantity == "latency" else " at "
        return f"{self.title}{between}{format_size(self.size_bytes)}"

    def members(self) -> list[Cell]:
        return [cell for row in self.rows for cell in row.cells if cell is not None]


@dataclass(frozen=True)
class PatternRow:
    """A concurrent case: what each direction got, and the sum."""

    cell: Cell
    directions: tuple[tuple[str, float], ...]  # path, bytes/s
    whole: float | None  # bytes/s of the sum, timed from the gate to the last end


@dataclass(frozen=True)
class Reason:
    """Cases that share status and reason."""

    status: str
    reason: str
    count: int
    example: str
    interfaces: tuple[str, ...]


@dataclass(frozen=True)
class WarningGroup:
    id: str
    advice: str
    count: int
    example: str
    observed: str
    required: str


def describe(record: Record) -> str:
    """One case in words: `copy one-way gpu0:device > gpu1:device, read`."""
    if INTERFACES[record.interface].buffers == "one":
        return f"{record.interface} by {record.executor} through {record.source}"
    if INTERFACES[record.interface].partner:
        cores = [f"core {record.options[key]}" for key in ("core", "partner_core") if key in record.options]
        return f"{record.interface} {' and '.join([record.path, *cores])} over {_words(record)}"
    if record.pattern == "one-way":
        second = record.flows[0].get("second_source") if record.flows else None
        sources = f"{record.source} and {second}" if second else record.source
        by = f" by {record.executor}" * (record.access == "remote")
        return f"{record.interface} {sources} > {record.destination}, {record.access}{by}"
    return f"{record.interface} {record.pattern} {record.path}, {record.access}"


def _words(record: Record) -> str:
    """The buffers of both sides, once where they are of one kind."""
    return " and ".join(dict.fromkeys((record.source, record.destination)))


def _grid(
    title: str,
    corner: str,
    members: Iterable[tuple[Hashable, Hashable, Cell]],
    *,
    quantity: str = "bandwidth",
    note: str = "",
) -> Grid:
    """A grid of (row, column, cell); rows and columns are sorted by agent name where they are one."""
    at = {(row, column): cell for row, column, cell in members}
    rows = sorted(dict.fromkeys(str(row) for row, _ in at), key=_label_order)
    columns = sorted(dict.fromkeys(str(column) for _, column in at), key=_label_order)
    sizes = {cell.record.size_bytes for cell in at.values()}
    return Grid(
        title,
        corner,
        tuple(columns),
        tuple(GridRow(row, tuple(at.get((row, column)) for column in columns)) for row in rows),
        quantity,
        sizes.pop() if len(sizes) == 1 else None,
        note,
    )


def _label_order(label: str) -> tuple[object, ...]:
    parts: list[object] = []
    for name in label.replace(">", " ").replace(":", " ").split(" "):
        stem, number = agent_order(name) if name[-1:].isdigit() and name[:1].isalpha() else (name, 0)
        parts += [stem, number]
    return tuple(parts)


def matrices(found: Sequence[Cell], size_bytes: int | None = None) -> list[Grid]:
    """One matrix per interface, access and options: source GPUs down, destination GPUs across.

    A copy inside one GPU stands on the diagonal of the matrices of its interface. What was measured on a
    single pair, such as options, is listed by pair and size when it is much.
    """
    between = at_largest(_of_kind(one_way(found), "gpu-gpu"), size_bytes)
    inside = _of_kind(one_way(found), "gpu")
    groups = dict(sorted(group_by(between, variant).items()))
    single = {same for same, members in groups.items() if len(members) == 1}
    listed = single if len(single) >= LISTED_FROM else set()
    grids = [_matrix(same, members, inside) for same, members in groups.items() if same not in listed]
    alone = [members[0] for same, members in groups.items() if same in listed]
    for _, members in sorted(group_by(alone, lambda cell: -cell.record.size_bytes).items()):
        rows = ((cell.variant.label(), cell.record.path, cell) for cell in members)
        grids.append(_grid("Between GPUs, measured on one pair", "interface, access, options \\ path", rows))
    return grids + two_way_matrices(found, size_bytes)


def _matrix(same: Variant, members: Sequence[Cell], inside: Iterable[Cell]) -> Grid:
    """The matrix of one variant, with what the same does inside one GPU on the diagonal."""
    size = members[0].record.size_bytes
    diagonal = [
        cell
        for cell in inside
        if cell.record.size_bytes == size and replace(cell.variant, access=same.access) == same
    ]
    return _grid(
        f"{same.label()}, one-way",
        "from \\ to",
        ((cell.source.agent, cell.destination.agent, cell) for cell in [*members, *diagonal]),
        note="The diagonal is a copy inside one GPU, counted once" if diagonal else "",
    )


def two_way_matrices(found: Sequence[Cell], size_bytes: int | None = None) -> list[Grid]:
    """The sum of both directions between each pair of GPUs."""
    both = [cell for cell in _of_kind(found, "gpu-gpu") if cell.record.pattern == "two-way"]
    return [
        _grid(
            f"{same.label()}, two-way, sum of both directions",
            "between \\ and",
            ((cell.source.agent, cell.destination.agent, cell) for cell in members),
        )
        for same, members in sorted(group_by(at_largest(both, size_bytes), variant).items())
    ]


def _labelled(members: Sequence[Cell]) -> list[tuple[str, Cell]]:
    """Each cell with the label of its row, which names the size where the table has several."""
    mixed = len({cell.record.size_bytes for cell in members}) > 1
    size = [f", {format_size(cell.record.size_bytes)}" * mixed for cell in members]
    return [(cell.variant.label() + after, cell) for cell, after in zip(members, size, strict=True)]


def inside_gpu(found: Sequence[Cell], size_bytes: int | None, shown: Collection[str] = ()) -> Grid | None:
    """Copies inside one GPU that no matrix has `shown` (case ids), a row per interface; None without any."""
    local = at_largest(_of_kind(one_way(found), "gpu"), size_bytes)
    members = [cell for cell in local if cell.record.case_id not in shown]
    rows = [(label, cell.source.agent, cell) for label, cell in _labelled(members)]
    note = "Each byte is read and written; it counts once"
    return _grid("Inside a GPU", "interface \\ GPU", rows, note=note) if rows else None


def host_tables(found: Sequence[Cell], size_bytes: int | None = None) -> list[Grid]:
    """Between host memory and GPUs, one row per interface and memory; and within host memory."""
    titles = {
        "cpu-gpu": "Host to GPU",
        "gpu-cpu": "GPU to host",
        "cpu-cpu": "Between NUMA domains",
        "cpu": "In host memory",
    }
    # What another agent touched first lies elsewhere, and has a table of its own.
    touched = [
        cell
        for cell in one_way(found)
        if all(end.first_touch in (None, end.agent) for end in (cell.source, cell.destination))
    ]
    grids = []
    for name, title in titles.items():
        members = at_largest(_of_kind(touched, name), size_bytes)
        if not members:
            continue
        rows = ((label, cell.record.path, cell) for label, cell in _labelled(members))
        grids.append(_grid(title, "interface, access, memory \\ path", rows))
    return grids


def latency_tables(found: Sequence[Cell], size_bytes: int | None = None) -> list[Grid]:
    """Nanoseconds per dependent load: who walks, through whose memory.

    A table per working set, the largest first, as latencies over different ones are of different caches.
    """
    by_size = group_by(_walks(chases(found), size_bytes), lambda cell: cell.record.size_bytes)
    return [
        _grid(
            "Latency of a dependent load, working set",
            "executor \\ memory",
            ((cell.record.executor, f"{cell.source}{_warm(cell)}", cell) for cell in by_size[size]),
            quantity="latency",
        )
        for size in sorted(by_size, reverse=True)
    ]


def _walks(found: Sequence[Cell], size_bytes: int | None) -> list[Cell]:
    """What a kind of agent walks, all at one working set to compare; what was not, at its largest."""
    chosen = []
    for walks in group_by(found, lambda cell: cell.record.executor.rstrip("0123456789")).values():
        places = group_by(walks, lambda cell: (variant(cell), cell.source.agent)).values()
        walked = [size for place in places for size in {cell.record.size_bytes for cell in place}]
        near = [size for size in walked if size * NEAR >= max(walked)]
        common = max(near, key=lambda size: (near.count(size), size))
        for place in places:
            sizes = {cell.record.size_bytes for cell in place}
            wanted = size_bytes or (common if common in sizes else max(sizes))
            chosen += [cell for cell in place if cell.record.size_bytes == wanted]
    return chosen


def _warm(cell: Cell) -> str:
    return " (warm)" if cell.record.cache == "warm" else ""


def first_touch_tables(found: Sequence[Cell]) -> list[Grid]:
    """Memory × first touch, where more than one agent touched first and all else is equal."""

    def touched(cell: Cell) -> tuple[str, str]:
        ends = cell.source, cell.destination
        buffer = next((end for end in ends if end.first_touch), None) or next(
            (end for end in ends if not is_device(end.memory)), cell.source
        )
        return f"{buffer.agent}:{buffer.memory}", buffer.first_touch or buffer.agent

    def alike(cell: Cell) -> tuple[object, ...]:
        record, same = cell.record, variant(cell)
        return record.path, record.interface, record.executor, record.size_bytes, same.cache, same.options

    grids = []
    for members in group_by(one_way(found), alike).values():
        if not any(end.first_touch for cell in members for end in (cell.source, cell.destination)):
            continue
        grid = _grid(
            f"{members[0].variant.label(memory=False)}, {members[0].record.path}",
            "memory \\ first touch",
            ((*touched(cell), cell) for cell in members),
        )
        if len(grid.columns) > 1:
            grids.append(grid)
    largest = group_by(grids, lambda grid: (grid.title, grid.columns))
    return [max(same, key=lambda grid: grid.size_bytes or 0) for same in largest.values()]


def patterns(found: Sequence[Cell], size_bytes: int | None = None) -> list[PatternRow]:
    """Concurrent cases at their largest size, in the order of patterns, interfaces and paths."""
    rows = []
    kinds = list(KINDS)
    order = sorted(
        at_largest(concurrent(found), size_bytes),
        key=lambda cell: (
            PATTERNS.index(cell.record.pattern),
            kinds.index(kind(cell)),
            cell.variant,
            _label_order(cell.record.path),
        ),
    )
    for cell in order:
        record = cell.record
        rates = record.whole_bytes_per_s or {}
        # What disturbs is no part of the figure.
        counted = [f"{cell.source.agent}>{cell.destination.agent}"] * (record.pattern == "interference")
        whole = sum(rate for path, rate in rates.items() if path in (counted or rates)) or None
        rows.append(PatternRow(cell, tuple((record.directions or {}).items()), whole))
    return rows


def not_measured(records: Iterable[Record]) -> list[Reason]:
    """Cases without a figure, grouped by status and reason, the gravest status first."""
    order = ("corrupt", "failed", "lost", "timeout", "skipped")
    rest = [record for record in records if record.status != "measured"]
    grouped = group_by(rest, lambda record: (record.status, record.reason or "no reason was given"))
    reasons = [
        Reason(
            status,
            reason,
            len({record.case_id for record in same}),
            describe(same[0]),
            tuple(dict.fromkeys(record.interface for record in same)),
        )
        for (status, reason), same in grouped.items()
    ]
    return sorted(reasons, key=lambda reason: (order.index(reason.status), -reason.count))


def _excess(warning: Warning) -> float:
    """How far off a warning is, as a factor; 0 where it has no two numbers."""
    observed, required = warning.observed, warning.required
    if not isinstance(observed, (int, float)) or not isinstance(required, (int, float)):
        return 0.0
    low, high = sorted((abs(observed), abs(required)))
    return high / low if low else 0.0


def warning_groups(records: Iterable[Record]) -> list[WarningGroup]:
    """Warnings by id, the most frequent first, each with the example that is farthest off."""
    given = [(warning, record) for record in records for warning in record.warnings]
    groups = []
    for name, same in group_by(given, lambda pair: pair[0].id).items():
        warning, record = max(same, key=lambda pair: _excess(pair[0]))
        count = len({record.case_id for _, record in same})
        groups.append(
            WarningGroup(
                name,
                warning.advice,
                count,
                describe(record),
                _figure(name, warning.observed),
                _figure(name, warning.required),
            )
        )
    return sorted(groups, key=lambda group: -group.count)


def _figure(warning: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return FIGURES[warning](value) if warning in FIGURES else f"{value:.4g}"


def _of_kind(found: Iterable[Cell], name: str) -> list[Cell]:
    return [cell for cell in found if kind(cell) == name]


@dataclass(frozen=True)
class Tables:
    """Every table of a run."""

    matrices: list[Grid]
    inside: Grid | None
    host: list[Grid]
    first_touch: list[Grid]
    latency: list[Grid]
    patterns: list[PatternRow]
    best: BestMap | None
    warnings: list[WarningGroup]
    not_measured: list[Reason]


def tables(records: Sequence[Record], size_bytes: int | None = None) -> Tables:
    """All tables, at the largest size of each or at `size_bytes`."""
    found = cells(records)
    common = [cell for cell in found if cell.record.interface not in APART]
    between = matrices(common, size_bytes)
    shown = {cell.record.case_id for grid in between for cell in grid.members()}
    return Tables(
        between,
        inside_gpu(common, size_bytes, shown),
        host_tables(common, size_bytes),
        first_touch_tables(found),
        latency_tables(found, size_bytes),
        patterns(found, size_bytes),
        best_map(found),
        warning_groups(records),
        not_measured(records),
    )
