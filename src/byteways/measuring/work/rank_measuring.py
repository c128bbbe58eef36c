"""One rank's part of a case: its own buffers, the participating ranks, and the result."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from byteways import _core
from byteways.cases.applications import OF_PEERS, fell_back, native_options
from byteways.cases.case import Buffer as PlannedBuffer
from byteways.cases.case import Case
from byteways.cases.case import Flow as PlannedFlow
from byteways.cases.interfaces import APPLICATIONS, COLLECTIVES, INTERFACES
from byteways.cases.osu import OSU, is_osu, loop_of
from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.shared.mpi_library import unloaded_reader
from byteways.measuring.shared.mpi_wheels import has_preloaded_ucx
from byteways.measuring.shared.rank_places import local_name
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.buffer_pool import BufferPool
from byteways.measuring.work.failures import failed_by, skipped
from byteways.measuring.work.loaded_libraries import mapped_files
from byteways.measuring.work.measurer import SessionMeasurer, flow_options, open_session
from byteways.measuring.work.mpi_gpu_setup import MpiGpuSetup, gives_gpu_memory, path_of_gpu_messages
from byteways.measuring.work.outcome import outcome_of, warnings_of
from byteways.measuring.work.outcome_fields import Outcome
from byteways.measuring.work.rank_ends import RankEnds, device_of, own_ends
from byteways.plan.footprint import flow_buffer_bytes
from byteways.plan.legality import kind_of
from byteways.plan.variables import unread_by
from byteways.record import warnings

if TYPE_CHECKING:
    from typing_extensions import Self

    from byteways._core import (
        Buffer,
        Communicator,
        Flow,
        MeasureOptions,
        Mpi,
        PeerCommunicator,
        ProcessRanks,
        Ranks,
        Session,
        ThreadRanks,
        UcxRank,
        Xccl,
        XcclCommunicator,
    )

#: Alignment of slots within a buffer (native/interfaces/rank_mover.cpp).
_SLOT_ALIGNMENT_BYTES = 256
#: What a rank says whose buffers an earlier case has used; without a word they are new.
_USED = b"\0used"
#: The failed call by which a rank learns that another one has ended (native/runtimes/process_ranks.cpp): the
#: others end as well, and new ranks have to continue.
_RANK_LEFT = {"call": "team", "error": "a rank left"}
#: Names of GPUs by the runtime that drives them.
_VENDORS = {"cuda": "NVIDIA", "hip": "AMD"}


class MeasurerOfRanks(SessionMeasurer):
    """What measures cases between ranks of one host: owns a session and buffers.

    Args:
        session: Has every runtime of the machine.
        ranks: Number of ranks that share the host's memory.
        simulator: The simulator's library, on a simulated machine.
    """

    def __init__(self, session: Session, ranks: int, simulator: str = "") -> None:
        super().__init__(session, session.devices, ranks)
        self._simulator = simulator
        self._xccl: Xccl | None = None
        self._gpus = {device.name: device.uuid for device in session.devices if device.runtime != "host"}
        self._arena = BufferPool(session, self._memory, xccl=self._allocate)
        self._met: set[tuple[str, Hashable, str]] = set()  # whose first case of a kind has been measured

    def release(self) -> None:
        """Frees all buffers."""
        self._arena.clear()

    def _take(self, case: Case, ends: Sequence[RankEnds]) -> list[tuple[Buffer | None, Buffer | None]]:
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

    def _partners(self, case: Case) -> Hashable:
        """Identifies the ranks of the case among all that this process meets."""
        return case.members

    def _newness(self, case: Case, all_new: bool) -> dict[str, str]:
        """Returns whether the buffers and the connection of the ranks are `new` or `used`, and notes the
        latter: messages of all patterns share one, each collective may have its own.
        """
        pattern = case.pattern if case.pattern in COLLECTIVES else "messages"
        met = INTERFACES[case.interface].between, self._partners(case), pattern
        words = {
            "memory": "new" if all_new else "used",
            "connection": "used" if met in self._met else "new",
        }
        self._met.add(met)
        return words

    def _allocate(self, device: str, size: int) -> Buffer:
        """Allocates memory of kind `xccl`."""
        return self._opened(device).allocate(self.session, device, size)

    def _library(self, case: Case, device: str) -> Xccl | None:
        """Returns NCCL or RCCL if the case uses it. Raises UnsupportedError if it is not available."""
        return self._opened(device) if case.by_xccl else None

    def _refusal(self, case: Case, device: str) -> str:
        """Why NCCL or RCCL cannot put, or must not register its memory with the ranks; empty: no reason."""
        if all(buffer.memory != "xccl" for flow in case.flows for buffer in flow.buffers):
            return ""
        library = self._opened(device)
        obstacle = library.put_obstacle() if case.interface == "xccl-put" else ""
        return obstacle or library.register_obstacle(len(case.ranks))

    def _opened(self, device: str) -> Xccl:
        if self._xccl is None:
            vendor = next(each.runtime for each in self.session.devices if each.name == device)
            self._xccl = _core.Xccl(vendor, library_directories(), self._simulator)
        return self._xccl

    def _flow(
        self,
        case: Case,
        device: str,
        buffers: tuple[Buffer | None, Buffer | None],
        ranks: Ranks,
        xccl: XcclCommunicator | None,
        peers: PeerCommunicator | None = None,
        ucx: UcxRank | None = None,
        others: Sequence[Flow] = (),
    ) -> Flow:
        """Returns a rank's flow; `others` are those of the other ranks that the same thread calls for."""
        options = flow_options(case.options)
        if case.pattern in APPLICATIONS:
            options = dict(native_options(case.interface, case.size_bytes, len(case.ranks), options))
        if is_osu(case):
            loop = loop_of(case)
            options |= {"timing": OSU, "skipped": loop.skipped, "iterations": loop.iterations}
        wanted = flow_buffer_bytes(case, case.flows[0], self._cache)
        stride = -(-case.size_bytes // _SLOT_ALIGNMENT_BYTES) * _SLOT_ALIGNMENT_BYTES
        flow: Flow = _core.Flow(
            *buffers,
            device,
            case.interface,
            case.size_bytes,
            cold=case.cache == "cold",
            ranks=ranks,
            xccl=xccl,
            peers=peers,
            ucx=ucx,
            others=list(others),
            operation=case.pattern,
            slots=max(1, wanted // stride),
            **options,
        )
        return flow

    def _cache(self, device: str) -> int:
        """Returns the bytes of a device's last-level cache; of a GPU that only other ranks see, the largest
        here: the GPUs of a host are alike, and all ranks must rotate over equal buffers.
        """
        if device in self._cache_bytes or not device.startswith("gpu"):
            return self._cache_bytes.get(device, 0)
        return max((self._cache_bytes[gpu] for gpu in self._gpus), default=0)

    def _options_of(self, request: CaseRequest, rank: int) -> MeasureOptions:
        """Returns the measurement options of a rank. Raises ValueError for an unknown option."""
        case, options = request.case, self._options(request)
        options.gate = False
        if case.options.get("timing") == "isolated" and "batch" not in case.options:
            options.batch = 1
        if is_osu(case):
            options.max_samples = 1  # a sample is the whole loop, and the program prints one figure
        if not self.session.virtual_time:  # a real rank works on a single thread
            options.cores = list(request.cores[rank][:1])
        return options


class RankMeasurer(MeasurerOfRanks):
    """Measures one rank's part: a process of an MPI job, or a thread.

    Args:
        session: Has every runtime of the machine.
        world: All ranks.
        mpi: Initialised MPI that has started them; None: they are threads, or processes without MPI.
        simulator: The simulator's library, on a simulated machine.
        ranks_here: Ranks that share the memory of this host; 0: all of them.
    """

    def __init__(
        self,
        session: Session,
        world: Communicator | ProcessRanks | ThreadRanks,
        mpi: Mpi | None = None,
        simulator: str = "",
        ranks_here: int = 0,
    ) -> None:
        super().__init__(session, ranks_here or world.size, simulator)
        self._world = world
        self._mpi = mpi
        self._groups: dict[tuple[int, ...], Communicator | ProcessRanks | ThreadRanks | None] = {}
        self._vendors: dict[tuple[tuple[int, str], ...], XcclCommunicator] = {}  # by ranks and their GPUs
        self._peers: dict[tuple[tuple[int, str], ...], PeerCommunicator] = {}
        self._ucx: dict[tuple[tuple[int, str], ...], UcxRank] = {}
        # A preloaded UCX finds out by itself whose memory it gets.
        sets_up = mpi is not None and not simulator and not has_preloaded_ucx()
        self._gpu_setup = MpiGpuSetup(session, mpi.world) if mpi is not None and sets_up else None

    @classmethod
    def open(
        cls,
        world: Communicator | ProcessRanks | ThreadRanks,
        mpi: Mpi | None = None,
        simulator: str = "",
        machine: str = "",
        ranks_here: int = 0,
    ) -> Self:
        """Opens every runtime of this machine, or of the simulated one that sheet `machine` describes."""
        return cls(open_session(simulator, machine), world, mpi, simulator, ranks_here)

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        """All ranks call it; uninvolved ones return immediately.

        If one rank fails before the measurement, for example out of memory, it fails on all.
        """
        outcome = self._outcome(request)
        return WorkerAnswer(outcome, leaving=outcome.get("reason_fields") == _RANK_LEFT)

    def _outcome(self, request: CaseRequest) -> Outcome:
        case = request.case
        if request.fresh:
            self._arena.renew()
        reason = self._not_taken(case)
        if self._gpu_setup is not None and reason is None:
            self._gpu_setup.before(case)
        ranks = self._group(case)
        if ranks is None:
            return skipped("this rank takes no part")
        if reason is not None:
            return skipped(reason)
        mine = self._number(case)
        ends = self._named_here(self._ends(case), request.uuids)
        device = self._executor(case, ends, request.uuids)
        try:
            failure, refused = b"", ""
            try:
                refused = self._refusal(case, device)
                buffers = self._take(case, [ends])[0]
                library = self._library(case, device)
            except _core.Error as error:
                failure = json.dumps(failed_by(error)).encode()
            told = ranks.gather(failure or (b"" if self._arena.all_new else _USED))
            lacking = [(at, text) for at, text in enumerate(told) if text not in (b"", _USED)]
            if lacking:
                at, text = lacking[0]
                lost: Outcome = json.loads(text)
                lost["blame"] = {**lost.get("blame", {}), "rank": case.members[at]}
                lost["reason"] = f"rank {case.members[at]}: {lost['reason']}"
                return lost
            if refused:
                return skipped(refused)
            newness = self._newness(case, _USED not in told)
            xccl = None if library is None else self._vendor_ranks(library, case, ranks, device)
            peers = self._peer_ranks(case, ranks, device) if is_direct(case) else None
            ucx = self._ucx_rank(case, ranks, device) if case.by_ucx else None
            flow = self._flow(case, device, buffers, ranks, xccl, peers, ucx)
            team = _core.RankTeam(ranks)
            measurement = self.session.measure([flow], self._options_of(request, mine), team)
            if peers is not None or case.transport in OF_PEERS:
                ranks.gather(b"")  # no rank frees buffers that another has still open
            outcome = outcome_of(case, measurement, [buffers], newness=newness)
            fallback = measurement.evidence.fallback
            by_words = fell_back(fallback.from_, fallback.to, fallback.reason) if fallback.from_ else ""
            obstacle = peers.obstacle if peers is not None else by_words
            outcome["warnings"] += warnings_of(obstacle) + self._about_mpi(case)
            if not all(request.cores[rank] for rank in case.ranks):
                ranks_there = len(request.cores)
                shared = warnings.make(
                    "oversubscribed", ranks_there, "a core for each rank", {"ranks": ranks_there}
                )
                outcome["warnings"].append(shared.to_json())
            return outcome
        except _core.UnsupportedError as error:  # others may have what this rank lacks
            if error.rank is not None:
                return failed_by(error, members=case.members)
            return failed_by(error, f"rank {mine}: {error}", rank=mine)
        except _core.Error as error:
            return failed_by(error, members=case.members)

    def _group(self, case: Case) -> Communicator | ProcessRanks | ThreadRanks | None:
        """Returns the ranks of the case, numbered in its order; None on uninvolved ranks. Collective."""
        members = case.members
        if members not in self._groups:
            self._groups[members] = self._plain_world(members) or self._part(members)
        return self._groups[members]

    def _plain_world(self, members: tuple[int, ...]) -> Communicator | None:
        """Returns MPI_COMM_WORLD for cases of all ranks, as a program would use it: others may be slower."""
        everybody = members == tuple(range(self._world.size))
        return self._mpi.plain_world() if everybody and self._mpi is not None else None

    def _part(self, members: tuple[int, ...]) -> Communicator | ProcessRanks | ThreadRanks | None:
        mine = self._world.rank
        color, key = (0, members.index(mine)) if mine in members else (-1, 0)
        return self._world.split(color, key)

    def _number(self, case: Case) -> int:
        """Returns the number by which the case knows this rank."""
        return self._world.rank

    def _ends(self, case: Case) -> RankEnds:
        return own_ends(case, self._number(case))

    def _executor(self, case: Case, ends: RankEnds, uuids: Mapping[str, str]) -> str:
        """Returns the device of this rank that executes the case: of an application pattern, and of NCCL and
        RCCL, one of the kind that the case names, which may own none of its buffers. Ranks then have the GPU
        of their number (plan/ranks.py).
        """
        kind = kind_of(case.flows[0].executor)
        names_kind = case.pattern in APPLICATIONS or INTERFACES[case.interface].library == "xccl"
        if not names_kind or kind_of(device_of(ends)) == kind:
            return device_of(ends)
        own = next((end.device for end in ends if end is not None and kind_of(end.device) == kind), None)
        planned = f"gpu{self._number(case)}"
        return own or local_name(planned, uuids.get(planned, ""), self._gpus) or planned

    def _named_here(self, ends: RankEnds, uuids: Mapping[str, str]) -> RankEnds:
        """Returns the buffers with the names that this process has for their GPUs."""

        def named(end: PlannedBuffer | None) -> PlannedBuffer | None:
            if end is None or end.device not in uuids:
                return end
            return replace(end, device=local_name(end.device, uuids[end.device], self._gpus) or end.device)

        return named(ends[0]), named(ends[1])

    def _not_taken(self, case: Case) -> str | None:
        """Why MPI does not carry out the case: it reads other variables, or takes no memory of a GPU, in its
        own words; None if it does, or does not say. CPUs reach managed memory, so that any MPI may take it.
        """
        if self._mpi is None or INTERFACES[case.interface].between != "mpi":
            return None
        maps = ""
        if (
            not self._simulator
        ):  # measuring/work/simulated_ranks.py knows which variables the simulated MPI reads
            maps = mapped_files()
            unread = unread_by(self._mpi.report.version, case.environment)
            if reason := unread or unloaded_reader(case.environment, maps):
                return reason
        if not gives_gpu_memory(case):
            return None
        # A preloaded UCX may take what the library was built without: a trial shows it.
        if has_preloaded_ucx(maps):
            return None
        for vendor in sorted({device.runtime for device in self.session.devices} - {"host"}):
            if self._mpi.says_device_support(vendor) is False:
                library = self._mpi.report.version or "the simulated MPI"
                return f"{library} reports no support for memory of {_VENDORS[vendor]} GPUs"
        return None

    def _about_mpi(self, case: Case) -> list[dict[str, Any]]:
        """Returns warnings about the path that MPI's variables choose; none on a simulated machine."""
        if self._mpi is None or self._simulator:
            return []
        found = path_of_gpu_messages(case, self._mpi.report.version, os.environ)
        return [warning.to_json() for warning in found]

    def _vendor_ranks(self, library: Xccl, case: Case, ranks: Ranks, device: str) -> XcclCommunicator:
        """Returns this rank in NCCL or RCCL. Collective the first time for these ranks on these GPUs."""
        key = _ranks_and_gpus(case)
        if key not in self._vendors or not self._vendors[key].usable:
            self._vendors[key] = _core.XcclCommunicator(library, ranks, self.session, device)
        return self._vendors[key]

    def _peer_ranks(
        self, case: Case, ranks: Communicator | ProcessRanks | ThreadRanks, device: str
    ) -> PeerCommunicator:
        """Returns this rank among those that use each other's memory. Collective as _vendor_ranks() is."""
        key = _ranks_and_gpus(case)
        if key not in self._peers:
            self._peers[key] = _core.PeerCommunicator(ranks, self.session, device)
        return self._peers[key]

    def _ucx_rank(self, case: Case, ranks: Ranks, device: str) -> UcxRank:
        """Returns this rank in UCX, with endpoints to the others. Collective as _vendor_ranks() is.

        Ranks of MPI whose library has loaded a UCX use that one.
        """
        key = _ranks_and_gpus(case)
        if key not in self._ucx:
            library = _core.Ucx(library_directories(), self._simulator)
            self._ucx[key] = _core.UcxRank(library, ranks, self.session, device)
        return self._ucx[key]


def _ranks_and_gpus(case: Case) -> tuple[tuple[int, str], ...]:
    """Returns what a communicator is for: every rank must find one, or none."""
    devices = case.devices_of_ranks
    return tuple((rank, devices[rank]) for rank in case.members)


def is_direct(case: Case) -> bool:
    """Whether the ranks of the case use each other's memory."""
    return INTERFACES[case.interface].library == "direct"
