"""Repeated suites, and the folder of a run that begins or does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.machine.model import Capabilities
from byteways.measuring.conduct import execution, new_folder
from byteways.measuring.conduct.execution import (
    Execution,
    Repetition,
    plan_of,
    planned_seconds,
    repetition_of,
    reserve_s,
)
from byteways.measuring.conduct.new_folder import check_new_folder, claim_folder, restore_folder
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite import load
from byteways.record.run_folder import BEFORE_MEASURING, JOURNAL, LOG, MANIFEST, PLAN


def planned(name: str = "memcpy", **more: Any) -> PlannedCase:
    end = Buffer("cpu0", "pageable")
    case = Case(name, "unidirectional", (Flow(end, end, "cpu0"),), 4096)
    return PlannedCase(case, "s", more.pop("round", 0), 0.1, 0.1, **{"estimated_s": 2.0, **more})


def test_seconds_of_a_plan() -> None:
    """Catches time for cases that do not run, and a reserve that takes most of a small budget."""
    assert planned_seconds([planned(), planned(reason="no"), planned(estimated_s=0.5)]) == 2.5
    assert (reserve_s(10.0), reserve_s(20.0), reserve_s(100.0)) == (1.5, 3.0, 3.0)


@pytest.mark.parametrize(
    ("for_s", "simulated", "spent_s", "rounds", "left_s"),
    [
        (60.0, False, 0.0, None, 60.0),
        (60.0, False, 45.0, None, 15.0),
        (60.0, False, 90.0, None, 0.0),
        (60.0, True, 0.0, 15, 60.0),
        (9.9, True, 0.0, 2, 9.9),
    ],
)
def test_how_often_a_suite_is_repeated(
    for_s: float, simulated: bool, spent_s: float, rounds: int | None, left_s: float
) -> None:
    """Catches a simulated run whose length depends on this machine, and a duration begun anew."""
    plan = [planned(), planned("load"), planned("store", reason="no")]
    found = repetition_of(plan, RunOptions(for_s=for_s), simulated, spent_s, 3)
    assert found == Repetition(tuple(plan[:2]), left_s, rounds, 3)
    assert repetition_of(plan, RunOptions(), simulated) is None
    first = repetition_of(plan, RunOptions(for_s=for_s), simulated)
    assert first is not None and first.next_round == 1
    assert repetition_of([], RunOptions(for_s=1.0), True) == Repetition((), 1.0, 1000, 1)


def test_when_a_repetition_is_over() -> None:
    """Catches one round too many or too few, and one without cases that never ends."""
    cases = (planned(), planned("load"))
    counted, timed = Repetition(cases, 5.0, 3), Repetition(cases, 5.0, None)
    assert [counted.over(number) for number in range(5)] == [False] * 3 + [True] * 2
    assert not timed.over(10**6) and Repetition((), 5.0, None).over(0)
    assert (counted.until(100.0), timed.until(100.0)) == (None, 105.0)
    assert [(one.case.interface, one.round) for one in timed.round(7)] == [("memcpy", 7), ("load", 7)]


class Conductor:
    """Notes what it runs; every case takes a second of `clock`."""

    def __init__(self, clock: list[float]) -> None:
        self.ran: list[Any] = []
        self._clock = clock

    def run(self, cases: Any, until: float | None = None, keep_worker: bool = False) -> None:
        self.ran.append(([one.round for one in cases], until, keep_worker))
        self._clock[0] += len(cases)


def repeated(
    monkeypatch: pytest.MonkeyPatch, repetition: Repetition, recorded: int
) -> tuple[Conductor, dict[str, Any], Execution]:
    """Repeats a suite of two cases; the journal has the first `recorded` of all."""
    clock, told = [100.0], {"appended": 0, "withdrawn": [], "rounds": [], "written": []}
    conductor, first = Conductor(clock), [planned(), planned("load")]
    made: Any = object.__new__(Execution)
    made.folder, made.started, made.planned, made.remaining = Path("/runs/a"), 100.0, list(first), list(first)
    made.manifest = {"planned": 2}

    def append(folder: Path, cases: list[PlannedCase]) -> None:
        told["appended"] += len(cases)

    def read(path: Path) -> Any:
        assert path == Path("/runs/a") / JOURNAL
        return SimpleNamespace(
            records=[
                SimpleNamespace(case_id=one.case.case_id, round=one.round) for one in made.planned[:recorded]
            ]
        )

    monkeypatch.setattr(execution.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(execution.plan_file, "append", append)
    monkeypatch.setattr(execution.plan_file, "withdraw", lambda folder, keys: told["withdrawn"].extend(keys))
    monkeypatch.setattr(
        execution.manifests, "write", lambda folder, data: told["written"].append(data["planned"])
    )
    monkeypatch.setattr(execution, "read_journal", read)
    made._repeat(conductor, repetition, lambda number, cases: told["rounds"].append((number, cases)))
    return conductor, told, made


def test_rounds_are_added_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a round after the end, planned cases that nobody withdraws, and a worker for each round."""
    cases = (planned(), planned("load"))
    conductor, told, made = repeated(monkeypatch, Repetition(cases, 5.0, None), recorded=5)
    assert conductor.ran == [
        ([0, 0], 105.0, True), ([1, 1], 105.0, True), ([2, 2], 105.0, True), ([], None, False)
    ]  # fmt: skip
    assert told["rounds"] == [(1, 2), (2, 2)] and told["appended"] == 4 and told["written"] == [4, 6]
    assert told["withdrawn"] == [made.planned[5].key]
    assert made.manifest["planned"] == 5


