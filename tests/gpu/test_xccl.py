"""NCCL on one real GPU: a communicator of one rank in every launch mode, as calls and as a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways import _core
from byteways.base.settings import worker_command
from byteways.cases.case import Buffer, Case, Flow
from byteways.measuring.conduct.process import WorkerProcess
from byteways.measuring.shared.library_log import LibraryLog
from byteways.measuring.shared.library_paths import library_directories
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work.rank_threads import RankThreads
from tests.asked import asked

pytestmark = pytest.mark.gpu

MIB = 2**20


@pytest.fixture(scope="module")
def ranks(session: _core.Session) -> RankThreads:
    """Ranks in this process; skips where the library of the GPU's vendor is missing."""
    vendor = next(device.runtime for device in session.devices if device.name == "gpu0")
    report = _core.xccl_report(vendor, library_directories())
    if not report.usable:
        pytest.skip(report.reason)
    return RankThreads()


def request_of(pattern: str, size: int, memory: str = "device", **options: int | str) -> CaseRequest:
    end = Buffer("gpu0", memory, rank=0)
    case = Case("xccl", pattern, (Flow(end, end, "gpu0"),), size, "warm", options)
    return asked(case, budget_s=0.1, precision=0.05, key=7)


@pytest.mark.parametrize("submit", ["calls", "graph"])
@pytest.mark.parametrize("pattern", ["allreduce", "allgather", "alltoall", "broadcast"])
def test_a_rank_alone_sends_to_itself(ranks: RankThreads, pattern: str, submit: str) -> None:
    """Catches a recording that NCCL refuses, a result that is not verified, and a wrong signature."""
    outcome, leaving = ranks.measure(request_of(pattern, MIB, launch="thread", submit=submit))
    assert not leaving and outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"] and outcome["timed_by"] == "device-events"
    assert outcome["engine_evidence"].startswith("NCCL")


@pytest.mark.parametrize("pattern", ["alltoall", "gather", "scatter"])
def test_calls_of_newer_libraries_and_their_messages(ranks: RankThreads, pattern: str) -> None:
    """Catches a wrong signature of a call that NCCL has since 2.28."""
    for calls in ("collective", "messages"):
        outcome, leaving = ranks.measure(request_of(pattern, MIB, launch="thread", calls=calls))
        assert not leaving and outcome["status"] == "measured", outcome["reason"]
        assert outcome["verified"]


@pytest.mark.parametrize("pattern", ["allreduce", "alltoall"])
def test_one_thread_for_all(ranks: RankThreads, pattern: str) -> None:
    """Catches a communicator that is not made within a group, and streams that never join."""
    outcome, leaving = ranks.measure(request_of(pattern, MIB, launch="single"))
    assert not leaving and outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"] and "one thread for all" in outcome["engine_evidence"]


@pytest.mark.parametrize("launch", ["thread", "single"])
def test_memory_of_the_library(ranks: RankThreads, launch: str) -> None:
    """Catches memory that our kernels cannot fill, and a registration that NCCL refuses."""
    outcome, leaving = ranks.measure(request_of("allreduce", MIB, "xccl", launch=launch))
    assert not leaving and outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"] and "registered memory" in outcome["engine_evidence"]


def test_registered_memory_creates_no_multicast_objects(
    ranks: RankThreads, session: _core.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches memory registered with several ranks where NCCL would use NVLink SHARP."""
    vendor = next(device.runtime for device in session.devices if device.name == "gpu0")
    library = _core.Xccl(vendor, library_directories())
    monkeypatch.delenv("NCCL_NVLS_ENABLE", raising=False)
    assert ("multicast" in library.register_obstacle(2)) == (vendor == "cuda")
    assert library.register_obstacle(1) == ""


def test_a_put_is_measured_or_skipped_with_the_version_that_it_needs(
    pair: tuple[str, str], ranks: RankThreads, session: _core.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches ranks that a library without one-sided calls costs, and a run that fails for it."""
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "0")
    ends = [Buffer(name, "xccl", rank=rank) for rank, name in enumerate(pair)]
    case = Case("xccl-put", "unidirectional", (Flow(ends[0], ends[1], pair[0]),), MIB, "warm")
    two = RankThreads()
    outcome, leaving = two.measure(asked(case, budget_s=0.1, precision=0.05, key=7))
    vendor = next(device.runtime for device in session.devices if device.name == pair[0])
    obstacle = _core.Xccl(vendor, library_directories()).put_obstacle()
    assert not leaving and outcome["status"] == ("skipped" if obstacle else "measured"), outcome["reason"]
    assert obstacle in (outcome["reason"] or "")


def test_modes_share_a_process(ranks: RankThreads) -> None:
    """Catches a mode that keeps what the other one needs."""
    for launch in ("thread", "single", "thread"):
        outcome, leaving = ranks.measure(request_of("allreduce", 64 * MIB, launch=launch))
        assert not leaving and outcome["status"] == "measured", outcome["reason"]


def test_the_log_is_asked_in_a_process_of_its_own(ranks: RankThreads, tmp_path: Path) -> None:
    """Catches a probe that does not end, and no choice without a reason (one rank has none)."""
    variables = LibraryLog.variables(tmp_path / "library.log")
    worker = WorkerProcess(tmp_path / "worker.log", variables, [*worker_command(), "--kind", "threads"])
    try:
        cases = [request_of(pattern, MIB, batch=1).case.identity() for pattern in ("allreduce", "alltoall")]
        answer = worker.ask({**request_of("allreduce", MIB).to_json(), "do": "choices", "cases": cases}, 120)
    finally:
        worker.kill()
    for choice in answer["choices"]:
        assert choice["algorithm"] or choice["reason"], choice
