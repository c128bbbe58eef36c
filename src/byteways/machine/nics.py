"""Discovery source: network interfaces (NICs) on PCI Express, from Linux sysfs; and which one a device uses.

A port of /sys/class/infiniband and the interface of /sys/class/net on the same PCI device are one NIC.
Interfaces without a device (loopback, bridges, veth) are none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from byteways.machine.links import Gpu, Graph, add_pcie, add_pcie_extended, narrower
from byteways.machine.model import Link, Nic, Topology
from byteways.machine.routes import route
from byteways.machine.sysfs_cpu import NumaDomain, read_text
from byteways.machine.sysfs_pcie import PciePath, read_path

#: How the kernel writes the rate of an InfiniBand port: `400 Gb/sec (4X NDR)`.
_PORT_RATE = re.compile(r"^([0-9.]+) Gb/sec(?: \((.*)\))?$")
#: PCI vendor of Slingshot NICs, and the GPUs whose links to them run in extended speed mode: MI250X
#: (OLCF Frontier guide) and MI300A (Schieffer et al. 2025, section 2.2).
SLINGSHOT, _ESM_GPUS, _ESM_GENERATION = "0x17db", ("gfx90a", "gfx942"), 4
_PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")


def read_nics(sysfs: Path) -> list[Nic]:
    """Returns the NICs in order of PCI address, not yet attached to devices."""
    ports = {address: folder for folder, address in _devices(sysfs / "class/infiniband")}
    interfaces: dict[str, list[Path]] = {}
    for folder, address in _devices(sysfs / "class/net"):
        interfaces.setdefault(address, []).append(folder)
    found = []
    for number, address in enumerate(sorted({*ports, *interfaces})):
        folders = interfaces.get(address, [])
        port, rates = ports.get(address), [_interface_rate(folder) for folder in folders]
        rate, source = _port_rate(port) if port else next((one for one in rates if one[0]), (None, ""))
        if rate is None and rates and not source:
            source = rates[0][1]
        path = read_path(sysfs, address)
        found.append(
            Nic(
                f"nic{number}",
                interfaces=tuple(folder.name for folder in folders),
                port=port.name if port else None,
                guid=read_text(port / "node_guid") if port else None,
                pci_address=address,
                numa_domain=path.numa_domain if path else None,
                up=_is_up(port, folders),
                peak_bytes_per_s=rate,
                peak_source=source,
            )
        )
    return found


def add_nics(
    graph: Graph,
    nics: Sequence[Nic],
    gpus: Sequence[Gpu],
    domains: Mapping[str, NumaDomain],
    sysfs: Path,
    *,
    virtual_machine: bool,
) -> list[Nic]:
    """Adds a link from each NIC to the switch that it shares with GPUs, else to its NUMA domain, and returns
    the NICs with their nearest GPUs.

    Links of GPUs stay as they are: a switch of a single GPU is not drawn. The bridges of a virtual machine
    are emulated and say nothing.
    """
    by_number = {domain.domain: name for name, domain in domains.items()}
    placed = []
    for nic in nics:
        path = read_path(sysfs, nic.pci_address) if nic.pci_address else None
        if path is not None and virtual_machine:
            path = replace(path, bridges=())
        home = by_number.get(-1 if nic.numa_domain is None else nic.numa_domain)
        if home is None:
            home = next(iter(domains), None)
        near = _nearest(path, gpus, home)
        if path is not None and home is not None:
            link, above = path.device.maximum, home
            for bridge in path.bridges:
                if bridge.address in graph.addresses:
                    above = graph.addresses[bridge.address]
                    break
                # A device of PCI Express 1.0 may be real, unlike a GPU of it.
                slow = path.device.maximum.generation == 1
                link = narrower(link, bridge.maximum if slow else bridge.maximum.unless_emulated())
            if link.generation == _ESM_GENERATION and _extends_speed(sysfs, nic, near):
                add_pcie_extended(graph, nic.name, above, link.width)
            else:
                add_pcie(graph, nic.name, above, link, f"narrowest on the path of {nic.pci_address} by sysfs")
        placed.append(replace(nic, nearest_gpus=tuple(gpu.name for gpu in near), home=home))
    return placed


def _extends_speed(sysfs: Path, nic: Nic, near: Sequence[Gpu]) -> bool:
    """Whether this is a Slingshot NIC at a GPU whose link to it runs in extended speed mode."""
    vendor = read_text(sysfs / "bus/pci/devices" / (nic.pci_address or "") / "vendor")
    return vendor == SLINGSHOT and any((gpu.architecture or "").startswith(_ESM_GPUS) for gpu in near)


def nic_of(topology: Topology, device: str) -> Nic | None:
    """Returns the NIC that is nearest to a device; None if the topology has none that is up.

    For a GPU one that shares a PCI Express switch with it, then one of its NUMA domain, then the fastest.
    """
    up = [nic for nic in topology.nics if nic.up is not False]
    home = device
    if topology.device(device).kind == "gpu":
        near = [nic for nic in up if device in nic.nearest_gpus]
        if near:
            return max(near, key=_speed)
        home = f"cpu{topology.device(device).numa_domain}"
    same = [nic for nic in up if nic.home == home]
    return max(same or up, key=_speed, default=None)


def route_to_nic(topology: Topology, device: str, nic: Nic) -> tuple[Link, ...]:
    """Returns the links from a device to a NIC; a switch that they share is the turning point."""
    own = next((link for link in topology.links if nic.name == link.a), None)
    if own is None:
        return ()
    shared = next((link for link in topology.links if link.a == device and link.b == own.b), None)
    way = (shared,) if shared else route(topology, device, nic.home or device)
    if own.b != nic.home and not shared:  # from the CPU down to the NIC's switch
        way = (*way, *(link for link in topology.links if link.a == own.b and link.b == nic.home))
    return (*way, own)


def rate_to_nic(topology: Topology, device: str) -> tuple[float | None, str]:
    """Returns the nominal rate from a device out of its nearest NIC, with the narrowest link's source."""
    nic = nic_of(topology, device)
    if nic is None:
        return None, "sysfs shows no network interface with a PCI device that is up"
    if nic.peak_bytes_per_s is None:
        return None, f"{nic.name}: {nic.peak_source}"
    limits = [(nic.peak_bytes_per_s, f"{nic.name}: {nic.peak_source}")]
    for link in route_to_nic(topology, device, nic):
        if link.peak_bytes_per_s is not None:
            limits.append((link.peak_bytes_per_s, f"{link.a}<>{link.b}: {link.source}"))
    return min(limits)


