"""The STREAM kernels, on the host and simulated: proved word by word, timed as their arrays lie."""

from __future__ import annotations

from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy
from tests.native.simulated import CORE_COPY, FIXED_NS, MIB, RATES

SIZE = 64 * MIB
ONE = ("stream-copy", "stream-scale")
TWO = ("stream-add", "stream-triad")


def stream(
    session: _core.Session, interface: str, arrays: tuple[str, ...], executor: str, size: int, **more: Any
) -> _core.Flow:
    """A flow over new arrays, sources first, each `device:memory`."""
    room = more.pop("room", size)
    made = []
    for array in arrays:
        device, memory = array.split(":")
        if device.startswith("gpu") and executor.startswith("gpu") and device != executor:
            assert session.prove_peer(executor, device).available
        made.append(session.allocate(device, memory, room, device))
    second = made[1] if len(made) > 2 else None
    return _core.Flow(made[0], made[-1], executor, interface, size, second_source=second, **more)


def arrays_of(interface: str, array: str = "cpu0:pageable") -> tuple[str, ...]:
    return (array,) * (2 if interface in ONE else 3)


@pytest.mark.parametrize("interface", ONE + TWO)
#: test_host_loops.py has other sizes, for each instruction set.
@pytest.mark.parametrize(("size", "threads"), [(16, 1), (MIB + 48, 3)])
def test_every_word_of_the_host_s_loops_is_right(
    host_session: _core.Session, interface: str, size: int, threads: int
) -> None:
    """Would catch a loop that loses its tail or a member's share, another operation, and a false alarm."""
    options = _core.MeasureOptions()
    options.budget_s, options.max_samples = 0.02, 10
    flow = stream(host_session, interface, arrays_of(interface), "cpu0", size, threads=threads, room=3 * MIB)
    measured = host_session.measure([flow], options)
    assert measured.verified and measured.engine == "cpu"
    [result] = measured.flows
    assert result.verification.checked_bytes > 0 and result.blocks == threads
    counted = 2 if interface in ONE else 3
    assert result.bytes_per_s == pytest.approx(counted * size / measured.time_ns.median * 1e9)


def rates(interface: str, arrays: tuple[str, ...], executor: str, **more: Any) -> list[float]:
    """Median time in ns, and 1 when every word was right."""

    def scene(session: _core.Session) -> Any:
        measured = session.measure(
            [stream(session, interface, arrays, executor, SIZE, **more)], toy.options()
        )
        return measured.time_ns.median, float(measured.verified)

    return [*toy.play(toy.nvidia(), scene)]


G0, G1, H0 = "gpu0:device", "gpu1:device", "cpu0:pinned"
#: interface, arrays, and bytes/s of one array by the toy's numbers.
PLACES = [
    ("stream-copy", (G0, G0), RATES["kernel-local"]),
    ("stream-triad", (G0, G0, G0), 2 / 3 * RATES["kernel-local"]),
    ("stream-copy", (G1, G0), RATES["kernel-peer-read"]),
    ("stream-copy", (G0, G1), RATES["kernel-peer-write"]),
    ("stream-copy", (G1, G1), RATES["kernel-peer-read"]),
    ("stream-add", (G1, G1, G0), RATES["kernel-peer-read"] / 2),
    ("stream-add", (G1, G0, G0), RATES["kernel-peer-read"]),
    ("stream-triad", (G1, G1, G1), RATES["kernel-peer-read"] / 2),
    ("stream-scale", (H0, G0), RATES["kernel-host-read"]),
    ("stream-triad", (H0, G1, H0), RATES["kernel-host-write"]),
]


@pytest.mark.parametrize(("interface", "arrays", "rate"), PLACES, ids=lambda each: str(each))
def test_each_array_takes_its_own_way(interface: str, arrays: tuple[str, ...], rate: float) -> None:
    """Catches an array that is taken to lie elsewhere, or a link that is not full duplex."""
    time_ns, right = rates(interface, arrays, "gpu0")
    assert right
    assert time_ns == pytest.approx(FIXED_NS["kernel"] + SIZE / rate * 1e9, rel=1e-3)


def test_cores_of_a_model_share_their_rate_among_the_arrays() -> None:
    """Catches a model whose cores read a third array for nothing."""
    copy, _ = rates("stream-copy", ("cpu0:pageable",) * 2, "cpu0", threads=1)
    triad, right = rates("stream-triad", ("cpu0:pageable",) * 3, "cpu0", threads=1)
    assert right
    assert copy == pytest.approx(SIZE / CORE_COPY * 1e9, rel=0.01)
    assert triad == pytest.approx(1.5 * copy, rel=0.01)


@pytest.mark.parametrize("interface", ["stream-copy", "stream-triad"])
@pytest.mark.parametrize("fault", ["corrupt:gpu0>gpu0:word=77", "skip:gpu0>gpu0"])
@pytest.mark.parametrize("size", [64 * 1024, SIZE], ids=["real", "described"])
def test_wrong_words_are_found(interface: str, fault: str, size: int) -> None:
    """Fail closed. Catches a check that takes what a STREAM kernel left, or did not write, for its result."""

    def scene(session: _core.Session) -> Any:
        flow = stream(session, interface, arrays_of(interface, G0), "gpu0", size)
        [result] = session.measure([flow], toy.options()).flows
        found = result.verification
        return found.ok, found.bad_count, found.first_offset_bytes, found.expected ^ found.got

    ok, bad, first, bits = toy.play(toy.nvidia(faults__0=fault), scene)
    assert not ok
    assert (bad, first, bits) == (1, 77 * 8, 1) if fault.startswith("corrupt") else bad == size // 8


def test_arrays_that_are_missing_or_too_many_are_refused() -> None:
    """Catches reads of a second source that does not exist, or a named one that is ignored."""
    session = _core.Session(gpus=False)
    for interface, arrays in (
        ("stream-triad", ("cpu0:pageable",) * 2),
        ("stream-copy", ("cpu0:pageable",) * 3),
    ):
        with pytest.raises(_core.UnsupportedError, match="array"):
            session.measure([stream(session, interface, arrays, "cpu0", MIB)], _core.MeasureOptions())
    for options, words in (({"blocks": 2}, "no blocks"), ({"threads": 5000}, "more than the most")):
        flow = stream(session, "stream-copy", ("cpu0:pageable",) * 2, "cpu0", MIB, **options)
        with pytest.raises(_core.UnsupportedError, match=words):
            session.measure([flow], _core.MeasureOptions())


@pytest.mark.parametrize(
    ("interface", "arrays", "shape", "rate"),
    [
        ("kernel", (G0, G0), {"blocks": 1, "threads": 512}, 512 * 128 / 300e-9),
        ("kernel", (G1, G0), {"blocks": 1, "threads": 128}, 128 * 128 / 800e-9),
        ("kernel", (G1, G0), {"blocks": 64, "threads": 128}, RATES["kernel-peer-read"]),
        ("stream-copy", (G0, G0), {"blocks": 1, "threads": 512}, 512 * 64 / 300e-9),
        ("stream-add", (G1, G0, G0), {"blocks": 1, "threads": 128}, 128 * 64 / 800e-9),
    ],
)
def test_few_threads_wait_for_their_bytes_in_flight(
    interface: str, arrays: tuple[str, ...], shape: dict[str, int], rate: float
) -> None:
    """Catches a model in which one block fills a link: a thread has so many bytes on the way, no more."""
    time_ns, right = rates(interface, arrays, "gpu0", **shape)
    assert right
    assert time_ns == pytest.approx(FIXED_NS["kernel"] + SIZE / rate * 1e9, rel=1e-3)
