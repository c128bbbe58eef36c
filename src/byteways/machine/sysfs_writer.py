"""Writes a described machine as sysfs and procfs files, which discovery reads like those of a real one.

Used by tests and by machine models. The files are those that sysfs_cpu, sysfs_pcie and kfd read, in the
kernel's format.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from byteways.machine import kfd, link_rates

_TYPE_OF_KIND = {kind: number for number, kind in kfd.KFD_LINK_KINDS.items()}
#: Kinds of a GPU's caches in KFD (HSA_CACHE_TYPE_*: data 1, instruction 2, of a GPU 8).
_CACHE_TYPES = {"Data": 9, "Instruction": 10, "Unified": 11}
#: PCIe weights in KFD: to the CPU, and to a peer through it (kfd_crat.c, kfd_topology.c).
_PCIE_WEIGHT, _PCIE_PEER_WEIGHT = 20, 40
#: MB/s that KFD reports for a link within a package (kfd_crat.c).
_PACKAGE_MBS = 819200
#: MB/s that KFD reports as the minimum of a PCIe link: one lane of generation 1 before encoding.
_PCIE_LEAST_MBS = 312
#: MB/s of one xGMI link in kernels that treat every GPU as gfx90a (amdgpu_amdkfd.c).
_XGMI_MBS = 50000


@dataclass(frozen=True)
class CacheSpec:
    """A cache of every core. `shared_by` is the number of neighbouring cores of the domain; 0 means all."""

    level: int
    kind: str  # "Data", "Instruction", "Unified"
    kib: int
    shared_by: int = 1


@dataclass(frozen=True)
class CpuSpec:
    """One NUMA domain; the N-th is device `cpuN`."""

    cores: tuple[int, ...]  # logical CPUs
    memory_bytes: int
    caches: tuple[CacheSpec, ...] = ()


@dataclass(frozen=True)
class GpuSpec:
    """One GPU, or one partition of a divided one; the N-th is device `gpuN`. Only `gfx…` gets a KFD node.

    Addresses of a device's partitions differ only in the function number.
    """

    pci_address: str  # "0000:c1:00.0"
    cpu: int  # number of its NUMA domain
    architecture: str  # "gfx90a", "sm_90"
    model: str  # as the driver names it, "AMD Instinct MI250X"
    compute_units: int
    memory_bytes: int
    memory_clock_mhz: int
    memory_bus_bits: int
    unique_id: int = 0  # 0: unknown
    copy_engines: int = 2
    peer_copy_engines: int = 0
    pcie_generation: int = 4
    pcie_width: int = 16
    bridges: tuple[str, ...] = ()  # addresses of the bridges above it, root port first
    compute_partition: str | None = None  # "SPX", "CPX"
    memory_partition: str | None = None  # "NPS1"
    partition_modes: tuple[str, ...] = ()
    dies: int = 0  # 0, and below: unknown
    clock_mhz: int = 0
    power_limit_watts: int = 0
    caches: tuple[CacheSpec, ...] = ()  # `shared_by` counts compute units
    line_bytes: int = 0


@dataclass(frozen=True)
class NicSpec:
    """A network interface. `port` and `port_rate` are of an RDMA device: "mlx5_0", "400 Gb/sec (4X NDR)"."""

    pci_address: str
    cpu: int  # number of its NUMA domain
    interface: str | None = None  # "hsn0"
    vendor: str = "0x15b3"
    speed_mbits: int = -1  # of the interface; -1 as the kernel writes it: unknown
    port: str | None = None
    port_rate: str = ""
    up: bool = True
    pcie_generation: int = 4
    pcie_width: int = 16
    bridges: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkSpec:
    """A bundle of equal links between `gpuN` and `gpuM`, or `gpuN` and `cpuM`.

    A GPU without a link to a CPU is connected by PCIe. Partitions of one device need no links between them.
    Any xGMI link means that the packages of all divided devices are connected: KFD has no further detail.
    """

    a: str
    b: str
    kind: str  # "xgmi", or "package" for a GPU and the CPU whose memory it shares
    count: int = 1


@dataclass(frozen=True)
class MachineSpec:
    """A machine. The order of the lists numbers the devices."""

    processor: str
    cpus: tuple[CpuSpec, ...]
    gpus: tuple[GpuSpec, ...] = ()
    links: tuple[LinkSpec, ...] = ()
    distances: tuple[tuple[int, ...], ...] = ()  # [from, to]; empty: 10 within a domain, 12 between two
    virtual: bool = False
    nics: tuple[NicSpec, ...] = ()
    noretry: int = -1  # boot setting of XNACK: -1 the driver's choice, 0 on, 1 off
    xgmi_mbs: int = _XGMI_MBS  # reported by this machine's driver for one link


def write_tree(folder: Path, machine: MachineSpec) -> None:
    """Writes `folder`/sys and `folder`/proc, for the arguments `sysfs` and `proc` of discover().

    Raises:
        OSError: A file cannot be written.
        ValueError: A link names a device that the machine lacks.
    """
    for link in machine.links:
        _check(machine, link.a)
        _check(machine, link.b)
    sysfs = folder / "sys"
    for number, cpu in enumerate(machine.cpus):
        _write_cpu(sysfs, number, cpu, machine)
    memory = sum(cpu.memory_bytes for cpu in machine.cpus) // 1024
    flags = "fpu hypervisor" if machine.virtual else "fpu"
    write_file(
        folder / "proc/cpuinfo", f"processor\t: 0\nmodel name\t: {machine.processor}\nflags\t\t: {flags}"
    )
    write_file(folder / "proc/meminfo", f"MemTotal:       {memory} kB")
    for number, gpu in enumerate(machine.gpus):
        _write_pci(sysfs, number, gpu)
    for nic in machine.nics:
        _write_nic(sysfs, nic)
    if any(gpu.architecture.startswith("gfx") for gpu in machine.gpus):
        write_file(sysfs / "module/amdgpu/parameters/noretry", str(machine.noretry))
        for number, cpu in enumerate(machine.cpus):
            place = sysfs / kfd.NODES / str(number)
            write_file(place / "gpu_id", "0")
            write_file(place / "name", "")
            _properties(place, {"cpu_cores_count": len(cpu.cores), "simd_count": 0})
            bank = {"heap_type": 0, "size_in_bytes": cpu.memory_bytes}
            _properties(place / "mem_banks/0", bank)
        for number, gpu in enumerate(machine.gpus):
            if gpu.architecture.startswith("gfx"):
                _write_node(sysfs, number, gpu, machine)


def all_cores(machine: MachineSpec) -> list[int]:
    """Returns the logical CPUs of all NUMA domains, for the argument `allowed_cores` of discover()."""
    return sorted(core for cpu in machine.cpus for core in cpu.cores)


def _check(machine: MachineSpec, name: str) -> None:
    count = len(machine.cpus if name.startswith("cpu") else machine.gpus)
    if name[:3] not in ("cpu", "gpu") or not name[3:].isdigit() or int(name[3:]) >= count:
        raise ValueError(f"a link names {name}, which the machine does not have")


def write_file(path: Path, content: str | bytes) -> None:
    """Writes a file of the tree with the folders above it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())


