"""Scattered blocks, on real host memory and on simulated machines: blocks arrive, and gaps stay."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import FIXED_NS, KIB, MIB, RATES

GPU, PEER, HOST = ("gpu0", "device"), ("gpu1", "device"), ("cpu0", "pinned")
#: Operations of thousands of blocks take the simulator long.
FEW = {"batch": 1, "samples": 3}
METHODS: dict[str, dict[str, Any]] = {
    "calls": {"interface": "copy-blocks"},
    "batch": {"interface": "copy-blocks", "submit": "batch"},
    "graph": {"interface": "copy-blocks", "submit": "graph"},
    "kernel": {"interface": "kernel-blocks"},
    "resident": {"interface": "kernel-blocks", "blocks": 8},
    "bulk": {"interface": "bulk-blocks"},
}


def moved(
    session: _core.Session,
    ends: tuple[tuple[str, str], tuple[str, str]],
    executor: str,
    size: int,
    room: int = 0,
    **more: Any,
) -> Any:
    """What one flow of blocks gives, or why it is refused."""
    wanted = {"block_bytes": 1024, "layout": "random", "pitch_bytes": 2048, "scattered": "both", **more}
    interface, samples, batch = wanted.pop("interface"), wanted.pop("samples", 20), wanted.pop("batch", 0)
    budget_s = wanted.pop("budget_s", 0.05)
    buffers = [session.allocate(device, memory, room or 8 * size, device) for device, memory in ends]
    flow = _core.Flow(*buffers, executor, interface, size, **wanted)
    try:
        measured = session.measure([flow], toy.options(budget_s=budget_s, max_samples=samples, batch=batch))
    except _core.UnsupportedError as error:
        return str(error)
    (result,) = measured.flows
    return {
        "time_ns": measured.time_ns.median if measured.samples_ns else 0,
        "submit_ns": measured.submit_ns,
        "verified": measured.verified,
        "checked": result.verification.checked_bytes,
        "first_bad": result.verification.first_offset_bytes,
        "timed_by": measured.timed_by,
        "gated": measured.gated,
        "engine": measured.engine,
        "warnings": [warning.id for warning in measured.warnings],
        "distinct": [measured.distinct_source_bytes, measured.distinct_destination_bytes],
    }


def played(sheet: str, *arguments: Any, **more: Any) -> Any:
    def scene(session: _core.Session) -> Any:
        session.prove_peer("gpu0", "gpu1")
        return moved(session, *arguments, **more)

    return toy.play(sheet, scene)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("layout", ["random", "strided"])
@pytest.mark.parametrize("scattered", ["both", "source", "destination"])
@pytest.mark.parametrize("block", [8, 1000, 4096])
def test_blocks_of_real_memory(
    host_session: _core.Session, block: int, scattered: str, layout: str, threads: int
) -> None:
    """Catches blocks that end elsewhere, and a check that calls right ones wrong, without a simulator."""
    ends = (("cpu0", "pageable"), ("cpu0", "pageable"))
    got = moved(host_session, ends, "cpu0", 100 * block, 2 * MIB, interface="memcpy-blocks",
                block_bytes=block, pitch_bytes=block + 24, layout=layout, scattered=scattered,
                threads=threads, batch=16, samples=3)  # fmt: skip
    assert got["verified"] and got["engine"] == "cpu"
    assert got["checked"] >= 100 * block


@pytest.mark.parametrize("size", [64 * KIB, 4 * MIB])  # real and symbolic memory of the simulator
@pytest.mark.parametrize(("layout", "scattered"), [("random", "source"), ("strided", "both")])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "ends", [(GPU, PEER), (HOST, GPU), (GPU, HOST)], ids=["peer", "from-host", "to-host"]
)
def test_blocks_between_devices(ends: Any, method: str, layout: str, scattered: str, size: int) -> None:
    """Catches a method, a direction or a side that moves other blocks than its list says."""
    got = played(toy.nvidia(), ends, "gpu0", size, layout=layout, scattered=scattered, block_bytes=16 * KIB,
                 pitch_bytes=24 * KIB, **METHODS[method])  # fmt: skip
    assert got["verified"] and got["timed_by"] == "device-events"
    assert got["engine"] == ("copy-engine" if METHODS[method]["interface"] == "copy-blocks" else "kernel")
    assert got["distinct"][0] == got["distinct"][1] and got["distinct"][0] % size == 0


@pytest.mark.parametrize("method", METHODS)
def test_blocks_by_hip(method: str) -> None:
    """Catches a vendor whose kernels, batches or graphs take other arguments."""
    got = played(toy.amd(), (HOST, GPU), "gpu0", 256 * KIB, **METHODS[method])
    if method == "bulk":
        assert "bulk" in got  # no such instructions
    else:
        assert got["verified"]


@pytest.mark.parametrize("size", [128 * KIB, 2 * MIB])  # real and symbolic memory of the simulator
@pytest.mark.parametrize(("layout", "scattered"), [("random", "both"), ("strided", "destination")])
@pytest.mark.parametrize("method", METHODS)
def test_blocks_of_different_sizes(method: str, layout: str, scattered: str, size: int) -> None:
    """Catches blocks that are moved by the size of others, and places that overlap."""
    options = {**METHODS[method], "block_sizes": "16x4096,3x16384,64x256", "layout": layout, **FEW}
    got = played(toy.nvidia(), (HOST, GPU), "gpu0", size, room=16 * size, pitch_bytes=20_000,
                 scattered=scattered, **options)  # fmt: skip
    assert got["verified"] and got["distinct"][0] % size == 0


@pytest.mark.parametrize("memory", ["pinned", "pageable"])
@pytest.mark.parametrize("scattered", ["both", "source", "destination"])
@pytest.mark.parametrize("loads", [True, False], ids=["load", "unload"])
@pytest.mark.parametrize("size", [256 * KIB, 10 * MIB])  # one part, and three, the last one shorter
def test_packed_blocks(size: int, loads: bool, scattered: str, memory: str) -> None:
    """Catches a part that is packed before the copy of the one before it has read the staging memory, blocks
    that are unpacked to the places of others, and packing that is left out where it is needed.
    """
    ends = (("cpu0", memory), GPU) if loads else (GPU, ("cpu0", memory))
    got = played(toy.nvidia(), ends, "gpu0", size, room=4 * size, interface="pack-blocks", threads=2,
                 block_bytes=16 * KIB, scattered=scattered, **FEW)  # fmt: skip
    assert got["verified"] and got["timed_by"] == "host-clock"
    assert "ungated" not in got["warnings"]  # its work is a part of the call
    bare = memory == "pinned" and scattered == ("destination" if loads else "source")
    assert got["engine"].startswith("kernel" if bare else "cpu")


def test_packing_costs_a_copy_by_cores() -> None:
    """Catches a simulated machine on which packing is free, or its parts do not overlap."""
    size, ends = 16 * MIB, (HOST, GPU)
    packed = played(toy.nvidia(), ends, "gpu0", size, room=4 * size, interface="pack-blocks", threads=2)
    kernel = played(toy.nvidia(), ends, "gpu0", size, room=4 * size, **METHODS["kernel"])
    assert kernel["time_ns"] < packed["time_ns"] < 10 * kernel["time_ns"]


def test_a_call_costs_what_its_blocks_cost() -> None:
    """Catches a simulated machine on which a call for each block is free, or a kernel pays for each."""
    size, blocks = 256 * KIB, 256
    by = {
        name: played(toy.nvidia(), (HOST, GPU), "gpu0", size, room=64 * size, **options)
        for name, options in METHODS.items()
    }
    assert by["calls"]["time_ns"] >= blocks * FIXED_NS["engine"]
    assert by["calls"]["submit_ns"] > 100 * by["batch"]["submit_ns"]
    assert by["kernel"]["time_ns"] < by["calls"]["time_ns"] / 20
    way = RATES["kernel-host-read"]
    assert by["kernel"]["time_ns"] > FIXED_NS["kernel"] + size / way * 1e9


def test_a_batched_call_spares_fixed_times() -> None:
    """Catches a model whose time of a piece is not used, or takes the place of the first one's, too."""
    sheet, blocks = toy.nvidia(calls__batch_host_ns=500.0), 256
    batch = played(sheet, (HOST, GPU), "gpu0", 256 * KIB, room=64 * 256 * KIB, **METHODS["batch"])
    moved_ns = 256 * KIB / RATES["engine-host-read"] * 1e9
    assert batch["time_ns"] == pytest.approx(FIXED_NS["engine"] + (blocks - 1) * 500 + moved_ns, rel=0.01)


