"""The example programs of `byteways watch`: they are right, and a run for them predicts a setting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.record.run_folder import RunFolder
from tests.mpi import jobs
from tests.watch.programs import compiled

EXAMPLES = jobs.ROOT / "examples" / "watch"
#: A small job of each, and how many messages of each size its two ranks send together; None: at random.
PROGRAMS = {
    "halo": (("64", "4", "20"), {64 * 8: 2 * 20}),
    "particles": (("40", "10", "20"), None),
    "fields": (("separate", "3", "16", "20"), {16 * 8: 2 * 3 * 20}),
    "fields packed": (("packed", "3", "16", "20"), {3 * 16 * 8: 2 * 20}),
}


def example(installation: jobs.Installation, name: str) -> Path:
    """A program of examples/watch for an MPI."""
    prefix = installation.mpiexec.parents[1]
    [library] = (prefix / "lib").glob("libmpi.so.*")
    options = (f"-I{prefix / 'include'}", f"-Wl,-rpath,{library.parent}")
    return compiled(f"{name}-{installation.name}", [EXAMPLES / f"{name}.c", library], *options)


def watch(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "byteways", "watch", *map(str, words)]
    return subprocess.run(
        command,
        env={**os.environ, **jobs.ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * jobs.PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("which", PROGRAMS)
@pytest.mark.parametrize("installation", jobs.BOTH, ids=lambda each: each.name)
def test_examples_send_what_they_say(installation: jobs.Installation, which: str, tmp_path: Path) -> None:
    """Catches an example whose exchange is wrong, and messages that are not counted."""
    jobs.require(installation)
    name, (words, sizes) = which.partition(" ")[0], PROGRAMS[which]
    done = watch(
        "-o",
        tmp_path / "W",
        "--json",
        "--",
        installation.mpiexec,
        "-n",
        "2",
        example(installation, name),
        *words,
    )
    assert done.returncode == 0, done.stderr
    bins = json.loads(done.stderr)["watched"]["bins"]
    sent: dict[int, int] = {}
    for one in bins:
        if one["method"] == "MPI_Isend":
            assert one["size_from"] == one["size_to"]
            sent[one["size_to"]] = sent.get(one["size_to"], 0) + one["count"]
    if sizes is not None:
        assert sent == sizes
    else:  # what rank 0 says has crossed has been sent
        crossed = int(done.stdout.split()[0])
        assert sum(size * count for size, count in sent.items() if size >= 64) == 64 * crossed


@pytest.mark.parametrize("words", [("fields",), ("particles", "0"), ("halo", "0")])
def test_examples_refuse_what_they_cannot_do(words: tuple[str, ...]) -> None:
    """Catches a crash for a number of 0."""
    jobs.require(jobs.MPICH)
    job = jobs.run(jobs.MPICH, 2, [example(jobs.MPICH, words[0]), *words[1:]])
    assert job.status == 2


@pytest.mark.slow
def test_a_setting_is_measured_and_predicted(tmp_path: Path) -> None:
    """Catches a run that is measured by another launcher, or without the setting, and a table without it."""
    jobs.require(jobs.OPEN_MPI)
    done = watch(
        *(
            "-o",
            tmp_path / "W",
            "--set",
            r"OMPI_MCA_btl=self\,tcp",
            "--repeat",
            "1",
            "--measure",
            "90s",
            "--",
        ),
        *(jobs.OPEN_MPI.mpiexec, "-n", "2", example(jobs.OPEN_MPI, "fields"), "packed", "2", "512", "50"),
    )
    assert done.returncode == 0, done.stderr
    run = RunFolder(tmp_path / "W" / "measured")
    assert run.manifest["options"]["launcher"] == str(jobs.OPEN_MPI.mpiexec)
    kinds = {(one.pattern, one.size_bytes, one.environment.get("OMPI_MCA_btl")) for one in run.records}
    assert kinds == {("bidirectional", 8192, None), ("bidirectional", 8192, "self,tcp")}
    [plain, changed] = json.loads((tmp_path / "W" / "trials.json").read_text())["changes"]
    assert plain["predicted"] is None and changed["predicted"]["known"] > 0.9
    ratio = changed["predicted"]["ratio"]
    assert 0 < ratio["low"] <= ratio["value"] <= ratio["high"]
