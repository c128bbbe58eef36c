"""Workers that die, hang or talk nonsense cost one case each, and nothing of them is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from byteways.measuring.conduct import rank_faults
from byteways.measuring.conduct.conductor import Interrupted
from byteways.measuring.conduct.losses import LOSSES_TO_GIVE_UP
from byteways.measuring.conduct.process import WorkerLost, WorkerProcess, process_state
from byteways.record.record import Record
from tests.changed import replace
from tests.faults.harness import FAKE, TIMEOUT_S, Watcher, living, planned

Conduct = Callable[..., list[Record]]


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        ("segfault", "lost", "SIGSEGV"),
        ("killed", "lost", "SIGKILL"),
        ("raise", "lost", "the fake worker raises"),
        ("exit", "lost", "exit status 7; it last printed: about to give up"),
        ("garbage", "lost", "message"),
        ("no-object", "lost", "message"),
        ("wrong-answer", "lost", "to 'measure'"),
        ("half-line", "lost", "exit status 0"),
        ("close", "lost", "closed its connection"),
        ("not-a-number", "lost", "an invalid outcome"),
        ("unknown-field", "lost", "an invalid outcome"),
        ("failed", "failed", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("sticky", "failed", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("corrupt", "corrupt", "1 of 8 words differ"),
    ],
)
def test_fault_costs_one_case(conduct: Conduct, fault: str, status: str, said: str) -> None:
    """Would catch a fault that ends the run, takes a neighbour with it, or is recorded without its reason."""
    before, faulty, after = conduct([planned(), planned(fault), planned(size=8192)])
    assert (before.status, after.status) == ("measured", "measured")
    assert faulty.status == status
    assert said in (faulty.reason or "")


@pytest.mark.parametrize("fault", ["hang", "hang-hard"])
def test_hang_becomes_timeout(conduct: Conduct, fault: str) -> None:
    """Would catch a conductor that waits for ever, or leaves the child of a worker that ignores SIGTERM."""
    hangs = planned(fault)
    hung, after = conduct(
        [hangs, planned()], deadline=lambda planned, first: 0.5 if planned == hangs else TIMEOUT_S
    )
    assert hung.status == "timeout"
    assert "no answer within" in (hung.reason or "")
    assert after.status == "measured"


def test_a_case_that_hung_is_not_measured_again(conduct: Conduct) -> None:
    """Would catch a case that costs its deadline in every round, and a neighbour that is left out with it."""
    plan = [replace(one, round=round) for round in range(2) for one in (planned("hang"), planned())]
    hung, _, again, after = conduct(
        plan, deadline=lambda planned, first: 0.5 if planned.case == plan[0].case else TIMEOUT_S
    )
    assert (hung.status, again.status, after.status) == ("timeout", "skipped", "measured")
    assert again.reason == f"it hung in an earlier round: {hung.reason}"


def test_a_stopped_worker_is_not_waited_for(conduct: Conduct, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a stopped worker that costs the whole limit of its case, or is left behind stopped."""
    monkeypatch.setattr(rank_faults, "STOPPED_S", 0.2)
    stopped, after = conduct([planned("stop"), planned()], deadline=lambda *_: 10 * TIMEOUT_S)
    assert (stopped.status, after.status) == ("lost", "measured")
    assert f"no answer: the worker (process {stopped.worker}) is stopped" in (stopped.reason or "")


def test_dropped_cases_are_measured_while_there_is_time(conduct: Conduct) -> None:
    """Would catch a run that ends early with cases left out, one that overruns, or two records of a case."""
    spares = [
        replace(planned(size=size, reason="dropped"), spare=True, estimated_s=estimated_s)
        for size, estimated_s in ((8192, 5.0), (16384, 500.0), (32768, 5.0))
    ]
    first, short, long, later = conduct([planned(), *spares], total_s=60.0)
    assert [record.status for record in (first, short, long, later)] == [
        *("measured", "measured"),
        *("skipped", "measured"),
    ]
    assert (short.reason, long.reason) == (None, "dropped")
    assert [record.size_bytes for record in (short, long, later)] == [8192, 16384, 32768]


def test_dropped_cases_stay_out_without_a_budget(conduct: Conduct) -> None:
    """Would catch refused cases being tried, or spare ones without any time to fit."""
    spare = replace(planned(size=8192, reason="dropped"), spare=True, estimated_s=1.0)
    refused = planned(size=16384, reason="no such memory")
    assert [record.status for record in conduct([refused, spare])] == ["skipped", "skipped"]
    plenty = conduct([planned(size=32768, reason="no such memory")], total_s=60.0)
    assert plenty[-1].status == "skipped"


