"""Builds topology links from the discovery sources: NUMA, PCI Express, NVLink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from byteways.machine import link_rates
from byteways.machine.model import PCIE_EMULATED, Link, UnknownRate
from byteways.machine.sysfs_cpu import NumaDomain
from byteways.machine.sysfs_pcie import PcieDevice, PcieLink, PciePath, canonical_address

if TYPE_CHECKING:
    from byteways.machine.kfd import KfdGpu
    from byteways.machine.nvml import FabricLink, ManagementDevice

NVSWITCH = "nvswitch"


@dataclass(frozen=True)
class Gpu:
    """A GPU device with the data of each source."""

    name: str
    pci_address: str | None
    architecture: str | None
    home: str | None  # CPU device of its PCIe root
    path: PciePath | None  # sysfs
    device: ManagementDevice | None = None  # NVML
    node: KfdGpu | None = None  # KFD
    model: str | None = None  # by its number on the PCI bus


@dataclass
class Graph:
    """Links, switches and notes added by the builders."""

    links: list[Link] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)  # names of PCIe switches by upstream port
    notes: list[str] = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)  # why links of a GPU to peers may be missing


def add_numa_links(
    graph: Graph, devices: Mapping[str, NumaDomain], packaged: Collection[str] = frozenset()
) -> None:
    """Adds one link between every two CPU devices. The kernel reports only a distance, so the peak is
    unknown.

    CPU devices in GPU packages (`packaged`) are not linked to each other: the GPUs' links are the packages'
    links.
    """
    for (a, domain), (b, other) in combinations(devices.items(), 2):
        if a in packaged and b in packaged:
            continue
        distance = domain.distances.get(other.domain)
        told = f"only a distance, {distance}" if distance else "not even a distance"
        graph.links.append(
            Link(
                a,
                b,
                kind="numa",
                count=1,
                generation=None,
                peak_bytes_per_s=None,
                signalling_bytes_per_s=None,
                source=f"no nominal rate between NUMA domains: the kernel reports {told}",
                link_class=f"NUMA distance {distance}" if distance else "NUMA",
            )
        )


def add_pcie_links(graph: Graph, gpus: Sequence[Gpu], virtual_machine: bool) -> None:
    """Adds PCI Express links from each GPU to its NUMA domain; a switch of several GPUs is a node with an
    uplink.

    Switches of a single GPU are omitted: the narrowest link represents the whole route. In a virtual
    machine, emulated bridges say nothing about the hardware, so only the GPU's own link is used.
    """
    bridges = {gpu.name: () if virtual_machine or gpu.path is None else gpu.path.bridges for gpu in gpus}
    below = Counter(port.address for chain in bridges.values() for port in chain[1::2])
    shared = sorted(address for address, count in below.items() if count > 1)
    switches = {address: f"pcie-switch{index}" for index, address in enumerate(shared)}
    graph.switches.extend(switches.values())
    graph.addresses.update(switches)
    for gpu in gpus:
        if gpu.home is None:
            continue
        lower, (link, told_by) = gpu.name, _endpoint(gpu, bridges[gpu.name])
        _note_current(graph, gpu, link)
        for upstream, above in _uplinks(bridges[gpu.name]):
            uplink = narrower(upstream.maximum.unless_emulated(), above)
            if upstream.address in switches:
                add_pcie(graph, lower, switches[upstream.address], link, told_by)
                lower, link = switches[upstream.address], uplink
                told_by = f"uplink of PCIe switch {upstream.address} by sysfs"
            elif narrower(link, uplink) != link:
                link, told_by = (
                    uplink,
                    f"uplink of PCIe switch {upstream.address} by sysfs, narrowest on the path",
                )
        add_pcie(graph, lower, gpu.home, link, told_by)
    if virtual_machine and len(gpus) > 1:
        graph.notes.append("virtual machine: PCIe switches are hidden; GPUs may share uplinks not drawn here")


def _endpoint(gpu: Gpu, bridges: Sequence[PcieDevice]) -> tuple[PcieLink, str]:
    """Returns the GPU's own maximum link and its source. NVML's maximum includes the system's limit."""
    device = gpu.device
    if device is not None:
        link = PcieLink(device.pcie_generation_max, device.pcie_width_max).unless_emulated()
        if (link.generation and link.width) or gpu.path is None:
            return link, "maximum by NVML"
    if gpu.path is None:
        return PcieLink(0, 0), "neither NVML nor sysfs shows this device"
    link = gpu.path.device.maximum.unless_emulated()
    return (narrower(link, bridges[0].maximum.unless_emulated()) if bridges else link), "maximum by sysfs"


