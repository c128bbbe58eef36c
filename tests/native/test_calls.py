"""What calls cost that move nothing, and operations that are waited for one at a time."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, KIB, RATES

#: Costs of calls that can be told apart in every sum of them.
CALLS = {
    "calls__enqueue_ns": 1000.0,
    "calls__synchronize_ns": 2300.0,
    "calls__event_ns": 700.0,
    "calls__launch_ns": 4100.0,
    "calls__clock_ns": 20.0,
}


def figure(session: _core.Session, flow: _core.Flow) -> dict[str, Any]:
    measured = session.measure([flow], toy.options())
    return {
        "time_ns": measured.time_ns.median,
        "submit_ns": measured.submit_ns,
        "verified": measured.verified,
        "gated": measured.gated,
        "timed_by": measured.timed_by,
        "engine": measured.engine,
        "warnings": [warning.id for warning in measured.warnings],
    }


def call(interface: str, device: str = "gpu0", **more: Any) -> dict[str, Any]:
    """Figures of a call on the toy machine."""

    def scene(session: _core.Session) -> Any:
        word = session.allocate(device, "device" if device.startswith("gpu") else "pageable", 8, device)
        return figure(session, _core.Flow(word, word, device, interface, 8, **more))

    found: dict[str, Any] = toy.play(toy.nvidia(**CALLS), scene)
    assert found["verified"]
    assert found["warnings"] == []
    return found


def test_launches_behind_one_another_take_what_the_device_needs() -> None:
    """Catches the host's time for a launch in the device's figure, or the other way round."""
    found = call("launch")
    assert found["time_ns"] == pytest.approx(FIXED_NS["kernel"], rel=1e-3)
    assert found["submit_ns"] == pytest.approx(1000, rel=0.05)
    assert (found["timed_by"], found["gated"], found["engine"]) == ("device-events", True, "kernel")


def test_a_launch_that_is_waited_for_is_a_round_trip_of_the_host() -> None:
    """Catches a round trip without the call, the way to the device, its work, or the waiting."""
    found = call("launch", pace="one-at-a-time")
    # From the end of the call the device needs launch_ns and its own time; waiting begins with the call.
    assert found["time_ns"] == pytest.approx(1000 + 4100 + FIXED_NS["kernel"], rel=0.01)
    assert (found["timed_by"], found["gated"], found["submit_ns"]) == ("host-clock", False, 0)


def test_synchronize_of_an_idle_queue_is_the_call_alone() -> None:
    """Catches the launch that comes before the first call, or the wait for it, in the figure."""
    found = call("synchronize")
    assert found["time_ns"] == pytest.approx(2300, rel=1e-3)
    assert (found["timed_by"], found["engine"]) == ("host-clock", "cpu")


def test_an_event_there_and_back_is_two_hand_overs() -> None:
    """Catches queues that do not wait for each other: only the records of one would be timed."""
    found = call("event")
    assert found["time_ns"] == pytest.approx(2 * 700, rel=1e-3)
    assert found["submit_ns"] == pytest.approx(4 * 1000, rel=0.05)  # two records and two waits


def test_a_team_of_threads_starts_once_a_launch() -> None:
    """Catches a CPU's launch that ignores how many threads were asked for."""
    assert call("launch", "cpu0", threads=4)["time_ns"] == pytest.approx(5000, rel=1e-3)


def test_small_copies_back_to_back_and_one_at_a_time() -> None:
    """Catches a pace that changes nothing, or submission time that is missing where it can be had."""

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        ends = ("gpu0", "device"), ("gpu1", "device"), "gpu0", "copy", KIB
        paced = toy.flow(session, *ends, pace="one-at-a-time")
        return figure(session, toy.flow(session, *ends)), figure(session, paced)

    behind, waited = toy.play(toy.nvidia(**CALLS), scene)
    device_ns = FIXED_NS["engine"] + KIB / RATES["engine-peer-write"] * 1e9
    assert behind["time_ns"] == pytest.approx(device_ns, rel=1e-3)
    assert behind["submit_ns"] == pytest.approx(1000, rel=0.05)
    assert waited["time_ns"] == pytest.approx(1000 + 4100 + device_ns, rel=0.01)
    assert (waited["engine"], waited["verified"], waited["warnings"]) == ("copy-engine", True, [])


def test_a_team_starts_on_this_machine() -> None:
    """Catches a host kernel that is not found, or leaves no stamp."""
    session = _core.Session(gpus=False)
    word = session.allocate("cpu0", "pageable", 8, "cpu0")
    options = toy.options(budget_s=0.02, max_samples=10)
    measured = session.measure([_core.Flow(word, word, "cpu0", "launch", 8, threads=2)], options)
    assert measured.verified
    assert measured.time_ns.median > 0
    assert measured.flows[0].blocks == 2


@pytest.mark.parametrize("interface", ["synchronize", "event"])
def test_queues_of_a_cpu_are_none(interface: str) -> None:
    """Catches the hand-over to a thread of ours reported as a runtime's call."""
    session = _core.Session(gpus=False)
    word = session.allocate("cpu0", "pageable", 8, "cpu0")
    with pytest.raises(_core.UnsupportedError, match="queues are those of a GPU"):
        session.measure([_core.Flow(word, word, "cpu0", interface, 8)], toy.options())
