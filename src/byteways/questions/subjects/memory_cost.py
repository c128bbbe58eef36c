"""Cost of allocation and registration, per call and per GiB; number of copies for registering to pay off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare, summed
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.wording import no_difference, slower_copies
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size, short_time
from byteways.cases.interfaces import is_memory_step
from byteways.cases.memory import is_plain
from byteways.cases.option_set import OptionSet
from byteways.questions.display.chart import Axis, Chart, Series
from byteways.questions.display.curves import result_point
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated, words
from byteways.questions.display.topic import Topic

GIB = 2**30
#: Label of a pay-off without a significant difference between the copies.
STILL_OPEN = "open"
#: Least size for a cost per GiB: below it, the first page dominates.
LEAST_FOR_GIB = GIB // 16


@dataclass(frozen=True, order=True)
class Step:
    """An operation on one memory kind. `devices`: 'cpu0', or 'gpu1 of cpu0' if gpu1 executes it."""

    interface: str
    memory: str
    devices: str
    options: OptionSet


@dataclass(frozen=True)
class StepCost:
    """The cost of a step over ascending sizes.

    `per_call_ns` is the cost at the smallest size. `per_gib_ns` is the increment per GiB from there to the
    largest size: 0 without a significant difference, None if the largest size is too small.
    """

    step: Step
    cells: tuple[Result, ...]
    per_call_ns: float
    per_gib_ns: float | None


@dataclass(frozen=True)
class PayOff:
    """Registering memory of one size, compared with the time it saves per copy.

    `copies` is the number of copies after which registering and unregistering pay off; None if copies of
    registered memory are not significantly shorter. If they are `longer`, registering never pays off.
    """

    path: str
    size_bytes: int
    step_ns: float  # registering plus unregistering
    plain_ns: float  # one copy of pageable memory
    registered_ns: float
    copies: int | None
    claim: Claim  # copies of registered versus pageable memory
    cells: tuple[Result, ...]  # all cells that these values come from

    @property
    def longer(self) -> bool:
        """Whether copies of registered memory take longer."""
        return self.claim.trails

    @property
    def said(self) -> str:
        """'3', 'never', 'no significant difference'."""
        if self.copies is not None:
            return str(self.copies)
        return "never" if self.longer else STILL_OPEN


def step_of(cell: Result) -> Step:
    """Returns the table row of a cell: everything but its size."""
    record = cell.record
    owner = cell.source.device
    devices = owner if record.executor == owner else f"{record.executor} of {owner}"
    return Step(record.interface, cell.source.memory, devices, OptionSet(record.options))


def costs(results: Sequence[Result]) -> list[StepCost]:
    """Returns the cost of every measured step, in order of first appearance."""
    steps = [cell for cell in results if is_memory_step(cell.record.interface)]
    result = []
    for step, cells in group_by(steps, step_of).items():
        ordered = sorted(cells, key=lambda cell: cell.size_bytes)
        first, last = ordered[0], ordered[-1]
        more = last.size_bytes - first.size_bytes
        per_gib = None
        if last.size_bytes >= LEAST_FOR_GIB and more:
            grows = compare(last, first, kind="cost", across=("size",))
            per_gib = (last.value - first.value) / more * GIB if grows.leads else 0.0
        result.append(StepCost(step, tuple(ordered), first.value, per_gib))
    return result


def pay_offs(results: Sequence[Result]) -> list[PayOff]:
    """Returns a pay-off for each host-GPU path and size with all four measurements."""
    steps = {
        (cell.record.interface, cell.source.device, cell.record.executor, cell.size_bytes): cell
        for cell in results
        if cell.record.interface in ("register", "unregister")
        and cell.source.memory == "pageable"
        and cell.record.options.get("touched", "yes") == "yes"
    }
    copies: dict[tuple[str, int, bool], Result] = {}
    for cell in results:
        if cell.record.interface == "copy" and cell.record.pattern == "unidirectional" and _between(cell):
            plain = is_plain(_host_end(cell)[1])
            copies.setdefault((cell.record.path, cell.size_bytes, plain), cell)
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


def _pay_off(steps: tuple[Result, Result], without: Result, locked: Result) -> PayOff:
    path, size = without.record.path, without.size_bytes
    step_ns = sum(step.value for step in steps)
    plain_ns, registered_ns = size / without.value * 1e9, size / locked.value * 1e9
    claim = compare(locked, without, kind="registering", names=("registered", "pageable"))
    copies = math.ceil(step_ns / (plain_ns - registered_ns)) if claim.leads else None
    figures = (*steps, without, locked)
    return PayOff(path, size, step_ns, plain_ns, registered_ns, copies, claim, figures)


def _between(cell: Result) -> bool:
    """Whether this is a default copy between pageable or registered host memory and GPU memory."""
    memories = {_host_end(cell)[1], _gpu_memory(cell)}
    kinds = sorted(end.device.rstrip("0123456789") for end in (cell.source, cell.destination))
    plain = not cell.record.options and not cell.record.environment and cell.record.cache == "cold"
    untouched = cell.source.first_touch is None and cell.destination.first_touch is None
    known = memories in ({"pageable", "device"}, {"registered", "device"})
    return kinds == ["cpu", "gpu"] and known and plain and untouched


def _host_end(cell: Result) -> tuple[str, str]:
    end = cell.source if cell.source.device.startswith("cpu") else cell.destination
    return end.device, end.memory


def _gpu_end(cell: Result) -> str:
    return (cell.source if cell.source.device.startswith("gpu") else cell.destination).device


def _gpu_memory(cell: Result) -> str:
    return (cell.source if cell.source.device.startswith("gpu") else cell.destination).memory


_INTRODUCTION = (
    "Host time of the calls that allocate, release or open memory; undoing them between samples is not "
    "included. Per GiB: increment from the smallest to the largest size; “none” where "
    "these two do not differ significantly."
)


def topic(index: Index) -> Topic | None:
    """Returns the topic of memory cost; None if the run measured none."""
    steps = costs(index.cells)
    if not steps:
        return None
    paid = pay_offs(index.cells)
    tables = [_table(steps), *([_payoff_table(paid)] if paid else [])]
    return Topic("memory-cost", "Allocation cost", _INTRODUCTION, tuple(tables), tuple(_charts(steps)))


def _table(steps: Sequence[StepCost]) -> Table:
    sizes = sorted({cell.size_bytes for cost in steps for cell in cost.cells})

    def column(size_bytes: int) -> TableColumn[StepCost]:
        return figures(format_size(size_bytes), lambda cost: _time_at(cost, size_bytes))

    columns: Columns[StepCost] = (
        words("step", lambda cost: cost.step.interface),
        words("memory", lambda cost: cost.step.memory),
        words("devices", lambda cost: cost.step.devices),
        words("options", lambda cost: cost.step.options.text()),
        *map(column, sizes),
        figures("per GiB", _per_gib),
    )
    table = tabulated("Time of a call, by size", columns, steps)
    warned = any("*" in text for row in table.rows for text in row)
    return replace(table, notes=("* has a warning" if warned else "",))


def _time_at(cost: StepCost, size_bytes: int) -> str:
    cell = {cell.size_bytes: cell for cell in cost.cells}.get(size_bytes)
    return "" if cell is None else short_time(cell.value) + _mark(cell)


def _per_gib(cost: StepCost) -> str:
    if cost.per_gib_ns is None:
        return ""
    return short_time(cost.per_gib_ns) if cost.per_gib_ns else "none"


def _mark(cell: Result) -> str:
    return "*" if cell.warning_ids else ""


def _payoff_table(paid: Sequence[PayOff]) -> Table:
    columns: Columns[PayOff] = (
        words("path", lambda each: each.path),
        figures("size", lambda each: format_size(each.size_bytes)),
        figures("register and unregister", lambda each: short_time(each.step_ns)),
        figures("copy of pageable", lambda each: short_time(each.plain_ns)),
        figures("copy of registered", lambda each: short_time(each.registered_ns)),
        figures("pays off after copies", lambda each: each.said),
    )
    note = (
        "Never: copies of registered memory take more time than of pageable memory. Open: the intervals "
        "overlap."
    )
    return tabulated("When registration pays off", columns, paid, note)


def _charts(steps: Sequence[StepCost]) -> list[Chart]:
    charts = []
    for interface, members in group_by(steps, lambda cost: cost.step.interface).items():
        lines = tuple(
            Series(
                ", ".join(filter(None, (cost.step.memory, cost.step.devices, cost.step.options.text()))),
                tuple(result_point(cell.size_bytes, cell, 1) for cell in cost.cells),
            )
            for cost in members
            if len(cost.cells) > 1
        )
        if lines:
            caption = "Time per call; the band is the 95 % interval."
            x, y = Axis("size", "log", "bytes"), Axis("time of a call", "log", "ns")
            charts.append(Chart(f"{interface} vs size", caption, x, y, lines))
    return charts


def registering(index: Index) -> Iterator[Finding]:
    """Reports after how many copies registering pays off, at the largest size of each direction."""
    paid = pay_offs(index.ranked)
    for direction, members in group_by(paid, lambda each: each.path.startswith("cpu")).items():
        largest = max(each.size_bytes for each in members)
        at_largest = [each for each in members if each.size_bytes == largest]
        worst = max(at_largest, key=lambda each: each.copies or 10**9)
        yield _sentence("to a GPU" if direction else "from a GPU", worst, members)


def _sentence(where: str, worst: PayOff, equal: list[PayOff]) -> Finding:
    size = format_size(worst.size_bytes)
    detail = (
        f"{worst.path}: register and unregister take {short_time(worst.step_ns)}, a copy of pageable memory "
        f"{short_time(worst.plain_ns)}, one of registered memory {short_time(worst.registered_ns)}"
    )
    never = {each.size_bytes: each.claim for each in equal if each.longer}
    if never:
        sizes = " and ".join(format_size(size) for size in sorted(never))
        detail += f"; {slower_copies(sizes, [*never.values()])}"
    detail += "."
    if worst.longer:
        title = f"Registering {size} for copies {where} never pays off"
    elif worst.copies is None:
        text = no_difference(("registered", "pageable memory"), [worst.claim])
        title = f"Registering {size} for copies {where}: {text}"
    else:
        title = f"Registering {size} pays off after {count(worst.copies, 'copy', 'copies')} {where}"
    return finding(title, detail, Priority.REGISTERING, worst.cells, [each.claim for each in equal])


def dearest(index: Index) -> Iterator[Finding]:
    """Reports the highest and lowest allocation cost per GiB over all memory kinds.

    Excludes address reservations (`touched=no`) and memory that a pool had kept.
    """
    made = [cost for cost in costs(index.ranked) if _has_pages(cost)]
    ranked = sorted(made, key=lambda cost: -(cost.per_gib_ns or 0))
    pair = _at_common_size(ranked[0], ranked[-1]) if len(ranked) > 1 else None
    if pair is None:
        return
    named = dict(zip(map(id, ranked), _names(ranked), strict=True))
    names = named[id(ranked[0])], named[id(ranked[-1])]
    claim = compare(*pair, kind="allocation", ways=len(ranked), across=("path",), match=None, names=names)
    if not claim.leads:
        return
    first, last = ranked[0], ranked[-1]
    cheap = f"{short_time(last.per_gib_ns)}" if last.per_gib_ns else "no more than for the smallest size"
    title = (
        f"Allocation cost per GiB: {short_time(first.per_gib_ns or 0.0)} for {names[0]} memory, "
        f"{cheap} for {names[1]}"
    )
    rest = [f"{named[id(cost)]} {short_time(cost.per_gib_ns)}" for cost in ranked[1:-1] if cost.per_gib_ns]
    detail = f"In between: {listed(rest)}. " if rest else ""
    detail += "Increment per GiB from the smallest to the largest size."
    yield finding(title, detail, Priority.ALLOCATION, (first.cells[-1], last.cells[-1]), [claim])


def _names(made: Sequence[StepCost]) -> list[str]:
    """Names each step by its memory, and by its devices where others have this memory, too."""
    names = [_named(cost) for cost in made]
    return [
        f"{name} ({cost.step.devices})" if names.count(name) > 1 else name
        for name, cost in zip(names, made, strict=True)
    ]


def _has_pages(cost: StepCost) -> bool:
    """Whether the step creates usable memory: neither a reservation nor reuse of a pool's memory."""
    kept = cost.step.options.get("touched") == "no" or cost.step.options.get("pool") == "kept"
    return cost.step.interface == "allocate" and not kept and cost.per_gib_ns is not None


