"""`byteways run` between real ranks: figures of every kind, verified; and ranks that end in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from byteways.measuring.conduct import rank_faults
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from tests.cli.called import byteways
from tests.mpi import jobs

SUITE = """
name = "toy"
title = "Messages and collectives of a few sizes"
rounds = 1
case_budget_s = 0.02
precision = 0.5

[[sweep]]
name = "messages"
interface = "mpi"
pattern = ["unidirectional", "bidirectional"]
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = ["8B", "128KiB"]
pairs = "per-link-class"

[[sweep]]
name = "latency"
interface = "mpi-ping-pong"
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = "8B"
pairs = "per-link-class"

[[sweep]]
name = "collectives"
interface = "mpi"
pattern = [
  "allreduce", "allgather", "reduce-scatter", "alltoall", "broadcast", "reduce", "gather", "scatter",
]
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = ["64KiB"]
options = { timing = ["pipelined", "isolated"] }

[[sweep]]
name = "smallest-collectives"
interface = "mpi"
pattern = ["allreduce", "broadcast", "reduce"]
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = "4B"

[[sweep]]
name = "parts-of-words"
interface = "mpi"
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = ["1B", "13B"]
pairs = "per-link-class"

[[sweep]]
name = "in-place"
interface = "mpi"
pattern = ["allreduce", "allgather"]
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = "64KiB"
options = { in_place = "yes" }

[[sweep]]
name = "osu-latency"
interface = "mpi-ping-pong"
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = "3B"
pairs = "per-link-class"
options = { timing = "osu", batch = 50 }

[[sweep]]
name = "osu"
interface = "mpi"
pattern = ["unidirectional", "bidirectional", "multi-pair", "allreduce", "gather"]
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = "16KiB"
pairs = "per-link-class"
options = { timing = "osu", batch = 5, window = 7 }

[[sweep]]
name = "one-sided"
interface = ["mpi-put", "mpi-get"]
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = "13B"
pairs = "per-link-class"
options = { sync = ["flush", "fence"], window = 3 }

