"""`byteways topo`: devices, links with their nominal peaks and sources, and who reaches whom over what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from byteways.base.decoding import decoded
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_TOPOLOGY_BYTES, read_bytes
from byteways.base.json_text import json_text
from byteways.base.settings import gpus_wanted
from byteways.base.system_errors import unusable
from byteways.base.units import format_size
from byteways.cli import topo_links, topo_saving
from byteways.cli.device_groups import grouped, names_in_ranges, ranges_of
from byteways.console.layout import Lines, numeric, show
from byteways.console.terminal import echo
from byteways.machine import foreign, nccl_xml_writer
from byteways.machine.model import (
    FILE_LACKS,
    FORMAT_LACKS,
    NOT_STATED,
    Cache,
    Device,
    LeftOut,
    Nic,
    Topology,
)
from byteways.machine.nominal import NOMINAL_MACHINES, NOMINAL_PEAKS, nominal_mark, nominal_topology
from byteways.measuring.conduct.simulation import simulation_of
from byteways.plan.device_sample import ALL_UP_TO_DEVICES
from byteways.questions.display.table import Table
from byteways.record.run_folder import read_manifest
from byteways.record.simulation_mark import mark_of

#: Why a property is null, by code.
_WHY_LACKING = {
    FORMAT_LACKS: "no file of this format has it",
    FILE_LACKS: "files of this format may have it",
    NOT_STATED: "no data sheet states it",
}
#: The mark of a simulated machine in XML, which has no place of its own for it.
_XML_MARK = re.compile(rb"<!-- ((?:SIMULATED|NOMINAL) [^<>]*) -->\s*<system")


def topo(
    as_json: Annotated[bool, typer.Option("--json", help="Print the topology as JSON.")] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Show the machine of a run folder or a file: JSON, saved machine, XML of NCCL, RCCL or "
            "lstopo, output of nvidia-smi topo -m or rocm-smi --showtopo.",
        ),
    ] = None,
    as_nccl_xml: Annotated[
        bool, typer.Option("--nccl-xml", help="Print the topology as XML for NCCL_TOPO_FILE.")
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            help="Write this machine to a file for others, without serial numbers, names and addresses.",
            metavar="FILE",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            help="Show a machine model or vendors' peaks: a name from `list machines`, or a TOML file.",
        ),
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option("--fault", help="Fault to inject: 'down:gpu0-gpu1'. Repeatable.")
    ] = None,
    all_devices: Annotated[
        bool,
        typer.Option("--all-devices", help="With more than 16 devices, show each. [default: by class]"),
    ] = False,
) -> None:
    """Show devices, links and their nominal peaks."""
    if as_json and as_nccl_xml:
        raise BytewaysError("--json and --nccl-xml exclude each other", hint="byteways topo --nccl-xml")
    if source is not None and machine is not None:
        raise BytewaysError("--from and --machine exclude each other", hint="byteways topo --machine NAME")
    if save is not None:
        others = {"--json": as_json, "--nccl-xml": as_nccl_xml, "--from": source, "--machine": machine}
        if given := next((name for name, value in others.items() if value), None):
            hint = "byteways topo --save FILE writes this machine"
            raise BytewaysError(f"--save and {given} exclude each other", hint=hint)
        topo_saving.save(save)
        return
    if source is not None and not fault:
        topology, mark = read(source)
    else:
        topology, mark = _described(machine, fault)
    if as_nccl_xml:
        if mark:
            echo(nccl_xml_writer.comment(mark))
        echo(nccl_xml_writer.write(topology), end="")
    elif as_json:
        simulated = bool(mark) and topology.read_from != NOMINAL_PEAKS
        echo(json_text({"simulated": simulated, "mark": mark or None, **topology.to_json()}, indent=2))
    else:
        show(blocks(topology, every=all_devices), mark)


def _described(machine: str | None, fault: list[str] | None) -> tuple[Topology, str]:
    """Returns a machine that is named, or this one, with its mark. Raises BytewaysError."""
    if machine is not None and machine in NOMINAL_MACHINES and not fault:
        return nominal_topology(machine), nominal_mark(machine)
    simulation = simulation_of(machine, fault)
    return (this_machine(), "") if simulation is None else (simulation.topology(), simulation.mark)


def this_machine() -> Topology:
    """Returns the topology of this machine with the runtime's GPU names; in NVML's order without a worker.

    GPUs that no runtime opens are shown, too, unless the user wants none.
    """
    from byteways.machine.discovery import discover
    from byteways.measuring.conduct.probe import probe

    unopened = gpus_wanted()
    try:
        probed = probe()
        return discover(probed.capabilities.devices, management=probed.management, unopened=unopened)
    except BytewaysError as error:
        found = discover(unopened=unopened)
        why = f": {error.cause}" if error.cause else ""
        return replace(found, notes=(*found.notes, f"the runtimes could not be queried: {error.what}{why}"))


def read(path: Path) -> tuple[Topology, str]:
    """Reads the topology from a run folder's manifest, output of `topo --json`, or a file of another program.

    Returns:
        The topology, and the mark of a simulated machine, '' for a real one.

    Raises:
        BytewaysError: There is no topology.
    """
    if path.is_dir():
        manifest = read_manifest(path)
        return _topology(path, manifest.get("topology")), mark_of(manifest)
    try:
        content = read_bytes(path, MOST_TOPOLOGY_BYTES)
        if content.lstrip()[:1] not in (b"{", b"[") or foreign.format_of(content) is not None:
            said = _XML_MARK.search(content)
            return foreign.of(content, path), said[1].decode(errors="replace") if said else ""
        data: Any = decoded(content)
    except OSError as error:
        raise unusable(f"cannot read {path}", error, foreign.formats_hint()) from error
    except (ValueError, RecursionError) as error:
        raise BytewaysError(f"cannot read {path}", cause=str(error), hint=foreign.formats_hint()) from error
    topology = _topology(path, data)
    if topology.read_from == NOMINAL_PEAKS:
        return topology, nominal_mark(topology.host)
    return topology, str(data.get("mark") or "SIMULATED") if data.get("simulated") else ""


def _topology(path: Path, data: Any) -> Topology:
    try:
        return Topology.from_json(data)
    except ValueError as error:
        raise BytewaysError(
            f"{path} contains no topology",
            cause=str(error),
            hint=f"name a run folder, or a file of one of these: {foreign.formats_hint()}",
        ) from error


def blocks(topology: Topology, *, every: bool = False) -> list[Table | Lines]:
    """Returns everything that is shown of a machine, as plain data.

    Args:
        topology: The machine.
        every: Whether to show each device of a large machine, and not classes of equal ones.
    """
    whole = every or len(topology.devices) <= ALL_UP_TO_DEVICES
    cpus = [device for device in topology.devices if device.kind == "cpu"]
    gpus = [device for device in topology.devices if device.kind == "gpu"]
    shown: list[Table | Lines] = [_cpu_table(topology.host, cpus, whole), _host_memory(topology)]
    if types := _core_types(cpus):
        shown.append(Lines("Core types", types))
    if gpus:
        shown.append(_gpu_table(gpus, whole))
    if topology.nics:
        shown.append(_nic_table(topology.nics))
    sources = _sources(topology)
    if features := _features(gpus, whole):
        shown.append(Lines("GPU features", tuple(features)))
    if topology.links:
        shown.append(topo_links.table(topology.links, sources, whole))
    if not whole:
        shown.append(topo_links.classes(topology))
    elif len(topology.devices) > 1:
        shown.extend(topo_links.matrix(topology))
        shown.extend(topo_links.routed(topology))
    shown.append(Lines("Tree", tuple(topo_links.tree(topology, whole))))
    shown.append(Lines("Sources of the peaks", tuple(f"[{i}] {text}" for text, i in sources.items())))
    if topology.left_out:
        shown.append(Lines("Left out by the source", tuple(map(_left_out, topology.left_out))))
    notes = [f"- {note if whole else names_in_ranges(note)}" for note in topology.notes]
    if not whole:
        notes.append(f"- {len(topology.devices)} devices are shown by class; --all-devices shows each")
    if notes:
        shown.append(Lines("Notes", tuple(notes)))
    return shown


def _cpu_table(host: str, devices: Sequence[Device], whole: bool) -> Table:
    rows = [
        (
            device.name,
            device.model,
            _cores(device),
            format_size(device.memory_bytes) if device.memory_bytes else "unknown",
            ", ".join(_cache(cache) for cache in device.caches) or "unknown",
        )
        for device in devices
    ]
    columns = ("device", "model", "cores", "memory", "caches")
    return Table(f"NUMA domains of {host}", columns, tuple(rows if whole else grouped(rows, own=(2,))))


def _cores(device: Device) -> str:
    if device.executed_by is not None:
        return f"none; {device.executed_by} executes"
    return f"{len(device.cores)} ({_ranges(device.cores)})" if device.cores else "unknown"


def _core_types(devices: Sequence[Device]) -> tuple[str, ...]:
    """`cpu0: Cortex-X925 10 (0-9), Cortex-A725 10 (10-19)`, for CPUs with cores of several designs."""
    return tuple(
        f"{device.name}: "
        + ", ".join(f"{one.name} {len(one.cores)} ({_ranges(one.cores)})" for one in device.core_types)
        for device in devices
        if device.core_types
    )


def _host_memory(topology: Topology) -> Lines:
    """Returns the total bandwidth of all memory modules of the host, or why it is unknown."""
    most = topo_links.rate(topology.host_memory_limit_bytes_per_s)
    return Lines("Physical limit of host memory", (f"{most}: {topology.host_memory_limit_source}",))


def _gpu_table(devices: Sequence[Device], whole: bool) -> Table:
    shapes = [
        " × ".join(str(part) for part in (device.multiprocessors, device.architecture) if part)
        for device in devices
    ]
    # NVIDIA's driver tells them only once it is in use, as by a run.
    shaped = any(shapes)
    rows = [
        (
            device.name,
            device.model,
            *([shape or "unknown"] if shaped else []),
            format_size(device.memory_bytes) if device.memory_bytes else "unknown",
            topo_links.rate(device.memory_peak_bytes_per_s),
            device.pci_address or "unknown",
            str(device.numa_domain) if device.numa_domain is not None else "unknown",
        )
        for device, shape in zip(devices, shapes, strict=True)
    ]
    columns = ("device", "model", *(["multiprocessors"] if shaped else []))
    columns += ("memory", "memory peak", "PCI address", "NUMA")
    shown = rows if whole else grouped(rows, own=(columns.index("PCI address"),))
    return Table("GPUs", columns, tuple(shown), numeric(columns, {"memory", "memory peak"}))


def _nic_table(nics: Sequence[Nic]) -> Table:
    rows = [
        (
            nic.name,
            ", ".join((*([nic.port] if nic.port else []), *nic.interfaces)),
            "unknown" if nic.up is None else "up" if nic.up else "down",
            topo_links.rate(nic.peak_bytes_per_s),
            nic.peak_source,
            nic.pci_address or "unknown",
            nic.home or "unknown",
            ", ".join(nic.nearest_gpus) or "none",
        )
        for nic in nics
    ]
    columns = ("device", "names", "state", "rate", "source", "PCI address", "NUMA domain", "nearest GPU")
    return Table("Network interfaces (NICs)", columns, tuple(rows), numeric(columns, {"rate"}))


def _features(devices: Sequence[Device], whole: bool) -> list[str]:
    """Lists vendor-specific properties; devices with equal ones are merged."""
    facts: dict[str, list[str]] = {}
    for device in devices:
        engines, peer = device.copy_engines, device.peer_copy_engines
        told = [
            f"copy engines: {engines}, plus {peer} for peer links" if engines is not None else None,
            f"partition: {device.partition}" if device.partition else None,
            f"partition modes: {', '.join(device.partition_modes)}" if device.partition_modes else None,
            f"accelerator dies: {device.dies}" if device.dies else None,
            f"clock: {device.clock_mhz} MHz at most" if device.clock_mhz else None,
            f"power limit: {device.power_limit_watts:g} W a package" if device.power_limit_watts else None,
            f"caches: {', '.join(map(_gpu_cache, device.caches))}"
            if device.kind == "gpu" and device.caches
            else None,
            f"page faults: {device.page_faults}" if device.page_faults else None,
            f"shares memory with {device.shares_memory_with}" if device.shares_memory_with else None,
        ]
        for fact in told:
            if fact:
                facts.setdefault(fact, []).append(device.name)
    return [f"{', '.join(names) if whole else ranges_of(names)}: {fact}" for fact, names in facts.items()]


def _left_out(lacking: LeftOut) -> str:
    """`- gpu.memory_bytes of gpu0-gpu7: format-lacks, as every file of this format`."""
    of = f" of {ranges_of(lacking.of)}" if lacking.of else ""
    meaning = _WHY_LACKING.get(lacking.code, "the sources of the peaks say why")
    return f"- {lacking.what}{of}: {lacking.code}, {meaning}"


def _sources(topology: Topology) -> dict[str, int]:
    """Numbers the sources of peaks in order of appearance."""
    texts = [_memory_source(device) for device in topology.devices] + [link.source for link in topology.links]
    return {text: index for index, text in enumerate(dict.fromkeys(texts), start=1)}


def _memory_source(device: Device) -> str:
    kind = "CPU" if device.kind == "cpu" else "GPU"
    return f"{kind} memory: {device.memory_peak_source or 'unknown'}"


def _cache(cache: Cache) -> str:
    """`L1d 48 KiB`, `L3 480 MiB / 2 cores`."""
    kind = {"data": "d", "instruction": "i"}.get(cache.kind, "")
    shared = f" / {cache.shared_by_cores} cores" if cache.shared_by_cores > 1 else ""
    return f"L{cache.level}{kind} {format_size(cache.size_bytes)}{shared}"


def _gpu_cache(cache: Cache) -> str:
    """`L1i 64 KiB / 2 CUs`, with the bytes of a line where they are known."""
    line = f" in lines of {cache.line_bytes} bytes" if cache.line_bytes else ""
    return _cache(cache).replace("cores", "CUs") + line


def _ranges(numbers: Sequence[int]) -> str:
    """Formats (0, 1, 2, 3, 8) as `0-3,8`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
