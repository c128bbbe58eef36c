"""Discovery source: the compute topology of AMD's kernel driver (KFD), from Linux sysfs.

Field names and meanings are those of the kernel: drivers/gpu/drm/amd/amdkfd, kfd_topology.c and kfd_crat.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from byteways.machine.kfd_caches import read_caches
from byteways.machine.model import Cache
from byteways.machine.sysfs_cpu import read_text
from byteways.machine.sysfs_pcie import GPU_VENDORS, canonical_address

NODES = "class/kfd/kfd/topology/nodes"
#: Link types (`CRAT_IOLINK_TYPE_*`) that the topology includes.
KFD_LINK_KINDS = {2: "pcie", 11: "xgmi"}
#: Weight of one xGMI hop and of a link within a package (`KFD_CRAT_XGMI_WEIGHT`, `…_INTRA_SOCKET_…`).
XGMI_WEIGHT, PACKAGE_WEIGHT = 15, 13
#: Weight between partitions of two packages: out of one, across, into the other.
PARTITION_WEIGHT = 2 * PACKAGE_WEIGHT + XGMI_WEIGHT
#: Heaps of a memory bank that are device memory (`HSA_MEM_HEAP_TYPE_FB_PUBLIC`, `…_PRIVATE`).
DEVICE_HEAPS = (1, 2)
#: Bit of `capability` (include/uapi/linux/kfd_sysfs.h, HSA_CAP_SVMAPI_SUPPORTED).
SHARED_MEMORY_SUPPORTED = 0x08000000
#: Marketing names by PCI device id, for kernels without `product_name`: amdgpu.ids of libdrm; of MI200 and
#: later the table of AMD's virtualisation driver (amdgv_marketing_name.c); of MI300A pci-ids.ucw.cz, vendor
#: 1002. "VF" is a virtual function, as guests see it.
MODELS = {
    0x6860: "AMD Radeon Instinct MI25",
    0x6864: "AMD Radeon Instinct MI25x2",
    0x686C: "AMD Radeon Instinct MI25 MxGPU",
    0x66A1: "AMD Instinct MI60/MI50",
    0x738C: "AMD Instinct MI100",
    0x7408: "AMD Instinct MI250X",
    0x740C: "AMD Instinct MI250X/MI250",
    0x740F: "AMD Instinct MI210",
    0x74A0: "AMD Instinct MI300A",
    0x74A1: "AMD Instinct MI300X",
    0x74A2: "AMD Instinct MI308X",
    0x74A5: "AMD Instinct MI325X",
    0x74A8: "AMD Instinct MI308X",
    0x74A9: "AMD Instinct MI300X HF",
    0x74B5: "AMD Instinct MI300X VF",
    0x74B6: "AMD Instinct MI308X VF",
    0x74BC: "AMD Instinct MI308X VF",
    0x74BD: "AMD Instinct MI300X HF",
    0x75A0: "AMD Instinct MI350X",
    0x75A3: "AMD Instinct MI355X",
    0x75B0: "AMD Instinct MI350X VF",
    0x75B3: "AMD Instinct MI355X VF",
    0x7460: "AMD Radeon PRO V710",
    0x7461: "AMD Radeon PRO V710",
}
#: Transfers per memory clock: two for HBM2 and HBM2e; four for HBM3, whose clock the driver reports at a
#: quarter of the data rate (MI300X: 8192 bit × 1300 MHz × 4 = 5.3 TB/s, as in the data sheet).
_HBM3_ARCHITECTURES = ("gfx942", "gfx950")


def pci_model(vendor: str, device: str) -> str:
    """Returns what vendor and device number on the PCI bus (`0x1002`, `0x74a1`) say of a GPU's model."""
    maker = GPU_VENDORS.get(vendor.lower())
    number = int(device, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,4}", device) else 0
    if maker == "AMD" and number in MODELS:
        return MODELS[number]
    return f"{maker or 'unknown'} GPU{f', PCI device {device}' if number else ''}"


