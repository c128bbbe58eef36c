"""Machines that tests plan and analyse for without being on them: two CPU cores, and H200s behind NVSwitches.

Tests are no package: put this folder on `sys.path` before `import machines`, or load it by path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from byteways.topology.model import Agent, Capabilities, Link, Offer, Topology

MIB = 2**20
GIB = 2**30

HOST_MEMORY = ("pageable", "hugepage", "pinned", "registered", "managed")
CPU_INTERFACES = ("memcpy", "memcpy-mt", "memcpy-stream", "chase")
GPU_INTERFACES = ("copy", "kernel", "kernel-bulk", "chase")
YES = Offer(True)


def no(reason: str) -> Offer:
    return Offer(False, reason)


def cpu_agent(index: int = 0, cores: int = 2, memory_bytes: int = 24 * GIB) -> Agent:
    return Agent(
        f"cpu{index}",
        "cpu",
        "a CPU",
        numa_domain=index,
        cores=tuple(range(index * cores, (index + 1) * cores)),
        memory_bytes=memory_bytes,
        architecture="x86_64",
    )


def gpu_agent(index: int, numa_domain: int = 0) -> Agent:
    return Agent(
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
    topology = Topology("two-cores", (cpu_agent(),))
    no_gpu = no("no GPU runtime was found")
    capabilities = Capabilities(
        agents={"cpu0": {"last_level_cache_bytes": last_level_cache_bytes, "memory_bytes": 24 * GIB}},
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
    cpus = [cpu_agent(index, cores=32, memory_bytes=512 * GIB) for index in range(domains)]
    home = [index * domains // count for index in range(count)]
    agents = [*cpus, *(gpu_agent(index, home[index]) for index in range(count))]
    links = [pcie(home[index], index) for index in range(count)]
    if domains > 1:
        links.append(Link("cpu0", "cpu1", "numa", 1, None, None, None, "not told", "NUMA distance 21"))
    links += [nvlink(index) for index in range(count)] if linked else []
    topology = Topology("gpus", tuple(agents), ("nvswitch",) if linked else (), tuple(links))
    names = topology.names("gpu")
    bulk = {name: no("sm_80 has no bulk copies") if name in without_bulk else YES for name in names}
    capabilities = Capabilities(
        agents={
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
            **{name: {"device": YES, "managed": YES} for name in names},
        },
        interface={
            **{name: dict.fromkeys(CPU_INTERFACES, YES) for name in topology.names("cpu")},
            **{name: {**dict.fromkeys(GPU_INTERFACES, YES), "kernel-bulk": bulk[name]} for name in names},
        },
        peer={
            a: {b: no("the driver refused it") if (a, b) in without_peer else YES for b in names if b != a}
            for a in names
        },
        pageable_access=dict.fromkeys(names, pageable_access),
        host_memory_bytes=512 * GIB * domains,
    )
    return topology, capabilities


def h200x4() -> tuple[Topology, Capabilities]:
    """4×H200, all pairs through NVSwitches, one NUMA domain."""
    topology, capabilities = gpus(4)
    return replace(topology, host="h200x4"), capabilities
