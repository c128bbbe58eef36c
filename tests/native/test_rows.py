"""Rows that lie a pitch apart, on real host memory and on simulated machines: rows arrive, gaps stay."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, KIB, MIB, RATES

GPU, PEER, HOST = ("gpu0", "device"), ("gpu1", "device"), ("cpu0", "pinned")


#: Of tests that ask whether words are right, and for no figure.
FEW = {"batch": 4, "samples": 3}


def moved(
    session: _core.Session,
    ends: tuple[tuple[str, str], tuple[str, str]],
    executor: str,
    interface: str,
    size: int,
    room: int = 0,
    **more: Any,
) -> Any:
    """What one flow of rows gives, or why it is refused."""
    wanted = {"width_bytes": 512, "pitch_bytes": 2048, "strided": "source", **more}
    samples, batch = wanted.pop("samples", 20), wanted.pop("batch", 0)
    buffers = [session.allocate(device, memory, room or 16 * size, device) for device, memory in ends]
    flow = _core.Flow(*buffers, executor, interface, size, **wanted)
    try:
        measured = session.measure([flow], toy.options(budget_s=0.05, max_samples=samples, batch=batch))
    except _core.UnsupportedError as error:
        return str(error)
    (result,) = measured.flows
    return {
        "time_ns": measured.time_ns.median if measured.samples_ns else 0,
        "verified": measured.verified,
        "checked": result.verification.checked_bytes,
        "first_bad": result.verification.first_offset_bytes,
        "timed_by": measured.timed_by,
        "engine": measured.engine,
        "distinct": [measured.distinct_source_bytes, measured.distinct_destination_bytes],
    }


def played(sheet: str, *arguments: Any, **more: Any) -> Any:
    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        return moved(session, *arguments, **more)

    return toy.play(sheet, scene)


@pytest.mark.parametrize("strided", ["source", "destination", "both"])
@pytest.mark.parametrize(("width", "pitch"), [(8, 8), (8, 24), (64, 4096), (504, 1000), (4096, 4096)])
def test_rows_of_real_memory(host_session: _core.Session, strided: str, width: int, pitch: int) -> None:
    """Catches rows that end elsewhere, and a check that calls right ones wrong: nothing here is simulated."""
    size = width * 100
    ends = (("cpu0", "pageable"), ("cpu0", "pageable"))
    got = moved(host_session, ends, "cpu0", "memcpy-2d", size, 1 * MIB, width_bytes=width, pitch_bytes=pitch,
                strided=strided, **FEW)  # fmt: skip
    assert got["verified"] and got["engine"] == "cpu"
    assert got["checked"] >= size


@pytest.mark.parametrize("size", [64 * KIB, 4 * MIB])  # real and thought memory of the simulator
@pytest.mark.parametrize("strided", ["source", "destination", "both"])
@pytest.mark.parametrize("interface", ["copy-2d", "kernel-2d"])
@pytest.mark.parametrize(
    "ends", [(GPU, PEER), (HOST, GPU), (GPU, HOST)], ids=["peer", "from-host", "to-host"]
)
def test_rows_between_devices(ends: Any, interface: str, strided: str, size: int) -> None:
    """Catches an interface, a direction or a side that packs wrongly."""
    got = played(toy.nvidia(), ends, "gpu0", interface, size, strided=strided)
    assert got["verified"] and got["timed_by"] == "device-events"
    assert got["engine"] == ("kernel" if interface == "kernel-2d" else "copy-engine")
    assert got["distinct"][0] == got["distinct"][1] and got["distinct"][0] % size == 0


def test_rows_by_hip() -> None:
    """Catches a vendor whose call takes its pitches in another order."""
    for strided in ("source", "destination"):
        got = played(toy.amd(), (GPU, PEER), "gpu0", "copy-2d", 4 * MIB, strided=strided)
        assert got["verified"]


def test_narrow_rows_cost_whole_lines() -> None:
    """Catches a simulated machine on which gaps are free, and one that moves the gaps."""
    size = 4 * MIB
    wide = played(toy.nvidia(), (GPU, PEER), "gpu0", "kernel-2d", size, width_bytes=64, pitch_bytes=128)
    narrow = played(toy.nvidia(), (GPU, PEER), "gpu0", "kernel-2d", size, width_bytes=16, pitch_bytes=128)
    way = RATES["kernel-peer-write"]
    assert wide["time_ns"] == pytest.approx(FIXED_NS["kernel"] + size / way * 1e9, rel=0.01)
    assert narrow["time_ns"] == pytest.approx(FIXED_NS["kernel"] + 4 * size / way * 1e9, rel=0.01)


@pytest.mark.parametrize("interface", ["copy-2d", "kernel-2d"])
@pytest.mark.parametrize("word", [3, 100])  # of a row, and of a gap
def test_a_wrong_word_is_found_in_rows_and_gaps(interface: str, word: int) -> None:
    """Catches a check that looks at rows alone, so that what overwrites the gaps passes."""
    sheet = toy.nvidia(faults__0=f"corrupt:gpu0>gpu1:word={word}")
    for size in (64 * KIB, 4 * MIB):
        got = played(sheet, (GPU, PEER), "gpu0", interface, size, strided="destination", **FEW)
        # In a gap the fault turns the word over and back: some slot shows it.
        assert not got["verified"] and got["first_bad"] % (4 * size) == 8 * word


def test_rows_that_are_left_out_are_found() -> None:
    """Catches verification that takes what an earlier operation wrote."""
    got = played(toy.nvidia(faults__0="skip:gpu0>gpu1"), (GPU, PEER), "gpu0", "copy-2d", 4 * MIB)
    assert not got["verified"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"pitch_bytes": 0}, "overlap at a pitch of 0"),
        ({"width_bytes": 512, "pitch_bytes": 504}, "rows of 512 bytes overlap at a pitch of 504"),
        ({"width_bytes": 100}, "multiples of 8"),
        ({"width_bytes": 0}, "no row without width"),
        ({"width_bytes": 48, "pitch_bytes": 64}, "no whole number of rows"),
    ],
)
def test_rows_that_cannot_be(more: dict[str, int], why: str) -> None:
    """Catches shapes that would write over each other, or outside of the buffer."""
    assert why in played(toy.nvidia(), (GPU, PEER), "gpu0", "copy-2d", 64 * KIB, **more)