@dataclass(frozen=True)
class KfdLink:
    """One entry of `io_links` or `p2p_links`; unknown rates are None."""

    to_node: int
    kind: str  # a value of LINK_KINDS, otherwise "type N"
    weight: int
    one_link_bytes_per_s: float | None
    bundle_bytes_per_s: float | None

    @property
    def count(self) -> int:
        """Number of links in the bundle; 0 without a rate, as for peers reached over other GPUs."""
        if not self.one_link_bytes_per_s or not self.bundle_bytes_per_s:
            return 0
        return max(1, round(self.bundle_bytes_per_s / self.one_link_bytes_per_s))


@dataclass(frozen=True)
class KfdGpu:
    """One GPU node. Addresses of a device's partitions differ only in the function number."""

    node: int
    pci_address: str | None
    uuid: str | None
    model: str | None
    architecture: str | None
    compute_units: int | None
    memory_bytes: int | None
    memory_clock_mhz: int
    memory_bus_bits: int
    copy_engines: int | None
    peer_copy_engines: int | None
    shared_memory_supported: bool
    partition: str | None
    partition_modes: tuple[str, ...]  # that the device offers: "SPX", "CPX"
    dies: int | None  # that compute: accelerator dies of the node
    clock_mhz: int | None  # highest of the compute units
    power_limit_watts: float | None  # the driver's default, of the package; unknown for its second die
    caches: tuple[Cache, ...]
    links: tuple[KfdLink, ...]  # io_links, then p2p_links

    @property
    def device_address(self) -> str | None:
        """PCI address of the device that this node is, or is a partition of."""
        return f"{self.pci_address.rpartition('.')[0]}.0" if self.pci_address else None

    @property
    def memory_peak(self) -> float | None:
        """Nominal memory bandwidth in bytes/s, shared by reads and writes."""
        return self.memory_clock_mhz * 1e6 * self.memory_bus_bits / 8 * self.transfers_a_clock or None

    @property
    def transfers_a_clock(self) -> int:
        """Transfers per clock as reported by the driver."""
        return 4 if self.architecture in _HBM3_ARCHITECTURES else 2


@dataclass(frozen=True)
class Kfd:
    """The driver's data: GPUs in its order, which is the runtime's, and its CPU nodes in NUMA order."""

    gpus: tuple[KfdGpu, ...] = ()
    cpu_nodes: tuple[int, ...] = ()
    numa_domains: tuple[int, ...] = ()  # online ones, in their order
    page_faults: Mapping[str, str] = field(default_factory=dict)  # by architecture
    notes: tuple[str, ...] = ()

    def numa_index(self, gpu: KfdGpu) -> int | None:
        """Returns the index of the nearest CPU node linked to the GPU."""
        near = sorted((link.weight, link.to_node) for link in gpu.links if link.to_node in self.cpu_nodes)
        return self.cpu_nodes.index(near[0][1]) if near else None


def architecture(gfx_target_version: int) -> str | None:
    """Returns `gfx90a` for 90010: two digits each for minor version and stepping, hexadecimal in the name."""
    if gfx_target_version <= 0:
        return None
    major, rest = divmod(gfx_target_version, 10000)
    minor, stepping = divmod(rest, 100)
    return f"gfx{major}{minor:x}{stepping:x}"


def pci_address(domain: int, location_id: int) -> str:
    """Returns the PCI address of a location id: bus in bits 8 to 15, device in 3 to 7, function in 0 to 2."""
    return f"{domain:04x}:{location_id >> 8 & 0xFF:02x}:{location_id >> 3 & 0x1F:02x}.{location_id & 7:x}"


def read_properties(path: Path) -> dict[str, int]:
    """Parses `name value` lines of a properties file; non-numbers are ignored, a missing file is empty."""
    found = {}
    for line in (read_text(path) or "").splitlines():
        name, _, value = line.strip().partition(" ")
        if value.strip().isdigit():
            found[name] = int(value)
    return found


