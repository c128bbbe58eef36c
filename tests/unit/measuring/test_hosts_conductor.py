"""Pairs of hosts, and all together, under a conductor whose ranks die, hang and are left out on command:
every group gets one record, and the host to blame is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.measuring.conduct.journal import Journal
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.conduct.rank_faults import ProcessFault, host_among
from byteways.measuring.hosts import job as jobs
from byteways.measuring.hosts.conductor import HostsConductor
from byteways.measuring.hosts.facts import version
from byteways.measuring.hosts.job import HostsJob
from byteways.measuring.hosts.launchers import HostsLauncher
from byteways.measuring.hosts.reach import HostSearch
from byteways.measuring.shared.launchers import Launcher
from byteways.plan.hosts.names import Host
from byteways.plan.hosts.plan import HostsPlan, make_hosts_plan
from byteways.plan.hosts.rule import Meetings, PairRule
from byteways.record.blame import FailureBlame
from byteways.record.record import Record
from tests.unit import planning

HOSTS = tuple(Host(f"n{number}") for number in range(6))
SUITE = 'interface = "mpi-ping-pong"\nsource = "cpu*:pageable"\ndestination = "cpu*:pageable"\nsize = "8B"'
ALLREDUCE = SUITE.replace("mpi-ping-pong", "mpi") + '\npattern = "allreduce"'
OUTCOME: dict[str, Any] = {
    "status": "measured",
    "reason": None,
    "time_ns": {"median": 9.0, "ci95": [8.0, 9.5], "min": 8.0, "max": 9.5, "mean": 9.0, "sd": 0.5, "n": 7},
    "latency_ns": 9.0,
    "half_round_trip_ns": 4.5,
    "counts": "round-trip",
    "samples_ns": [9.0] * 7,
    "warnings": [],
}
#: What happens to a request: receives the groups' names, and returns the indices of those without an answer.
Fate = Callable[[list[tuple[str, ...]]], set[int]]


class Ranks:
    """A WorkerProcess that answers at once, or as `fate` says."""

    fate: Fate = staticmethod(lambda pairs: set())
    facts: Mapping[str, Mapping[str, Any]] = {}
    states: Mapping[tuple[str, int], str] = {}  # as the hosts tell them
    started: list[list[str]] = []  # noqa: RUF012 - reset by the fixture
    per_host = 1
    devices: Mapping[int, str] = {}

    def __init__(
        self,
        log: Path,
        environment: object,
        command: list[str],
        tick: object,
        hello_s: float,
        look_elsewhere: Callable[[list[dict[str, Any]]], ProcessFault],
    ) -> None:
        self.look_elsewhere = lambda: look_elsewhere(ranks)
        self.hosts = [host for host in command[-1].split(",") for _ in range(Ranks.per_host)]
        Ranks.started.append(self.hosts)
        if "n5" in self.hosts and {"unreachable", "not tried"} & {*Ranks.facts.get("n5", {})}:
            raise WorkerLost("worker ended by exit status 255")
        ranks: list[dict[str, Any]] = [
            {
                "host": host,
                "pid": 100,
                "byteways": version(),
                "boot_id": host,
                "cores": [0, 1],
                **Ranks.facts.get(host, {}),
            }
            for host in self.hosts
        ]
        self.ranks = ranks
        self.hello = {"speaker": 0, "ranks": ranks}

    def ask(self, request: Mapping[str, Any], timeout_s: float, devices: Mapping[int, str]) -> dict[str, Any]:
        Ranks.devices = devices
        for number, rank in enumerate(self.ranks):
            rank["device"] = devices.get(number)
        pairs = [tuple(request["hosts"][rank] for rank in group) for group in request["groups"]]
        silent = Ranks.fate(pairs)
        outcomes = [None if at in silent else dict(OUTCOME) for at in range(len(pairs))]
        return {"did": "measure", "outcomes": outcomes}

    def kill(self) -> bool:
        return True

    def stop(self) -> None: ...


class Seen:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.rounds: list[Meetings] = []

    def meets(self, met: Meetings) -> None:
        self.rounds.append(met)

    def ended(self, record: Record) -> None:
        self.records.append(record)

    def tick(self) -> None: ...


@pytest.fixture(autouse=True)
def ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the ranks, and finds n5 unreachable where a test says so."""
    Ranks.fate, Ranks.facts, Ranks.started = staticmethod(lambda pairs: set()), {}, []
    Ranks.per_host, Ranks.states = 1, {}
    monkeypatch.setattr(jobs, "WorkerProcess", Ranks)
    monkeypatch.setattr(jobs, "states_on", lambda launcher, hosts, tick: Ranks.states)

    def search(launcher: object, hosts: list[str], tick: object) -> HostSearch:
        lost = [host for host in hosts if Ranks.facts.get(host, {}).get("unreachable")]
        untried = [host for host in hosts if Ranks.facts.get(host, {}).get("not tried")]
        return HostSearch(dict.fromkeys(lost, "no program starts there: No route to host"), tuple(untried))

    monkeypatch.setattr(jobs, "search", search)


