"""Discovery source: NUMA domains, cores, caches and distances, read by the native core from Linux."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from byteways.machine.model import Cache, CoreType, SharedCache

if TYPE_CHECKING:
    from byteways._core import CpuDomain


#: Model of a processor without a name.
UNKNOWN_PROCESSOR = "unknown processor"


@dataclass(frozen=True)
class NumaDomain:
    """A NUMA domain with cores that this process may use, or with memory only."""

    domain: int
    cores: tuple[int, ...]  # logical CPUs
    memory_bytes: int | None
    distances: dict[int, int]  # NUMA domain -> distance; 10 is local (ACPI SLIT)
    caches: tuple[Cache, ...]
    threads: tuple[tuple[int, ...], ...] = ()  # of each physical core
    shared_caches: tuple[SharedCache, ...] = ()
    executed_by: int | None = None  # of a domain with memory only: the nearest domain with cores


@dataclass(frozen=True)
class Cpus:
    """The CPU side of a machine as reported by the kernel."""

    model: str
    virtual_machine: bool
    domains: tuple[NumaDomain, ...]
    notes: tuple[str, ...]
    core_types: tuple[CoreType, ...] = ()  # if there are several


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Parses a kernel CPU list: `0-2,8` is (0, 1, 2, 8), an empty text is ().

    Raises:
        ValueError: The text is not a CPU list.
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
    """Returns the content of a small kernel file without surrounding white space; None if unreadable."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def read_cpus(sysfs: Path, proc: Path, allowed_cores: Collection[int] | None = None) -> Cpus:
    """Returns NUMA domains with cores usable by this process, then those with memory only; none without the
    native module.

    Args:
        sysfs: Where sysfs is mounted.
        proc: Where procfs is mounted.
        allowed_cores: Logical CPUs of the process; None asks the kernel, which applies the affinity mask and
            the cgroup's cpuset.
    """
    try:
        from byteways._core import read_cpus as read_by_core
    except ImportError as error:
        return Cpus(
            UNKNOWN_PROCESSOR, False, (), (f"CPUs not read: byteways' native module does not load ({error})",)
        )
    allowed = os.sched_getaffinity(0) if allowed_cores is None else allowed_cores
    found = read_by_core(str(sysfs), str(proc), sorted(allowed))
    memory_only = (
        NumaDomain(
            domain.number,
            (),
            domain.memory_bytes,
            domain.distances,
            (),
            executed_by=found.domains[domain.nearest].number,
        )
        for domain in found.memory_only
    )
    return Cpus(
        found.model or UNKNOWN_PROCESSOR,
        found.virtual_machine,
        (*map(_domain, found.domains), *memory_only),
        tuple(found.notes),
        tuple(CoreType(one.name, tuple(one.cpus)) for one in found.core_types),
    )


def _domain(domain: CpuDomain) -> NumaDomain:
    return NumaDomain(
        domain.number,
        tuple(domain.cpus),
        domain.memory_bytes or None,
        domain.distances,
        tuple(
            Cache(cache.level, cache.kind, cache.size_bytes, cache.line_bytes, cache.sharing_cpus)
            for cache in domain.caches
        ),
        tuple(tuple(core) for core in domain.cores),
        tuple(SharedCache(cache.level, tuple(cache.cpus)) for cache in domain.shared),
    )
