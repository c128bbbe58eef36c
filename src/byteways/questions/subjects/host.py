"""Host memory: effect of memory kind, first touch, threads, non-temporal stores and NUMA distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, cpu_threads, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate, sentence, with_span
from byteways.answers.claims.wording import difference, faster, no_difference, percents_slower, slower
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, broadest_size, largest_common_size
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.answers.results.variants import Variant
from byteways.base.units import format_size

#: Ratios between memory kinds below this are irrelevant in practice.
FACTOR = 1.05

#: Engines as sentences name them; unknown engines explain nothing.
MOVED_BY = {
    "copy-engine": "a copy engine",
    "kernel": "a kernel",
    "cpu": "the CPU",
    "staged": "the driver through a staging buffer",
}


def memory_kinds(index: Index) -> Iterator[Finding]:
    """Compares host memory kinds with equal interface, settings and paths, for each kind of pair."""
    for name, lead in PAIR_KINDS.items():
        members = [cell for cell in index.of_kind(name) if cell.variant.host_memory and cell.stays]
        alike = group_by(members, lambda cell: (_but_memory(cell.variant), index.link_class(cell)))
        candidates = [candidate for group in alike.values() if (candidate := _memories(group))]
        if not candidates:
            continue
        # Prefer default settings, then the largest difference.
        claim, fast, slow, claims = max(
            candidates, key=lambda entry: (not _settings(entry[1]), entry[0].gain)
        )
        inside = name in ("cpu", "cpu-cpu")
        title = f"{lead}, {difference(claim)}"
        detail = f"{_but_memory(fast.cells[0].variant).name}, {format_size(fast.cells[0].size_bytes)}."
        detail += _engines(claim, fast, slow)
        priority = Priority.HOST_MEMORY_KINDS_INSIDE if inside else Priority.HOST_MEMORY_KINDS
        yield finding(title, detail, priority, (fast, slow), claims)


def _but_memory(variant: Variant) -> Variant:
    return replace(variant, source="device", destination="device")


def _settings(group: ResultGroup) -> bool:
    variant = group.cells[0].variant
    return bool(variant.options or variant.environment)


def _memories(members: list[Result]) -> tuple[Claim, ResultGroup, ResultGroup, list[Claim]] | None:
    """Returns the claim with the largest lead between two memory kinds, both groups, and all claims made."""
    by_size = group_by(members, lambda cell: cell.size_bytes)
    size = max(by_size, key=lambda s: (len({cell.variant.host_memory for cell in by_size[s]}), s))
    groups = {
        memory: pool(group)
        for memory, group in group_by(by_size[size], lambda cell: cell.variant.host_memory).items()
    }
    memories = []
    for first, fast in groups.items():
        for last, slow in groups.items():
            if first != last:
                names = f"{first} memory", last
                claim = compare(fast, slow, kind="memory", ways=len(groups), names=names)
                if claim.leads and claim.effect >= FACTOR:
                    memories.append((claim, fast, slow))
    if not memories:
        return None
    return *max(memories, key=lambda entry: entry[0].gain), [entry[0] for entry in memories]


def _engines(claim: Claim, fast: ResultGroup, slow: ResultGroup) -> str:
    """Explains a difference by the engines if the two are known to differ."""
    engines = fast.cells[0].record.engine, slow.cells[0].record.engine
    if None in engines or engines[0] == engines[1] or any(engine not in MOVED_BY for engine in engines):
        return ""
    fast_by, slow_by = (MOVED_BY[str(engine)] for engine in engines)
    first = claim.first.name
    return f" {first[:1].upper()}{first[1:]} is moved by {fast_by}, {claim.second.name} by {slow_by}."


def threads(index: Index) -> Iterator[Finding]:
    """Compares many threads with one within a NUMA domain."""
    members = index.of_kind("cpu")
    single = [cell for cell in members if cell.record.interface == "memcpy"]
    many = [cell for cell in members if cell.record.interface == "memcpy-mt"]
    pair = _best_pair(many, single, largest_common_size(single + many))
    if pair is None:
        return
    many_cell, one_cell = pair
    used = cpu_threads(many_cell.record)
    if used is None or used < 2:
        return
    where = f"{format_size(many_cell.size_bytes)}, {many_cell.record.path}, {many_cell.source.memory}."
    claim = compare(many_cell, one_cell, kind="threads", names=(f"{used} threads", "one"))
    if claim.leads:
        title = f"{used} threads copy {faster(claim)} one"
    elif claim.trails:
        title = f"{used} threads copy {slower(claim)} than one"
    else:
        title = sentence(no_difference((f"{used} threads", "one"), [claim]))
    title += f": {with_span(many_cell)} vs {with_span(one_cell)} GB/s"
    yield finding(title, where, Priority.HOST_THREADS, (many_cell, one_cell), [claim])


def streaming(index: Index) -> Iterator[Finding]:
    """Compares non-temporal with regular stores on one core."""
    members = index.of_kind("cpu")
    plain = [cell for cell in members if cell.record.interface == "memcpy"]
    stream = [cell for cell in members if cell.record.interface == "memcpy-stream"]
    pair = _best_pair(stream, plain, largest_common_size(plain + stream))
    if pair is None:
        return
    streamed, ordinary = pair
    names = "non-temporal stores", "regular stores"
    claim = compare(streamed, ordinary, kind="stores", names=names)
    if not claim.differ:
        return
    verb = f"{faster(claim)} regular stores" if claim.leads else f"{slower(claim)} than regular stores"
    title = (
        f"Non-temporal stores are {verb} at {format_size(streamed.size_bytes)}: "
        f"{rate(streamed)} vs {rate(ordinary)} GB/s"
    )
    # Why is not measured: whether a store reads the line first depends on the processor.
    reason = " Non-temporal stores can avoid the read for ownership." if claim.leads else ""
    detail = f"{streamed.variant.name} on {streamed.record.path}.{reason}"
    yield finding(title, detail, Priority.STREAMING_STORES, (streamed, ordinary), [claim])


def _best_pair(first: list[Result], second: list[Result], size: int | None) -> tuple[Result, Result] | None:
    """Returns the fastest of `first` at this size with its match in `second`; None if either is missing."""
    chosen = [cell for cell in first if cell.size_bytes == size]
    if not chosen:
        return None
    fast = max(chosen, key=lambda cell: cell.value)
    ends = fast.record.source, fast.record.destination, size
    for cell in second:
        if (cell.record.source, cell.record.destination, cell.size_bytes) == ends:
            return fast, cell
    return None


def far_memory(index: Index) -> Iterator[Finding]:
    """Compares remote with local NUMA memory by the same interface, over all pairs of domains."""
    near = group_by(index.of_kind("cpu"), _key)
    differing: list[tuple[Claim, ResultGroup, ResultGroup]] = []
    for far in group_by(index.of_kind("cpu-cpu"), lambda cell: _key(cell)[:2]).values():
        size = broadest_size(far)
        away = [cell for cell in far if cell.size_bytes == size and _key(cell) in near]
        if away:
            own = [near[_key(cell)][0] for cell in {_key(cell): cell for cell in away}.values()]
            both = pool(away), pool(own)
            names = "another NUMA domain", "the same domain"
            claim = compare(*both, kind="NUMA", match=lambda cell: cell.source.device, names=names)
            if claim.trails:
                differing.append((claim, *both))
    if not differing:
        return
    claim, away_, own_ = max(differing, key=lambda entry: (entry[1].cells[0].size_bytes, entry[0].gain))
    alone = {cell.source.device: cell for cell in own_.cells}
    kept = [cell.value / alone[cell.source.device].value for cell in away_.cells]
    worst = away_.cells[kept.index(min(kept))]
    title = (
        f"Copies to another NUMA domain are {percents_slower(claim, kept)}: "
        f"{worst.record.interface} reaches {rate(worst)} GB/s on {worst.record.path}, "
        f"{rate(alone[worst.source.device])} within {worst.source.device}"
    )
    detail = f"{format_size(worst.size_bytes)}, {worst.variant.name}."
    if len(kept) > 1:
        detail += f" Over {len(kept)} paths the median keeps {100 * median(kept):.0f} % of the local rate."
    yield finding(title, detail, Priority.FAR_MEMORY, (away_, own_), [entry[0] for entry in differing])


def _key(cell: Result) -> tuple[object, ...]:
    variant = replace(cell.variant, access="")
    return variant, cell.record.interface, cell.size_bytes, cell.source.device
