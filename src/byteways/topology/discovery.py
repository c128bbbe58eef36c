"""Puts the discovery sources together into one Topology. Reads only; opens no GPU."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byteways.topology import nvml
from byteways.topology.links import Gpu, Graph, add_numa_links, add_nvlinks, add_pcie_links
from byteways.topology.model import Agent, Topology
from byteways.topology.sysfs_cpu import Cpus, NumaDomain, read_cpus
from byteways.topology.sysfs_pcie import canonical_address, gpu_addresses, read_path

if TYPE_CHECKING:
    from byteways._core import NvmlDevice

#: Why a CPU agent has no nominal memory bandwidth.
NO_CPU_PEAK = "no nominal source: the kernel tells neither the number nor the speed of memory channels"


def discover(
    runtime_agents: Mapping[str, Mapping[str, Any]] | None = None,
    sysfs: Path = Path("/sys"),
    *,
    proc: Path = Path("/proc"),
    allowed_cores: Collection[int] | None = None,
    management: Sequence[NvmlDevice] | None = None,
    environment: Mapping[str, str] | None = None,
    host: str | None = None,
) -> Topology:
    """Agents, switches and links of this host. Never fails: what cannot be found out is a note.

    Args:
        runtime_agents: Fields of `_core.Agent` by agent name, as a worker saw them. Given, agents carry these
            names and GPUs are matched to NVML by UUID, then PCI address; else GPUs are numbered as by CUDA.
        sysfs: Where sysfs is mounted.
        proc: Where procfs is mounted.
        allowed_cores: Logical CPUs of this process; None asks the kernel.
        management: Devices as NVML tells them, in PCI order; None asks NVML.
        environment: None is the process's own; CUDA_VISIBLE_DEVICES is read.
        host: Name of the host; None is the kernel's.
    """
    runtime = runtime_agents or {}
    notes: list[str] = []
    if management is None:
        management, notes = nvml.read_devices()
    cpus = read_cpus(sysfs, proc, allowed_cores)
    notes.extend(cpus.notes)
    domains = _name_domains(cpus, runtime, notes)
    gpus = _find_gpus(runtime, runtime_agents is not None, management, environment or os.environ, sysfs)
    gpus = [_at_home(gpu, runtime.get(gpu.name, {}), domains, notes) for gpu in gpus]
    if not gpus:
        notes.extend(_unopened(sysfs))

    graph = Graph(notes=notes)
    add_numa_links(graph, domains)
    add_pcie_links(graph, gpus, cpus.virtual_machine)
    add_nvlinks(graph, gpus)
    agents = [_cpu_agent(name, domain, cpus, runtime.get(name, {})) for name, domain in domains.items()]
    agents += [_gpu_agent(gpu, runtime.get(gpu.name, {})) for gpu in gpus]
    return Topology(
        host if host is not None else os.uname().nodename,
        tuple(agents),
        tuple(graph.switches),
        tuple(graph.links),
        _merged(graph.notes, [gpu.name for gpu in gpus]),
    )


def _merged(notes: Sequence[str], gpus: Sequence[str]) -> tuple[str, ...]:
    """The notes, where `gpu0: text` and `gpu1: text` are one: `gpu0, gpu1: text`."""
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
    """NUMA domains by agent name: the runtime's names, or else the domain's number."""
    names = {fields.get("numa_domain"): name for name, fields in runtime.items() if name.startswith("cpu")}
    if len(names) == 1 and len(cpus.domains) == 1:  # also when the runtime does not know its domain (-1)
        return {next(iter(names.values())): cpus.domains[0]}
    if not names:
        return {f"cpu{domain.domain}": domain for domain in cpus.domains}
    known = {domain.domain: domain for domain in cpus.domains}
    notes.extend(
        f"NUMA domain {number} has no agent in the runtime" for number in known if number not in names
    )
    return {name: known[number] for number, name in names.items() if number in known}


def _find_gpus(
    runtime: Mapping[str, Mapping[str, Any]],
    runtime_asked: bool,
    management: Sequence[NvmlDevice],
    environment: Mapping[str, str],
    sysfs: Path,
) -> list[Gpu]:
    """GPU agents in the order of their numbers, not yet attached to a CPU agent."""
    found: list[tuple[str, str, str | None, NvmlDevice | None]] = []
    if runtime_asked:
        for name, fields in runtime.items():
            if name.startswith("gpu"):
                device = nvml.match(fields, management)
                address = canonical_address(
                    fields.get("pci_address") or (device.pci_address if device else "")
                )
                found.append((name, address, fields.get("architecture") or None, device))
    else:
        for index, device in enumerate(nvml.visible(management, environment)):
            found.append((f"gpu{index}", canonical_address(device.pci_address), None, device))
    return [
        Gpu(name, address or None, architecture, None, read_path(sysfs, address) if address else None, device)
        for name, address, architecture, device in sorted(found, key=lambda gpu: int(gpu[0][3:]))
    ]


def _at_home(gpu: Gpu, fields: Mapping[str, Any], domains: Mapping[str, NumaDomain], notes: list[str]) -> Gpu:
    """The GPU with the CPU agent nearest to it, by sysfs, the runtime, NVML, or as the only one there is."""
    told = [
        gpu.path.numa_domain if gpu.path else None,
        fields.get("numa_domain"),
        gpu.device.numa_domain if gpu.device else None,
    ]
    by_number = {domain.domain: name for name, domain in domains.items()}
    home = next((by_number[number] for number in told if number in by_number), None)
    if home is None and domains:
        home = next(iter(domains))
        if len(domains) > 1:
            notes.append(f"{gpu.name}: its NUMA domain is not known; drawn at {home}")
    return replace(gpu, home=home)


def _unopened(sysfs: Path) -> list[str]:
    """A note on GPUs that are on the PCI bus although nothing opened them."""
    addresses = gpu_addresses(sysfs)
    if not addresses:
        return []
    vendors = ", ".join(sorted({vendor for vendor, _ in addresses}))
    listed = ", ".join(address for _, address in addresses)
    return [f"PCI shows {vendors} display devices that no runtime opens: {listed}; ask byteways doctor"]


def _cpu_agent(name: str, domain: NumaDomain, cpus: Cpus, fields: Mapping[str, Any]) -> Agent:
    return Agent(
        name,
        "cpu",
        cpus.model,
        numa_domain=domain.domain,
        cores=domain.cores,
        memory_bytes=domain.memory_bytes or fields.get("memory_bytes") or None,
        memory_peak_source=NO_CPU_PEAK,
        architecture=fields.get("architecture") or None,
        caches=domain.caches,
    )


def _gpu_agent(gpu: Gpu, fields: Mapping[str, Any]) -> Agent:
    peak, source = _gpu_memory_peak(gpu, fields)
    device, path = gpu.device, gpu.path
    numa = path.numa_domain if path and path.numa_domain is not None else fields.get("numa_domain")
    return Agent(
        gpu.name,
        "gpu",
        fields.get("name") or (device.name if device else "unknown GPU"),
        uuid=fields.get("uuid") or (device.uuid if device else None) or None,
        pci_address=gpu.pci_address,
        numa_domain=numa if numa is not None and numa >= 0 else None,
        memory_bytes=fields.get("memory_bytes") or (device.memory_bytes if device else None) or None,
        memory_peak_bytes_per_s=peak,
        memory_peak_source=source,
        architecture=gpu.architecture,
        multiprocessors=fields.get("multiprocessors") or None,
    )


def _gpu_memory_peak(gpu: Gpu, fields: Mapping[str, Any]) -> tuple[float | None, str]:
    if fields.get("memory_bytes_per_s"):
        return float(
            fields["memory_bytes_per_s"]
        ), f"memory clock and bus width by the {fields['runtime']} runtime"
    device = gpu.device
    peak = nvml.memory_peak(device) if device else None
    if device is None or peak is None:
        return None, "neither the runtime nor NVML tells memory clock and bus width"
    return peak, f"{device.memory_clock_mhz} MHz × {device.memory_bus_bits} bit × 2 transfers a clock (NVML)"
