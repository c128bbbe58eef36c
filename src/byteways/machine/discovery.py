"""Combines the discovery sources into one Topology. Only reads; opens no GPU."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from byteways.machine import amdsmi, kfd, nvml, smbios, xgmi
from byteways.machine.kfd import Kfd, KfdGpu
from byteways.machine.links import Gpu, Graph, add_numa_links, add_nvlinks, add_pcie_links
from byteways.machine.model import Device, Topology
from byteways.machine.nics import add_nics, read_nics
from byteways.machine.nvml import ManagementDevice, Nvml
from byteways.machine.outliers import with_outliers
from byteways.machine.sysfs_cpu import Cpus, NumaDomain, read_cpus, read_text
from byteways.machine.sysfs_pcie import canonical_address, gpu_addresses, read_path

#: Variables that hide GPUs from runtimes, by vendor.
VISIBILITY = {
    "NVIDIA": ("CUDA_VISIBLE_DEVICES",),
    "AMD": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}
#: Why a CPU device has no nominal memory bandwidth.
NO_CPU_PEAK = "no nominal source: the kernel reports neither the number nor the speed of memory channels"


def discover(
    runtime_devices: Mapping[str, Mapping[str, Any]] | None = None,
    sysfs: Path = Path("/sys"),
    *,
    proc: Path = Path("/proc"),
    allowed_cores: Collection[int] | None = None,
    management: Nvml | Sequence[ManagementDevice] | None = None,
    environment: Mapping[str, str] | None = None,
    host: str | None = None,
    unopened: bool = False,
) -> Topology:
    """Discovers devices, switches and links of this host. Never fails: missing information becomes a note.

    Args:
        runtime_devices: Fields of `_core.Device` by name, from a worker. If given, devices have these names
            and GPUs are matched to NVML and KFD by UUID, then PCI address; otherwise GPUs are numbered in
            CUDA's order, then HIP's.
        sysfs: Where sysfs is mounted.
        proc: Where procfs is mounted.
        allowed_cores: Logical CPUs of this process; None asks the kernel.
        management: What NVML says, or its devices in PCI order; None asks NVML.
        environment: Default: the process's own; CUDA_, ROCR_ and HIP_VISIBLE_DEVICES are read.
        host: Name of the host; default: the kernel's.
        unopened: Whether GPUs that no runtime opens become devices, too, behind the others. They cannot be
            measured.
    """
    runtime = runtime_devices or {}
    notes: list[str] = []
    driver = _read_kfd(sysfs)
    if management is None:
        management = nvml.read()
    if isinstance(management, Nvml):
        relevant = management.devices or not driver.gpus  # beside another vendor's GPUs its absence is not
        notes.extend([management.reason] if management.reason and relevant else [])
        management = management.devices
    cpus = read_cpus(sysfs, proc, allowed_cores)
    notes.extend((*cpus.notes, *driver.notes))
    domains = _name_domains(cpus, runtime, notes)
    seen = environment if environment is not None else os.environ
    if runtime_devices is not None:
        gpus = _runtime_gpus(runtime, management, driver, sysfs)
    else:
        gpus = _visible_gpus(management, driver, seen, sysfs)
    if not gpus:
        notes.extend(_unopened(sysfs, proc))
    if unopened:
        further = _unopened_gpus(gpus, _visible_gpus(management, driver, seen, sysfs), seen, sysfs, proc)
        notes.extend(_lacks(gpu) for gpu in further)
        gpus += further
    gpus = [_at_home(gpu, runtime.get(gpu.name, {}), domains, driver, notes) for gpu in gpus]

    graph = _joined(gpus, domains, driver, notes, virtual_machine=cpus.virtual_machine)
    nics = add_nics(graph, read_nics(sysfs), gpus, domains, sysfs, virtual_machine=cpus.virtual_machine)
    gpu_devices = [
        replace(_gpu_device(gpu, runtime.get(gpu.name, {}), driver), hidden_links=graph.hidden.get(gpu.name))
        for gpu in gpus
    ]
    owners = {gpu.shares_memory_with: gpu for gpu in reversed(gpu_devices)}
    by_number = {domain.domain: name for name, domain in domains.items()}
    cpu_devices = [
        _cpu_device(
            name,
            domain,
            cpus,
            runtime.get(name, {}),
            owners.get(name),
            None if domain.executed_by is None else by_number[domain.executed_by],
        )
        for name, domain in domains.items()
    ]
    modules = smbios.memory_rate(sysfs, virtual_machine=cpus.virtual_machine)
    found = Topology(
        host if host is not None else os.uname().nodename,
        (*cpu_devices, *gpu_devices),
        tuple(graph.switches),
        tuple(graph.links),
        _merged(graph.notes, [gpu.name for gpu in gpus]),
        modules.bytes_per_s,
        modules.source,
        tuple(nics),
    )
    return with_outliers(found)


def _joined(
    gpus: Sequence[Gpu],
    domains: Mapping[str, NumaDomain],
    driver: Kfd,
    notes: list[str],
    *,
    virtual_machine: bool,
) -> Graph:
    """Adds switches and links from the sockets outwards: NUMA, packages, PCI Express, NVLink, xGMI."""
    graph = Graph(notes=notes)
    packaged = {gpu.home for gpu in gpus if gpu.home and xgmi.shares_memory(gpu, driver.cpu_nodes)}
    add_numa_links(graph, domains, packaged)
    attached = xgmi.add_cpu_links(graph, gpus, driver.cpu_nodes)
    packages = xgmi.add_packages(graph, gpus)
    wired = [gpu for gpu in gpus if gpu.name not in attached]
    add_pcie_links(graph, xgmi.on_pcie(wired, packages), virtual_machine)
    add_nvlinks(graph, gpus)
    hidden = len(driver.gpus) - sum(gpu.node is not None for gpu in gpus)
    xgmi.add_peer_links(graph, gpus, packages, hidden)
    return graph


def _merged(notes: Sequence[str], gpus: Sequence[str]) -> tuple[str, ...]:
    """Merges notes `gpu0: text` and `gpu1: text` to `gpu0, gpu1: text`."""
    merged: dict[str, list[str]] = {}
    for note in notes:
        name, _, text = note.partition(": ")
        if name in gpus:
            merged.setdefault(text, []).append(name)
        else:
            merged.setdefault(note, [])
    return tuple(f"{', '.join(names)}: {text}" if names else text for text, names in merged.items())


def _name_domains(
    cpus: Cpus, runtime: Mapping[str, Mapping[str, Any]], notes: list[str]
) -> dict[str, NumaDomain]:
    """Returns NUMA domains by device name: the runtime's name, otherwise by domain number."""
    names = {fields.get("numa_domain"): name for name, fields in runtime.items() if name.startswith("cpu")}
    if len(names) == 1 and len(cpus.domains) == 1:  # also if the runtime does not know its domain (-1)
        return {next(iter(names.values())): cpus.domains[0]}
    if not names:
        return {f"cpu{domain.domain}": domain for domain in cpus.domains}
    known = {domain.domain: domain for domain in cpus.domains if domain.executed_by in (None, *names)}
    notes.extend(
        f"NUMA domain {number} has no device in the runtime" for number in known if number not in names
    )
    return {name: known[number] for number, name in names.items() if number in known}


