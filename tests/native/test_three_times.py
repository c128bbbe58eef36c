"""Device, submit and host time of every sample, what they say together, and faults in the middle of a series:
on simulated machines in virtual time.
"""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, GB, MIB, RATES

SIZE = 64 * MIB


def told(measured: _core.Measurement) -> dict[str, Any]:
    return {
        "time_ns": measured.time_ns.median,
        "samples": len(measured.samples_ns),
        "times": [[times.device_ns, times.submit_ns, times.host_ns] for times in measured.times],
        "submit_ns": measured.submit_ns,
        "host_ns": measured.host_ns,
        "discarded": [[each.reason, each.time_ns] for each in measured.discarded],
        "timed_by": measured.timed_by,
        "gated": measured.gated,
        "engine": measured.engine,
        "evidence": measured.engine_evidence,
        "batch": measured.batch,
        "verified": measured.verified,
        "every": measured.verified_every_sample,
        "ok": [flow.verification.ok for flow in measured.flows],
        "warnings": [warning.id for warning in measured.warnings],
        "operations": [[trace.operations[-1] for trace in run] for run in measured.traces],
        "marks": [[len(trace.marks) for trace in run] for run in measured.traces],
        "released": [[trace.released for trace in run] for run in measured.traces],
    }


def measure(
    sheet: str, source: tuple[str, str], destination: tuple[str, str], size: int, **settings: Any
) -> Any:
    """A copy by gpu0 as `told`."""

    def scene(session: _core.Session) -> Any:
        if source[0] != destination[0] and source[0].startswith("gpu"):
            session.prove_peer("gpu0", "gpu1")
        flow = toy.flow(session, source, destination, "gpu0", "copy", size)
        return told(session.measure([flow], toy.options(**settings)))

    return toy.play(sheet, scene)


def test_three_times_of_a_gated_copy() -> None:
    """Catches a time that is lost, or that is of the batch and not of one operation."""
    got = measure(toy.nvidia(), ("gpu0", "device"), ("gpu1", "device"), 16 * MIB)
    copy_ns = FIXED_NS["engine"] + 16 * MIB / RATES["engine-peer-write"] * 1e9
    assert len(got["times"]) == got["samples"]
    for device_ns, submit_ns, host_ns in got["times"]:
        assert device_ns == pytest.approx(copy_ns, rel=1e-6)
        assert submit_ns == pytest.approx(1000, rel=0.1)  # calls.enqueue_ns
        assert device_ns + submit_ns < host_ns < 1.1 * (device_ns + submit_ns)
    assert got["gated"] and not got["discarded"] and not got["warnings"]


@pytest.mark.parametrize("size", [256 << 10, MIB, 16 * MIB])
def test_a_staged_copy_that_returns_early_is_timed_by_the_host(size: int) -> None:
    """Catches the device's half of a staged copy reported as the whole: the call returns when the bytes are
    in the driver's own buffer, so that nothing blocks, and the events see the engine's work alone.
    """
    sheet = toy.nvidia(faults__0="early-return:cpu0>gpu0")
    got = measure(sheet, ("cpu0", "pageable"), ("gpu0", "device"), size)
    assert got["timed_by"] == "host-clock" and got["engine"] == "staged" and not got["gated"]
    assert "on the device" in got["evidence"]
    staged_ns = 2000.0 + size / (4 * GB) * 1e9
    device_ns = FIXED_NS["engine"] + size / RATES["engine-host-read"] * 1e9
    assert device_ns < 0.6 * staged_ns < 0.6 * got["time_ns"] < staged_ns
    assert got["verified"] and "ungated" in got["warnings"]


def test_locked_memory_is_not_taken_for_staged() -> None:
    """Catches small copies of locked memory timed by the host because their calls take as long as they do."""
    got = measure(toy.nvidia(calls__enqueue_ns=8000.0), ("cpu0", "pinned"), ("gpu0", "device"), 128 << 10)
    assert got["timed_by"] == "device-events" and got["engine"] == "copy-engine" and got["gated"]


def test_one_stall_costs_one_sample() -> None:
    """Catches a case that is ungated for good, or keeps the spoiled sample, because the watchdog opened its
    gate once.
    """
    plain = measure(toy.nvidia(), ("gpu0", "device"), ("gpu1", "device"), 16 * MIB)
    spared = []
    for after in (100, 350, 400, 500):
        sheet = toy.nvidia(faults__0=f"stall:gpu0:after={after}")
        got = measure(sheet, ("gpu0", "device"), ("gpu1", "device"), 16 * MIB, budget_s=10.0)
        assert got["gated"] and got["time_ns"] == pytest.approx(plain["time_ns"], rel=1e-6)
        assert "ungated" not in got["warnings"] and "many-discarded" not in got["warnings"]
        assert [reason for reason, _ in got["discarded"]] in ([], ["gate-opened"])
        spared.append(bool(got["discarded"]))
    assert any(spared)  # some of these operations are timed ones


