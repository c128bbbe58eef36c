"""The latency hierarchy: local, peer and host memory of a GPU, and the cache levels of a CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import time_said
from byteways.answers.claims.wording import longer, multiple, no_difference
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import (
    REPRESENTS_LARGEST_FACTOR,
    broadest_size,
    by_own_caches,
    chases,
    device_order,
    variant,
)
from byteways.answers.results.summary import Part, Result, ResultGroup, gpu_caches, group_by, pool
from byteways.base.units import format_size, short_time
from byteways.machine.model import Device
from byteways.questions.display.chart import Axis, Chart, Point, Series, in_rows, of_rows
from byteways.questions.display.curves import over_working_set
from byteways.questions.display.grids import grid_of
from byteways.questions.display.table import Table
from byteways.questions.display.topic import Topic

#: A working set represents a cache level if it fills at most this fraction of it: more would miss.
FILLS = 0.75
#: … and represents memory if it is at least this many times the last-level cache.
BEYOND = 4

INTRODUCTION = (
    "Time of one dependent load (each address comes from the previous load), for the working set in each "
    "title. Darker cells are slower."
)
TITLE = "Latency hierarchy"
LOAD_TIMES = Axis("time of a load", "log", "ns")
CAPTION = (
    "What to see: the ratio between adjacent levels, shown as a distance on this logarithmic axis. One "
    "dependent "
    "load along a random cycle; the whisker is the repeatability interval."
)


def topic(index: Index) -> Topic:
    walked = over_working_set(index.cells, index.topology, gpu_caches(index))
    charts = (walked,) if walked else ()
    tables = tuple(latency_tables(index.cells))
    return Topic("latency", "Latency", INTRODUCTION, tables, charts, overview=tuple(_overview(index)))


def latency_tables(results: Sequence[Result]) -> list[Table]:
    """Returns latency in ns per dependent load: executor × memory.

    One table per working set, largest first, as different working sets measure different caches.
    """
    walks = _walks(chases(results))
    by_size = group_by(walks, lambda cell: cell.size_bytes)
    both = len({cell.record.cache for cell in walks}) > 1
    return [
        grid_of(
            "Latency of a dependent load, working set",
            "executor \\ memory",
            (
                (cell.record.executor, f"{cell.source}{_warm(cell) * both}{_loads(cell)}", cell)
                for cell in by_size[size]
            ),
            quantity="latency",
        )
        for size in sorted(by_size, reverse=True)
    ]


def _walks(results: Sequence[Result]) -> list[Result]:
    """Selects for each kind of executor a common working set; cells without it at their largest."""
    chosen = []
    for walks in group_by(results, lambda cell: cell.record.executor.rstrip("0123456789")).values():
        places = group_by(walks, lambda cell: (variant(cell), cell.source.device)).values()
        walked = [size for place in places for size in {cell.size_bytes for cell in place}]
        near = [size for size in walked if size * REPRESENTS_LARGEST_FACTOR >= max(walked)]
        common = max(near, key=lambda size: (near.count(size), size))
        for place in places:
            sizes = {cell.size_bytes for cell in place}
            wanted = common if common in sizes else max(sizes)
            chosen += [cell for cell in place if cell.size_bytes == wanted]
    return chosen


def _warm(cell: Result) -> str:
    return " (warm)" if cell.record.cache == "warm" else ""


def _loads(cell: Result) -> str:
    return " (ordinary loads)" if by_own_caches(cell) else ""


def _overview(index: Index) -> list[Chart]:
    """Returns the chart of GPUs and of one NUMA domain; none with fewer than two levels."""
    executor, gpus, cpu = levels(index)
    rows = gpus + cpu
    if len(rows) < 2:
        return []
    series = []
    if gpus:
        series.append(Series("by a GPU", of_rows([_dot(group) for _, group in gpus]), "points"))
    if cpu:
        places = [*(None for _ in gpus), *(_dot(group) for _, group in cpu)]
        series.append(Series(f"by {executor}", of_rows(places), "points"))
    return [in_rows(TITLE, CAPTION, LOAD_TIMES, [name for name, _ in rows], series)]


def levels(index: Index) -> tuple[str, list[tuple[str, ResultGroup]], list[tuple[str, ResultGroup]]]:
    """Returns a NUMA domain, and the levels of GPUs and of that domain, each with its name."""
    gpus = [(f"GPU: {name}", group) for name, group in levels_of_gpus(index)]
    executor, of_cpu = levels_of_cpu(index)
    return executor, gpus, [(f"{executor}: {name}", group) for name, group in of_cpu]


def _dot(group: ResultGroup) -> Point:
    time = short_time(group.value)
    details = f"{time} ({short_time(group.low)}–{short_time(group.high)}), median of {len(group.cells)}"
    return Point(group.value, 0, group.low, group.high, details, time)


def gpu_hierarchy(index: Index) -> Iterator[Finding]:
    """Reports the latency of each memory; for several link classes, the nearest and the farthest."""
    levels = levels_of_gpus(index)
    if not levels:
        return
    nearest = levels[0][1]
    claims = [
        compare(group, nearest, kind="latency", ways=len(levels), match=_walker, names=(place, levels[0][0]))
        for place, group in levels[1:]
    ]
    parts = [f"{levels[0][0]} {_time(nearest)}"]
    for (place, group), claim in zip(levels[1:], claims, strict=True):
        parts.append(f"{place} {_time(group)}" + (f" ({multiple(claim)})" if claim.leads else ""))
    title = f"Load latency on a GPU: {listed(parts)}"
    walkers = sorted({cell.record.executor for _, group in levels for cell in group.cells}, key=device_order)
    each = sorted({len({cell.record.executor for cell in group.cells}) for _, group in levels})
    most = f"up to {each[-1]}" if len(each) > 1 else f"{each[-1]}"
    who = f"medians of {most} GPUs" if each[-1] > 1 else f"{index.voice.measured} on {listed(walkers)}"
    size = levels[0][1].cells[0].size_bytes
    detail = f"One dependent load, random cycle over {format_size(size)}; {who}."
    yield finding(title, detail, Priority.GPU_LATENCY, [group for _, group in levels], claims)


def levels_of_gpus(index: Index) -> list[tuple[str, ResultGroup]]:
    """Returns each memory that GPUs reach with its latency, nearest first, at the most common working set."""
    walks = [
        cell
        for cell in chases(index.ranked)
        if cell.record.executor.startswith("gpu")
        and (cell.source.device.startswith("cpu") or cell.source.memory == "device")
    ]
    # Of two kinds of loads, those that reach the owner of the memory.
    walks = [cell for cell in walks if not by_own_caches(cell)] or walks
    if not walks:
        return []
    size = broadest_size(walks)
    caches = gpu_caches(index)
    by_place = group_by(
        [cell for cell in walks if cell.size_bytes == size],
        lambda cell: (_place(cell, caches.get(cell.record.executor, 0)), _links(index, cell)),
    )
    pooled = {key: pool(cells) for key, cells in by_place.items()}
    levels = []
    for place, keys in group_by(pooled, lambda key: key[0]).items():
        keys.sort(key=lambda key: pooled[key].value)
        ends = [keys[0], keys[-1]] if len(keys) > 1 else keys
        levels += [(f"{place} ({key[1]})" if len(keys) > 1 else place, pooled[key]) for key in ends]
    return sorted(levels, key=lambda item: item[1].value)


def _walker(cell: Result) -> str:
    return cell.record.executor


def _links(index: Index, cell: Result) -> str:
    """Returns the link class between executor and memory: its distance differs between GPUs."""
    ends = cell.record.executor, cell.source.device
    return index.class_between(*ends) if set(ends) <= set(index.topology.names()) else ""


def _place(cell: Result, cache_bytes: int) -> str:
    """Names the memory or cache that the chase reaches; `cache_bytes`: executor's last-level cache or 0."""
    owner = cell.source.device
    if owner == cell.record.executor:
        return "its own memory" if cell.size_bytes > cache_bytes else "its own caches"
    return "a peer's memory" if owner.startswith("gpu") else f"{cell.source.memory} host memory"


