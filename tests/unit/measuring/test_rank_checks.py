"""Ranks that cannot measure where the plan has them, and processes that no longer go on."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.machine.model import Topology
from byteways.measuring.conduct import rank_faults
from byteways.measuring.conduct.process import WorkerLost, WorkerProcess, process_state
from byteways.measuring.conduct.rank_checks import (
    CheckedRanks,
    check_ranks,
    doubts_about_ranks,
    gpus_of_ranks,
    wrong_places,
)
from byteways.measuring.conduct.rank_faults import (
    DEVICE_FIELD,
    EXECUTOR_FIELD,
    ProcessFault,
    ProcessWatch,
    blamed,
    blamed_for,
    culprits_of,
    with_place,
)
from byteways.measuring.shared.launchers import LOCAL, NO_LAUNCHER, Job, Launcher
from byteways.measuring.shared.rank_places import local_name, own_place
from byteways.measuring.work.local_ranks import first_ended
from byteways.plan.ranks import layout
from byteways.record.blame import FailureBlame
from tests.unit.plan.test_ranks import host

HERE = os.uname().nodename


def machine() -> Topology:
    topology = host(1, 4, 2)[0]
    named = [replace(device, uuid=f"GPU-{device.name}") for device in topology.devices]
    return replace(topology, devices=tuple(named))


@pytest.mark.parametrize(
    ("uuid", "here", "name"),
    [
        ("GPU-b", {"gpu0": "GPU-a", "gpu1": "GPU-b"}, "gpu1"),
        ("GPU-b", {"gpu0": "GPU-b", "gpu1": "GPU-a"}, "gpu0"),  # seen in another order
        ("GPU-b", {"gpu0": "GPU-b"}, "gpu0"),  # the rank sees its own only
        ("GPU-b", {"gpu0": "GPU-a", "gpu1": "GPU-c"}, None),
        ("", {"gpu0": "", "gpu1": ""}, "gpu1"),
        ("GPU-b", {"gpu0": "", "gpu1": ""}, "gpu1"),
        ("", {"gpu0": "GPU-a"}, None),
    ],
)
def test_gpus_are_known_by_their_uuid(uuid: str, here: Mapping[str, str], name: str | None) -> None:
    """Catches two ranks on one GPU where a launcher shows each of them other GPUs, or in another order."""
    assert local_name("gpu1", uuid, here) == name


@pytest.mark.parametrize(
    ("second", "what", "cause"),
    [
        ({"gpus": {"gpu0": "GPU-gpu1"}}, "", ""),
        ({"gpus": {"gpu0": "GPU-gpu0"}}, "rank 1 cannot use gpu1", "it sees gpu0 (GPU-gpu0), and not gpu1"),
        ({"gpus": {}}, "rank 1 cannot use gpu1", "it sees no GPU, and not gpu1 (GPU-gpu1)"),
        ({"gpus": {"gpu0": "GPU-gpu1"}, "allowed": [0, 1]}, "rank 1 may not use core 2", "limits it to 0, 1"),
    ],
)
def test_places_of_ranks(second: dict[str, Any], what: str, cause: str) -> None:
    """Catches a rank that would measure another GPU than the plan's, or wait for another's core."""
    first = {"gpus": {"gpu0": "GPU-gpu0", "gpu1": "GPU-gpu1"}}
    topology = machine()
    wrong = wrong_places([first, second], layout(topology, 2), {0: {"gpu0"}, 1: {"gpu1"}}, topology)
    assert (wrong.what if wrong else "") == what
    assert cause in ((wrong.cause or "") if wrong else "")
    assert wrong is None or wrong.hint


def planned(path: tuple[str, str], **changes: Any) -> PlannedCase:
    ends = [Buffer(device, "device", rank=rank) for rank, device in enumerate(path)]
    case = Case("mpi", "unidirectional", (Flow(ends[0], ends[1], path[0]),), 8, **changes)
    return PlannedCase(case, "s", 0, 0.1, 0.1)


def test_gpus_that_ranks_need() -> None:
    """Catches a check of GPUs that no rank uses, for which every rank would open its runtimes."""
    there = planned(("gpu0", "gpu1"))
    assert gpus_of_ranks([there, planned(("gpu1", "cpu0"))]) == {0: {"gpu0", "gpu1"}, 1: {"gpu1"}}
    threads = replace(there.case, interface="xccl", options={"launch": "thread"})
    assert gpus_of_ranks([replace(there, reason="no peer access"), replace(there, case=threads)]) == {}


def test_a_core_outside_of_the_control_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a rank that nobody binds, and a check that leaves the process bound."""
    before = os.sched_getaffinity(0)
    assert own_place({"gpu0": "GPU-a"}, sorted(before)) == {"gpus": {"gpu0": "GPU-a"}}
    assert own_place({}, []) == {"gpus": {}}
    assert os.sched_getaffinity(0) == before
    assert own_place({}, [4095]) == {"gpus": {}, "allowed": sorted(before)}


