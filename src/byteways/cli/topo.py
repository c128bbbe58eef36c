"""`byteways topo`: agents, links with their nominal peaks and sources, and who reaches whom over what."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from byteways.cli import topo_links
from byteways.cli.layout import Lines, Table, show
from byteways.cli.terminal import echo
from byteways.decoding import decoded
from byteways.errors import BytewaysError
from byteways.files import MOST_TOPOLOGY_BYTES, read_bytes
from byteways.results.run_folder import read_manifest
from byteways.results.simulated import mark_of
from byteways.run.simulation import simulation_of
from byteways.topology import nccl_xml, nccl_xml_writer
from byteways.topology.model import Agent, Cache, Topology
from byteways.units import format_size

#: The mark of a simulated machine in XML, which has no place of its own for it.
_XML_MARK = re.compile(rb"<!-- (SIMULATED [^<>]*) -->\s*<system")


def topo(
    as_json: Annotated[bool, typer.Option("--json", help="Print the topology as JSON.")] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Show the machine of a run folder, a JSON file or an NCCL topology file (XML).",
        ),
    ] = None,
    as_nccl_xml: Annotated[
        bool, typer.Option("--nccl-xml", help="Print the topology as XML for NCCL_TOPO_FILE.")
    ] = False,
    machine: Annotated[
        str | None,
        typer.Option("--machine", help="Show a machine model: a name from `list machines` or a TOML file."),
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option("--fault", help="Fault to inject: 'down:gpu0-gpu1'. Repeatable.")
    ] = None,
) -> None:
    """Show devices, links and their nominal peaks."""
    if as_json and as_nccl_xml:
        raise BytewaysError("--json and --nccl-xml exclude each other", hint="byteways topo --nccl-xml")
    if source is not None and machine is not None:
        raise BytewaysError("--from and --machine exclude each other", hint="byteways topo --machine NAME")
    simulation = simulation_of(machine, fault)
    if simulation is not None:
        topology, mark = simulation.topology(), simulation.mark
    elif source is not None:
        topology, mark = read(source)
    else:
        topology, mark = this_machine(), ""
    if as_nccl_xml:
        if mark:
            echo(nccl_xml_writer.comment(mark))
        echo(nccl_xml_writer.write(topology), end="")
    elif as_json:
        echo(json.dumps({"simulated": bool(mark), "mark": mark or None, **topology.to_json()}, indent=2))
    else:
        show(blocks(topology), mark)


def this_machine() -> Topology:
    """The topology here, with the runtime's names of GPUs, or in NVML's order when no worker could ask it."""
    from byteways.run.probe import probe
    from byteways.topology import discover

    try:
        return discover(probe().capabilities.devices)
    except BytewaysError as error:
        found = discover()
        why = f": {error.cause}" if error.cause else ""
        return replace(found, notes=(*found.notes, f"the runtimes could not be queried: {error.what}{why}"))


def read(path: Path) -> tuple[Topology, str]:
    """The topology in a run folder's manifest, in what `topo --json` printed, or in XML of NCCL, by content.

    Returns:
        The topology, and the mark of a simulated machine, '' for a real one.

    Raises:
        BytewaysError: There is none.
    """
    if path.is_dir():
        manifest = read_manifest(path)
        return _topology(path, manifest.get("topology")), mark_of(manifest)
    try:
        content = read_bytes(path, MOST_TOPOLOGY_BYTES)
        if nccl_xml.is_xml(content):
            said = _XML_MARK.search(content)
            return nccl_xml.of(content, path), said[1].decode(errors="replace") if said else ""
        data: Any = decoded(content)
    except (OSError, ValueError, RecursionError) as error:
        raise BytewaysError(
            f"cannot read {path}",
            cause=error.strerror if isinstance(error, OSError) else f"neither JSON nor XML: {error}",
            hint="byteways topo --json > FILE",
        ) from error
    topology = _topology(path, data)
    return topology, str(data.get("mark") or "SIMULATED") if data.get("simulated") else ""


def _topology(path: Path, data: Any) -> Topology:
    try:
        return Topology.from_json(data)
    except ValueError as error:
        raise BytewaysError(
            f"{path} contains no topology",
            cause=str(error),
            hint="name a run folder, or a file made by byteways topo --json or NCCL_TOPO_DUMP_FILE",
        ) from error


def blocks(topology: Topology) -> list[Table | Lines]:
    """All that is shown of a machine, as plain data."""
    cpus = [agent for agent in topology.devices if agent.kind == "cpu"]
    gpus = [agent for agent in topology.devices if agent.kind == "gpu"]
    shown: list[Table | Lines] = [_cpu_table(topology.host, cpus), _host_memory(topology)]
    if gpus:
        shown.append(_gpu_table(gpus))
    sources = _sources(topology)
    if features := _features(gpus):
        shown.append(Lines("GPU features", tuple(features)))
    if topology.links:
        shown.append(topo_links.table(topology.links, sources))
    if len(topology.devices) > 1:
        shown.extend(topo_links.matrix(topology))
        shown.extend(topo_links.routed(topology))
    shown.append(Lines("Tree", tuple(topo_links.tree(topology))))
    shown.append(Lines("Sources of the peaks", tuple(f"[{i}] {text}" for text, i in sources.items())))
    if topology.notes:
        shown.append(Lines("Notes", tuple(f"- {note}" for note in topology.notes)))
    return shown


def _cpu_table(host: str, agents: Sequence[Agent]) -> Table:
    rows = [
        (
            agent.name,
            agent.model,
            f"{len(agent.cores)} ({_ranges(agent.cores)})" if agent.cores else "unknown",
            format_size(agent.memory_bytes) if agent.memory_bytes else "unknown",
            ", ".join(_cache(cache) for cache in agent.caches) or "unknown",
        )
        for agent in agents
    ]
    return Table(f"NUMA domains of {host}", ("device", "model", "cores", "memory", "caches"), tuple(rows))


def _host_memory(topology: Topology) -> Lines:
    """What all memory modules of the host carry at most, or why that is not known."""
    most = topo_links.rate(topology.host_memory_limit_bytes_per_s)
    return Lines("Physical limit of host memory", (f"{most}: {topology.host_memory_limit_source}",))


def _gpu_table(agents: Sequence[Agent]) -> Table:
    rows = [
        (
            agent.name,
            agent.model,
            " × ".join(str(part) for part in (agent.multiprocessors, agent.architecture) if part)
            or "unknown",
            format_size(agent.memory_bytes) if agent.memory_bytes else "unknown",
            topo_links.rate(agent.memory_peak_bytes_per_s),
            agent.pci_address or "unknown",
            str(agent.numa_domain) if agent.numa_domain is not None else "unknown",
        )
        for agent in agents
    ]
    columns = ("device", "model", "multiprocessors", "memory", "memory peak", "PCI address", "NUMA")
    return Table("GPUs", columns, tuple(rows), frozenset({"memory", "memory peak"}))


def _features(agents: Sequence[Agent]) -> list[str]:
    """What only some vendors' drivers tell, agents with equal facts together."""
    facts: dict[str, list[str]] = {}
    for agent in agents:
        engines, peer = agent.copy_engines, agent.peer_copy_engines
        told = [
            f"copy engines: {engines}, plus {peer} for peer links" if engines is not None else None,
            f"partition: {agent.partition}" if agent.partition else None,
            f"page faults: {agent.page_faults}" if agent.page_faults else None,
            f"shares memory with {agent.shares_memory_with}" if agent.shares_memory_with else None,
        ]
        for fact in told:
            if fact:
                facts.setdefault(fact, []).append(agent.name)
    return [f"{', '.join(names)}: {fact}" for fact, names in facts.items()]


def _sources(topology: Topology) -> dict[str, int]:
    """Every sentence that says where a peak comes from, numbered in order of appearance."""
    texts = [_memory_source(agent) for agent in topology.devices] + [link.source for link in topology.links]
    return {text: index for index, text in enumerate(dict.fromkeys(texts), start=1)}


def _memory_source(agent: Agent) -> str:
    kind = "CPU" if agent.kind == "cpu" else "GPU"
    return f"{kind} memory: {agent.memory_peak_source or 'unknown'}"


def _cache(cache: Cache) -> str:
    """`L1d 48 KiB`, `L3 480 MiB / 2 cores`."""
    kind = {"data": "d", "instruction": "i"}.get(cache.kind, "")
    shared = f" / {cache.shared_by_cores} cores" if cache.shared_by_cores > 1 else ""
    return f"L{cache.level}{kind} {format_size(cache.size_bytes)}{shared}"


def _ranges(numbers: Sequence[int]) -> str:
    """`0-3,8` of (0, 1, 2, 3, 8)."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