def test_out_of_memory_kill(conduct: Conduct, worker_pids: Callable[[], list[int]]) -> None:
    """A worker that eats memory is killed as the kernel does it; would catch a loss without the signal's
    name.
    """

    def play_the_kernel() -> None:
        for pid in worker_pids():
            status = Path(f"/proc/{pid}/status")
            resident = (
                [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
                if status.exists()
                else []
            )
            if resident and int(resident[0].split()[1]) > 100 * 1024:
                os.kill(pid, signal.SIGKILL)

    eaten, after = conduct([planned("eat-memory"), planned()], watcher=Watcher(on_tick=play_the_kernel))
    assert (eaten.status, after.status) == ("lost", "measured")
    assert "SIGKILL" in (eaten.reason or "")


def test_worker_is_first_choice_of_the_oom_killer(tmp_path: Path) -> None:
    """Would catch a real worker that is as precious to the kernel as its conductor."""
    worker = WorkerProcess(tmp_path / "log")
    try:
        assert Path(f"/proc/{worker.pid}/oom_score_adj").read_text().strip() == "1000"
    finally:
        worker.stop()


def test_three_losses_skip_the_cases_like_them(conduct: Conduct) -> None:
    """Would catch a broken path that costs a deadline for every one of its cases, or takes another device's
    cases along.
    """
    broken = [planned("segfault", size=4096 << number) for number in range(LOSSES_TO_GIVE_UP + 2)]
    records = conduct([*broken, planned(executor="cpu1")])
    statuses = [record.status for record in records]
    assert statuses == ["lost"] * LOSSES_TO_GIVE_UP + ["skipped"] * 2 + ["measured"]
    assert "3 workers were lost on cpu0" in (records[LOSSES_TO_GIVE_UP].reason or "")
    assert "SIGSEGV" in (records[LOSSES_TO_GIVE_UP].reason or "")


def test_worker_that_does_not_start(conduct: Conduct, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a conductor that tries for ever, or hides what the worker printed."""
    monkeypatch.setenv("BYTEWAYS_FAKE_START", "dies")
    records = conduct([planned(size=4096 << number) for number in range(5)])
    assert [record.status for record in records] == ["lost"] * 3 + ["skipped"] * 2
    assert "the fake worker does not start" in (records[0].reason or "")


def test_skipped_cases_start_no_worker(conduct: Conduct, worker_pids: Callable[[], list[int]]) -> None:
    """Would catch a worker that is started, and a GPU opened, for nothing."""
    (record,) = conduct([planned(reason="there is no gpu0")])
    assert (record.status, record.reason) == ("skipped", "there is no gpu0")
    assert worker_pids() == []


def test_one_worker_an_environment(conduct: Conduct, worker_pids: Callable[[], list[int]]) -> None:
    """Would catch cases measured under another's environment variables, or a worker for every case."""
    plan = [
        planned(),
        planned(size=8192),
        planned(environment={"HSA_XNACK": "1"}),
        planned(size=8192, environment={"HSA_XNACK": "1"}),
    ]
    workers = [record.worker for record in conduct(plan)]
    assert workers[0] == workers[1] != workers[2] == workers[3]
    assert len(worker_pids()) == 2


def test_a_setting_that_ends_workers_costs_its_own_cases_only(conduct: Conduct) -> None:
    """Would catch a good device that is given up because one setting lost workers."""
    setting = {"HSA_XNACK": "1"}
    plan = [planned("segfault", size=4096 * (n + 1), environment=setting) for n in range(3)]
    plan += [planned(size=65536, environment=setting), planned()]
    records = conduct(plan)
    assert [record.status for record in records] == ["lost"] * 3 + ["skipped", "measured"]
    assert "of pageable memory with HSA_XNACK=1, the last one" in (records[3].reason or "")


def test_interrupt_leaves_the_case_in_hand_unrecorded(
    conduct: Conduct, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch an interrupt that waits for a hanging case, or that records half of one."""
    events = tmp_path / "events"
    monkeypatch.setenv("BYTEWAYS_FAKE_EVENTS", str(events))

    def interrupt() -> None:
        if events.exists():
            raise Interrupted("SIGINT")

    with pytest.raises(Interrupted):
        conduct(
            [planned(), planned("hang"), planned()],
            watcher=Watcher(on_tick=interrupt),
            deadline=lambda *_: TIMEOUT_S,
        )
    assert len((tmp_path / "run" / "measurements.jsonl").read_text().splitlines()) == 1


def test_probe_that_kills_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a conductor process that trusts what a driver does to the prober."""
    monkeypatch.setenv("BYTEWAYS_FAKE_PROBE", "segfault")
    worker = WorkerProcess(tmp_path / "log", command=FAKE)
    with pytest.raises(WorkerLost, match="SIGSEGV"):
        worker.ask({"do": "probe"}, 10)


def test_worker_dies_with_its_conductor(tmp_path: Path) -> None:
    """The parent-death signal comes when the thread that started the worker ends; would catch an orphan."""
    started: list[WorkerProcess] = []
    thread = threading.Thread(target=lambda: started.append(WorkerProcess(tmp_path / "log", command=FAKE)))
    thread.start()
    thread.join()
    deadline = time.monotonic() + TIMEOUT_S
    while process_state(started[0].pid) not in (None, "Z") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process_state(started[0].pid) in (None, "Z")
    started[0].kill()
    assert living([started[0].pid]) == []


def test_socket_folder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a folder left in the runtime directory by every worker; and a base path that is too long
    for one.
    """
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    worker = WorkerProcess(tmp_path / "log", command=FAKE)
    worker.stop()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("byteways-")] == []
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    WorkerProcess(tmp_path / "log", command=FAKE).stop()
    assert list(deep.iterdir()) == []


def test_losses_without_settings_count_for_cases_with_them(conduct: Conduct) -> None:
    """Would catch a broken device that costs three more deadlines for each process environment."""
    broken = [planned("segfault", size=4096 << number) for number in range(LOSSES_TO_GIVE_UP)]
    records = conduct([*broken, planned(environment={"HSA_XNACK": "1"})])
    assert [record.status for record in records] == ["lost"] * LOSSES_TO_GIVE_UP + ["skipped"]
