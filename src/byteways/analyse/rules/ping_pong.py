"""One word there and back: where its flags lie best, by store against by poll, and which cores are near."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from byteways.analyse.ping_pong import between_cores, between_cpus, between_gpus, between_kinds, sides, way
from byteways.analyse.rules.facts import Facts, Finding, count, listed, marked, percent, times
from byteways.analyse.selection import link_class
from byteways.analyse.summary import Cell, Group, above, group_by, pool
from byteways.units import short_time, three_digits

PING_PONG = 425.0
CORES = 393.0
#: Cores are near when they answer in less than this part of what the median pair takes.
NEAR = 0.5


def places(facts: Facts) -> Iterator[Finding]:
    """The best place of the flags, between GPUs (over the nearest links), CPUs and GPUs, CPUs."""
    across = [cell for cell in between_gpus(facts.cells) if way(cell) != "within"]
    classes = group_by(across, lambda cell: link_class(facts.topology, cell))
    ranked = sorted(classes.items(), key=lambda item: min(cell.value for cell in item[1]))
    if ranked:
        (wires, nearest), rest = ranked[0], ranked[1:]
        others = [f"{name}: {_half(_best(members)[0][1])}" for name, members in rest]
        where = f"Between GPUs ({wires})" if rest else "Between GPUs"
        yield _places(where, nearest, f" Best over {'; '.join(others)}." if others else "")
    if mixed := between_kinds(facts.cells):
        yield _places("Between CPU and GPU", mixed)
    if cpus := between_cpus(facts.cells):
        yield _places("Between CPUs", cpus)


def _best(members: Sequence[Cell]) -> list[tuple[str, Group]]:
    """Places of the flags with their pairs pooled, the fastest first."""
    memories = {end.memory for cell in members for end in (cell.source, cell.destination)}
    groups = group_by(members, lambda cell: _place(cell, len(memories) > 1))
    return sorted(((place, pool(some)) for place, some in groups.items()), key=lambda item: item[1].value)


def _places(where: str, members: Sequence[Cell], others: str = "") -> Finding:
    (best, first), *rest = _best(members)
    near = [place for place, group in rest if not above(group, first)]
    far = [(place, group) for place, group in rest if above(group, first)]
    title = f"{where}, a word takes {_half(first)} one way"
    title += f"; {listed([best, *near])} cannot be told apart" if near else f" {best}"
    if far:
        title += f", {listed([f'{_longer(group, first)} {place} ({_half(group)})' for place, group in far])}"
    slow, fast = max(first.cells, key=lambda cell: cell.value), min(first.cells, key=lambda cell: cell.value)
    detail = f"Half of a round trip, median of {count(len(first.cells), 'pair')}."
    if above(slow, fast):
        detail += f" From {_said(fast)} to {_said(slow)}."
    figures = (first, *(group for _, group in rest))
    return Finding(marked(title, *figures), detail + others, PING_PONG)


def _place(cell: Cell, named: bool) -> str:
    """'by store', with its memory where that must be named; 'with both words in host memory (pinned)'."""
    memory = cell.source.memory
    if way(cell) in ("by store", "by poll"):
        return f"{way(cell)} in {memory} memory" if named else way(cell)
    owner = "host" if cell.source.agent.startswith("cpu") else "the GPU's"
    return f"with both words in {owner} memory ({memory})"


def _longer(group: Group, first: Group) -> str:
    factor = group.value / first.value
    return f"{percent(factor - 1)} longer" if factor < 2 else f"{times(factor)} as long"


def _half(group: Group) -> str:
    return short_time(group.value / 2)


def _said(cell: Cell) -> str:
    return f"{short_time(cell.value / 2)} ({' and '.join(sides(cell))})"


def cores(facts: Facts) -> Iterator[Finding]:
    """From core to core: the spread, and how many pairs are much nearer than the others."""
    members = between_cores(facts.cells)
    if len(members) < 2:
        return
    halves = sorted(cell.value / 2 for cell in members)
    middle = median(halves)
    near = [half for half in halves if half < NEAR * middle]
    title = (
        f"A word from core to core takes {short_time(middle)} "
        f"({three_digits(halves[0])} to {three_digits(halves[-1])} ns)"
    )
    if near:
        title += f"; {count(len(near), 'pair')} of {len(halves)} answer in less than half of that"
    agents = listed(list(dict.fromkeys(cell.record.executor for cell in members)))
    detail = f"One way, median of {count(len(halves), 'pair')} of cores of {agents}."
    if near:
        detail += f" The near ones take {three_digits(median(near))} ns."
    yield Finding(marked(title, pool(members)), detail, CORES)
