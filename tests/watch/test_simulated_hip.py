"""Programs of HIP on simulated GPUs: unchanged, with counts of their own and times of the model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from byteways.base.errors import ExitStatus
from byteways.ext.watch.folder import WatchFolder, read_watch_folder
from tests.cache import cached, version
from tests.cli.called import byteways
from tests.watch.programs import HERE, codes, compiled, watched

EXAMPLE = Path(__file__).parents[2] / "examples" / "watch" / "exchange_hip.c"
MACHINE = "frontier-mi250x"
MIB = 1 << 20


def linked(name: str, source: Path, soname: str = "libamdhip64.so.6") -> Path:
    """A program that is linked with a HIP of this name, which is not there when it runs."""
    stub = compiled(soname, [HERE / "hip_stub.c"], "-shared", "-fPIC", f"-Wl,-soname,{soname}")

    def make(path: Path) -> None:
        subprocess.run(["gcc", "-O1", "-Wall", source, stub, "-o", path], check=True)

    return cached(f"{name}-{soname}", [version("gcc"), "-O1", source, stub], make)


def run(folder: Path, *words: Path | str) -> tuple[subprocess.CompletedProcess[str], WatchFolder]:
    return watched(folder / "W", *words, settings=("--machine", MACHINE))


@pytest.mark.parametrize("soname", ["libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"])
def test_the_example_counts_as_it_is_written(tmp_path: Path, soname: str) -> None:
    """Catches a copy that is counted twice or not, in the wrong memory, and GPUs that are renumbered."""
    done, found = run(tmp_path, linked("exchange", EXAMPLE, soname))
    assert done.returncode == 0 and done.stdout.startswith("50 steps"), done.stderr
    assert codes(found) == [] and found.watched.processes[0].collectors == ["hip"]
    copies = {
        (one.method, one.source.memory, one.destination.memory, one.size_to): one
        for one in found.watched.bins
        if one.what == "copy"
    }
    assert {key: (one.count, one.bytes) for key, one in copies.items()} == {
        ("hipMemcpy", "pageable", "device", 4 * MIB): (50, 200 * MIB),
        ("hipMemcpyAsync", "pinned", "device", MIB // 4): (50, 50 * MIB // 4),
        ("hipMemcpyPeerAsync", "device", "device", 4 * MIB): (50, 200 * MIB),
        ("hipMemcpyAsync", "device", "pinned", 4 * MIB): (50, 200 * MIB),
    }
    peer = copies["hipMemcpyPeerAsync", "device", "device", 4 * MIB]
    assert (peer.source.device, peer.destination.device) == ("gpu0", "gpu1")
    waits = [one for one in found.watched.bins if one.what == "synchronisation"]
    assert [(one.method, one.count) for one in waits] == [("hipStreamSynchronize", 50)]
    made = sum(one.count for one in found.watched.bins if one.what == "allocation")
    gone = sum(one.count for one in found.watched.bins if one.what == "release")
    assert (made, gone) == (4, 4)


def test_times_are_those_of_the_model(tmp_path: Path) -> None:
    """Catches times of this machine, which no two runs have in common."""
    program = linked("exchange", EXAMPLE)
    runs = [run(tmp_path / name, program)[1] for name in ("one", "two")]
    times = [sorted((one.method, one.size_to, one.time_ns) for one in found.watched.bins) for found in runs]
    assert times[0] == times[1]
    assert all(time for _, _, time in times[0])


def test_the_folder_and_the_table_say_that_it_is_simulated(tmp_path: Path) -> None:
    """Catches simulated times that look measured."""
    done, found = run(tmp_path, linked("exchange", EXAMPLE))
    manifest = found.manifest
    assert manifest.simulated and manifest.machine_model and manifest.machine_model["name"] == MACHINE
    assert manifest.topology and manifest.topology["host"] == MACHINE
    assert "SIMULATED" in done.stderr and MACHINE in done.stderr
    page = tmp_path / "page.html"
    shown = byteways(tmp_path, "watch", "--read", "W", "--html", str(page))
    assert shown.returncode == 0 and shown.stdout.startswith("SIMULATED")
    assert "SIMULATED" in page.read_text("utf-8")
    as_json = json.loads(byteways(tmp_path, "watch", "--read", "W", "--json").stdout)
    assert as_json["manifest"]["simulated"] is True


def test_it_is_compared_with_its_machine(tmp_path: Path) -> None:
    """Catches a simulated program beside a run of this machine, which has none of its GPUs."""
    done, _ = watched(
        tmp_path / "W",
        linked("exchange", EXAMPLE),
        settings=("--machine", MACHINE, "--measure", "30s", "--json"),
    )
    assert done.returncode == 0, done.stderr
    text = done.stderr[done.stderr.index("\n{\n") :]
    found = json.loads(text)["advice"]
    assert found["simulated"] is True
    assert any(one["best"] for one in found["bins"])


def test_memory_of_every_origin(tmp_path: Path) -> None:
    """Catches memory that a program cannot access, and bytes that are lost on the way."""
    done, found = run(tmp_path, linked("own_memory", HERE / "own_memory.c"))
    assert (done.returncode, done.stdout) == (0, "all bytes\n"), done.stderr
    assert codes(found) == []
    # Memory was registered: where an address is in no allocation, it may be that.
    sources = {one.source.memory for one in found.watched.bins if one.method == "hipMemcpy"}
    assert sources == {"pinned", "device", None}


def test_copies_by_kernels_of_the_runtime(tmp_path: Path) -> None:
    """Catches copies within a GPU that are left out, or have sizes that nobody observed."""
    done, found = run(tmp_path, linked("within", HERE / "within.c"))
    assert (done.returncode, done.stdout) == (0, "all bytes\n"), done.stderr
    unsized = [one for one in found.watched.bins if not one.sized]
    assert {(one.what, one.method, one.count, one.bytes) for one in unsized} == {
        ("copy", "hipMemcpy", 7, 0),
        ("set", "hipMemset", 3, 0),
    }
    assert all(one.call_ns for one in unsized)


def test_a_program_without_hip(tmp_path: Path) -> None:
    """Catches an empty table that looks like a program that copies nothing."""
    _, found = run(tmp_path, "true")
    assert codes(found) == ["hip-unused", "no-snapshots"]


@pytest.mark.parametrize(
    "words", [("--machine", "h200-x4"), ("--machine", MACHINE, "--set", "A=1,2"), ("--machine", "nowhere")]
)
def test_what_cannot_be_simulated_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Catches a program that runs on something else than what was asked for."""
    refused = byteways(tmp_path, "watch", "-o", "W", *words, "--", "true")
    assert refused.returncode == ExitStatus.USAGE and refused.stderr.startswith("error:")
    assert not (tmp_path / "W").exists()


def test_nothing_of_the_simulation_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a folder of libraries that stays."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    done, _ = run(tmp_path, "true")
    assert done.returncode == 0 and [*(tmp_path / "temporary").iterdir()] == []
    assert read_watch_folder(tmp_path / "W").manifest.exit_status == 0
