"""Machines that results are from: which one it is, and what it consists of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from byteways.answers.results.index import Index
from byteways.machine.model import Topology


def uuids_of(run: Index) -> tuple[str, ...]:
    return tuple(device.uuid for device in run.topology.devices if device.kind == "gpu" and device.uuid)


def host_of(run: Index) -> str:
    return str((run.manifest.get("host") or {}).get("name") or run.topology.host)


def same_machine(uuids: Collection[str], host: str, run: Index) -> bool:
    """Whether a run is of this machine: it shares a GPU, or without GPUs the host's name."""
    own = uuids_of(run)
    return bool({*own} & {*uuids}) if own or uuids else host == host_of(run)


def links_of(topology: Topology) -> Counter[str]:
    """Returns the number of links by class, those of NUMA domains and of the host to itself left out."""
    return Counter(link.link_class for link in topology.links if link.kind != "numa")
