"""Where the places of a study are on another machine: links of the source's classes stand for links here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from byteways.machines import load as load_model
from byteways.machines.topology import topology_of
from byteways.plan.legality import kind_of
from byteways.plan.sweep import nearest_cpu
from byteways.studies.study import Place, Study
from byteways.topology.model import Topology
from byteways.topology.routes import link_class, route

#: Classes of a way that is no direct link.
INDIRECT = ("routed", "local", "no link")
NEAR = "near "


@dataclass(frozen=True)
class Located:
    """A place on this machine: its agents, and what is to be said; without agents, why it has none."""

    place: Place
    agents: tuple[str, ...] | None
    reason: str = ""  # in a sentence, where there are no agents
    note: str = ""  # what stands for what


def locate(study: Study, topology: Topology) -> dict[str, Located]:
    """Every place of the study on this machine, by name."""
    there = _source_topology(study.models[0])
    return {place.name: _locate(place, there, topology) for place in study.places.values()}


@cache
def _source_topology(model: str) -> Topology:
    return topology_of(load_model(model))


def _locate(place: Place, there: Topology, here: Topology) -> Located:
    gpus = [name for name in place.agents if kind_of(name) == "gpu"]
    if len(gpus) == 2:
        return _locate_pair(place, (gpus[0], gpus[1]), there, here)
    return _named(place, {}, there, here)


def _locate_pair(place: Place, pair: tuple[str, str], there: Topology, here: Topology) -> Located:
    """The same pair if its links are of the same class; else the first of that class; else by width."""
    wanted = link_class(there, *pair)
    found = {
        (first, second): link_class(here, first, second)
        for first in here.names("gpu")
        for second in here.names("gpu")
        if first != second
    }
    if found.get(pair) == wanted:
        return _named(place, {}, there, here)
    same = next((ends for ends, name in found.items() if name == wanted), None)
    if same:
        note = f"{'>'.join(same)} for {'>'.join(pair)}, both {wanted}"
        return _named(place, dict(zip(pair, same, strict=True)), there, here, note)
    direct = _by_width(found, here)
    if not found:
        return Located(place, None, f"it takes two GPUs, and this machine has {len(here.names('gpu'))}")
    if place.rank is None or not direct:
        return Located(place, None, f"{place.meaning} ({wanted}) has no counterpart on this machine")
    if place.rank > len(direct):
        classes = f"{len(direct)} class{'es' if len(direct) > 1 else ''} of links between GPUs"
        reason = f"{place.meaning} ({wanted}) has no counterpart: this machine has {classes}"
        return Located(place, None, f"{reason}, {', '.join(name for name, _ in direct)}")
    name, ends = direct[place.rank - 1]
    note = f"{'>'.join(ends)} ({name}) for {'>'.join(pair)} ({wanted})"
    return _named(place, dict(zip(pair, ends, strict=True)), there, here, note)


def _by_width(found: dict[tuple[str, str], str], here: Topology) -> list[tuple[str, tuple[str, str]]]:
    """Classes of direct links, each with its first pair, the widest first."""
    first: dict[str, tuple[str, str]] = {}
    for ends, name in found.items():
        if name not in INDIRECT:
            first.setdefault(name, ends)

    def width(entry: tuple[str, tuple[str, str]]) -> float:
        return min((link.peak_bytes_per_s or 0.0 for link in route(here, *entry[1])), default=0.0)

    return sorted(first.items(), key=width, reverse=True)


def _named(
    place: Place, stands_for: dict[str, str], there: Topology, here: Topology, note: str = ""
) -> Located:
    """With agents of this machine; a CPU that is "near a" is the one next to the agent that stands for it."""
    agents: list[str] = []
    for name in place.agents:
        if name.startswith(NEAR):
            anchor = agents["abcd".index(name.removeprefix(NEAR))]
            agents.append(nearest_cpu(anchor, here))
            continue
        agents.append(stands_for.get(name, name))
        if agents[-1] not in here.names():
            return Located(place, None, f"this machine has no {agents[-1]}")
    kinds = {kind_of(name) for name in agents}
    if len(agents) == 2 and kinds == {"cpu", "gpu"} and _shares(agents, here) != _shares(agents, there):
        how = "share" if _shares(agents, here) else "do not share"
        reason = f"{' and '.join(sorted(agents))} {how} one memory here, other than in the source"
        return Located(place, None, reason)
    return Located(place, tuple(agents), note=note)


def _shares(agents: list[str], topology: Topology) -> bool:
    """Whether the GPU of a CPU-GPU pair has the memory of that CPU for its own."""
    cpu, gpu = sorted(agents)
    return gpu in topology.names() and topology.agent(gpu).shares_memory_with == cpu
