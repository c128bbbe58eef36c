"""Whole runs that are killed, interrupted or started twice: nothing recorded is lost, none doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable

import pytest

from byteways.record.run_folder import RunFolder
from tests.faults.harness import TIGHT, TIMEOUT_S, Command, assert_complete, lines, wait_for


@pytest.fixture
def events(command: Command) -> Callable[[], list[str]]:
    """What the fake workers of the command have told so far."""
    file = command.folder.with_name("events")
    command.environment["BYTEWAYS_FAKE_EVENTS"] = str(file)
    return lambda: file.read_text().split() if file.exists() else []


@pytest.mark.slow
def test_worker_killed_at_random_times(command: Command, worker_pids: Callable[[], list[int]]) -> None:
    """Kills the current worker 20 times; catches a lost record, a duplicate case, a run that gives up."""
    random.seed(20)
    kills = 0
    while kills < 20:
        folder = command.folder.with_name(f"R{kills}")
        process = command.start(
            str(command.suite), "--out", str(folder), "--no-report", BYTEWAYS_FAKE_SLEEP="0.03"
        )
        seen: list[bytes] = []
        hits = 0
        while process.poll() is None:
            time.sleep(random.uniform(0.01, 0.1))
            pids = worker_pids()
            if not lines(folder) or hits == 2:  # the probe is over; three losses would end the device
                continue
            seen = lines(folder)
            try:
                os.kill(pids[-1], signal.SIGKILL)
            except ProcessLookupError:
                continue
            hits += 1
        process.communicate()
        kills += hits
        assert process.returncode in (0, 1)
        assert lines(folder)[: len(seen)] == seen
        assert_complete(folder)


def test_conductor_killed_and_resumed(command: Command, worker_pids: Callable[[], list[int]]) -> None:
    """kill -9 of the run at random times, then --resume; would catch what was recorded being lost or done
    twice.
    """
    random.seed(9)
    for round_ in range(5):
        command.folder = command.folder.with_name(f"K{round_}")
        process = command.start(
            str(command.suite), "--out", str(command.folder), "--no-report", BYTEWAYS_FAKE_SLEEP="0.1"
        )
        wait_for(lambda: (command.folder / "run.json").exists())
        time.sleep(random.uniform(0, 0.5))
        process.kill()
        process.communicate()
        before = lines(command.folder)
        resumed = command.resume()
        assert resumed.returncode == 0, resumed.stderr
        assert lines(command.folder)[: len(before)] == before
        assert_complete(command.folder)


def test_left_out_cases_of_a_killed_run(command: Command) -> None:
    """kill -9 while cases left out are put back, then --resume; would catch one that is lost, done twice, or
    recorded as skipped although there was time, and a dry run that touches the run or shows what is done.
    """
    command.suite.write_text(TIGHT)
    whole = command.run(str(command.suite), "--dry-run", "--json")
    plan = json.loads(whole.stdout)
    left_out = [case["case_id"] for case in plan if case["left_out"]]
    assert 1 < len(left_out) < 5
    later = [case["case"]["size_bytes"] for case in plan if case["left_out"]][1:]
    process = command.start(
        *(str(command.suite), "--out", str(command.folder), "--no-report"),
        BYTEWAYS_FAKE_FAULTS=",".join(f"{size}=hang" for size in later),
    )
    wait_for(lambda: len(lines(command.folder)) == 6 - len(left_out))
    process.kill()
    process.communicate()
    before = lines(command.folder)
    done = {json.loads(line)["case_id"] for line in before}
    shown = command.run("--resume", str(command.folder), "--dry-run", "--json")
    assert shown.returncode == 0, shown.stderr
    assert {case["case_id"] for case in json.loads(shown.stdout)} == {case["case_id"] for case in plan} - done
    assert lines(command.folder) == before
    assert command.resume().returncode == 0
    assert lines(command.folder)[: len(before)] == before
    assert_complete(command.folder)
    records = RunFolder(command.folder).records
    assert len(done & set(left_out)) == 1
    assert {record.status for record in records if record.case_id in left_out} == {"measured"}
    nothing = command.run("--resume", str(command.folder), "--dry-run")
    assert (nothing.returncode, "0 cases to measure, 0 skipped" in nothing.stdout) == (0, True)


def test_two_runs_into_one_folder(command: Command) -> None:
    """Would catch two writers of one journal, as a new run and as --resume."""
    gate = command.folder.with_name("gate")
    first = command.start(
        *(str(command.suite), "--out", str(command.folder), "--no-report"),
        BYTEWAYS_FAKE_FAULTS="65536=wait",
        BYTEWAYS_FAKE_GATE=str(gate),
    )
    wait_for(lambda: lines(command.folder))
    new, again = command.new(), command.resume()
    assert (new.returncode, again.returncode) == (2, 2)
    assert "is not empty" in new.stderr
    assert f"error: another run is writing into {command.folder}" in again.stderr
    gate.touch()
    first.communicate(timeout=TIMEOUT_S)
    assert first.returncode == 0
    assert_complete(command.folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_cleanly(command: Command, number: signal.Signals) -> None:
    """Would catch an interrupt without a report of what is there, without the hint, or with a case lost."""
    process = command.start(
        str(command.suite), "--out", str(command.folder), BYTEWAYS_FAKE_FAULTS="32768=hang"
    )
    wait_for(lambda: len(lines(command.folder)) == 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert f"interrupted by {number.name}; continue with: byteways run --resume {command.folder}" in err
    assert "Traceback" not in err
    assert RunFolder(command.folder).manifest["state"] == "interrupted"
    assert (command.folder / "report.html").exists()
    assert "report.html" in out
    assert command.resume().returncode == 0
    assert_complete(command.folder)


def test_interrupt_that_was_ignored_on_entry(command: Command) -> None:
    """`byteways run &` in a script, whose shell ignores SIGINT for it; would catch a run that cannot be
    interrupted.
    """
    process = command.start(
        str(command.suite),
        *("--out", str(command.folder), "--no-report"),
        sigint=signal.SIG_IGN,
        BYTEWAYS_FAKE_FAULTS="32768=hang",
    )
    wait_for(lambda: len(lines(command.folder)) == 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert "interrupted by SIGINT" in err


def test_interrupt_during_the_probe_leaves_nothing(command: Command, events: Callable[[], list[str]]) -> None:
    """Would catch a folder that blocks the next run although nothing was measured."""
    process = command.start(str(command.suite), "--out", str(command.folder), BYTEWAYS_FAKE_PROBE="hang")
    wait_for(events)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert "interrupted before the first measurement" in err
    assert not command.folder.exists()


#: The command, but a worker that is deaf to SIGTERM has an hour before it is killed.
PATIENT = (
    "import runpy, sys; import byteways.measuring.conduct.process as process; process.GRACE_S = 3600.0;"
    "sys.argv = ['byteways', *sys.argv[1:]]; runpy.run_module('byteways', run_name='__main__')"
)


def test_second_interrupt_kills_at_once(command: Command, events: Callable[[], list[str]]) -> None:
    """Would catch a user who cannot get out: the worker is deaf to SIGTERM, one interrupt takes an hour."""
    command.program = ("-c", PATIENT)
    process = command.start(
        str(command.suite), "--out", str(command.folder), BYTEWAYS_FAKE_FAULTS="8192=hang-hard"
    )
    wait_for(lambda: events() == ["hangs"])
    process.send_signal(signal.SIGINT)
    wait_for(lambda: events() == ["hangs", "deaf"])
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130


def test_output_folder_is_refused(command: Command) -> None:
    """Would catch a run that writes into somebody's data, or a traceback where the folder cannot be made."""
    command.folder.mkdir()
    (command.folder / "thesis.tex").write_text("precious")
    refused = command.new()
    assert refused.returncode == 2
    assert "is not empty" in refused.stderr and "hint: choose another --out" in refused.stderr
    assert [path.name for path in command.folder.iterdir()] == ["thesis.tex"]
    (command.folder / "file").write_text("")
    in_a_file = command.run(str(command.suite), "--out", str(command.folder / "file" / "R"))
    assert in_a_file.returncode == 2
    assert "cannot use the run folder" in in_a_file.stderr and "Not a directory" in in_a_file.stderr
    a_file = command.run(str(command.suite), "--out", str(command.folder / "file"))
    assert a_file.returncode == 2
    assert "Not a directory" in a_file.stderr


