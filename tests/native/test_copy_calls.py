"""The option `call` of copies and memset: calls that wait or name both GPUs, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, MIB, RATES

SIZE = 8 * MIB
GPU0, GPU1, PINNED = ("gpu0", "device"), ("gpu1", "device"), ("cpu0", "pinned")
MACHINES = {"cuda": toy.nvidia(), "hip": toy.amd()}
ENQUEUE_NS = 1000.0  # simulated.py: [calls]; that of a wait passes while the copy runs


def measured(
    source: tuple[str, str],
    destination: tuple[str, str],
    call: str,
    *,
    interface: str = "copy",
    size: int = SIZE,
    **more: Any,
) -> Any:
    """A scene: what the operation by gpu0 measures by this call."""

    def scene(session: _core.Session) -> dict[str, Any]:
        if interface == "memset":
            buffer = session.allocate(*source, size, source[0])
            flow = _core.Flow(buffer, buffer, "gpu0", interface, size, call=call)
        else:
            flow = toy.flow(session, source, destination, "gpu0", interface, size, call=call)
        found = session.measure([flow], toy.options(max_samples=3, **more))
        return {
            "time_ns": found.time_ns.median,
            "engine": found.engine,
            "verified": found.verified,
            "checked": found.flows[0].verification.checked_bytes,
            "timed_by": found.timed_by,
        }

    return scene


@pytest.mark.parametrize("vendor", MACHINES)
@pytest.mark.parametrize(
    ("source", "destination", "way"),
    [(PINNED, GPU0, "engine-host-read"), (GPU0, PINNED, "engine-host-write")],
)
def test_a_call_that_waits_takes_its_copy_and_the_wait(
    vendor: str, source: tuple[str, str], destination: tuple[str, str], way: str
) -> None:
    """Catches a call that is timed by the device, returns before its copy has ended, or waits twice."""
    found = toy.play(MACHINES[vendor], measured(source, destination, "blocking", batch=1))
    copied_ns = FIXED_NS["engine"] + SIZE / RATES[way] * 1e9
    assert found["verified"] and found["checked"] >= SIZE and found["timed_by"] == "host-clock"
    assert found["engine"] == "copy-engine"
    assert found["time_ns"] == pytest.approx(ENQUEUE_NS + copied_ns, rel=1e-3)


@pytest.mark.parametrize("call", ["blocking", "peer-blocking"])
def test_calls_between_gpus_follow_each_other_where_they_return_early(call: str) -> None:
    """Catches figures of CUDA's calls between GPUs without the wait that ends them, or with one for each."""
    copied_ns = FIXED_NS["engine"] + SIZE / RATES["engine-peer-write"] * 1e9
    for vendor, each_ns in (("cuda", copied_ns), ("hip", ENQUEUE_NS + copied_ns)):
        found = toy.play(MACHINES[vendor], measured(GPU0, GPU1, call, batch=64))
        assert found["verified"] and found["timed_by"] == "host-clock"
        assert found["time_ns"] == pytest.approx(each_ns, rel=1e-3), vendor


@pytest.mark.parametrize("vendor", MACHINES)
def test_an_asynchronous_peer_copy_is_as_the_other_one(vendor: str) -> None:
    """Catches a copy in another stream, to another GPU, or timed by another clock."""
    peer, plain = (toy.play(MACHINES[vendor], measured(GPU0, GPU1, call)) for call in ("peer", "async"))
    assert peer == plain
    assert plain["engine"] == "copy-engine" and plain["timed_by"] == "device-events"


@pytest.mark.parametrize("vendor", MACHINES)
@pytest.mark.parametrize("memory", [GPU0, PINNED])
def test_memset_that_waits(vendor: str, memory: tuple[str, str]) -> None:
    """Catches a wrong value, a part that is not set, or a time without the wait."""
    found = toy.play(MACHINES[vendor], measured(memory, memory, "blocking", interface="memset", batch=1))
    set_ns = (
        FIXED_NS["kernel"]
        + SIZE / (2 * RATES["kernel-local"] if memory == GPU0 else RATES["kernel-host-write"]) * 1e9
    )
    assert found["verified"] and found["checked"] >= SIZE and found["timed_by"] == "host-clock"
    assert found["engine"] == "kernel"
    assert found["time_ns"] >= ENQUEUE_NS + set_ns


@pytest.mark.parametrize("call", ["blocking", "peer-blocking"])
def test_the_engine_of_short_copies_is_the_kernel_by_which_rocm_copies(call: str) -> None:
    """Catches a wait for a copy by a kernel, which the spinning one would hold up for ever."""
    found = toy.play(MACHINES["hip"], measured(GPU0, GPU1, call, size=64 * 1024))
    assert found["verified"] and found["engine"] == "kernel"


def test_plain_memory_is_not_watched() -> None:
    """Catches an observation that waits for a copy within the call."""
    found = toy.play(MACHINES["cuda"], measured(("cpu0", "pageable"), GPU0, "blocking", size=MIB))
    assert found["verified"] and found["engine"] == "unknown"
    staged = toy.play(MACHINES["hip"], measured(("cpu0", "pageable"), GPU0, "blocking", size=MIB))
    assert staged["verified"] and staged["engine"] == "staged"


@pytest.mark.parametrize(
    ("interface", "source", "call"),
    [
        ("copy", PINNED, "peer"),
        ("copy", ("cpu0", "pageable"), "peer-blocking"),
        ("memset", GPU0, "peer"),
        ("copy", GPU0, "sideways"),
    ],
)
def test_refused(interface: str, source: tuple[str, str], call: str) -> None:
    """Catches a call with arguments that it does not take, which would end as an error of the driver."""

    def scene(session: _core.Session) -> str:
        with pytest.raises(_core.UnsupportedError) as caught:
            measured(source, GPU1, call, interface=interface)(session)
        return caught.value.code

    assert toy.play(MACHINES["cuda"], scene) == "call"


def test_no_graph_takes_a_call_that_waits() -> None:
    """Catches a recording that waits for itself."""

    def scene(session: _core.Session) -> str:
        flow = toy.flow(session, PINNED, GPU0, "gpu0", "copy", MIB, call="blocking", submit="graph")
        with pytest.raises(_core.UnsupportedError) as caught:
            session.measure([flow], toy.options())
        return caught.value.code

    assert toy.play(MACHINES["cuda"], scene) == "submit"


def test_a_call_that_waits_runs_alone() -> None:
    """Catches two flows that would wait for each other and pass for concurrent."""

    def scene(session: _core.Session) -> str:
        flows = [
            toy.flow(session, PINNED, (gpu, "device"), gpu, "copy", MIB, call="blocking")
            for gpu in ("gpu0", "gpu1")
        ]
        with pytest.raises(_core.UnsupportedError) as caught:
            session.measure(flows, toy.options())
        return caught.value.code

    assert toy.play(MACHINES["cuda"], scene) == "pattern"


@pytest.mark.parametrize("vendor", MACHINES)
def test_calls_that_a_runtime_offers(vendor: str) -> None:
    """Catches a call that a machine has and a sweep does not get."""
    names = ("copy-blocking", "copy-peer", "copy-peer-blocking", "memset-blocking")

    def scene(session: _core.Session) -> list[bool]:
        return [session.offers_call("gpu0", name).available for name in names]

    assert toy.play(MACHINES[vendor], scene) == [True] * len(names)
