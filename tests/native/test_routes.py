"""Routes on simulated machines: split, forwarded and joined, with every word where it belongs."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import MIB, RATES

SIZE = 256 * MIB
HOST, GPU = ("cpu0", "pinned"), ("gpu0", "device")


def routed(sheet: str, source: tuple[str, str], destination: tuple[str, str], **more: Any) -> Any:
    """What a route between two new buffers gives, queued on gpu0."""

    def scene(session: _core.Session) -> Any:
        settings = {name: more.pop(name) for name in ("gate", "batch") if name in more}
        size = more.pop("size", SIZE)
        flow = toy.flow(session, source, destination, "gpu0", "route", size, **more)
        try:
            measured = session.measure([flow], toy.options(**settings))
        except _core.UnsupportedError as error:
            return str(error)
        (result,) = measured.flows
        return {
            "rate": result.bytes_per_s,
            "parts": result.parts,
            "verified": measured.verified,
            "first_bad": result.verification.first_offset_bytes,
            "gated": measured.gated,
            "timed_by": measured.timed_by,
            "batch": measured.batch,
            "engine": [measured.engine, measured.engine_evidence],
        }

    return toy.play(sheet, scene)


@pytest.mark.parametrize(("source", "destination"), [(HOST, GPU), (GPU, HOST)], ids=["to-gpu", "from-gpu"])
@pytest.mark.parametrize("sheet", [toy.nvidia(), toy.amd()], ids=["cuda", "hip"])
def test_two_paths_carry_what_both_links_do(
    sheet: str, source: tuple[str, str], destination: tuple[str, str]
) -> None:
    """Catches a relay that waits for the straight part, pieces that wait for each other, wrong data."""
    straight = routed(sheet, source, destination)
    got = routed(sheet, source, destination, via="gpu1")
    way = RATES["engine-host-read" if source == HOST else "engine-host-write"]
    assert straight["rate"] == pytest.approx(way, rel=0.01)
    assert got["rate"] > 1.6 * straight["rate"]
    assert got["verified"] and got["gated"] and got["timed_by"] == "device-events"
    assert straight["parts"] == {f"{source[0]}>{destination[0]}": 1.0}
    assert sum(got["parts"].values()) == pytest.approx(1)
    assert (
        0.35 < got["parts"][f"{source[0]}>gpu1>{destination[0]}"] < 0.5
    )  # its links are as fast, not faster
    assert got["engine"][0] == "copy-engine" and "of gpu0, gpu1" in got["engine"][1]


def test_a_slow_path_is_given_less() -> None:
    """Catches equal parts for unequal links: the whole would wait for the slow one."""
    links = {"links__1__peak_bytes_per_s": 10e9}  # gpu1 to its CPU
    got = routed(toy.nvidia(**links), HOST, GPU, via="gpu1")
    assert got["parts"]["cpu0>gpu1>gpu0"] == pytest.approx(10 / 60, abs=0.02)
    assert got["rate"] == pytest.approx(0.9 * 60e9, rel=0.05)


@pytest.mark.parametrize("fault", ["skip:gpu1>gpu0", "corrupt:gpu1>gpu0:word=7", "corrupt:cpu0>gpu1:word=7"])
def test_what_a_relay_spoils_is_found(fault: str) -> None:
    """Catches verification that looks at the straight part only."""
    got = routed(toy.nvidia(faults__0=fault), HOST, GPU, via="gpu1")
    assert not got["verified"]
    # Parts and pieces begin on pages; the straight part comes first.
    assert got["first_bad"] > 0 and got["first_bad"] % 4096 == (56 if "word" in fault else 0)


@pytest.mark.parametrize("size", [16, 4104, MIB + 8, 5 * MIB])
def test_odd_sizes(size: int) -> None:
    """Catches a last piece that is not whole, and parts that do not add up."""
    got = routed(toy.nvidia(), HOST, GPU, via="gpu1", size=size, piece_bytes=MIB, depth=3)
    assert got["verified"] and sum(got["parts"].values()) == pytest.approx(1)


def test_batches_fit_the_queue() -> None:
    """Catches a batch whose many copies fill a queue behind the gate, which then has to be let go."""
    got = routed(toy.nvidia(), HOST, GPU, via="gpu1", size=64 * MIB, piece_bytes=MIB, batch=1000)
    assert got["gated"] and 8 < got["batch"] < 512 // 26


@pytest.mark.parametrize(
    ("source", "more", "why"),
    [
        (HOST, {"via": "gpu0"}, "an end of the transfer"),
        (HOST, {"via": "cpu1"}, "relays are GPUs"),
        (GPU, {"via": "gpu1"}, "there is no second path"),
        (("cpu0", "pageable"), {"via": "gpu1"}, "memory that stays locked"),
        (HOST, {"via": "gpu1", "piece_bytes": 1000}, "multiples of 4096"),
        (HOST, {"via": "gpu1", "size": 8}, "cannot be split over 2 paths"),
    ],
)
def test_refusals(source: tuple[str, str], more: dict[str, Any], why: str) -> None:
    """Catches an impossible route that is measured as one."""
    assert why in routed(toy.nvidia(), source, GPU, **more)