def _uplinks(bridges: Sequence[PcieDevice]) -> list[tuple[PcieDevice, PcieLink]]:
    """Returns (upstream port, link of the port above it) of each switch on the way up.

    `bridges` alternates port, upstream port, … up to the root port, nearest first.
    """
    return [
        (port, (bridges[index + 1] if index + 1 < len(bridges) else port).maximum.unless_emulated())
        for index, port in enumerate(bridges)
        if index % 2 == 1
    ]


def narrower(a: PcieLink, b: PcieLink) -> PcieLink:
    """Returns the slower of two links, the first if equal; unknown links are ignored."""

    def rate(link: PcieLink) -> float:
        return link_rates.pcie(link.generation, link.width).data_bytes_per_s or 0

    return min((link for link in (a, b) if link.known()), key=rate, default=a)


def add_pcie(graph: Graph, a: str, b: str, link: PcieLink, told_by: str) -> None:
    """Adds a link from `a` up to `b` unless it exists; `told_by` is the source of its speed."""
    if any((drawn.a, drawn.b, drawn.kind) == (a, b, "pcie") for drawn in graph.links):
        return  # the uplink of a switch occurs once for each GPU below it
    unknown = None if link.known() else link.unknown()
    rate, link_class = link_rates.Rate(None, None, _why_unknown(unknown)), "PCIe"
    if link.known():
        rate = link_rates.pcie(link.generation, link.width)
        link_class = f"PCIe {link.generation}.0 ×{link.width}"
    graph.links.append(
        Link(
            a,
            b,
            kind="pcie",
            count=1,
            generation=f"{link.generation}.0" if link.known() else None,
            peak_bytes_per_s=rate.data_bytes_per_s,
            signalling_bytes_per_s=rate.signalling_bytes_per_s,
            source=f"{told_by}: {rate.source}",
            link_class=link_class,
            unknown=unknown,
        )
    )


def _why_unknown(unknown: UnknownRate | None) -> str:
    if unknown is None or not (unknown.speed or unknown.width or unknown.code == PCIE_EMULATED):
        return "speed and width are unknown"
    told = f"speed '{unknown.speed}', width '{unknown.width}'" if unknown.speed else "generation 1"
    if unknown.code == PCIE_EMULATED:
        return f"{told}: emulated, which says nothing of the hardware"
    return f"speed or width is unknown: {told}" if unknown.speed else "speed and width are unknown"


def add_pcie_extended(graph: Graph, a: str, b: str, width: int) -> None:
    """Adds a link from `a` up to `b` that runs in extended speed mode."""
    rate = link_rates.pcie_extended(width)
    link_class = f"PCIe 4.0 ESM ×{width}"
    graph.links.append(
        Link(
            a,
            b,
            "pcie",
            1,
            "4.0",
            rate.data_bytes_per_s,
            rate.signalling_bytes_per_s,
            rate.source,
            link_class,
        )
    )


def _note_current(graph: Graph, gpu: Gpu, maximum: PcieLink) -> None:
    """Adds a note if a link currently runs below its maximum."""
    current = _current(gpu)
    if not (maximum.known() and current.known()):
        return
    if current.generation < maximum.generation:
        graph.notes.append(
            f"{gpu.name}: PCIe link at generation {current.generation} now, maximum {maximum.generation}; "
            "GPUs may idle at a lower one, so the peak is that of the maximum"
        )
    if current.width < maximum.width:
        graph.notes.append(
            f"{gpu.name}: PCIe link has {current.width} of {maximum.width} lanes now; rarely due to idling"
        )


def _current(gpu: Gpu) -> PcieLink:
    if gpu.device is not None:
        return PcieLink(gpu.device.pcie_generation, gpu.device.pcie_width)
    return gpu.path.device.current if gpu.path else PcieLink(0, 0)