def _read_kfd(sysfs: Path) -> Kfd:
    """Reads KFD, plus data of the management library if `sysfs` is this machine's real one."""
    driver = kfd.read(sysfs)
    if not driver.gpus or sysfs != Path("/sys"):
        return driver
    told = amdsmi.read_devices()
    return replace(
        driver,
        gpus=tuple(
            kfd.with_names(driver.gpus, {one.pci_address: one.name for one in told.devices if one.name})
        ),
        notes=(*driver.notes, *told.notes),
    )


def _runtime_gpus(
    runtime: Mapping[str, Mapping[str, Any]], management: Sequence[ManagementDevice], driver: Kfd, sysfs: Path
) -> list[Gpu]:
    """Returns GPU devices by the runtime's names in numeric order, not yet attached to a CPU device."""
    found = []
    for name, fields in runtime.items():
        if name.startswith("gpu"):
            device, node = nvml.match(fields, management), kfd.match(fields, driver.gpus)
            told = [fields.get("pci_address"), device and device.pci_address, node and node.pci_address]
            address = canonical_address(next((text for text in told if text), ""))
            found.append(_gpu(name, address, fields.get("architecture") or None, device, node, sysfs))
    return sorted(found, key=lambda gpu: int(gpu.name[3:]))


def _visible_gpus(
    management: Sequence[ManagementDevice], driver: Kfd, environment: Mapping[str, str], sysfs: Path
) -> list[Gpu]:
    """Returns GPU devices that the environment leaves visible, not yet attached to a CPU device."""
    found = [
        _gpu(f"gpu{index}", canonical_address(device.pci_address), None, device, None, sysfs)
        for index, device in enumerate(nvml.visible(management, environment))
    ]
    for index, node in enumerate(kfd.visible(driver.gpus, environment), start=len(found)):
        found.append(_gpu(f"gpu{index}", node.pci_address or "", None, None, node, sysfs))
    return found