def test_simulated_ranks_are_not_started(tmp_path: Path) -> None:
    """Catches a launcher that a simulation needs."""
    check_ranks(Job(NO_LAUNCHER, 2), [], machine(), tmp_path / "log", lambda: None)


def test_ranks_are_kept_if_they_measure_first() -> None:
    """Catches ranks that start twice, others' variables in a case, and ranks that idle through a run."""
    did: list[str] = []
    ranks: Any = SimpleNamespace(stop=lambda: did.append("stop"), kill=lambda: did.append("kill"))
    checked = CheckedRanks(ranks)
    there, alone = planned(("gpu0", "gpu1")), planned(("gpu0", "gpu1"), environment={"A": "1"})
    threads = replace(there, case=replace(there.case, interface="xccl", options={"launch": "thread"}))
    assert checked.kept_for([replace(alone, reason="no time"), there]) is ranks and did == []
    assert checked.kept_for([alone, there]) is None and checked.kept_for([threads, there]) is None
    assert did == ["stop"] * 2
    checked.kill()
    CheckedRanks().kill()
    assert CheckedRanks().kept_for([there]) is None and did[2:] == ["kill"]


def test_ranks_that_do_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback where a launcher fails, and a message that does not tell its line."""
    (tmp_path / "mpiexec").write_text("#!/bin/sh\necho 'no such host' >&2\nexit 5\n")
    (tmp_path / "mpiexec").chmod(0o755)
    job = Job(Launcher("x", (str(tmp_path / "mpiexec"), "-n", "{ranks}")), 2)
    with pytest.raises(BytewaysError) as told:
        check_ranks(job, [], machine(), tmp_path / "log", lambda: None)
    assert told.value.what == f"the 2 ranks did not start: {tmp_path}/mpiexec -n 2 …"
    assert "exit status 5" in (told.value.cause or "") and "no such host" in (told.value.cause or "")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("state", "word"),
    [("T", "stopped"), ("t", "stopped"), ("Z", "gone"), (None, "gone"), ("S", ""), ("D", "")],
)
def test_a_rank_that_does_not_go_on(state: str | None, word: str) -> None:
    """Catches a stopped rank that costs the whole limit of its case, and one that is accused in passing."""
    clock = Clock()
    ranks = [
        {"host": HERE, "pid": 10, "device": "gpu0"},
        {"host": HERE, "pid": 11, "device": "gpu1"},
        {"host": "elsewhere", "pid": 12},
    ]
    states: dict[int, str | None] = {10: "R", 11: state, 12: "T"}
    watch = ProcessWatch(ranks, states.__getitem__, clock)
    assert not watch.verdict()
    clock.now = rank_faults.STOPPED_S - 1
    assert not watch.verdict()
    states[11] = "S"  # it goes on, so the time begins anew
    clock.now += 1
    assert not watch.verdict()
    states[11] = state
    clock.now += 1
    assert not watch.verdict()
    clock.now += rank_faults.STOPPED_S
    found = watch.verdict()
    assert found.words == (f"rank 1 (gpu1, process 11 on {HERE}) is {word}" if word else "")
    assert found.blame == (FailureBlame(rank=1, host=HERE) if word else None)


def test_a_worker_alone_has_no_rank() -> None:
    """Catches a worker that is called rank 0."""
    clock = Clock()
    watch = ProcessWatch([{"host": HERE, "pid": 10}], lambda _: "T", clock)
    watch.verdict()
    clock.now = rank_faults.STOPPED_S
    assert watch.verdict() == ProcessFault("the worker (process 10) is stopped")


def test_the_ranks_are_not_looked_at_all_the_time() -> None:
    """Catches a conductor that reads a file for each of many ranks in every tick."""
    clock, looks = Clock(), []
    watch = ProcessWatch([{"host": HERE, "pid": 10}], lambda pid: str(looks.append(pid)), clock)
    for _ in range(100):
        watch.verdict()
    assert len(looks) == 1


@pytest.mark.parametrize(
    ("ranks", "asked", "doubts"),
    [
        (2, None, []),
        (2, 4, ["4 ranks and 2 GPUs: ranks without a GPU take no part in cases between GPUs"]),
        (
            6,
            6,
            [
                "6 ranks share 4 cores: results also measure the scheduler and carry the warning "
                "'oversubscribed'",
                "6 ranks and 2 GPUs: ranks without a GPU take no part in cases between GPUs",
            ],
        ),
    ],
)
def test_what_is_told_of_too_many_ranks(ranks: int, asked: int | None, doubts: list[str]) -> None:
    """Catches ranks without a core or a GPU of which nobody hears before the run."""
    job = Job(Launcher("x", ("mpiexec", "-n", "{ranks}")), ranks)
    assert doubts_about_ranks(job, [planned(("gpu0", "gpu1"))], machine(), asked) == doubts
    simulated = doubts_about_ranks(Job(NO_LAUNCHER, ranks), [planned(("cpu0", "cpu0"))], machine(), asked)
    assert simulated == []


def test_the_line_of_a_dry_run_is_the_one_that_starts_the_ranks() -> None:
    """Catches a line without its variables, or that a shell would take apart otherwise."""
    launcher = Launcher("x", ("mpi exec", "-n", "{ranks}"), {"B": "1", "A": "x y"}, ("--more",), {"C": "2"})
    few, many = Job(launcher, 1), Job(launcher, 4096)
    assert few.line().startswith("A='x y' B=1 'mpi exec' -n 1 ")
    assert many.line().startswith("A='x y' B=1 C=2 'mpi exec' -n 4096 --more ")
    assert few.line().endswith("byteways.measuring.work.rank_worker --ranks 1")
    assert shlex.split(few.line())[2:] == few.command()[few.command().index("--") + 1 :]


@pytest.mark.parametrize(
    ("blame", "culprit"),
    [
        (FailureBlame(rank=1), "gpu1"),
        (FailureBlame(device="gpu1"), "gpu1"),
        (FailureBlame(rank=7), "gpu0 and gpu1"),
        (None, "gpu0 and gpu1"),
    ],
)
def test_a_loss_between_ranks_counts_against_the_device_at_fault(
    blame: FailureBlame | None, culprit: str
) -> None:
    """Catches the first rank's GPU given up for another one that was lost."""
    case = planned(("gpu0", "gpu1")).case
    assert blamed_for(case, blame) == (DEVICE_FIELD, culprit)
    assert (DEVICE_FIELD, culprit) in [*culprits_of(case)]


