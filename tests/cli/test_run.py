"""`byteways run` with the real worker on the host: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest

from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.measuring.conduct.recording import record_without_values
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.cli.called import byteways

SUITE = """\
name = "tiny"
title = "Tiny"
rounds = 2
case_budget_s = 0.05
precision = 0.2

[[sweep]]
name = "latency"
interface = "pointer-chase"
pattern = "unidirectional"
buffer = "cpu0:pageable"
executor = "cpu0"
size = ["4KiB", "64KiB"]
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SUITE)
    return path


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return byteways(folder, "run", *arguments, **{"BYTEWAYS_GPUS": "0", **variables})


def test_whole_run(suite: Path, tmp_path: Path) -> None:
    """Would catch a run without its files, progress on stdout, or a record that is missing or there twice."""
    done = run(tmp_path, str(suite), "--out", "R")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "R").iterdir()} == {
        "run.json",
        "plan.jsonl",
        "samples.jsonl",
        "measurements.jsonl",
        "report.html",
        "workers.log",
    }
    assert done.stdout.splitlines()[-1] == "report: R/report.html"
    assert "Findings that matter most\n  1. " in done.stdout
    assert "2 cases to measure (4 measurements), 0 skipped" in done.stderr
    assert "4 measured in " in done.stderr
    found = RunFolder(tmp_path / "R")
    keys = Counter((record.case_id, record.round) for record in found.records)
    assert sorted(keys.values()) == [1] * 4
    assert {record.round for record in found.records} == {0, 1}
    assert found.manifest["state"] == "complete"
    assert found.manifest["command_line"][:2] == ["byteways", "run"]
    assert found.manifest["suite"]["text"] == SUITE
    again = run(tmp_path, "--resume", "R", "--no-report")
    assert again.returncode == 0
    assert "this run is complete: nothing of its 4 records is missing\n" in again.stderr
    assert len(RunFolder(tmp_path / "R").records) == 4


def test_json_and_default_folder(suite: Path, tmp_path: Path) -> None:
    """Would catch JSON with anything before or after it, counts that are not those of the records, or a
    default folder that two runs would share. What a busy host makes of two cases is not asked.
    """
    done = run(tmp_path, str(suite), "--json", "--no-report", "--rounds", "1", "--precision", "0.5")
    outcome = json.loads(done.stdout)
    assert outcome["report"] is None
    assert re.fullmatch(r"byteways-tiny-[^/]+-\d{8}-\d{6}", outcome["folder"])
    records = RunFolder(tmp_path / outcome["folder"]).records
    assert len(records) == 2
    assert outcome["counts"] == Counter(record.status for record in records)
    assert all(finding["title"] for finding in outcome["findings"])


