"""One word there and back: between GPUs by store and by poll, between CPU and GPU, and from core to core."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from byteways.analyse.ping_pong import between_cores, between_gpus, sides, way, with_cpus
from byteways.analyse.selection import agent_order
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Table, Topic
from byteways.plan.core_pairs import shared_cache
from byteways.topology.model import Topology
from byteways.units import format_time, three_digits

#: A core: its agent, and its number there.
Core = tuple[str, int]


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run that has ping-pongs; None of any other."""
    cores, gpus, mixed = between_cores(found), between_gpus(found), with_cpus(found)
    if not (cores or gpus or mixed):
        return None
    tables = [
        *_gpu_matrices(gpus),
        *([_pairs(mixed)] if mixed else []),
        *([_classes(cores, run.topology), _core_matrix(cores)] if cores else []),
    ]
    return Topic(
        "ping-pong",
        "There and back",
        "One word goes from one side to the other and back, each polling for it. Figures are half of the "
        "round trip. By store: each writes into the other's memory and polls its own; by poll: the other way "
        "round.",
        tuple(tables),
    )


def _half(cell: Cell) -> float:
    """Nanoseconds one way."""
    return cell.value / 2


def _gpu_matrices(members: Sequence[Cell]) -> list[Table]:
    """One matrix a way and kind of memory; what stays within a GPU is on the diagonal of each."""
    within = [cell for cell in members if way(cell) == "within"]
    tables = []
    ways = group_by(
        [cell for cell in members if way(cell) != "within"], lambda cell: (way(cell), cell.source.memory)
    )
    for (by, memory), some in sorted(ways.items(), reverse=True):
        diagonal = [cell for cell in within if cell.source.memory == memory]
        at = {sides(cell): _half(cell) for cell in (*some, *diagonal)}
        names = sorted({name for pair in at for name in pair}, key=agent_order)
        tables.append(
            _matrix(f"Between GPUs {by}, {memory} memory, one way, ns", "begins \\ answers", names, at)
        )
    return tables or ([_pairs(within)] if within else [])


def _matrix(
    title: str, corner: str, names: Sequence[str], at: dict[tuple[str, str], float], note: str = ""
) -> Table:
    greatest = max(at.values())
    rows = tuple(
        (row, *(three_digits(at[row, column]) if (row, column) in at else "" for column in names))
        for row in names
    )
    heat = tuple(
        (None, *(at[row, column] / greatest if (row, column) in at else None for column in names))
        for row in names
    )
    return Table(title, (corner, *names), rows, tuple(range(1, len(names) + 1)), note, heat)


def _pairs(members: Sequence[Cell]) -> Table:
    rows = []
    for cell in members:
        executor, partner = sides(cell)
        words = dict.fromkeys(map(str, (cell.source, cell.destination)))
        rows.append(
            (executor, partner, " and ".join(words), format_time(_half(cell)), format_time(cell.value))
        )
    headings = ("begins", "answers", "words in", "one way", "round trip")
    return Table("With CPUs", headings, tuple(rows), (3, 4))


def _cores(cell: Cell) -> tuple[Core, Core]:
    (executor, partner), options = sides(cell), cell.record.options
    return (executor, int(options["core"])), (partner, int(options["partner_core"]))


def _class(first: Core, second: Core, topology: Topology) -> str:
    """What two cores share, in words."""
    if first[0] != second[0]:
        return f"{first[0]} and {second[0]}"
    agents = {agent.name: agent for agent in topology.devices}
    level = shared_cache(agents[first[0]], first[1], second[1]) if first[0] in agents else None
    return f"{first[0]}, one L{level}" if level is not None else f"{first[0]}, no cache in common"


def _classes(members: Sequence[Cell], topology: Topology) -> Table:
    by_class = group_by(members, lambda cell: _class(*_cores(cell), topology))
    rows = []
    for name, some in sorted(by_class.items(), key=lambda item: median(map(_half, item[1]))):
        halves = sorted(map(_half, some))
        spread = (halves[0], median(halves), halves[-1])
        rows.append((name, str(len(some)), *(format_time(value) for value in spread)))
    headings = ("cores of", "pairs", "fastest", "median", "slowest")
    note = "Cores that share a cache are taken to be numbered one after another."
    return Table("From core to core, one way", headings, tuple(rows), (1, 2, 3, 4), note)


def _core_matrix(members: Sequence[Cell]) -> Table:
    at: dict[tuple[str, str], float] = {}
    found: set[Core] = set()
    for cell in members:
        first, second = _cores(cell)
        found |= {first, second}
        at[_named(first), _named(second)] = at[_named(second), _named(first)] = _half(cell)
    names = [_named(core) for core in sorted(found, key=lambda core: (agent_order(core[0]), core[1]))]
    note = "Each pair was measured once; the matrix shows it twice."
    return _matrix("Every pair of cores, one way, ns", "agent.core", names, at, note)


def _named(core: Core) -> str:
    return f"{core[0].removeprefix('cpu')}.{core[1]}"