def plan(
    *sweeps: str, hosts: tuple[Host, ...] = HOSTS, rounds: int = 1, ranks_per_host: int = 1
) -> HostsPlan:
    suite = planning.suite(*(sweeps or (SUITE,)), head=f"rounds = {rounds}")
    return make_hosts_plan(suite, hosts, PairRule(), *planning.two_cores, ranks_per_host=ranks_per_host)


def measured(
    tmp_path: Path, of: HostsPlan, done: set[tuple[str, int]] | None = None
) -> tuple[Seen, list[str]]:
    seen, said = Seen(), []
    launcher = HostsLauncher(Launcher("test", ("launch", "{hosts}")), of.ranks_per_host)
    launcher_command = lambda self, hosts, file: ["launch", ",".join(hosts)]  # noqa: E731
    with Journal(tmp_path) as journal, pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostsLauncher, "command", launcher_command)
        job = HostsJob(tmp_path, [host.name for host in of.hosts], launcher, said.append, lambda: None)
        HostsConductor(journal, of, job, 7, seen, done or set()).run()
    return seen, said


def keys(seen: Seen) -> Counter[tuple[str, int]]:
    return Counter((record.case_id, record.round) for record in seen.records)


def test_every_pair_and_round_gets_one_record(tmp_path: Path) -> None:
    """Catches a pair without a record, and rounds in which a host has two partners."""
    seen, said = measured(tmp_path, plan(rounds=3))
    assert len(seen.records) == 3 * 15 and set(keys(seen).values()) == {1} and not said
    assert {record.status for record in seen.records} == {"measured"}
    assert len(seen.rounds) == 3 * 5 and len(Ranks.started) == 1
    told = seen.records[0].tournament
    assert told is not None and (told["rounds"], told["pairs_at_once"]) == (5, 3)


def test_a_named_host_costs_its_pair_and_the_others_measure_again(tmp_path: Path) -> None:
    """Catches records of healthy pairs that are lost with the ranks, and a host that is left out at once."""
    deaths = iter([True])

    def fate(pairs: list[tuple[str, ...]]) -> set[int]:
        if next(deaths, False):
            raise WorkerLost("rank 3 (process 77 on n3) ended first", blame=FailureBlame(rank=3, host="n3"))
        return set()

    Ranks.fate = staticmethod(fate)
    seen, said = measured(tmp_path, plan())
    lost = [record for record in seen.records if record.status == "lost"]
    assert len(lost) == 1 and "n3" in lost[0].path
    assert lost[0].blame is not None and lost[0].blame.host == "n3" and lost[0].blame.rank in (0, 1)
    assert len(seen.records) == 15 and set(keys(seen).values()) == {1} and not said
    assert len(Ranks.started) == 2


