"""Application patterns between real ranks: every word as one rank computes it, and a rank that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import halo_peer
import loop_peer
import mpi_peer
import particles_peer
from byteways.record.run_folder import RunFolder
from particle_trips import TRIPS, messages_of
from tests.mpi import jobs
from tests.mpi.test_runs import environment, kill_a_rank, ranks_of

SWEEP = """
[[sweep]]
name = "{what}"
interface = "{what}"
pattern = "{what}"
source = "cpu*:pageable"
destination = "cpu*:pageable"
executor = "cpu*"
size = {size}
options = {{ {options} }}
"""
HEAD = 'name = "toy"\ntitle = "Applications"\nrounds = 1\nprecision = 0.5\ncase_budget_s = {}\n'
BOTH = 'timed = ["iteration", "exchange"]'
#: Of one rank's particles or cells.
SMALL = '"16KiB"'


def command(
    installation: jobs.Installation, folder: Path, text: str, budget_s: float, ranks: int
) -> list[str]:
    (folder / "toy.toml").write_text(HEAD.format(budget_s) + text, encoding="utf-8")
    launcher = f"{installation.mpiexec} -n {{ranks}}"
    program = [sys.executable, "-m", "byteways", "run", str(folder / "toy.toml"), "--out", str(folder / "R")]
    return [*program, "--ranks", str(ranks), "--launcher", launcher, "--no-report"]


@pytest.mark.parametrize("installation", jobs.RUNS, ids=lambda each: each.name)
def test_every_word_is_as_one_rank_computes_it(installation: jobs.Installation, tmp_path: Path) -> None:
    """Catches ranks that exchange with others than their neighbours, and messages that MPI mixes up."""
    jobs.require(installation)
    text = SWEEP.format(what="halo", size=SMALL, options=f"{BOTH}, columns = 2")
    packing = 'packing = ["fused", "original"]'
    text += SWEEP.format(what="halo", size=SMALL, options=f"columns = 4, fields = 6, {packing}").replace(
        'name = "halo"', 'name = "packing"'
    )
    text += SWEEP.format(what="particles", size=SMALL, options=f'{BOTH}, packing = "original"')
    done = subprocess.run(
        command(installation, tmp_path, text, 0.02, 4),
        env={**environment(tmp_path), **jobs.SHARING_CORES},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = RunFolder(tmp_path / "R").records
    assert len(found) == 2 + 2 + 2
    for record in found:
        assert record.status == "measured" and record.verified, record
        assert record.counts == record.options.get("timed", "iteration")
        assert record.latency_ns is not None and record.latency_ns > 0


def test_plain_loop_sends_the_same_messages(tmp_path: Path) -> None:
    """Catches a rule of messages that benchmarks/particle_trips.py has otherwise than the native core."""
    jobs.require(jobs.MPICH)
    sizes = (131072, 4 << 20)
    text = SWEEP.format(what="particles", size=[*sizes], options='timed = "exchange"')
    words = command(jobs.MPICH, tmp_path, text, 0.02, 2)
    subprocess.run(words, env=environment(tmp_path), capture_output=True, timeout=100, check=True)
    for size, record in zip(sizes, RunFolder(tmp_path / "R").records, strict=True):
        trips = [messages_of(size, 0, trip) for trip in range(TRIPS)]
        told = [8 * message.words for messages in trips for message in messages]
        assert record.size_bytes == size and record.engine_evidence is not None
        assert record.engine_evidence.startswith(
            f"{len(told) // TRIPS} messages out of this rank and as many back, "
            f"of {min(told)} to {max(told)} bytes, "
            f"{sum(told) // TRIPS} bytes in all each way"
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "comparison", [mpi_peer.MPI, halo_peer.HALO, particles_peer.PARTICLES], ids=lambda each: each.loop
)
def test_plain_loop_and_byteways_take_turns(comparison: loop_peer.Comparison, tmp_path: Path) -> None:
    """Catches a loop that does not build or take its words, sums of it that are wrong, and a missing pair."""
    jobs.require(jobs.MPICH)
    cores = sorted(os.sched_getaffinity(0))
    prefix = f"{jobs.MPICH.mpiexec.parent}/"
    words = loop_peer.slices(comparison, prefix, tmp_path, [cores[0], cores[-1]], 0.002)
    waits = loop_peer.polling(prefix, tmp_path) if cores[0] != cores[-1] else {}
    done = subprocess.run(
        [str(jobs.MPICH.mpiexec), "-n", "2", *words, "--pairs", "1"],
        env={**environment(tmp_path), **waits},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    lines = (line.split() for line in done.stdout.splitlines() if line.startswith(loop_peer.MARK))
    pairs = [words for _, *words in lines]
    assert [(kind, int(size)) for kind, size, _, _ in pairs] == list(comparison.operations)
    assert all(float(ours_ns) > 0 and float(theirs_ns) > 0 for _, _, ours_ns, theirs_ns in pairs)


@pytest.mark.slow
def test_a_rank_killed_in_the_middle_of_a_halo_costs_one_case(tmp_path: Path) -> None:
    """Catches neighbours that wait for ever, and a rank that is not named."""
    jobs.require(jobs.MPICH)
    text = SWEEP.format(what="halo", size=SMALL, options="depth_cells = [1, 2], fields = [1, 2, 3]")
    victim = kill_a_rank(command(jobs.MPICH, tmp_path, text, 0.05, 2), tmp_path, after=2)
    found = RunFolder(tmp_path / "R").records
    lost = [record for record in found if record.status != "measured"]
    assert len(found) == 6 and [record.status for record in lost] == ["lost"]
    assert f"process {victim} on {os.uname().nodename}" in (lost[0].reason or "")
    assert ranks_of(tmp_path) == []
