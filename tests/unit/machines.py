"""Machines that tests plan and analyse for without being on them: two cores, H200s, MI250Xs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from byteways.machine.model import Capabilities, Device, Link, Offer, Topology

MIB = 2**20
GIB = 2**30

HOST_MEMORY = ("pageable", "hugepage", "pinned", "write-combined", "registered", "managed")
AMD_HOST_MEMORY = (*HOST_MEMORY, "pinned-noncoherent", "managed-coarse")
AMD_GPU_MEMORY = (
    "device",
    "device-fine",
    "device-uncached",
    "pool",
    "vmm",
    "ipc",
    "managed",
    "managed-coarse",
)
CPU_INTERFACES = ("memcpy", "memcpy-mt", "memcpy-stream", "pointer-chase")
BULK_INTERFACES = ("kernel-bulk", "bulk-blocks")
GPU_INTERFACES = ("copy", "kernel", *BULK_INTERFACES, "pointer-chase")
YES = Offer(True)


def no(reason: str) -> Offer:
    return Offer(False, reason)


def granted(names: Sequence[str]) -> dict[str, dict[str, dict[str, Offer]]]:
    """Pools and mappings of every GPU, opened to every other."""
    kinds = {"pool": YES, "vmm": YES}
    return {a: {b: kinds for b in names if b != a} for a in names}


def cpu_device(index: int = 0, cores: int = 2, memory_bytes: int = 24 * GIB) -> Device:
    return Device(
        f"cpu{index}",
        "cpu",
        "a CPU",
        numa_domain=index,
        cores=tuple(range(index * cores, (index + 1) * cores)),
        memory_bytes=memory_bytes,
        architecture="x86_64",
    )


def gpu_device(index: int, numa_domain: int = 0) -> Device:
    return Device(
        f"gpu{index}",
        "gpu",
        "NVIDIA H200",
        uuid=f"GPU-{index}",
        pci_address=f"0000:{0x18 + 0x20 * index:02x}:00.0",
        numa_domain=numa_domain,
        memory_bytes=141 * 10**9,
        memory_peak_bytes_per_s=4.8e12,
        memory_peak_source="memory clock × bus width",
        architecture="sm_90",
        multiprocessors=132,
    )


def nvlink(index: int) -> Link:
    return Link(
        f"gpu{index}",
        "nvswitch",
        "nvlink",
        18,
        "4",
        450e9,
        478.125e9,
        "18 × 25 GB/s, NVLink 4",
        "NVLink4 ×18",
    )


def pcie(cpu: int, gpu: int) -> Link:
    return Link(
        f"cpu{cpu}",
        f"gpu{gpu}",
        "pcie",
        16,
        "5.0",
        63e9,
        64e9,
        "PCIe 5.0 ×16",
        "PCIe 5.0 ×16",
    )


def two_cores(last_level_cache_bytes: int = 480 * MIB) -> tuple[Topology, Capabilities]:
    """A virtual machine with 2 cores, 24 GiB and no GPU, which reports the cache of the whole socket."""
    topology = Topology("two-cores", (cpu_device(),))
    no_gpu = no("no GPU runtime was found")
    capabilities = Capabilities(
        devices={"cpu0": {"last_level_cache_bytes": last_level_cache_bytes, "memory_bytes": 24 * GIB}},
        memory={
            "cpu0": {
                "pageable": YES,
                "hugepage": YES,
                "pinned": no_gpu,
                "registered": no_gpu,
                "managed": no_gpu,
                "device": no("a CPU has no device memory"),
            }
        },
        interface={"cpu0": dict.fromkeys(CPU_INTERFACES, YES)},
        peer={"cpu0": {}},
        pageable_access={"cpu0": True},
        host_memory_bytes=24 * GIB,
    )
    return topology, capabilities


def gpus(
    count: int = 4,
    *,
    domains: int = 1,
    without_peer: Sequence[tuple[str, str]] = (),
    pageable_access: bool = False,
    without_bulk: Sequence[str] = (),
    linked: bool = True,
) -> tuple[Topology, Capabilities]:
    """`count` H200s spread evenly over `domains` NUMA domains, NVLink unless not `linked`."""
    cpus = [cpu_device(index, cores=32, memory_bytes=512 * GIB) for index in range(domains)]
    home = [index * domains // count for index in range(count)]
    devices = [*cpus, *(gpu_device(index, home[index]) for index in range(count))]
    links = [pcie(home[index], index) for index in range(count)]
    if domains > 1:
        links.append(Link("cpu0", "cpu1", "numa", 1, None, None, None, "unknown", "NUMA distance 21"))
    links += [nvlink(index) for index in range(count)] if linked else []
    topology = Topology("gpus", tuple(devices), ("nvswitch",) if linked else (), tuple(links))
    names = topology.names("gpu")
    bulk = {name: no("sm_80 has no bulk copies") if name in without_bulk else YES for name in names}
    capabilities = Capabilities(
        devices={
            **{
                name: {"last_level_cache_bytes": 105 * MIB, "memory_bytes": 512 * GIB}
                for name in topology.names("cpu")
            },
            **{name: {"last_level_cache_bytes": 60 * MIB, "memory_bytes": 141 * 10**9} for name in names},
        },
        memory={
            **{
                name: {**dict.fromkeys(HOST_MEMORY, YES), "device": no("a CPU has no device memory")}
                for name in topology.names("cpu")
            },
            **{name: dict.fromkeys(("device", "pool", "vmm", "ipc", "managed"), YES) for name in names},
        },
        interface={
            **{name: dict.fromkeys(CPU_INTERFACES, YES) for name in topology.names("cpu")},
            **{
                name: {**dict.fromkeys(GPU_INTERFACES, YES), **dict.fromkeys(BULK_INTERFACES, bulk[name])}
                for name in names
            },
        },
        peer={
            a: {b: no("the driver refused it") if (a, b) in without_peer else YES for b in names if b != a}
            for a in names
        },
        granted=granted(names),
        pageable_access=dict.fromkeys(names, pageable_access),
        host_memory_bytes=512 * GIB * domains,
    )
    return topology, capabilities


def h200x4() -> tuple[Topology, Capabilities]:
    """4×H200, all pairs through NVSwitches, one NUMA domain."""
    topology, capabilities = gpus(4)
    return replace(topology, host="h200x4"), capabilities


#: xGMI links between the eight dies of a Frontier node (OLCF's user guide), and the NUMA domain of each.
FRONTIER_LINKS = {
    **dict.fromkeys(((0, 1), (2, 3), (4, 5), (6, 7)), 4),
    **dict.fromkeys(((0, 6), (2, 4)), 2),
    **dict.fromkeys(((0, 2), (1, 3), (1, 5), (3, 7), (4, 6), (5, 7)), 1),
}
FRONTIER_DOMAINS = (3, 3, 1, 1, 0, 0, 2, 2)


def xgmi(a: str, b: str, count: int, rate: float = 50e9) -> Link:
    wires = f"xGMI ×{count}" if b.startswith("gpu") else "xGMI to the CPU"
    return Link(a, b, "xgmi", count, "3", count * rate, None, f"{count} × {rate / 1e9:g} GB/s", wires)


def frontier(**changes: bool) -> tuple[Topology, Capabilities]:
    """Eight dies of four MI250X on a CPU of four NUMA domains.

    Args:
        changes: `pageable_access` and `host_access` of every GPU; neither unless told.
    """
    cpus = [cpu_device(index, cores=16, memory_bytes=128 * GIB) for index in range(4)]
    dies = [
        replace(
            gpu_device(index, domain),
            model="AMD Instinct MI250X",
            memory_bytes=64 * GIB,
            memory_peak_bytes_per_s=1.6384e12,
            architecture="gfx90a",
            multiprocessors=110,
        )
        for index, domain in enumerate(FRONTIER_DOMAINS)
    ]
    links = [xgmi(f"gpu{a}", f"gpu{b}", count) for (a, b), count in FRONTIER_LINKS.items()]
    links += [xgmi(f"cpu{domain}", f"gpu{index}", 1, 36e9) for index, domain in enumerate(FRONTIER_DOMAINS)]
    links += [
        Link(f"cpu{a}", f"cpu{b}", "numa", 1, None, None, None, "unknown", "NUMA distance 12")
        for a in range(4)
        for b in range(a + 1, 4)
    ]
    topology = Topology("frontier", (*cpus, *dies), (), tuple(links))
    hosts, names = topology.names("cpu"), topology.names("gpu")
    no_device = dict.fromkeys(("device", "device-fine", "device-uncached"), no("a CPU has no device memory"))
    cpu = {"runtime": "host", "last_level_cache_bytes": 32 * MIB, "memory_bytes": 128 * GIB}
    die = {"runtime": "hip", "last_level_cache_bytes": 8 * MIB, "memory_bytes": 64 * GIB}
    bulk = no("gfx90a has no bulk-copy instructions")
    capabilities = Capabilities(
        devices={**dict.fromkeys(hosts, cpu), **dict.fromkeys(names, die)},
        memory={
            **{name: {**dict.fromkeys(AMD_HOST_MEMORY, YES), **no_device} for name in hosts},
            **{name: dict.fromkeys(AMD_GPU_MEMORY, YES) for name in names},
        },
        interface={
            **{name: dict.fromkeys(CPU_INTERFACES, YES) for name in hosts},
            **{
                name: {**dict.fromkeys(GPU_INTERFACES, YES), **dict.fromkeys(BULK_INTERFACES, bulk)}
                for name in names
            },
        },
        peer={a: {b: YES for b in names if b != a} for a in names},
        granted=granted(names),
        pageable_access=dict.fromkeys(names, changes.get("pageable_access", False)),
        host_access=dict.fromkeys(names, changes.get("host_access", False)),
        host_memory_bytes=512 * GIB,
    )
    return topology, capabilities
