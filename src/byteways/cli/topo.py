"""`byteways topo`: agents, links with their nominal peaks and sources, and who reaches whom over what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Annotated, Any

import typer

from byteways.cli.layout import Lines, Table, show
from byteways.errors import BytewaysError
from byteways.topology.model import Agent, Cache, Link, Topology
from byteways.topology.routes import link_class
from byteways.units import format_bandwidth, format_size

#: A matrix wider than this gets letters for its classes, with a legend.
MATRIX_WIDTH = 96


def topo(
    as_json: Annotated[bool, typer.Option("--json", help="Print the topology as JSON.")] = False,
    source: Annotated[
        Path | None, typer.Option("--from", help="Show a run folder's or a JSON file's machine instead.")
    ] = None,
) -> None:
    """Show agents, links and their nominal peaks."""
    topology = read(source) if source is not None else this_machine()
    if as_json:
        typer.echo(json.dumps(topology.to_json(), indent=2))
    else:
        show(blocks(topology))


def this_machine() -> Topology:
    """The topology here, with the runtime's names of GPUs, or in NVML's order when no worker could ask it."""
    from byteways.run.probe import probe
    from byteways.topology import discover

    try:
        return discover(probe().capabilities.agents)
    except BytewaysError as error:
        found = discover()
        why = f": {error.cause}" if error.cause else ""
        return replace(found, notes=(*found.notes, f"the runtimes were not asked, {error.what}{why}"))


def read(path: Path) -> Topology:
    """The topology in a run folder's manifest or in what `topo --json` printed.

    Raises:
        BytewaysError: There is none.
    """
    if path.is_dir():
        from byteways.results.run_folder import read_manifest

        data: Any = read_manifest(path).get("topology")
    else:
        try:
            data = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise BytewaysError(
                f"cannot read {path}", cause=str(error), hint="byteways topo --json > FILE"
            ) from error
    try:
        return Topology.from_json(data)
    except (KeyError, TypeError, AttributeError) as error:
        raise BytewaysError(
            f"{path} holds no topology",
            cause=f"{type(error).__name__}: {error}",
            hint="name a run folder, or a file made by byteways topo --json",
        ) from error


def blocks(topology: Topology) -> list[Table | Lines]:
    """All that is shown of a machine, as plain data."""
    cpus = [agent for agent in topology.agents if agent.kind == "cpu"]
    gpus = [agent for agent in topology.agents if agent.kind == "gpu"]
    shown: list[Table | Lines] = [_cpu_table(topology.host, cpus)]
    if gpus:
        shown.append(_gpu_table(gpus))
    sources = _sources(topology)
    if topology.links:
        shown.append(_link_table(topology.links, sources))
    if len(topology.agents) > 1:
        shown.extend(_matrix(topology))
    shown.append(Lines("Tree", tuple(_tree(topology))))
    shown.append(Lines("Where the peaks come from", tuple(f"[{i}] {text}" for text, i in sources.items())))
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
    return Table(
        f"NUMA domains of {host}", ("agent", "model", "cores", "domain's memory", "caches"), tuple(rows)
    )


def _gpu_table(agents: Sequence[Agent]) -> Table:
    rows = [
        (
            agent.name,
            agent.model,
            " × ".join(str(part) for part in (agent.multiprocessors, agent.architecture) if part)
            or "unknown",
            format_size(agent.memory_bytes) if agent.memory_bytes else "unknown",
            _rate(agent.memory_peak_bytes_per_s),
            agent.pci_address or "unknown",
            str(agent.numa_domain) if agent.numa_domain is not None else "unknown",
        )
        for agent in agents
    ]
    columns = ("agent", "model", "multiprocessors", "memory", "memory peak", "PCI address", "NUMA")
    return Table("GPUs", columns, tuple(rows), frozenset({"memory", "memory peak"}))


def _sources(topology: Topology) -> dict[str, int]:
    """Every sentence that says where a peak comes from, numbered in order of appearance."""
    texts = [_memory_source(agent) for agent in topology.agents] + [link.source for link in topology.links]
    return {text: index for index, text in enumerate(dict.fromkeys(texts), start=1)}


def _memory_source(agent: Agent) -> str:
    kind = "CPU" if agent.kind == "cpu" else "GPU"
    return f"{kind} memory: {agent.memory_peak_source or 'not told'}"


def _link_table(links: Iterable[Link], sources: dict[str, int]) -> Table:
    rows = [
        (
            f"{link.a}<>{link.b}",
            link.link_class,
            _rate(link.peak_bytes_per_s),
            _rate(link.signalling_bytes_per_s),
            f"[{sources[link.source]}]",
        )
        for link in links
    ]
    columns = ("link", "class", "peak per direction", "signalling", "source")
    return Table("Links", columns, tuple(rows), frozenset({"peak per direction", "signalling"}))


def _matrix(topology: Topology) -> list[Table | Lines]:
    """Link classes between agents, row to column; letters and a legend when the names would not fit."""
    names = topology.names()
    cells = [[link_class(topology, a, b) for b in names] for a in names]
    title, columns = "Link classes between agents", ("", *names)
    widest = [max(len(row[index]) for row in [names, *cells]) for index in range(len(names))]
    if sum(width + 2 for width in widest) <= MATRIX_WIDTH:
        return [Table(title, columns, tuple((a, *row) for a, row in zip(names, cells, strict=True)))]
    letters = dict(zip(dict.fromkeys(chain(*cells)), ascii_uppercase + ascii_lowercase, strict=False))
    rows = tuple((a, *(letters[cell] for cell in row)) for a, row in zip(names, cells, strict=True))
    legend = Lines("Classes", tuple(f"{letter}  {text}" for text, letter in letters.items()))
    return [Table(title, columns, rows), legend]


def _tree(topology: Topology) -> list[str]:
    """The machine as a tree: what hangs on each CPU agent, each GPU switch and each GPU."""
    children: dict[str, list[Link]] = {}
    for link in topology.links:
        if link.kind != "numa":
            children.setdefault(link.b, []).append(link)
    roots = [*topology.names("cpu"), *(name for name in topology.switches if not name.startswith("pcie"))]
    roots += [name for name in topology.names("gpu") if name in children]
    lines = []
    for root in roots:
        agent = next((agent for agent in topology.agents if agent.name == root), None)
        domain = f"  NUMA domain {agent.numa_domain}" if agent and agent.kind == "cpu" else ""
        lines.append(f"{root}{domain}")
        lines.extend(_branches(topology, children, root, ""))
    return lines


def _branches(topology: Topology, children: dict[str, list[Link]], node: str, indent: str) -> list[str]:
    lines = []
    links = children.get(node, [])
    for index, link in enumerate(links):
        last = index + 1 == len(links)
        agent = next((agent for agent in topology.agents if agent.name == link.a), None)
        named = f"  {agent.uuid}" if agent and agent.uuid and link.kind == "pcie" else ""
        text = f"{link.a}  {link.link_class}, {_rate(link.peak_bytes_per_s)}{named}"
        lines.append(f"{indent}{'└─' if last else '├─'} {text}")
        if agent is None:
            lines.extend(_branches(topology, children, link.a, indent + ("   " if last else "│  ")))
    return lines


def _rate(bytes_per_s: float | None) -> str:
    return "unknown" if bytes_per_s is None else format_bandwidth(bytes_per_s)


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
