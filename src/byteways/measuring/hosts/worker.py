"""A rank of a run between hosts, one or more on each: `byteways.measuring.hosts.worker --socket PATH --ranks N`.

The lowest rank that reaches the conductor's socket speaks for all: it tells the others each request and
collects what the groups of ranks found: pairs, or all together. Ranks sleep while they wait, so that those
that measure have the cores.

    conductor  {"do": "measure", "case": {…with places for two hosts…}, "groups": [[0, 5], [1, 4]],
                "hosts": ["node1", …by rank…], "patience_s": 40.0, "budget_s": 0.5, …as for other workers…}
    worker     {"did": "measure", "outcomes": [{…} or null, …]}

An outcome of null is of a group that did not answer in time: the ranks are of no further use then.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from byteways.cases.case import Case
from byteways.measuring.hosts.facts import cores_of_rank, number_on_host, on_kernel, own_facts
from byteways.measuring.hosts.measuring import HostMeasurer
from byteways.measuring.shared.health_host import HostMonitor
from byteways.measuring.shared.protocol import CLOCK, Channel, ConnectionClosed
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.shared.worker_clock import clock_answer, clock_step_ns
from byteways.measuring.work.answer import guarded, watched
from byteways.measuring.work.outcome_fields import Outcome
from byteways.measuring.work.worker import arguments_of, connected, die_with_parent, run_process
from byteways.plan.hosts.all_hosts import is_of_all, of_group
from byteways.plan.hosts.places import FIRST_HOST, SECOND_HOST
from byteways.plan.hosts.rule import HostGroup
from byteways.plan.ranks import layout

if TYPE_CHECKING:
    from byteways._core import Communicator, Mpi

STOP_HOSTS = {"do": "stop"}


class HostWorker:
    """Serves requests until told to stop.

    Args:
        mpi: Initialised MPI.
        channel: The connection to the conductor, on the rank that speaks for all.
        speaker: That rank.
        ranks: Facts of every rank.
        per_host: Ranks on each host.
    """

    def __init__(
        self,
        mpi: Mpi,
        channel: Channel | None,
        speaker: int,
        ranks: Sequence[Mapping[str, Any]],
        per_host: int = 1,
    ) -> None:
        from byteways import _core

        self._core = _core
        self._mpi = mpi
        self._channel = channel
        self._speaker = speaker
        self._ranks = ranks
        self._per_host = per_host
        self._measurer: HostMeasurer | None = None
        self._load = HostMonitor(processes=[os.getpid()])
        self._met: tuple[object, ...] | None = None
        self._group: Communicator | None = None

    def serve(self) -> None:
        world = self._mpi.world
        while True:
            request = self._next()
            if request["do"] == "stop":
                self._mpi.finalize()
                return
            if request["do"] == CLOCK:
                if self._channel is not None:
                    self._channel.send(clock_answer())
                continue
            until = time.monotonic() + request["patience_s"]
            groups = [tuple(group) for group in request["groups"]]
            mine = next((group for group in groups if world.rank in group), None)
            self._meet(request, groups, mine)
            outcome = self._measure(request, mine) if mine else {}
            leaders = [group[0] for group in groups]
            if world.rank != self._speaker and world.rank not in leaders:
                continue
            found = self._core.patient_collect(
                world,
                json.dumps(outcome).encode(),
                self._speaker,
                leaders,
                max(0.0, until - time.monotonic()),
            )
            if self._channel is not None:
                outcomes = [None if text is None else json.loads(text) for text in found]
                self._channel.send({"did": "measure", "outcomes": outcomes})

    def _next(self) -> dict[str, Any]:
        text = b""
        if self._channel is not None:
            try:
                text = self._channel.receive_line()
            except ConnectionClosed:  # the conductor is gone
                text = json.dumps(STOP_HOSTS).encode()
        told = self._core.patient_broadcast(self._mpi.world, text, self._speaker)
        request: dict[str, Any] = json.loads(told)
        return request

    def _meet(self, request: Mapping[str, Any], groups: Sequence[HostGroup], mine: HostGroup | None) -> None:
        """Gives each group a communicator in the order of the case's ranks: of a pair, the one that sends
        first is rank 0. Collective.
        """
        case = Case.from_json(request["case"])
        order = tuple(range(len(mine or groups[0])))
        if not is_of_all(case):
            order = tuple((FIRST_HOST, SECOND_HOST).index(place) for place in case.hosts)
        key = (tuple(groups), order)
        if key == self._met:
            return
        world = self._mpi.world
        color = groups.index(mine) if mine else -1
        own = order.index(mine.index(world.rank)) if mine else 0
        self._group = world.split(color, own)
        self._met = key
        if mine and self._group is not None:
            names = tuple(request["hosts"][mine[place]] for place in order)
            self._opened().meet(self._group, names, own, mine)

    def _measure(self, request: Mapping[str, Any], mine: tuple[int, ...]) -> Outcome:
        """Returns the group's outcome, the same on all of its ranks."""
        asked = CaseRequest.from_json(request)
        asked = replace(asked, case=_case_of(asked.case, mine, request["hosts"]))
        here = request["hosts"][self._mpi.world.rank]
        # An error is of this rank only: the others learn of it through the team.
        own = watched(self._load, lambda: guarded(lambda: self._opened().measure(asked), host=here))
        return own.outcome

    def _opened(self) -> HostMeasurer:
        if self._measurer is None:
            from byteways.machine.discovery import discover
            from byteways.measuring.work.capabilities import list_devices

            here = self._mpi.world.rank
            shared = on_kernel(self._ranks, here)
            measurer = HostMeasurer.open(self._mpi.world, self._mpi, ranks_here=len(shared))
            measurer.topology = discover(list_devices(measurer.devices))
            measurer.shared_ranks = len(shared)
            own = layout(measurer.topology, self._per_host)[number_on_host(self._ranks, here)]
            measurer.cores = cores_of_rank(self._ranks, here, self._per_host, own.cores)
            measurer.gpu = own.gpu if self._per_host > 1 else None
            self._measurer = measurer
        return self._measurer


