"""Toy machines for the simulator, each in its own process: a process simulates one machine only."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

from byteways import _core
from byteways.measuring.shared.simulator import simulator_path
from tests.fork_server import ForkServer

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
GB = 1e9

#: Bytes/s of one operation by the toys' numbers, without its fixed time: peak × efficiency.
RATES = {
    "kernel-local": 0.8 * 1000 * GB / 2,
    "kernel-peer-read": 0.7 * 100 * GB,
    "kernel-peer-write": 0.8 * 100 * GB,
    "kernel-host-read": 0.6 * 50 * GB,
    "kernel-host-write": 0.5 * 50 * GB,
    "engine-peer-read": 0.85 * 100 * GB,
    "engine-peer-write": 0.9 * 100 * GB,
    "engine-host-read": 0.9 * 50 * GB,
    "engine-host-write": 0.8 * 50 * GB,
    "blit-local": 0.5 * 1000 * GB / 2,
    "blit-peer-read": 0.35 * 100 * GB,
    "blit-peer-write": 0.4 * 100 * GB,
    "blit-host-read": 0.3 * 50 * GB,
    "blit-host-write": 0.2 * 50 * GB,
}
FIXED_NS = {"kernel": 2000.0, "bulk": 3000.0, "engine": 4000.0, "blit": 5000.0}
CORE_COPY = 8 * GB
#: Real seconds after which a process is ended: virtual time that stands still would take for ever.
LIMIT_S = 120

_GPU = {
    "count": 2,
    "multiprocessors": 64,
    "multiply_adds_per_s": 10e12,
    "memory_bytes": 8 * GIB,
    "cache_bytes": 4 * MIB,
    "memory_bytes_per_s": 1000 * GB,
    "copy_engines": 2,
    "peer_copy_engines": 2,
    "hardware_queues": 32,
    "resident_threads": 0,
    "kernel_overlap": 0.0,
    "queue_depth": 1024,
    "thread_bytes_per_s": 0.0,
    "bulk_block_bytes_per_s": 0.0,
    "domains.0": 0,
    "domains.1": 1,
    "pci_addresses.0": "0000:0a:00.0",
    "pci_addresses.1": "0000:8b:00.0",
    "cache_latency_ns": 100.0,
    "memory_latency_ns": 300.0,
    "memory_wait_ns": 0.0,
    "peer_latency_ns": 800.0,
    "l1_bytes": 0,
    "l1_latency_ns": 0.0,
    "l2_bytes": 0,
    "l2_latency_ns": 0.0,
    "peer_span_bytes": 0,
    "peer_far_latency_ns": 0.0,
    "hop_latency_ns": 200.0,
    "host_latency_ns": 1000.0,
    "routed_efficiency": 1.0,
}
_CPU = {
    "domains": 2,
    "cores": 16,
    "name": "Toy CPU",
    "architecture": "x86_64",
    "memory_bytes": 16 * GIB,
    "read_bytes_per_s": 100 * GB,
    "write_bytes_per_s": 100 * GB,
    "core_copy_bytes_per_s": CORE_COPY,
    "core_stream_bytes_per_s": 10 * GB,
    "call_ns": 0.0,
    "team_ns": 5000.0,
    "core_multiply_adds_per_s": 2e9,
    "core_remote_bytes_per_s": 5 * GB,
    "gpu_touched_part": 0.0,
    "memory_latency_ns": 90.0,
    "remote_latency_ns": 150.0,
    "memory_wait_ns": 0.0,
    "caches.0.bytes": 1 * MIB,
    "caches.0.latency_ns": 4.0,
    "caches.0.copy_bytes_per_s": 40 * GB,
}
_MANAGED = {
    "kernels_migrate": 1,
    "source_copies": 0,
    "remote_efficiency": 0.0,
    "fault_ns": 20000.0,
    "fault_peer_ns": 0.0,
    "to_gpu_bytes_per_s": 10 * GB,
    "to_host_bytes_per_s": 10 * GB,
    "peer_bytes_per_s": 10 * GB,
    "prefetch_ns": 10000.0,
    "prefetch_peer_ns": 0.0,
    "prefetch_to_gpu_bytes_per_s": 40 * GB,
    "prefetch_to_host_bytes_per_s": 40 * GB,
    "prefetch_peer_bytes_per_s": 80 * GB,
}
_CALLS = {
    "enqueue_ns": 1000.0,
    "synchronize_ns": 2000.0,
    "query_ns": 500.0,
    "clock_ns": 20.0,
    "event_ns": 0.0,
    "launch_ns": 0.0,
    "empty_kernel_ns": 0.0,
    "batches_overlap": 0,
    "batch_host_ns": 0.0,
    "batch_peer_ns": 0.0,
}
_MEMORY = {"call_ns": 0.0, "page_ns": 0.0, "lock_page_ns": 0.0, "granule_ns": 0.0, "release_part": 0.0}
#: Of MPI; every number is another one, so that a test sees which of them were charged.
_MPI = {
    "eager_bytes": 8 * KIB,
    "send_ns": 300.0,
    "receive_ns": 170.0,
    "handshake_ns": 510.0,
    "ipc_from_bytes": 0,
    "core_device_bytes_per_s": 0.0,
    "ipc_core_bytes": 0,
    "ipc_core_ns": 0.0,
    "copy_ns": 0.0,
    "engine_ns": 0.0,
    "engine_system_part": 0.0,
    "registration_ns": 70000.0,
    "registers_once": 1,
    "staging_bytes": 256 * KIB,
    "gpu_aware": 1,
    "ipc_by_engine": 1,
    "core_reductions": 0,
    "shared_cell_bytes": 0,
    "kernel_reductions_from_bytes": 0,
}
_XCCL = {
    "channels": 4,
    "ll_step_ns": 900.0,
    "simple_step_ns": 2100.0,
    "ll128_step_ns": 0.0,
    "call_ns": 1000.0,
    "further_launch_part": 0.4,
    "further_call_ns": 30.0,
    "ll_efficiency": 1.0,
    "simple_efficiency": 1.0,
}


def _efficiency(way: str) -> float:
    peak = 1000 * GB / 2 if way.endswith("local") else 100 * GB if "-peer-" in way else 50 * GB
    return round(RATES[way] / peak, 6)


def _rates() -> dict[str, float]:
    values = {}
    for way in (*RATES, *(f"bulk{way[6:]}" for way in RATES if way.startswith("kernel"))):
        values[f"rates.{way}.fixed_ns"] = FIXED_NS[way.split("-")[0]]
        values[f"rates.{way}.efficiency"] = _efficiency(way.replace("bulk", "kernel"))
        values[f"rates.{way}.cap_bytes_per_s"] = 0.0
        values[f"rates.{way}.duplex_efficiency"] = 0.0
    return values


def _sheet(facts: Mapping[str, Any], **overrides: Any) -> str:
    network = {"hosts": 1, "network_latency_ns": 0.0, "network_efficiency": 0.0}
    values: dict[str, Any] = {"noise": 0.0, "seed": 1, **network, **facts}
    for table, entries in (
        ("gpu", _GPU),
        ("cpu", _CPU),
        ("managed", _MANAGED),
        ("calls", _CALLS),
        ("memory", _MEMORY),
        ("mpi", _MPI),
        ("xccl", _XCCL),
    ):
        values.update({f"{table}.{key}": value for key, value in entries.items()})
    for way, fixed, rate in (("to", 2000.0, 4 * GB), ("from", 6000.0, 5 * GB)):
        values |= {f"staging.{way}.0.up_to_bytes": 0, f"staging.{way}.0.fixed_ns": fixed}
        values[f"staging.{way}.0.bytes_per_s"] = rate
    links = [("pcie", "gpu0-cpu0", 1, 50 * GB), ("pcie", "gpu1-cpu1", 1, 50 * GB)]
    links.append(("numa", "cpu0-cpu1", 1, 80 * GB))
    links.append((facts["links"], "gpu0-gpu1", 4, 100 * GB))
    del values["links"]
    for index, (kind, pair, width, peak) in enumerate(links):
        values |= {f"links.{index}.kind": kind, f"links.{index}.pairs.0": pair, f"links.{index}.width": width}
        values |= {f"links.{index}.peak_bytes_per_s": peak, f"links.{index}.duplex_bytes_per_s": 0.0}
        values |= {f"links.{index}.switch_blocking": 0.0}
    values |= {"features.pageable_access": 0, "features.host_access": 0, "features.managed_memory": 1}
    values |= {"features.gpu_domains": 0}
    values |= _rates()
    values |= {key.replace("__", "."): value for key, value in overrides.items()}
    return "".join(f"{key}\t{value}\n" for key, value in values.items())


def nvidia(**overrides: Any) -> str:
    """Two GPUs linked by four NVLinks; `calls__enqueue_ns=5.0` overrides a number."""
    named = {"gpu__name": "Toy N", "gpu__architecture": "sm_90"}
    facts = {"name": "toy-n", "vendor": "nvidia", "runtime_version": 13000, "links": "nvlink"}
    return _sheet(facts, **{**named, **overrides})


def amd(**overrides: Any) -> str:
    """The same machine with xGMI in place of NVLink, and pages that kernels reach where they are."""
    named = {"gpu__name": "Toy A", "gpu__architecture": "gfx90a:sramecc+:xnack-"}
    facts = {"name": "toy-a", "vendor": "amd", "runtime_version": 60241134, "links": "xgmi"}
    return _sheet(facts, **{**named, "managed__kernels_migrate": 0, **overrides})


def play(
    sheet: str, scene: Callable[[_core.Session], Any], environment: Mapping[str, str] | None = None
) -> Any:
    """Returns the JSON result of `scene` for a session on the machine, run in a separate process."""
    return apart(lambda: scene(_core.Session(simulator=simulator_path(), machine=sheet)), environment)


def _end_after_limit() -> None:
    """Ends this process after LIMIT_S, also when it hangs outside the interpreter; shows where it was."""
    faulthandler.dump_traceback_later(LIMIT_S, file=sys.__stderr__)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the parent's handler needs the interpreter
    signal.alarm(LIMIT_S + 2)


def _answer(action: Callable[[], Any], writer: int) -> None:
    """Writes what the action returns, or how it failed, and ends this process."""
    _end_after_limit()
    try:
        answer = {"answer": action()}
    except BaseException:
        answer = {"failure": traceback.format_exc()}
    with os.fdopen(writer, "w") as pipe:
        json.dump(answer, pipe)
    os._exit(0)


#: Forks in place of pytest's process, where `start_fork_server` was called.
_server: ForkServer | None = None


def start_fork_server() -> Callable[[], None]:
    """Starts the server of `apart` while this process is small; returns what ends it."""
    global _server
    _server = ForkServer(_answer)
    return _server.end


def apart(action: Callable[[], Any], environment: Mapping[str, str] | None = None) -> Any:
    """What `action` returns in a forked process with these variables added."""
    with mock.patch.dict(os.environ, environment or {}):
        status, text = (_server and _server.call(action)) or _forked(action)
    assert status == 0 and text, f"the process ended with {status}"
    answer = json.loads(text)
    assert "failure" not in answer, answer["failure"]
    return answer["answer"]


def _forked(action: Callable[[], Any]) -> tuple[int, str]:
    """Status and output of a process that is forked from this one."""
    reader, writer = os.pipe()
    # The child never collects garbage of the parent: native threads that it would wait for were not forked.
    # Python may collect before the child runs its first line: hooks after a fork allocate.
    gc.freeze()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(action, writer)
    gc.unfreeze()
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return status, text


def options(**values: Any) -> _core.MeasureOptions:
    """Options with these values, and a budget in virtual seconds that is enough for every case here."""
    made = _core.MeasureOptions()
    made.budget_s = 1.0
    for name, value in values.items():
        setattr(made, name, value)
    return made


def flow(
    session: _core.Session,
    source: tuple[str, str],
    destination: tuple[str, str],
    executor: str,
    interface: str,
    size: int,
    **more: Any,
) -> _core.Flow:
    """A flow between new buffers; an end is (device, memory)."""
    ends = [session.allocate(device, memory, size, device) for device, memory in (source, destination)]
    return _core.Flow(*ends, executor, interface, size, **more)
