"""The worker's own process and parts: start, requests, buffers, outcomes, health, limits."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways import _core
from byteways.base.errors import BytewaysError
from byteways.base.settings import check_settings, gpus_wanted, isas_of, kernel_cache, worker_command
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interfaces import INTERFACES
from byteways.machine.model import Capabilities
from byteways.measuring.conduct.process import WorkerLost, WorkerProcess
from byteways.measuring.shared.host_memory import host_memory_bytes
from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.work.buffer_pool import BufferPool
from tests.asked import asked

CPU = Buffer("cpu0", "pageable")


def case(
    interface: str = "memcpy", pattern: str = "unidirectional", flows: int = 1, size: int = 65536, **more: Any
) -> Case:
    return Case(interface, pattern, (Flow(CPU, CPU, "cpu0"),) * flows, size, "warm", more.pop("options", {}))


def request(what: Case, **fields: Any) -> dict[str, Any]:
    return {**asked(what, budget_s=0.05, precision=0.05).to_json(), **fields}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """The real worker with the native core."""
    process = WorkerProcess(tmp_path_factory.mktemp("worker") / "log", {"BYTEWAYS_GPUS": "0"})
    yield process
    process.stop()


def test_probe_describes_the_host(worker: WorkerProcess) -> None:
    """Would catch a capability that the planner asks for and the worker does not tell."""
    answer = worker.ask({"do": "probe"}, 60)
    capabilities = answer["capabilities"]
    assert capabilities["devices"]["cpu0"]["runtime"] == "host"
    assert capabilities["memory"]["cpu0"]["pageable"]["available"]
    assert set(capabilities["interface"]["cpu0"]) == set(INTERFACES)
    assert capabilities["interface"]["cpu0"]["memcpy"] == {"available": True, "reason": ""}
    assert capabilities["interface"]["cpu0"]["copy"] == {
        "available": False,
        "reason": "copy is executed by a GPU",
    }
    assert capabilities["host_loops"] == {"isa": _core.host_isa(), "compiler": _core.COMPILER}
    assert 0 < capabilities["host_memory_bytes"] <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert capabilities["host_access"] == {}
    recorded_before = {name: told for name, told in capabilities.items() if name != "host_access"}
    assert Capabilities.from_json(capabilities) == Capabilities.from_json(recorded_before)
    assert answer["method_version"] >= 1


@pytest.mark.parametrize(
    "what",
    [
        case(),
        case("memcpy-mt", options={"threads": 2}),
        case(pattern="bidirectional", flows=2),
        case("pointer-chase"),
    ],
)
def test_measures_on_the_host(worker: WorkerProcess, what: Case) -> None:
    """Would catch an outcome that is no record, or figures that contradict each other."""
    outcome = worker.ask(request(what), 60)["outcome"]
    assert outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"] is True
    assert outcome["time_ns"]["n"] == len(outcome["samples_ns"]) >= 3
    if what.interface == "pointer-chase":
        assert outcome["latency_ns"] == outcome["time_ns"]["median"]
        return
    total = len(what.flows) * what.size_bytes / outcome["time_ns"]["median"] * 1e9
    assert outcome["bandwidth_bytes_per_s"] == pytest.approx(total, rel=1e-5)
    if "threads" in what.options:
        assert outcome["launch"]["blocks"] == 2
    assert json.dumps(outcome, allow_nan=False)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (case("kernel"), "kernel"),
        (case("stream-copy", size=12), "8 bytes"),
        (case(options={"colour": 1}), "unknown option colour"),
        (Case("memcpy", "unidirectional", (Flow(Buffer("cpu7", "pageable"), CPU, "cpu0"),), 64), "cpu7"),
        (Case("memcpy", "unidirectional", (Flow(Buffer("cpu0", "device"), CPU, "cpu0"),), 64), "cpu0"),
    ],
)
def test_what_cannot_be_measured_fails_with_its_reason(worker: WorkerProcess, what: Case, said: str) -> None:
    """Would catch an exception that takes the worker down, or a failure without its cause."""
    answer = worker.ask(request(what), 60)
    assert answer["outcome"]["status"] == "failed"
    assert said in answer["outcome"]["reason"]
    assert "leaving" not in answer
    assert worker.ask(request(case("pointer-chase")), 60)["outcome"]["status"] == "measured"


def test_what_a_setting_takes_away_is_skipped_with_the_setting(worker: WorkerProcess) -> None:
    """Would catch a run that counts as failed because this machine refuses one of its settings."""
    flow = Flow(Buffer("cpu0", "device"), CPU, "cpu0")
    what = Case("memcpy", "unidirectional", (flow,), 64, environment={"SOME_SWITCH": "1"})
    outcome = worker.ask(request(what), 60)["outcome"]
    assert outcome["status"] == "skipped"
    assert outcome["reason"].startswith("with SOME_SWITCH=1: ")


def test_more_memory_than_there_is(worker: WorkerProcess) -> None:
    """Would catch a worker that dies of a buffer it cannot have."""
    answer = worker.ask(request(case(size=1 << 45)), 60)
    assert answer["outcome"]["status"] == "failed"
    assert worker.ask(request(case("pointer-chase"), fresh=True), 60)["outcome"]["status"] == "measured"


def test_worker_imports_the_standard_library_only() -> None:
    """Would catch a heavy import on the way of every worker of every rank."""
    program = (
        "import sys, byteways.measuring.work.worker, byteways.measuring.work.measuring, byteways.measuring.work.capabilities;"
        "heavy = ('rich', 'typer', 'jinja2', 'numpy', 'msgspec');"
        "print([m for m in sys.modules if m.split('.')[0] in heavy])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_worker_of_another_parent_leaves(tmp_path: Path) -> None:
    """The conductor died before the worker asked to die with it; would catch the orphan."""
    path = str(tmp_path / "socket")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    done = subprocess.run([*worker_command(), "--socket", path, "--parent", str(os.getppid())], timeout=240)
    assert done.returncode == 1
    listener.settimeout(0.1)
    with pytest.raises(TimeoutError):
        listener.accept()


def test_program_that_is_not_there(tmp_path: Path) -> None:
    """Would catch a traceback when the interpreter has gone away (an environment deleted under a run)."""
    with pytest.raises(WorkerLost, match=r"worker did not start: /nowhere/python: No such file"):
        WorkerProcess(tmp_path / "log", command=["/nowhere/python"])


class Held(SimpleNamespace):
    """A buffer that can be watched."""


class FakeSession:
    """Allocates from a fixed amount of memory."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.made = 0

    def allocate(
        self, device: str, memory: str, bytes: int, first_touch: str, *, user: str = ""
    ) -> SimpleNamespace:
        if bytes > self.room:
            raise _core.OutOfMemoryError
        self.room -= bytes
        self.made += 1
        held = Held(device=device, memory=memory, bytes=bytes, first_touch=first_touch)
        weakref.finalize(held, self._free, bytes)
        return held

    def _free(self, bytes: int) -> None:
        self.room += bytes