@pytest.mark.parametrize(
    ("executors", "device", "culprit"),
    [
        (["gpu0"], None, (EXECUTOR_FIELD, "gpu0")),
        (["gpu0"], "gpu0", (EXECUTOR_FIELD, "gpu0")),
        (["gpu0"], "gpu1", (DEVICE_FIELD, "gpu1")),
        (["gpu0"], "gpu7", (EXECUTOR_FIELD, "gpu0")),
        (["gpu0", "gpu1"], None, (EXECUTOR_FIELD, "gpu0 and gpu1")),
        (["gpu0", "gpu1"], "gpu1", (EXECUTOR_FIELD, "gpu1")),
    ],
)
def test_a_loss_within_a_process(executors: list[str], device: str | None, culprit: tuple[str, str]) -> None:
    """Catches GPUs given up because they read from one that was lost, or ran beside one that hangs."""
    ends = Buffer("gpu0", "device"), Buffer("gpu1", "device")
    case = Case("copy", "bidirectional", tuple(Flow(*ends, name) for name in executors), 1024)
    assert blamed_for(case, FailureBlame(device)) == culprit
    assert culprit in [*culprits_of(case)]
    alone = Case("copy", "unidirectional", (Flow(ends[0], ends[0], "gpu0"),), 1024)
    spared = culprit in ((DEVICE_FIELD, "gpu1"), (EXECUTOR_FIELD, "gpu1"), (EXECUTOR_FIELD, "gpu0 and gpu1"))
    assert (culprit in [*culprits_of(alone)]) != spared


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("=   PID 4711 RUNNING AT node7\n", "; rank 1 (process 4711 on node7) ended first"),
        ("=   PID 12 RUNNING AT node7\n", "; process 12 on node7 ended first"),
        (
            "process rank 0 with PID 0 on node node7 exited on signal 9",
            "; rank 0 (process 4710 on node7) ended",
        ),
        ("process rank 2 with PID 0 on node node7 exited on signal 9", "; rank 2 ended first"),
        (
            "srun: error: node7: task 0: Terminated\nsrun: error: node7: task 1: Killed",
            "; rank 1 (process 4711 on node7) ended first",
        ),
        ("srun: error: node7: tasks 0-1: Killed", ""),
        ("", ""),
    ],
)
def test_what_a_launcher_says_of_a_rank(printed: str, said: str) -> None:
    """Catches a rank that ends before it has told its number and that nobody names."""
    ranks = [{"host": "node7", "pid": 4710 + rank} for rank in range(2)]
    found = str(blamed(ranks, lambda _: "S", printed))
    assert found.startswith(said) and bool(found) == bool(said)


