"""Discovery source: a machine model, which says what the sources of a real machine would.

discovery.join() makes the topology of it. No file is written: tests/machines/model_tree.py writes the model's
sysfs, in which discovery must find the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from byteways.base.devices import device_number, is_cpu
from byteways.machine import link_rates, smbios
from byteways.machine.discovery import BusGpu, Sources, join
from byteways.machine.kfd import Kfd, KfdGpu
from byteways.machine.kfd_described import described
from byteways.machine.model import Cache, Nic, Topology
from byteways.machine.nics import SLINGSHOT, SeenNic, interface_rate
from byteways.machine.nvml import FabricLink, ManagementDevice
from byteways.machine.sysfs_cpu import Cpus, NumaDomain
from byteways.machine.sysfs_pcie import PcieDevice, PciePath, parse_link
from byteways.models.check import MODEL_SWITCH
from byteways.models.limits import check_limits
from byteways.models.model import MachineModel

#: Address of a PCI device that is not a GPU.
_SWITCH_ADDRESS = "0000:ff:00.0"
#: PCI vendor of NICs beside GPUs of other vendors than AMD.
_OTHER_NIC = "0x15b3"
#: Speed and width of a PCI Express link that the model does not state, and of every NIC's.
_PCIE_GENERATION, _PCIE_WIDTH = 4, 16
#: Names of compute partitioning by the number of GPUs that one becomes; as many as dies is CPX.
_MODES = {1: "SPX", 2: "DPX", 3: "TPX", 4: "QPX"}
#: Distances of NUMA domains (ACPI SLIT): the own one, and every other of a machine that says no more.
_OWN_DISTANCE, _OTHER_DISTANCE = 10, 12
#: Bytes of a cache line of CPUs.
_LINE_BYTES = 64
_Down = set[frozenset[str]]


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
    found = join(sources_of(model, links_down(faults)), runtime_devices, environment={}, host=model.name)
    check_limits(model, found)
    return replace(found, hosts=model.hosts)


def links_down(faults: Sequence[str]) -> set[frozenset[str]]:
    """Returns the ends of the links that faults take down."""
    return {frozenset(fault.split(":")[1].split("-")) for fault in faults if fault.startswith("down:")}


def sources_of(model: MachineModel, down: _Down) -> Sources:
    """Returns what the sources would say of the first host, without links that are down."""
    paths = dict(_paths(model))
    virtual, vendor = model.truth("topology.virtual"), model.vendor.upper()
    return Sources(
        Cpus(model.text_of("cpu.name"), virtual, tuple(_domains(model)), ()),
        _driver(model, down),
        management_devices(model, down),
        list(_nics(model, down)),
        smbios.VIRTUAL if virtual else smbios.unreadable("no such file or directory"),
        paths.get,
        lambda: [BusGpu(vendor, address, model.text_of("gpu.name")) for address in sorted(paths)],
    )


def _architecture(model: MachineModel) -> str:
    return model.text_of("gpu.architecture").split(":")[0]


def _domains(model: MachineModel) -> Iterator[NumaDomain]:
    cores, domains = model.whole("cpu.cores"), model.each("cpu.domains")
    sharing = model.wholes("topology.cache_sharing")
    caches = tuple(
        Cache(
            index + 1,
            "unified" if index else "data",
            model.whole(f"cpu.caches.{index}.bytes"),
            _LINE_BYTES,
            min(sharing[index] or cores, cores),
        )
        for index in range(model.count("cpu.caches"))
    )
    for number in range(domains):
        own = tuple(range(number * cores, (number + 1) * cores))
        distances = {other: _OWN_DISTANCE if other == number else _OTHER_DISTANCE for other in range(domains)}
        yield NumaDomain(number, own, model.whole("cpu.memory_bytes"), distances, caches)


def _paths(model: MachineModel) -> Iterator[tuple[str, PciePath]]:
    """Yields address and path of each GPU on the PCI bus; partitions of one have the same."""
    generation = model.whole("topology.pcie_generation") or _PCIE_GENERATION
    width = model.whole("topology.pcie_width") or _PCIE_WIDTH
    for index in range(model.each("gpu.count")):
        address = _device_address(model, index)
        yield address, _path(address, generation, width, model.wholes("gpu.domains")[index])


def _device_address(model: MachineModel, index: int) -> str:
    return f"{model.texts('gpu.pci_addresses')[index].rpartition('.')[0]}.0"


def _path(address: str, generation: int, width: int, domain: int) -> PciePath:
    link = parse_link(f"{link_rates.pcie_transfers(generation) / 1e9:.1f} GT/s PCIe", str(width))
    return PciePath(PcieDevice(address, link, link), (), domain)


def on_first_host(model: MachineModel, pair: str) -> bool:
    """Whether a link has no end on another host than the first."""
    each = {"cpu": model.each("cpu.domains"), "gpu": model.each("gpu.count")}
    return all(device_number(end) < each[end[:3]] for end in pair.split("-") if end[:3] in each)


def _nics(model: MachineModel, down: _Down) -> Iterator[SeenNic]:
    """Yields the NICs of the first host, each in the NUMA domain of its GPU."""
    rates = {pair.split("-")[0]: rate for kind, pair, _, rate in bundles(model, down) if kind == "network"}
    ends = {
        nic: end
        for kind, pair, _, _ in bundles(model, down)
        if kind == "nic" and on_first_host(model, pair)
        for end, nic in [pair.split("-")]
    }
    for index, nic in enumerate(sorted(ends, key=device_number)):
        end, number = ends[nic], device_number(nic)
        domain = device_number(end) if is_cpu(end) else model.wholes("gpu.domains")[device_number(end)]
        address, interface = f"0000:{0x10 + number:02x}:00.0", f"hsn{number}"
        rate, source = interface_rate(interface, str(round(rates.get(nic, 0.0) * 8 / 1e6)))
        yield SeenNic(
            Nic(
                f"nic{index}",
                address,
                (interface,),
                numa_domain=domain,
                peak_bytes_per_s=rate,
                peak_source=source,
            ),
            _path(address, _PCIE_GENERATION, _PCIE_WIDTH, domain),
            SLINGSHOT if model.vendor == "amd" else _OTHER_NIC,
        )


def _driver(model: MachineModel, down: _Down) -> Kfd:
    """Returns what the kernel driver would say, of the vendor whose driver does."""
    if not _architecture(model).startswith("gfx"):
        return Kfd()
    widths = {
        frozenset(pair.split("-")): width
        for kind, pair, width, _ in bundles(model, down)
        if kind == "xgmi" and on_first_host(model, pair)
    }
    gpus = [_driver_gpu(model, index) for index in range(model.each("gpu.count"))]
    packaged = model.wholes("gpu.domains") if model.truth("features.host_access") else ()
    return described(gpus, model.each("cpu.domains"), widths, packaged)


def _driver_gpu(model: MachineModel, index: int) -> KfdGpu:
    peers = model.whole("gpu.peer_copy_engines")
    return KfdGpu(
        node=model.each("cpu.domains") + index,
        pci_address=model.texts("gpu.pci_addresses")[index],
        uuid=None,
        model=model.text_of("gpu.name"),
        architecture=_architecture(model),
        compute_units=model.whole("gpu.multiprocessors"),
        memory_bytes=model.whole("gpu.memory_bytes"),
        memory_clock_mhz=model.whole("topology.memory_clock_mhz"),
        memory_bus_bits=model.whole("topology.memory_bus_bits"),
        copy_engines=model.whole("gpu.copy_engines") - peers,
        peer_copy_engines=peers,
        shared_memory_supported=True,
        partition=None,
        partition_modes=tuple(_MODES.get(n, "CPX") for n in model.wholes("topology.compute_partitions")),
        dies=model.whole("topology.dies") or None,
        clock_mhz=model.whole("topology.clock_mhz") or None,
        power_limit_watts=float(model.whole("topology.power_limit_watts")) or None
        if tells_power(model, index)
        else None,
        caches=_gpu_caches(model),
        links=(),
    )


def tells_power(model: MachineModel, index: int) -> bool:
    """Whether a GPU tells the limit of its package: of the two dies of an MI250, the first."""
    return not model.text_of("gpu.architecture").startswith("gfx90a") or index % 2 == 0


def _gpu_caches(model: MachineModel) -> tuple[Cache, ...]:
    """Returns the caches that KFD lists; none if the model does not have those of a compute unit."""
    data, instruction = model.whole("topology.l1_kib"), model.whole("topology.l1_instruction_kib")
    if not data:
        return ()
    units = model.whole("gpu.multiprocessors") // max(1, model.whole("topology.dies"))
    l2 = model.whole("gpu.l2_bytes") or model.whole("gpu.cache_bytes")
    sharing, line = model.whole("topology.l1_instruction_sharing"), model.whole("topology.cache_line_bytes")
    listed = (
        Cache(1, "data", data * 1024, line, 1),
        Cache(1, "instruction", instruction * 1024, line, sharing or model.whole("gpu.multiprocessors")),
        Cache(2, "unified", l2, line, units),
    )
    return tuple(one for one in listed if one.size_bytes)


def bundles(model: MachineModel, down: _Down) -> list[tuple[str, str, int, float]]:
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


def management_devices(model: MachineModel, down: set[frozenset[str]]) -> list[ManagementDevice]:
    """Returns the GPUs as NVML shows them; empty for another vendor."""
    if model.vendor != "nvidia":
        return []
    addresses = model.texts("gpu.pci_addresses")
    generation, width = model.whole("topology.pcie_generation"), model.whole("topology.pcie_width")
    version = link_rates.nvlink_generation(model.text_of("gpu.architecture"), 0, 0) or 0
    devices = []
    for index, address in enumerate(addresses):
        fabric_links: list[FabricLink] = []
        for kind, pair, count, peak in bundles(model, down):
            ends = pair.split("-")
            if kind != "nvlink" or f"gpu{index}" not in ends:
                continue
            far = ends[1] if ends[0] == f"gpu{index}" else ends[0]
            remote = (
                ("switch", _SWITCH_ADDRESS) if far == MODEL_SWITCH else ("gpu", addresses[device_number(far)])
            )
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