def _properties(place: Path, values: dict[str, int]) -> None:
    write_file(place / "properties", "\n".join(f"{name} {value}" for name, value in values.items()))


def _write_cpu(sysfs: Path, number: int, cpu: CpuSpec, machine: MachineSpec) -> None:
    folder = sysfs / f"devices/system/node/node{number}"
    distances = [10 if other == number else 12 for other in range(len(machine.cpus))]
    if machine.distances:
        distances = list(machine.distances[number])
    write_file(folder / "cpulist", ",".join(str(core) for core in cpu.cores))
    write_file(folder / "distance", " ".join(str(distance) for distance in distances))
    write_file(folder / "meminfo", f"Node {number} MemTotal:       {cpu.memory_bytes // 1024} kB")
    # Of the first core only: discovery reads no other, and writing 128 cores would take a second.
    for index, cache in enumerate(cpu.caches):
        shared = ",".join(str(core) for core in cpu.cores[: cache.shared_by or len(cpu.cores)])
        values = {
            "level": str(cache.level),
            "type": cache.kind,
            "size": f"{cache.kib}K",
            "shared_cpu_list": shared,
            "coherency_line_size": "64",
        }
        for name, text in values.items():
            write_file(sysfs / f"devices/system/cpu/cpu{cpu.cores[0]}/cache/index{index}/{name}", text)


def _write_pci(sysfs: Path, number: int, gpu: GpuSpec) -> None:
    """Writes the PCI device below its bridges, once for all its partitions, and its DRM card."""
    amd = gpu.architecture.startswith("gfx")
    device = f"{gpu.pci_address.rpartition('.')[0]}.0"
    kind = ("0x1002" if amd else "0x10de", "0x038000" if amd else "0x030200")
    folder = _write_chain(sysfs, (*gpu.bridges, device), gpu, kind)
    if amd:
        write_file(folder / "product_name", gpu.model)
        for word, mode in (("compute", gpu.compute_partition), ("memory", gpu.memory_partition)):
            if mode:
                write_file(folder / f"current_{word}_partition", mode)
        if gpu.partition_modes:
            write_file(folder / "available_compute_partition", ", ".join(gpu.partition_modes))
        if gpu.power_limit_watts:
            write_file(folder / "hwmon/hwmon0/power1_cap_default", str(gpu.power_limit_watts * 1_000_000))
        write_link(sysfs / f"class/drm/card{number}/device", folder)