def test_read_only_folder(command: Command) -> None:
    """/proc cannot be written by anyone, root included; would catch a traceback there."""
    refused = command.run(str(command.suite), "--out", "/proc/byteways-run")
    assert refused.returncode == 2
    assert "error: cannot use the run folder /proc/byteways-run" in refused.stderr
    assert "hint: choose another --out" in refused.stderr


def test_disk_full_midway(command: Command) -> None:
    """A file-size limit stops the journal as a full disk does; would catch half a record or a lost one."""
    limited = """
import resource, signal, sys, runpy
from byteways.measuring.conduct.conductor import Conductor

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
run = Conductor.run

def on_a_full_disk(*arguments, **options):
    resource.setrlimit(resource.RLIMIT_FSIZE, (6144, 6144))
    return run(*arguments, **options)

Conductor.run = on_a_full_disk
sys.argv = ["byteways", *sys.argv[1:]]
runpy.run_module("byteways", run_name="__main__")
"""
    arguments = [
        sys.executable,
        "-c",
        limited,
        "run",
        str(command.suite),
        "--out",
        str(command.folder),
        *("--no-report", "--rounds", "3"),
    ]
    full = subprocess.run(
        arguments, env=command.environment, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert full.returncode == 2
    assert f"cannot write to {command.folder}" in full.stderr and "File too large" in full.stderr
    assert f"byteways run --resume {command.folder}" in full.stderr
    recorded = lines(command.folder)
    assert recorded and all(line.endswith(b"\n") and json.loads(line) for line in recorded)
    assert command.resume().returncode == 0
    assert lines(command.folder)[: len(recorded)] == recorded
    assert_complete(command.folder, 15)


def test_probe_that_dies_is_explained(command: Command) -> None:
    """Would catch a driver's crash that reaches the user as a traceback, and a folder left behind by it."""
    dead = command.new(BYTEWAYS_FAKE_PROBE="segfault")
    assert dead.returncode == 2
    assert "error: this machine could not be probed" in dead.stderr
    assert "SIGSEGV" in dead.stderr and "BYTEWAYS_GPUS=0" in dead.stderr
    assert not command.folder.exists()


def test_faults_make_the_exit_status_1(command: Command) -> None:
    """Would catch a run with a lost case that a script takes for a good one, or whose other cases are
    missing.
    """
    faulty = command.new(BYTEWAYS_FAKE_FAULTS="8192=segfault,16384=corrupt")
    assert faulty.returncode == 1
    assert "1 corrupt" in faulty.stderr and "1 lost" in faulty.stderr
    assert_complete(command.folder)


@pytest.mark.slow
def test_a_repeated_suite_is_killed_and_taken_up(command: Command) -> None:
    """Catches a soak that loses rounds, measures one twice, or begins its time anew when it is taken up."""
    process = command.start(str(command.suite), "--for", "3s", "--no-report", "--out", str(command.folder))
    wait_for(lambda: len(lines(command.folder)) > 5)
    process.kill()
    process.communicate()
    before = len(lines(command.folder))
    resumed = command.resume()
    assert resumed.returncode == 0, resumed.stderr
    run = RunFolder(command.folder)
    keys = Counter((record.case_id, record.round) for record in run.records)
    assert len(keys) == run.manifest["planned"] > before
    assert max(keys.values()) == 1
    rounds = Counter(round for _, round in keys)
    assert sorted(rounds) == list(range(len(rounds)))
    assert set([*rounds.values()][:-1]) == {5}
    assert command.resume().returncode == 0


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (
            ("--for", "30 minutes"),
            "'30 minutes' is not a duration; write 90s, 30m, 2h or 1h30m",
            "byteways run --for 30m",
        ),
        (
            ("--for", "30m", "--rounds", "3"),
            "--for and --rounds exclude each other",
            "leave one of them out",
        ),
    ],
)
def test_how_often_is_said_once_and_right(
    command: Command, arguments: tuple[str, ...], error: str, hint: str
) -> None:
    """Catches a mistyped duration, or two ways to say how often, that end in a traceback or a default."""
    done = command.run(str(command.suite), *arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"error: {error}", f"hint: {hint}"]