def _at_common_size(*steps: StepCost) -> list[Result] | None:
    """Returns each step's cell at the largest size common to all; None without one."""
    by_size = [{cell.size_bytes: cell for cell in cost.cells} for cost in steps]
    common = set(by_size[0]).intersection(*by_size[1:])
    return [cells[max(common)] for cells in by_size] if common else None


def pools(index: Index) -> Iterator[Finding]:
    """Reports what a pool that keeps freed memory saves over plain device memory, allocate plus free."""
    steps = costs(index.ranked)
    for device in dict.fromkeys(cost.step.devices for cost in steps if cost.step.memory == "pool"):
        plain, kept = (
            {cost.step.interface: cost for cost in steps if cost.step.devices == device and wanted(cost)}
            for wanted in (_is_plain, _is_kept)
        )
        pair = [steps[name] for name in ("allocate", "free") for steps in (plain, kept) if name in steps]
        if len(pair) == 4 and (alike := _at_common_size(*pair)):
            yield _pool(device, (alike[0], alike[1]), (alike[2], alike[3]))
            return


def _is_plain(cost: StepCost) -> bool:
    return cost.step.memory == "device"


def _is_kept(cost: StepCost) -> bool:
    return cost.step.memory == "pool" and cost.step.options.get("pool") == "kept"


