"""Machines by published peaks: for results of a machine that nobody here has, nor a model of it.

A row has published peaks and nothing that anybody measured, so that nothing can be simulated with it: it
gives links, nominal peaks and physical limits. Where sources differ it has the highest, which no result may
exceed. What the vendor leaves to the builder of a node (sockets, PCI addresses) is null, with the reason
code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from byteways.machine import link_rates
from byteways.machine.gpu_models import architecture_of
from byteways.machine.links import NVSWITCH, Graph, add_pcie
from byteways.machine.model import NOT_STATED, Device, LeftOut, Link, Topology
from byteways.machine.sysfs_cpu import UNKNOWN_PROCESSOR
from byteways.machine.sysfs_pcie import PcieLink

#: `Topology.read_from` of such a machine.
NOMINAL_PEAKS = "nominal-peaks"


@dataclass(frozen=True)
class NominalMachine:
    """A node of equal GPUs whose NVLinks all lead to NVSwitches; a single GPU has none."""

    title: str
    gpus: int
    model: str  # as the vendor's tools print it
    memory_bytes_per_s: float  # of a GPU
    memory_source: str
    nvlinks: int = 0  # of a GPU
    pcie: int = 0  # generation, of 16 lanes; 0: not stated
    pcie_source: str = ""
    c2c_bytes_per_s: float = 0.0  # per direction, to a CPU of the same module
    c2c_source: str = ""


_C2C = "published for NVLink-C2C of the GH200: 900 GB/s both directions"
#: Cloud providers state 7.7 and 8 TB/s.
_BLACKWELL = "published for the B200: 7.7 to 8 TB/s; the upper value"
NOMINAL_MACHINES: Mapping[str, NominalMachine] = {
    "a100-x8": NominalMachine(
        "8 NVIDIA A100 SXM 80 GB behind NVSwitch (HGX A100)",
        8,
        "NVIDIA A100-SXM4-80GB",
        2039e9,
        "1,593 MHz × 5,120 bit × 2 transfers, as deviceQuery reports it",
        nvlinks=12,
        pcie=4,
        pcie_source="PCIe 4.0 of the A100 SXM",
    ),
    "h100-x8": NominalMachine(
        "8 NVIDIA H100 SXM behind NVSwitch (HGX H100)",
        8,
        "NVIDIA H100 80GB HBM3",
        3.35e12,
        "published for the H100 SXM: 3.35 TB/s (AnandTech, 2023-11-13)",
        nvlinks=18,
        pcie=5,
        pcie_source="PCIe 5.0 of the H100 SXM",
    ),
    "h200-x8": NominalMachine(
        "8 NVIDIA H200 SXM behind NVSwitch (HGX H200)",
        8,
        "NVIDIA H200",
        4.8e12,
        "published for the H200 SXM: 4.8 TB/s",
        nvlinks=18,
        pcie=5,
        pcie_source="PCIe 5.0 of the H200 SXM",
    ),
    "gh200": NominalMachine(
        "NVIDIA GH200 with 96 GB of HBM3 (Grace Hopper Superchip)",
        1,
        "NVIDIA GH200 480GB",
        4e12,
        "published for 96 GB of HBM3: 3.35 to 4 TB/s; the upper value",
        c2c_bytes_per_s=450e9,
        c2c_source=_C2C,
    ),
    "b200-x8": NominalMachine(
        "8 NVIDIA B200 behind NVSwitch (HGX B200)",
        8,
        "NVIDIA B200",
        8e12,
        _BLACKWELL,
        nvlinks=18,
    ),
    "gb200-x4": NominalMachine(
        "4 NVIDIA GB200 behind NVSwitch (compute tray of a GB200 NVL72)",
        4,
        "NVIDIA GB200",
        8e12,
        _BLACKWELL,
        nvlinks=18,
        c2c_bytes_per_s=450e9,
        c2c_source=_C2C,
    ),
}


def nominal_mark(name: str) -> str:
    """Returns the line above everything that is shown of such a machine."""
    return f"NOMINAL published peaks of {name} (not measured)"


def nominal_topology(name: str) -> Topology:
    """Returns the topology of a row. Raises KeyError without one."""
    machine = NOMINAL_MACHINES[name]
    # Of modules with a CPU each GPU has its own, else all are drawn at one: the sockets are the builder's.
    cpus = [f"cpu{index if machine.c2c_bytes_per_s else 0}" for index in range(machine.gpus)]
    names = [f"gpu{index}" for index in range(machine.gpus)]
    architecture = architecture_of(machine.model)
    graph = Graph()
    for gpu, cpu in zip(names, cpus, strict=True):
        if machine.c2c_bytes_per_s:
            rate = machine.c2c_bytes_per_s
            graph.links.append(Link(gpu, cpu, "c2c", 1, None, rate, None, machine.c2c_source, "NVLink-C2C"))
        else:
            width = 16 if machine.pcie else 0
            source = machine.pcie_source or "not stated"
            add_pcie(graph, gpu, cpu, PcieLink(machine.pcie, width), source)
        if machine.nvlinks:
            generation = link_rates.nvlink_generation(architecture, 0, 0)
            fabric = link_rates.nvlink(machine.nvlinks, generation, 0, architecture)
            graph.links.append(
                Link(
                    gpu,
                    NVSWITCH,
                    "nvlink",
                    machine.nvlinks,
                    str(generation),
                    fabric.data_bytes_per_s,
                    fabric.signalling_bytes_per_s,
                    fabric.source,
                    f"NVLink{generation} ×{machine.nvlinks}",
                )
            )
    hosts = [
        Device(cpu, "cpu", UNKNOWN_PROCESSOR, memory_peak_source="not a matter of the GPUs' vendor")
        for cpu in dict.fromkeys(cpus)
    ]
    gpus = [
        Device(
            gpu,
            "gpu",
            machine.model,
            memory_peak_bytes_per_s=machine.memory_bytes_per_s,
            memory_peak_source=machine.memory_source,
            architecture=architecture,
        )
        for gpu in names
    ]
    left_out = [LeftOut(f"cpu.{what}", NOT_STATED, tuple(cpu.name for cpu in hosts)) for what in _OF_CPUS]
    left_out += [LeftOut(f"gpu.{what}", NOT_STATED, tuple(names)) for what in _OF_GPUS]
    return Topology(
        name,
        (*hosts, *gpus),
        (NVSWITCH,) if machine.nvlinks else (),
        tuple(graph.links),
        (f"{machine.title}: published peaks alone; its host is drawn as one CPU, or one a module",),
        read_from=NOMINAL_PEAKS,
        left_out=tuple(left_out),
    )


_OF_CPUS = ("model", "cores", "caches", "memory_bytes", "numa_domain")
_OF_GPUS = ("pci_address", "numa_domain", "multiprocessors", "memory_bytes")
