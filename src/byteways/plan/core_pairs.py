"""Selects the core pairs of a sweep with `cores = "pairs"` (pure)."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.machine.model import Device, Topology

#: Above this number of cores, a sample is used: 2016 pairs take half a minute.
ALL_PAIRS_UP_TO_CORES = 64


def physical_cores(device: Device) -> int:
    """Returns the usable physical cores of a NUMA domain.

    Without SMT information, logical CPUs with a common first-level cache count as one core.
    """
    if device.threads:
        return len(device.threads)
    threads = min((cache.shared_by_cores for cache in device.caches if cache.level == 1), default=1)
    return len(device.cores) // threads or min(1, len(device.cores))


def shared_cache(device: Device, first: int, second: int) -> int | None:
    """Returns the lowest cache level that two physical cores of a domain share; None if unknown.

    Without sharing information, as in machine models, cores that share a cache are assumed to be numbered
    consecutively.
    """
    if device.threads:
        cores = {device.threads[first][0], device.threads[second][0]}
        return min((cache.level for cache in device.shared_caches if cores <= {*cache.cores}), default=None)
    threads = max(1, len(device.cores) // max(1, physical_cores(device)))
    for cache in device.caches:
        together = max(1, cache.shared_by_cores // threads)
        if cache.kind != "instruction" and first // together == second // together:
            return cache.level
    return None


def _counts(topology: Topology) -> dict[str, int]:
    """Returns the usable physical cores by CPU device that has any."""
    return {name: physical_cores(topology.device(name)) for name in topology.with_cores()}


def sampled_cores(topology: Topology) -> dict[str, list[int]]:
    """Returns the selected core indices by CPU device, counted within each device.

    All cores, or above MOST_CORES evenly spread pairs of neighbours, so that core pairs with a common cache,
    in one domain, and in two domains are all included.
    """
    counts = _counts(topology)
    total = sum(counts.values())
    if total <= ALL_PAIRS_UP_TO_CORES:
        return {name: list(range(count)) for name, count in counts.items()}
    apart = -(-total // ALL_PAIRS_UP_TO_CORES)  # stride between selected pairs of neighbours
    return {name: [core for core in range(count) if core // 2 % apart == 0] for name, count in counts.items()}


def core_pairs(executor: str, partner: str, topology: Topology) -> Iterator[tuple[int, int]]:
    """Returns (executor core, partner core) for each pair of the machine, once."""
    names = topology.with_cores()
    if names.index(executor) > names.index(partner):
        return
    cores = sampled_cores(topology)
    for first in cores[executor]:
        for second in cores[partner]:
            if executor != partner or first < second:
                yield first, second


def note(topology: Topology) -> str | None:
    """Describes which cores are left out; None if none are."""
    counts = _counts(topology)
    total = sum(counts.values())
    if total < 2:
        return 'cores = "pairs": this process may use one core only'
    if total <= ALL_PAIRS_UP_TO_CORES:
        return None
    taken = sampled_cores(topology)
    some = ", ".join(f"{len(cores)} of {counts[name]} of {name}" for name, cores in taken.items())
    return f'cores = "pairs": of {total} cores two neighbours at a time, evenly spread: {some}'
