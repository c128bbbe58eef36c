"""Measures one case with the native core: buffers, flows, options, and what came of it."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from byteways import _core
from byteways.base.units import format_size
from byteways.cases.case import Case
from byteways.cases.case import Flow as PlannedFlow
from byteways.cases.interfaces import is_memory_step, metric_of, moves_pages
from byteways.cases.memory import is_managed
from byteways.cases.pieces import pieces_of
from byteways.cases.relays import paths_of
from byteways.machine.sysfs_health import SysfsHealth
from byteways.measuring.shared.health_users import FRESH_S, GpuUsers
from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.buffer_pool import BufferPool
from byteways.measuring.work.energy import EnergyMeter
from byteways.measuring.work.exporter import Exporter, ExporterLost, Exports, SimulatedExporter
from byteways.measuring.work.failures import failed_by, skipped
from byteways.measuring.work.health import HealthMonitor, devices_of
from byteways.measuring.work.measurer import SessionMeasurer, flow_options, open_session
from byteways.measuring.work.outcome import misplaced, on_other_pages, outcome_of
from byteways.measuring.work.outcome_fields import Outcome
from byteways.measuring.work.own_host import devices_of_own_host
from byteways.plan.footprint import flow_buffer_bytes, usable

if TYPE_CHECKING:
    from byteways._core import Buffer, Device, Flow, Measurement, MeasureOptions, Session

#: Bytes that show whether a device still works after an error.
_TRIAL_BYTES = 4096


class NativeMeasurer(SessionMeasurer):
    """Measures within a process; owns the session and its buffers for the life of a worker.

    Args:
        session: With every runtime of the machine.
        simulator: File of the simulator when the machine is simulated, else ''.
        machine: The sheet of that machine.
        began_s: Of `time.monotonic()`, when the session began to open.
    """

    def __init__(
        self, session: Session, simulator: str = "", machine: str = "", began_s: float = 0.0
    ) -> None:
        devices = devices_of_own_host(session, machine)
        super().__init__(session, devices)
        self._simulator, self._machine = simulator, machine
        self._on_host = {device.name: device.runtime == "host" for device in devices}
        self._gpus = [device.name for device in devices if not self._on_host[device.name]]
        self._cpu_domain = {
            device.name: device.numa_domain for device in devices if self._on_host[device.name]
        }
        self._twins = _twins(devices)
        self._first_gpus = _first_gpus(devices)
        self._exporter: Exports = Exporter()
        if simulator:
            self._exporter = SimulatedExporter(lambda: self.session, (simulator, machine))
        self._arena = BufferPool(session, self._memory, self._first_gpus, self._exporter)
        addresses = {device.name: device.pci_address for device in devices if not self._on_host[device.name]}
        #: Searched once: a simulated machine is opened for every case.
        self._libraries = library_directories() if simulator else []
        uuids = {device.name: device.uuid for device in devices if device.uuid}
        self._health = HealthMonitor(_core, uuids, simulator, None if simulator else SysfsHealth(addresses))
        #: None on a simulated machine, which nobody else can use.
        self._users = (
            None if simulator else GpuUsers(_core, self._health.management, uuids, addresses, began_s=began_s)
        )
        self._meter = EnergyMeter(self._health.energy_mj)

    @property
    def devices(self) -> list[Device]:
        """The devices of this host. They keep the session open, so none is kept."""
        return devices_of_own_host(self.session, self._machine)

    @classmethod
    def open(cls, machine: str = "") -> NativeMeasurer:
        """Loads the native core and opens every runtime of this machine, or of the one that `machine` is the
        sheet of.
        """
        simulator, began_s = simulator_path() if machine else "", time.monotonic()
        return cls(open_session(simulator, machine), simulator, machine, began_s)

    def restart(self, key: int) -> None:
        """Begins the simulated machine anew, so that a case depends on its key and not on those before it.

        Nothing on a real machine, where buffers that are kept save seconds.
        """
        if not self._simulator:
            return
        self._arena.clear()
        self._exporter.close()
        del self._arena, self.session
        try:
            _core.restart_machine(self._simulator, self._machine, key)
        except _core.Error:
            gc.collect()  # an exception's traceback may hold buffers in a cycle
            _core.restart_machine(self._simulator, self._machine, key)
        self.session = open_session(self._simulator, self._machine, self._libraries)
        self._arena = BufferPool(self.session, self._memory, self._first_gpus, self._exporter)

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        case = request.case
        # What others left would be opened along with what a step is about, and take its room.
        if request.fresh:
            self._meter.begin_round()
            self._arena.renew()
        if is_memory_step(case.interface):
            self._arena.clear()
        try:
            return WorkerAnswer(self._outcome(request))
        except _core.UnsupportedError as error:
            return WorkerAnswer(_unsupported(case, error))
        except ExporterLost as error:
            self._arena.clear()  # other memory of that process may be lost, too
            return WorkerAnswer(failed_by(error))
        except _core.OutOfMemoryError as error:
            return WorkerAnswer(failed_by(error))
        except _core.Error as error:
            broken = self.broken(devices_of(case))
            after = "; the runtime is unusable; a new worker continues" if broken else ""
            return WorkerAnswer(failed_by(error, f"{error}{after}"), broken)

    def _outcome(self, request: CaseRequest) -> Outcome:
        case, options = request.case, self._options(request)
        if reason := self._crowded(case):
            return skipped(reason)
        devices = devices_of(case)
        before = self._health.read(devices, oldest_s=FRESH_S)
        # The exporting process is a user of the GPU itself.
        users = self._users.before(devices) if self._users and not _exports(case) else {}
        measurement, buffers = self._measured(case, options)
        after = self._health.read(devices)
        users = self._users.after(users) if self._users else {}
        outcome = outcome_of(case, measurement, buffers, self._twins)
        operations = len(measurement.samples_ns) * measurement.batch
        changes = self._health.compare(case, before, after, operations, users)
        found = misplaced(case, buffers, self._cpu_domain) + on_other_pages(case, buffers) + changes.warnings
        outcome["warnings"] += [warning.to_json() for warning in found]
        if changes.health:
            outcome["health"] = changes.health
        if changes.link_bytes:
            outcome["link_bytes"] = changes.link_bytes
        if case.options.get("energy") and outcome["status"] == "measured":
            outcome["energy"] = self._energy(case, devices, buffers)
        return outcome

    def _energy(self, case: Case, devices: list[str], buffers: list[tuple[Buffer, ...]]) -> dict[str, Any]:
        """The field `energy`: figures, or the reason why there are none."""
        if self._simulator:
            return {"reason": "energy is not modelled"}
        if metric_of(case.interface) != "bandwidth":
            return {"reason": f"{case.interface} moves no bytes, so energy per GB is undefined"}
        flows = self._flows(case, buffers)
        try:
            return self._meter.measure(
                devices,
                lambda slice_s: self.session.sustain(
                    flows, slice_s, interference=case.pattern == "interference"
                ),
                sum(case.size_of(flow) for flow in case.flows),
            )
        except _core.UnsupportedError as error:
            return {"reason": str(error)}

    def _measured(self, case: Case, options: MeasureOptions) -> tuple[Measurement, list[tuple[Buffer, ...]]]:
        """Measures; when memory runs out in the middle, once more with nothing else kept."""
        if not _exports(case) and not self._arena.has_exported:
            self._exporter.close()  # no other process holds a GPU while other interfaces are measured
        if case.interface != "open-ipc":
            return self._with_buffers(case, options)
        owned = case.flows[0].source
        number, handle = self._exporter.allocate(owned.device, owned.memory, case.size_bytes)
        try:
            return self._with_buffers(case, options, handle)
        finally:
            self._exporter.free(number)

    def _with_buffers(
        self, case: Case, options: MeasureOptions, handle: str = ""
    ) -> tuple[Measurement, list[tuple[Buffer, ...]]]:
        buffers: list[tuple[Buffer, ...]] = []
        try:
            buffers = self._arena.take(case, self._cache)
            return self.session.measure(self._flows(case, buffers, handle), options), buffers
        except _core.OutOfMemoryError:
            buffers.clear()  # or they would still be held while they are allocated again
            self._arena.clear()
        buffers = self._arena.take(case, self._cache)
        return self.session.measure(self._flows(case, buffers, handle), options), buffers

    def _crowded(self, case: Case) -> str | None:
        """Why a GPU has too little memory free for the case's managed memory, kept buffers given up; None: it
        has enough. Beyond what is free a driver moves pages to and fro, and may hang the GPU.
        """
        wanted = sum(
            flow_buffer_bytes(case, flow, self._cache)
            for flow in case.flows
            for buffer in ((flow.source,) if moves_pages(case.interface_of(flow)) else flow.buffers)
            if is_managed(buffer.memory)
        )
        gpus = [device for device in case.devices if wanted and not self._on_host[device]]
        for device in gpus:
            if wanted > usable(self.session.free_bytes(device)) > 0:
                self._arena.clear()
            free = usable(self.session.free_bytes(device))
            if wanted > free > 0:
                return (
                    f"it needs {format_size(wanted)} of managed memory, and {device} currently has "
                    f"{format_size(free)} available"
                )
        return None

    def _cache(self, device: str) -> int:
        return self._cache_bytes.get(device, 0)

    def _flows(self, case: Case, buffers: list[tuple[Buffer, ...]], handle: str = "") -> list[Flow]:
        return [
            _core.Flow(
                held[0],
                held[-1],
                flow.executor,
                case.interface_of(flow),
                case.size_of(flow),
                cold=case.cache_of(flow) == "cold",
                second_source=held[1] if len(held) > 2 else None,
                partner=_partner(case, flow),
                **_flow_options(case, flow, self._gpus, handle),
            )
            for flow, held in zip(case.flows, buffers, strict=True)
        ]

    def broken(self, devices: Iterable[str] | None = None) -> bool:
        """Whether a device cannot even write a page of its own any more: some errors ruin it for good.

        Args:
            devices: Those that are tried; None: all of this machine.
        """
        for device in self._on_host if devices is None else devices:
            if device not in self._on_host:
                continue
            try:
                self.session.allocate(
                    device, "pageable" if self._on_host[device] else "device", _TRIAL_BYTES, device
                )
            except _core.OutOfMemoryError:
                continue
            except _core.Error:
                return True
        return False


def _exports(case: Case) -> bool:
    """Whether another process allocates memory of the case."""
    return case.interface == "open-ipc" or any(
        buffer.memory == "ipc" for flow in case.flows for buffer in flow.buffers
    )


def _first_gpus(devices: Sequence[Device]) -> dict[str, str]:
    """By GPU, the first one of its runtime; empty where all are of one runtime."""
    first: dict[str, str] = {}
    for device in devices:
        if device.runtime != "host":
            first.setdefault(device.runtime, device.name)
    if len(first) < 2:
        return {}
    return {device.name: first[device.runtime] for device in devices if device.runtime in first}


def _twins(devices: Sequence[Device]) -> dict[str, str]:
    """Devices that share one memory, each with the other: a GPU that cores reach, and its NUMA domain."""
    cpus = {device.numa_domain: device.name for device in devices if device.runtime == "host"}
    shared = {
        device.name: cpus[device.numa_domain]
        for device in devices
        if device.host_access and device.numa_domain in cpus
    }
    return {**shared, **{cpu: gpu for gpu, cpu in shared.items()}}


def _partner(case: Case, flow: PlannedFlow) -> str:
    """Who answers; of pages that move, whom they go to."""
    if moves_pages(case.interface_of(flow)):
        return flow.destination.device
    return flow.partner or ""


def _flow_options(case: Case, flow: PlannedFlow, gpus: Sequence[str], handle: str = "") -> dict[str, Any]:
    options = flow_options(case.options_of(flow))
    if pieces := pieces_of(case, flow):
        options |= pieces.options
    if case.interface_of(flow) == "route":
        options.pop("relays", None)
        options["via"] = ",".join(paths_of(case, flow, gpus).relays)
    return {**options, "handle": handle} if handle else options


def _unsupported(case: Case, error: BaseException) -> Outcome:
    """What the plan thought possible and the runtime refuses.

    The plan judges by what a worker without settings was offered. That a setting takes something away, or
    does not give what it may, is no failure: the case is skipped, as it would have been had the plan known.
    """
    if not case.environment:
        return failed_by(error)
    settings = ", ".join(f"{name}={value}" for name, value in sorted(case.environment.items()))
    return skipped(f"with {settings}: {error}")