def _case_of(case: Case, group: Sequence[int], hosts: Sequence[str]) -> Case:
    return of_group(case, list(dict.fromkeys(hosts[rank] for rank in group)))


def _connected(path: str) -> Channel | None:
    """Returns the connection to the conductor; None where it does not run."""
    try:
        return connected(path)
    except OSError:
        return None


def _serve(path: str, per_host: int) -> None:
    from byteways import _core
    from byteways.measuring.shared.mpi_library import fields_of, open_mpi

    try:
        mpi = open_mpi()
    except _core.Error as error:
        channel = _connected(path)
        if channel is not None:
            channel.send({"did": "hello", "pid": os.getpid(), "error": str(error)})
        return
    world = mpi.world
    own = {**own_facts(), "reaches": os.path.exists(path)}  # noqa: PTH110 - no Path in the first 100 ms
    ranks = [json.loads(text) for text in world.gather(json.dumps(own).encode())]
    speaker = next((number for number, rank in enumerate(ranks) if rank.pop("reaches")), None)
    if speaker is None:
        if world.rank == 0:
            sys.stderr.write("no rank runs where byteways was started: start it on one of the hosts\n")
        return
    channel = _connected(path) if world.rank == speaker else None
    if channel is not None:
        told = {"mpi": fields_of(mpi.report), "ranks": ranks, "speaker": speaker}
        channel.send({"did": "hello", "pid": os.getpid(), "clock_step_ns": clock_step_ns(), **told})
    HostWorker(mpi, channel, speaker, ranks, per_host).serve()


def main() -> None:
    die_with_parent(os.getppid())
    parser = arguments_of("Measures as one of several hosts for a byteways conductor.")
    parser.add_argument("--ranks", required=True, type=int, help="how many the conductor asked for")
    parser.add_argument("--ranks-per-host", type=int, default=1, help="how many on each host")
    arguments = parser.parse_args()
    run_process(lambda: _serve(arguments.socket, arguments.ranks_per_host))


if __name__ == "__main__":
    main()