def nic_class(topology: Topology, device: str) -> str:
    """Returns the class of the way from a device to its nearest NIC: `PCIe 5.0 ×16`, `other NUMA domain`."""
    nic = nic_of(topology, device)
    if nic is None:
        return "no NIC"
    kind = topology.device(device).kind
    links = [link for link in topology.links if nic.name in (link.a, link.b)]
    way = links[0].link_class if links else "unknown"
    if kind == "gpu":
        return f"gpu, {way}{'' if device in nic.nearest_gpus else ', not nearest'}"
    return f"cpu, {way}{'' if nic.home == device else ', other NUMA domain'}"


def _speed(nic: Nic) -> float:
    return nic.peak_bytes_per_s or 0.0


def _nearest(path: PciePath | None, gpus: Sequence[Gpu], home: str | None) -> list[Gpu]:
    """Returns the GPUs with the most bridges above them in common; without any, those of the NUMA domain."""

    def shared(gpu: Gpu) -> int:
        if path is None or gpu.path is None:
            return 0
        own = {bridge.address for bridge in path.bridges}
        return sum(bridge.address in own for bridge in gpu.path.bridges)

    most = max(map(shared, gpus), default=0)
    if most:
        return [gpu for gpu in gpus if shared(gpu) == most]
    return [gpu for gpu in gpus if gpu.home == home]


def _devices(folder: Path) -> list[tuple[Path, str]]:
    """Returns (entry, PCI address) of a class's entries that belong to a PCI device."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    found = []
    for entry in entries:
        place = entry / "device"
        if not place.exists():
            continue
        resolved = place.resolve()
        # A virtual function's driver (virtio) has a device of its own below that of PCI.
        address = next((one.name for one in (resolved, *resolved.parents) if _PCI.match(one.name)), None)
        if address is not None:
            found.append((entry, address))
    return found


def _port_rate(port: Path) -> tuple[float | None, str]:
    """Returns the data rate of a device's ports together, with its source."""
    total, told = 0.0, []
    for folder in sorted((port / "ports").glob("*")):
        match = _PORT_RATE.match(read_text(folder / "rate") or "")
        if match:
            total += float(match[1]) * 1e9 / 8
            told.append(match[0])
    if not told:
        return None, f"the kernel reports no rate of {port.name}"
    return total, f"{' + '.join(told)}, port rate of {port.name} by sysfs"


def _interface_rate(folder: Path) -> tuple[float | None, str]:
    """Returns the speed of an interface in bytes/s: -1 if it is down or its driver does not say."""
    speed = read_text(folder / "speed") or ""
    if speed.isdecimal() and 0 < int(speed) < 2**31 - 1:
        return int(speed) * 1e6 / 8, f"{speed} Mbit/s, speed of {folder.name} by sysfs"
    return None, f"the driver of {folder.name} reports no speed"


def _is_up(port: Path | None, interfaces: Sequence[Path]) -> bool:
    states = [read_text(folder / "state") or "" for folder in (port / "ports").glob("*")] if port else []
    if any("ACTIVE" in state for state in states):
        return True
    return any(read_text(folder / "operstate") == "up" for folder in interfaces)
