"""What the conductor asks of workers, which worker it asks, and when it gives a device up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.cases.reasons import CLOCK_WRONG, NO_ANSWER, OUT_OF_TIME
from byteways.machine.model import Device, Topology
from byteways.measuring.conduct import conductor
from byteways.measuring.conduct.conductor import Conductor, deadline_s
from byteways.measuring.conduct.losses import LOSSES_TO_GIVE_UP
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.shared.launchers import Job, Launcher
from byteways.measuring.shared.request import key_of
from byteways.measuring.shared.worker_clock import ClockDoubt
from tests.changed import replace

HOST = "cpu0:pageable"

TOPOLOGY = Topology(
    "host",
    (Device("cpu0", "cpu", "a CPU", cores=(0, 1)), Device("gpu0", "gpu", "a GPU", uuid="GPU-0")),
)


def planned(interface: str = "memcpy", executor: str = "cpu0", **more: Any) -> PlannedCase:
    end = Buffer("cpu0", "pageable")
    case = Case(
        interface,
        "unidirectional",
        (Flow(end, end, executor),),
        more.pop("size", 4096),
        environment=more.pop("environment", {}),
    )
    given = {"round": 0, "budget_s": 0.1, "precision": 0.02, "estimated_s": 1.0, "rounds": 3, **more}
    return PlannedCase(case, "sweep", **given)


class Workers:
    """Every worker that is started, with what it was asked; `answers` says what they answer."""

    def __init__(self) -> None:
        self.started: list[tuple[Any, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.deadlines: list[float] = []
        self.did: list[str] = []
        self.answers: Any = lambda request: {"status": "failed", "reason": "as told"}

    def start(self, log: Path, environment: Any, command: Any, tick: Any) -> Any:
        number = len(self.started)
        self.started.append((dict(environment), command))
        if number:
            self.did.append(f"start {number}")

        def ask(
            request: dict[str, Any], timeout_s: float, devices: dict[int, str] | None = None
        ) -> dict[str, Any]:
            self.asked.append(request)
            self.deadlines.append(timeout_s)
            outcome = self.answers(request)
            if isinstance(outcome, Exception):
                raise outcome
            leaving = outcome.pop("leaving", None)
            return {"outcome": outcome, **({"leaving": True} if leaving else {})}

        def note(what: str) -> Any:
            return lambda: self.did.append(f"{what} {number}")

        return SimpleNamespace(
            pid=100 + number, ask=ask, kill=note("kill"), stop=note("stop"), dismiss=note("dismiss"),
            kill_at_once=note("kill at once"), hello={},
        )  # fmt: skip


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    made = Workers()
    monkeypatch.setattr(conductor, "WorkerProcess", made.start)
    monkeypatch.setattr(conductor, "worker_command", lambda: ["worker"])
    return made


def run(
    *cases: PlannedCase, run_until: float | None = None, keep: bool = False, **more: Any
) -> tuple[Any, list[Any]]:
    """The conductor after it measured the cases, and the records of its journal."""
    records: list[Any] = []
    journal: Any = SimpleNamespace(folder=Path("/runs/a"), add=lambda entry: records.append(entry.record))
    observer: Any = SimpleNamespace(began=lambda *_: None, ended=lambda _: None, tick=None)
    made = Conductor(journal, TOPOLOGY, 9, observer, deadline=lambda one, first: 30.0 + first, **more)
    made.run(cases, until=run_until, keep_worker=keep)
    return made, records


def test_what_is_asked(workers: Workers) -> None:
    """Catches a case measured with another case's budget or noise, and a round that is not begun anew."""
    first, second = planned(), planned("load", budget_s=0.2)
    third = replace(first, round=1)
    _, records = run(first, second, third)
    asked = workers.asked
    assert [one["case"] for one in asked] == [one.case.identity() for one in (first, second, third)]
    assert [one["fresh"] for one in asked] == [False, False, True]
    assert [one["budget_s"] for one in asked] == [0.1, 0.2, 0.1]
    assert [one["key"] for one in asked] == [key_of(one) for one in (first, second, third)]
    assert {(one["do"], one["precision"], one["rounds"]) for one in asked} == {("measure", 0.02, 3)}
    assert not asked[0]["uuids"] and not asked[0]["cores"]
    assert workers.deadlines == [31.0, 30.0, 30.0]
    assert workers.started == [({}, None)]
    assert workers.did == ["dismiss 0"]
    assert [(one.status, one.reason, one.method_version, one.worker) for one in records] == [
        ("failed", "as told", 9, 100)
    ] * 3
    assert all(one.started_at.startswith("20") and one.wall_s >= 0 for one in records)


