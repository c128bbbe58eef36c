"""Which pairs of cores a sweep with `cores = "pairs"` stands for (pure)."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.topology.model import Device, Topology

#: Of more cores than this a sample is taken: 2016 pairs take half a minute.
MOST_CORES = 64


def physical_cores(device: Device) -> int:
    """Cores of a NUMA domain that this process may use, whose threads count once.

    Where the topology does not tell threads, logical CPUs that share a first-level cache are one core.
    """
    if device.threads:
        return len(device.threads)
    threads = min((cache.shared_by_cores for cache in device.caches if cache.level == 1), default=1)
    return len(device.cores) // threads or min(1, len(device.cores))


def shared_cache(device: Device, first: int, second: int) -> int | None:
    """The lowest level of cache that two physical cores of a domain share; None: none that is told.

    Where the topology does not tell who shares which, as in models of machines, cores that share a cache are
    numbered one after another.
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


def sampled_cores(topology: Topology) -> dict[str, list[int]]:
    """Numbers of the cores that take part, by CPU device, counted within each.

    All, or with more than MOST_CORES two neighbours at a time, evenly spread, so that cores that share a
    cache, that are of one domain, and of two, are all there.
    """
    counts = {device.name: physical_cores(device) for device in topology.devices if device.kind == "cpu"}
    total = sum(counts.values())
    if total <= MOST_CORES:
        return {name: list(range(count)) for name, count in counts.items()}
    apart = -(-total // MOST_CORES)  # every so many-th pair of neighbours
    return {name: [core for core in range(count) if core // 2 % apart == 0] for name, count in counts.items()}


def core_pairs(executor: str, partner: str, topology: Topology) -> Iterator[tuple[int, int]]:
    """(core of the executor, core of the partner), each pair of the machine once."""
    names = topology.names("cpu")
    if names.index(executor) > names.index(partner):
        return
    cores = sampled_cores(topology)
    for first in cores[executor]:
        for second in cores[partner]:
            if executor != partner or first < second:
                yield first, second


def note(topology: Topology) -> str | None:
    """What is left out, in words; None: nothing."""
    counts = {device.name: physical_cores(device) for device in topology.devices if device.kind == "cpu"}
    total = sum(counts.values())
    if total < 2:
        return 'cores = "pairs": this process may use one core only'
    if total <= MOST_CORES:
        return None
    taken = sampled_cores(topology)
    some = ", ".join(f"{len(cores)} of {counts[name]} of {name}" for name, cores in taken.items())
    return f'cores = "pairs": of {total} cores two neighbours at a time, evenly spread: {some}'
