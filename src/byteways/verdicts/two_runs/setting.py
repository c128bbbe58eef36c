"""The setting of a case: what makes results of different devices and machines comparable.

Two cases have one setting if they differ only in which of equal devices take part: the models of the GPUs,
the classes of the links, and everything else of their definition are equal. Where CPUs move the bytes, or
plain pages of the host hold them, the model and number of cores count too; between ranks the library and its
version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise

from byteways.answers.results.index import Index
from byteways.cases.case import Case
from byteways.cases.interface_rows import BARRIER
from byteways.cases.interfaces import (
    APPLICATIONS,
    INTERFACES,
    counts_as_stream,
    is_memory_step,
    is_scattered,
)
from byteways.record.libraries import version_of
from byteways.record.record import Record

_DEVICE = re.compile(r"\b(cpu|gpu)\d+\b")
#: Memory kinds whose rate depends on the CPUs: they are staged, faulted or migrated.
_OF_CPUS = ("pageable", "hugepage", "managed")

#: Interfaces that use GPUs which no flow names.
_OVER_OTHERS = ("route",)
#: Names in a manifest's libraries, by the one that carries messages.
_LIBRARIES = {"mpi": ("mpi",), "ucx": ("ucx",), "xccl": ("nccl", "rccl")}

#: Changes of the method: the version, and the cases whose results it may change. A result counts beside later
#: ones if no later change concerns it. `native/timing/measure.hpp` has the version, CHANGELOG.md the changes.
METHOD_CHANGES: tuple[tuple[int, Callable[[Record], bool]], ...] = (
    (2, lambda record: record.pattern != "unidirectional"),  # the common window of concurrent flows
    (3, lambda record: record.pattern == "interference"),  # a chase and its load in one window
    (4, lambda record: "cpu" in record.executor),  # longer batches on CPUs
    (5, lambda record: _host_pages(record) or _pulled(record)),  # pages of far domains, and no gate
    (6, lambda record: record.pattern != "unidirectional"),  # the rotation over a cache is shared
    (7, lambda record: False),  # only the directions of a sum, not the sum
    (8, lambda record: _timed_between_ranks(record)),  # untimed operations before each sample
    (9, lambda record: record.interface == "torch-copy"),  # in a stream of its own
    (10, lambda record: _by_own_loops(record) or _cold_in_one_memory(record) or _acknowledged(record)),
    (11, lambda record: _by_new_forms(record) or _chases_in_a_cache(record) or _from_pool(record)),
    (12, lambda record: _called_for_gpus(record)),  # longer batches, untimed operations before each
)


def since(record: Record) -> int:
    """Returns the first method version whose results of such a case are comparable with today's."""
    return max((version for version, concerns in METHOD_CHANGES if concerns(record)), default=1)


def method_changed(record: Record, one: int, two: int) -> bool:
    """Whether the method of such a case changed between two versions; True if one is not known here."""
    earlier, later = sorted((one, two))
    if earlier == later:
        return False
    known = METHOD_CHANGES[-1][0]
    return later > known or any(
        earlier < version <= later and concerns(record) for version, concerns in METHOD_CHANGES
    )


def setting_of(run: Index, record: Record) -> str | None:
    """Returns the setting of a record's case as text; None if part of it is not known."""
    return setting_of_case(run, Case.from_json(record.definition))


def setting_of_case(run: Index, case: Case) -> str | None:
    """Returns the setting of a case on a run's machine as text; None if part of it is not known.

    Between hosts that is the network, and in runs that did not record it the MPI library.

    Devices are renamed in order of appearance, so that gpu2>gpu3 has the setting of gpu0>gpu1.
    """
    known = set(run.topology.names())
    if case.hosts or not known.issuperset(case.devices):
        return None
    libraries = _libraries(run, case)
    if None in libraries:
        return None
    names: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        kind = found[1]
        return names.setdefault(found[0], f"{kind}{sum(name.startswith(kind) for name in names)}")

    flows = [_DEVICE.sub(renamed, json.dumps(flow.to_json(), sort_keys=True)) for flow in case.flows]
    parts = [
        *dict.fromkeys(run.topology.device(name).model for name in names if name.startswith("gpu")),
        *_cpus(run, case),
        *dict.fromkeys(filter(None, _wires(run, case))),
        *filter(None, libraries),
        *([f"{len(run.topology.names('gpu'))} GPUs"] if case.interface in _OVER_OTHERS else []),
        case.interface,
        case.pattern,
        *flows,
        str(case.size_bytes),
        case.cache,
        json.dumps(dict(sorted(case.options.items()))),
        json.dumps(dict(sorted(case.environment.items()))),
    ]
    return " | ".join(parts)


