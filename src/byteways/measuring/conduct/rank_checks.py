"""Checks, before anything is measured, that the ranks of a job start, and that each can use its GPU and core.

The conductor asks; rank_worker.py answers for all ranks (rank_places.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.cases.case import PlannedCase
from byteways.machine.model import Topology
from byteways.measuring.conduct.process import WorkerLost, WorkerProcess
from byteways.measuring.shared.launchers import NO_LAUNCHER, Job
from byteways.measuring.shared.rank_places import local_name
from byteways.plan.ranks import Rank, oversubscribed

#: Seconds for all ranks to open their runtimes: several processes that open the same GPUs take turns.
PLACES_S = 120.0
#: srun(1), --mpi: without the interface that the library was built for, each task is a job of its own.
UNCONNECTED = "srun --mpi=list; then export SLURM_MPI_TYPE=…, what the MPI was built for; doctor shows MPI"


@dataclass(frozen=True)
class CheckedRanks:
    """Ranks that can measure, and their library of MPI, as manifests have it; none without MPI."""

    worker: WorkerProcess | None = None  # None: no launcher starts them
    libraries: tuple[dict[str, Any], ...] = ()

    def kept_for(self, planned: Sequence[PlannedCase]) -> WorkerProcess | None:
        """Returns the ranks if they measure the first of these cases; otherwise ends them.

        To start them again takes seconds: MPI connects, and each opens the driver of its GPU.
        """
        first = next((one.case for one in planned if one.reason is None), None)
        if self.worker is None or (first and first.worker == "ranks" and not first.environment):
            return self.worker
        self.worker.stop()
        return None

    def kill(self) -> None:
        if self.worker is not None:
            self.worker.kill()


def check_ranks(
    job: Job,
    planned: Sequence[PlannedCase],
    topology: Topology,
    log: Path,
    tick: Callable[[], None],
) -> CheckedRanks:
    """Starts the ranks, if a launcher starts them; they wait for a request.

    Args:
        job: The ranks to start.
        planned: The run's cases, which say what GPU a rank uses.
        topology: The machine.
        log: File for the ranks' output.
        tick: Called while waiting; may raise.

    Raises:
        BytewaysError: They do not start or cannot measure together; the cause says why.
    """
    if job.launcher is NO_LAUNCHER:
        return CheckedRanks()
    gpus = gpus_of_ranks(planned)
    ranks = job.layout(topology)
    request = {"do": "places", "cores": [rank.cores for rank in ranks], "gpus": bool(gpus)}
    try:
        worker = WorkerProcess(log, job.environment, job.command(), tick)
        try:
            places: list[dict[str, Any]] = worker.ask(request, PLACES_S)["places"]
            if problem := wrong_places(places, ranks, gpus, topology):
                raise problem
        except BaseException:
            worker.stop()
            raise
    except WorkerLost as loss:
        line = " ".join(job.launcher.command(job.ranks, ["…"]))
        what = f"the {job.ranks} ranks did not start: {line}"
        hint = UNCONNECTED if job.launcher.name == "Slurm" else "byteways doctor shows MPI"
        raise BytewaysError(what, cause=loss.reason, hint=hint) from loss
    return CheckedRanks(worker, tuple(mpi_of(worker.hello)))


def mpi_of(hello: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the library of MPI that ranks told in their hello; none if they use none."""
    return [dict(hello["mpi"])] if "mpi" in hello else []


def as_loaded(libraries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the reports with the UCX that MPI has loaded in place of the one that was found: ranks of MPI
    use that one.
    """
    loaded = next((one["ucx"] for one in libraries if one.get("ucx")), None)
    if loaded is None:
        return [dict(one) for one in libraries]
    own = {"version": loaded["version"], "path": loaded["path"], "found_by": "MPI"}
    return [{**one, **(own if one["library"] == "ucx" else {})} for one in libraries]


def doubts_about_ranks(
    job: Job, planned: Sequence[PlannedCase], topology: Topology, asked: int | None = None
) -> list[str]:
    """Returns what makes results of a job less than they seem: shared cores, and ranks without a GPU.

    Args:
        job: The ranks of the run's cases.
        planned: The cases.
        topology: The machine.
        asked: The number of ranks that the user asked for: not every one need have a case.
    """
    doubts = []
    if job.launcher is not NO_LAUNCHER and oversubscribed(job.layout(topology)):
        cores = sum(len(topology.device(name).cores) for name in topology.names("cpu"))
        share = f"{job.ranks} ranks share {cores} cores" if cores > 1 else f"{job.ranks} ranks share a core"
        doubts.append(f"{share}: results also measure the scheduler and carry the warning 'oversubscribed'")
    cases = (one.case for one in planned if one.reason is None and one.case.ranks)
    uses_gpus = any(name.startswith("gpu") for case in cases for name in case.devices_of_ranks.values())
    ranks, gpus = max(job.ranks - job.twins, asked or 0), len(topology.names("gpu"))
    if uses_gpus and ranks > gpus:
        here = "1 GPU" if gpus == 1 else f"{gpus} GPUs"
        doubts.append(f"{ranks} ranks and {here}: ranks without a GPU take no part in cases between GPUs")
    return doubts


def gpus_of_ranks(planned: Sequence[PlannedCase]) -> dict[int, set[str]]:
    """Returns the GPUs that each rank uses in the cases that run, by the names of the plan."""
    gpus: dict[int, set[str]] = {}
    for one in planned:
        if one.reason is None and one.case.worker == "ranks":
            for rank, device in one.case.devices_of_ranks.items():
                if device.startswith("gpu"):
                    gpus.setdefault(rank, set()).add(device)
    return gpus


def wrong_places(
    places: Sequence[Mapping[str, Any]],
    ranks: Sequence[Rank],
    gpus: Mapping[int, set[str]],
    topology: Topology,
) -> BytewaysError | None:
    """Returns why the ranks cannot measure where the plan has them; None if they can.

    Args:
        places: What each rank can use (own_place).
        ranks: Where the plan has them.
        gpus: The GPUs that each rank uses.
        topology: The machine.
    """
    uuids = {device.name: device.uuid or "" for device in topology.devices}
    for number, place in enumerate(places):
        if (allowed := place.get("allowed")) is not None:
            told = ", ".join(map(str, allowed))
            return BytewaysError(
                f"rank {number} may not use core {ranks[number].cores[0]}",
                cause=f"the launcher limits it to {told}; each rank is bound to a core of its own",
                hint="--launcher 'srun -n {ranks} --cpu-bind=none', or one rank for each task's cores",
            )
        for gpu in sorted(gpus.get(number, ())):
            if local_name(gpu, uuids.get(gpu, ""), place["gpus"]) is None:
                seen = [f"{name} ({uuid})" if uuid else name for name, uuid in place["gpus"].items()]
                named = f"{gpu} ({uuids[gpu]})" if uuids.get(gpu) else gpu
                return BytewaysError(
                    f"rank {number} cannot use {gpu}",
                    cause=f"it sees {', '.join(seen) or 'no GPU'}, and not {named}",
                    hint="let the launcher make all GPUs visible to each rank, or only the rank's own GPU",
                )
    return None
