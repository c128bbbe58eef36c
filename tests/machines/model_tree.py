"""The sysfs and procfs of a machine model as files, in which discovery must find what topology_of() says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from byteways.base.devices import device_number, is_cpu
from byteways.machine.discovery import discover
from byteways.machine.model import Topology
from byteways.machine.nics import SLINGSHOT
from byteways.models.model import MachineModel
from byteways.models.topology import bundles, links_down, management_devices, on_first_host, tells_power
from tests.machines.sysfs_writer import (
    CacheSpec,
    CpuSpec,
    GpuSpec,
    LinkSpec,
    MachineSpec,
    NicSpec,
    all_cores,
    write_tree,
)

#: Names of compute partitioning by the number of GPUs that one becomes; as many as dies is CPX.
_MODES = {1: "SPX", 2: "DPX", 3: "TPX", 4: "QPX"}


def discovered(
    folder: Path,
    model: MachineModel,
    runtime_devices: Mapping[str, Mapping[str, Any]] | None = None,
    faults: Sequence[str] = (),
) -> Topology:
    """Writes the model's tree into `folder` and returns what discovery finds there."""
    down = links_down(faults)
    machine = spec_of(model, down)
    write_tree(folder, machine)
    found = discover(
        runtime_devices,
        folder / "sys",
        proc=folder / "proc",
        allowed_cores=all_cores(machine),
        management=management_devices(model, down),
        environment={},
        host=model.name,
    )
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
        for kind, pair, width, _ in bundles(model, down)
        if kind == "xgmi" and on_first_host(model, pair)
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


def _nics(model: MachineModel, down: set[frozenset[str]]) -> Iterator[NicSpec]:
    """Yields the NICs of the first host, each in the NUMA domain of its GPU."""
    rates = {pair.split("-")[0]: rate for kind, pair, _, rate in bundles(model, down) if kind == "network"}
    for kind, pair, _, _ in bundles(model, down):
        if kind != "nic" or not on_first_host(model, pair):
            continue
        device, nic = pair.split("-")
        number = device_number(nic)
        domain = (
            device_number(device) if is_cpu(device) else model.wholes("gpu.domains")[device_number(device)]
        )
        yield NicSpec(
            f"0000:{0x10 + number:02x}:00.0",
            domain,
            interface=f"hsn{number}",
            vendor=SLINGSHOT if model.vendor == "amd" else "0x15b3",
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
        power_limit_watts=model.whole("topology.power_limit_watts") if tells_power(model, index) else 0,
        caches=_gpu_caches(model),
        line_bytes=model.whole("topology.cache_line_bytes"),
    )


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