def cpu_caches(index: Index) -> Iterator[Finding]:
    """Reports the load latency of each cache level of the CPU."""
    executor, steps = levels_of_cpu(index)
    if len(steps) < 2:
        return
    parts = [f"{_time(group)} {_over(name, group)}" for name, group in steps]
    first, last = steps[0][1], steps[-1][1]
    title = f"Load latency on {executor}: {listed(parts)}"
    detail = "One dependent load, random cycle over the largest working set that each cache should hold; "
    claim = compare(last, first, kind="latency", across=("size",), names=(steps[-1][0], steps[0][0]))
    if claim.leads:
        detail += f"the last takes {longer(claim)} the first."
    else:
        detail += f"{no_difference(('the first', 'the last'), [claim])}."
    yield finding(title, detail, Priority.CPU_LATENCY, [group for _, group in steps], [claim])


def levels_of_cpu(index: Index) -> tuple[str, list[tuple[str, ResultGroup]]]:
    """Returns the first NUMA domain with walks, and its caches and memory with their latency."""
    walks = [
        cell
        for cell in chases(index.ranked)
        if cell.record.executor == cell.source.device and cell.source.device.startswith("cpu")
    ]
    if not walks or walks[0].record.executor not in index.topology.names("cpu"):
        return "", []
    executor = walks[0].record.executor
    own = [cell for cell in walks if cell.record.executor == executor]
    return executor, cache_steps(index.topology.device(executor), own)


def _time(group: ResultGroup) -> str:
    """'421 ns', with the digits that the interval supports, as in the tables."""
    return time_said(Part(group.value, group.low, group.high))


def _over(name: str, group: ResultGroup) -> str:
    """'over 1 MiB (L2: 2 MiB)': names the working set, as a core may not own the whole cache."""
    return f"over {format_size(group.cells[0].size_bytes)} ({name})"


def cache_steps(device: Device, walks: list[Result]) -> list[tuple[str, ResultGroup]]:
    """Returns level and latency of the largest working set that fits in each cache, then of memory.

    Args:
        device: A NUMA domain with its caches.
        walks: Pointer chases of this device in its own memory; the most common memory kind is used.
    """
    by_memory = group_by(walks, lambda cell: (cell.source.memory, cell.record.cache))
    group = max(by_memory.values(), key=len)
    caches = sorted(
        (cache for cache in device.caches if cache.kind != "instruction"), key=lambda cache: cache.level
    )
    steps: list[tuple[str, ResultGroup]] = []
    smaller = 0
    for cache in caches:
        inside = [cell for cell in group if smaller < cell.size_bytes <= FILLS * cache.size_bytes]
        if inside:
            largest = max(inside, key=lambda cell: cell.size_bytes)
            steps.append((f"L{cache.level}: {format_size(cache.size_bytes)}", pool([largest])))
        smaller = cache.size_bytes
    beyond = [cell for cell in group if cell.size_bytes >= BEYOND * smaller]
    if beyond:
        steps.append(("memory", pool([max(beyond, key=lambda cell: cell.size_bytes)])))
    return steps