[[sweep]]
name = "barrier"
interface = "mpi-barrier"
pattern = "barrier"
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = "8B"
"""
#: Of its sweeps, in their order.
CASES = 4 + 1 + 16 + 3 + 2 + 2 + 1 + 5 + 4 + 1
#: So many are enough where a rank ends in the middle.
FEW = ("--only", "sweep=messages|latency|smallest-collectives|barrier")
FEW_CASES = 4 + 1 + 3 + 1
#: What sends messages by calls of its own.
SENDING = ("--only", "sweep=messages|latency|parts-of-words|osu-latency|osu")
SENDING_CASES = 4 + 1 + 2 + 1 + 5
#: Variable that tells the processes of one test from all others.
MARK = "BYTEWAYS_TEST_FOLDER"


#: Budget of a case in SUITE, and where a rank ends in the middle: long enough to be found.
BUDGET, LONGER = "case_budget_s = 0.02", "case_budget_s = 0.05"


def command(installation: jobs.Installation, tmp_path: Path, *more: str, budget: str = BUDGET) -> list[str]:
    suite = tmp_path / "toy.toml"
    suite.write_text(SUITE.replace(BUDGET, budget), encoding="utf-8")
    launcher = f"{installation.mpiexec} -n {{ranks}}"
    program = [sys.executable, "-m", "byteways", "run", str(suite), "--out", str(tmp_path / "R")]
    return [*program, "--ranks", "2", "--launcher", launcher, "--no-report", *more]


def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, **jobs.ENVIRONMENT, "BYTEWAYS_GPUS": "0", MARK: str(tmp_path)}


def manifest(tmp_path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((tmp_path / "R" / "run.json").read_text())
    return read


def records(tmp_path: Path) -> Sequence[Record]:
    return RunFolder(tmp_path / "R").records


@pytest.mark.parametrize("installation", jobs.RUNS, ids=lambda each: each.name)
def test_every_kind_of_case_is_measured_and_verified(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches an MPI that one build serves and another does not, data that arrives wrong, and a figure that
    does not follow from its time.
    """
    jobs.require(installation)
    done = subprocess.run(
        command(installation, tmp_path),
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = records(tmp_path)
    assert len(found) == CASES
    for record in found:
        assert record.status == "measured" and record.verified, record
        assert record.time_ns is not None
        rate = record.size_bytes / record.time_ns.median * 1e9
        if record.counts == "bus":
            assert record.other_count == {"counts": "algorithm", "bytes_per_s": pytest.approx(rate, rel=1e-5)}
        elif record.counts == "sum-of-directions":
            assert record.bandwidth_bytes_per_s == pytest.approx(2 * rate, rel=1e-5)
        elif record.counts == "per-direction":
            assert record.bandwidth_bytes_per_s == pytest.approx(rate, rel=1e-5)
        elif record.counts == "round-trip":
            assert record.half_round_trip_ns == pytest.approx(record.time_ns.median / 2, rel=1e-5)
    firsts = [one.first_use for one in found if one.first_use]
    assert len(firsts) == len(found) and all(one["time_ns"] > 0 for one in firsts)
    # Of messages one, of each collective one: as many cases as these were the first of their kind.
    assert sum(one["connection"] == "new" for one in firsts) == 1 + 8
    assert {one["memory"] for one in firsts} == {"new", "used"}
    isolated = [record for record in found if record.options.get("timing") == "isolated"]
    assert len(isolated) == 8 and all(record.batch == 1 for record in isolated)
    loops = {(one.pattern, one.batch) for one in found if one.options.get("timing") == "osu"}
    windows = {(pattern, 35) for pattern in ("unidirectional", "bidirectional", "multi-pair")}
    collectives = {("allreduce", 5), ("gather", 5)}
    assert loops == {("unidirectional", 50), *windows, *collectives}
    (library,) = (one for one in manifest(tmp_path)["libraries"] if one["library"] == "mpi")
    assert library["usable"] and installation.said in library["version"] and Path(library["path"]).is_file()
    shown = byteways(tmp_path, "show", "R", "--all").stdout
    assert f"\nbetween ranks: {library['version']}\n" in shown


def test_another_mpi_does_not_resume_a_run(tmp_path: Path) -> None:
    """Catches messages of two libraries in one run, each under the name of the first."""
    jobs.require(jobs.STANDARD)
    words, variables = command(jobs.MPICH, tmp_path, "--only", "sweep=latency"), environment(tmp_path)
    assert byteways(tmp_path, *words[3:], **variables).returncode == 0
    (tmp_path / "R" / "measurements.jsonl").write_text("")
    launcher = words[words.index("--launcher") + 1]
    again = ["run", "--resume", str(tmp_path / "R"), "--no-report", "--launcher", launcher]
    others = {**variables, "BYTEWAYS_LIBMPI": str(jobs.STANDARD.library)}
    refused = byteways(tmp_path, *again, **others)
    assert refused.returncode == 2 and not records(tmp_path)
    said = " ".join(refused.stderr.split())
    assert "cannot be resumed: results before and after would not be comparable caused by: MPI: MPICH" in said
    assert " became MPICH " in said and "hint: start a new run" in said
    resumed = byteways(tmp_path, *again, **variables)
    assert resumed.returncode == 0 and [one.status for one in records(tmp_path)] == ["measured"]


#: Makes each send synchronous, as MPI allows for all of standard mode (MPI 4.1, 3.4 and 3.5). Handles have
#: the width of an int or of a pointer: both fit a long of these calling conventions.
SYNCHRONOUS = """
#define _GNU_SOURCE
#include <dlfcn.h>
typedef int (*Send)(long, long, long, long, long, long);
typedef int (*Start)(long, long, long, long, long, long, long);
int MPI_Send(long data, long count, long type, long to, long tag, long comm) {
  static Send send;
  if (!send) send = (Send)dlsym(RTLD_DEFAULT, "PMPI_Ssend");
  return send(data, count, type, to, tag, comm);
}
int MPI_Isend(long data, long count, long type, long to, long tag, long comm, long request) {
  static Start start;
  if (!start) start = (Start)dlsym(RTLD_DEFAULT, "PMPI_Issend");
  return start(data, count, type, to, tag, comm, request);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("installation", [jobs.MPICH, jobs.OPEN_MPI], ids=lambda each: each.name)
def test_no_send_relies_on_a_buffer(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches two ranks that both send before they receive: with an MPI that buffers nothing they wait for
    ever.
    """
    jobs.require(installation)
    library = tmp_path / "synchronous.so"
    build = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(build, input=SYNCHRONOUS, text=True, check=True)
    done = subprocess.run(
        command(installation, tmp_path, *SENDING),
        env={**environment(tmp_path), "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(records(tmp_path)) == SENDING_CASES
    assert all(one.status == "measured" and one.verified for one in records(tmp_path))


SETTINGS = """
name = "toy"
title = "Settings"
rounds = 1
case_budget_s = 0.05
precision = 0.5

[[sweep]]
name = "settings"
interface = "mpi"
pattern = "allreduce"
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = "8B"
environment = { BYTEWAYS_MPI_THREADS = "tangled" }

[[sweep]]
name = "default"
interface = "mpi"
pattern = "allreduce"
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = "8B"
"""


def test_settings_reach_the_ranks_of_their_cases_alone(tmp_path: Path) -> None:
    """Catches variables that a launcher does not pass on, and that later ranks inherit."""
    installation = jobs.RUNS[0]
    jobs.require(installation)
    words = command(installation, tmp_path)
    (tmp_path / "toy.toml").write_text(SETTINGS, encoding="utf-8")
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, timeout=300)
    found = {record.sweep: record for record in records(tmp_path)}
    assert found["default"].status == "measured" and found["default"].environment == {}
    assert found["settings"].status != "measured", done.stdout
    assert "tangled" in (found["settings"].reason or "")


def kill_a_rank(words: Sequence[str], tmp_path: Path, after: int) -> int:
    """Starts a run, kills a rank after so many records and waits for the end; the process of that rank."""
    run = subprocess.Popen(
        words, env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    journal = tmp_path / "R" / "measurements.jsonl"
    limit = time.monotonic() + 100
    while not (journal.exists() and journal.read_text(encoding="utf-8").count("\n") >= after):
        assert time.monotonic() < limit and run.poll() is None, "no case was measured"
        time.sleep(0.02)
    victim = max(ranks_of(tmp_path))
    os.kill(victim, signal.SIGKILL)
    _, said = run.communicate(timeout=200)
    assert run.returncode == 1, said
    return victim


@pytest.mark.parametrize("installation", jobs.RUNS, ids=lambda each: each.name)
def test_a_rank_that_is_killed_costs_one_case(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches a killed rank that ends the run or is not named, and ranks that are left over."""
    jobs.require(installation)
    victim = kill_a_rank(command(installation, tmp_path, *FEW, budget=LONGER), tmp_path, after=3)
    found = records(tmp_path)
    assert len(found) == FEW_CASES
    lost = [record for record in found if record.status != "measured"]
    assert len(lost) == 1 and lost[0].status == "lost"
    named = f"(cpu0, process {victim} on {os.uname().nodename})"
    assert named in (lost[0].reason or ""), lost[0].reason
    assert ranks_of(tmp_path) == []


def ranks_of(tmp_path: Path) -> list[int]:
    """Processes of this test's ranks."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes()
        except OSError:
            continue
        # The launcher, and what starts it, have the same words after their own.
        own = words[0] == os.fsencode(sys.executable) and b"byteways.measuring.work.launched" not in words
        if (
            own
            and b"byteways.measuring.work.rank_worker" in words
            and f"{MARK}={tmp_path}".encode() in variables
        ):
            found.append(int(entry.name))
    return found


def test_pairs_without_the_first_rank_are_measured(tmp_path: Path) -> None:
    """Catches the answer of rank 0, which does not take part, instead of the participants' results."""
    jobs.require(jobs.MPICH)
    words = command(jobs.MPICH, tmp_path, "--only", "sweep=latency")
    words[words.index("--ranks") + 1] = "3"
    suite = tmp_path / "toy.toml"
    suite.write_text(SUITE.replace('pairs = "per-link-class"', 'pairs = "all"'), encoding="utf-8")
    done = byteways(tmp_path, *words[3:], **environment(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    found = {record.path: record for record in records(tmp_path)}
    assert set(found) == {f"{a}/cpu0>{b}/cpu0" for a in range(3) for b in range(3) if a != b}
    assert all(record.status == "measured" and record.verified for record in found.values())


def test_more_ranks_than_the_launcher_starts(tmp_path: Path) -> None:
    """Catches a run that continues with fewer ranks than requested, or that hangs."""
    jobs.require(jobs.MPICH)
    words = command(jobs.MPICH, tmp_path)
    words[words.index("--launcher") + 1] = f"{jobs.MPICH.mpiexec} -n 1 env ASKED={{ranks}}"
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "the 2 ranks did not start" in done.stderr and "MPI has 1 of 2 ranks" in done.stderr
    assert not (tmp_path / "R").exists()


def test_a_stopped_rank_costs_one_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a stopped rank that is waited for until the limit of its case, that nobody names, or that stays
    behind.
    """
    jobs.require(jobs.MPICH)
    monkeypatch.setattr(rank_faults, "STOPPED_S", 0.5)
    journal, victims = tmp_path / "R" / "measurements.jsonl", list[int]()

    def stop() -> None:
        while not (journal.exists() and journal.read_text(encoding="utf-8").count("\n") >= 3):
            time.sleep(0.02)
        victims.append(max(ranks_of(tmp_path)))
        os.kill(victims[0], signal.SIGSTOP)

    words = command(jobs.MPICH, tmp_path, *FEW, budget=LONGER)[3:]
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    threading.Thread(target=stop, daemon=True).start()
    done = byteways(tmp_path, *words)
    assert done.returncode == 1, done.stderr
    lost = [record for record in records(tmp_path) if record.status != "measured"]
    assert len(records(tmp_path)) == FEW_CASES and len(lost) == 1
    named = f"no answer: rank 1 (cpu0, process {victims[0]} on {os.uname().nodename}) is stopped"
    assert lost[0].status == "lost" and (lost[0].reason or "").startswith(named), lost[0].reason
    assert ranks_of(tmp_path) == []


def test_a_dry_run_prints_the_line_that_starts_the_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a line of another launcher or number of ranks, and more ranks than cores that nobody tells."""
    jobs.require(jobs.MPICH)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    words = command(jobs.MPICH, tmp_path, "--dry-run", "--only", "pattern=allreduce")[3:]
    ranks = 2 * len(os.sched_getaffinity(0))
    words[words.index("--ranks") + 1] = f"{ranks}"
    done = byteways(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    line = lines[lines.index("the ranks are started by") + 1].strip()
    assert f"{jobs.MPICH.mpiexec} -n {ranks} {sys.executable} " in line
    assert line.endswith(f"byteways.measuring.work.rank_worker --ranks {ranks}")
    assert f"{ranks} ranks share " in done.stderr
    words[words.index("--launcher") + 1] = "nowhere/mpiexec"
    done = byteways(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: no program 'nowhere/mpiexec'" in done.stderr