def _write_nic(sysfs: Path, nic: NicSpec) -> None:
    """Writes the PCI device of a NIC below its bridges, its interface and its RDMA port."""
    folder = _write_chain(sysfs, (*nic.bridges, nic.pci_address), nic, (nic.vendor, "0x020000"))
    if nic.interface:
        place = sysfs / "class/net" / nic.interface
        write_file(place / "speed", str(nic.speed_mbits))
        write_file(place / "operstate", "up" if nic.up else "down")
        write_link(place / "device", folder)
    if nic.port:
        place = sysfs / "class/infiniband" / nic.port
        write_file(place / "node_guid", f"0000:{nic.pci_address.replace(':', '')[:4]}:0000:0001")
        write_file(place / "ports/1/rate", nic.port_rate)
        write_file(place / "ports/1/state", "4: ACTIVE" if nic.up else "1: DOWN")
        write_link(place / "device", folder)


def _write_chain(sysfs: Path, chain: tuple[str, ...], spec: GpuSpec | NicSpec, kind: tuple[str, str]) -> Path:
    """Writes a PCI device, the last of `chain`, below its bridges; returns its folder."""
    speed = link_rates.pcie_transfers(spec.pcie_generation) / 1e9
    folder = sysfs
    for depth, address in enumerate(chain, start=1):
        folder = sysfs.joinpath("devices/pci0000:00", *chain[:depth])
        vendor, device_class = kind if depth == len(chain) else ("0x1022", "0x060400")
        for which in ("max", "current"):
            write_file(folder / f"{which}_link_speed", f"{speed:.1f} GT/s PCIe")
            write_file(folder / f"{which}_link_width", str(spec.pcie_width))
        write_file(folder / "numa_node", str(spec.cpu))
        write_file(folder / "vendor", vendor)
        write_file(folder / "class", device_class)
        write_link(sysfs / "bus/pci/devices" / address, folder)
    return folder


def write_link(place: Path, target: Path) -> None:
    """Writes a link to a folder of the tree unless it exists. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.is_symlink():
        place.symlink_to(target.resolve())


def _write_node(sysfs: Path, number: int, gpu: GpuSpec, machine: MachineSpec) -> None:
    """Writes the KFD node of a GPU, after those of the CPUs."""
    place = sysfs / kfd.NODES / str(len(machine.cpus) + number)
    domain, bus, rest = gpu.pci_address.split(":")
    slot, function = rest.split(".")
    location = int(bus, 16) << 8 | int(slot, 16) << 3 | int(function, 16)
    version = gpu.architecture.removeprefix("gfx")
    links = _cpu_links(number, gpu, machine)
    peers: list[dict[str, int]] = []
    for other in range(len(machine.gpus)):
        if other != number:
            link = _peer_link(number, other, machine)
            (links if link["type"] == _TYPE_OF_KIND["xgmi"] else peers).append(link)
    write_file(place / "gpu_id", str(1000 + number))
    write_file(place / "name", gpu.architecture)
    _properties(
        place,
        {
            "cpu_cores_count": 0,
            "simd_count": gpu.compute_units * 4,
            "mem_banks_count": 1,
            "io_links_count": len(links),
            "p2p_links_count": len(peers),
            "simd_per_cu": 4,
            "gfx_target_version": int(version[:-2]) * 10000
            + int(version[-2], 16) * 100
            + int(version[-1], 16),
            "vendor_id": 0x1002,
            "device_id": 0,
            "location_id": location,
            "domain": int(domain, 16),
            "num_sdma_engines": gpu.copy_engines,
            "num_sdma_xgmi_engines": gpu.peer_copy_engines,
            "capability": kfd.SHARED_MEMORY_SUPPORTED,
            "unique_id": gpu.unique_id,
            **({"num_xcc": gpu.dies} if gpu.dies else {}),
            **({"max_engine_clk_fcompute": gpu.clock_mhz} if gpu.clock_mhz else {}),
        },
    )
    for index, cache in enumerate(gpu.caches):
        _write_gpu_cache(place / "caches" / str(index), cache, gpu)
    bank = {
        "heap_type": kfd.DEVICE_HEAPS[0],
        "size_in_bytes": gpu.memory_bytes,
        "width": gpu.memory_bus_bits,
        "mem_clk_max": gpu.memory_clock_mhz,
    }
    _properties(place / "mem_banks/0", bank)
    for name, entries in (("io_links", links), ("p2p_links", peers)):
        for index, entry in enumerate(entries):
            _properties(place / name / str(index), {**entry, "node_from": len(machine.cpus) + number})


def _write_gpu_cache(place: Path, cache: CacheSpec, gpu: GpuSpec) -> None:
    """Writes one cache of each kind; the driver lists all of a GPU's."""
    units = gpu.compute_units
    shared = cache.shared_by or units
    values = {
        "level": cache.level,
        "size": cache.kib,
        "cache_line_size": gpu.line_bytes,
        "type": _CACHE_TYPES[cache.kind],
        "sibling_map": ",".join("1" if unit < shared else "0" for unit in range(units)),
    }
    write_file(place / "properties", "\n".join(f"{name} {value}" for name, value in values.items()))