@pytest.mark.parametrize(("pitch", "piece_ns"), [(KIB, 0.0), (2 * KIB, 600.0)])
def test_a_batched_call_between_gpus_spares_fixed_times(pitch: int, piece_ns: float) -> None:
    """Catches scattered pieces that take no more time than adjoining ones, and the reverse."""
    sheet, blocks = toy.nvidia(calls__batches_overlap=1, calls__batch_peer_ns=600.0), 256
    options = {**METHODS["batch"], "layout": "strided", "pitch_bytes": pitch}
    batch = played(sheet, (GPU, PEER), "gpu0", 256 * KIB, room=64 * 256 * KIB, **options)
    moved_ns = 256 * KIB / RATES["engine-peer-write"] * 1e9
    others_ns = (blocks - 1) * piece_ns
    assert batch["time_ns"] == pytest.approx(FIXED_NS["engine"] + others_ns + moved_ns, rel=0.01)


def test_more_blocks_than_a_queue_holds_are_not_held_back() -> None:
    """Catches an operation that waits for the gate while the gate waits for it: its calls seem to block, and
    its engine cannot be observed.
    """
    got = played(toy.nvidia(), (HOST, GPU), "gpu0", 1024 * KIB, **METHODS["calls"])
    assert not got["gated"] and got["verified"] and "ungated" not in got["warnings"]
    assert got["timed_by"] == "device-events" and got["engine"] == "copy-engine"
    assert played(toy.nvidia(), (HOST, GPU), "gpu0", 64 * KIB, **METHODS["calls"])["gated"]


