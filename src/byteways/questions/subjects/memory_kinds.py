"""Memory kind × first touch × interface, by direction and end, as in schieffer2025, figures 6 and 7."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, kind, link_class, unidirectional
from byteways.answers.results.summary import Result, group_by
from byteways.answers.results.variants import issued_by
from byteways.base.units import bandwidth_number, format_size
from byteways.cases.case import Buffer
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated, words
from byteways.questions.display.topic import Topic

#: Smaller tables would repeat other tables.
LEAST_ROWS = 3
#: Memory kinds of the end that is held fixed.
_PLAIN = ("device", "pageable")
_INTRODUCTION = (
    "Bandwidth depends on how memory was allocated and which device touched its pages first. "
    "Rows vary one end of the path; the other end is GPU device memory or pageable host memory. Columns "
    "are interfaces with their executor. Medians over the paths of one kind and link class, cold caches, "
    "GB/s."
)


def topic(index: Index) -> Topic | None:
    """Returns the topic; None unless memory was first touched by a device other than its owner."""
    plain = [
        cell
        for cell in unidirectional(index.cells)
        if cell.record.cache == "cold" and not cell.record.options and not cell.record.environment
    ]
    tables = []
    over = group_by(plain, lambda cell: (kind(cell), link_class(index.topology, cell)))
    for (pair, class_name), members in over.items():
        title = f"{PAIR_KINDS[pair]}, {class_name}" if class_name else PAIR_KINDS[pair]
        for side in ("source", "destination"):
            table = _table(title, side, [cell for cell in members if _varies(cell, side)])
            if table is not None:
                tables.append(table)
    return (
        Topic("memory-kinds", "Memory kind, first touch and interface", _INTRODUCTION, tuple(tables))
        if tables
        else None
    )


def _ends(cell: Result, side: str) -> tuple[Buffer, Buffer]:
    """Returns the varied end and the fixed end."""
    ends = cell.source, cell.destination
    return ends if side == "source" else ends[::-1]


def _varies(cell: Result, side: str) -> bool:
    _, other = _ends(cell, side)
    return other.memory in _PLAIN and other.first_touch in (None, other.device)


def _table(title: str, side: str, members: Sequence[Result]) -> Table | None:
    if not members:
        return None
    size = max(cell.size_bytes for cell in members)
    shown = [cell for cell in members if cell.size_bytes == size]
    rows = group_by(shown, lambda cell: _row_of(cell, side))
    touchers = {touch for _, touch in rows}
    if len(rows) < LEAST_ROWS or len(touchers) < 2:
        return None
    columns = list(dict.fromkeys(_column_of(cell) for cell in shown))
    values = {
        (row, column): median(cell.value for cell in group if _column_of(cell) == column)
        for row, group in rows.items()
        for column in columns
        if any(_column_of(cell) == column for cell in group)
    }
    best = {column: max(value for (_, name), value in values.items() if name == column) for column in columns}

    def column(name: str) -> TableColumn[tuple[str, str]]:
        def text(row: tuple[str, str]) -> str:
            return bandwidth_number(values[row, name]) if (row, name) in values else ""

        def share(row: tuple[str, str]) -> float | None:
            return values[row, name] / best[name] if (row, name) in values else None

        return figures(f"{name}, GB/s", text, share)

    shown_columns: Columns[tuple[str, str]] = (
        words(f"{side} memory", lambda row: row[0]),
        words("first touch", lambda row: row[1]),
        *map(column, columns),
    )
    heading = f"{title}, {format_size(size)}, by memory of the {side}"
    return tabulated(heading, shown_columns, rows, "A stronger shade is closer to the column's maximum.")


def _row_of(cell: Result, side: str) -> tuple[str, str]:
    end, _ = _ends(cell, side)
    if end.first_touch in (None, end.device):
        return end.memory, "its owner"
    kind_of_device = str(end.first_touch).rstrip("0123456789")
    another = "another " if end.device.startswith(kind_of_device) else "a "
    return end.memory, another + {"cpu": "CPU", "gpu": "GPU"}[kind_of_device]


def _column_of(cell: Result) -> str:
    return f"{cell.record.interface} {issued_by(cell.record.access)}".strip()