def _unopened_gpus(
    opened: Sequence[Gpu], visible: Sequence[Gpu], environment: Mapping[str, str], sysfs: Path, proc: Path
) -> list[Gpu]:
    """Returns the GPUs that a management library, a driver or the PCI bus shows, without those in `opened`.

    The bus counts for a vendor whose library or driver shows no GPU, unless variables hide GPUs of it.
    """
    # Partitions of a device differ in the function of their addresses, which not every runtime reports.
    there = {_whole(gpu) for gpu in opened}
    found = [gpu for gpu in visible if _whole(gpu) not in there]
    shown = {"NVIDIA" if gpu.device else "AMD" for gpu in (*opened, *visible) if gpu.device or gpu.node}
    for vendor, address in gpu_addresses(sysfs, proc):
        hidden = any(name in environment for name in VISIBILITY[vendor])
        if _whole_address(address) not in there and vendor not in shown and not hidden:
            place = sysfs / "bus/pci/devices" / address
            words = (read_text(place / name) or "" for name in ("vendor", "device"))
            found.append(replace(_gpu("", address, None, None, None, sysfs), model=kfd.pci_model(*words)))
    return [replace(gpu, name=f"gpu{index}") for index, gpu in enumerate(found, start=len(opened))]


def _whole(gpu: Gpu) -> str:
    return _whole_address(gpu.pci_address or "")


def _whole_address(address: str) -> str:
    return address.rpartition(".")[0]


def _lacks(gpu: Gpu) -> str:
    """Returns the note on a GPU that no runtime opens."""
    if gpu.device is not None:
        return f"{gpu.name}: no runtime opens it; NVML shows it"
    if gpu.node is not None:
        return f"{gpu.name}: no runtime opens it; the kernel driver (KFD) shows it"
    return f"{gpu.name}: no runtime opens it; only the PCI bus shows it, without memory and links to peers"


def _gpu(
    name: str,
    address: str,
    architecture: str | None,
    device: ManagementDevice | None,
    node: KfdGpu | None,
    sysfs: Path,
) -> Gpu:
    place = (node.device_address if node else None) or address
    return Gpu(
        name,
        address or None,
        architecture or (node.architecture if node else None),
        None,
        read_path(sysfs, place) if place else None,
        device,
        node,
    )


def _at_home(
    gpu: Gpu, fields: Mapping[str, Any], domains: Mapping[str, NumaDomain], driver: Kfd, notes: list[str]
) -> Gpu:
    """Returns the GPU with its nearest CPU device, from sysfs, the runtime, NVML or KFD, or the only one."""
    index = driver.numa_index(gpu.node) if gpu.node else None
    told = [
        gpu.path.numa_domain if gpu.path else None,
        fields.get("numa_domain"),
        gpu.device.numa_domain if gpu.device else None,
        driver.numa_domains[index] if index is not None and index < len(driver.numa_domains) else None,
    ]
    by_number = {one.domain: name for name, one in domains.items() if one.executed_by is None}
    home = next((by_number[number] for number in told if number in by_number), None)
    if home is None and domains:
        home = next(iter(domains))
        if len(domains) > 1:
            notes.append(f"{gpu.name}: its NUMA domain is unknown; drawn at {home}")
    return replace(gpu, home=home)


