"""The STREAM kernels of a run: where their arrays lie, scans over size, and threads of a block against size.

All figures count as STREAM does: every array that is read or written. `other_count` of a record has what goes
one way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from byteways.analyse.summary import Cell, group_by
from byteways.plan.case import Buffer
from byteways.plan.interfaces import INTERFACES, counts_as_stream

#: In STREAM's order.
KERNELS = tuple(name for name in INTERFACES if counts_as_stream(name))
#: A scan has at least so many sizes.
LEAST_SIZES = 3


@dataclass(frozen=True)
class Scan:
    """One kernel over sizes of an array, all else equal; `cells` by size."""

    interface: str
    place: str  # whose threads, and where the arrays are
    cells: tuple[Cell, ...]

    @property
    def best(self) -> Cell:
        return max(self.cells, key=lambda cell: cell.value)

    @property
    def largest(self) -> Cell:
        return self.cells[-1]


@dataclass(frozen=True)
class ThreadMap:
    """A kernel on one GPU in own memory: threads per block × bytes of one array."""

    interface: str
    place: str
    threads: tuple[int, ...]
    sizes: tuple[int, ...]
    cells: Mapping[tuple[int, int], Cell]  # by threads and size

    @property
    def best(self) -> float:
        """The greatest figure in bytes/s."""
        return max(cell.value for cell in self.cells.values())


def other_count(cell: Cell) -> tuple[str, dict[str, float]]:
    """What goes one way of a cell's figure: how that is counted, and its rates in bytes/s by name.

    The count is `per-direction` or `between-agents`, '' where the record tells nothing. Rates are of the
    cell, whose figure is the median over rounds; a record has those of its own.
    """
    told = dict(cell.record.other_count or {})
    counts = str(told.pop("counts", ""))
    scale = cell.value / (cell.record.bandwidth_bytes_per_s or cell.value)
    return counts, {name: float(rate) * scale for name, rate in told.items()}


def streams(found: Iterable[Cell]) -> list[Cell]:
    """The STREAM cells of single flows."""
    return [
        cell
        for cell in found
        if cell.record.pattern == "unidirectional" and counts_as_stream(cell.record.interface)
    ]


def arrays(cell: Cell) -> tuple[Buffer, ...]:
    """Where the arrays are: those that are read, then the one that is written."""
    second = cell.record.flows[0].get("second_source")
    if INTERFACES[cell.record.interface].sources == 1:
        return (cell.source, cell.destination)
    return (cell.source, Buffer.parse(second) if second else cell.source, cell.destination)


def place(cell: Cell) -> str:
    """`gpu0, own device memory`, `gpu0, all in gpu1:device`, `gpu0, reads gpu1:device, writes …`."""
    executor, ends = cell.record.executor, arrays(cell)
    warm = ", warm" if cell.record.cache == "warm" else ""
    if len(set(ends)) == 1:
        own = ends[0].agent == executor
        where = f"own {ends[0].memory} memory" if own else f"all in {ends[0]}"
        return f"{executor}, {where}{warm}"
    read = " and ".join(dict.fromkeys(str(end) for end in ends[:-1]))
    return f"{executor}, reads {read}, writes {ends[-1]}{warm}"


def is_local(cell: Cell) -> bool:
    """Whether all arrays are the executor's own."""
    return all(end.agent == cell.record.executor for end in arrays(cell))


def scans(found: Iterable[Cell]) -> list[Scan]:
    """Kernels over sizes, without options: places in order of first appearance, kernels in STREAM's."""
    plain = [cell for cell in streams(found) if not cell.record.options and not cell.record.environment]
    grouped = group_by(plain, lambda cell: (place(cell), cell.record.interface))
    places = list(dict.fromkeys(name for name, _ in grouped))
    made = []
    for name in places:
        for kernel in KERNELS:
            members = sorted(grouped.get((name, kernel), []), key=lambda cell: cell.record.size_bytes)
            if members:
                made.append(Scan(kernel, name, tuple(members)))
    return made


def thread_maps(found: Iterable[Cell]) -> list[ThreadMap]:
    """Kernels whose threads per block were swept, at least two counts of them."""
    swept = [
        cell
        for cell in streams(found)
        if set(cell.record.options) == {"threads"} and cell.record.executor.startswith("gpu")
    ]
    made = []
    for (name, kernel), members in group_by(swept, lambda cell: (place(cell), cell.record.interface)).items():
        at = {(int(cell.record.options["threads"]), cell.record.size_bytes): cell for cell in members}
        threads = tuple(sorted({count for count, _ in at}))
        if len(threads) > 1:
            made.append(ThreadMap(kernel, name, threads, tuple(sorted({size for _, size in at})), at))
    return made