def _pool(device: str, allocate: tuple[Result, Result], free: tuple[Result, Result]) -> Finding:
    size = format_size(allocate[0].size_bytes)
    plain, kept = (summed([allocate[side], free[side]]) for side in (0, 1))
    claim = compare(plain, kept, kind="allocation", match=None, names=("device memory", "a kept pool"))
    figures = (*allocate, *free)
    each = [f"{short_time(allocate[side].value)} and {short_time(free[side].value)}" for side in (0, 1)]
    detail = f"{device}. Allocate and free: device {each[0]}, kept pool {each[1]}."
    if claim.leads:
        title = (
            f"A pool that keeps freed memory saves {short_time(plain.value - kept.value)} for each {size} "
            f"allocated and freed: {short_time(kept.value)} instead of {short_time(plain.value)}"
        )
    elif claim.trails:
        title = (
            f"A pool that keeps freed memory costs {short_time(kept.value - plain.value)} for each {size} "
            f"allocated and freed: {short_time(kept.value)} instead of {short_time(plain.value)}"
        )
    else:
        text = no_difference((claim.first.name, claim.second.name), [claim])
        title = f"Allocating {size}: {text}"
    return finding(title, detail, Priority.POOLS, figures, [claim])


def _named(cost: StepCost) -> str:
    words = [str(value) for name, value in cost.step.options.items() if (name, value) != ("touched", "yes")]
    options = f" ({', '.join(words)})" if words else ""
    return f"{cost.step.memory}{options}"
