"""Findings about the cost of memory itself."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.memory_cost import Cost, PayOff, costs, pay_offs
from byteways.analyse.rules.facts import Facts, Finding, count, listed, marked
from byteways.analyse.summary import Cell, above, group_by
from byteways.units import format_size, short_time

#: After the fastest interface between GPUs: only runs that ask for the cost of memory have it.
IMPORTANCE = 595.0


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
        f"{worst.path}: register and unregister take {short_time(worst.step_ns)}, a copy of pageable memory "
        f"{short_time(worst.plain_ns)}, one of registered memory {short_time(worst.registered_ns)}"
    )
    never = sorted({each.size_bytes for each in some if each.longer})
    if never:
        sizes = " and ".join(format_size(each) for each in never)
        detail += f"; copies of {sizes} take longer from registered memory"
    detail += "."
    if worst.longer:
        title = f"Registering {size} for copies {where} never pays"
    elif worst.copies is None:
        title = f"Whether registering {size} for copies {where} pays cannot be told"
    else:
        title = f"Registering {size} pays after {count(worst.copies, 'copy', 'copies')} {where}"
    return Finding(marked(title, *worst.cells), detail, IMPORTANCE)


def dearest(facts: Facts) -> Iterator[Finding]:
    """Where nothing is copied: of all memory that was made, what a GiB of the dearest and the cheapest takes.

    Addresses alone (`touched=no`) and what a pool has kept are not made.
    """
    made = [cost for cost in costs(facts.cells) if _has_pages(cost)]
    ranked = sorted(made, key=lambda cost: -(cost.per_gib_ns or 0))
    if len(ranked) < 2 or not _apart(ranked[0], ranked[-1]):
        return
    first, last = ranked[0], ranked[-1]
    cheap = f"{short_time(last.per_gib_ns)}" if last.per_gib_ns else "no more than a small piece"
    title = (
        f"A GiB of {_named(first)} memory takes {short_time(first.per_gib_ns or 0.0)} to allocate, "
        f"one of {_named(last)} {cheap}"
    )
    rest = [f"{_named(cost)} {short_time(cost.per_gib_ns)}" for cost in ranked[1:-1] if cost.per_gib_ns]
    detail = f"In between: {listed(rest)}. " if rest else ""
    detail += "What a GiB more takes, from the smallest size to the largest."
    yield Finding(marked(title, first.cells[-1], last.cells[-1]), detail, IMPORTANCE - 1)


def _has_pages(cost: Cost) -> bool:
    """Whether the step makes memory that can be used: not addresses alone, nor what a pool has kept."""
    kept = "touched=no" in cost.step.options or "pool=kept" in cost.step.options
    return cost.step.interface == "allocate" and not kept and cost.per_gib_ns is not None


def _apart(first: Cost, last: Cost) -> bool:
    """Whether the largest size that both have is dearer in the first beyond both intervals."""
    pair = _at_common_size(first, last)
    return pair is not None and above(*pair)


def _at_common_size(*steps: Cost) -> tuple[Cell, ...] | None:
    """Each step at the largest size that all of them have."""
    by_size = [{cell.record.size_bytes: cell for cell in cost.cells} for cost in steps]
    common = set(by_size[0]).intersection(*by_size[1:])
    return tuple(cells[max(common)] for cells in by_size) if common else None


def pools(facts: Facts) -> Iterator[Finding]:
    """What a pool that keeps its memory saves, against plain memory of the same GPU: allocate and free."""
    steps = costs(facts.cells)
    for agent in dict.fromkeys(cost.step.devices for cost in steps if cost.step.memory == "pool"):
        plain, kept = (
            {cost.step.interface: cost for cost in steps if cost.step.devices == agent and wanted(cost)}
            for wanted in (_is_plain, _is_kept)
        )
        pair = [steps[name] for name in ("allocate", "free") for steps in (plain, kept) if name in steps]
        if len(pair) == 4 and (alike := _at_common_size(*pair)):
            yield _pool(agent, (alike[0], alike[1]), (alike[2], alike[3]))
            return


def _is_plain(cost: Cost) -> bool:
    return cost.step.memory == "device"


def _is_kept(cost: Cost) -> bool:
    return cost.step.memory == "pool" and "pool=kept" in cost.step.options


def _pool(agent: str, allocate: tuple[Cell, Cell], free: tuple[Cell, Cell]) -> Finding:
    size = format_size(allocate[0].record.size_bytes)
    plain, kept = (allocate[side].value + free[side].value for side in (0, 1))
    sure = above(*allocate) and above(*free)
    figures = (*allocate, *free)
    each = [f"{short_time(allocate[side].value)} and {short_time(free[side].value)}" for side in (0, 1)]
    detail = f"{agent}. Allocate and free: device {each[0]}, kept pool {each[1]}."
    if sure:
        title = (
            f"A pool that keeps its memory saves {short_time(plain - kept)} for each {size} allocated and "
            f"freed: {short_time(kept)} instead of {short_time(plain)}"
        )
    else:
        title = f"Whether a pool that keeps its memory saves anything at {size} cannot be told"
    return Finding(marked(title, *figures), detail, IMPORTANCE - 2)


def _named(cost: Cost) -> str:
    words = [
        word.partition("=")[2] for word in cost.step.options.split(" ") if word and word != "touched=yes"
    ]
    options = f" ({', '.join(words)})" if words else ""
    return f"{cost.step.memory}{options}"
