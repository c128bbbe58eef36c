"""What it costs to have memory: per call and per GiB, and after how many copies registering pays.

Pure: cells in, plain data out. Times in nanoseconds, sizes in bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from byteways.analyse.summary import Cell, group_by
from byteways.plan.case import is_plain
from byteways.plan.interfaces import is_memory_step

GIB = 2**30
#: What a GiB costs is told from sizes up to this one at least: below, the first page decides.
LEAST_FOR_GIB = GIB // 16


@dataclass(frozen=True, order=True)
class Step:
    """A step on one kind of memory. `agents` reads 'cpu0', or 'gpu1 of cpu0' where another agent takes it."""

    interface: str
    memory: str
    devices: str
    options: str


@dataclass(frozen=True)
class Cost:
    """A step over the sizes, ascending. `per_call_ns` is that of the smallest; `per_gib_ns` what a GiB more
    costs, between the smallest size and the largest, 0 where these cannot be told apart; None when the
    largest is too small to say so.
    """

    step: Step
    cells: tuple[Cell, ...]
    per_call_ns: float
    per_gib_ns: float | None


@dataclass(frozen=True)
class PayOff:
    """Registering memory of one size, and copies of it that are shorter for it.

    `copies` is how many it takes until registering and unregistering have paid; None: copies of registered
    memory are no shorter beyond both intervals. `longer` says that they are longer beyond both, so that it
    never pays; with neither it cannot be told.
    """

    path: str
    size_bytes: int
    step_ns: float  # register and unregister
    plain_ns: float  # a copy
    registered_ns: float
    copies: int | None
    longer: bool
    cells: tuple[Cell, ...]  # all that these figures are from

    @property
    def said(self) -> str:
        """'3', 'never', 'cannot be told'."""
        if self.copies is not None:
            return str(self.copies)
        return "never" if self.longer else "cannot be told"


def step_of(cell: Cell) -> Step:
    """The row that a cell belongs to, whatever its size."""
    record = cell.record
    owner = cell.source.agent
    agents = owner if record.executor == owner else f"{record.executor} of {owner}"
    words = " ".join(f"{name}={json.dumps(value)}" for name, value in sorted(record.options.items()))
    return Step(record.interface, cell.source.memory, agents, words.replace('"', ""))


def costs(found: Sequence[Cell]) -> list[Cost]:
    """Every step that was measured, in order of first appearance."""
    steps = [cell for cell in found if is_memory_step(cell.record.interface)]
    result = []
    for step, cells in group_by(steps, step_of).items():
        ordered = sorted(cells, key=lambda cell: cell.record.size_bytes)
        first, last = ordered[0], ordered[-1]
        more = last.record.size_bytes - first.record.size_bytes
        per_gib = None
        if last.record.size_bytes >= LEAST_FOR_GIB and more:
            per_gib = (last.value - first.value) / more * GIB if last.low > first.high else 0.0
        result.append(Cost(step, tuple(ordered), first.value, per_gib))
    return result


def pay_offs(found: Sequence[Cell]) -> list[PayOff]:
    """For each path between host and GPU and each size at which all four figures are there."""
    steps = {
        (cell.record.interface, cell.source.agent, cell.record.executor, cell.record.size_bytes): cell
        for cell in found
        if cell.record.interface in ("register", "unregister")
        and cell.source.memory == "pageable"
        and cell.record.options.get("touched", "yes") == "yes"
    }
    copies: dict[tuple[str, int, bool], Cell] = {}
    for cell in found:
        if cell.record.interface == "copy" and cell.record.pattern == "unidirectional" and _between(cell):
            plain = is_plain(_host_end(cell)[1])
            copies.setdefault((cell.record.path, cell.record.size_bytes, plain), cell)
    result = []
    for (path, size, plain), without in copies.items():
        locked = copies.get((path, size, False))
        if not plain or locked is None:
            continue
        cpu, gpu = _host_end(without)[0], _gpu_end(without)
        register, unregister = (steps.get((name, cpu, gpu, size)) for name in ("register", "unregister"))
        if register is None or unregister is None:
            continue
        result.append(_pay_off((register, unregister), without, locked))
    return sorted(result, key=lambda each: (each.path, each.size_bytes))


def _pay_off(steps: tuple[Cell, Cell], without: Cell, locked: Cell) -> PayOff:
    path, size = without.record.path, without.record.size_bytes
    step_ns = sum(step.value for step in steps)
    plain_ns, registered_ns = size / without.value * 1e9, size / locked.value * 1e9
    shorter = locked.low > without.high
    copies = math.ceil(step_ns / (plain_ns - registered_ns)) if shorter else None
    longer = locked.high < without.low
    figures = (*steps, without, locked)
    return PayOff(path, size, step_ns, plain_ns, registered_ns, copies, longer, figures)


def _between(cell: Cell) -> bool:
    """A copy of plain or registered host memory to or from a GPU's own, as a program has them."""
    memories = {_host_end(cell)[1], _gpu_memory(cell)}
    kinds = sorted(end.agent.rstrip("0123456789") for end in (cell.source, cell.destination))
    plain = not cell.record.options and not cell.record.environment and cell.record.cache == "cold"
    untouched = cell.source.first_touch is None and cell.destination.first_touch is None
    known = memories in ({"pageable", "device"}, {"registered", "device"})
    return kinds == ["cpu", "gpu"] and known and plain and untouched


def _host_end(cell: Cell) -> tuple[str, str]:
    end = cell.source if cell.source.agent.startswith("cpu") else cell.destination
    return end.agent, end.memory


def _gpu_end(cell: Cell) -> str:
    return (cell.source if cell.source.agent.startswith("gpu") else cell.destination).agent


def _gpu_memory(cell: Cell) -> str:
    return (cell.source if cell.source.agent.startswith("gpu") else cell.destination).memory
