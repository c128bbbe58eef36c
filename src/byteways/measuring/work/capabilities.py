"""Detects by query and trial what this machine's runtimes offer; the worker's answer to `probe`."""

from __future__ import annotations

import contextlib
import importlib.util
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from byteways import _core
from byteways.base.errors import BytewaysError
from byteways.base.settings import kernel_cache
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES, needs_grant
from byteways.machine.model import ANY_DOMAIN, OPTIONAL_CALLS, PLAIN_COPY, PLAIN_SET
from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.work.compile_kernels import compile_in_child, risky_architectures
from byteways.measuring.work.device_caches import last_level_caches

if TYPE_CHECKING:
    from byteways._core import Device, LibraryReport, Session

_DEVICE_FIELDS = (
    "name",
    "runtime",
    "runtime_version",
    "model",
    "uuid",
    "pci_address",
    "architecture",
    "numa_domain",
    "multiprocessors",
    "memory_bytes",
    "last_level_cache_bytes",
    "memory_bytes_per_s",
    "copy_engines",
    "pageable_access",
    "host_access",
)
#: Bytes of a copy by trial: a page.
_TRIAL_BYTES = 4096
_LIBRARY_FIELDS = ("library", "usable", "path", "found_by", "version", "searched", "reason", "hint")
_MISSING_FIELDS = ("name", "introduced_in", "required")


def list_devices(devices: Sequence[Device]) -> dict[str, dict[str, Any]]:
    """Returns the fields of devices by name, without using one: the free memory of a GPU is unknown."""
    return {
        device.name: _fields(device, _DEVICE_FIELDS) | ({} if device.runtime == "host" else {"free_bytes": 0})
        for device in devices
    }


@dataclass(frozen=True)
class Asked:
    """What a probe is to try; None: everything.

    `gpus` are names: of the others only the fields are returned. `granted` are memory kinds that are opened
    to each GPU separately. `launcher` is the user's command that starts ranks; None: search for one.
    """

    launcher: str | None = None
    gpus: Collection[str] | None = None
    interfaces: Collection[str] | None = None
    granted: Collection[str] | None = None

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Asked:
        """Returns what a conductor's message asks for."""
        return cls(*(request.get(name) for name in ("launcher", "gpus", "interfaces", "granted")))

    def interface_names(self) -> list[str]:
        """Returns the interfaces to try, in the order of their table."""
        return [name for name in INTERFACES if self.interfaces is None or name in self.interfaces]

    def granted_memory(self) -> list[str]:
        """Returns the memory kinds to try between GPUs, beside what peer access covers."""
        return [
            kind for kind in MEMORIES if needs_grant(kind) and (self.granted is None or kind in self.granted)
        ]


def describe(
    session: Session,
    every: Sequence[Device],
    host_bytes: int,
    asked: Asked,
) -> dict[str, Any]:
    """Returns `capabilities` (fields of topology.model.Capabilities), `libraries` and `method_version` as
    JSON data.

    Args:
        session: Has every runtime of the machine.
        every: The devices of this host.
        host_bytes: Usable host memory.
        asked: What to try.
    """
    devices = [one for one in every if one.runtime == "host" or asked.gpus is None or one.name in asked.gpus]
    gpus = [device.name for device in devices if device.runtime != "host"]
    if not session.virtual_time:  # which passes for one caller at a time
        _open_at_once(session, gpus)
    caches = last_level_caches(devices, session.virtual_time)
    lost = {
        architecture: compile_in_child(architecture, kernel_cache())
        for architecture in risky_architectures(devices, session.libraries)
    }
    first_gpus: dict[str, Device] = {}
    for device in devices:
        if device.runtime != "host":
            first_gpus.setdefault(device.runtime, device)
    with_xccl = any(INTERFACES[name].library == "xccl" for name in asked.interface_names())
    reports = {vendor: _xccl_report(vendor, session.virtual_time) for vendor in first_gpus if with_xccl}
    plain = {vendor: _plain_calls(session, gpu) for vendor, gpu in first_gpus.items()}
    return {
        "capabilities": {
            "devices": list_devices(every)
            | {
                device.name: {
                    **_device(session, device),
                    "last_level_cache_bytes": caches[device.name],
                }
                for device in devices
            },
            "memory": {
                device.name: {
                    **{memory: _offer(session.offers(device.name, memory)) for memory in MEMORIES},
                    "xccl": _xccl_memory(reports.get(device.runtime)),
                }
                for device in devices
            },
            "interface": {
                device.name: _interfaces(session, device, lost.get(device.architecture, ""), asked)
                for device in devices
            },
            "peer": _peers(session, gpus),
            "granted": _granted(session, gpus, asked.granted_memory()),
            "pageable_access": {device.name: device.pageable_access for device in every},
            "host_access": {device.name: device.host_access for device in every if device.runtime != "host"},
            "copy_engines": _copy_engines(session, gpus),
            "calls": {
                device.name: {
                    **{call: _offer(session.offers_call(device.name, call)) for call in OPTIONAL_CALLS},
                    **plain[device.runtime],
                }
                for device in devices
                if device.runtime != "host"
            },
            "host_loops": None
            if session.virtual_time
            else {"isa": _core.host_isa(), "compiler": _core.COMPILER},
            "host_memory_bytes": host_bytes,
        },
        "libraries": [
            *(_library(report) for report in (*session.libraries, *reports.values())),
            *_ucx_reports(asked, session.virtual_time),
        ],
        "method_version": _core.METHOD_VERSION,
    }