def family_of(record: Record) -> tuple[str, ...]:
    """Returns the keys of like settings, narrowest first, whose machines vary alike."""
    ends = [str(flow[end]).partition("@")[0] for flow in record.flows for end in ("source", "destination")]
    kinds = ",".join(sorted({re.sub(r"^(\d+/)?([a-z]+)\d+", r"\2", end) for end in ends}))
    issuer = "cpu" if "cpu" in record.executor else "gpu"
    size = "small" if record.size_bytes < 64 * 2**10 else "large" if record.size_bytes >= 2**24 else "middle"
    alone = "alone" if record.pattern == "unidirectional" else record.pattern
    return (
        f"{record.interface} {issuer} {kinds} {size} {alone}",
        f"{record.category} {issuer} {kinds} {size} {alone == 'alone'}",
    )


def _cpus(run: Index, case: Case) -> list[str]:
    """Returns model and cores of the CPUs if results depend on them."""
    at_work = any(executor.startswith("cpu") for executor in case.executors)
    plain = any(end.memory.startswith(_OF_CPUS) for flow in case.flows for end in flow.buffers)
    if not (at_work or plain):
        return []
    cpus = [device for device in run.topology.devices if device.kind == "cpu"]
    models = ", ".join(dict.fromkeys(device.model for device in cpus))
    return [f"{models} ({len(cpus)} domains, {sum(len(device.cores) for device in cpus)} cores)"]


def _libraries(run: Index, case: Case) -> list[str | None]:
    """Returns the libraries that carry a case between ranks, with versions; None for one not recorded."""
    known = run.manifest.get("libraries") or ()
    carriers = [
        kind for kind, used in (("mpi", case.by_mpi), ("ucx", case.by_ucx), ("xccl", case.by_xccl)) if used
    ]
    found: list[str | None] = []
    for kind in carriers:
        versions = {name: version_of(name, known) for name in _LIBRARIES[kind]}
        found.append(next((f"{name} {version}" for name, version in versions.items() if version), None))
    return found


def _wires(run: Index, case: Case) -> list[str]:
    found = []
    for flow in case.flows:
        stops = (flow.source.device, flow.executor, flow.destination.device, *filter(None, [flow.partner]))
        found += [run.class_between(a, b) for a, b in pairwise(stops) if a != b]
    return found


def _host_pages(record: Record) -> bool:
    ends = (str(flow[end]) for flow in record.flows for end in ("source", "destination"))
    return any(end.startswith("cpu") and f":{kind}" in end for end in ends for kind in _OF_CPUS)


def _pulled(record: Record) -> bool:
    """Whether it is a copy below 16 MiB that the destination's queue takes from a peer."""
    peers = record.source.startswith("gpu") and record.access == "read"
    return record.interface == "copy" and peers and record.size_bytes < 2**24


def _by_own_loops(record: Record) -> bool:
    """Whether our kernels, of which fences and grids changed, or our new loops on CPUs move the bytes."""
    if (
        counts_as_stream(record.interface)
        or record.interface in ("load", "store")
        or is_scattered(record.interface)
    ):
        return True
    on_gpus = ("kernel", "kernel-bulk", "kernel-2d", "direct", *APPLICATIONS)
    return record.interface in (("memcpy-stream",) if "cpu" in record.executor else on_gpus)


def _by_new_forms(record: Record) -> bool:
    """Whether a kernel with a form for each kind of grid, or a loop in registers on CPUs does the work."""
    if counts_as_stream(record.interface) or is_scattered(record.interface):
        return True
    return record.interface in ("kernel", "kernel-bulk", "kernel-2d", "compute") and "gpu" in record.executor


def _chases_in_a_cache(record: Record) -> bool:
    """Whether a CPU walks so few lines that a batch now goes once round (native/timing)."""
    small = record.interface == "pointer-chase" and record.size_bytes <= 4 << 20
    return small and "cpu" in record.executor


def _from_pool(record: Record) -> bool:
    """Whether memory of a pool is allocated or released, without waiting."""
    return is_memory_step(record.interface) and record.destination.endswith(":pool")


def _cold_in_one_memory(record: Record) -> bool:
    """Whether a rotation over four caches instead of two may change the result.

    On an H100 it changes transfers of 1 MiB and more from pinned memory by 0.2 % at most, loads of its own
    memory by 3 % (benchmarks/cold_rotation.py).
    """
    devices = {str(flow[end]).partition(":")[0] for flow in record.flows for end in ("source", "destination")}
    return record.cache == "cold" and len(devices) == 1 and devices == {record.executor}


def _acknowledged(record: Record) -> bool:
    """Whether a rank posts the receive of an acknowledgement before its messages."""
    return record.interface == "mpi" and record.pattern == "bidirectional"


def _called_for_gpus(record: Record) -> bool:
    """Whether ranks move memory of GPUs by calls that end with the work, such as MPI's and UCX's."""
    called = record.interface in APPLICATIONS or INTERFACES[record.interface].between in ("mpi", "ucx")
    return called and "gpu" in record.executor


def _timed_between_ranks(record: Record) -> bool:
    """Whether the time of an operation between ranks on CPUs is the result, on bytes that stay in a cache."""
    timed = record.pattern in (*APPLICATIONS, BARRIER) or record.interface.endswith("-ping-pong")
    return timed and record.cache == "warm" and "cpu" in record.executor
