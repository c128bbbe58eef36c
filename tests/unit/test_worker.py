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

from byteways.plan.case import Buffer, Case, Flow
from byteways.results.record import Record
from byteways.run.arena import Arena
from byteways.run.health import HealthMonitor, throttle_names
from byteways.run.host_memory import host_memory_bytes
from byteways.run.library_paths import library_directories
from byteways.run.outcome import misplaced, outcome_of
from byteways.run.process import WorkerLost, WorkerProcess
from byteways.settings import gpus_wanted, kernel_cache, worker_command

CPU = Buffer("cpu0", "pageable")


def case(
    interface: str = "memcpy", pattern: str = "one-way", flows: int = 1, size: int = 65536, **more: Any
) -> Case:
    return Case(interface, pattern, (Flow(CPU, CPU, "cpu0"),) * flows, size, "warm", more.pop("options", {}))


def request(what: Case, **fields: Any) -> dict[str, Any]:
    asked = {
        "do": "measure",
        "case": what.identity(),
        "budget_s": 0.05,
        "precision": 0.05,
        "key": 1,
        "fresh": False,
    }
    return {**asked, **fields}


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
    assert capabilities["agents"]["cpu0"]["runtime"] == "host"
    assert capabilities["memory"]["cpu0"]["pageable"]["available"]
    assert set(capabilities["interface"]["cpu0"]) == {
        "memcpy", "memcpy-mt", "memcpy-stream", "copy", "kernel", "kernel-bulk", "chase",
    }  # fmt: skip
    assert capabilities["interface"]["cpu0"]["memcpy"] == {"available": True, "reason": ""}
    assert capabilities["interface"]["cpu0"]["copy"] == {
        "available": False,
        "reason": "copy is executed by a GPU",
    }
    assert 0 < capabilities["host_memory_bytes"] <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert answer["method_version"] >= 1


@pytest.mark.parametrize(
    "what",
    [case(), case("memcpy-mt", options={"threads": 2}), case(pattern="two-way", flows=2), case("chase")],
)
def test_measures_on_the_host(worker: WorkerProcess, what: Case) -> None:
    """Would catch an outcome that is no record, or figures that contradict each other."""
    outcome = worker.ask(request(what), 60)["outcome"]
    assert outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"] is True
    assert outcome["time_ns"]["n"] == len(outcome["samples_ns"]) >= 3
    if what.interface == "chase":
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
        (case(size=12), "8 bytes"),
        (case(options={"colour": 1}), "unknown option colour"),
        (Case("memcpy", "one-way", (Flow(Buffer("cpu7", "pageable"), CPU, "cpu0"),), 64), "cpu7"),
        (Case("memcpy", "one-way", (Flow(Buffer("cpu0", "device"), CPU, "cpu0"),), 64), "cpu0"),
    ],
)
def test_what_cannot_be_measured_fails_with_its_reason(worker: WorkerProcess, what: Case, said: str) -> None:
    """Would catch an exception that takes the worker down, or a failure without its cause."""
    answer = worker.ask(request(what), 60)
    assert answer["outcome"]["status"] == "failed"
    assert said in answer["outcome"]["reason"]
    assert "leaving" not in answer
    assert worker.ask(request(case("chase")), 60)["outcome"]["status"] == "measured"


def test_more_memory_than_there_is(worker: WorkerProcess) -> None:
    """Would catch a worker that dies of a buffer it cannot have."""
    answer = worker.ask(request(case(size=1 << 45)), 60)
    assert answer["outcome"]["status"] == "failed"
    assert worker.ask(request(case("chase"), fresh=True), 60)["outcome"]["status"] == "measured"


