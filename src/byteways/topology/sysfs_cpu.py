"""Discovery source: NUMA domains, cores, caches and distances, from Linux sysfs and procfs."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from byteways.topology.model import Cache, SharedCache

_SIZE_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class NumaDomain:
    """One NUMA domain that has cores this process may use."""

    domain: int
    cores: tuple[int, ...]  # logical CPUs
    memory_bytes: int | None
    distances: dict[int, int]  # NUMA domain -> distance; 10 is local (ACPI SLIT)
    caches: tuple[Cache, ...]
    threads: tuple[tuple[int, ...], ...] = ()  # of each physical core
    shared_caches: tuple[SharedCache, ...] = ()


@dataclass(frozen=True)
class Cpus:
    """What the kernel tells of the CPU side of a machine."""

    model: str
    virtual_machine: bool
    domains: tuple[NumaDomain, ...]
    notes: tuple[str, ...]


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Numbers of a kernel CPU list: `0-2,8` is (0, 1, 2, 8), an empty text is ().

    Raises:
        ValueError: The text is no CPU list.
    """
    numbers: set[int] = set()
    for part in text.strip().split(","):
        if not part:
            continue
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if begin < 0 or end < begin:
            raise ValueError(f"'{part}' is not a CPU range")
        numbers.update(range(begin, end + 1))
    return tuple(sorted(numbers))


def read_text(path: Path) -> str | None:
    """Content of a small kernel file without surrounding white space, None when it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def read_cpus(sysfs: Path, proc: Path, allowed_cores: Collection[int] | None = None) -> Cpus:
    """NUMA domains with at least one core that this process may use.

    Args:
        sysfs: Where sysfs is mounted.
        proc: Where procfs is mounted.
        allowed_cores: Logical CPUs of the process; None asks the kernel, whose answer contains the affinity
            mask and the cgroup's cpuset.
    """
    allowed = set(os.sched_getaffinity(0) if allowed_cores is None else allowed_cores)
    notes: list[str] = []
    domains: list[NumaDomain] = []
    nodes = sorted((sysfs / "devices/system/node").glob("node[0-9]*"), key=lambda node: int(node.name[4:]))
    for node in nodes:
        domain = int(node.name[4:])
        online = parse_cpu_list(read_text(node / "cpulist") or "")
        cores = tuple(core for core in online if core in allowed)
        if cores:
            distances = _distances(node, [int(other.name[4:]) for other in nodes])
            domains.append(_domain(sysfs, domain, cores, _memory_of(node), distances))
        elif online:
            notes.append(
                f"NUMA domain {domain} left out: this process cannot use any of its {len(online)} cores"
            )
        else:
            notes.append(f"NUMA domain {domain} left out: it has memory but no cores")
    if not domains:
        notes.append("the kernel shows no NUMA domains; all cores are taken as one")
        memory = _meminfo(read_text(proc / "meminfo") or "")
        domains.append(_domain(sysfs, 0, tuple(sorted(allowed)), memory, {0: 10}))
    model, virtual_machine = _cpu_model(proc, sysfs)
    return Cpus(model, virtual_machine, tuple(domains), tuple(notes))


def _domain(
    sysfs: Path, number: int, cores: tuple[int, ...], memory_bytes: int | None, distances: dict[int, int]
) -> NumaDomain:
    threads = _threads(sysfs, cores)
    return NumaDomain(
        number,
        cores,
        memory_bytes,
        distances,
        _caches(sysfs, cores[0]) if cores else (),
        threads,
        _shared_caches(sysfs, threads),
    )


def _distances(node: Path, domains: list[int]) -> dict[int, int]:
    """Distances of one domain, in the order of the online domains."""
    values = (read_text(node / "distance") or "").split()
    return {domain: int(value) for domain, value in zip(domains, values, strict=False) if value.isdigit()}


def _memory_of(node: Path) -> int | None:
    return _meminfo(read_text(node / "meminfo") or "")


def _meminfo(text: str) -> int | None:
    """MemTotal in bytes of /proc/meminfo or a domain's meminfo."""
    for line in text.splitlines():
        _, found, rest = line.partition("MemTotal:")
        words = rest.split()
        if found and words and words[0].isdigit():
            return int(words[0]) * 1024
    return None


def _caches(sysfs: Path, core: int) -> tuple[Cache, ...]:
    """Caches as one core sees them, smallest level first."""
    caches = []
    for index in (sysfs / f"devices/system/cpu/cpu{core}/cache").glob("index[0-9]*"):
        level, kind, size = (read_text(index / name) for name in ("level", "type", "size"))
        if level is None or kind is None or not size:
            continue
        size_bytes = int(size.rstrip("KMG")) * _SIZE_UNITS.get(size[-1], 1)
        line_bytes = int(read_text(index / "coherency_line_size") or 0)
        shared = parse_cpu_list(read_text(index / "shared_cpu_list") or "")
        caches.append(Cache(int(level), kind.lower(), size_bytes, line_bytes, max(1, len(shared))))
    return tuple(sorted(caches, key=lambda cache: (cache.level, cache.kind)))


def _threads(sysfs: Path, cores: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Logical CPUs of each physical core, of those given, in the order of their first ones.

    That is how cpu_domains.cpp counts cores. Empty when the kernel does not tell of each.
    """
    found: dict[tuple[int, ...], None] = {}
    for core in cores:
        told = read_text(sysfs / f"devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        if not told:
            return ()
        found[tuple(one for one in parse_cpu_list(told) if one in cores)] = None
    return tuple(found)


def _shared_caches(sysfs: Path, threads: Sequence[tuple[int, ...]]) -> tuple[SharedCache, ...]:
    """Data and unified caches that two physical cores or more share, smallest level first."""
    found: dict[tuple[int, tuple[int, ...]], None] = {}
    allowed = {one for core in threads for one in core}
    for first, *_ in threads:
        for index in (sysfs / f"devices/system/cpu/cpu{first}/cache").glob("index[0-9]*"):
            level, kind, shared = (read_text(index / name) for name in ("level", "type", "shared_cpu_list"))
            if level is None or not shared or kind == "Instruction":
                continue
            cores = tuple(one for one in parse_cpu_list(shared) if one in allowed)
            if sum(core[0] in cores for core in threads) > 1:
                found[int(level), cores] = None
    return tuple(SharedCache(level, cores) for level, cores in sorted(found))


def _cpu_model(proc: Path, sysfs: Path) -> tuple[str, bool]:
    """Name of the processor, and whether this is a virtual machine."""
    fields: dict[str, str] = {}
    for line in (read_text(proc / "cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    virtual = "hypervisor" in fields.get("flags", "").split() or (sysfs / "hypervisor/type").exists()
    return fields.get("model name") or fields.get("cpu") or "unknown processor", virtual
