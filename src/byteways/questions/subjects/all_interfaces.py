"""Copies, kernels, memory of other processes, MPI, NCCL and RCCL on one chart per pattern and kind of pair.

Interfaces within a process and libraries between ranks have tables of their own, as they are not alternatives
to each other; here their bandwidths stand side by side, for equal devices and memories.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, WITH_OWN_TABLES, between_ranks, kind, uses_ipc
from byteways.answers.results.summary import Result, group_by, pool
from byteways.cases.interfaces import INTERFACES, counts_as_stream, metric_of
from byteways.cases.options import STAGING
from byteways.questions.display.chart import Chart, Series
from byteways.questions.display.curves import rates_over_size, result_point
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.ranks import library

INTRODUCTION = (
    "Every interface that moves the same bytes between the same devices: copies and kernels of one process, "
    "the same on memory of another process (IPC), and messages of MPI, NCCL and RCCL between processes. One "
    "chart for each pattern, kind of pair and memory; medians over the paths of one class."
)
#: Patterns that a single process and two ranks both have.
PATTERNS_OF_BOTH = ("unidirectional", "bidirectional")
#: Options whose values have lines of their own; results with others are in the tables only.
_OPTIONS = (STAGING.name,)


def topic(index: Index) -> Topic | None:
    """Returns the topic; None unless a process and ranks moved the same bytes."""
    charts = [
        _chart(index, members)
        for members in group_by(
            filter(_is_plain, index.cells), lambda cell: _bytes_moved(index, cell)
        ).values()
        if len({between_ranks(cell) for cell in members}) > 1
    ]
    drawn = sorted(filter(None, charts), key=lambda chart: chart.title)
    return (
        Topic("all-interfaces", "All interfaces by pattern", INTRODUCTION, (), tuple(drawn))
        if drawn
        else None
    )


def _is_plain(cell: Result) -> bool:
    """Whether it is the bandwidth of contiguous bytes, with default settings."""
    record = cell.record
    return (
        record.pattern in PATTERNS_OF_BOTH
        and record.interface not in WITH_OWN_TABLES
        and metric_of(record.interface) == "bandwidth"
        and not counts_as_stream(record.interface)
        and not INTERFACES[record.interface].in_pieces
        and not record.environment
        and not {*record.options} - {*_OPTIONS}
        and all(end.first_touch in (None, end.device) for end in (cell.source, cell.destination))
    )


def _bytes_moved(index: Index, cell: Result) -> tuple[Hashable, ...]:
    memories = tuple(_memory(end.memory) for end in (cell.source, cell.destination))
    return cell.record.pattern, kind(cell), index.link_class(cell), *memories


def _memory(name: str) -> str:
    """Memory of another process is the same device memory there."""
    return "device" if name == "ipc" else name


def _chart(index: Index, cells: Sequence[Result]) -> Chart | None:
    """Returns bandwidth over size, a line per interface with two sizes; None unless both sides have one."""
    lines: list[Series] = []
    sides: set[bool] = set()
    for label, members in sorted(group_by(cells, _label).items(), key=lambda entry: _order(entry[1][0])):
        sizes = group_by(members, lambda cell: cell.size_bytes)
        if len(sizes) > 1:
            points = tuple(result_point(size, pool(group)) for size, group in sorted(sizes.items()))
            lines.append(Series(label, points))
            sides.add(between_ranks(members[0]))
    if len(sides) < 2:
        return None
    title = _title(index, cells[0])
    both = " Rates are the sum of both directions." if cells[0].record.pattern == "bidirectional" else ""
    caption = f"Medians with their 95 % intervals.{both}"
    return rates_over_size(title, caption, lines)


def _title(index: Index, cell: Result) -> str:
    memories = dict.fromkeys(_memory(end.memory) for end in (cell.source, cell.destination))
    memory = f"{' > '.join(memories)} memory"
    place = PAIR_KINDS[kind(cell)]
    parts = cell.record.pattern.capitalize(), place[0].lower() + place[1:], index.link_class(cell), memory
    return ", ".join(part for part in parts if part)


def _label(cell: Result) -> str:
    if between_ranks(cell):
        return cell.variant.named(library(cell), memory=False)
    label = cell.variant.named(memory=False)
    return f"{label}, IPC" if uses_ipc(cell) else label


def _order(cell: Result) -> tuple[object, ...]:
    """One process first, then memory of another process, then libraries."""
    return between_ranks(cell), uses_ipc(cell), _label(cell)