def test_a_case_timed_by_a_wrong_clock_fails(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches figures of a clock at half speed, and a case that is lost with a worker asked for it."""
    clock = iter(range(0, 10**12, 10**9))
    monkeypatch.setattr("byteways.measuring.conduct.clock_watch.ClockWatch.begin", lambda watch: None)
    doubts: list[Any] = [None, ClockDoubt(1.0, 2.0, 2.0), WorkerLost("it is gone"), None]

    def doubt(watch: Any) -> Any:
        found = doubts.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("byteways.measuring.conduct.clock_watch.ClockWatch.doubt", doubt)
    good = {"status": "measured", "reason": None, "bandwidth_bytes_per_s": 1e9, "verified": True}
    workers.answers = lambda request: {**good, "host_ns": float(next(clock))}
    _, records = run(planned(), planned("load"), planned("store"), planned("memset"))
    assert [one.status for one in records[:3]] == ["measured", "failed", "measured"]
    assert (records[1].reason_code, records[1].bandwidth_bytes_per_s) == (CLOCK_WRONG, None)
    assert records[1].reason_fields == {"worker_s": 1.0, "least_s": 2.0, "most_s": 2.0}
    assert len(workers.started) == 2


def test_keys_are_of_the_case_and_its_round() -> None:
    """Catches noise or patterns that depend on what was measured before, and a key that JSON rounds."""
    keys = {key_of(one) for one in (planned(), planned(round=1), planned("load"), planned(budget_s=9.0))}
    assert len(keys) == 3 and all(key < 1 << 40 for key in keys)
    assert max(key_of(planned(round=number)) for number in range(40)) >> 35


@pytest.mark.parametrize(
    ("cases", "started", "did"),
    [
        (
            (planned(), planned("torch-copy", "gpu0"), planned()),
            [({}, None), ({}, ["worker", "--kind", "torch"]), ({}, None)],
            ["dismiss 0", "start 1", "stop 0", "dismiss 1", "start 2", "stop 1", "dismiss 2"],
        ),
        (
            (planned(environment={"A": "1"}), planned("load", environment={"A": "1"}), planned()),
            [({"A": "1"}, None), ({}, None)],
            ["dismiss 0", "start 1", "stop 0", "dismiss 1"],
        ),
        (
            (planned(environment={"A": "1"}), planned(environment={"A": "2"})),
            [({"A": "1"}, None), ({"A": "2"}, None)],
            ["dismiss 0", "start 1", "stop 0", "dismiss 1"],
        ),
    ],
)
def test_a_worker_for_each_kind_and_environment(
    cases: tuple[PlannedCase, ...], started: list[Any], did: list[str], workers: Workers
) -> None:
    """Catches a case measured with the variables of another, a process for each case, and a process that
    starts only after its predecessor has exited.
    """
    run(*cases)
    assert workers.started == started and workers.did == did


def test_identities_of_gpus_are_for_torch(workers: Workers) -> None:
    """Catches a GPU without its identity, by which PyTorch finds it."""
    run(planned("torch-copy", "gpu0"))
    assert workers.asked[0]["uuids"] == {"gpu0": "GPU-0"}


def test_a_given_command_is_used(workers: Workers) -> None:
    """Catches a simulated run whose further workers measure this machine."""
    run(planned(), planned("torch-copy", "gpu0"), command=["mine", "--machine", "m"])
    assert workers.started == [
        ({}, ["mine", "--machine", "m"]),
        ({}, ["mine", "--machine", "m", "--kind", "torch"]),
    ]


def test_a_device_that_costs_workers_is_given_up(workers: Workers) -> None:
    """Catches a deadline for each case of a broken device, and devices or settings given up with it."""
    workers.answers = lambda request: WorkerLost("it died", "timeout")
    lost = [planned("copy", "gpu0", size=4096 << number) for number in range(LOSSES_TO_GIVE_UP)]
    set_ = planned("copy", "gpu0", round=8, environment={"A": "1"})
    _, records = run(*lost, planned("copy", "gpu0", size=2**30), set_)
    told = [(one.status, one.reason) for one in records]
    where = "cpu0>cpu0 by copy of pageable memory"
    reason = f"{LOSSES_TO_GIVE_UP} workers were lost on {where}, the last one: it died"
    assert told == [("timeout", "it died")] * LOSSES_TO_GIVE_UP + [("skipped", reason)] * 2
    assert len(workers.started) == LOSSES_TO_GIVE_UP
    killed = [step for number in range(LOSSES_TO_GIVE_UP) for step in (f"start {number}", f"kill {number}")]
    assert workers.did == killed[1:]
    assert [one.worker for one in records] == [100, 101, 102, None, None]
    assert workers.deadlines == [31.0] * LOSSES_TO_GIVE_UP  # each is the first case of its worker


def test_settings_that_cost_workers_do_not_cost_the_device(workers: Workers) -> None:
    """Catches a device given up because of variables that crash it."""

    def answer(request: dict[str, Any]) -> Any:
        crashes = request["case"]["environment"]
        return WorkerLost("it died") if crashes else {"status": "failed", "reason": "as told"}

    workers.answers = answer
    lost = [
        planned("copy", "gpu0", round=number, environment={"B": "1", "A": "2"})
        for number in range(LOSSES_TO_GIVE_UP + 1)
    ]
    _, records = run(*lost, planned("copy", "gpu0"), planned())
    where = "cpu0>cpu0 by copy of pageable memory with A=2 B=1"
    reason = f"{LOSSES_TO_GIVE_UP} workers were lost on {where}, the last one: it died"
    assert [one.reason for one in records] == ["it died"] * LOSSES_TO_GIVE_UP + [reason, "as told", "as told"]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ({"status": "perfect"}, "worker sent an invalid outcome: status 'perfect'"),
        (
            {"status": "failed", "reason": "r", "colour": 1},
            "worker sent an invalid outcome: unknown field 'colour'",
        ),
    ],
)
def test_an_outcome_that_is_none(outcome: dict[str, Any], said: str, workers: Workers) -> None:
    """Catches a run that ends because of one answer."""
    workers.answers = lambda request: dict(outcome)
    _, (record,) = run(planned())
    assert (record.status, record.reason) == ("lost", said) and workers.did == ["kill 0"]


def test_a_worker_that_leaves_is_replaced(workers: Workers) -> None:
    """Catches a case asked of a process that has ended, and its figures thrown away."""
    workers.answers = lambda request: {"status": "failed", "reason": "ruined", "leaving": True}
    _, records = run(*(planned("copy", "gpu0", round=number) for number in range(LOSSES_TO_GIVE_UP + 1)))
    assert [one.reason for one in records[:-1]] == ["ruined"] * LOSSES_TO_GIVE_UP
    where = "cpu0>cpu0 by copy of pageable memory"
    assert records[-1].reason == f"{LOSSES_TO_GIVE_UP} workers were lost on {where}, the last one: ruined"


def test_a_worker_is_kept_for_another_call(workers: Workers) -> None:
    """Catches a new process for each round of a repeated suite, and one that stays after the run."""
    made, _ = run(planned(), keep=True)
    assert workers.did == []
    made.run([planned(round=1)])
    assert len(workers.started) == 1 and workers.did == ["dismiss 0"]
    made.kill_at_once()
    made.close()
    made.close()
    assert workers.did == ["dismiss 0", "kill at once 0", "stop 0"]


def test_ranks_that_run_already_measure(workers: Workers) -> None:
    """Catches ranks that start again after they were checked, or that take a case with variables, and a wait
    for the process that probed the machine.
    """
    job = Job(Launcher("test", ("mpiexec", "-n", "{ranks}")), 2)
    case = replace(planned("mpi").case, flows=(Flow(*[Buffer("cpu0", "pageable", rank=0)] * 2, "cpu0"),))
    between = replace(planned(), case=case)
    probing, ranks = workers.start(Path(), {}, None, None), workers.start(Path(), {}, None, None)
    run(between, replace(between, round=1), worker=probing, ranks=ranks, job=job)
    assert len(workers.started) == 2 and workers.did == ["start 1", "dismiss 0", "stop 0", "dismiss 1"]
    ranks = workers.start(Path(), {}, None, None)
    set_ = replace(between, case=replace(case, environment={"A": "1"}))
    made, _ = run(set_, ranks=ranks, job=job)
    assert workers.started[-1][0]["A"] == "1" and "stop 2" not in workers.did
    made.close()
    assert workers.did[-2:] == ["stop 3", "stop 2"]


def test_no_case_begins_after_the_time_is_over(workers: Workers) -> None:
    """Catches a run with a duration that goes on."""
    _, records = run(planned(), run_until=0.0)
    assert records == [] and workers.started == []


def test_cases_that_do_not_run_are_recorded(workers: Workers) -> None:
    """Catches a skipped case without a record, and a worker started for it."""
    _, records = run(
        planned(reason="no such memory", reason_code="reach"),
        planned(reason="no time", reason_code=OUT_OF_TIME, spare=True),
    )
    assert [(one.status, one.reason, one.reason_code) for one in records] == [
        ("skipped", "no such memory", "reach"),
        ("skipped", "no time", OUT_OF_TIME),
    ]
    assert workers.started == []


def test_nothing_begins_after_losses_took_the_budget(workers: Workers) -> None:
    """Catches a budget that several time limits overrun one after the other."""
    workers.answers = lambda request: WorkerLost("no answer within 22 s", "timeout")
    _, records = run(planned(), planned("load"), planned("store"), total_s=1e-9)
    assert [one.display_status for one in records] == ["timeout", "left out", "left out"]
    assert [one.reason_code for one in records] == [NO_ANSWER, OUT_OF_TIME, OUT_OF_TIME]
    _, records = run(planned(), planned("load"), total_s=1000.0)
    assert [one.display_status for one in records] == ["timeout", "timeout"]


def test_spare_cases_come_back_where_time_is_left(workers: Workers) -> None:
    """Catches time that nobody uses although a case was left out for want of it."""
    spare = planned("load", reason="left out to fit the budget", spare=True, rounds=1)
    _, records = run(planned(), spare, total_s=1000.0)
    assert [one.reason for one in records] == ["as told", "as told"]
    _, records = run(planned(), spare, total_s=0.1)
    assert records[-1].reason == "left out to fit the budget"


def test_the_worker_of_an_interrupted_run_ends(workers: Workers) -> None:
    """Catches a worker that outlives the run that an observer ended."""

    class StopError(Exception): ...

    workers.answers = lambda request: StopError()
    with pytest.raises(StopError):
        run(planned(), keep=True)
    assert workers.did == ["kill 0"]


def test_ranks_that_share_cores_cost_no_device(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches all cases skipped after three collectives that time slices made slow, and their deadlines."""
    monkeypatch.setattr(conductor.os, "sched_getaffinity", lambda _: {0, 1})  # type: ignore[attr-defined]
    ends = [Buffer("cpu0", "pageable", rank=rank) for rank in range(4)]
    flow = Flow(ends[0], ends[0], "cpu0", others=tuple((end, end) for end in ends[1:]))

    def collective(pattern: str, size_bytes: int) -> PlannedCase:
        return PlannedCase(Case("mpi", pattern, (flow,), size_bytes), "sweep", 0, 0.1, 0.02)

    workers.answers = lambda request: (
        WorkerLost("no answer within 62 s", "timeout")
        if request["case"]["size_bytes"] > 8
        else {"status": "failed", "reason": "as told"}
    )
    plan = [collective(pattern, 64) for pattern in ("allreduce", "broadcast", "gather", "scatter")]
    job = Job(Launcher("test", ("mpiexec", "-n", "{ranks}")), 4)
    _, records = run(*plan, collective("gather", 8), collective("allreduce", 128), job=job)
    assert [one.status for one in records] == ["timeout"] * 4 + ["failed", "skipped"]
    assert records[-1].reason == "4 ranks share 2 cores, and allreduce of 64 B had no answer within 62 s"
    assert workers.deadlines == [2 * 31.0] * 5  # two ranks to a core; each worker's first case


@pytest.mark.parametrize(
    ("size", "first", "energy", "seconds"),
    [
        (0, False, False, 22.0),
        (10**9, False, False, 42.0),
        (10**9, True, False, 102.0),
        (0, False, True, 52.0),
    ],
)
def test_deadlines(size: int, first: bool, energy: bool, seconds: float) -> None:
    """Catches a deadline that a slow machine misses: 100 MB/s, both ways, and a minute for the first case."""
    ends = Flow(Buffer.parse(HOST), Buffer.parse(HOST), "cpu0")
    case = Case("memcpy", "unidirectional", (ends,), size, "cold", {"energy": True} if energy else {})
    assert deadline_s(PlannedCase(case, "s", 0, 0.2, 0.2, None), first) == pytest.approx(seconds)