def test_a_host_that_is_lost_again_is_left_out(tmp_path: Path) -> None:
    """Catches a broken host that costs a start of all ranks in each round."""

    def fate(pairs: list[tuple[str, ...]]) -> set[int]:
        if any("n3" in pair for pair in pairs):
            raise WorkerLost("it ended first", blame=FailureBlame(host="n3.site.org"))
        return set()

    Ranks.fate = staticmethod(fate)
    seen, said = measured(tmp_path, plan())
    statuses = Counter(record.status for record in seen.records)
    assert statuses == {"measured": 10, "lost": 2, "skipped": 3}
    assert all("n3" in record.path for record in seen.records if record.status != "measured")
    assert len(said) == 1 and said[0].startswith("host n3 is excluded: its ranks were lost 2 times")
    assert Ranks.started[-1] == ["n0", "n1", "n2", "n4", "n5"]


def test_a_pair_that_hangs_is_named_by_the_others(tmp_path: Path) -> None:
    """Catches a hanging host whose partners are left out with it, though they answer elsewhere."""
    Ranks.fate = staticmethod(lambda pairs: {at for at, pair in enumerate(pairs) if "n2" in pair})
    seen, said = measured(tmp_path, plan())
    statuses = Counter(record.status for record in seen.records)
    assert statuses == {"measured": 10, "timeout": 2, "skipped": 3}
    assert len(said) == 1 and said[0].startswith("host n2 is excluded")


def test_ranks_that_do_not_answer_at_all_blame_the_pair_of_the_speaker(tmp_path: Path) -> None:
    """Catches a timeout for which healthy pairs pay: only its own pair holds the rank that speaks for all."""
    hangs = iter([True])

    def fate(pairs: list[tuple[str, ...]]) -> set[int]:
        if next(hangs, False):
            raise WorkerLost("no answer within 40 s", "timeout")
        return set()

    Ranks.fate = staticmethod(fate)
    seen, _ = measured(tmp_path, plan())
    late = [record for record in seen.records if record.status == "timeout"]
    assert len(late) == 1 and "n0" in late[0].path and len(seen.records) == 15


def test_a_loss_that_nobody_explains_is_tried_once_more(tmp_path: Path) -> None:
    """Catches a run that starts ranks for ever, and one that gives up at the first loss."""

    def fate(pairs: list[tuple[str, ...]]) -> set[int]:
        raise WorkerLost("worker ended by exit status 1")

    Ranks.fate = staticmethod(fate)
    with pytest.raises(BytewaysError, match="fewer than two hosts are left"):
        measured(tmp_path, plan())
    assert len(Ranks.started) == 4  # two for each of two rounds, after which all hosts were lost twice


@pytest.mark.parametrize("fact", ["not tried", "reached"])
def test_hosts_that_were_not_tried_are_not_called_reachable(tmp_path: Path, fact: str) -> None:
    """Catches an error that calls hosts reachable though the search had no start left for them, and
    untried hosts that are left out as if they had failed.
    """
    Ranks.facts = {"n5": {"not tried": True}}
    if fact == "not tried":
        Ranks.facts["n4"] = {"not tried": True}
    with pytest.MonkeyPatch.context() as patch:
        if fact == "reached":
            patch.setattr(jobs, "search", lambda launcher, hosts, tick: HostSearch({}))
        with pytest.raises(BytewaysError) as error:
            measured(tmp_path, plan())
    assert ("can be reached" in error.value.what) == (fact == "reached")
    assert ("n4, n5" in error.value.what) == (fact == "not tried")
    assert [len(hosts) for hosts in Ranks.started] == [6, 6]


def test_unreachable_and_mixed_version_hosts_are_left_out(tmp_path: Path) -> None:
    """Catches a run that one host can prevent, and results of two versions in one run."""
    Ranks.facts = {"n5": {"unreachable": True}, "n1": {"byteways": "0.1 (abc)"}}
    seen, said = measured(tmp_path, plan())
    assert said == [
        "host n5 is excluded: no program starts there: No route to host",
        f"host n1 is excluded: byteways 0.1 (abc) there, {version()} where it was started",
    ]
    statuses = Counter(record.status for record in seen.records)
    assert statuses == {"measured": 6, "skipped": 9}
    reasons = {record.reason for record in seen.records if record.status == "skipped"}
    assert len(reasons) == 2 and all("was excluded: " in (reason or "") for reason in reasons)


