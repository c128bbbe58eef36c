"""What calls, small copies and words back and forth take on real GPUs, where they lie within reason.

Every test runs on the CUDA side and, over the façade, on the HIP side of the same GPUs.
"""

from __future__ import annotations

import time

import pytest

from byteways import _core
from tests.gpu.sides import HANG_S, buffer, quick, warnings

pytestmark = pytest.mark.gpu


def test_calls_cost_what_calls_cost(session: _core.Session) -> None:
    """Catches a launch, a wait or an event whose figure is another thing's: all lie between a tenth of and a
    hundred microseconds, and a round trip of the host takes longer than the device alone.
    """
    found = {}
    for interface in ("launch", "synchronize", "event"):
        word = session.allocate("gpu0", "device", 8, "gpu0")
        measured = session.measure([_core.Flow(word, word, "gpu0", interface, 8)], quick())
        assert measured.verified
        assert 100 < measured.time_ns.median < 100_000
        found[interface] = measured
    assert found["launch"].gated and found["launch"].submit_ns > 100
    assert "ungated" not in warnings(found["synchronize"])
    word = session.allocate("gpu0", "device", 8, "gpu0")
    flow = _core.Flow(word, word, "gpu0", "launch", 8, pace="one-at-a-time")
    waited = session.measure([flow], quick())
    assert waited.verified and waited.timed_by == "host-clock"
    assert waited.time_ns.median > found["launch"].time_ns.median


def test_small_copies_are_timed_both_ways(session: _core.Session) -> None:
    """Catches one-at-a-time copies that are not waited for: they would take as long as those behind each
    other.
    """
    times = {}
    for pace in ("back-to-back", "one-at-a-time"):
        source, destination = (buffer(session, "gpu0", "device") for _ in range(2))
        flow = _core.Flow(source, destination, "gpu0", "copy", 1024, pace=pace)
        measured = session.measure([flow], quick())
        assert measured.verified
        times[pace] = measured.time_ns.median
    assert times["one-at-a-time"] > 1.2 * times["back-to-back"]


def ping_pong(session: _core.Session, executor: str, partner: str, source: str, destination: str) -> float:
    """Round trip in ns; an end is `device:memory`."""
    words = [session.allocate(*end.split(":"), 8, end.split(":")[0]) for end in (source, destination)]
    flow = _core.Flow(*words, executor, "ping-pong", 8, partner=partner)
    begin = time.monotonic()
    measured = session.measure([flow], quick())
    assert time.monotonic() - begin < HANG_S
    assert measured.verified and "ungated" not in warnings(measured)
    return measured.time_ns.median


def test_ping_pong_with_the_host_and_within_a_gpu(session: _core.Session) -> None:
    """Catches sides that do not see each other while both run, and a host that answers a cached word."""
    over_pcie = ping_pong(session, "cpu0", "gpu0", "cpu0:pinned", "cpu0:pinned")
    other_way = ping_pong(session, "gpu0", "cpu0", "cpu0:pinned", "cpu0:pinned")
    within = ping_pong(session, "gpu0", "gpu0", "gpu0:device", "gpu0:device")
    assert 500 < over_pcie < 50_000 and 500 < other_way < 50_000
    assert 100 < within < over_pcie


def test_ping_pong_between_gpus(session: _core.Session, pair: tuple[str, str]) -> None:
    """Catches a store or a poll that does not cross the link."""
    first, second = pair
    by_store = ping_pong(session, first, second, f"{second}:device", f"{first}:device")
    by_poll = ping_pong(session, first, second, f"{first}:device", f"{second}:device")
    within = ping_pong(session, first, first, f"{first}:device", f"{first}:device")
    assert within < by_store < 20_000 and within < by_poll < 20_000
