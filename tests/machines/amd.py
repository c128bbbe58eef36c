"""Machines with AMD GPUs for tests, described and written as trees: what KFD and sysfs would show of them.

Sources: OLCF Frontier and Crusher guides; Pearson, arXiv:2302.14827 (2023); Schieffer et al. (2025), MI300A;
AMD data sheets of MI250X, MI300A, MI300X; PCI addresses as in the models of RCCL's topo_expl.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from byteways.machine.discovery import discover
from byteways.machine.model import Topology
from byteways.machine.sysfs_writer import (
    CacheSpec,
    CpuSpec,
    GpuSpec,
    LinkSpec,
    MachineSpec,
    all_cores,
    write_tree,
)

GIB = 2**30
EPYC_CACHES = (
    CacheSpec(1, "Data", 32),
    CacheSpec(1, "Instruction", 32),
    CacheSpec(2, "Unified", 512),
    CacheSpec(3, "Unified", 32 * 1024, shared_by=8),
)
#: Links of a Frontier node: OLCF Frontier guide, figure of the node.
FRONTIER_LINKS = {
    (0, 1): 4,
    (2, 3): 4,
    (4, 5): 4,
    (6, 7): 4,
    (0, 6): 2,
    (2, 4): 2,
    (0, 2): 1,
    (1, 3): 1,
    (1, 5): 1,
    (3, 7): 1,
    (4, 6): 1,
    (5, 7): 1,
}
#: NUMA domain of each GCD: OLCF Frontier guide.
FRONTIER_HOMES = (3, 3, 1, 1, 0, 0, 2, 2)


def without_caches(machine: MachineSpec) -> MachineSpec:
    """The machine without its cores' caches, which are thousands of files."""
    return replace(machine, cpus=tuple(replace(cpu, caches=()) for cpu in machine.cpus))


def topology_of(folder: Path, machine: MachineSpec, *, caches: bool = False, **changes: object) -> Topology:
    """What discovery makes of the machine's tree, without a runtime and without NVML."""
    write_tree(folder, machine if caches else without_caches(machine))
    arguments = {
        "sysfs": folder / "sys",
        "proc": folder / "proc",
        "allowed_cores": all_cores(machine),
        "management": [],
        "environment": {},
        "host": "node1",
    }
    return discover(**{**arguments, **changes})  # type: ignore[arg-type]


def peers(counts: Iterable[tuple[tuple[int, int], int]]) -> tuple[LinkSpec, ...]:
    return tuple(LinkSpec(f"gpu{a}", f"gpu{b}", "xgmi", count) for (a, b), count in counts)


def frontier() -> MachineSpec:
    """4 MI250X of two dies each, one processor of four domains, xGMI to the processor."""
    buses = ("c1", "c6", "c9", "ce", "d1", "d6", "d9", "de")
    dies = tuple(
        GpuSpec(
            f"0000:{bus}:00.0",
            home,
            "gfx90a",
            "AMD Instinct MI250X",
            compute_units=110,
            memory_bytes=64 * GIB,
            memory_clock_mhz=1600,
            memory_bus_bits=4096,
            unique_id=0x8000000000000000 + number,
            copy_engines=2,
            peer_copy_engines=3,
        )
        for number, (bus, home) in enumerate(zip(buses, FRONTIER_HOMES, strict=True))
    )
    to_cpu = tuple(
        LinkSpec(f"gpu{number}", f"cpu{home}", "xgmi") for number, home in enumerate(FRONTIER_HOMES)
    )
    domains = tuple(
        CpuSpec((*range(first, first + 16), *range(first + 64, first + 80)), 128 * GIB, EPYC_CACHES)
        for first in range(0, 64, 16)
    )
    processor = "AMD EPYC 7A53 64-Core Processor"
    return MachineSpec(processor, domains, dies, peers(FRONTIER_LINKS.items()) + to_cpu)


def mi300a_x4() -> MachineSpec:
    """4 APUs, each a domain of 24 cores and a GPU over one memory, every pair joined by two links."""
    apus = tuple(
        GpuSpec(
            f"0000:{bus}:00.0",
            number,
            "gfx942",
            "AMD Instinct MI300A",
            compute_units=228,
            memory_bytes=128 * GIB,
            memory_clock_mhz=1300,
            memory_bus_bits=8192,
            unique_id=0xA00 + number,
            copy_engines=2,
            peer_copy_engines=14,
            pcie_generation=5,
            compute_partition="SPX",
            memory_partition="NPS1",
        )
        for number, bus in enumerate(("02", "42", "82", "c2"))
    )
    packages = tuple(LinkSpec(f"gpu{number}", f"cpu{number}", "package") for number in range(4))
    every = peers((pair, 2) for pair in combinations(range(4), 2))
    domains = tuple(CpuSpec(tuple(range(24 * n, 24 * n + 24)), 128 * GIB, EPYC_CACHES) for n in range(4))
    distances = tuple(tuple(10 if a == b else 32 for b in range(4)) for a in range(4))
    return MachineSpec("AMD Instinct MI300A Accelerator", domains, apus, every + packages, distances)


def mi300x_x8() -> MachineSpec:
    """8 MI300X, every pair joined by one link, PCIe to two processors."""
    buses = ("0c", "22", "38", "5c", "9f", "af", "bf", "df")
    gpus = tuple(
        GpuSpec(
            f"0000:{bus}:00.0",
            number // 4,
            "gfx942",
            "AMD Instinct MI300X",
            compute_units=304,
            memory_bytes=206_141_652_992,
            memory_clock_mhz=1300,
            memory_bus_bits=8192,
            unique_id=0xB00 + number,
            copy_engines=2,
            peer_copy_engines=14,
            pcie_generation=5,
            bridges=(f"0000:{int(bus, 16) - 1:02x}:01.0",),
            compute_partition="SPX",
            memory_partition="NPS1",
        )
        for number, bus in enumerate(buses)
    )
    domains = tuple(CpuSpec(tuple(range(48 * n, 48 * n + 48)), 1024 * GIB, EPYC_CACHES) for n in range(2))
    every = peers((pair, 1) for pair in combinations(range(8), 2))
    distances = ((10, 32), (32, 10))
    return MachineSpec("AMD EPYC 9454 48-Core Processor", domains, gpus, every, distances)


def mi300x_cpx() -> MachineSpec:
    """One MI300X divided into eight devices."""
    whole = replace(mi300x_x8().gpus[0], compute_partition="CPX", compute_units=38, peer_copy_engines=0)
    parts = tuple(
        replace(
            whole, pci_address=f"0000:0c:00.{number}", memory_bytes=whole.memory_bytes // 8, unique_id=0xC0
        )
        for number in range(8)
    )
    machine = mi300x_x8()
    return replace(machine, gpus=parts, links=())


def two_cards() -> MachineSpec:
    """Two MI210 without a bridge between them, on PCIe below two domains."""
    machine = mi300x_x8()
    die = frontier().gpus[0]
    cards = tuple(
        replace(
            die, pci_address=f"0000:{bus}:00.0", cpu=number, model="AMD Instinct MI210", compute_units=104
        )
        for number, bus in enumerate(("0c", "9f"))
    )
    return replace(machine, gpus=cards, links=())


def without(machine: MachineSpec, a: str, b: str) -> MachineSpec:
    """The machine with the bundle between two devices down."""
    links = tuple(link for link in machine.links if {link.a, link.b} != {a, b})
    return replace(machine, links=links)