def _open_at_once(session: Session, gpus: Sequence[str]) -> None:
    """Opens GPUs concurrently: each takes up to a second, in which its driver initialises it.

    An error is left to what uses the GPU next.
    """

    def open_one(gpu: str) -> None:
        with contextlib.suppress(_core.Error):
            session.free_bytes(gpu)

    threads = [threading.Thread(target=open_one, args=(gpu,)) for gpu in gpus]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _device(session: Session, device: Device) -> dict[str, Any]:
    """Returns the device's fields; for a GPU also its free memory in bytes, 0 if unknown."""
    fields = _fields(device, _DEVICE_FIELDS)
    if device.runtime != "host":
        try:
            fields["free_bytes"] = session.free_bytes(device.name)
        except _core.Error:  # a lost GPU is reported when it is measured
            fields["free_bytes"] = 0
    return fields


def _interfaces(session: Session, device: Device, lost: str = "", asked: Asked = Asked()) -> dict[str, Any]:
    """Returns what the device can execute, by interface that is asked for.

    Args:
        lost: Why the child that compiled the device's kernels failed; empty if it succeeded.
        asked: As for describe().
    """
    on_host = device.runtime == "host"
    offers = {}
    for name in asked.interface_names():
        interface = INTERFACES[name]
        kernels = interface.kernels.get("cpu" if on_host else "gpu")
        if kernels is None:
            reason = f"{name} is executed by a {'GPU' if on_host else 'CPU'}"
            offers[name] = {"available": False, "reason": reason}
            continue
        if interface.library == "xccl":  # MPI, too, where ranks are processes: plan/legality
            offers[name] = _xccl_offer(device.runtime, session.virtual_time)
            continue
        if interface.library == "ucx":
            offers[name] = _ucx_offer(session.virtual_time, asked.launcher)
            continue
        if interface.worker != "native" and interface.library != "direct":
            offers[name] = _library_offer(interface.worker, session.virtual_time, asked.launcher)
            continue
        if name == "open-ipc" and (obstacle := session.handle_obstacle(device.name)):
            offers[name] = {"available": False, "reason": obstacle}
            continue
        answers = [_offer(session.offers_kernel(device.name, kernel)) for kernel in kernels]
        refused = [answer for answer in answers if not answer["available"]]
        if refused and lost:
            refused[0]["reason"] = lost
        offers[name] = refused[0] if refused else {"available": True, "reason": ""}
    return offers


def _library_offer(name: str, simulated: bool, launcher: str | None = None) -> dict[str, Any]:
    if name == "ranks":
        return _mpi_offer(simulated, launcher)
    return _package_offer(name, simulated)


@lru_cache(maxsize=1)
def _mpi_offer(simulated: bool, launcher: str | None = None) -> dict[str, Any]:
    """Whether an MPI launcher and its library exist. A child process loads the library, so that it cannot
    conflict with those loaded here.
    """
    from byteways.measuring.shared.launchers import LOCAL, launcher_program
    from byteways.measuring.shared.mpi_library import mpi_report_of_child

    if simulated:
        return {"available": True, "reason": ""}
    try:
        program = "" if launcher == LOCAL.name else launcher_program(launcher)
    except BytewaysError as error:
        known = " (mpiexec, mpirun, srun or flux)" if launcher is None else ""
        return {"available": False, "reason": f"{error.what}{known}"}
    report = mpi_report_of_child(program)
    return {"available": report["usable"], "reason": report["reason"]}


def _ucx_offer(simulated: bool, launcher: str | None) -> dict[str, Any]:
    """Whether UCX is available."""
    if simulated:
        return {"available": True, "reason": ""}
    report = _ucx_report(launcher)
    return {"available": report["usable"], "reason": report["reason"]}


def _ucx_reports(asked: Asked, simulated: bool) -> list[dict[str, Any]]:
    """Returns the report on UCX where cases use it; on a simulated machine it is that of the simulator."""
    if not any(INTERFACES[name].library == "ucx" for name in asked.interface_names()):
        return []
    return [_library(_core.ucx_report([], simulator_path())) if simulated else _ucx_report(asked.launcher)]


@lru_cache(maxsize=1)
def _ucx_report(launcher: str | None) -> dict[str, Any]:
    from byteways.measuring.shared.launchers import LOCAL, launcher_program
    from byteways.measuring.shared.ucx_library import ucx_report_of_child

    try:
        return ucx_report_of_child("" if launcher == LOCAL.name else launcher_program(launcher))
    except BytewaysError:  # no launcher: plan/legality says so
        return ucx_report_of_child()