def _entry(to_node: int, kind: str, weight: int, least: int, most: int) -> dict[str, int]:
    return {
        "type": _TYPE_OF_KIND[kind],
        "node_to": to_node,
        "weight": weight,
        "min_bandwidth": least,
        "max_bandwidth": most,
    }


def _cpu_links(number: int, gpu: GpuSpec, machine: MachineSpec) -> list[dict[str, int]]:
    """Returns the single link to a CPU node that KFD shows."""
    for link in machine.links:
        if f"gpu{number}" in (link.a, link.b) and "cpu" in link.a + link.b:
            cpu = int((link.b if link.a == f"gpu{number}" else link.a)[3:])
            if link.kind == "package":
                return [_entry(cpu, "xgmi", kfd.PACKAGE_WEIGHT, _PACKAGE_MBS, _PACKAGE_MBS)]
            mbs = machine.xgmi_mbs
            return [_entry(cpu, "xgmi", kfd.XGMI_WEIGHT, mbs, mbs * link.count)]
    return [_entry(gpu.cpu, "pcie", _PCIE_WEIGHT, _PCIE_LEAST_MBS, _pcie_mbs(gpu))]


def _pcie_mbs(gpu: GpuSpec) -> int:
    """Returns the driver's value without encoding: 16000 for generation 3 with 16 lanes."""
    return gpu.pcie_width * (125 << gpu.pcie_generation)


def _peer_link(number: int, other: int, machine: MachineSpec) -> dict[str, int]:
    """Returns KFD's entry for another GPU: a bundle, a route over others without a rate, or PCIe."""
    node = len(machine.cpus) + other
    mine, theirs = machine.gpus[number], machine.gpus[other]
    devices = [gpu.pci_address.rpartition(".")[0] for gpu in machine.gpus]
    if devices[number] == devices[other]:
        return _entry(node, "xgmi", kfd.PACKAGE_WEIGHT, _PACKAGE_MBS, _PACKAGE_MBS)
    divided = devices.count(devices[number]) > 1 or devices.count(devices[other]) > 1
    bundles = {
        frozenset((link.a, link.b)): link.count
        for link in machine.links
        if link.kind == "xgmi" and "cpu" not in link.a + link.b
    }
    count = bundles.get(frozenset((f"gpu{number}", f"gpu{other}")))
    if divided and bundles:
        return _entry(node, "xgmi", kfd.PARTITION_WEIGHT, 0, 0)
    if count:
        return _entry(node, "xgmi", kfd.XGMI_WEIGHT, machine.xgmi_mbs, machine.xgmi_mbs * count)
    hops = _hops(f"gpu{number}", f"gpu{other}", list(bundles))
    if hops:
        return _entry(node, "xgmi", kfd.XGMI_WEIGHT * hops, 0, 0)
    weight = _PCIE_PEER_WEIGHT if mine.cpu == theirs.cpu else _PCIE_PEER_WEIGHT + 12
    most = min(_pcie_mbs(mine), _pcie_mbs(theirs))
    return _entry(node, "pcie", weight, _PCIE_LEAST_MBS, most)


def _hops(start: str, end: str, bundles: Sequence[frozenset[str]]) -> int:
    """Returns the number of links on the shortest route between two GPUs; 0 without one."""
    distance = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for bundle in bundles:
            if here in bundle:
                (there,) = bundle - {here}
                if there not in distance:
                    distance[there] = distance[here] + 1
                    queue.append(there)
    return distance.get(end, 0)
