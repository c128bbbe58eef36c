"""Network namespaces that stand for hosts, and runs between them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from byteways.record.run_folder import RunFolder
from tests.mpi import jobs

HERE = Path(__file__).parent
#: Seconds that only a run that hangs reaches.
PATIENCE_S = 900

HEAD = """
name = "toy"
title = "A few small cases"
rounds = {rounds}
case_budget_s = {budget_s}
precision = 0.5
"""
MESSAGES = """
[[sweep]]
name = "latency"
interface = "mpi-ping-pong"
source = "cpu*:pageable"
destination = "cpu*:pageable"
size = "8B"
pairs = "per-link-class"
"""
BANDWIDTH = """
[[sweep]]
name = "bandwidth"
interface = "mpi"
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = "16KiB"
options = {{ window = 1 }}
pairs = "per-link-class"
"""


@dataclass(frozen=True)
class Outcome:
    """Exit status of a run, what it said, and its folder."""

    status: int
    said: str
    folder: Path

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.folder)


Hosts = Callable[..., Outcome]


def launcher(installation: jobs.Installation) -> str:
    agent = HERE / "agent.sh"
    if installation.name == "mpich":
        words = f"-launcher ssh -launcher-exec {agent} -f {{hostfile}} -ppn {{ranks_per_host}} -n {{ranks}}"
    else:
        words = f"--prtemca plm_ssh_agent {agent} --hostfile {{hostfile}} -n {{ranks}} "
        words += "--map-by ppr:{ranks_per_host}:node"
    return f"{installation.mpiexec} {words}"


def end_left_over(folder: Path) -> None:
    """Ends the processes that a killed run leaves on its hosts: the launch host is gone with its namespace,
    as by a power cut, so that a launcher's proxies on the others never hear of its end.
    """
    mine = f"BYTEWAYS_TEST_HOSTS={folder}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if mine in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


@pytest.fixture
def between_hosts(tmp_path: Path) -> Hosts:
    """Runs `byteways run` on the first of several hosts."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2: sudo make test-hosts")

    def run(
        count: int,
        *more: str,
        installation: jobs.Installation = jobs.MPICH,
        files: Mapping[str, str] | None = None,
        beside: str = "",
        rounds: int = 1,
        budget_s: float = 0.02,
        bandwidth: bool = True,
        sweeps: str = "",
    ) -> Outcome:
        jobs.require(installation)
        for name, text in (files or {}).items():
            (tmp_path / name).write_text(text)
        suite = tmp_path / "toy.toml"
        text = HEAD + (sweeps or MESSAGES + BANDWIDTH * bandwidth)
        suite.write_text(text.format(rounds=rounds, budget_s=budget_s))
        program = [sys.executable, "-m", "byteways", "run", *more]
        if "--resume" not in more:
            program.append(str(suite))
            program += ["--hosts", str(tmp_path / "hosts.txt"), "--out", str(tmp_path / "R")]
        program += ["--launcher", launcher(installation)]
        if beside:
            program = ["bash", "-c", beside, "beside", str(tmp_path), *program]
        done = subprocess.run(
            [
                *("unshare", "--mount", "--propagation", "private", "bash", str(HERE / "namespaces.sh")),
                *(str(count), str(tmp_path), *program, "--no-report"),
            ],
            env={**os.environ, **jobs.ENVIRONMENT, "BYTEWAYS_GPUS": "0"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        end_left_over(tmp_path)
        said = done.stderr + done.stdout
        print(said)
        return Outcome(done.returncode, said, tmp_path / "R")

    return run