def no_cache(device: str) -> int:
    return 0


LARGE = 128 << 20  # above this a buffer has the size of its case


def test_arena_keeps_locked_memory_over_rounds() -> None:
    """Would catch GPU memory of an earlier round in the next one, and rounds spent on locking pages."""
    session = FakeSession(1 << 40)
    arena = BufferPool(session, {})  # type: ignore[arg-type]
    ends = Buffer.parse("cpu0:pinned"), Buffer.parse("gpu0:device")
    copied = Case("copy", "unidirectional", (Flow(*ends, "gpu0"),), LARGE)
    ((locked, device),) = arena.take(copied, no_cache)
    arena.renew()
    ((again, anew),) = arena.take(copied, no_cache)
    assert again is locked
    assert anew is not device


def test_arena_keeps_to_its_share() -> None:
    """Would catch kept buffers that grow until the kernel kills the worker."""
    session = FakeSession(8 * LARGE)
    arena = BufferPool(session, {"cpu0": 8 * LARGE})  # type: ignore[arg-type]
    arena.take(case("pointer-chase", size=LARGE), no_cache)
    arena.take(case(size=2 * LARGE), no_cache)
    assert session.room == 4 * LARGE, "the first was dropped for the second"


def test_arena_drops_everything_when_memory_runs_out() -> None:
    """Would catch kept buffers, or half of a case's own, that cost a case which alone would fit."""
    session = FakeSession(8 * LARGE)
    arena = BufferPool(session, {})  # type: ignore[arg-type]
    arena.take(case("pointer-chase", size=4 * LARGE), no_cache)
    arena.take(case(size=4 * LARGE), no_cache)
    assert session.room == 0
    with pytest.raises(_core.OutOfMemoryError):
        arena.take(case(size=8 * LARGE), no_cache)


