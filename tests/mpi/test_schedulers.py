"""Ranks inside an allocation of Slurm or Flux: programs that take the words of `srun` and `flux run`, refuse
others, and start the ranks as those do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from byteways.record.run_folder import RunFolder
from tests.cli.called import byteways
from tests.mpi import jobs
from tests.mpi.test_runs import SUITE

#: Starts tasks through MPICH, which gives them what a scheduler's PMI would, under the scheduler's variables
#: (srun(1), OUTPUT ENVIRONMENT VARIABLES; flux-environment(7)).
CONNECTED = 'exec {mpiexec} -n "$ranks" sh -c \'export {variables}; exec "$@"\' task "$@"\n'
#: Tasks that no PMI connects: srun without the --mpi that the library needs.
APART = """at=0
while [ "$at" -lt "$ranks" ]; do
  SLURM_PROCID=$at SLURM_STEP_NUM_TASKS=$ranks "$@" &
  at=$((at + 1))
done
wait
"""
SRUN = """#!/bin/sh
echo "srun $1 $2 $3 $4 $5 $6 $7 $8 $9 ${10}" >> {log}
overlap= overcommit=
while :; do
  case "$1" in
    -n) ranks=$2; shift 2;;
    -N) test "$2" = 1 || { echo "srun: error: $2 nodes are not in this allocation" >&2; exit 1; }; shift 2;;
    --overlap) overlap=yes; shift;;
    --overcommit) overcommit=yes; shift;;
    --cpu-bind=none|--kill-on-bad-exit=1|--nodelist=n2) shift;;
    --ntasks-per-node=*) test "${1#*=}" = "$ranks" || exit 1; shift;;
    -*) echo "srun: unrecognized option '$1'" >&2; exit 1;;
    *) break;;
  esac
done
if [ "$SLURM_STEP_ID" ] && [ ! "$overlap" ]; then
  echo "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)" >&2
  exec sleep 1000
fi
if [ ! "$overcommit" ]; then  # salloc -N 2 gives each node one CPU
  echo "srun: error: Unable to create step for job 7: More processors requested than permitted" >&2
  exit 1
fi
"""
#: flux-run(1), flux-shell(1): `--exclusive` needs `--nodes`, options for each resource exclude `--ntasks`,
#: and tasks that ask for no GPU see none unless the shell's plugin is off.
FLUX = """#!/bin/sh
echo "flux $*" | sed 's/ [^ ]*python.*//' >> {log}
test "$1" = run || { echo "flux: ERROR: no such command $1" >&2; exit 1; }
shift
nodes= exclusive= hides=yes binds=yes
while :; do
  case "$1" in
    -n) ranks=$2; shift 2;;
    -N) nodes=$2; shift 2;;
    --exclusive) exclusive=yes; shift;;
    -o)
      case "$2" in
        gpu-affinity=off) hides=;;
        cpu-affinity=off) binds=;;
        mpibind=off) ;;
        *) echo "flux-shell: FATAL: unknown option $2" >&2; exit 1;;
      esac
      shift 2;;
    --tasks-per-node=*) echo "flux-run: ERROR: Per-resource options can't be used with per-task options" >&2
      exit 1;;
    -*) echo "flux-run: ERROR: unrecognized argument $1" >&2; exit 1;;
    *) break;;
  esac
done
if [ "$exclusive" ] && [ ! "$nodes" ]; then
  echo "flux-run: ERROR: --exclusive can only be set with a node count" >&2
  exit 1
fi
[ ! "$hides" ] || export CUDA_VISIBLE_DEVICES=-1
echo "GPUs ${CUDA_VISIBLE_DEVICES-all} cores ${binds:-all}" >> {log}.tasks
"""
VARIABLES = {
    "srun": "SLURM_PROCID=$PMI_RANK SLURM_NTASKS=$PMI_SIZE SLURM_STEP_NUM_TASKS=$PMI_SIZE SLURM_STEP_ID=1",
    "flux": "FLUX_TASK_RANK=$PMI_RANK FLUX_JOB_SIZE=$PMI_SIZE FLUX_JOB_ID=f1",
}
#: byteways itself runs in a step of one task: srun --pty bash.
ALLOCATION = {
    "srun": {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURMD_NODENAME": "n2",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NUM_TASKS": "1",
        "SLURM_PROCID": "0",
    },
    "flux": {"FLUX_URI": "local:///run/flux/local"},
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """run(name, program) within an allocation: exit status, what was said, and how the program was called."""
    jobs.require(jobs.MPICH)

    def called(name: str, program: str) -> tuple[int, str, str]:
        folder, log = tmp_path / "bin", tmp_path / "log"
        folder.mkdir()
        (folder / name).write_text(program.replace("{log}", str(log)), encoding="utf-8")
        (folder / name).chmod(0o755)
        (tmp_path / "toy.toml").write_text(SUITE, encoding="utf-8")
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        words = ("run", "toy.toml", "--only", "sweep=latency|smallest-collectives", "--ranks", "2")
        variables = {**jobs.ENVIRONMENT, **ALLOCATION[name], "BYTEWAYS_GPUS": "0"}
        # The library of the launcher below: outside of an allocation mpiexec in PATH tells it.
        variables["BYTEWAYS_LIBMPI"] = str(jobs.WHEELS / "mpich/lib/libmpi.so.12")
        done = byteways(tmp_path, *words, "--out", "R", "--no-report", **variables)
        return done.returncode, done.stderr, log.read_text(encoding="utf-8") if log.exists() else ""

    return called


@pytest.mark.parametrize(
    ("name", "head", "line"),
    [
        (
            "srun",
            SRUN,
            "srun -n 2 --cpu-bind=none --kill-on-bad-exit=1 --overlap --overcommit "
            "-N 1 --ntasks-per-node=2 --nodelist=n2",
        ),
        (
            "flux",
            FLUX,
            "flux run -n 2 --exclusive -o gpu-affinity=off -o cpu-affinity=off -o mpibind=off -N 1",
        ),
    ],
)
def test_ranks_are_started_by_the_scheduler(
    run: Run, tmp_path: Path, name: str, head: str, line: str
) -> None:
    """Catches a line that the scheduler's launcher refuses, one with which it waits for its own step, tasks
    that see no GPU, and ranks that do not meet.
    """
    tail = CONNECTED.format(mpiexec=jobs.MPICH.mpiexec, variables=VARIABLES[name])
    status, said, called = run(name, head + tail)
    assert status == 0, said
    records = RunFolder(tmp_path / "R").records
    assert len(records) == 1 + 3 and all(one.status == "measured" and one.verified for one in records)
    assert set(called.splitlines()) == {line}
    if name == "flux":
        assert set((tmp_path / "log.tasks").read_text().splitlines()) == {"GPUs all cores all"}


def test_tasks_that_no_pmi_connects(run: Run, tmp_path: Path) -> None:
    """Catches a run of single ranks beside each other, and a message that does not say what srun lacks."""
    status, said, _ = run("srun", SRUN + APART)
    assert status == 2
    assert "the 2 ranks did not start: " in said and "a launcher started 2 ranks" in said
    assert "hint: srun --mpi=list" in said
    assert not (tmp_path / "R").exists()
