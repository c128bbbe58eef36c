"""Two-dimensional tables of results: GPU matrices, host memory, first touch, latency."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace

from byteways.answers.results.selection import (
    at_largest,
    concurrent,
    kind,
    label_order,
    unidirectional,
    variant,
)
from byteways.answers.results.summary import Result, group_by
from byteways.answers.results.variants import Variant
from byteways.base.units import format_size
from byteways.questions.display.numbers import METRIC_UNITS, cell_number, peaks_of
from byteways.questions.display.table import Table, TableResult, shaded

#: From this number of single-pair matrices on, they are merged into a list.
LISTED_FROM = 3


def grid_of(
    title: str,
    corner: str,
    members: Iterable[tuple[Hashable, Hashable, Result]],
    names: tuple[Sequence[str], Sequence[str]] | None = None,
    *,
    quantity: str = "bandwidth",
    notes: tuple[str, ...] = (),
) -> Table:
    """Returns a shaded table of results, with their size in the title if all have the same.

    Args:
        title: Of the table.
        corner: What rows and columns are.
        members: Row, column and result of each cell.
        names: Of the rows, and of the columns; without, in the order of the devices that they name.
        quantity: "bandwidth" or "latency".
        notes: Below the table, after the peaks.
    """
    at = {(str(row), str(column)): cell for row, column, cell in members}
    if names is None:
        rows, columns = (sorted({ends[side] for ends in at}, key=label_order) for side in (0, 1))
        names = rows, columns
    sizes = {cell.size_bytes for cell in at.values()}
    size = f"{' ' if quantity == 'latency' else ' at '}{format_size(sizes.pop())}" if len(sizes) == 1 else ""
    # Transfers within a device would outshine those over links.
    over_links = [cell for cell in at.values() if cell.source.device != cell.destination.device]
    compared = over_links if over_links and quantity == "bandwidth" else list(at.values())
    greatest = max((cell.value for cell in compared), default=1.0)
    chosen = {cell.record.case_id for cell in compared}
    results = {ends: TableResult(cell, quantity) for ends, cell in at.items()}
    peaks = peaks_of(at.values()) if quantity == "bandwidth" else ""
    table = shaded(
        f"{title}{size}",
        corner,
        names,
        at,
        lambda cell: cell_number(cell, quantity),
        lambda cell: cell.value / greatest if cell.record.case_id in chosen else None,
        missing="",
        notes=tuple(filter(None, (peaks, *notes))),
    )
    behind = ((None, *(results.get((row, column)) for column in names[1])) for row in names[0])
    return replace(table, results=tuple(behind), unit=METRIC_UNITS[quantity])


def matrices(results: Sequence[Result]) -> list[Table]:
    """Returns a matrix per interface, access and options: source GPUs down, destination GPUs across.

    Copies within a GPU are on the diagonal of their interface's matrices. Variants measured on a single pair
    (such as options) are listed by pair and size if there are many.
    """
    between = at_largest(_of_kind(unidirectional(results), "gpu-gpu"))
    inside = _of_kind(unidirectional(results), "gpu")
    groups = dict(sorted(group_by(between, variant).items()))
    single = {way for way, members in groups.items() if len(members) == 1}
    listed = single if len(single) >= LISTED_FROM else set()
    grids = [_matrix(way, members, inside) for way, members in groups.items() if way not in listed]
    alone = [members[0] for way, members in groups.items() if way in listed]
    for _, members in sorted(group_by(alone, lambda cell: -cell.size_bytes).items()):
        rows = ((cell.variant.name, cell.record.path, cell) for cell in members)
        grids.append(grid_of("Between GPUs, one pair only", "interface, options \\ path", rows))
    return grids + bidirectional_matrices(results)


def _matrix(variant: Variant, members: Sequence[Result], inside: Iterable[Result]) -> Table:
    """Returns the matrix of one variant, with its copies within a GPU on the diagonal."""
    size = members[0].size_bytes
    diagonal = [
        cell
        for cell in inside
        if cell.size_bytes == size and replace(cell.variant, access=variant.access) == variant
    ]
    return grid_of(
        f"{variant.name}, unidirectional",
        "from \\ to",
        ((cell.source.device, cell.destination.device, cell) for cell in [*members, *diagonal]),
        notes=("Diagonal: copy inside one GPU, each byte counted once",) if diagonal else (),
    )


def bidirectional_matrices(results: Sequence[Result]) -> list[Table]:
    """Returns matrices of the sum of both directions between each pair of GPUs."""
    both = [
        cell for cell in _of_kind(concurrent(results), "gpu-gpu") if cell.record.pattern == "bidirectional"
    ]
    return [
        grid_of(
            f"{way.name}, bidirectional, sum of both directions",
            "between \\ and",
            ((cell.source.device, cell.destination.device, cell) for cell in members),
        )
        for way, members in sorted(group_by(at_largest(both), variant).items())
    ]


def _labelled(members: Sequence[Result]) -> list[tuple[str, Result]]:
    """Returns each cell with its row label, which includes the size if the table has several."""
    mixed = len({cell.size_bytes for cell in members}) > 1
    size = [f", {format_size(cell.size_bytes)}" * mixed for cell in members]
    return [(cell.variant.name + after, cell) for cell, after in zip(members, size, strict=True)]


def inside_gpu(results: Sequence[Result], shown: Collection[str] = ()) -> list[Table]:
    """Returns copies within a GPU whose case ids are not in `shown`, by interface."""
    local = at_largest(_of_kind(unidirectional(results), "gpu"))
    members = [cell for cell in local if cell.record.case_id not in shown]
    rows = [(label, cell.source.device, cell) for label, cell in _labelled(members)]
    notes = ("Each byte is read and written but counted once",)
    return [grid_of("Inside a GPU", "interface \\ GPU", rows, notes=notes)] if rows else []


def host_tables(results: Sequence[Result]) -> list[Table]:
    """Returns tables between host memory and GPUs, a row per interface and memory; and within host memory."""
    titles = {
        "cpu-gpu": "Host to GPU",
        "gpu-cpu": "GPU to host",
        "cpu-cpu": "Between NUMA domains",
        "cpu": "In host memory",
    }
    # Pages first touched by another device lie elsewhere and have their own table.
    touched = [
        cell
        for cell in unidirectional(results)
        if all(end.first_touch in (None, end.device) for end in (cell.source, cell.destination))
    ]
    grids = []
    for name, title in titles.items():
        members = at_largest(_of_kind(touched, name))
        if not members:
            continue
        rows = ((label, cell.record.path, cell) for label, cell in _labelled(members))
        grids.append(grid_of(title, "interface, memory \\ path", rows))
    return grids


def _of_kind(results: Iterable[Result], name: str) -> list[Result]:
    return [cell for cell in results if kind(cell) == name]
