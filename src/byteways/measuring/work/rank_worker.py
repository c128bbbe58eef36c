"""A rank: one of several workers that measure together. A launcher starts it.

    byteways.measuring.work.rank_worker --socket PATH --ranks N

Without MPI it also gets its number and a folder (local_ranks.py).

Rank 0 talks to the conductor in the usual worker protocol and forwards each request to the others. A rank
dies with the process that started it, and all ranks die with any one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from byteways.measuring.shared.health_host import HostMonitor
from byteways.measuring.shared.protocol import CLOCK, Channel, ConnectionClosed
from byteways.measuring.shared.rank_places import own_place
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.shared.worker_clock import clock_answer, clock_step_ns
from byteways.measuring.work.answer import WorkerAnswer, guarded, watched
from byteways.measuring.work.worker import arguments_of, connected, die_with_parent, run_process

if TYPE_CHECKING:
    from byteways._core import Communicator, Mpi, ProcessRanks
    from byteways.measuring.work.rank_measuring import RankMeasurer

STOP = {"do": "stop"}
#: Seconds for all ranks without MPI to meet: Python on a cold network file system takes seconds to start.
MEETING_S = 60.0


@dataclass(frozen=True)
class RankChannel:
    """What the ranks exchange words by: MPI, or sockets between processes of this host."""

    world: Communicator | ProcessRanks
    mpi: Mpi | None = None

    @classmethod
    def join(cls, folder: str | None, rank: int, ranks: int) -> RankChannel:
        """Starts MPI, or without it meets the other ranks. Raises _core.Error, see open_mpi()."""
        from byteways import _core
        from byteways.measuring.shared.mpi_library import open_mpi

        if folder is not None:
            return cls(_core.ProcessRanks.join(folder, rank, ranks, MEETING_S))
        mpi = open_mpi()
        return cls(mpi.world, mpi)

    def finalize(self) -> None:
        if self.mpi is not None:
            self.mpi.finalize()

    def facts(self) -> dict[str, Any]:
        """Returns the report on the library of MPI, with the UCX that it has loaded; empty without MPI."""
        from byteways.measuring.shared.mpi_library import fields_of, with_preloaded
        from byteways.measuring.shared.mpi_wheels import ucx_here

        if self.mpi is None:
            return {}
        fields, ucx = fields_of(self.mpi.report), ucx_here()
        version = with_preloaded(fields["version"], ucx)
        return {"mpi": {**fields, "version": version, **({"ucx": ucx} if ucx else {})}}


class RankWorker:
    """Serves requests until told to stop; every rank executes what rank 0 receives.

    Args:
        job: The ranks.
        channel: Rank 0's connection to the conductor.
        processes: Process ids of all ranks on this host.
    """

    def __init__(self, job: RankChannel, channel: Channel | None, processes: Sequence[int]) -> None:
        self._job = job
        self._world = job.world
        self._channel = channel
        self._measurer: RankMeasurer | None = None
        self._host = HostMonitor(processes=processes) if channel is not None else None

    def serve(self) -> None:
        while True:
            request = self._next()
            if request["do"] == "stop":
                self._job.finalize()
                return
            if request["do"] == CLOCK:
                if self._channel is not None:
                    self._channel.send(clock_answer())
                continue
            if request["do"] == "places":
                places = self._places(request)
                if self._channel is not None:
                    self._channel.send({"did": "places", "places": places})
                continue
            answer = watched(self._host, partial(self._shared, CaseRequest.from_json(request)))
            if self._channel is not None:
                self._channel.send(answer.to_json())

    def _places(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns what every rank can use."""
        devices = gpus_seen() if request["gpus"] else {}
        own = own_place(devices, request["cores"][self._world.rank])
        return [json.loads(text) for text in self._world.gather(json.dumps(own).encode())]

    def _next(self) -> dict[str, Any]:
        text = b""
        if self._channel is not None:
            try:
                text = self._channel.receive_line()
            except ConnectionClosed:  # the conductor is gone
                text = json.dumps(STOP).encode()
        request: dict[str, Any] = json.loads(self._world.broadcast(text, 0))
        return request

    def _shared(self, request: CaseRequest) -> WorkerAnswer:
        """Returns the answer of a participating rank: rank 0, which speaks for all, may not participate."""
        # An error is of this rank only: the others learn of it through the team.
        own = guarded(lambda: self._opened().measure(request), self._world.rank)
        first = min(request.case.ranks)
        if first == 0:
            return own
        told = self._world.broadcast(json.dumps(own.outcome).encode(), first)
        return WorkerAnswer(json.loads(told))

    def _opened(self) -> RankMeasurer:
        from byteways.measuring.work.rank_measuring import RankMeasurer

        if self._measurer is None:
            self._measurer = RankMeasurer.open(self._world, self._job.mpi)
        return self._measurer


def gpus_seen() -> dict[str, str]:
    """Returns the UUID of each GPU that this process sees, by its name here."""
    from byteways.measuring.work.measurer import open_session

    return {device.name: device.uuid for device in open_session().devices if device.runtime != "host"}


def facts_of(job: RankChannel) -> dict[str, Any]:
    """Returns the facts of every rank (host, process id, …) in rank order."""
    from byteways import __version__

    own = {"host": os.uname().nodename, "pid": os.getpid(), "byteways": __version__}
    return {
        **job.facts(),
        "ranks": [json.loads(text) for text in job.world.gather(json.dumps(own).encode())],
        "clock_step_ns": clock_step_ns(),
    }


def wrong_with(facts: dict[str, Any], wanted: int) -> str | None:
    """Returns why these ranks cannot measure together; None if they can."""
    ranks = facts["ranks"]
    if len(ranks) != wanted:
        library = facts["mpi"]["path"]
        return f"MPI has {len(ranks)} of {wanted} ranks: the launcher belongs to another MPI than {library}"
    versions = sorted({rank["byteways"] for rank in ranks})
    if len(versions) > 1:
        return f"the ranks have different versions of byteways: {', '.join(versions)}"
    return None


def main() -> None:
    die_with_parent(os.getppid())
    parser = arguments_of("Measures as one rank of several for a byteways conductor.")
    parser.add_argument("--ranks", required=True, type=int, help="how many the conductor asked for")
    parser.add_argument("--rank", type=int, default=0, help="of a process without MPI: its number")
    parser.add_argument("--folder", help="of a process without MPI: where it meets the others")
    run_process(partial(_serve, parser.parse_args()))


def _serve(arguments: argparse.Namespace) -> None:
    from byteways import _core

    path, wanted = arguments.socket, arguments.ranks
    try:
        job = RankChannel.join(arguments.folder, arguments.rank, wanted)
    except _core.Error as error:
        # The rank is unknown here: the conductor uses the first message it receives.
        with contextlib.suppress(OSError):
            connected(path).send({"did": "hello", "pid": os.getpid(), "error": str(error)})
        return
    facts = facts_of(job)
    channel = connected(path) if job.world.rank == 0 and Path(path).exists() else None
    wrong = wrong_with(facts, wanted)
    if channel is not None:
        channel.send({"did": "hello", "pid": os.getpid(), **({"error": wrong} if wrong else {}), **facts})
    if wrong is None:
        host = facts["ranks"][job.world.rank]["host"]
        processes = [rank["pid"] for rank in facts["ranks"] if rank["host"] == host]
        RankWorker(job, channel, processes).serve()


if __name__ == "__main__":
    main()
