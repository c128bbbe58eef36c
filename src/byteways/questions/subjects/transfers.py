"""Single flows: the fastest interface per kind of pair, read versus write, and the two directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from byteways.answers.best.decisions import decisions
from byteways.answers.best.ranking import Ranking
from byteways.answers.best.wording_rankings import better_way, named_way, slower_ways
from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, cpu_threads, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import differ, rate, sentence, span
from byteways.answers.claims.wording import difference, gains_of_others, most_of_several
from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, broadest_size
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.answers.results.variants import Variant
from byteways.base.units import format_size
from byteways.machine.model import compute_units_name

#: The finding on the fastest interface by kind of pair, of large and of small sizes.
FASTEST_BY_KIND = {
    "gpu-gpu": (Priority.FASTEST_BETWEEN_GPUS, Priority.FASTEST_BETWEEN_GPUS_SMALL),
    "cpu-gpu": (Priority.FASTEST_TO_GPU, Priority.FASTEST_TO_GPU_SMALL),
    "gpu-cpu": (Priority.FASTEST_FROM_GPU, Priority.FASTEST_FROM_GPU_SMALL),
    "gpu": (Priority.FASTEST_IN_GPU, Priority.FASTEST_IN_GPU_SMALL),
    "cpu": (Priority.FASTEST_IN_CPU, Priority.FASTEST_IN_CPU_SMALL),
    "cpu-cpu": (Priority.FASTEST_BETWEEN_CPUS, Priority.FASTEST_BETWEEN_CPUS_SMALL),
}

#: Directions are compared only for settings that reach this fraction of the best: a kernel with few blocks
#: says nothing about a link.
COMPARABLE_FROM = 0.9
#: Below this size launch overhead dominates, so bandwidth is less important.
OVERHEAD_BELOW_BYTES = 2**20


def best_ways(index: Index) -> Iterator[Finding]:
    """Reports the fastest interface for each kind of pair and link class."""
    decided = decisions(index)
    places = decided.plain_places()
    several = Counter(place.kind for place in places)
    for place in places:
        decision = decided.large(place)
        if decision.ranking is not None:
            lead = PAIR_KINDS[place.kind]
            where = f"{lead} ({place.link_class})" if several[place.kind] > 1 else lead
            yield _best_way(index, decision.ranking, where, decision.size_bytes)


def _best_way(index: Index, ranking: Ranking, where: str, size: int) -> Finding:
    title, quoted = better_way(
        ranking,
        where,
        size,
        peak=size >= OVERHEAD_BELOW_BYTES,
        launched=lambda group: _launched(index, group),
    )
    first = ranking.group
    detail = f"{_basis(first)}.{named_way(ranking)}{slower_ways(ranking)}"
    others = [
        rival.claim
        for rival in (*ranking.rivals, *ranking.elsewhere)
        if rival.variant.interface != ranking.variant.interface
        or rival is ranking.default
        or not rival.claim.leads
    ]
    entries = FASTEST_BY_KIND[first.cells[0].kind]
    return finding(title, detail, _by_size(size, *entries), quoted, others)


def _basis(group: ResultGroup) -> str:
    """'Median of 12 paths, interval 392–393 GB/s'; '12 paths, which differ', as none need have the median."""
    paths = count(len(group.cells), "path")
    if differ(group):
        return f"{paths}, which differ"
    whose = f"Median of {paths}" if len(group.cells) > 1 else group.cells[0].record.path
    return f"{whose}, interval {span(group)} GB/s"


def _launched(index: Index, group: ResultGroup) -> str:
    """' with all 132 SMs', ' with 8 of 110 CUs', ' with 2 threads'; '' if unknown."""
    record = group.cells[0].record
    launch = record.launch or {}
    executor = record.executor
    if executor not in index.topology.names():
        return ""
    device = index.topology.device(executor)
    if device.kind == "cpu":
        used = cpu_threads(record)
        return f" with {count(used, 'thread')}" if used else ""
    blocks, total = launch.get("blocks"), device.multiprocessors
    if not blocks or not total:
        return ""
    units = compute_units_name(device)
    return f" with all {total} {units}" if blocks >= total else f" with {blocks} of {total} {units}"


def read_against_write(index: Index) -> Iterator[Finding]:
    """Compares read with write of equal interface, memory, size and paths: which end should issue?"""
    differing: list[tuple[Claim, str, ResultGroup, ResultGroup, int]] = []
    for name in ("gpu-gpu", "cpu-cpu"):
        settled = [cell for cell in index.of_kind(name) if cell.stays]
        alike = group_by(settled, lambda cell: (index.link_class(cell), cell.record.interface))
        for members in alike.values():
            differing += [
                (claim, name, read, write, size) for claim, read, write, size in _both_accesses(members)
            ]
    if not differing:
        return
    differing.sort(key=lambda entry: -entry[0].gain)
    claim, where, read, write, size = differing[0]
    interface = read.cells[0].record.interface
    title = f"{PAIR_KINDS[where]}, {interface} {difference(claim)} at {format_size(size)}"
    detail = f"Issue it from the {'destination' if claim.leads else 'source'} device."
    others: dict[str, Claim] = {}  # largest difference per other interface: its variants differ alike
    for entry, _, other, _, _ in differing[1:]:
        if other.cells[0].record.interface != interface:
            others.setdefault(other.cells[0].record.interface, entry)
    detail += gains_of_others(others)
    priority = _by_size(size, Priority.READ_AGAINST_WRITE, Priority.READ_AGAINST_WRITE_SMALL)
    yield finding(title, detail, priority, (read, write), [entry[0] for entry in differing])


def _both_accesses(members: Sequence[Result]) -> Iterator[tuple[Claim, ResultGroup, ResultGroup, int]]:
    """Yields read versus write for interfaces and link classes on which they differ."""
    size = broadest_size(members)
    of_size = [cell for cell in members if cell.size_bytes == size]
    groups = {variant: pool(cells) for variant, cells in group_by(of_size, lambda cell: cell.variant).items()}
    top = max(group.value for group in groups.values())
    for variant, read in groups.items():
        write = groups.get(replace(variant, access="write"))
        if variant.access != "read" or write is None:
            continue
        claim = compare(
            read, write, kind="read or write", names=("issued by the destination", "issued by the source")
        )
        if claim.differ and max(read.value, write.value) >= COMPARABLE_FROM * top:
            yield claim, read, write, size


def to_and_from_host(index: Index) -> Iterator[Finding]:
    """Compares host-to-GPU with GPU-to-host for equal interface, memory and size."""
    back = {_turned(cell): cell for cell in index.of_kind("gpu-cpu") if cell.stays}
    pairs = [
        (cell, back[key])
        for cell in index.of_kind("cpu-gpu")
        if cell.stays and (key := _forward(cell)) in back
    ]
    compared: list[tuple[Claim, Variant, ResultGroup, ResultGroup, int]] = []
    for (variant, _), members in group_by(
        pairs, lambda pair: (pair[0].variant, index.link_class(pair[0]))
    ).items():
        size = max(cell.size_bytes for cell, _ in members)
        there = pool([cell for cell, _ in members if cell.size_bytes == size])
        home = pool([cell for _, cell in members if cell.size_bytes == size])
        names = "to the GPU", "to the host"
        claim = compare(there, home, kind="direction", match=_ends, names=names, ways=len(pairs))
        compared.append((claim, variant, there, home, size))
    differing = [entry for entry in compared if entry[0].differ and _is_able(entry, compared)]
    if not differing:
        return
    claim, variant, there, home, size = max(differing, key=lambda entry: entry[0].gain)
    title = (
        f"Host to GPU and GPU to host differ with {variant.source} memory: {variant.name} reaches "
        f"{rate(there)} to the GPU and {rate(home)} GB/s back at {format_size(size)}"
    )
    detail = f"{sentence(difference(claim))}.{most_of_several(len(differing))}"
    claims = [entry[0] for entry in compared]
    priority = _by_size(size, Priority.TO_AGAINST_FROM_HOST, Priority.TO_AGAINST_FROM_HOST_SMALL)
    yield finding(title, detail, priority, (there, home), claims)


def _is_able(
    entry: tuple[Claim, Variant, ResultGroup, ResultGroup, int],
    compared: Sequence[tuple[Claim, Variant, ResultGroup, ResultGroup, int]],
) -> bool:
    """Whether a setting comes close to the best of its interface and memory."""
    top = max(
        max(there.value, home.value)
        for _, variant, there, home, _ in compared
        if (variant.interface, variant.source) == (entry[1].interface, entry[1].source)
    )
    return max(entry[2].value, entry[3].value) >= COMPARABLE_FROM * top


def _ends(cell: Result) -> tuple[str, ...]:
    return tuple(sorted((cell.source.device, cell.destination.device)))


def _forward(cell: Result) -> tuple[object, ...]:
    return cell.variant, cell.size_bytes, cell.source.device, cell.destination.device


def _turned(cell: Result) -> tuple[object, ...]:
    """Returns the key of the opposite direction by the same executor: ends and access swapped."""
    variant = cell.variant
    access = {"read": "write", "write": "read"}.get(variant.access, variant.access)
    turned = replace(variant, source=variant.destination, destination=variant.source, access=access)
    return turned, cell.size_bytes, cell.destination.device, cell.source.device


def _by_size(size_bytes: int, large: Priority, small: Priority) -> Priority:
    return large if size_bytes >= OVERHEAD_BELOW_BYTES else small