def read(sysfs: Path) -> Kfd:
    """Reads the driver's topology. Never raises: most machines lack this driver."""
    folder = sysfs / NODES
    places = sorted((p for p in folder.glob("*") if p.name.isdigit()), key=lambda place: int(place.name))
    gpus, cpu_nodes, notes = [], [], []
    for place in places:
        properties = read_properties(place / "properties")
        if not properties:
            notes.append(f"KFD: node {place.name} cannot be read; its device may belong to another container")
        elif properties.get("simd_count"):
            gpus.append(_gpu(sysfs, place, properties))
        if properties.get("cpu_cores_count"):
            cpu_nodes.append(int(place.name))
    if places and not gpus:
        notes.append("KFD: the driver is loaded, but reports no GPU")
    faults = {gpu.architecture: _page_faults(sysfs, gpu) for gpu in gpus if gpu.architecture}
    domains = sorted(int(p.name[4:]) for p in (sysfs / "devices/system/node").glob("node[0-9]*"))
    return Kfd(tuple(gpus), tuple(cpu_nodes), tuple(domains), faults, tuple(notes))


def _gpu(sysfs: Path, place: Path, properties: Mapping[str, int]) -> KfdGpu:
    known = "location_id" in properties
    address = pci_address(properties.get("domain", 0), properties["location_id"]) if known else None
    device = sysfs / "bus/pci/devices" / f"{address.rpartition('.')[0]}.0" if address else None
    banks = [read_properties(bank / "properties") for bank in sorted((place / "mem_banks").glob("*"))]
    own = [bank for bank in banks if bank.get("heap_type") in DEVICE_HEAPS]
    simds, simds_a_unit = properties["simd_count"], properties.get("simd_per_cu", 0)
    product = read_text(device / "product_name") if device else None
    return KfdGpu(
        node=int(place.name),
        pci_address=address,
        uuid=f"GPU-{properties['unique_id']:016x}" if properties.get("unique_id") else None,
        model=product or MODELS.get(properties.get("device_id", 0)),
        architecture=architecture(properties.get("gfx_target_version", 0)),
        compute_units=simds // simds_a_unit if simds_a_unit else None,
        memory_bytes=sum(bank.get("size_in_bytes", 0) for bank in own) or None,
        memory_clock_mhz=max((bank.get("mem_clk_max", 0) for bank in own), default=0),
        memory_bus_bits=max((bank.get("width", 0) for bank in own), default=0),
        copy_engines=properties.get("num_sdma_engines"),
        peer_copy_engines=properties.get("num_sdma_xgmi_engines"),
        shared_memory_supported=bool(properties.get("capability", 0) & SHARED_MEMORY_SUPPORTED),
        partition=_partition(device) if device else None,
        partition_modes=_partition_modes(device) if device else (),
        dies=properties.get("num_xcc") or None,
        clock_mhz=properties.get("max_engine_clk_fcompute") or None,
        power_limit_watts=_power_limit(device) if device else None,
        caches=read_caches(place / "caches"),
        links=(*_links(place / "io_links"), *_links(place / "p2p_links")),
    )


def _links(folder: Path) -> list[KfdLink]:
    links = []
    for place in sorted(folder.glob("*"), key=lambda place: (len(place.name), place.name)):
        found = read_properties(place / "properties")
        if "node_to" not in found:
            continue
        kind = KFD_LINK_KINDS.get(found.get("type", 0), f"type {found.get('type', 0)}")
        # The driver reports MB/s of 10^6 bytes: 16 lanes × 25 Gbit/s is 50000.
        one, bundle = (found.get(name, 0) * 1e6 or None for name in ("min_bandwidth", "max_bandwidth"))
        links.append(KfdLink(found["node_to"], kind, found.get("weight", 0), one, bundle))
    return links


