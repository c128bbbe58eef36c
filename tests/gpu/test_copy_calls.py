"""The vendor's calls for copies and for setting bytes on real GPUs: right data, and the clock of each."""

from __future__ import annotations

import pytest

from byteways import _core

pytestmark = pytest.mark.gpu

KIB, MIB = 2**10, 2**20
WAIT = ("blocking", "peer-blocking")


def options() -> _core.MeasureOptions:
    made = _core.MeasureOptions()
    made.budget_s = 0.2
    return made


def clock(call: str) -> str:
    return "host-clock" if call in WAIT else "device-events"


@pytest.mark.parametrize("size", [4 * KIB, 64 * MIB])
@pytest.mark.parametrize("down", [True, False])
def test_blocking_copies_with_the_host(session: _core.Session, down: bool, size: int) -> None:
    """Catches a call that returns before its copy has ended, or whose engine is waited for for ever."""
    host, on_gpu = (
        session.allocate(device, memory, 64 * MIB, device)
        for device, memory in (("cpu0", "pinned"), ("gpu0", "device"))
    )
    ends = (host, on_gpu) if down else (on_gpu, host)
    found = session.measure([_core.Flow(*ends, "gpu0", "copy", size, call="blocking")], options())
    assert found.verified and found.timed_by == "host-clock"
    assert found.engine in ("copy-engine", "kernel")


def test_blocking_copies_of_plain_memory(session: _core.Session) -> None:
    """Catches an observation that waits for a copy within the call."""
    ends = (
        session.allocate("cpu0", "pageable", 4 * MIB, "cpu0"),
        session.allocate("gpu0", "device", 4 * MIB, "gpu0"),
    )
    found = session.measure([_core.Flow(*ends, "gpu0", "copy", 4 * MIB, call="blocking")], options())
    assert found.verified and found.engine in ("unknown", "staged")


@pytest.mark.parametrize("call", ["async", "blocking", "peer", "peer-blocking"])
def test_copies_between_gpus(session: _core.Session, pair: tuple[str, str], call: str) -> None:
    """Catches a peer call with the GPUs exchanged, and calls that return early without a wait."""
    ends = [session.allocate(gpu, "device", 64 * MIB, gpu) for gpu in pair]
    found = session.measure([_core.Flow(*ends, pair[0], "copy", 64 * MIB, call=call)], options())
    assert found.verified and found.timed_by == clock(call)
    assert found.engine == "copy-engine"


@pytest.mark.parametrize("call", ["peer", "peer-blocking"])
def test_peer_copies_within_a_gpu(session: _core.Session, call: str) -> None:
    """Catches a driver that refuses one GPU at both ends, as p2pBandwidthLatencyTest has it."""
    ends = [session.allocate("gpu0", "device", 4 * MIB, "gpu0") for _ in range(2)]
    found = session.measure([_core.Flow(*ends, "gpu0", "copy", 4 * MIB, call=call)], options())
    assert found.verified and found.timed_by == clock(call)


@pytest.mark.parametrize("place", [("gpu0", "device"), ("cpu0", "pinned")])
@pytest.mark.parametrize("call", ["async", "blocking"])
def test_memset(session: _core.Session, place: tuple[str, str], call: str) -> None:
    """Catches a call with another value, or one that has not ended when its data are checked."""
    buffer = session.allocate(*place, 16 * MIB, place[0])
    found = session.measure([_core.Flow(buffer, buffer, "gpu0", "memset", 16 * MIB, call=call)], options())
    assert found.verified and found.timed_by == clock(call)
