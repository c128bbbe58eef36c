"""Ping-pong latency of one word: between GPUs by store and by poll, CPU and GPU, and cores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.wording import longer_by, no_difference
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import device_order
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.base.units import format_time, short_time, three_digits
from byteways.machine.model import Topology
from byteways.plan.core_pairs import shared_cache
from byteways.questions.display.table import Columns, Table, figures, shaded, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.record.simulation_mark import Voice


def between_cores(results: Iterable[Result]) -> list[Result]:
    """Returns ping-pongs between two named cores."""
    return [cell for cell in _all(results) if "partner_core" in cell.record.options]


def between_gpus(results: Iterable[Result]) -> list[Result]:
    """Returns ping-pongs between GPUs or within one."""
    return [cell for cell in _others(results) if _gpus(cell) == 2]


def with_cpus(results: Iterable[Result]) -> list[Result]:
    """Returns ping-pongs with at least one CPU side, without those between named cores."""
    return [cell for cell in _others(results) if _gpus(cell) < 2]


def between_kinds(results: Iterable[Result]) -> list[Result]:
    """Returns ping-pongs between a CPU and a GPU."""
    return [cell for cell in _others(results) if _gpus(cell) == 1]


def between_cpus(results: Iterable[Result]) -> list[Result]:
    """Returns ping-pongs between two different CPUs, without those between named cores."""
    cpus = [cell for cell in _others(results) if _gpus(cell) == 0]
    return [cell for cell in cpus if way(cell) != "within"]


def _all(results: Iterable[Result]) -> list[Result]:
    return [cell for cell in results if cell.record.interface == "ping-pong"]


def _others(results: Iterable[Result]) -> list[Result]:
    return [cell for cell in _all(results) if "partner_core" not in cell.record.options]


def _gpus(cell: Result) -> int:
    return sum(device.startswith("gpu") for device in sides(cell))


def sides(cell: Result) -> tuple[str, str]:
    """Returns executor and partner."""
    return cell.record.executor, str(cell.case.flows[0].partner)


def way(cell: Result) -> str:
    """Returns how the word crosses, by the memory that the executor writes and polls."""
    executor, partner = sides(cell)
    if executor == partner:
        return "within"
    ends = cell.source.device, cell.destination.device
    return {(partner, executor): "by store", (executor, partner): "by poll"}.get(ends, "in one memory")


#: A core: device name and core index.
Core = tuple[str, int]


def topic(index: Index) -> Topic | None:
    """Returns the topic of ping-pongs; None if the run has none."""
    cores, gpus, mixed = between_cores(index.cells), between_gpus(index.cells), with_cpus(index.cells)
    if not (cores or gpus or mixed):
        return None
    tables = [
        *_gpu_matrices(gpus),
        *([_pairs(mixed)] if mixed else []),
        *([_classes(cores, index.topology), _core_matrix(cores, index.voice)] if cores else []),
    ]
    return Topic(
        "ping-pong",
        "Ping-pong latency",
        "One word goes from one side to the other and back; both sides poll. Results are half of the "
        "round trip. By store: each side writes to the other's memory and polls its own; by poll: the "
        "reverse.",
        tuple(tables),
    )


def _half(cell: Result) -> float:
    """Returns half the round trip in ns."""
    return cell.value / 2


def _gpu_matrices(members: Sequence[Result]) -> list[Table]:
    """Builds a matrix per method and memory kind; the diagonal of each holds ping-pongs within a GPU."""
    within = [cell for cell in members if way(cell) == "within"]
    tables = []
    ways = group_by(
        [cell for cell in members if way(cell) != "within"], lambda cell: (way(cell), cell.source.memory)
    )
    for (by, memory), group in sorted(ways.items(), reverse=True):
        diagonal = [cell for cell in within if cell.source.memory == memory]
        at = {sides(cell): _half(cell) for cell in (*group, *diagonal)}
        names = sorted({name for pair in at for name in pair}, key=device_order)
        tables.append(
            _matrix(f"Between GPUs {by}, {memory} memory, one way, ns", "begins \\ answers", names, at)
        )
    return tables or ([_pairs(within)] if within else [])


def _matrix(
    title: str, corner: str, names: Sequence[str], at: dict[tuple[str, str], float], note: str = ""
) -> Table:
    greatest = max(at.values())
    return shaded(
        title,
        corner,
        (names, names),
        at,
        three_digits,
        lambda half: half / greatest,
        missing="",
        notes=(note,),
    )


def _pairs(members: Sequence[Result]) -> Table:
    columns: Columns[Result] = (
        words("begins", lambda cell: sides(cell)[0]),
        words("answers", lambda cell: sides(cell)[1]),
        words(
            "words in", lambda cell: " and ".join(dict.fromkeys(map(str, (cell.source, cell.destination))))
        ),
        figures("one way", lambda cell: format_time(_half(cell))),
        figures("round trip", lambda cell: format_time(cell.value)),
    )
    return tabulated("With CPUs", columns, members)


def _cores(cell: Result) -> tuple[Core, Core]:
    (executor, partner), options = sides(cell), cell.record.options
    return (executor, int(options["core"])), (partner, int(options["partner_core"]))


def _class(first: Core, second: Core, topology: Topology) -> str:
    """Describes what two cores share."""
    if first[0] != second[0]:
        return f"{first[0]} and {second[0]}"
    devices = {device.name: device for device in topology.devices}
    level = shared_cache(devices[first[0]], first[1], second[1]) if first[0] in devices else None
    return f"{first[0]}, one L{level}" if level is not None else f"{first[0]}, no shared cache"


def _classes(members: Sequence[Result], topology: Topology) -> Table:
    by_class = group_by(members, lambda cell: _class(*_cores(cell), topology))
    ordered = sorted(by_class.items(), key=lambda item: median(map(_half, item[1])))
    columns: Columns[tuple[str, Sequence[Result]]] = (
        words("cores of", lambda row: row[0]),
        figures("pairs", lambda row: str(len(row[1]))),
        figures("least", lambda row: format_time(min(map(_half, row[1])))),
        figures("median", lambda row: format_time(median(map(_half, row[1])))),
        figures("most", lambda row: format_time(max(map(_half, row[1])))),
    )
    note = "Cores that share a cache are assumed to have consecutive numbers."
    return tabulated("Core to core, one way", columns, ordered, note)


def _core_matrix(members: Sequence[Result], voice: Voice) -> Table:
    at: dict[tuple[str, str], float] = {}
    all_cores: set[Core] = set()
    for cell in members:
        first, second = _cores(cell)
        all_cores |= {first, second}
        at[_named(first), _named(second)] = at[_named(second), _named(first)] = _half(cell)
    names = [_named(core) for core in sorted(all_cores, key=lambda core: (device_order(core[0]), core[1]))]
    note = f"Each pair was {voice.measured} once and is shown twice."
    return _matrix("Every pair of cores, one way, ns", "device.core", names, at, note)


def _named(core: Core) -> str:
    return f"{core[0].removeprefix('cpu')}.{core[1]}"


#: Core pairs below this fraction of the median latency count as near.
NEAR_CORES_BELOW = 0.5


def places(index: Index) -> Iterator[Finding]:
    """Reports the best placement of the flags between GPUs (nearest links), CPU and GPU, and CPUs."""
    across = [cell for cell in between_gpus(index.ranked) if way(cell) != "within"]
    members = {
        "Between GPUs": across,
        "Between CPU and GPU": between_kinds(index.ranked),
        "Between CPUs": between_cpus(index.ranked),
    }
    for where, group in members.items():
        if group:
            yield _over_nearest(index, where, group)


def _over_nearest(index: Index, where: str, members: Sequence[Result]) -> Finding:
    """Reports the placements over the nearest links: a median over unlike links is that of none."""
    classes = group_by(members, lambda cell: _links(index, cell))
    ranked = sorted(classes.items(), key=lambda item: min(cell.value for cell in item[1]))
    (link_class, nearest), rest = ranked[0], ranked[1:]
    others = [f"{name}: {_half_time(_best(group)[0][1])}" for name, group in rest]
    named = f"{where} ({link_class})" if rest and link_class else where
    return _places(named, nearest, f" Best over {'; '.join(others)}." if others else "")


def _links(index: Index, cell: Result) -> str:
    """Returns the class of the links between the two sides, wherever the words are; '' if unknown."""
    known = {*sides(cell)} <= {*index.topology.names()}
    return index.class_between(*sides(cell)) if known else ""


def _best(members: Sequence[Result]) -> list[tuple[str, ResultGroup]]:
    """Returns flag placements with pooled pairs, fastest first."""
    memories = {end.memory for cell in members for end in (cell.source, cell.destination)}
    groups = group_by(members, lambda cell: _place(cell, len(memories) > 1))
    return sorted(((place, pool(group)) for place, group in groups.items()), key=lambda item: item[1].value)


def _places(where: str, members: Sequence[Result], others: str = "") -> Finding:
    (best, first), *rest = _best(members)
    claims = [_beside(place, group, best, first, len(rest) + 1) for place, group in rest]
    level = [claim for claim in claims if not claim.leads]
    near = [place for (place, _), claim in zip(rest, claims, strict=True) if not claim.leads]
    far = [(*entry, claim) for entry, claim in zip(rest, claims, strict=True) if claim.leads]
    title = f"{where}, one-way latency is {_half_time(first)}"
    title += f"; {no_difference([best, *near], level)}" if near else f" {best}"
    if far:
        said = [f"{longer_by(claim)} {place} ({_half_time(group)})" for place, group, claim in far]
        title += f", {listed(said)}"
    slow, fast = max(first.cells, key=lambda cell: cell.value), min(first.cells, key=lambda cell: cell.value)
    whose = f"median of {len(first.cells)} pairs" if len(first.cells) > 1 else " and ".join(sides(fast))
    detail = f"Half of a round trip, {whose}."
    if compare(slow, fast, ways=len(first.cells), match=None).leads:
        detail += f" From {_said(fast)} to {_said(slow)}."
    figures = (first, *(group for _, group in rest))
    return finding(title, detail + others, Priority.PING_PONG, figures, claims)


def _place(cell: Result, named: bool) -> str:
    """'by store', with its memory if several exist; 'with both words in host memory (pinned)'."""
    memory = cell.source.memory
    if way(cell) in ("by store", "by poll"):
        return f"{way(cell)} in {memory} memory" if named else way(cell)
    owner = "host" if cell.source.device.startswith("cpu") else "the GPU's"
    return f"with both words in {owner} memory ({memory})"


def _beside(place: str, group: ResultGroup, best: str, first: ResultGroup, ways: int) -> Claim:
    """Compares a flag placement with the best one, device pair by device pair."""
    return compare(group, first, kind="place", ways=ways, match=sides, names=(place, best))


def _half_time(group: ResultGroup) -> str:
    return short_time(group.value / 2)


def _said(cell: Result) -> str:
    return f"{short_time(cell.value / 2)} ({' and '.join(sides(cell))})"


def cores(index: Index) -> Iterator[Finding]:
    """Reports the spread of core-to-core latency and how many pairs are much nearer than the others."""
    members = between_cores(index.ranked)
    if len(members) < 2:
        return
    halves = sorted(cell.value / 2 for cell in members)
    middle = median(halves)
    near = [half for half in halves if half < NEAR_CORES_BELOW * middle]
    title = (
        f"Core-to-core latency: {short_time(middle)} "
        f"({three_digits(halves[0])} to {three_digits(halves[-1])} ns)"
    )
    if near:
        title += f"; {count(len(near), 'pair')} of {len(halves)} are faster than half of that"
    devices = listed(list(dict.fromkeys(cell.record.executor for cell in members)))
    detail = f"One way, median of {count(len(halves), 'pair')} of cores of {devices}."
    if near:
        detail += f" The close pairs take {three_digits(median(near))} ns."
    yield finding(title, detail, Priority.CORES, (pool(members),))
