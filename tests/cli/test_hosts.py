"""`byteways run --hosts FILE`: what a dry run prints, and options that do not go with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.called import byteways
from tests.mpi import jobs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nodes.txt").write_text("n0\nn1\nn2\n")
    launcher = tmp_path / "launch"
    launcher.write_text("#!/bin/sh\n")
    launcher.chmod(0o755)
    return tmp_path


def test_a_dry_run_says_how_many_ranks_start_where(folder: Path) -> None:
    """Catches a line that starts other ranks than the run does, and one that does not tell them."""
    jobs.require(jobs.MPICH)
    words = "./launch -n {ranks} -f {hostfile} -ppn {ranks_per_host}"
    done = byteways(
        folder,
        *("run", "collectives", "--hosts", "nodes.txt", "--ranks-per-host", "4", "--dry-run"),
        *("--launcher", words),
        BYTEWAYS_GPUS="0",
        BYTEWAYS_LIBMPI=str(jobs.WHEELS / "mpich/lib/libmpi.so.12"),
    )
    assert done.returncode == 0, done.stderr
    assert "cases of all hosts together, 4 ranks on each" in done.stdout
    (line,) = (line for line in done.stdout.splitlines() if "launcher: " in line)
    assert line.split("launcher: ")[1].startswith("./launch -n 12 -f RUN/hosts.txt -ppn 4 python ")
    assert line.endswith("byteways.measuring.hosts.worker --ranks 12 --ranks-per-host 4")


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (
            ("--ranks-per-host", "2"),
            "--ranks-per-host only applies with --hosts",
            "add --hosts FILE, or use --ranks",
        ),
        (
            ("--hosts", "nodes.txt", "--ranks-per-host", "0"),
            "0 ranks on each host is out of range",
            "--ranks-per-host takes 1 to 256",
        ),
        (
            ("--hosts", "nodes.txt", "--ranks", "2"),
            "--ranks and --hosts exclude each other",
            "each host has one rank, or as many as --ranks-per-host says",
        ),
        (
            ("--hosts", "nodes.txt", "--machine", "h200-x4"),
            "--machine and --hosts exclude each other",
            "a model of two hosts needs no --hosts: --machine frontier-mi250x-2 --ranks 2",
        ),
    ],
)
def test_options_that_exclude_each_other(
    folder: Path, arguments: tuple[str, ...], error: str, hint: str
) -> None:
    """Catches a number of ranks that is read and has no effect."""
    done = byteways(folder, "run", "mpi", *arguments)
    assert (done.returncode, done.stderr.splitlines()) == (2, [f"error: {error}", f"hint: {hint}"])