@pytest.mark.parametrize(
    ("lines", "files", "limit"),
    [
        ("0::/job/step\n", {"job/step/memory.max": "max", "job/memory.max": "4096"}, 4096),
        ("0::/job\n", {"job/memory.max": "8192", "memory.max": "max"}, 8192),
        ("0::/docker/abc\n", {"memory.max": "16384"}, 16384),  # the path is the host's
        ("5:cpu:/\n3:memory:/job\n", {"memory/job/memory.limit_in_bytes": "12288"}, 12288),
        ("3:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712"}, None),
        ("0::/\n", {}, None),
        (None, {}, None),
    ],
)
def test_memory_limits(tmp_path: Path, lines: str | None, files: dict[str, str], limit: int | None) -> None:
    """Control groups of both versions. Would catch a worker that plans with memory its job may not use."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    groups.mkdir()
    if lines is not None:
        (proc / "self" / "cgroup").write_text(lines)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text + "\n")
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert host_memory_bytes(proc, groups) == (limit or physical)


def test_library_directories(tmp_path: Path) -> None:
    """Would catch NVIDIA's Python packages or a named toolkit that is not searched, or folders that do not
    exist.
    """
    packages = tmp_path / "site-packages" / "nvidia" / "cuda_nvrtc" / "lib"
    toolkit = tmp_path / "toolkit" / "lib64"
    packages.mkdir(parents=True)
    toolkit.mkdir(parents=True)
    found = library_directories(
        {"CUDA_HOME": str(tmp_path / "toolkit")}, ["", str(tmp_path / "site-packages")]
    )
    assert found[:2] == [str(packages), str(toolkit)]
    assert all(Path(folder).is_dir() for folder in found)


def test_rocm_is_searched_newest_first(tmp_path: Path) -> None:
    """Would catch a ROCm that is named, installed or in a Python package, and not searched in its turn."""
    wheel, torch = tmp_path / "site" / "_rocm_sdk_core" / "lib", tmp_path / "site" / "torch" / "lib"
    installed = [
        tmp_path / "opt" / name / "lib" for name in ("rocm", "rocm-6.10.0", "rocm-6.4.3", "rocm-5.2.3")
    ]
    for folder in (wheel, torch, tmp_path / "own" / "lib", *installed):
        folder.mkdir(parents=True)
    found = library_directories({"ROCM_PATH": str(tmp_path / "own")}, [str(tmp_path / "site")], tmp_path)
    assert found == [str(folder) for folder in (wheel, tmp_path / "own" / "lib", *installed, torch)]


def test_instruction_sets_are_those_of_the_native_core(tmp_path: Path) -> None:
    """Would catch a hint that names what the worker then refuses."""
    cpuinfo = Path("/proc/cpuinfo")
    assert isas_of(cpuinfo.read_text(encoding="utf-8")) == _core.host_isas()
    for name in _core.host_isas():
        check_settings({"BYTEWAYS_ISA": name})
    older = tmp_path / "cpuinfo"
    older.write_text("processor\t: 0\nflags\t\t: fpu sse2 avx avx2 avx512f\n", encoding="utf-8")
    with pytest.raises(BytewaysError) as refused:
        check_settings({"BYTEWAYS_ISA": "avx512"}, older)
    assert refused.value.hint == "set it to sse2 or avx2, or unset it"
    check_settings({"BYTEWAYS_ISA": "avx2"}, older)
    assert isas_of("processor\t: 0\nFeatures\t: fp asimd evtstrm\n") == ["neon"]
    assert isas_of("processor\t: 0\nisa\t: rv64imafdcv\n") == ["generic"]


def test_settings() -> None:
    """Would catch a setting that is documented and ignored."""
    assert kernel_cache({"BYTEWAYS_CACHE": "/x"}) == Path("/x")
    assert kernel_cache({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/byteways/kernels")
    assert kernel_cache({"HOME": "/h"}) == Path("/h/.cache/byteways/kernels")
    assert (gpus_wanted({}), gpus_wanted({"BYTEWAYS_GPUS": "0"})) == (True, False)
    with pytest.raises(Exception, match="BYTEWAYS_GPUS is 'maybe'"):
        gpus_wanted({"BYTEWAYS_GPUS": "maybe"})
    assert worker_command({"BYTEWAYS_WORKER": "gdb --args 'my python'"}) == ("gdb", "--args", "my python")
