"""What a process has loaded is noticed where its data cannot show it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.work import loaded_libraries, mpi_gpu_setup
from byteways.measuring.work.loaded_libraries import second_runtime
from byteways.measuring.work.mpi_gpu_setup import path_of_gpu_messages
from byteways.measuring.work.rank_measuring import RankMeasurer

CRAY = "MPI VERSION : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2) (mpich ABI)"
SUPPORT, IPC = mpi_gpu_setup.GPU_SUPPORT, mpi_gpu_setup.GPU_IPC
MAPPED = "7f00-7f01 r-xp 00000000 {} {}    {}"


def message(*ends: str, environment: dict[str, str] | None = None, **options: str) -> Case:
    source, destination = (Buffer.parse(f"{rank}/{end}") for rank, end in enumerate(ends))
    flow = Flow(source, destination, source.device)
    return Case("mpi", "unidirectional", (flow,), 4096, "warm", dict(options), environment or {})


GPUS = message("gpu0:device", "gpu1:device")
CPUS = message("cpu0:pageable", "cpu1:pageable")
HALF = message("cpu0:pageable", "gpu1:device")


@pytest.mark.parametrize(
    ("case", "files", "count"),
    [
        (GPUS, [("08:01", 7, "/opt/rocm/lib/libamdhip64.so.6"), ("08:01", 9, "/a b/libamdhip64.so")], 1),
        (GPUS, [("08:01", 7, "/opt/rocm/lib/libamdhip64.so.6"), ("08:02", 7, "/torch/libamdhip64.so")], 1),
        (GPUS, [("08:01", 7, "/opt/rocm/lib/libamdhip64.so.6"), ("08:01", 7, "/rocm/libamdhip64.so.6")], 0),
        (GPUS, [("08:01", 7, "/opt/libamdhip64.so.6"), ("08:01", 9, "/opt/libhiprtc.so.6")], 0),
        (CPUS, [("08:01", 7, "/opt/rocm/lib/libamdhip64.so.6"), ("08:01", 9, "/torch/libamdhip64.so")], 0),
    ],
)
def test_copies_of_a_runtime(case: Case, files: list[tuple[str, int, str]], count: int) -> None:
    """Catches one file with two names taken for two, two files for one, and a warning on host memory."""
    lines = [MAPPED.format(*file) for file in files] * 2
    found = second_runtime(case, "\n".join([*lines, "7f02-7f03 rw-p 00000000 00:00 0"]))
    assert len(found) == count
    for warning in found:
        assert warning.id == "two-runtimes"
        assert warning.observed == ", ".join(sorted(path for *_, path in files))


def test_a_process_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a measurement that is lost because nobody can say what was loaded."""

    def absent() -> str:
        raise FileNotFoundError("/proc/self/maps")

    monkeypatch.setattr(loaded_libraries, "mapped_files", absent)
    assert second_runtime(GPUS) == []


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_that_a_process_has_loaded(copies: int, tmp_path: Path) -> None:
    """Catches a reader that does not see what the linker maps; one copy is what the advice leaves."""
    files = [tmp_path / str(copy) / "libamdhip64.so.6" for copy in range(copies)]
    for file in files:
        file.parent.mkdir()
        subprocess.run(["cc", "-shared", "-x", "c", "-o", file, "-"], input=b"int here;", check=True)
    program = (
        "import ctypes, sys; libraries = [ctypes.CDLL(file) for file in sys.argv[1:]]\n"
        "from byteways.cases.case import Buffer, Case, Flow\n"
        "from byteways.measuring.work.loaded_libraries import second_runtime\n"
        "end = Buffer.parse('gpu0:device')\n"
        "print(*(w.observed for w in second_runtime(Case('copy', 'unidirectional', "
        "(Flow(end, end, 'gpu0'),), 8))), end='')"
    )
    done = subprocess.run([sys.executable, "-c", program, *files], capture_output=True, text=True, check=True)
    assert done.stdout == (", ".join(map(str, files)) if copies > 1 else "")


@pytest.mark.parametrize(
    ("case", "version", "environment", "warning"),
    [
        (GPUS, CRAY, {}, "no-gpu-support"),
        (GPUS, CRAY, {SUPPORT: "0"}, "no-gpu-support"),
        (HALF, CRAY, {SUPPORT: "yes"}, "no-gpu-support"),
        (GPUS, CRAY, {SUPPORT: "1"}, None),
        (GPUS, CRAY, {SUPPORT: "1", IPC: "0"}, "staged-messages"),
        (HALF, CRAY, {SUPPORT: "1", IPC: "0"}, None),
        (CPUS, CRAY, {}, None),
        (message("gpu0:device", "gpu1:device", staging="pinned"), CRAY, {}, None),
        (message("gpu0:device", "gpu1:device", environment={IPC: "0"}), CRAY, {SUPPORT: "1", IPC: "0"}, None),
        (GPUS, "MPICH Version: 5.0.2", {IPC: "0"}, None),
        (GPUS, "Open MPI v5.0.11", {}, None),
    ],
)
def test_path_of_gpu_messages(
    case: Case, version: str, environment: dict[str, str], warning: str | None
) -> None:
    """Catches copies by a CPU and staging recorded as GPU-aware MPI, and a warning on what a case asks for
    or on another library.
    """
    found = path_of_gpu_messages(case, version, environment)
    assert [each.id for each in found] == ([warning] if warning else [])
    for each in found:  # the required setting is one that ends the warning
        name, _, value = str(each.required).partition("=")
        assert path_of_gpu_messages(case, version, {**environment, SUPPORT: "1", name: value}) == []


def test_a_rank_asks_its_own_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a warning that no record gets, and one on a simulated machine."""
    monkeypatch.delenv(SUPPORT, raising=False)
    mpi = SimpleNamespace(report=SimpleNamespace(version=CRAY))

    def about(**fields: object) -> list[str]:
        rank = SimpleNamespace(**{"_mpi": mpi, "_simulator": "", **fields})
        return [each["id"] for each in RankMeasurer._about_mpi(rank, GPUS)]  # type: ignore[arg-type]

    assert about() == ["no-gpu-support"]
    assert about(_simulator="/simulator.so") == about(_mpi=None) == []