def test_only_what_is_missing_is_measured_again(tmp_path: Path) -> None:
    """Catches a resumed run with records twice."""
    seen, _ = measured(tmp_path, plan(rounds=2))
    done = set(list(keys(seen))[:11])
    folder = tmp_path / "again"
    folder.mkdir()
    again, _ = measured(folder, plan(rounds=2), done)
    assert set(keys(again)) == set(keys(seen)) - done and len(again.records) == 30 - 11


def test_all_hosts_meet_after_the_tournament(tmp_path: Path) -> None:
    """Catches collectives of pairs, and ones that share the network with them."""
    seen, _ = measured(tmp_path, plan(SUITE, ALLREDUCE, rounds=2))
    assert len(seen.records) == 2 * (15 + 1) and set(keys(seen).values()) == {1}
    assert [len(met.groups[0]) for met in seen.rounds] == [2, 2, 2, 2, 2, 6] * 2
    together = [record for record in seen.records if record.pattern == "allreduce"]
    assert {record.path for record in together} == {"allreduce:n[0-5]:cpu0"}
    assert all(record.tournament is None for record in together) and len(Ranks.started) == 1


def test_the_others_take_on_a_collective_of_a_host_that_is_left_out(tmp_path: Path) -> None:
    """Catches one host that costs the collectives of all, and results of fewer hosts that pass for all."""

    def fate(groups: list[tuple[str, ...]]) -> set[int]:
        if any("n3" in group for group in groups):
            raise WorkerLost("it ended first", blame=FailureBlame(rank=3, host="n3"))
        return set()

    Ranks.fate = staticmethod(fate)
    of = plan(ALLREDUCE, ALLREDUCE.replace("8B", "16B"), ALLREDUCE.replace("8B", "24B"))
    seen, said = measured(tmp_path, of)
    assert [record.status for record in seen.records] == ["lost", "lost", "skipped", "measured"]
    assert seen.records[-1].path == "allreduce:n[0-2]:cpu0,n4:cpu0,n5:cpu0"
    assert seen.records[-1].size_bytes == seen.records[-2].size_bytes
    assert "host n3 was excluded: its ranks were lost 2 times" in (seen.records[-2].reason or "")
    assert len(said) == 1


def test_a_stopped_rank_of_a_pair_is_named(tmp_path: Path) -> None:
    """Catches a partner that is left out with a host whose ranks are stopped."""
    Ranks.states = {(f"n{number}", 100): "T" if number == 2 else "S" for number in range(6)}
    Ranks.fate = staticmethod(lambda pairs: {at for at, pair in enumerate(pairs) if "n2" in pair})
    seen, said = measured(tmp_path, plan())
    statuses = Counter(record.status for record in seen.records)
    assert statuses == {"measured": 10, "lost": 2, "skipped": 3}
    reasons = {record.reason for record in seen.records if record.status == "lost"}
    assert all((reason or "").endswith("rank 2 (cpu0, process 100 on n2) is stopped") for reason in reasons)
    assert len(said) == 1 and said[0].startswith("host n2 is excluded")


def test_a_stopped_rank_is_named_while_all_measure_together(tmp_path: Path) -> None:
    """Catches a collective that one host holds up again and again, and a host that nobody names."""

    def fate(groups: list[tuple[str, ...]]) -> set[int]:
        return {0} if "n4" in groups[0] else set()

    Ranks.states, Ranks.fate = {("n4", 100): "T"}, staticmethod(fate)
    of = plan(ALLREDUCE, ALLREDUCE.replace("8B", "16B"), ALLREDUCE.replace("8B", "24B"))
    seen, said = measured(tmp_path, of)
    assert [record.status for record in seen.records] == ["lost", "lost", "skipped", "measured"]
    assert (seen.records[0].reason or "").endswith("; rank 4 (cpu0, process 100 on n4) is stopped")
    assert seen.records[-1].path == "allreduce:n[0-3]:cpu0,n5:cpu0"
    assert len(said) == 1 and said[0].startswith("host n4 is excluded: its ranks were lost 2 times")


