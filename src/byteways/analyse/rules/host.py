"""What the kind of host memory, its first touch and the number of threads are worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from byteways.analyse.grids import first_touch_tables
from byteways.analyse.rules.facts import (
    Facts,
    Finding,
    cpu_threads,
    faster,
    gb,
    marked,
    percent,
    times,
    told_apart,
    way,
    with_span,
)
from byteways.analyse.selection import KINDS, kind, largest_common_size, variant
from byteways.analyse.summary import Cell, Group, above, group_by, pool
from byteways.units import format_size

MEMORY, FIRST_TOUCH, THREADS, STREAMING, FAR, INSIDE = 430.0, 425.0, 394.0, 393.0, 392.0, 391.0

#: Factor between memories below which the choice does not matter in practice.
FACTOR = 1.05

#: Engines in words; one that is not known explains nothing.
MOVED_BY = {
    "copy-engine": "a copy engine",
    "kernel": "a kernel",
    "cpu": "the CPU",
    "staged": "the driver through a buffer of its own",
}


def memory_kinds(facts: Facts) -> Iterator[Finding]:
    """Fastest against slowest host memory, same interface and path, for each kind of pair."""
    for name, lead in KINDS.items():
        members = [cell for cell in facts.of_kind(name) if variant(cell).host_memory and cell.stays]
        finding = None
        for interface, some in group_by(members, lambda cell: cell.record.interface).items():
            candidate = _memories(some, lead, interface)
            if candidate and (finding is None or candidate[0] > finding[0]):
                finding = candidate
        if finding:
            inside = name in ("cpu", "cpu-cpu")
            yield replace(finding[1], importance=INSIDE if inside else MEMORY + min(finding[0], 9.0))


def _memories(members: list[Cell], lead: str, interface: str) -> tuple[float, Finding] | None:
    by_size = group_by(members, lambda cell: cell.record.size_bytes)
    size = max(by_size, key=lambda s: (len({variant(cell).host_memory for cell in by_size[s]}), s))
    groups = {
        memory: pool(same)
        for memory, same in group_by(by_size[size], lambda cell: variant(cell).host_memory).items()
    }
    order = sorted(groups, key=lambda memory: -groups[memory].value)
    first, last = order[0], order[-1]
    fast, slow = groups[first], groups[last]
    factor = fast.value / slow.value
    if not above(fast, slow) or factor < FACTOR:
        return None
    title = (
        f"{lead}, {first} memory is {faster(factor)} {last}: {gb(fast.value)} against {gb(slow.value)} GB/s"
    )
    title = marked(title, fast, slow)
    detail = f"{interface}, {format_size(size)}."
    between = [f"{memory} {gb(groups[memory].value)}" for memory in order[1:-1]]
    if between:
        detail += f" Between them: {', '.join(between)} GB/s."
    return factor, Finding(title, detail + _engines(first, fast, last, slow), 0.0)


def _engines(first: str, fast: Group, last: str, slow: Group) -> str:
    """Why, when the bytes are known to have been moved by different engines."""
    engines = fast.cells[0].record.engine, slow.cells[0].record.engine
    if None in engines or engines[0] == engines[1]:
        return ""
    if any(engine not in MOVED_BY for engine in engines):
        return ""
    fast_by, slow_by = (MOVED_BY[str(engine)] for engine in engines)
    return f" {first.capitalize()} memory is moved by {fast_by}, {last} memory by {slow_by}."


def first_touch(facts: Facts) -> Iterator[Finding]:
    """The memory for which it matters most which agent first wrote the pages."""
    best: tuple[float, str, Cell, Cell, str, str] | None = None
    for grid in first_touch_tables(facts.cells):
        for row in grid.rows:
            known = [
                (cell, touch) for cell, touch in zip(row.cells, grid.columns, strict=True) if cell is not None
            ]
            if len(known) < 2:
                continue
            fast, fast_touch = max(known, key=lambda item: item[0].value)
            slow, slow_touch = min(known, key=lambda item: item[0].value)
            factor = fast.value / slow.value
            if above(fast, slow) and factor >= FACTOR and (best is None or factor > best[0]):
                best = factor, row.label, fast, slow, fast_touch, slow_touch
    if best is None:
        return
    factor, memory, fast, slow, fast_touch, slow_touch = best
    title = (
        f"First touch matters: {memory} first touched by {fast_touch} is {faster(factor)} by {slow_touch} "
        f"({gb(fast.value)} against {gb(slow.value)} GB/s)"
    )
    title, record = marked(title, fast, slow), fast.record
    detail = f"{record.interface} {record.path}, {record.access}, {format_size(record.size_bytes)}."
    yield Finding(title, detail, FIRST_TOUCH)


def threads(facts: Facts) -> Iterator[Finding]:
    """Many threads against one, within one NUMA domain."""
    members = facts.of_kind("cpu")
    one = [cell for cell in members if cell.record.interface == "memcpy"]
    many = [cell for cell in members if cell.record.interface == "memcpy-mt"]
    size = largest_common_size(one + many)
    pair = _best_pair(many, one, size)
    if pair is None:
        return
    many_cell, one_cell = pair
    used = cpu_threads(many_cell.record)
    if used is None or used < 2:
        return
    who = f"{used} threads copy"
    speeds = f"{gb(many_cell.value)} against {gb(one_cell.value)} GB/s"
    where = f"{format_size(many_cell.record.size_bytes)}, {many_cell.record.path}, {many_cell.source.memory}."
    if above(many_cell, one_cell):
        title = f"{who} {times(many_cell.value / one_cell.value)} as fast as one: {speeds}"
    elif above(one_cell, many_cell):
        title = f"{who} {percent(1 - many_cell.value / one_cell.value)} slower than one: {speeds}"
    else:
        figures = f"{with_span(many_cell)} against {with_span(one_cell)} GB/s"
        title = f"{used} threads cannot be told apart from one: {figures}"
    yield Finding(marked(title, many_cell, one_cell), where, THREADS)


def streaming(facts: Facts) -> Iterator[Finding]:
    """Non-temporal stores against ordinary ones, one core."""
    members = facts.of_kind("cpu")
    plain = [cell for cell in members if cell.record.interface == "memcpy"]
    stream = [cell for cell in members if cell.record.interface == "memcpy-stream"]
    pair = _best_pair(stream, plain, largest_common_size(plain + stream))
    if pair is None:
        return
    streamed, ordinary = pair
    if not told_apart(streamed, ordinary):
        return
    fast, slow = (streamed, ordinary) if streamed.value > ordinary.value else (ordinary, streamed)
    verb = "faster" if fast is streamed else "slower"
    gap = fast.value / slow.value - 1 if verb == "faster" else 1 - slow.value / fast.value
    title = (
        f"Non-temporal stores are {percent(gap)} {verb} than ordinary ones "
        f"at {format_size(fast.record.size_bytes)}: {gb(streamed.value)} against {gb(ordinary.value)} GB/s"
    )
    reason = " They write memory without reading it first." if verb == "faster" else ""
    title = marked(title, streamed, ordinary)
    yield Finding(title, f"{way(variant(streamed))} on {streamed.record.path}.{reason}", STREAMING)


def _best_pair(first: list[Cell], second: list[Cell], size: int | None) -> tuple[Cell, Cell] | None:
    """The fastest `first` at this size, and the `second` with the same memory and path; None without both."""
    chosen = [cell for cell in first if cell.record.size_bytes == size]
    if not chosen:
        return None
    fast = max(chosen, key=lambda cell: cell.value)
    ends = fast.record.source, fast.record.destination, size
    for cell in second:
        if (cell.record.source, cell.record.destination, cell.record.size_bytes) == ends:
            return fast, cell
    return None


def far_memory(facts: Facts) -> Iterator[Finding]:
    """Memory of another NUMA domain against the own, by the same interface."""
    near = {_key(cell): cell for cell in facts.of_kind("cpu")}
    compared = [
        (cell, near[_key(cell)])
        for cell in facts.of_kind("cpu-cpu")
        if kind(cell) == "cpu-cpu" and _key(cell) in near
    ]
    worst = max(
        (pair for pair in compared if above(pair[1], pair[0])),
        key=lambda pair: (pair[0].record.size_bytes, pair[1].value / pair[0].value),
        default=None,
    )
    if worst is None:
        return
    far, own = worst
    title = (
        f"Copies to another NUMA domain are {percent(1 - far.value / own.value)} slower: "
        f"{far.record.interface} moves {gb(far.value)} GB/s on {far.record.path}, "
        f"{gb(own.value)} within {own.source.agent}"
    )
    detail = f"{format_size(far.record.size_bytes)}, {way(variant(far))}."
    yield Finding(marked(title, far, own), detail, FAR)


def _key(cell: Cell) -> tuple[object, ...]:
    same = replace(variant(cell), access="")
    return same, cell.record.size_bytes, cell.source.agent