def add_nvlinks(graph: Graph, gpus: Sequence[Gpu]) -> None:
    """Adds NVLink bundles: between GPUs, to CPUs, and to the NVSwitches, which form one node.

    A virtual machine may hide the far ends. If every GPU has the same number of active links and each ends
    at a switch or at something unknown, they must be connected to NVSwitches.
    """
    by_address = {gpu.pci_address: gpu for gpu in gpus if gpu.pci_address}
    active = {gpu.name: _active(graph, gpu, by_address) for gpu in gpus}
    kinds = {kind for ends in active.values() for kind in ends}
    counts = {sum(len(links) for links in ends.values()) for ends in active.values()}
    if "unknown" in kinds and kinds <= {"switch", "unknown"} and len(gpus) > 1 and len(counts) == 1:
        graph.notes.append(
            f"NVLink: the far ends of the {counts.pop()} links of each GPU are hidden; all GPUs have the "
            f"same number, so NVSwitches are assumed"
        )
        for ends in active.values():
            ends.setdefault("switch", []).extend(ends.pop("unknown", []))
    for gpu in gpus:
        ends = active[gpu.name]
        if gpu.device is None and gpu.node is None:
            graph.hidden[gpu.name] = "no management library reports the links between GPUs"
        _add_gpu_bundles(graph, gpu, ends.get("gpu", []), by_address)
        if "switch" in ends:
            if NVSWITCH not in graph.switches:
                graph.switches.append(NVSWITCH)
            graph.links.append(_bundle(gpu, NVSWITCH, ends["switch"]))
        if "cpu" in ends and gpu.home:
            graph.links.append(_bundle(gpu, gpu.home, ends["cpu"]))
        if "unknown" in ends:
            hidden = len(ends["unknown"])
            graph.hidden[gpu.name] = f"the far ends of {hidden} active NVLinks are hidden"
            graph.notes.append(f"{gpu.name}: the far ends of {hidden} active NVLinks are hidden")


def _active(graph: Graph, gpu: Gpu, by_address: Mapping[str, Gpu]) -> dict[str, list[FabricLink]]:
    """Returns active links by kind of far end: `gpu`, `switch`, `cpu`, `unknown`.

    A far end of unknown kind with the address of a GPU counts as GPU.
    """
    if gpu.device is None:
        return {}
    ends: dict[str, list[FabricLink]] = {}
    for link in gpu.device.fabric_links:
        if link.active:
            of_gpu = canonical_address(link.remote_pci_address) in by_address
            ends.setdefault("gpu" if of_gpu else link.remote_kind, []).append(link)
    count = sum(len(links) for links in ends.values())
    if ends and gpu.device.mig_enabled:
        graph.notes.append(f"{gpu.name}: MIG is on, which closes its {count} NVLinks to peers")
        return {}
    if ends and count < len(gpu.device.fabric_links):
        down = len(gpu.device.fabric_links) - count
        graph.notes.append(f"{gpu.name}: {down} of {len(gpu.device.fabric_links)} NVLinks are not active")
    return ends


def _add_gpu_bundles(
    graph: Graph, gpu: Gpu, links: Sequence[FabricLink], by_address: Mapping[str, Gpu]
) -> None:
    """Adds direct bundles once, from the GPU with the first address: both ends report every link."""
    bundles: dict[str, list[FabricLink]] = {}
    for link in links:
        bundles.setdefault(canonical_address(link.remote_pci_address), []).append(link)
    for address, bundle in sorted(bundles.items()):
        peer = by_address.get(address)
        if peer is None:
            graph.notes.append(f"{gpu.name}: {len(bundle)} NVLinks lead to {address}, not visible here")
        elif (gpu.pci_address or "") < address:
            graph.links.append(_bundle(gpu, peer.name, bundle))


def _bundle(gpu: Gpu, far: str, links: Sequence[FabricLink]) -> Link:
    """Returns a bundle of equal NVLinks with the rate of the slowest link."""
    told = [link.signalling_bytes_per_s for link in links if link.signalling_bytes_per_s > 0]
    signalling = min(told, default=0)
    generation = link_rates.nvlink_generation(gpu.architecture, links[0].version, signalling)
    rate = link_rates.nvlink(len(links), generation, signalling, gpu.architecture)
    return Link(
        gpu.name,
        far,
        kind="nvlink",
        count=len(links),
        generation=str(generation) if generation else None,
        peak_bytes_per_s=rate.data_bytes_per_s,
        signalling_bytes_per_s=rate.signalling_bytes_per_s,
        source=rate.source,
        link_class=f"NVLink{generation or ''} ×{len(links)}",
    )