def test_losses_of_all_together_leave_no_host_out(tmp_path: Path) -> None:
    """Catches a collective that fails everywhere and takes the pairs of all hosts with it, and one that loses
    the ranks for ever.
    """

    def fate(groups: list[tuple[str, ...]]) -> set[int]:
        if len(groups[0]) > 2:
            raise WorkerLost("worker ended by exit status 1")
        return set()

    Ranks.fate = staticmethod(fate)
    seen, said = measured(tmp_path, plan(SUITE, ALLREDUCE, rounds=5))
    statuses = Counter(record.status for record in seen.records)
    assert statuses == {"measured": 5 * 15, "lost": 3, "skipped": 2} and not said
    reasons = {record.reason for record in seen.records if record.status == "skipped"}
    assert reasons == {
        "the ranks of all hosts together were lost 3 times, the last time: worker ended by exit status 1"
    }


def test_several_ranks_of_each_host_measure_together(tmp_path: Path) -> None:
    """Catches collectives of one rank on each host, and messages that other ranks of a host join."""
    asked: list[list[tuple[str, ...]]] = []
    Ranks.per_host, Ranks.fate = 2, staticmethod(lambda groups: asked.append(groups) or set())
    of = plan(SUITE, ALLREDUCE, hosts=HOSTS[:2], ranks_per_host=2)
    seen, _ = measured(tmp_path, of)
    assert [record.path for record in seen.records] == [
        "n0:cpu0>n1:cpu0",
        "allreduce:n0:0-1/cpu0,n1:0-1/cpu0",
    ]
    assert asked == [[("n0", "n1")], [("n0", "n0", "n1", "n1")]]
    assert Ranks.devices == dict.fromkeys(range(4), "cpu0")


def test_as_many_ranks_as_asked_for_are_on_each_host(tmp_path: Path) -> None:
    """Catches a launcher that fills one host before the next, or starts fewer ranks."""
    Ranks.per_host = 3
    with pytest.raises(BytewaysError) as more:
        measured(tmp_path, plan(ALLREDUCE, hosts=HOSTS[:2], ranks_per_host=2))
    assert (more.value.cause or "").startswith("6 of 4 ranks started")
    Ranks.per_host, Ranks.facts = 2, {"n1": {"host": "n0"}}
    with pytest.raises(BytewaysError) as filled:
        measured(tmp_path, plan(ALLREDUCE, hosts=HOSTS[:2], ranks_per_host=2))
    assert filled.value.cause == "4 ranks run on n0: the launcher does not place 2 on each host"


def test_ranks_on_foreign_and_shared_hosts_are_refused(tmp_path: Path) -> None:
    """Catches a launcher that ignores the file of hosts."""
    Ranks.facts = {"n2": {"host": "login1"}}
    with pytest.raises(BytewaysError) as stranger:
        measured(tmp_path, plan())
    assert stranger.value.cause == "a rank runs on login1, which is not among the hosts"
    Ranks.facts = {"n2": {"host": "n1"}}
    with pytest.raises(BytewaysError) as twice:
        measured(tmp_path, plan())
    assert twice.value.cause == "2 ranks run on n1: the launcher does not place one on each host"


@pytest.mark.parametrize(
    ("blamed", "printed", "host"),
    [
        ("n3", "", "n3"),
        ("n3.site.org", "", "n3"),
        ("n3", "RUNNING AT n1", "n3"),
        (None, "=   PID 4711 RUNNING AT n1\n=   EXIT CODE: 9", "n1"),
        (None, "prterun noticed that process rank 2 with PID 4711 on node n2 exited on signal 9", "n2"),
        (None, "srun: error: n1: task 4: Killed", "n1"),
        ("elsewhere", "", None),
        (None, "exit status 1", None),
    ],
)
def test_hosts_in_a_launchers_words(blamed: str | None, printed: str, host: str | None) -> None:
    """Catches a loss whose host the launcher names and byteways does not read."""
    assert host_among(["n1", "n2", "n3"], FailureBlame(host=blamed), printed) == host