def _partition(device: Path) -> str | None:
    """Returns `compute CPX, memory NPS1`; None if the device or this kernel does not support partitions."""
    modes = {word: read_text(device / f"current_{word}_partition") for word in ("compute", "memory")}
    return ", ".join(f"{word} {mode}" for word, mode in modes.items() if mode) or None


def _partition_modes(device: Path) -> tuple[str, ...]:
    told = read_text(device / "available_compute_partition") or ""
    return tuple(mode for part in told.split(",") if (mode := part.strip()))


def _power_limit(device: Path) -> float | None:
    """Returns watts; hwmon counts millionths, and the second die of an MI250X reports 0."""
    told = [read_text(place / "power1_cap_default") for place in sorted((device / "hwmon").glob("hwmon*"))]
    return next((int(text) / 1e6 for text in told if text and text.isdigit() and int(text)), None)


def _page_faults(sysfs: Path, gpu: KfdGpu) -> str:
    """Describes XNACK. The mode is set per process on gfx90a and later gfx9, per boot elsewhere."""
    if not gpu.shared_memory_supported:
        return "XNACK unavailable: the kernel has no shared virtual memory"
    setting = read_text(sysfs / "module/amdgpu/parameters/noretry")
    default = {"0": "on", "1": "off"}.get(setting or "", "the driver's default")
    if gpu.architecture in ("gfx90a", *_HBM3_ARCHITECTURES):
        return f"XNACK per process (HSA_XNACK), boot setting {default}"
    return f"XNACK by boot setting: {default}"


def visible(gpus: Sequence[KfdGpu], environment: Mapping[str, str]) -> list[KfdGpu]:
    """Returns the GPUs that the environment leaves visible, in HIP's numbering.

    ROCR_VISIBLE_DEVICES filters first; if set but empty it hides all. HIP_VISIBLE_DEVICES indexes the rest;
    if unset or empty, CUDA_VISIBLE_DEVICES is used instead. A list ends at its first invalid entry.
    """
    left = list(gpus)
    if "ROCR_VISIBLE_DEVICES" in environment:
        left = _chosen(left, environment["ROCR_VISIBLE_DEVICES"])
    wanted = environment.get("HIP_VISIBLE_DEVICES") or environment.get("CUDA_VISIBLE_DEVICES")
    return _chosen(left, wanted) if wanted else left


def _chosen(gpus: Sequence[KfdGpu], wanted: str) -> list[KfdGpu]:
    chosen: list[KfdGpu] = []
    for entry in (part.strip() for part in wanted.split(",")):
        if entry.isdigit():
            found = [gpus[int(entry)]] if int(entry) < len(gpus) else []
        else:
            found = [gpu for gpu in gpus if entry and gpu.uuid and gpu.uuid.lower() == entry.lower()]
        if len(found) != 1 or found[0] in chosen:
            break
        chosen.append(found[0])
    return chosen


def match(fields: Mapping[str, Any], gpus: Sequence[KfdGpu]) -> KfdGpu | None:
    """Returns the GPU of a runtime's device: by UUID, then by PCI address.

    Partitions of one device may share its UUID; then the address decides, with the function number if the
    runtime reports one.

    Args:
        fields: Of `_core.Device`.
        gpus: From read().
    """
    uuid = (fields.get("uuid") or "").lower()
    same = [gpu for gpu in gpus if uuid and gpu.uuid == uuid.replace("gpu-", "GPU-", 1)]
    if len(same) == 1:
        return same[0]
    address = canonical_address(fields.get("pci_address") or "")
    there = [gpu for gpu in same or gpus if address and gpu.pci_address == address]
    return there[0] if len(there) == 1 else None


def with_names(gpus: Sequence[KfdGpu], models: Mapping[str, str]) -> list[KfdGpu]:
    """Fills in missing GPU models from `models`, by PCI address of the device."""
    return [gpu if gpu.model else replace(gpu, model=models.get(gpu.device_address or "")) for gpu in gpus]
