"""Findings about the cost of memory itself."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.memory_cost import GIB, Cost, PayOff, costs, pay_offs
from byteways.analyse.rules.facts import Facts, Finding, count, times
from byteways.analyse.summary import group_by
from byteways.units import format_size, format_time

#: Between findings about a whole link and those about single settings.
IMPORTANCE = 42.0


def registering(facts: Facts) -> Iterator[Finding]:
    """After how many copies registering pays, at the largest size of each direction."""
    paid = pay_offs(facts.cells)
    for direction, some in group_by(paid, lambda each: each.path.startswith("cpu")).items():
        largest = max(each.size_bytes for each in some)
        at_largest = [each for each in some if each.size_bytes == largest]
        worst = max(at_largest, key=lambda each: each.copies or 10**9)
        yield _sentence("to a GPU" if direction else "from a GPU", worst, some)


def _sentence(where: str, worst: PayOff, some: list[PayOff]) -> Finding:
    size = format_size(worst.size_bytes)
    detail = (
        f"{worst.path}: register and unregister take {format_time(worst.step_ns)}, a copy of pageable memory "
        f"{format_time(worst.plain_ns)}, one of registered memory {format_time(worst.registered_ns)}"
    )
    never = sorted({each.size_bytes for each in some if each.longer})
    if never:
        sizes = " and ".join(format_size(each) for each in never)
        detail += f"; copies of {sizes} are longer for it"
    if worst.longer:
        return Finding(f"Registering {size} for copies {where} never pays", detail, IMPORTANCE)
    if worst.copies is None:
        title = f"Whether registering {size} for copies {where} pays cannot be told"
        return Finding(title, detail, IMPORTANCE)
    title = f"Registering {size} pays after {count(worst.copies, 'copy', 'copies')} {where}"
    return Finding(title, detail, IMPORTANCE)


def allocating(facts: Facts) -> Iterator[Finding]:
    """The dearest and the cheapest way to have a GiB of a GPU's own, and of host memory that is locked."""
    for name, kinds in (
        ("a GPU's memory", ("device", "device-fine", "device-uncached", "pool", "vmm")),
        ("locked host memory", ("pinned", "pinned-noncoherent", "write-combined")),
    ):
        some = [
            cost
            for cost in costs(facts.cells)
            if cost.step.interface == "allocate" and cost.step.memory in kinds and cost.per_gib_ns is not None
        ]
        full = [cost for cost in some if cost.cells[-1].record.size_bytes >= GIB]
        if len(full) < 2:
            continue
        low = min(full, key=lambda cost: cost.cells[-1].value)
        high = max(full, key=lambda cost: cost.cells[-1].value)
        first, last = low.cells[-1], high.cells[-1]
        if first.record.size_bytes != last.record.size_bytes or last.low <= first.high:
            continue
        size = format_size(first.record.size_bytes)
        yield Finding(
            f"Allocating {size} of {name} takes {times(last.value / first.value)} as long as "
            f"{_named(high)} than as {_named(low)}",
            f"{format_time(last.value)} and {format_time(first.value)}",
            IMPORTANCE - 1,
        )


def _named(cost: Cost) -> str:
    options = f" ({cost.step.options})" if cost.step.options else ""
    return f"{cost.step.memory}{options}"
