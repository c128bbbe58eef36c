"""NCCL on one real GPU: a communicator of one rank in every launch mode, as calls and as a graph."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from byteways.plan.case import Buffer, Case, Flow
from byteways.run.rank_threads import RankThreads

pytestmark = pytest.mark.gpu

MIB = 2**20


@pytest.fixture(scope="module")
def ranks(session: _core.Session) -> RankThreads:
    """Ranks in this process; skips where the library of the GPU's vendor is missing."""
    vendor = next(device.runtime for device in session.devices if device.name == "gpu0")
    from byteways.run.library_paths import library_directories

    report = _core.xccl_report(vendor, library_directories())
    if not report.usable:
        pytest.skip(report.reason)
    return RankThreads(_core)


def request_of(pattern: str, size: int, memory: str = "device", **options: str) -> dict[str, Any]:
    end = Buffer("gpu0", memory, rank=0)
    case = Case("xccl", pattern, (Flow(end, end, "gpu0"),), size, "warm", options)
    common = {"budget_s": 0.1, "precision": 0.05, "rounds": 1, "key": 7}
    return {"do": "measure", "case": case.identity(), "cores": [[]], "ranks": [0], **common}


@pytest.mark.parametrize("submit", ["calls", "graph"])
@pytest.mark.parametrize("pattern", ["allreduce", "allgather", "alltoall", "broadcast"])
def test_a_rank_alone_sends_to_itself(ranks: RankThreads, pattern: str, submit: str) -> None:
    """Catches a recording that NCCL refuses, a result that is not verified, and a wrong signature."""
    outcome, leaving = ranks.measure(request_of(pattern, MIB, launch="thread", submit=submit))
    assert not leaving and outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"] and outcome["timed_by"] == "device-events"
    assert outcome["engine_evidence"].startswith("NCCL")


@pytest.mark.parametrize("pattern", ["allreduce", "alltoall"])
def test_one_thread_for_all(ranks: RankThreads, pattern: str) -> None:
    """Catches a communicator that is not made within a group, and streams that never join."""
    outcome, leaving = ranks.measure(request_of(pattern, MIB, launch="single"))
    assert not leaving and outcome["status"] == "measured", outcome["reason"]
    assert outcome["verified"] and "one thread for all" in outcome["engine_evidence"]


def test_modes_share_a_process(ranks: RankThreads) -> None:
    """Catches a mode that keeps what the other one needs."""
    for launch in ("thread", "single", "thread"):
        outcome, leaving = ranks.measure(request_of("allreduce", 64 * MIB, launch=launch))
        assert not leaving and outcome["status"] == "measured", outcome["reason"]