def test_a_simulated_run_counts_its_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a round too many, and a plan withdrawn that was measured."""
    cases = (planned(), planned("load"))
    conductor, told, made = repeated(monkeypatch, Repetition(cases, 5.0, 2, next_round=1), recorded=4)
    assert conductor.ran == [([0, 0], None, True), ([1, 1], None, True), ([], None, False)]
    assert told["withdrawn"] == [] and made.manifest["planned"] == 4


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], None),
        ([LOG, PLAN], None),
        ([f".byteways-{0x123:016x}"], None),
        ([".run.json.123"], "is not empty"),
        (["notes.txt"], "is not empty"),
        ([LOG, "notes.txt"], "is not empty"),
        ([MANIFEST], "is not empty"),
    ],
)
def test_folders_that_a_new_run_may_use(files: list[str], said: str | None, tmp_path: Path) -> None:
    """Catches a user's files overwritten, and a folder refused because a run was killed before it began."""
    for name in files:
        (tmp_path / name).write_text("x")
    (tmp_path / JOURNAL).write_text("")
    if said is None:
        check_new_folder(tmp_path)
        journal = claim_folder(tmp_path)
        journal.close()
        assert {path.name for path in tmp_path.iterdir()} == {JOURNAL}
        return
    with pytest.raises(BytewaysError, match=said) as caught:
        check_new_folder(tmp_path)
    resumes = f"byteways run --resume {tmp_path}, or another --out"
    assert caught.value.hint == (resumes if MANIFEST in files else "choose another --out")


def test_a_folder_that_is_claimed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches two runs in one folder, and a lock that nobody releases."""
    monkeypatch.setattr(new_folder, "check_new_folder", lambda folder: None)
    for name in (MANIFEST, "notes.txt"):
        (tmp_path / name).write_text("x")
        with pytest.raises(BytewaysError, match="another run is using"):
            claim_folder(tmp_path)
        (tmp_path / name).unlink()
    claim_folder(tmp_path).close()
    (tmp_path / "file").write_text("")
    with pytest.raises(BytewaysError, match="cannot use the run folder"):
        claim_folder(tmp_path / "file" / "run")


@pytest.mark.parametrize("existed", [True, False])
def test_a_run_that_did_not_begin_leaves_nothing(existed: bool, tmp_path: Path) -> None:
    """Catches files that stop the next run, and a user's folder or file removed."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (*BEFORE_MEASURING, f".byteways-{0x77:016x}"):
        (folder / name).write_text("x")
    restore_folder(folder, existed)
    assert folder.exists() == existed and not [*tmp_path.glob("run/*")]
    folder.mkdir(exist_ok=True)
    (folder / "mine").write_text("x")
    restore_folder(folder, existed)
    assert (folder / "mine").exists()


@pytest.mark.parametrize("simulated", [True, False])
def test_what_a_plan_is_made_of(simulated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an option of the run that planning does not get, and a budget in virtual time."""
    told: dict[str, Any] = {}

    def make_plan(suite: Any, topology: Any, capabilities: Any, **more: Any) -> str:
        told.update(more, budget_of_suite=suite.budget_s)
        return "plan"

    monkeypatch.setattr(execution, "make_plan", make_plan)
    probed: Any = SimpleNamespace(capabilities=None)
    options = RunOptions(
        only=["interface=copy"], sizes="1MiB", budget_s=7.0, ranks=3, with_self=True, all_devices=True
    )
    suite = load("quick")
    assert plan_of(suite, None, probed, options, simulated, print) == "plan"  # type: ignore[arg-type, comparison-overlap]
    assert told == {
        "only": ["interface=copy"],
        "sizes": "1MiB",
        "budget_s": 7.0,
        "ranks": 3,
        "with_self": True,
        "all_devices": True,
        "on_sweep": print,
        "budget_of_suite": None if simulated else suite.budget_s,
    }
    assert suite.budget_s is not None


@pytest.mark.parametrize(
    ("given", "budget_s"), [({"budget_s": 7.0}, 7.0), ({"budget_s": 7.0, "for_s": 60.0}, None)]
)
def test_a_repeated_suite_has_no_budget(
    given: dict[str, float], budget_s: float | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches a budget that is lost on the way, one that ends a suite which is repeated for a time, and one
    that counts only from when the program has been loaded.
    """
    plan = SimpleNamespace(cases=(planned(),), budget_s=7.0, sample=None, substitutes=())
    probed = SimpleNamespace(capabilities=Capabilities(), libraries=[], method_version=1)
    machine = SimpleNamespace(topology=None, probed=probed, worker=None)
    monkeypatch.setattr(execution, "open_machine", lambda *_: machine)
    monkeypatch.setattr(execution, "plan_of", lambda *_: plan)
    monkeypatch.setattr(execution.plan_file, "write", lambda *_: None)
    monkeypatch.setattr(execution.manifests, "build", lambda **_: {})
    monkeypatch.setattr(execution.manifests, "write", lambda *_: None)
    monkeypatch.setattr(execution, "_read_back", lambda *_: None)
    begun = execution.begin(load("quick"), RunOptions(**given), tmp_path / "run", [], lambda: None)  # type: ignore[arg-type]
    begun.journal.close()
    assert begun.budget_s == budget_s
    late = execution.begin(
        load("quick"), RunOptions(**given), tmp_path / "late", [], lambda: None, started=3.0
    )  # type: ignore[arg-type]
    late.journal.close()
    assert late.started == 3.0 < begun.started
