"""By which path MPI moves memory of GPUs that CPUs reach (MI300A): by a GPU, or by cores.

There a message arrives right whoever copies it: GPU support that is off, or staging, shows in no data. But
cores copy memory of either kind at one rate, and GPUs move theirs several times as fast: a message of device
memory and one of host memory between the same two APUs distinguish the paths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.memory import is_managed
from byteways.machine.model import Topology
from byteways.record import warnings

#: So long that the start of an engine's copy, tens of microseconds, is a small part of a message.
PATH_BYTES = 16 * 2**20
#: As many times as fast as host memory: no core. On MI300A one core moves up to 20 GB/s and an engine 82 GB/s
#: between APUs (Schieffer et al. 2025, sections 5.3 and 6.1.3).
FASTER = 1.5
GPU, CORES = "gpu", "cores"
#: What warns of it already, by the variable that is the cause.
_BY_VARIABLES = ("no-gpu-support", "staged-messages")


@dataclass(frozen=True)
class MessagePath:
    """What two messages of PATH_BYTES have shown; all null where nothing was measured."""

    path: str | None = None
    bytes_per_s: float | None = None  # of device memory
    host_bytes_per_s: float | None = None


def probes(case: Case, topology: Topology) -> tuple[Case, Case] | None:
    """Returns messages of device and of host memory that distinguish the paths of a case; None where CPUs do
    not reach both ends.
    """
    source, destination = case.flows[0].source, case.flows[0].destination
    if not case.by_mpi or case.options.get("staging") == "pinned" or source.rank == destination.rank:
        return None
    hosts = []
    for end in (source, destination):
        if not end.device.startswith("gpu") or end.device not in topology.names() or is_managed(end.memory):
            return None
        cpu = topology.device(end.device).shares_memory_with
        if cpu is None:
            return None
        hosts.append(Buffer(cpu, "pageable", rank=end.rank))
    if source.device == destination.device:
        return None
    device = Case(
        "mpi",
        "unidirectional",
        (Flow(source, destination, source.device),),
        PATH_BYTES,
        "warm",
        environment=case.environment,
    )
    return device, replace(device, flows=(Flow(hosts[0], hosts[1], hosts[0].device),))


def find_path(cases: tuple[Case, Case], ask: Callable[[Case], Mapping[str, Any]]) -> MessagePath:
    """Measures both messages.

    Args:
        cases: As probes() returns them.
        ask: Measures one and returns the worker's answer; raises WorkerLost.
    """
    rates = []
    for case in cases:
        outcome = ask(case)["outcome"]
        if outcome["status"] != "measured":
            return MessagePath()
        rates.append(case.size_bytes / float(outcome["time_ns"]["median"]) * 1e9)
    device, host = rates
    return MessagePath(GPU if device > FASTER * host else CORES, device, host)


def warned(found: MessagePath, outcome: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the warning that the messages of an outcome are copied by cores, unless a variable that makes
    them so is named already.
    """
    named = any(each.get("id") in _BY_VARIABLES for each in outcome.get("warnings", []))
    if found.path != CORES or named or found.bytes_per_s is None or found.host_bytes_per_s is None:
        return []
    return [warnings.make("copied-by-cores", found.bytes_per_s, FASTER * found.host_bytes_per_s).to_json()]
