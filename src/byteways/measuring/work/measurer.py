"""What all measurers with the native core have: a session, buffers that are kept, and what a flow is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from byteways import _core
from byteways.base.settings import gpus_wanted, kernel_cache
from byteways.cases.interfaces import INTERFACES
from byteways.cases.options import RANK_ORDER
from byteways.measuring.shared.host_memory import host_memory_bytes
from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.work.device_caches import last_level_caches
from byteways.plan.footprint import rotated_cache

if TYPE_CHECKING:
    from byteways._core import Device, MeasureOptions, Session
    from byteways.measuring.shared.request import CaseRequest
    from byteways.measuring.work.answer import WorkerAnswer

#: Options of the measurement or of the plan; all others belong to the flow.
_NOT_OF_FLOWS = ("gate", "batch", "energy", "timing", RANK_ORDER.name)


class Measurer(Protocol):
    """Whoever measures: native, PyTorch, ranks as processes or threads, hosts."""

    def measure(self, request: CaseRequest) -> WorkerAnswer: ...


class SessionMeasurer:
    """A session, and how much memory its devices have.

    Args:
        session: Has every runtime of the machine.
        devices: Those to measure.
        ranks: Number of ranks that share the host's memory.
    """

    def __init__(self, session: Session, devices: Sequence[Device], ranks: int = 1) -> None:
        self.session = session
        on_host = [device for device in devices if device.runtime == "host"]
        #: Host memory that may be used; nothing of a simulated machine's is this one's.
        self.host_bytes = (
            sum(device.memory_bytes for device in on_host) if session.virtual_time else host_memory_bytes()
        )

        def memory(device: Device, host_bytes: int) -> int:
            own = device.memory_bytes
            return min(own, host_bytes) if device.runtime == "host" else own

        self._memory = {device.name: memory(device, self.host_bytes // max(1, ranks)) for device in devices}
        caches = last_level_caches(devices, session.virtual_time)
        # As the plan has it (plan/footprint.py): of the memory that all ranks share.
        self._cache_bytes = {
            device.name: rotated_cache(caches[device.name], memory(device, self.host_bytes))
            for device in devices
        }

    def _options(self, request: CaseRequest) -> MeasureOptions:
        """Raises ValueError on an option that nothing reads: its figures would be taken for what they are
        not.
        """
        case = request.case
        for flow in case.flows:
            interface = case.interface_of(flow)
            unknown = [name for name in case.options_of(flow) if name not in INTERFACES[interface].takes]
            if unknown:
                raise ValueError(f"unknown option {', '.join(unknown)} of {interface}")
        options = options_of(request)
        options.interference = case.pattern == "interference"
        options.gate = bool(case.options.get("gate", options.gate))
        options.batch = int(case.options.get("batch", options.batch))
        return options


def options_of(request: CaseRequest) -> MeasureOptions:
    """Returns how a case is measured, by whatever interface."""
    options = _core.MeasureOptions()
    options.rounds, options.budget_s = request.rounds, request.budget_s
    options.precision, options.key = request.precision, request.key
    return options


def flow_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a case that its flows read: numbers and words, which each interface checks."""
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in options.items()
        if name not in _NOT_OF_FLOWS
    }


def open_session(simulator: str = "", machine: str = "", libraries: Sequence[str] | None = None) -> Session:
    """Opens every runtime of this machine, or of the simulated one that sheet `machine` describes.

    Args:
        libraries: Folders of libraries; None: searched.
    """
    return _core.Session(
        library_directories=library_directories() if libraries is None else libraries,
        kernel_cache=str(kernel_cache() or ""),
        gpus=gpus_wanted(),
        simulator=simulator,
        machine=machine,
    )
