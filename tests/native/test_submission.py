"""Calls, graphs and batches on simulated machines: the same work, at another cost to the host."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import KIB, MIB


def submitted(sheet: str, interface: str, how: str, size: int, room: int = 16, **more: Any) -> Any:
    """What a flow between two GPUs gives that is submitted in this way, or why it is refused."""

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        buffers = [session.allocate(device, "device", room * size, device) for device in ("gpu0", "gpu1")]
        flow = _core.Flow(*buffers, "gpu0", interface, size, submit=how, **more)
        try:
            measured = session.measure([flow], toy.options())
        except _core.UnsupportedError as error:
            return str(error)
        return {
            "time_ns": measured.time_ns.median if measured.samples_ns else 0,
            "submit_ns": measured.submit_ns,
            "verified": measured.verified,
            "gated": measured.gated,
            "timed_by": measured.timed_by,
            "engine": measured.engine,
            "warnings": [warning.id for warning in measured.warnings],
        }

    return toy.play(sheet, scene)


@pytest.mark.parametrize("size", [4 * KIB, 4 * MIB])
@pytest.mark.parametrize(("interface", "how"), [("copy", "graph"), ("copy", "batch"), ("kernel", "graph")])
@pytest.mark.parametrize("sheet", [toy.nvidia(), toy.amd()], ids=["cuda", "hip"])
def test_same_work_for_less_of_the_host(sheet: str, interface: str, how: str, size: int) -> None:
    """Catches a graph of other operations, one made behind the gate, and one that is launched piecemeal."""
    calls = submitted(sheet, interface, "calls", size)
    other = submitted(sheet, interface, how, size)
    for got in (calls, other):
        assert got["verified"] and got["gated"] and got["timed_by"] == "device-events"
        assert "ungated" not in got["warnings"]
    assert other["time_ns"] == pytest.approx(calls["time_ns"], rel=0.01)
    assert other["engine"] == calls["engine"]
    assert other["submit_ns"] < 0.6 * calls["submit_ns"]


def test_operations_that_a_graph_leaves_out_are_found() -> None:
    """Catches a graph that is launched and does nothing."""
    got = submitted(toy.nvidia(faults__0="skip:gpu0>gpu1"), "copy", "graph", 4 * MIB)
    assert not got["verified"]


def test_a_batch_never_has_a_slot_twice() -> None:
    """Catches copies of one batch that write the same bytes, although their order is undefined."""
    got = submitted(toy.nvidia(), "copy", "batch", 64 * KIB, room=3)
    assert got["verified"] and got["gated"]


@pytest.mark.parametrize(
    ("interface", "how", "more", "why"),
    [
        ("kernel", "batch", {}, "of copies, not of kernels"),
        ("copy", "letter", {}, "submits nothing as a letter"),
    ],
)
def test_refusals(interface: str, how: str, more: dict[str, Any], why: str) -> None:
    """Catches a way that does not exist and is measured as calls."""
    assert why in submitted(toy.nvidia(), interface, how, MIB, **more)