def _unopened(sysfs: Path, proc: Path) -> list[str]:
    """Returns a note on GPUs of this machine that no runtime opened."""
    addresses = gpu_addresses(sysfs, proc)
    if not addresses:
        return []
    vendors = ", ".join(sorted({vendor for vendor, _ in addresses}))
    listed = ", ".join(address for _, address in addresses)
    return [f"PCI shows {vendors} GPUs that no runtime opens: {listed}; see byteways doctor"]


def _cpu_device(
    name: str,
    domain: NumaDomain,
    cpus: Cpus,
    fields: Mapping[str, Any],
    owner: Device | None,
    home: str | None,
) -> Device:
    """Returns the device of a NUMA domain; `owner` is a GPU in the same package with the same memory, `home`
    the device whose cores execute for a domain with memory only.
    """
    types = [replace(one, cores=tuple(c for c in one.cores if c in domain.cores)) for one in cpus.core_types]
    return Device(
        name,
        "cpu",
        "memory only" if home else cpus.model,
        numa_domain=domain.domain,
        cores=domain.cores,
        memory_bytes=domain.memory_bytes or fields.get("memory_bytes") or None,
        memory_peak_bytes_per_s=owner.memory_peak_bytes_per_s if owner else None,
        memory_peak_source=f"memory of {owner.name}, {owner.memory_peak_source}" if owner else NO_CPU_PEAK,
        core_types=tuple(one for one in types if one.cores) if domain.cores else (),
        executed_by=home,
        architecture=fields.get("architecture") or None,
        caches=domain.caches,
        threads=domain.threads,
        shared_caches=domain.shared_caches,
        last_level_cache_bytes=fields.get("last_level_cache_bytes") or None,
    )


def _gpu_device(gpu: Gpu, fields: Mapping[str, Any], driver: Kfd) -> Device:
    peak, source = _gpu_memory_peak(gpu, fields)
    device, path, node = gpu.device, gpu.path, gpu.node
    numa = path.numa_domain if path and path.numa_domain is not None else fields.get("numa_domain")
    told = [fields.get("model"), device and device.name, node and node.model, gpu.model]
    model = next((text for text in told if text), None)
    uuid = fields.get("uuid") or (device.uuid if device else None) or (node.uuid if node else None)
    told_bytes = [fields.get("memory_bytes"), device and device.memory_bytes, node and node.memory_bytes]
    return Device(
        gpu.name,
        "gpu",
        model or "unknown GPU",
        uuid=uuid or None,
        pci_address=gpu.pci_address,
        numa_domain=numa if numa is not None and numa >= 0 else None,
        memory_bytes=next((size for size in told_bytes if size), None),
        memory_peak_bytes_per_s=peak,
        memory_peak_source=source,
        architecture=gpu.architecture,
        multiprocessors=fields.get("multiprocessors") or (node.compute_units if node else None),
        shares_memory_with=gpu.home if xgmi.shares_memory(gpu, driver.cpu_nodes) else None,
        copy_engines=node.copy_engines if node else None,
        peer_copy_engines=node.peer_copy_engines if node else None,
        partition=node.partition if node else None,
        partition_modes=node.partition_modes if node else (),
        dies=node.dies if node else None,
        clock_mhz=node.clock_mhz if node else None,
        power_limit_watts=node.power_limit_watts if node else None,
        caches=node.caches if node else (),
        page_faults=driver.page_faults.get(node.architecture or "") if node else None,
        last_level_cache_bytes=fields.get("last_level_cache_bytes") or None,
    )


def _gpu_memory_peak(gpu: Gpu, fields: Mapping[str, Any]) -> tuple[float | None, str]:
    node = gpu.node
    if node is not None and node.memory_peak:
        clock, bits, transfers = node.memory_clock_mhz, node.memory_bus_bits, node.transfers_a_clock
        return node.memory_peak, f"{clock} MHz × {bits} bit × {transfers} transfers a clock (KFD)"
    if fields.get("memory_bytes_per_s"):
        return float(
            fields["memory_bytes_per_s"]
        ), f"memory clock and bus width by the {fields['runtime']} runtime"
    device = gpu.device
    peak = nvml.memory_peak(device) if device else None
    if device is None or peak is None:
        return None, "neither the runtime nor NVML reports memory clock and bus width"
    return peak, f"{device.memory_clock_mhz} MHz × {device.memory_bus_bits} bit × 2 transfers a clock (NVML)"