def test_worker_imports_the_standard_library_only() -> None:
    """Would catch a heavy import on the way of every worker of every rank."""
    program = (
        "import sys, byteways.run.worker, byteways.run.measuring, byteways.run.capabilities;"
        "print([m for m in sys.modules if m.split('.')[0] in ('rich', 'typer', 'plotly', 'jinja2', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_worker_of_another_parent_leaves(tmp_path: Path) -> None:
    """The conductor died before the worker asked to die with it; would catch the orphan."""
    path = str(tmp_path / "socket")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    done = subprocess.run([*worker_command(), "--socket", path, "--parent", str(os.getppid())], timeout=20)
    assert done.returncode == 1
    listener.settimeout(0.1)
    with pytest.raises(TimeoutError):
        listener.accept()


def test_program_that_is_not_there(tmp_path: Path) -> None:
    """Would catch a traceback when the interpreter has gone away (an environment deleted under a run)."""
    with pytest.raises(WorkerLost, match=r"worker did not start: /nowhere/python: No such file"):
        WorkerProcess(tmp_path / "log", command=["/nowhere/python"])


class OutOfMemoryError(Exception):
    pass


class Held(SimpleNamespace):
    """A buffer that can be watched."""


class FakeSession:
    """Allocates from a fixed amount of memory."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.made = 0

    def allocate(self, agent: str, memory: str, bytes: int, first_touch: str) -> SimpleNamespace:
        if bytes > self.room:
            raise OutOfMemoryError
        self.room -= bytes
        self.made += 1
        held = Held(agent=agent, memory=memory, bytes=bytes, first_touch=first_touch)
        weakref.finalize(held, self._free, bytes)
        return held

    def _free(self, bytes: int) -> None:
        self.room += bytes


CORE = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)


def no_cache(agent: str) -> int:
    return 0


LARGE = 128 << 20  # above this a buffer has the size of its case


def test_arena_reuses_buffers_of_the_same_size() -> None:
    """Would catch a GiB that is allocated and touched anew for every case, or flows that share a buffer."""
    session = FakeSession(1 << 40)
    arena = Arena(CORE, session, {})  # type: ignore[arg-type]
    two_way = case(pattern="two-way", flows=2, size=LARGE)
    first = arena.take(two_way, no_cache)
    assert len({id(buffer) for pair in first for buffer in pair}) == 4
    assert arena.take(two_way, no_cache) == first
    assert session.made == 4
    arena.take(case(size=2 * LARGE), no_cache)
    assert session.made == 6
    ((walked, same),) = arena.take(case("chase"), no_cache)
    assert walked is same
    arena.clear()
    del first, walked, same
    assert session.room == 1 << 40


def test_arena_rotates_over_twice_the_cache() -> None:
    """Would catch a cold case whose data stay in the cache, and sizes that each ask for a buffer of their
    own.
    """
    session = FakeSession(1 << 40)
    arena = Arena(CORE, session, {})  # type: ignore[arg-type]
    for size in (4096, 65536, 1 << 20):
        ((source, _),) = arena.take(case(size=size), lambda agent: 50 << 20)
        assert source.bytes > 2 * (50 << 20)
        assert source.bytes % size == 0
    assert session.made == 2


def test_arena_keeps_to_its_share() -> None:
    """Would catch kept buffers that grow until the kernel kills the worker."""
    session = FakeSession(8 * LARGE)
    arena = Arena(CORE, session, {"cpu0": 8 * LARGE})  # type: ignore[arg-type]
    arena.take(case("chase", size=LARGE), no_cache)
    arena.take(case(size=2 * LARGE), no_cache)
    assert session.room == 4 * LARGE, "the first was dropped for the second"


def test_arena_drops_everything_when_memory_runs_out() -> None:
    """Would catch kept buffers, or half of a case's own, that cost a case which alone would fit."""
    session = FakeSession(8 * LARGE)
    arena = Arena(CORE, session, {})  # type: ignore[arg-type]
    arena.take(case("chase", size=4 * LARGE), no_cache)
    arena.take(case(size=4 * LARGE), no_cache)
    assert session.room == 0
    with pytest.raises(OutOfMemoryError):
        arena.take(case(size=8 * LARGE), no_cache)


def measurement(flows: int = 1, **fields: Any) -> Any:
    """A _core.Measurement as the native core fills it."""
    good = SimpleNamespace(ok=True, checked_bytes=65536, bad_count=0, first_offset_bytes=0, expected=0, got=0)
    each = [
        SimpleNamespace(
            bytes_per_s=1e9 * (index + 1), whole_bytes_per_s=9e8, start_skew_ns=10.0 * index,
            verification=good, blocks=0, threads=0,
        )
        for index in range(flows)
    ]  # fmt: skip
    summary = SimpleNamespace(
        median=1000.0, ci95=(990.0, 1010.0), min=980.0, max=1020.0, mean=1000.5, sd=5.0, n=3
    )
    filled = {
        "samples_ns": [999.12345678, 1000.0, 1001.0], "time_ns": summary, "batch": 4, "slope": False,
        "gated": True, "verified": True, "verified_every_sample": False, "timed_by": "device-events",
        "timer_resolution_ns": 32.0,
        "clock_alignment_ns": 5.0, "window_ns": 4e6, "whole_ns": 5e6, "engine": "copy-engine",
        "engine_evidence": "counter", "flows": each, "warnings": [], "distinct_source_bytes": 1,
        "distinct_destination_bytes": 2,
    }  # fmt: skip
    return SimpleNamespace(**{**filled, **fields})


def buffers(flows: int = 1, domains: dict[int, int] | None = None) -> list[Any]:
    buffer = SimpleNamespace(page_bytes=4096, placement=lambda: domains or {})
    return [(buffer, buffer)] * flows


def gpu_case(pattern: str, *paths: str) -> Case:
    flows = []
    for path in paths:
        source, destination = path.split(">")
        flows.append(Flow(Buffer(source, "device"), Buffer(destination, "device"), source))
    return Case("copy", pattern, tuple(flows), 1 << 20)


def test_outcome_of_one_flow() -> None:
    """Would catch a bandwidth that is not bytes over the median time, or samples with digits no timer has."""
    outcome = outcome_of(gpu_case("one-way", "gpu0>gpu1"), measurement(), buffers())
    assert outcome["bandwidth_bytes_per_s"] == pytest.approx((1 << 20) / 1000 * 1e9, rel=1e-6)
    assert outcome["directions"] == {"gpu0>gpu1": outcome["bandwidth_bytes_per_s"]}
    assert outcome["counts"] == "one-direction"
    assert outcome["samples_ns"][0] == 999.1235
    assert outcome["verification"] == "first and last sample"
    assert "whole_bytes_per_s" not in outcome


def test_outcome_of_concurrent_flows() -> None:
    """Would catch a sum that counts disturbers, or a direction that is missing."""
    two_way = outcome_of(gpu_case("two-way", "gpu0>gpu1", "gpu1>gpu0"), measurement(2), buffers(2))
    assert two_way["bandwidth_bytes_per_s"] == pytest.approx(2 * (1 << 20) / 1000 * 1e9, rel=1e-6)
    assert two_way["directions"] == {"gpu0>gpu1": 1e9, "gpu1>gpu0": 2e9}
    assert two_way["start_skew_ns"] == {"gpu0>gpu1": 0.0, "gpu1>gpu0": 10.0}
    assert two_way["counts"] == "sum-of-directions"
    beside = gpu_case("interference", "gpu0>gpu1", "gpu2>gpu3", "gpu2>gpu3")
    disturbed = outcome_of(beside, measurement(3), buffers(3))
    assert disturbed["bandwidth_bytes_per_s"] == pytest.approx((1 << 20) / 1000 * 1e9, rel=1e-6)
    assert disturbed["directions"] == {"gpu0>gpu1": 1e9, "gpu2>gpu3": 5e9}
    assert disturbed["counts"] == "one-direction"


def test_outcome_of_corruption() -> None:
    """Fail closed. Would catch a wrong word that is reported as a measurement, or without where and what."""
    wrong = measurement(2, verified=False)
    wrong.flows[1].verification = SimpleNamespace(
        ok=False, checked_bytes=512, bad_count=3, first_offset_bytes=128, expected=(1 << 64) - 1, got=0
    )
    outcome = outcome_of(gpu_case("two-way", "gpu0>gpu1", "gpu1>gpu0"), wrong, buffers(2))
    assert outcome["status"] == "corrupt"
    assert outcome["corruption"] == {
        "path": "gpu1>gpu0", "first_offset_bytes": 128, "bad_words": 3,
        "expected": "0xffffffffffffffff", "got": "0x0000000000000000",
    }  # fmt: skip
    assert "gpu1>gpu0: 3 wrong words" in outcome["reason"]
    unproved = outcome_of(gpu_case("one-way", "gpu0>gpu1"), measurement(verified=False), buffers())
    assert unproved["status"] == "corrupt"
    nothing = outcome_of(
        gpu_case("one-way", "gpu0>gpu1"), measurement(verified=False, samples_ns=[]), buffers()
    )
    assert (nothing["status"], "time_ns" in nothing) == ("corrupt", False)


def test_every_field_of_an_outcome_is_a_field_of_a_record() -> None:
    """Would catch an outcome that the conductor has to refuse."""
    outcome = outcome_of(gpu_case("two-way", "gpu0>gpu1", "gpu1>gpu0"), measurement(2), buffers(2, {0: 8}))
    assert set(outcome) <= set(Record.__dataclass_fields__)


def test_misplaced_pages_are_warned_of() -> None:
    """Would catch a figure of remote memory that is taken for local."""
    local = case()
    domains = {"cpu0": 1}
    assert misplaced(local, buffers(1, {1: 100}), domains) == []
    (warning,) = misplaced(local, buffers(1, {0: 50, 1: 50}), domains)
    assert (warning.id, warning.observed, warning.required) == ("placement", 0.5, 0.99)
    assert misplaced(local, buffers(1, {0: 50}), {"cpu0": -1}) == [], "nothing was asked for"


def health(**fields: int) -> Any:
    calm = {
        "sm_clock_mhz": 1980, "memory_clock_mhz": 3201, "temperature_c": 40, "power_mw": 120_000,
        "throttle_reasons": 1, "pcie_replays": 0, "nvlink_errors": 0, "nvlink_data_tx_bytes": 0,
        "nvlink_data_rx_bytes": 0, "energy_mj": 0,
    }  # fmt: skip
    return SimpleNamespace(**{**calm, **fields})


@pytest.mark.parametrize(
    ("after", "warned"),
    [
        ({}, []),
        ({"throttle_reasons": 0x4 | 0x40}, ["throttled"]),
        ({"memory_clock_mhz": 2600}, ["clock-drop"]),
        ({"sm_clock_mhz": 345}, []),  # an idle GPU lowers its clock as soon as the case is over
        ({"pcie_replays": 2}, ["pcie-replays"]),
        ({"nvlink_errors": 1}, ["link-errors"]),
        ({"nvlink_data_tx_bytes": 100 << 20}, []),
        ({"nvlink_data_tx_bytes": 50 << 20}, ["unexpected-path"]),
        ({"nvlink_data_tx_bytes": -1}, []),
    ],
)
def test_health_warnings(after: dict[str, int], warned: list[str]) -> None:
    """100 operations of 1 MiB. Would catch a change that is not told, and a warning of a normal idle
    clock.
    """
    before = {"gpu0": health(), "gpu1": health()}
    now = {"gpu0": health(**after), "gpu1": health()}
    changes = HealthMonitor.compare(gpu_case("one-way", "gpu0>gpu1"), before, now, 100)
    assert [warning.id for warning in changes.warnings] == warned
    assert changes.health["gpu0"]["before"]["memory_clock_mhz"] == 3201


def test_throttle_names() -> None:
    """Would catch an idle GPU (bit 0) that is called throttled."""
    assert throttle_names(0x1) == ""
    assert throttle_names(0x8 | 0x80) == "hardware slowdown, power brake"


def test_monitor_without_gpus_asks_nothing() -> None:
    """Would catch NVML opened on a machine without a GPU."""
    assert HealthMonitor(None, {}).read(["cpu0"]) == {}  # type: ignore[arg-type]


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


def test_settings() -> None:
    """Would catch a setting that is documented and ignored."""
    assert kernel_cache({"BYTEWAYS_CACHE": "/x"}) == Path("/x")
    assert kernel_cache({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/byteways/kernels")
    assert kernel_cache({"HOME": "/h"}) == Path("/h/.cache/byteways/kernels")
    assert (gpus_wanted({}), gpus_wanted({"BYTEWAYS_GPUS": "0"})) == (True, False)
    with pytest.raises(Exception, match="BYTEWAYS_GPUS is 'maybe'"):
        gpus_wanted({"BYTEWAYS_GPUS": "maybe"})
    assert worker_command({"BYTEWAYS_WORKER": "gdb --args 'my python'"}) == ("gdb", "--args", "my python")
