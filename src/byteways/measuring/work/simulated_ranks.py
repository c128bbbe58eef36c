"""Ranks of a simulated machine: threads of this process, each with its own session and clock."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from byteways import _core
from byteways.cases.case import Buffer, Case
from byteways.cases.interfaces import INTERFACES
from byteways.cases.reasons import CALLS_OF_LIBRARIES
from byteways.measuring.shared.library_log import LOG_SOURCE, LibraryLog, has_choice
from byteways.measuring.shared.mpi_library import open_mpi
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.shared.sheet_numbers import number_of
from byteways.measuring.work.answer import WorkerAnswer, guarded
from byteways.measuring.work.failures import skipped
from byteways.measuring.work.outcome_fields import Outcome
from byteways.measuring.work.rank_ends import RankEnds
from byteways.measuring.work.rank_measuring import MeasurerOfRanks, RankMeasurer
from byteways.measuring.work.rank_threads import in_threads
from byteways.measuring.work.single_thread import SingleThreadMeasurer
from byteways.plan.variables import reader_of
from byteways.record.library_choice import choice_of

if TYPE_CHECKING:
    from byteways._core import Communicator, Mpi, ProcessRanks, ThreadRanks


#: Variables that the simulated libraries read, beside those of ROCm: native/simulator/mpi/settings.hpp and
#: xccl/algorithms.cpp.
LIBRARIES_READ = (
    "NCCL_ALGO",
    "NCCL_PROTO",
    "MPICH_GPU_ALLREDUCE_USE_KERNEL",
    "MPICH_GPU_IPC_CACHE_MAX_SIZE",
    "MPICH_GPU_IPC_ENABLED",
    "MPICH_GPU_IPC_THRESHOLD",
)


#: Why cases are skipped where the model has no table [mpi] (no MPI sends in no time) …
NO_MPI = "the machine model has no numbers of MPI ([mpi])"
#: … and where NCCL_PROTO allows nothing but LL128, and the model has no number of it.
NO_LL128 = "the machine model has no LL128 ([xccl] ll128_step_ns)"


class SimulatedRanks:
    """Measures cases between ranks of the machine that `sheet` describes.

    Args:
        simulator: The simulator's library.
        sheet: The machine's description.
    """

    def __init__(self, simulator: str, sheet: str) -> None:
        self._machine = (simulator, sheet)

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        """Measures on the freshly loaded machine.

        A rank that failed may have left memory or queues behind, with which the machine cannot restart: it
        leaves, and a new process continues.
        """
        case = request.case
        reason = _without_effect(case.environment)
        needs_mpi = INTERFACES[case.interface].between in ("mpi", "ucx") and case.transport != "xccl"
        if needs_mpi and number_of(self._machine[1], "mpi.send_ns") == 0:
            reason = NO_MPI
        only_ll128 = case.environment.get("NCCL_PROTO") == "LL128"
        if only_ll128 and number_of(self._machine[1], "xccl.ll128_step_ns") == 0:
            reason = NO_LL128
        if reason:
            return WorkerAnswer(skipped(reason))
        if not has_choice(case):
            return self._measure(request)
        with LibraryLog.of_simulation() as log:  # it takes no time of the simulated machine
            answer = self._measure(request)
            if answer.outcome["status"] == "measured":
                choice = choice_of(log.news(), case.pattern, LOG_SOURCE)
                answer.outcome["library_choice"] = choice.to_json()
            return answer

    def _measure(self, request: CaseRequest) -> WorkerAnswer:
        _core.restart_machine(*self._machine, request.key)
        # One thread for all ranks is one actor; threads and processes differ in nothing that is simulated.
        single = request.case.launch == "single"
        size = 1 if single else len(request.cores)
        answers: dict[int, WorkerAnswer] = {}
        # Release the ranks' objects only after all threads have ended: a destructor that waits for its turn
        # in virtual time while holding Python's lock would block the other ranks.
        kept: list[MeasurerOfRanks | Mpi] = []

        def on_machine(rank: int) -> WorkerAnswer:
            _core.join_machine(*self._machine, rank, size)
            try:
                return self._play_all(request, kept) if single else self._play(request, kept)
            finally:
                _core.leave_machine(*self._machine)

        def play(rank: int) -> None:
            answers[rank] = guarded(lambda: on_machine(rank), rank)

        in_threads(size, play)
        kept.clear()
        gc.collect()
        failed = any(answer.outcome["status"] == "failed" for answer in answers.values())
        outcome = answers[0 if single else min(request.case.ranks)].outcome
        return WorkerAnswer(self._with_culprit(outcome) if outcome["status"] == "failed" else outcome, failed)

    def _with_culprit(self, outcome: Outcome) -> Outcome:
        """Adds the rank or GPU that a deadlock is the fault of, which only the machine knows."""
        rank, gpu, library = _core.machine_at_fault(*self._machine)
        found = {"rank": rank} if rank >= 0 else {"device": f"gpu{gpu}"} if gpu >= 0 else {}
        if blame := {**outcome.get("blame", {}), **found}:
            outcome["blame"] = blame
        if library:
            outcome["reason_fields"] = {"call": CALLS_OF_LIBRARIES["xccl"]}
        return outcome

    def _play_all(self, request: CaseRequest, kept: list[MeasurerOfRanks | Mpi]) -> WorkerAnswer:
        measurer = SingleThreadMeasurer.open(*self._machine)
        kept.append(measurer)
        return measurer.measure(request)

    def _play(self, request: CaseRequest, kept: list[MeasurerOfRanks | Mpi]) -> WorkerAnswer:
        mpi = open_mpi(self._machine[0])
        kept.append(mpi)
        kind = SimulatedHostMeasurer if request.devices_of_host else RankMeasurer
        measurer = kind.open(mpi.world, mpi, *self._machine)
        kept.append(measurer)
        if isinstance(measurer, SimulatedHostMeasurer):
            measurer.devices_of_host = request.devices_of_host
        return measurer.measure(request)


class SimulatedHostMeasurer(RankMeasurer):
    """The only rank of a simulated host. The machine numbers the devices of all hosts in one row."""

    devices_of_host: Mapping[str, int]

    def _group(self, case: Case) -> Communicator | ProcessRanks | ThreadRanks | None:
        return self._world.split(0, self._number(case))

    def _number(self, case: Case) -> int:
        order = sorted(case.hosts, key=lambda name: int(name.removeprefix("host")))
        return case.hosts.index(order[self._world.rank])

    def _ends(self, case: Case) -> RankEnds:
        sends, receives = super()._ends(case)
        return self._numbered(sends), self._numbered(receives)

    def _numbered(self, end: Buffer | None) -> Buffer | None:
        if end is None:
            return None
        kind, number = end.device[:3], int(end.device[3:])
        own = number + self._world.rank * self.devices_of_host[kind]
        return replace(end, device=f"{kind}{own}", host=None)


def _without_effect(environment: Mapping[str, str]) -> str:
    """Returns why no result would show the effect of these variables; empty if each is read."""
    unread = [
        name
        for name in sorted(environment)
        if (reader := reader_of(name)) and reader.library and name not in LIBRARIES_READ
    ]
    return f"the simulated MPI, NCCL and RCCL do not read {', '.join(unread)}" if unread else ""