@pytest.mark.parametrize(
    ("blame", "said"),
    [
        ({"rank": 1}, "no kernel; it was rank 1 (gpu1, process 22 on far)"),
        ({"rank": 0, "device": "gpu0"}, "no kernel; it was rank 0 (process 11 on near)"),
        ({"rank": 7}, "no kernel"),
        ({}, "no kernel"),
        (None, "no kernel"),
    ],
)
def test_a_rank_that_fails_is_named_with_its_place(blame: dict[str, Any] | None, said: str) -> None:
    """Catches a failure on one of many hosts that says neither host nor device."""
    ranks = [{"host": "near", "pid": 11, "device": None}, {"host": "far", "pid": 22, "device": "gpu1"}]
    outcome = {"status": "failed", "reason": "no kernel", "blame": blame}
    with_place(outcome, ranks)
    assert outcome["reason"] == said


def test_the_rank_that_a_signal_ended_is_named() -> None:
    """Catches a rank blamed that failed because another was killed, where both have ended meanwhile."""
    ranks = [subprocess.Popen(["/bin/sh", "-c", words]) for words in ("exit 1", "kill -9 $$")]
    for rank in ranks:
        os.waitid(os.P_PID, rank.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is not reaped
    assert first_ended(ranks) is ranks[1]
    assert [rank.wait() for rank in ranks] == [1, -signal.SIGKILL]


def test_local_ranks_start_and_tell_their_places(tmp_path: Path) -> None:
    """Catches ranks that need MPI though byteways starts them, and a lost one that is not named."""
    topology = host(1, 2)[0]
    cores = tuple(sorted(os.sched_getaffinity(0)))[:1]
    here = replace(topology, devices=(replace(topology.devices[0], cores=cores),))
    ranks = check_ranks(Job(LOCAL, 3), [], here, tmp_path / "log", lambda: None)
    assert ranks.libraries == () and ranks.worker is not None and len(ranks.worker.hello["ranks"]) == 3
    assert ranks.kept_for([]) is None  # nothing is measured
    assert process_state(ranks.worker.pid) in (None, "Z")
    worker = WorkerProcess(tmp_path / "log", {}, Job(LOCAL, 2).command())
    try:
        assert "mpi" not in worker.hello and len(worker.hello["ranks"]) == 2
        os.kill(worker.hello["ranks"][1]["pid"], signal.SIGKILL)
        with pytest.raises(WorkerLost, match=r"; rank 1 \(process \d+ on .*\) ended first"):
            worker.ask({"do": "places", "cores": [[], []], "gpus": False}, 60)
    finally:
        worker.kill()