def test_a_gate_that_never_holds_is_given_up() -> None:
    """Catches a measurement that waits for its watchdog at every sample."""
    got = measure(
        toy.nvidia(),
        ("gpu0", "device"),
        ("gpu1", "device"),
        MIB,
        cap_depth=False,  # so that calls wait for room in the queue
        batch=3000,
        max_samples=8,
    )
    assert not got["gated"] and "ungated" in got["warnings"]
    assert got["samples"] >= 3 and got["verified"]


@pytest.mark.parametrize("after", [50, 60, 70])
def test_a_fault_in_the_middle_of_a_series_is_seen(after: int) -> None:
    """Catches samples between the first and the last whose data nobody looks at: one operation of one sample
    leaves its destination as it was, which holds the right data of the rotation before.
    """

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        ends = [session.allocate(device, "device", 4 * SIZE, device) for device in ("gpu0", "gpu1")]
        flow = _core.Flow(*ends, "gpu0", "copy", SIZE)
        return told(session.measure([flow], toy.options(budget_s=0.05, max_samples=20, precision=1e-9)))

    sound = toy.play(toy.nvidia(noise=0.01), scene)
    assert sound["verified"] and not sound["every"]  # else this is no test of what lies between
    got = toy.play(toy.nvidia(noise=0.01, faults__0=f"lapse:gpu0>gpu1:after={after}"), scene)
    assert not got["verified"] and got["ok"] == [False]
    assert 0 < got["samples"] < sound["samples"]


@pytest.mark.parametrize(("slots", "batch", "seen"), [(4, 4, 4), (4, 6, 2), (4, 8, 0), (1, 7, 0)])
def test_operations_are_seen_that_alone_write_a_slot(slots: int, batch: int, seen: int) -> None:
    """Catches a promise that is not kept: in a batch of more operations than there are slots, one that was
    left out shows where no other operation of the batch has written the same slot, and nowhere else. One is
    left out at each position of a batch.
    """

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        ends = [session.allocate(device, "device", slots * SIZE, device) for device in ("gpu0", "gpu1")]
        flow = _core.Flow(*ends, "gpu0", "copy", SIZE)
        return told(session.measure([flow], toy.options(batch=batch, max_samples=20, precision=1e-9)))

    found = []
    for position in range(batch):
        got = toy.play(toy.nvidia(faults__0=f"lapse:gpu0>gpu1:after={60 + position}"), scene)
        assert got["batch"] == batch
        found.append(got["ok"] == [False])
    assert sum(found) == seen
    if 0 < seen < batch:  # they follow each other: the first slots are written twice
        begin = next(k for k in range(batch) if found[k] and not found[k - 1])
        assert [found[(begin + k) % batch] for k in range(batch)] == [k < seen for k in range(batch)]


def test_what_was_wrong_once_stays_wrong() -> None:
    """Catches `verified` beside a flow whose verification failed, after the batch was doubled."""
    sheet = toy.nvidia(faults__0="corrupt:gpu0>gpu1:word=0")
    got = measure(sheet, ("gpu0", "device"), ("gpu1", "device"), MIB)
    assert not got["verified"] and got["ok"] == [False] and got["samples"] == 0


def test_flows_keep_what_they_did() -> None:
    """Catches counts, releases or marks of flows that do not reach the record, and windows of four operations
    where there is time for sixteen.
    """

    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        session.prove_peer("gpu1", "gpu0")
        flows = [
            toy.flow(session, (near, "device"), (far, "device"), near, "copy", 16 * MIB)
            for near, far in (("gpu0", "gpu1"), ("gpu1", "gpu0"))
        ]
        return told(session.measure(flows, toy.options()))

    got = toy.play(toy.nvidia(), scene)
    assert len(got["operations"]) == got["samples"] == len(got["times"])
    assert all(min(counts) >= 16 for counts in got["operations"]) and got["batch"] >= 16
    assert all(marks == [16, 16] for marks in got["marks"])
    assert all(abs(first - second) < 1e4 for first, second in got["released"])
    assert "few-operations" not in got["warnings"]
    assert all(times[2] > 0 for times in got["times"])