@pytest.mark.parametrize("method", ["calls", "kernel"])
@pytest.mark.parametrize("word", [3, 130])  # strided: of a block, and of a gap
def test_a_wrong_word_is_found_in_blocks_and_gaps(method: str, word: int) -> None:
    """Catches a check that looks at blocks alone, so that what overwrites the gaps passes."""
    sheet = toy.nvidia(faults__0=f"corrupt:gpu0>gpu1:word={word}")
    for size in (64 * KIB, 4 * MIB):
        got = played(sheet, (GPU, PEER), "gpu0", size, layout="strided", **METHODS[method], **FEW)
        assert not got["verified"]


@pytest.mark.parametrize("method", ["batch", "kernel"])
@pytest.mark.parametrize("layout", ["random", "strided"])
def test_blocks_that_are_left_out_are_found(method: str, layout: str) -> None:
    """Catches verification that takes what an earlier operation wrote."""
    got = played(toy.nvidia(faults__0="skip:gpu0>gpu1"), (GPU, PEER), "gpu0", 4 * MIB, layout=layout,
                 **METHODS[method], **FEW)  # fmt: skip
    assert not got["verified"]


@pytest.mark.parametrize("after", [32, 33, 37, 44])
def test_a_check_after_a_sample_names_the_word(after: int) -> None:
    """Catches a wrong word that is reported far behind its place."""
    sheet = toy.nvidia(faults__0=f"lapse:gpu0>gpu1:after={after}")
    got = played(sheet, (GPU, PEER), "gpu0", 64 * KIB, layout="strided", batch=1,
                 budget_s=1e-3, **METHODS["kernel"])  # fmt: skip
    assert not got["verified"]
    assert got["first_bad"] // 8 % 256 < 128  # of a block, not of the gap behind it


def test_a_lost_map_is_no_proof() -> None:
    """Catches verification by a map of blocks that did not arrive: then every word seems to be a gap."""
    got = played(toy.nvidia(faults__0="skip:cpu0>gpu0"), (HOST, GPU), "gpu0", 64 * KIB, **METHODS["kernel"])
    assert not got["verified"]


def test_more_blocks_than_one_list_names() -> None:
    """Catches the blocks of a second launch that are moved by the first one's list, or not checked."""
    # In order: the simulator keeps the blocks of each launch as one rule.
    size, options = 33_000 * 8, {"block_bytes": 8, "layout": "strided", "pitch_bytes": 16, **FEW}
    options |= METHODS["kernel"]
    got = played(toy.nvidia(), (HOST, GPU), "gpu0", size, 4 * size, **options)
    assert got["verified"] and got["checked"] >= size
    sheet = toy.nvidia(faults__0=f"corrupt:cpu0>gpu0:word={33_000 - 1}")
    assert not played(sheet, (HOST, GPU), "gpu0", size, 4 * size, **options)["verified"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"block_bytes": 0}, "no block without bytes"),
        ({"block_bytes": 100}, "multiple of 8"),
        ({"block_bytes": 48}, "no whole number of blocks"),
        ({"block_sizes": "2x1024,"}, "no list of counts and sizes: 2x1024,"),
        ({"block_sizes": "2x1024,3"}, "no list of counts and sizes"),
        ({"block_sizes": "2x1024,0x8"}, "no block without bytes"),
        ({"layout": "strided", "pitch_bytes": 512}, "overlap at a pitch of 512"),
    ],
)
def test_blocks_that_cannot_be(more: dict[str, Any], why: str) -> None:
    """Catches layouts that would write over each other, or outside of the buffer."""
    assert why in played(toy.nvidia(), (GPU, PEER), "gpu0", 64 * KIB, **METHODS["kernel"], **more)
