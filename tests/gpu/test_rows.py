"""Rows that lie a pitch apart on real GPUs, by the vendor's call and by the packing kernel."""

from __future__ import annotations

import pytest

from byteways import _core
from tests.gpu.sides import gpus

pytestmark = pytest.mark.gpu

MIB = 2**20


def ends_of(session: _core.Session) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """To and from the host, within a GPU, and to another one where there is one."""
    host, own = ("cpu0", "pinned"), ("gpu0", "device")
    peers = [device.name for device in gpus(session) if device.name != "gpu0"]
    there = [(own, (name, "device")) for name in peers if session.prove_peer("gpu0", name).available]
    return [(host, own), (own, host), (own, own), *there[:1]]


@pytest.mark.parametrize("interface", ["copy-2d", "kernel-2d"])
@pytest.mark.parametrize(
    ("width", "pitch"), [(8, 24), (64, 512), (504, 1000), (4096, 8192), (4104, 4112), (65_536, 65_536)]
)
def test_rows_arrive_and_gaps_stay(session: _core.Session, interface: str, width: int, pitch: int) -> None:
    """Catches a pitch that is taken for the other side's, and wide stores that reach into a gap."""
    size = max(1, MIB // width) * width
    options = _core.MeasureOptions()
    options.budget_s, options.max_samples = 0.05, 20
    for ends in ends_of(session):
        for strided in ("source", "destination", "both"):
            buffers = [
                session.allocate(device, memory, 2 * (size // width) * pitch, device)
                for device, memory in ends
            ]
            flow = _core.Flow(
                *buffers, "gpu0", interface, size, width_bytes=width, pitch_bytes=pitch, strided=strided
            )
            measured = session.measure([flow], options)
            assert measured.verified, (ends, strided, measured.flows[0].verification.first_offset_bytes)
            assert measured.gated and measured.timed_by == "device-events"


def test_packing_wide_rows_within_a_gpu_is_fast(session: _core.Session) -> None:
    """Catches index arithmetic that a packing kernel waits for instead of memory."""
    source, destination = (session.allocate("gpu0", "device", 512 * MIB, "gpu0") for _ in range(2))
    options = _core.MeasureOptions()
    options.budget_s = 0.2
    flow = _core.Flow(
        source,
        destination,
        "gpu0",
        "kernel-2d",
        64 * MIB,
        width_bytes=4096,
        pitch_bytes=8192,
        strided="source",
    )
    assert session.measure([flow], options).flows[0].bytes_per_s > 5e11
