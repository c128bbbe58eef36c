"""Routes over real GPUs: right data with one GPU or several, and more than the straight path with several."""

from __future__ import annotations

import pytest

from byteways import _core
from tests.gpu.sides import gpus, warnings

pytestmark = pytest.mark.gpu

MIB = 2**20


def rate(
    session: _core.Session, ends: tuple[_core.Buffer, _core.Buffer], size: int, **options: object
) -> float:
    """Bytes/s of a verified route on gpu0."""
    wanted = _core.MeasureOptions()
    wanted.budget_s = 0.2
    measured = session.measure([_core.Flow(*ends, "gpu0", "route", size, **options)], wanted)
    assert measured.verified and measured.timed_by == "device-events"
    # A gate that makes a short operation slower is left out, and the measurement says so.
    assert measured.gated or (size < MIB and "gate-slows" in warnings(measured))
    assert sum(measured.flows[0].parts.values()) == pytest.approx(1)
    return measured.flows[0].bytes_per_s


def relays(session: _core.Session) -> list[str]:
    """GPUs that can pass on to gpu0."""
    others = [device.name for device in gpus(session) if device.name != "gpu0"]
    return [name for name in others if session.prove_peer(name, "gpu0").available]


@pytest.mark.parametrize("to_gpu", [True, False], ids=["to-gpu", "from-gpu"])
def test_every_word_arrives_over_every_path(session: _core.Session, to_gpu: bool) -> None:
    """Catches pieces that overtake each other in their staging memory, and a join that does not wait."""
    host = session.allocate("cpu0", "pinned", 256 * MIB, "cpu0")
    device = session.allocate("gpu0", "device", 256 * MIB, "gpu0")
    ends = (host, device) if to_gpu else (device, host)
    straight = rate(session, ends, 128 * MIB)
    for depth, piece in ((1, MIB), (2, 4 * MIB), (4, 2 * MIB)):
        for count in range(1, len(relays(session)) + 1):
            via = ",".join(relays(session)[:count])
            split = rate(session, ends, 128 * MIB, via=via, depth=depth, piece_bytes=piece)
            if depth > 1:
                assert split > 1.3 * straight, (via, depth, piece)
    for size in (64, 4104, MIB + 8):
        rate(session, ends, size, via=",".join(relays(session)))


def test_between_gpus(session: _core.Session) -> None:
    """Catches a relay between two GPUs that reads or writes the wrong one."""
    names = relays(session)
    if len(names) < 2 or not session.prove_peer(names[1], names[0]).available:
        pytest.skip("three GPUs with peer access are needed")
    ends = tuple(session.allocate(device, "device", 256 * MIB, device) for device in ("gpu0", names[0]))
    assert rate(session, (ends[0], ends[1]), 128 * MIB, via=names[1]) > 1e9
