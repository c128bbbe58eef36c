"""Graphs and batched copies on real GPUs: verified, gated, and cheaper for the host than single calls."""

from __future__ import annotations

import pytest

from byteways import _core

pytestmark = pytest.mark.gpu

KIB, MIB = 2**10, 2**20


@pytest.mark.parametrize("size", [4 * KIB, 4 * MIB])
@pytest.mark.parametrize(("interface", "how"), [("copy", "graph"), ("copy", "batch"), ("kernel", "graph")])
def test_same_work_submitted_otherwise(session: _core.Session, interface: str, how: str, size: int) -> None:
    """Catches a recording that blocks behind the gate, lasts too short, or moves something else."""
    if not session.offers_call("gpu0", how).available:
        assert session.offers_call("gpu0", how).reason
        return
    host, on_gpu = (
        session.allocate(device, memory, 64 * MIB, device)
        for device, memory in (("cpu0", "pinned"), ("gpu0", "device"))
    )
    options = _core.MeasureOptions()
    options.budget_s = 0.2
    submit_ns = {}
    for way in ("calls", how):
        flow = _core.Flow(host, on_gpu, "gpu0", interface, size, submit=way)
        measured = session.measure([flow], options)
        assert measured.verified and measured.gated and measured.timed_by == "device-events"
        submit_ns[way] = measured.submit_ns
    if size == 4 * KIB:  # a batch of large ones has few operations, and a graph's launch is then all there is
        assert submit_ns[how] < submit_ns["calls"]