def _xccl_offer(vendor: str, simulated: bool) -> dict[str, Any]:
    """Whether NCCL ("cuda") or RCCL ("hip") is available."""
    report = _xccl_report(vendor, simulated)
    return {"available": report.usable, "reason": report.reason}


def _xccl_report(vendor: str, simulated: bool) -> LibraryReport:
    simulator = simulator_path() if simulated else ""
    report: LibraryReport = _core.xccl_report(vendor, library_directories(), simulator)
    return report


#: Optional functions of NCCL and RCCL that allocate memory and register it.
_OF_MEMORY = ("ncclMemAlloc", "ncclMemFree", "ncclCommRegister", "ncclCommDeregister")


def _xccl_memory(report: LibraryReport | None) -> dict[str, Any]:
    """Whether the library allocates and registers memory of a device."""
    if report is None or not report.usable:
        return {"available": False, "reason": "" if report is None else report.reason}
    lacking = [function.name for function in report.missing if function.name in _OF_MEMORY]
    reason = f"{report.library} {report.version} lacks {', '.join(lacking)}" if lacking else ""
    return {"available": not lacking, "reason": reason}


def _package_offer(name: str, simulated: bool) -> dict[str, Any]:
    """Whether the Python package for this worker kind is installed, without the slow import."""
    if simulated:
        return {"available": False, "reason": f"{name} does not run on a simulated machine"}
    found = importlib.util.find_spec(name) is not None
    reason = "" if found else f"the Python package {name} is not installed in byteways' environment"
    return {"available": found, "reason": reason}


def _peers(session: Session, gpus: list[str]) -> dict[str, dict[str, Any]]:
    """Tests peer access for every ordered pair of GPUs by a verified write."""
    return {
        executor: {owner: _proved(session, executor, owner, "device") for owner in gpus if owner != executor}
        for executor in gpus
    }


def _granted(
    session: Session, gpus: list[str], memories: Sequence[str]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Tests peer access for memory kinds that must be opened to each GPU separately."""
    kinds = {
        owner: [memory for memory in memories if session.offers(owner, memory).available] for owner in gpus
    }
    return {
        executor: {
            owner: {memory: _proved(session, executor, owner, memory) for memory in kinds[owner]}
            for owner in gpus
            if owner != executor
        }
        for executor in gpus
    }


def _proved(session: Session, executor: str, owner: str, memory: str) -> dict[str, Any]:
    """Tests one pair. An error (out of memory, lost GPU) becomes the reason for this pair only."""
    try:
        return _offer(session.prove_peer(executor, owner, memory))
    except _core.Error as error:
        return {"available": False, "reason": str(error)}


def _plain_calls(session: Session, gpu: Device) -> dict[str, dict[str, Any]]:
    """Tries to copy unregistered host memory, and to set its bytes where kernels reach it: HIP on an APU
    refuses what other runtimes stage.
    """
    cpu = next(device for device in session.devices if device.runtime == "host")
    plain, own = (cpu.name, "pageable"), (gpu.name, "device")
    found = {PLAIN_COPY: _accepts(session, gpu, "copy", plain, own)}
    if gpu.pageable_access:
        found[PLAIN_SET] = _accepts(session, gpu, "memset", plain, None)
    return found


def _accepts(
    session: Session, gpu: Device, interface: str, source: tuple[str, str], to: tuple[str, str] | None
) -> dict[str, Any]:
    """Tries one call of `gpu` on memory of these devices and kinds; `to` None: on one buffer.

    What it answers to its own arguments is no error of a device, which goes on. Any other error is left to
    the cases that meet it.
    """
    options = _core.MeasureOptions()
    options.budget_s, options.max_samples = 0.0, 1
    try:
        first = session.allocate(*source, _TRIAL_BYTES, source[0])
        second = first if to is None else session.allocate(*to, _TRIAL_BYTES, to[0])
        session.measure([_core.Flow(first, second, gpu.name, interface, _TRIAL_BYTES)], options)
    except _core.Error as error:
        if "invalid argument" in str(error):
            return {"available": False, "reason": f"{gpu.runtime_version}: {error}"}
    return {"available": True, "reason": ""}


def _copy_engines(session: Session, gpus: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns the copy engines selectable for each source and destination; all CPUs count as one host."""
    if not gpus:
        return {}
    host = next(device.name for device in session.devices if device.runtime == "host")
    ends = {ANY_DOMAIN: host, **{name: name for name in gpus}}
    return {
        source: {
            destination: _fields(session.copy_engines(ends[source], ends[destination]), ("engines", "reason"))
            for destination in ends
            if destination != source
        }
        for source in ends
    }


def _offer(availability: Any) -> dict[str, Any]:
    return _fields(availability, ("available", "reason"))


def _library(report: Any) -> dict[str, Any]:
    missing = [_fields(function, _MISSING_FIELDS) for function in report.missing]
    return {**_fields(report, _LIBRARY_FIELDS), "missing": missing}


def _fields(thing: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}
