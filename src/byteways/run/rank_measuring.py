"""One rank's part of a case: its own buffers, the participating ranks, and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from byteways.plan.applications import native_options
from byteways.plan.case import OF_ALL_RANKS, Case, is_managed
from byteways.plan.case import Buffer as PlannedBuffer
from byteways.plan.case import Flow as PlannedFlow
from byteways.plan.footprint import flow_buffer_bytes
from byteways.plan.interfaces import APPLICATIONS, INTERFACES
from byteways.plan.legality import kind_of
from byteways.plan.variables import unread_by
from byteways.results import warnings
from byteways.run.arena import Arena
from byteways.run.host_memory import host_memory_bytes
from byteways.run.library_paths import library_directories
from byteways.run.rank_outcome import outcome_of_ranks
from byteways.settings import gpus_wanted, kernel_cache

if TYPE_CHECKING:
    from typing_extensions import Self

    from byteways._core import (
        Buffer,
        Communicator,
        Flow,
        MeasureOptions,
        Mpi,
        Ranks,
        Session,
        ThreadRanks,
        Xccl,
        XcclCommunicator,
    )

#: A rank's send buffer and receive buffer; None if it does not send or receive.
Ends = tuple[PlannedBuffer | None, PlannedBuffer | None]

#: Alignment of slots within a buffer (native/interfaces/rank_mover.cpp).
_SLOT_ALIGNMENT_BYTES = 256
#: Options of the measurement; all others belong to the flow.
_MEASURE_OPTIONS = ("gate", "batch", "energy", "timing")
#: Names of GPUs by the runtime that drives them.
_VENDORS = {"cuda": "NVIDIA", "hip": "AMD"}


class MeasurerOfRanks:
    """What measures cases between ranks of one host: owns a session and buffers.

    Args:
        core: The native module.
        session: Has every runtime of the machine.
        ranks: Number of ranks that share the host's memory.
        simulator: The simulator's library, on a simulated machine.
    """

    def __init__(self, core: ModuleType, session: Session, ranks: int, simulator: str = "") -> None:
        self._core = core
        self._session = session
        self._simulator = simulator
        self._xccl: Xccl | None = None
        self._cache_bytes = {device.name: device.last_level_cache_bytes for device in session.devices}
        on_host = sum(device.memory_bytes for device in session.devices if device.runtime == "host")
        all_bytes = on_host if session.virtual_time else host_memory_bytes()
        host_bytes = all_bytes // max(1, ranks)
        memory = {
            device.name: min(device.memory_bytes, host_bytes)
            if device.runtime == "host"
            else device.memory_bytes
            for device in session.devices
        }
        self._arena = Arena(core, session, memory, xccl=self._allocate)

    def release(self) -> None:
        """Frees all buffers."""
        self._arena.clear()

    def _take(self, case: Case, ends: Sequence[Ends]) -> list[tuple[Buffer | None, Buffer | None]]:
        """Allocates and returns the send and receive buffer of some ranks."""
        flows = []
        for sends, receives in ends:
            first, last = sends or receives, receives or sends
            assert first is not None and last is not None  # a participating rank has at least one end
            flows.append(PlannedFlow(first, last, first.device))
        # All ranks rotate alike, so that the largest cache among the flow's ends decides on each of them.
        flow = case.flows[0]
        largest = max(self._cache(end.device) for end in (flow.source, flow.destination))
        taken = self._arena.take(replace(case, flows=tuple(flows)), lambda _: largest)
        return [
            (buffers[0] if sends else None, buffers[-1] if receives else None)
            for buffers, (sends, receives) in zip(taken, ends, strict=True)
        ]

    def _allocate(self, device: str, size: int) -> Buffer:
        """Allocates memory of kind `xccl`."""
        return self._opened(device).allocate(self._session, device, size)

    def _library(self, case: Case, device: str) -> Xccl | None:
        """Returns NCCL or RCCL if the case uses it. Raises UnsupportedError if it is not available."""
        return self._opened(device) if case.by_xccl else None

    def _not_registered(self, case: Case, device: str) -> str:
        """Why the library's memory must not be registered with the ranks of the case; empty if it may be."""
        if all(buffer.memory != "xccl" for flow in case.flows for buffer in flow.buffers):
            return ""
        return self._opened(device).register_obstacle(len(case.ranks))

    def _opened(self, device: str) -> Xccl:
        if self._xccl is None:
            vendor = next(each.runtime for each in self._session.devices if each.name == device)
            self._xccl = self._core.Xccl(vendor, library_directories(), self._simulator)
        return self._xccl

    def _flow(
        self,
        case: Case,
        device: str,
        buffers: tuple[Buffer | None, Buffer | None],
        ranks: Ranks,
        xccl: XcclCommunicator | None,
        others: Sequence[Flow] = (),
    ) -> Flow:
        """Returns a rank's flow; `others` are those of the other ranks that the same thread calls for."""
        options = {
            name: int(value) if isinstance(value, bool) else value
            for name, value in case.options.items()
            if name not in _MEASURE_OPTIONS
        }
        if case.pattern in APPLICATIONS:
            options = dict(native_options(case.interface, case.size_bytes, len(case.ranks), options))
        wanted = flow_buffer_bytes(case, case.flows[0], self._cache)
        stride = -(-case.size_bytes // _SLOT_ALIGNMENT_BYTES) * _SLOT_ALIGNMENT_BYTES
        flow: Flow = self._core.Flow(
            *buffers,
            device,
            case.interface,
            case.size_bytes,
            cold=case.cache == "cold",
            ranks=ranks,
            xccl=xccl,
            others=list(others),
            operation=case.pattern,
            slots=max(1, wanted // stride),
            **options,
        )
        return flow

    def _cache(self, device: str) -> int:
        return self._cache_bytes.get(device, 0)

    def _options(self, case: Case, request: Mapping[str, Any], rank: int) -> MeasureOptions:
        """Returns the measurement options of a rank. Raises ValueError for an unknown option."""
        known = INTERFACES[case.interface].takes
        if unknown := [name for name in case.options if name not in known]:
            raise ValueError(f"unknown option {', '.join(unknown)} of {case.interface}")
        options: MeasureOptions = self._core.MeasureOptions()
        options.rounds = int(request.get("rounds", 1))
        options.budget_s = request["budget_s"]
        options.precision = request["precision"]
        options.key = request["key"]
        options.gate = False
        if case.options.get("timing") == "isolated":
            options.batch = 1
        if "batch" in case.options:
            options.batch = int(case.options["batch"])
        if not self._session.virtual_time:  # a real rank works on a single thread
            options.cores = request["cores"][rank][:1]
        return options


class RankMeasurer(MeasurerOfRanks):
    """Measures one rank's part: a process of an MPI job, or a thread.

    Args:
        core: The native module.
        session: Has every runtime of the machine.
        world: All ranks.
        mpi: Initialised MPI that has started them; None: they are threads.
        simulator: The simulator's library, on a simulated machine.
        ranks_here: Ranks that share the memory of this host; 0: all of them.
    """

    def __init__(
        self,
        core: ModuleType,
        session: Session,
        world: Communicator | ThreadRanks,
        mpi: Mpi | None = None,
        simulator: str = "",
        ranks_here: int = 0,
    ) -> None:
        super().__init__(core, session, ranks_here or world.size, simulator)
        self._world = world
        self._mpi = mpi
        self._groups: dict[tuple[int, ...], Communicator | ThreadRanks | None] = {}
        self._vendors: dict[tuple[tuple[int, ...], str], XcclCommunicator] = {}

    @classmethod
    def open(
        cls,
        world: Communicator | ThreadRanks,
        mpi: Mpi | None = None,
        simulator: str = "",
        machine: str = "",
        ranks_here: int = 0,
    ) -> Self:
        """Opens every runtime of this machine, or of the simulated one that sheet `machine` describes."""
        from byteways import _core

        return cls(_core, open_session(simulator, machine), world, mpi, simulator, ranks_here)

    def measure(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the outcome of a `measure` request. All ranks call it; uninvolved ones return immediately.

        If one rank fails before the measurement, for example out of memory, it fails on all.
        """
        case = Case.from_json(request["case"])
        if request.get("fresh"):
            self._arena.renew()
        ranks = self._group(case)
        if ranks is None:
            return {"status": "skipped", "reason": "this rank takes no part"}
        if reason := self._not_taken(case):
            return {"status": "skipped", "reason": reason}
        mine = self._number(case)
        ends = self._ends(case)
        device = self._executor(case, ends)
        try:
            if reason := self._not_registered(case, device):
                return {"status": "skipped", "reason": reason}
            failure = ""
            try:
                buffers = self._take(case, [ends])[0]
                library = self._library(case, device)
            except self._core.Error as error:
                failure = str(error)
            told = [text.decode() for text in ranks.gather(failure.encode())]
            if failed := [f"rank {case.ranks[at]}: {text}" for at, text in enumerate(told) if text]:
                return {"status": "failed", "reason": failed[0]}
            xccl = None if library is None else self._vendor_ranks(library, case, ranks, device)
            flow = self._flow(case, device, buffers, ranks, xccl)
            team = self._core.RankTeam(ranks)
            measurement = self._session.measure([flow], self._options(case, request, mine), team)
            outcome = outcome_of_ranks(case, measurement, buffers)
            if not all(request["cores"][rank] for rank in case.ranks):
                shared = warnings.make("oversubscribed", len(request["cores"]), "a core for each rank")
                outcome["warnings"].append(asdict(shared))
            return outcome
        except self._core.UnsupportedError as error:
            return {"status": "failed", "reason": str(error)}
        except self._core.Error as error:
            return {"status": "failed", "reason": str(error)}

    def _group(self, case: Case) -> Communicator | ThreadRanks | None:
        """Returns the ranks of the case, numbered in its order; None on uninvolved ranks. Collective."""
        members = case.members
        if members not in self._groups:
            mine = self._world.rank
            color, key = (0, members.index(mine)) if mine in members else (-1, 0)
            self._groups[members] = self._world.split(color, key)
        return self._groups[members]

    def _number(self, case: Case) -> int:
        """Returns the number by which the case knows this rank."""
        return self._world.rank

    def _ends(self, case: Case) -> Ends:
        return own_ends(case, self._number(case))

    def _executor(self, case: Case, ends: Ends) -> str:
        """Returns the device of this rank that executes the case: of an application pattern, one of the kind
        that the case names, which may own none of its buffers (plan/ranks.py numbers GPUs by rank).
        """
        kind = kind_of(case.flows[0].executor)
        if case.pattern not in APPLICATIONS or kind_of(device_of(ends)) == kind:
            return device_of(ends)
        own = next((end.device for end in ends if end is not None and kind_of(end.device) == kind), None)
        gpus = [device.name for device in self._session.devices if device.runtime != "host"]
        return own or gpus[self._number(case)]

    def _not_taken(self, case: Case) -> str | None:
        """Why MPI does not carry out the case: it reads other variables, or takes no memory of a GPU, in its
        own words; None if it does, or does not say. CPUs reach managed memory, so that any MPI may take it.
        """
        if self._mpi is None or INTERFACES[case.interface].between != "mpi":
            return None
        if reason := unread_by(self._mpi.report.version, case.environment):
            return reason
        if case.options.get("staging") == "pinned" or not case.by_mpi:
            return None
        vendors = {device.name: device.runtime for device in self._session.devices}
        buffers = [buffer for flow in case.flows for buffer in flow.buffers if not is_managed(buffer.memory)]
        for vendor in sorted({vendors[buffer.device] for buffer in buffers} - {"host"}):
            if self._mpi.says_device_support(vendor) is False:
                return f"{self._mpi.report.version} says that it takes no memory of {_VENDORS[vendor]} GPUs"
        return None

    def _vendor_ranks(self, library: Xccl, case: Case, ranks: Ranks, device: str) -> XcclCommunicator:
        """Returns this rank in NCCL or RCCL. Collective the first time."""
        key = (case.members, device)
        if key not in self._vendors:
            self._vendors[key] = self._core.XcclCommunicator(library, ranks, self._session, device)
        return self._vendors[key]


def open_session(simulator: str = "", machine: str = "") -> Session:
    """Opens every runtime of this machine, or of the simulated one that sheet `machine` describes."""
    from byteways import _core

    return _core.Session(
        library_directories=library_directories(),
        kernel_cache=str(kernel_cache() or ""),
        gpus=gpus_wanted(),
        simulator=simulator,
        machine=machine,
    )


def device_of(ends: Ends) -> str:
    end = ends[0] or ends[1]
    assert end is not None
    return end.device


def own_ends(case: Case, rank: int) -> Ends:
    """Returns this rank's send buffer and receive buffer; None if it does not send or receive.

    The reply of a ping-pong is sent from the receive buffer of the first message back to its send buffer, so
    both directions use the memories of the case.
    """
    flow = case.flows[0]
    if case.pattern in OF_ALL_RANKS:
        return next(pair for pair in flow.pairs if pair[0].rank == rank)
    if case.pattern == "bidirectional":
        there, back = case.flows
        first = rank == there.source.rank
        return (there.source, back.destination) if first else (back.source, there.destination)
    both = INTERFACES[case.interface].figure != "bandwidth"
    if rank == flow.source.rank:
        return flow.source, flow.source if both else None
    return flow.destination if both else None, flow.destination
