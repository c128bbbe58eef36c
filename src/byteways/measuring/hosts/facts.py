"""What each host says of itself, and which hosts cannot take part."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from byteways import __version__
from byteways.machine.model import Topology
from byteways.machine.nics import nic_of, rate_to_nic, route_to_nic
from byteways.plan.legality import kind_of
from byteways.record.code_version import code_digest

#: Changes with every start of a kernel, and is one for all network namespaces of a machine.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def own_facts() -> dict[str, Any]:
    """Returns this host's name, process, version and kernel, before anything is opened."""
    boot = ""
    with contextlib.suppress(OSError):
        boot = BOOT_ID.read_text().strip()
    return {
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "byteways": version(),
        "boot_id": boot,
        "cores": sorted(os.sched_getaffinity(0)),
    }


def version() -> str:
    """Returns what must be equal on all hosts."""
    return f"{__version__} ({code_digest()})"


def ends_of(topology: Topology, name: str) -> dict[str, Any]:
    """Returns which device of this host has this name, by its identity, and the way from it to its NIC.

    Raises:
        KeyError: This host has no such device.
    """
    device, nic = topology.device(name), nic_of(topology, name)
    told: dict[str, Any] = {"device": device.name, "uuid": device.uuid, "pci_address": device.pci_address}
    if kind_of(device.name) == "cpu":
        told["numa_domain"] = device.numa_domain
    if nic is None:
        return {**told, "peak_source": "sysfs shows no network interface with a PCI device that is up"}
    told["nic"] = {
        "name": nic.name,
        "pci_address": nic.pci_address,
        "guid": nic.guid,
        "port": nic.port,
        "interfaces": list(nic.interfaces),
    }
    told["links"] = [f"{link.a}<>{link.b}" for link in route_to_nic(topology, device.name, nic)]
    rate, told["peak_source"] = rate_to_nic(topology, device.name)
    return told if rate is None else {**told, "peak_bytes_per_s": rate}


def placed(hosts: Sequence[str], ranks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the name, as in the file, of the host of each rank; '' for a host that is not in it.

    Kernels may know their names with or without a domain. If no rank's kernel has a name of the file, as with
    addresses, ranks are taken to be in the order of the file; several of one host tell the same name.
    """
    exact = {name: name for name in hosts}
    short = {name.partition(".")[0]: name for name in hosts}
    found = [exact.get(rank["host"]) or short.get(str(rank["host"]).partition(".")[0], "") for rank in ranks]
    if not any(found) and len(ranks) == len(hosts):
        return list(hosts)
    kernels = list(dict.fromkeys(rank["host"] for rank in ranks))
    if not any(found) and len(kernels) == len(hosts):
        return [hosts[kernels.index(rank["host"])] for rank in ranks]
    return found


def unfit(
    hosts: Sequence[str], ranks: Sequence[Mapping[str, Any]], own_version: str, per_host: int = 1
) -> tuple[dict[str, str], str]:
    """Returns which hosts cannot take part, with reasons, and what is wrong with the job as a whole.

    Args:
        hosts: Names that were asked for.
        ranks: Facts of every rank (own_facts), in order of rank.
        own_version: Of the conductor.
        per_host: Ranks that were asked for on each host.
    """
    names = placed(hosts, ranks)
    wanted = len(hosts) * per_host
    if len(ranks) != wanted:
        return {}, f"{len(ranks)} of {wanted} ranks started: the launcher belongs to another MPI"
    for name, count in Counter(names).items():
        if not name:
            stranger = ranks[names.index(name)]["host"]
            return {}, f"a rank runs on {stranger}, which is not among the hosts"
        if count > per_host:
            number = "one" if per_host == 1 else per_host
            return {}, f"{count} ranks run on {name}: the launcher does not place {number} on each host"
    return {
        name: f"byteways {rank['byteways']} there, {own_version} where it was started"
        for name, rank in zip(names, ranks, strict=True)
        if rank["byteways"] != own_version
    }, ""


def cores_of_rank(
    ranks: Sequence[Mapping[str, Any]], here: int, per_host: int, planned: Sequence[int]
) -> Sequence[int]:
    """Returns the cores of a rank that shares its kernel with others, of which none has the same; empty if
    there are more ranks than cores.

    Args:
        ranks: Facts of every rank.
        here: Number of the rank.
        per_host: Ranks on each host.
        planned: Cores of the rank by the layout of `per_host` ranks, near to its devices.
    """
    own, shared = ranks[here], on_kernel(ranks, here)
    others = {core for rank in shared if rank != here for core in ranks[rank]["cores"]}
    if others.isdisjoint(own["cores"]):  # the launcher has bound them
        return list(own["cores"])
    if len(shared) == per_host:
        return planned
    each = len(own["cores"]) // len(shared)  # several hosts on one kernel
    at = each * shared.index(here)
    return list(own["cores"][at : at + each])


def on_kernel(ranks: Sequence[Mapping[str, Any]], here: int) -> list[int]:
    """Returns the ranks that share a kernel with one, itself among them."""
    key = "boot_id" if ranks[here]["boot_id"] else "host"
    return [rank for rank, one in enumerate(ranks) if one[key] == ranks[here][key]]


def number_on_host(ranks: Sequence[Mapping[str, Any]], here: int) -> int:
    """Returns the number of a rank among those of its host."""
    return sum(one["host"] == ranks[here]["host"] for one in ranks[:here])


def sharing(ranks: Sequence[Mapping[str, Any]]) -> list[int]:
    """Returns for each rank how many ranks its kernel has: more than one with network namespaces."""
    kernels = Counter(rank["boot_id"] for rank in ranks)
    return [kernels[rank["boot_id"]] if rank["boot_id"] else 1 for rank in ranks]
