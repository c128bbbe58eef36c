"""Small machines for tests: sysfs and procfs trees in a folder, and what NVML and a runtime tell of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from byteways.machine.discovery import discover
from byteways.machine.model import Capabilities, Offer, Topology


@dataclass
class FabricLink:
    """Fields of byteways._core.FabricLink."""

    index: int
    active: bool = True
    version: int = 4
    remote_kind: str = "switch"
    remote_pci_address: str = ""
    signalling_bytes_per_s: int = 26_562_500_000


@dataclass
class ManagementDevice:
    """Fields of byteways._core.ManagementDevice, of an H200 unless told otherwise."""

    index: int
    pci_address: str
    uuid: str
    name: str = "NVIDIA H200"
    memory_bytes: int = 143_771 * 2**20
    memory_clock_mhz: int = 3201
    memory_bus_bits: int = 6144
    pcie_generation: int = 5
    pcie_width: int = 16
    pcie_generation_max: int = 5
    pcie_width_max: int = 16
    fabric_links: list[FabricLink] = field(default_factory=list)
    mig_enabled: bool = False
    compute_mode: str = "default"
    compute_processes: int = 0
    numa_domain: int = -1


@dataclass
class Machine:
    """Everything that discovery reads."""

    sysfs: Path
    proc: Path
    cores: Sequence[int]
    runtime: Mapping[str, Mapping[str, Any]] | None = None
    management: list[ManagementDevice] = field(default_factory=list)

    def topology(self, **changes: Any) -> Topology:
        """What discover() makes of it, with other arguments where `changes` says so."""
        arguments = {
            "runtime_devices": self.runtime,
            "sysfs": self.sysfs,
            "proc": self.proc,
            "allowed_cores": self.cores,
            "management": self.management,
            "environment": {},
            "host": "node1",
        }
        return discover(**{**arguments, **changes})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def add_cores(root: Path, cores: Sequence[int], level3: str, size3: str) -> None:
    """Cores with an L1d, L1i and L2 of their own and a shared L3."""
    for core in cores:
        caches = [
            (1, "Data", "48K", str(core)),
            (1, "Instruction", "32K", str(core)),
            (2, "Unified", "2048K", str(core)),
            (3, "Unified", size3, level3),
        ]
        for index, (level, kind, size, shared) in enumerate(caches):
            folder = root / f"sys/devices/system/cpu/cpu{core}/cache/index{index}"
            write(folder / "level", str(level))
            write(folder / "type", kind)
            write(folder / "size", size)
            write(folder / "coherency_line_size", "64")
            write(folder / "shared_cpu_list", shared)


def add_domain(root: Path, domain: int, cpulist: str, memory_kib: int, distance: str) -> None:
    folder = root / f"sys/devices/system/node/node{domain}"
    write(folder / "cpulist", cpulist)
    write(folder / "distance", distance)
    write(folder / "meminfo", f"Node {domain} MemTotal:       {memory_kib} kB\nNode {domain} MemFree:  1 kB")


def add_pci(
    root: Path,
    chain: Sequence[str],
    speed: str,
    width: int,
    numa: int = 0,
    current: tuple[str, int] | None = None,
) -> None:
    """A PCI device at the end of a chain of bridges; those above it exist already."""
    folder = root.joinpath("sys/devices/pci0000:00", *chain)
    now_speed, now_width = current or (speed, width)
    write(folder / "max_link_speed", speed)
    write(folder / "max_link_width", str(width))
    write(folder / "current_link_speed", now_speed)
    write(folder / "current_link_width", str(now_width))
    write(folder / "numa_node", str(numa))
    write(folder / "vendor", "0x10de")
    write(
        folder / "class", "0x030200" if len(chain) % 2 == 0 or chain[-1].startswith("0000:00") else "0x060400"
    )
    link = root / "sys/bus/pci/devices" / chain[-1]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder)


def add_processor(root: Path, model: str, virtual: bool) -> None:
    write(
        root / "proc/cpuinfo",
        f"processor\t: 0\nmodel name\t: {model}\nflags\t\t: fpu{' hypervisor' if virtual else ''}",
    )
    write(root / "proc/meminfo", "MemTotal:        8000000 kB")


def runtime_gpu(index: int, pci_address: str, uuid: str, **changes: Any) -> dict[str, Any]:
    """Fields of _core.Device of an H200."""
    return {
        "name": f"gpu{index}",
        "runtime": "cuda",
        "runtime_version": "13.0",
        "model": "NVIDIA H200",
        "uuid": uuid,
        "pci_address": pci_address,
        "architecture": "sm_90",
        "numa_domain": 0,
        "multiprocessors": 132,
        "memory_bytes": 143_771 * 2**20,
        "last_level_cache_bytes": 60 * 2**20,
        "memory_bytes_per_s": 4_916_736_000_000,
        "copy_engines": 3,
        "pageable_access": False,
        **changes,
    }


def runtime_cpu(domain: int, **changes: Any) -> dict[str, Any]:
    return {
        "name": f"cpu{domain}",
        "runtime": "host",
        "numa_domain": domain,
        "architecture": "x86_64",
        **changes,
    }


def bare_vm(root: Path) -> Machine:
    """Two cores, one NUMA domain, no GPU."""
    add_cores(root, [0, 1], "0-1", "32768K")
    add_domain(root, 0, "0-1", 8_000_000, "10")
    add_processor(root, "Toy Processor", virtual=True)
    return Machine(root / "sys", root / "proc", [0, 1], {"cpu0": runtime_cpu(0)})


def h200x4(root: Path) -> Machine:
    """Four H200 in a virtual machine that hides the NVSwitches, 64 cores in one NUMA domain."""
    cores = range(64)
    add_cores(root, [0], "0-63", "107520K")
    add_domain(root, 0, "0-63", 528_000_000, "10")
    add_processor(root, "Toy Server Processor", virtual=True)
    machine = Machine(root / "sys", root / "proc", cores, {"cpu0": runtime_cpu(0)})
    devices = dict(machine.runtime or {})
    for index in range(4):
        address, uuid = f"0000:00:0{5 + index}.0", f"GPU-0000000{index}-0000-0000-0000-000000000000"
        add_pci(root, [address], "32.0 GT/s PCIe", 16)
        links = [FabricLink(number, remote_kind="unknown") for number in range(18)]
        device = ManagementDevice(
            index, address.upper().replace("0000:", "00000000:", 1), uuid, fabric_links=links
        )
        machine.management.append(replace(device, pcie_generation=1))
        devices[f"gpu{index}"] = runtime_gpu(index, address, uuid)
    return replace(machine, runtime=devices)


def switched_server(root: Path) -> Machine:
    """Bare metal: two domains; two GPUs below a shared switch at domain 0, one behind its own at domain 1.

    The lone GPU's uplink is narrower than its own link. No NVML.
    """
    add_cores(root, [0, 2], "0-1", "32768K")
    add_domain(root, 0, "0-1", 64_000_000, "10 21")
    add_domain(root, 1, "2-3", 64_000_000, "21 10")
    add_processor(root, "Toy Server Processor", virtual=False)
    shared = ["0000:00:01.0", "0000:01:00.0"]
    alone = ["0000:00:02.0", "0000:11:00.0"]
    gpus = {
        "gpu0": [*shared, "0000:02:00.0", "0000:03:00.0"],
        "gpu1": [*shared, "0000:02:01.0", "0000:04:00.0"],
        "gpu2": [*alone, "0000:12:00.0", "0000:13:00.0"],
    }
    for chain in (shared, alone):
        width = 16 if chain is shared else 4
        add_pci(root, chain[:1], "16.0 GT/s PCIe", width)
        add_pci(root, chain, "16.0 GT/s PCIe", width)
    for name, chain in gpus.items():
        numa = 1 if name == "gpu2" else 0
        add_pci(root, chain[:3], "16.0 GT/s PCIe", 16, numa)
        add_pci(root, chain, "32.0 GT/s PCIe", 16, numa, current=("2.5 GT/s PCIe", 16))
    runtime = {f"cpu{domain}": runtime_cpu(domain) for domain in range(2)}
    runtime |= {name: runtime_gpu(i, chain[-1], f"GPU-{i}") for i, (name, chain) in enumerate(gpus.items())}
    return Machine(root / "sys", root / "proc", [0, 1, 2, 3], runtime)


#: Fields of _core.LibraryReport of a library in order, of one that was not found, and a function that lacks.
FOUND = {
    "library": "cuda-driver",
    "usable": True,
    "path": "/usr/lib/libcuda.so.1",
    "found_by": "dynamic linker",
    "version": "driver 13.0",
    "searched": ["libcuda.so.1"],
    "missing": [],
    "reason": "",
    "hint": "",
}
ABSENT = {
    **FOUND,
    "usable": False,
    "path": "",
    "found_by": "",
    "version": "",
    "searched": ["libcuda.so.1", "libcuda.so", "/opt/a/libcuda.so", "/opt/b/libcuda.so"],
    "reason": "not found",
    "hint": "install the driver",
}
BULK = {"name": "cuFuture", "introduced_in": "13.5", "required": False}


def capabilities(machine: Machine, **changes: Any) -> Capabilities:
    """What a worker would find on a machine where everything works."""
    devices = dict(machine.runtime or {})
    gpus = [name for name in devices if name.startswith("gpu")]
    yes = Offer(True)
    return Capabilities(
        devices=devices,
        memory={name: {"pageable" if name == "cpu0" else "device": yes} for name in devices},
        interface={name: {"memcpy" if name == "cpu0" else "copy": yes} for name in devices},
        peer=changes.pop("peer", {a: {b: yes for b in gpus if a != b} for a in gpus}),
        **changes,
    )


def add_nic(
    root: Path, chain: Sequence[str], *, interface: str = "", speed: int = -1, port: str = "", rate: str = ""
) -> None:
    """The interface and the RDMA port of a PCI device that exists."""
    device = (root / "sys/bus/pci/devices" / chain[-1]).resolve()
    for name, folder in ((interface, "class/net"), (port, "class/infiniband")):
        if name:
            place = root / "sys" / folder / name
            place.mkdir(parents=True)
            (place / "device").symlink_to(device)
    if interface:
        write(root / f"sys/class/net/{interface}/speed", str(speed))
        write(root / f"sys/class/net/{interface}/operstate", "up")
    if port:
        write(root / f"sys/class/infiniband/{port}/ports/1/rate", rate)
        write(root / f"sys/class/infiniband/{port}/ports/1/state", "4: ACTIVE")
        write(root / f"sys/class/infiniband/{port}/node_guid", "b83f:d203:00aa:1234")


def server_with_nics(root: Path) -> Machine:
    """The switched server with an InfiniBand NIC below the shared switch, one beside the lone GPU, an
    Ethernet NIC at the root of domain 1, and interfaces without a device.
    """
    machine = switched_server(root)
    shared, alone = ["0000:00:01.0", "0000:01:00.0"], ["0000:00:02.0", "0000:11:00.0"]
    near = [*shared, "0000:02:02.0", "0000:05:00.0"]
    add_pci(root, near[:3], "32.0 GT/s PCIe", 16, 0)
    add_pci(root, near, "32.0 GT/s PCIe", 16, 0)
    add_nic(root, near, interface="ib0", port="mlx5_0", rate="400 Gb/sec (4X NDR)")
    beside = [*alone, "0000:12:01.0", "0000:14:00.0"]
    add_pci(root, beside[:3], "32.0 GT/s PCIe", 16, 1)
    add_pci(root, beside, "32.0 GT/s PCIe", 16, 1)
    add_nic(root, beside, port="mlx5_1", rate="400 Gb/sec (4X NDR)")
    ethernet = ["0000:20:00.0"]
    add_pci(root, ethernet, "8.0 GT/s PCIe", 4, 1)
    add_nic(root, ethernet, interface="eth0", speed=25000)
    for name in ("lo", "veth1", "docker0"):
        write(root / f"sys/class/net/{name}/operstate", "up")
    return machine