def test_dry_run_writes_nothing(suite: Path, tmp_path: Path) -> None:
    """Would catch a plan that is not what runs, and a dry run that measures or leaves a folder."""
    done = run(tmp_path, str(suite), "--dry-run", "--size", "64KiB")
    assert done.returncode == 0, done.stderr
    assert "1 case to measure in 2 rounds, 0 skipped" in done.stdout
    assert "latency: unidirectional; warm; at most 0.05 s\n" in done.stdout
    assert "  pointer-chase  cpu0:pageable  cpu0  64 KiB\n" in done.stdout
    as_json = json.loads(run(tmp_path, str(suite), "--dry-run", "--json").stdout)
    assert [entry["round"] for entry in as_json] == [0, 0, 1, 1]
    assert as_json[0]["case"]["interface"] == "pointer-chase"
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ("MPI_LOCALNRANKS", "2"),
        ("SLURM_STEP_TASKS_PER_NODE", "2(x4)"),
    ],
)
def test_started_twice_by_a_launcher(tmp_path: Path, name: str, value: str) -> None:
    """Catches two runs that disturb each other: `mpirun -n 2 byteways run`. One on each host is right."""
    done = run(tmp_path, "quick", "--machine", "h200-x4", "--dry-run", **{name: value})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "error: a launcher has started byteways 2 times on this host",
        f"  caused by: {name} is {value}",
        "hint: start it once; it starts ranks itself: byteways run mpi --ranks 2",
    ]
    alone = {name: value.replace("2", "1")}
    assert run(tmp_path, "quick", "--machine", "h200-x4", "--dry-run", **alone).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--budget", "0"), "a budget of 0 s is out of range"),
        (("--budget", "nan"), "a budget of nan s is out of range"),
        (("--rounds", "0"), "0 rounds is out of range"),
        (("--precision", "2"), "a precision of 2 is out of range"),
        (("--only", "interface=copy"), "no case matches --only 'interface=copy'"),
        (("--only", "colour=blue"), "unknown key 'colour'"),
        (("--size", "1GiB..2GiB"), "no case matches --size 1GiB..2GiB"),
        (("--size", "big"), "'big' is not a size"),
        (("--resume", "/nowhere"), "/nowhere is not a run folder"),
        (("--resume", "R", "--budget", "5"), "--budget cannot change it"),
        (("--resume", "R", "--dry-run"), "R is not a run folder"),
    ],
)
def test_wrong_options(suite: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    """Would catch a run that starts all the same, leaves a folder behind, or fails without a hint."""
    done = run(tmp_path, str(suite), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "hint: " in done.stderr and "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


@pytest.mark.parametrize(
    "arguments", [("--size", "0"), ("--size", "3KX"), ("--only", "foo=bar"), ("--only", "size=3XB")]
)
def test_filters_are_read_before_the_machine(suite: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Catches a typing error that is reported only after every GPU was opened."""
    done = run(tmp_path, str(suite), *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {arguments[0]}")


@pytest.mark.parametrize("setting", ["BYTEWAYS_GPUS", "BYTEWAYS_ISA"])
def test_settings_are_checked(suite: Path, tmp_path: Path, setting: str) -> None:
    """Would catch a mistyped setting that is ignored."""
    done = run(tmp_path, str(suite), "--out", "R", **{setting: "no"})
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {setting} is 'no'\n")


def test_live_progress_on_a_terminal(suite: Path, tmp_path: Path) -> None:
    """Would catch a live display that fails on a real terminal, or that hides the cursor for good."""
    master, slave = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "byteways", "run", str(suite), "--out", str(tmp_path / "R"), "--no-report"],
        env={**os.environ, "BYTEWAYS_GPUS": "0", "TERM": "xterm-256color"},
        stdout=subprocess.PIPE,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    done.communicate(timeout=240)
    os.close(master)
    assert done.returncode == 0
    assert shown.count(b"\033[?25l") == shown.count(b"\033[?25h") == 1
    assert b"4 measured in" in shown


def lost(reason: str) -> tuple[PlannedCase, Record]:
    buffer = Buffer("cpu0", "pageable")
    case = Case("memcpy", "unidirectional", (Flow(buffer, buffer, "cpu0"),), 4096)
    planned = PlannedCase(case, "sweep", 0, 1.0, 0.01)
    return planned, record_without_values(planned, 1, "lost", reason)


def test_plain_progress_tells_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a fault that the log of a batch job does not show, or a line for every good case."""
    from byteways.cli.progress import Progress
    from byteways.measuring.conduct.interruption import Interruption

    planned, record = lost("worker ended by SIGSEGV")
    with Progress(2, Interruption(), None) as progress:
        progress.began(planned, 0, 61.0)
        progress.tick()
        progress.ended(record)
    expected = "[1/2] memcpy cpu0>cpu0 4 KiB: lost: worker ended by SIGSEGV (1:01 left)\n"
    assert capsys.readouterr().err == expected


def test_live_progress_tells_the_case_the_last_result_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Would catch a line that shows how much is done, but not what is being measured or for how long."""
    from byteways.cli import progress as module
    from byteways.console.screens import Status
    from byteways.measuring.conduct.interruption import Interruption

    class Screen:
        drawn: ClassVar[list[Status]] = []

        def start(self) -> None: ...
        def stop(self) -> None: ...
        def draw(self, status: Status) -> None:
            self.drawn.append(status)

        def line(self, text: str, style: str) -> None:
            raise AssertionError(text)

    monkeypatch.setattr(module, "REDRAW_S", 0.0)
    planned, record = lost("")
    good = replace(record, status="measured", reason=None, bandwidth_bytes_per_s=9.8e9)
    with module.Progress(2, Interruption(), Screen()) as progress:
        progress.began(planned, 0, 61.0)
        progress.ended(good)
        progress.began(planned, 1, 30.0)
    first, second = Screen.drawn
    assert (first.case, first.time_left, first.last) == ("memcpy cpu0>cpu0 4 KiB", "1:01", "")
    assert (second.done, second.total, second.time_left) == (1, 2, "0:30")
    assert second.last == "memcpy cpu0>cpu0 9.80 GB/s"


def test_what_there_was_no_time_for_is_told_by_sweep(tmp_path: Path) -> None:
    """Would catch a run that says how many cases are missing and not of what."""
    large = SUITE.replace('"latency"', '"large"').replace('size = ["4KiB", "64KiB"]', 'size = "2GiB"')
    (tmp_path / "tiny.toml").write_text(SUITE + large.partition("\n\n")[2])
    done = run(tmp_path, "tiny.toml", "--out", "R", "--budget", "1.5", "--no-report")
    assert done.returncode == 0, done.stderr
    records = RunFolder(tmp_path / "R").records
    left_out = [(record.sweep, record.round) for record in records if record.display_status == "left out"]
    assert left_out == [("large", 0), ("large", 1)]
    told = [line for line in done.stderr.splitlines() if line.startswith("left out for lack of time: ")]
    assert told == ["left out for lack of time: 1 of 1 of large"]


def test_a_run_that_would_measure_nothing_is_refused(tmp_path: Path) -> None:
    """Catches a report without a figure and a good end where the suite's library is missing."""
    done = run(tmp_path, "halo", "--out", "R", BYTEWAYS_LIBMPI="/nonexistent/libmpi.so", PATH="/nonexistent")
    assert done.returncode == 2
    assert "nothing to measure" in done.stderr and "pip install mpich" in done.stderr
    assert not (tmp_path / "R").exists()


@pytest.mark.parametrize(("wanted", "status"), [("1", 1), ("0", 0)])
def test_gpus_that_cannot_be_used_are_an_error_unless_left_out(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, status: int
) -> None:
    """Catches a run of the host alone that passes for one of a machine with GPUs."""
    unusable = {
        "vendor": "NVIDIA",
        "pci_addresses": ["0000:3b:00.0"],
        "library": "",
        "reason": "",
        "hint": "",
    }
    monkeypatch.setattr("byteways.machine.unusable_gpus.unusable_gpus", lambda *_: [unusable])
    only = ("--only", "size=4KiB", "--rounds", "1", "--no-report")
    done = run(tmp_path, str(suite), "--out", "R", *only, BYTEWAYS_GPUS=wanted)
    assert done.returncode == status, done.stderr
    assert RunFolder(tmp_path / "R").manifest["unusable_gpus"] == ([unusable] if status else [])
    first = done.stdout.splitlines()[0]
    assert ("0000:3b:00.0" in first) == bool(status)
