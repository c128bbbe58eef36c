"""The title of the page: the machine, and what its links reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from byteways.analyse.compare import rank
from byteways.analyse.headline import Lead, headline
from byteways.analyse.phrases import listed, percent, rate
from byteways.analyse.results_index import Index
from byteways.analyse.selection import APART, broadest_size, kind
from byteways.analyse.summary import Cell, Group, group_by
from byteways.topology.model import Topology
from byteways.topology.routes import route

#: What a title leaves out of a model's name.
_VENDORS = ("NVIDIA ", "AMD ", "Instinct ", "Intel(R) ")


def machine(topology: Topology) -> str:
    """`4 × H200`, `2 hosts of 8 × MI250X`; without a GPU `2 NUMA domains of EPYC 7A53`."""
    kind = "gpu" if topology.names("gpu") else "cpu"
    models = Counter(device.model for device in topology.devices if device.kind == kind)
    domains = "NUMA domains of " if kind == "cpu" and sum(models.values()) > 1 else ""
    told = [
        f"{count} {'' if domains else '× '}{domains}{_short(model)}" if count > 1 else _short(model)
        for model, count in models.items()
    ]
    hosts = f"{len(topology.hosts)} hosts of " if len(topology.hosts) > 1 else ""
    return f"{hosts}{listed(told)}" if told else "No devices"


def _short(model: str) -> str:
    for vendor in _VENDORS:
        model = model.replace(vendor, "")
    return model.strip() or "unknown model"


def results(index: Index) -> str:
    """`GPU pairs 396 GB/s, 88 % of peak; host to GPU 55.4 GB/s, 88 % of peak`; '' without ranked results.

    Each is the best interface for its kind of pair: those of the fastest link class, and host and GPU.
    """
    return "; ".join(_clauses(index))


def _clauses(index: Index) -> Iterator[str]:
    leads = list(_leads(index))
    direct = [lead for lead in leads if kind(lead.cells[0]) == "gpu-gpu" and not _routed(index, lead)]
    if direct:
        fastest = max(direct, key=lambda lead: lead.value)
        wires = index.link_class(fastest.cells[0])
        yield f"GPU pairs over {wires} {_reached(fastest)}" if wires else f"GPU pairs {_reached(fastest)}"
    for name, words in (("cpu-gpu", "host to GPU"), ("gpu-cpu", "GPU to host")):
        near = [lead for lead in leads if kind(lead.cells[0]) == name]
        if near:
            yield f"{words} {_reached(near[0])}"
            return
    within = [lead for lead in leads if kind(lead.cells[0]) == "cpu"]
    if within and not direct:
        yield f"copies in host memory {_reached(within[0])}"


def _leads(index: Index) -> Iterator[Group]:
    """Yields the recommendation for each kind of pair and link class at the largest size of the table; for
    kinds that it lacks, the best at the largest size with most paths.
    """
    table = headline(index)
    told = set()
    for _, entries in table.rows if table else ():
        lead = entries[-1]
        if isinstance(lead, Lead):
            told.add(kind(lead.group.cells[0]))
            yield lead.group
    for name in ("gpu-gpu", "cpu-gpu", "gpu-cpu", "cpu"):
        cells = [cell for cell in index.of_kind(name) if _comparable(index, cell)]
        for members in group_by(cells, index.link_class).values():
            size = broadest_size(members)
            ranking = rank(cell for cell in members if cell.record.size_bytes == size)
            if ranking and name not in told:
                yield ranking.group


def _comparable(index: Index, cell: Cell) -> bool:
    """Whether it is a transfer over the direct path between memories that stay where they are."""
    way = route(index.topology, cell.source.device, cell.destination.device)
    return cell.stays and cell.record.interface not in APART and all(link.kind != "numa" for link in way)


def _routed(index: Index, lead: Group) -> bool:
    return index.link_class(lead.cells[0]).startswith("routed")


def _reached(group: Group) -> str:
    share = f", {percent(group.value / group.peak)} of peak" if group.peak else ""
    return f"{rate(group)} GB/s{share}"
