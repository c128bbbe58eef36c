"""Discovery source: a machine model. Real discovery reads files generated from it.

The model's sysfs and procfs are written to a temporary folder; devices that only a management library shows
are passed in that library's form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from byteways.base.private_folder import private_folder
from byteways.machine import link_rates
from byteways.machine.discovery import discover
from byteways.machine.model import Topology
from byteways.machine.nics import SLINGSHOT
from byteways.machine.nvml import FabricLink, ManagementDevice
from byteways.machine.sysfs_writer import (
    CacheSpec,
    CpuSpec,
    GpuSpec,
    LinkSpec,
    MachineSpec,
    NicSpec,
    all_cores,
    write_tree,
)
from byteways.models.check import MODEL_SWITCH
from byteways.models.limits import check_limits
from byteways.models.model import MachineModel

#: Address of a PCI device that is not a GPU.
_SWITCH_ADDRESS = "0000:ff:00.0"
#: PCI vendor of NICs beside GPUs of other vendors than AMD.
_OTHER_NIC = "0x15b3"
#: Names of compute partitioning by the number of GPUs that one becomes; as many as dies is CPX.
_MODES = {1: "SPX", 2: "DPX", 3: "TPX", 4: "QPX"}


def topology_of(
    model: MachineModel,
    runtime_devices: Mapping[str, Mapping[str, Any]] | None = None,
    faults: Sequence[str] = (),
) -> Topology:
    """Returns the topology that discovery finds on the machine; its host is the model's name. Of several
    hosts, the devices are those of the first.

    Args:
        runtime_devices: Fields of `_core.Device` by name, from a simulated worker: those of its own host.
        faults: Links that are down are omitted.

    Raises:
        BytewaysError: The model passes a limit of that topology.
    """
    down = {frozenset(fault.split(":")[1].split("-")) for fault in faults if fault.startswith("down:")}
    machine = spec_of(model, down)
    with private_folder() as folder:
        write_tree(folder, machine)
        found = discover(
            runtime_devices,
            folder / "sys",
            proc=folder / "proc",
            allowed_cores=all_cores(machine),
            management=_devices(model, down),
            environment={},
            host=model.name,
        )
    check_limits(model, found)
    return replace(found, hosts=model.hosts)


def spec_of(model: MachineModel, down: set[frozenset[str]]) -> MachineSpec:
    """Returns what the kernel would report for the machine, without links that are down."""
    cores, domains = model.whole("cpu.cores"), model.each("cpu.domains")
    caches = tuple(
        CacheSpec(
            level,
            "Data" if level == 1 else "Unified",
            model.whole(f"cpu.caches.{level - 1}.bytes") // 1024,
            model.wholes("topology.cache_sharing")[level - 1],
        )
        for level in range(1, model.count("cpu.caches") + 1)
    )
    cpus = tuple(
        CpuSpec(tuple(range(index * cores, (index + 1) * cores)), model.whole("cpu.memory_bytes"), caches)
        for index in range(domains)
    )
    links = [
        LinkSpec(pair.split("-")[0], pair.split("-")[1], "xgmi", width)
        for kind, pair, width, _ in _bundles(model, down)
        if kind == "xgmi" and _on_first_host(model, pair)
    ]
    if model.truth("features.host_access"):
        links += [
            LinkSpec(f"gpu{g}", f"cpu{d}", "package") for g, d in enumerate(model.wholes("gpu.domains"))
        ]
    return MachineSpec(
        model.text_of("cpu.name"),
        cpus,
        tuple(_gpu(model, index) for index in range(model.each("gpu.count"))),
        tuple(links),
        virtual=model.truth("topology.virtual"),
        nics=tuple(_nics(model, down)),
    )


def _on_first_host(model: MachineModel, pair: str) -> bool:
    each = {"cpu": model.each("cpu.domains"), "gpu": model.each("gpu.count")}
    return all(int(end[3:]) < each[end[:3]] for end in pair.split("-") if end[:3] in each)


def _nics(model: MachineModel, down: set[frozenset[str]]) -> Iterator[NicSpec]:
    """Yields the NICs of the first host, each in the NUMA domain of its GPU."""
    rates = {pair.split("-")[0]: rate for kind, pair, _, rate in _bundles(model, down) if kind == "network"}
    for kind, pair, _, _ in _bundles(model, down):
        if kind != "nic" or not _on_first_host(model, pair):
            continue
        device, nic = pair.split("-")
        number = int(nic[3:])
        domain = int(device[3:]) if device.startswith("cpu") else model.wholes("gpu.domains")[int(device[3:])]
        yield NicSpec(
            f"0000:{0x10 + number:02x}:00.0",
            domain,
            interface=f"hsn{number}",
            vendor=SLINGSHOT if model.vendor == "amd" else _OTHER_NIC,
            speed_mbits=round(rates.get(nic, 0.0) * 8 / 1e6) or -1,
        )


def _gpu(model: MachineModel, index: int) -> GpuSpec:
    peers = model.whole("gpu.peer_copy_engines")
    return GpuSpec(
        model.texts("gpu.pci_addresses")[index],
        model.wholes("gpu.domains")[index],
        model.text_of("gpu.architecture").split(":")[0],
        model.text_of("gpu.name"),
        model.whole("gpu.multiprocessors"),
        model.whole("gpu.memory_bytes"),
        model.whole("topology.memory_clock_mhz"),
        model.whole("topology.memory_bus_bits"),
        copy_engines=model.whole("gpu.copy_engines") - peers,
        peer_copy_engines=peers,
        pcie_generation=model.whole("topology.pcie_generation") or 4,
        pcie_width=model.whole("topology.pcie_width") or 16,
        partition_modes=tuple(_MODES.get(n, "CPX") for n in model.wholes("topology.compute_partitions")),
        dies=model.whole("topology.dies"),
        clock_mhz=model.whole("topology.clock_mhz"),
        power_limit_watts=model.whole("topology.power_limit_watts") if _tells_power(model, index) else 0,
        caches=_gpu_caches(model),
        line_bytes=model.whole("topology.cache_line_bytes"),
    )


def _tells_power(model: MachineModel, index: int) -> bool:
    """Whether a GPU tells the limit of its package: of the two dies of an MI250, the first."""
    return not model.text_of("gpu.architecture").startswith("gfx90a") or index % 2 == 0


def _gpu_caches(model: MachineModel) -> tuple[CacheSpec, ...]:
    """Returns the caches that KFD lists; none if the model does not have those of a compute unit."""
    data, instruction = model.whole("topology.l1_kib"), model.whole("topology.l1_instruction_kib")
    if not data:
        return ()
    units = model.whole("gpu.multiprocessors") // max(1, model.whole("topology.dies"))
    l2 = model.whole("gpu.l2_bytes") or model.whole("gpu.cache_bytes")
    sharing = model.whole("topology.l1_instruction_sharing")
    first = (CacheSpec(1, "Data", data), CacheSpec(1, "Instruction", instruction, sharing))
    return (*(one for one in first if one.kib), CacheSpec(2, "Unified", l2 // 1024, units))


def _bundles(model: MachineModel, down: set[frozenset[str]]) -> list[tuple[str, str, int, float]]:
    """Returns (kind, pair, width, nominal bytes/s of the bundle per direction) of every link that is up."""
    return [
        (
            model.text_of(f"links.{index}.kind"),
            pair,
            model.whole(f"links.{index}.width"),
            model.number(f"links.{index}.peak_bytes_per_s"),
        )
        for index in range(model.count("links"))
        for pair in model.texts(f"links.{index}.pairs")
        if frozenset(pair.split("-")) not in down
    ]


def _devices(model: MachineModel, down: set[frozenset[str]]) -> list[ManagementDevice]:
    """Returns the GPUs as NVML shows them; empty for another vendor."""
    if model.vendor != "nvidia":
        return []
    addresses = model.texts("gpu.pci_addresses")
    generation, width = model.whole("topology.pcie_generation"), model.whole("topology.pcie_width")
    version = link_rates.nvlink_generation(model.text_of("gpu.architecture"), 0, 0) or 0
    devices = []
    for index, address in enumerate(addresses):
        fabric_links: list[FabricLink] = []
        for kind, pair, count, peak in _bundles(model, down):
            ends = pair.split("-")
            if kind != "nvlink" or f"gpu{index}" not in ends:
                continue
            far = ends[1] if ends[0] == f"gpu{index}" else ends[0]
            remote = ("switch", _SWITCH_ADDRESS) if far == MODEL_SWITCH else ("gpu", addresses[int(far[3:])])
            rate, first = int(link_rates.nvlink_signalling(version, peak / count)), len(fabric_links)
            fabric_links += [FabricLink(first + one, *remote, rate, version) for one in range(count)]
        devices.append(
            ManagementDevice(
                index=index,
                name=model.text_of("gpu.name"),
                uuid="",
                pci_address=address,
                memory_bytes=model.whole("gpu.memory_bytes"),
                memory_clock_mhz=model.whole("topology.memory_clock_mhz"),
                memory_bus_bits=model.whole("topology.memory_bus_bits"),
                pcie_generation=generation,
                pcie_width=width,
                pcie_generation_max=generation,
                pcie_width_max=width,
                fabric_links=tuple(fabric_links),
                numa_domain=model.wholes("gpu.domains")[index],
            )
        )
    return devices
