"""The ranks of a run between hosts: started, asked, and started again without the hosts that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from byteways.base.errors import BytewaysError
from byteways.measuring.conduct.clock_watch import ClockWatch, without_clock
from byteways.measuring.conduct.process import HELLO_TIMEOUT_S, WorkerLost, WorkerProcess
from byteways.measuring.conduct.rank_checks import UNCONNECTED, mpi_of
from byteways.measuring.conduct.rank_faults import ProcessFault, stopped_among
from byteways.measuring.hosts.facts import placed, sharing, unfit, version
from byteways.measuring.hosts.launchers import HostsLauncher, write_host_file
from byteways.measuring.hosts.reach import HostSearch, search
from byteways.measuring.hosts.states import states_on, stopped_on
from byteways.measuring.shared.allocation import Allocation
from byteways.record.run_folder import HOSTS_OF_JOB, LOG

#: More seconds for the ranks to connect, for each host: they may share cores and start one after the other.
HELLO_HOST_S = 0.5
#: A host whose ranks were lost so often is left out: once may be the fault of its partner or of the case.
LOSSES_PER_HOST = 2
#: Starts of the ranks that fail, the last one though no host is known to be unreachable.
FAILED_STARTS = 2
#: What ranks on several hosts need, beside an MPI that their launcher knows.
IN_ONE_PLACE = (
    "start byteways on one of the hosts, with its folder at the same path on all; byteways doctor shows MPI"
)
#: Hosts that a message about untried ones names.
MOST_NAMED = 8


class HostsJob:
    """The ranks on each host that is not left out.

    Args:
        folder: The run folder: for the log, and the file of hosts that the launcher reads.
        hosts: Names of all hosts.
        launcher: Starts the ranks.
        say: Receives a sentence when a host is left out, or could not be tried.
        tick: Called while waiting; may raise.
    """

    def __init__(
        self,
        folder: Path,
        hosts: Sequence[str],
        launcher: HostsLauncher,
        say: Callable[[str], None],
        tick: Callable[[], None],
    ) -> None:
        self._folder = folder
        self._hosts = list(hosts)
        self._launcher = launcher
        self._say = say
        self._tick = tick
        self._losses: Counter[str] = Counter()
        self._worker: WorkerProcess | None = None
        self._clock: ClockWatch | None = None  # of the rank that speaks for all
        self._environment: dict[str, str] = {}
        self._places: list[str] = []  # host of each rank
        self._ranks: dict[str, list[int]] = {}  # ranks of each host
        self.left_out: dict[str, str] = {}  # reason by host
        self.mpi: list[dict[str, Any]] = []  # the library of MPI, once the ranks have started
        self.fresh = True  # no case has been measured since the ranks were started
        self.oversubscription = 1.0  # ranks per core where most ranks share a kernel

    @property
    def live(self) -> list[str]:
        return [host for host in self._hosts if host not in self.left_out]

    @property
    def hello(self) -> Mapping[str, Any]:
        return self._worker.hello if self._worker else {}

    @property
    def places(self) -> list[str]:
        """Host of each rank; of hosts left out later, too."""
        return self._places

    def start(self, environment: Mapping[str, str]) -> None:
        """Starts the ranks with these variables unless they run; leaves out hosts where that fails.

        Raises:
            BytewaysError: Fewer than two hosts are left, or they do not start together.
        """
        if self._worker is not None and dict(environment) == self._environment:
            return
        self.stop()
        failed = 0
        while self._worker is None:
            self.require_two()
            live = self.live
            try:
                self._start(live, environment)
            except WorkerLost as loss:
                self.kill()
                failed += 1
                reach = search(self._launcher, live, self._tick)
                for host, reason in reach.failed.items():
                    self.leave_out(host, reason)
                if reach.not_tried:
                    self._say(_not_tried(reach))
                if not reach.failed and failed >= FAILED_STARTS:
                    raise self._not_started(live, loss, reach) from loss

    def ask(self, request: Mapping[str, Any], timeout_s: float, devices: Mapping[int, str]) -> dict[str, Any]:
        """Returns the ranks' answer; `devices` is what each uses. Raises WorkerLost; the ranks are to be
        killed then.
        """
        assert self._worker is not None
        self.fresh = False
        return self._worker.ask(request, timeout_s, devices)

    def ask_by_clock(
        self, request: Mapping[str, Any], timeout_s: float, devices: Mapping[int, str]
    ) -> dict[str, Any]:
        """Returns the answer of ask(), without figures if the clock of the rank that speaks for all disagrees
        with this process's. Raises WorkerLost like ask().
        """
        assert self._clock is not None
        self._clock.begin()
        answer = self.ask(request, timeout_s, devices)
        if None in answer["outcomes"]:  # a rank that is gone would be waited for
            return answer
        try:
            doubt = self._clock.doubt()
        except WorkerLost:  # the case was measured; the next one starts other ranks
            self.kill()
            return answer
        if doubt is None:
            return answer
        outcomes = [
            one if one is None or one.get("status") != "measured" else without_clock(one, doubt)
            for one in answer["outcomes"]
        ]
        return {**answer, "outcomes": outcomes}

    @property
    def speaker(self) -> str | None:
        """Host of the rank that speaks for all."""
        number = self.hello.get("speaker")
        return self._places[number] if isinstance(number, int) and number < len(self._places) else None

    def rank_of(self, host: str, number: int) -> int:
        """Returns a rank by its number on its host."""
        return self._ranks[host][number]

    def blame(self, hosts: Sequence[str], reason: str) -> None:
        """Counts a loss of each host; one that is lost again is left out."""
        for host in hosts:
            self._losses[host] += 1
            if self._losses[host] >= LOSSES_PER_HOST:
                self.leave_out(
                    host, f"its ranks were lost {self._losses[host]} times, the last time: {reason}"
                )

    def leave_out(self, host: str, reason: str) -> None:
        if host not in self.left_out:
            self.left_out[host] = reason
            self._say(f"host {host} is excluded: {reason}")

    def stopped(self) -> ProcessFault:
        """Returns the rank that is stopped, if one can be seen. Takes seconds: the launcher starts a program
        on each host.
        """
        return self._worker.look_elsewhere() if self._worker else ProcessFault()

    def _stopped_among(self, ranks: Sequence[Mapping[str, Any]]) -> ProcessFault:
        states = states_on(self._launcher, list(dict.fromkeys(self._places)), self._tick)
        return stopped_among(ranks, lambda host, pid: stopped_on(states, host, pid))

    def kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def kill_at_once(self) -> None:
        if self._worker is not None:
            self._worker.kill_at_once()

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _start(self, live: list[str], environment: Mapping[str, str]) -> None:
        file = write_host_file(self._folder, live)
        variables = {**self._launcher.launcher.environment, **environment}
        self._worker = WorkerProcess(
            self._folder / LOG,
            variables,
            self._launcher.command(live, file),
            self._tick,
            HELLO_TIMEOUT_S + HELLO_HOST_S * len(live),
            self._stopped_among,
        )
        self._environment, self.fresh = dict(environment), True
        self._clock = ClockWatch(self._worker)
        self.mpi = mpi_of(self._worker.hello)
        ranks = self._worker.hello.get("ranks", [])
        wrong, whole = unfit(live, ranks, version(), self._launcher.ranks_per_host)
        if whole:
            self.kill()
            raise BytewaysError(
                f"the ranks of {len(live)} hosts cannot measure together",
                cause=whole,
                hint="byteways run --dry-run shows the launcher's line; --launcher names another one",
            )
        self._places = placed(live, ranks)
        self._ranks = {host: [] for host in live}
        for rank, host in enumerate(self._places):
            self._ranks[host].append(rank)
        for host, reason in wrong.items():
            self.leave_out(host, reason)
        per_core = [
            count / max(1, len(rank["cores"])) for count, rank in zip(sharing(ranks), ranks, strict=True)
        ]
        self.oversubscription = max(1.0, *per_core)
        if len(self.live) < 2:
            self.kill()

    def leave_out_others(self, allocation: Allocation) -> None:
        """Leaves out the hosts that srun cannot reach from this allocation: a run may be resumed in another.

        Raises:
            BytewaysError: Fewer than two hosts are left.
        """
        nodes = {name.partition(".")[0] for name in allocation.nodes()}
        for host in self.live:
            if host.partition(".")[0] not in nodes:
                self.leave_out(host, f"it is no node of Slurm job {allocation.job} ({allocation.listed})")
        few = len(self._hosts) <= MOST_NAMED
        wanted = ",".join(self._hosts) if few else f"{self._folder / HOSTS_OF_JOB}"
        self.require_two(f"sbatch --nodelist={wanted} starts a job on the hosts of this run")

    def require_two(self, hint: str | None = None) -> None:
        """Raises BytewaysError unless two hosts are left."""
        if len(self.live) >= 2:
            return
        told = "; ".join(f"{host}: {reason}" for host, reason in list(self.left_out.items())[:3])
        raise BytewaysError(
            "fewer than two hosts are left",
            cause=told or None,
            hint=hint or "try one by hand with the launcher's line of --dry-run; then --resume",
        )

    def _not_started(self, live: Sequence[str], loss: WorkerLost, reach: HostSearch) -> BytewaysError:
        known = _not_tried(reach) if reach.not_tried else "although each host can be reached alone"
        of_slurm = self._launcher.launcher.name == "Slurm"
        return BytewaysError(
            f"the ranks of {len(live)} hosts did not start together, {known}",
            cause=loss.reason,
            hint=UNCONNECTED if of_slurm else IN_ONE_PLACE,
        )


def _not_tried(reach: HostSearch) -> str:
    """Returns `3 hosts not tried: the search reached its limit of starts: n4, n5, n6`."""
    names = ", ".join(reach.not_tried[:MOST_NAMED]) + (", …" if len(reach.not_tried) > MOST_NAMED else "")
    many = f"{len(reach.not_tried)} hosts" if len(reach.not_tried) > 1 else "1 host"
    return f"{many} not tried: the search reached its limit of starts: {names}"
