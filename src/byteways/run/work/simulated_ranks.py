"""Ranks of a simulated machine: threads of this process, each with its own session and clock."""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from byteways.plan.case import Buffer, Case
from byteways.plan.interfaces import INTERFACES
from byteways.plan.variables import reader_of
from byteways.record.library_choice import choice_of
from byteways.run.shared.library_log import LOG_SOURCE, LibraryLog, has_choice
from byteways.run.shared.mpi_library import open_mpi
from byteways.run.work.failures import failed_by, skipped
from byteways.run.work.rank_ends import RankEnds
from byteways.run.work.rank_measuring import MeasurerOfRanks, RankMeasurer
from byteways.run.work.single_thread import SingleThreadMeasurer

if TYPE_CHECKING:
    from byteways._core import Communicator, Mpi, ProcessRanks, ThreadRanks


#: Variables that the simulated MPI reads (native/simulator/mpi/settings.hpp); beside them those of ROCm.
MPI_READS = (
    "MPICH_GPU_ALLREDUCE_USE_KERNEL",
    "MPICH_GPU_IPC_CACHE_MAX_SIZE",
    "MPICH_GPU_IPC_ENABLED",
    "MPICH_GPU_IPC_THRESHOLD",
)


#: A sheet's line where the model has no table [mpi]: no MPI sends in no time. The reason to skip its cases.
_WITHOUT_MPI = re.compile(r"^mpi\.send_ns\t0(\.0)?$", re.MULTILINE)
NO_MPI = "the machine model has no numbers of MPI ([mpi])"


class SimulatedRanks:
    """Measures cases between ranks of the machine that `sheet` describes.

    Args:
        core: The native module.
        simulator: The simulator's library.
        sheet: The machine's description.
    """

    def __init__(self, core: ModuleType, simulator: str, sheet: str) -> None:
        self._core = core
        self._machine = (simulator, sheet)

    def measure(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Returns the outcome of a `measure` request on the freshly loaded machine, and whether to leave.

        A rank that failed may have left memory or queues behind, with which the machine cannot restart: a new
        process continues.
        """
        case = Case.from_json(request["case"])
        reason = _without_effect(case.environment)
        needs_mpi = INTERFACES[case.interface].between == "mpi" and case.transport != "xccl"
        if needs_mpi and _WITHOUT_MPI.search(self._machine[1]):
            reason = NO_MPI
        if reason:
            return skipped(reason), False
        if not has_choice(case):
            return self._measure(request)
        with LibraryLog.of_simulation() as log:  # it takes no time of the simulated machine
            outcome, failed = self._measure(request)
            if outcome["status"] == "measured":
                choice = choice_of(log.news(), request["case"]["pattern"], LOG_SOURCE)
                outcome["library_choice"] = choice.to_json()
            return outcome, failed

    def _measure(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        self._core.restart_machine(*self._machine, request["key"])
        # One thread for all ranks is one actor; threads and processes differ in nothing that is simulated.
        single = Case.from_json(request["case"]).launch == "single"
        size = 1 if single else len(request["cores"])
        outcomes: list[dict[str, Any]] = [{} for _ in range(size)]
        # Release the ranks' objects only after all threads have ended: a destructor that waits for its turn
        # in virtual time while holding Python's lock would block the other ranks.
        kept: list[MeasurerOfRanks | Mpi] = []

        def play(rank: int) -> None:
            try:
                self._core.join_machine(*self._machine, rank, size)
                try:
                    outcomes[rank] = self._play_all(request, kept) if single else self._play(request, kept)
                finally:
                    self._core.leave_machine(*self._machine)
            except Exception as error:
                outcomes[rank] = failed_by(error, f"rank {rank}: {type(error).__name__}: {error}")

        threads = [threading.Thread(target=play, args=(rank,), daemon=True) for rank in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        kept.clear()
        gc.collect()
        failed = any(outcome.get("status") == "failed" for outcome in outcomes)
        return outcomes[0 if single else min(request["ranks"])], failed

    def _play_all(self, request: Mapping[str, Any], kept: list[MeasurerOfRanks | Mpi]) -> dict[str, Any]:
        measurer = SingleThreadMeasurer.open(*self._machine)
        kept.append(measurer)
        return measurer.measure(request)

    def _play(self, request: Mapping[str, Any], kept: list[MeasurerOfRanks | Mpi]) -> dict[str, Any]:
        mpi = open_mpi(self._machine[0])
        kept.append(mpi)
        if "devices_of_host" in request:
            on_host = SimulatedHostMeasurer.open(mpi.world, mpi, *self._machine)
            kept.append(on_host)
            on_host.devices_of_host = request["devices_of_host"]
            return on_host.measure(request)
        measurer = RankMeasurer.open(mpi.world, mpi, *self._machine)
        kept.append(measurer)
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
        if (reader := reader_of(name)) and reader.library and name not in MPI_READS
    ]
    return f"the simulated MPI, NCCL and RCCL do not read {', '.join(unread)}" if unread else ""
