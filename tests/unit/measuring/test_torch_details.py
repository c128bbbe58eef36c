"""How `torch-copy` fills, holds, times and checks its copies, on a stand-in for PyTorch."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from byteways.cases.case import Case, Flow
from byteways.cases.reasons import CALL_FAILED, OUT_OF_MEMORY, UNAVAILABLE
from byteways.measuring.shared.protocol import Unavailable
from byteways.measuring.work import torch_measuring
from byteways.measuring.work.torch_measuring import MULTIPLIER, POISON, TorchMeasurer, _Copies
from tests.unit.fake_torch import FakeTorch
from tests.unit.measuring.test_torch_copy import MIB, UUIDS, outcome, request


def case(**changes: Any) -> Case:
    return request(**changes).case


def slots(torch: Any = None, **changes: Any) -> list[tuple[Any, Any]]:
    what = case(**changes)
    flow: Flow = what.flows[0]
    return TorchMeasurer(torch or FakeTorch())._slots(what, flow, UUIDS)  # type: ignore[arg-type]


def begun(size: int = 64, count: int = 3, key: int = 7) -> tuple[_Copies, list[tuple[Any, Any]]]:
    """A run of copies over `count` slots, filled."""
    what, torch = case(size=size), FakeTorch()
    words, kind = size // 8, torch.int64
    held = [(torch.empty(words, kind, "cuda:0"), torch.empty(words, kind, "cuda:1")) for _ in range(count)]
    made = _Copies(torch, what, held)  # type: ignore[arg-type]
    made.fill(key)
    return made, held


def test_every_source_has_its_own_words() -> None:
    """Catches slots of equal data, by which a copy from the wrong one would pass, and another pattern."""
    _, held = begun()
    words = np.concatenate([source.data for source, _ in held])
    with np.errstate(over="ignore"):
        expected = (np.arange(24, dtype=np.int64) + 7) * np.int64(MULTIPLIER)
    assert (words == (expected ^ (expected >> 31))).all()
    assert all((destination.data == POISON).all() for _, destination in held)


def test_pieces_are_as_good_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches words left out between two pieces of a large buffer, when filled or when compared."""
    _, whole = begun()
    monkeypatch.setattr(torch_measuring, "CHUNK_WORDS", 3)
    made, held = begun()
    assert all((a.data == b.data).all() for (a, _), (b, _) in zip(whole, held, strict=True))
    made.time_ns(3)
    assert made.check().ok
    for at in range(8):
        made.fill(9)
        made.time_ns(3)
        held[2][1].data[at] ^= 1
        found = made.check()
        assert (found.ok, found.bad_count, found.first_offset_bytes) == (False, 1, 2 * 64 + 8 * at)
        assert found.expected ^ found.got == 1 and found.checked_bytes == 3 * 64


def test_what_is_checked() -> None:
    """Catches slots that were not copied to taken for wrong, and the last ones left out."""
    made, held = begun()
    assert made.check().ok  # nothing was copied since the fill
    made.time_ns(2)
    assert made.check().ok
    held[1][1].data[5:] = 0
    found = made.check()
    assert (found.bad_count, found.first_offset_bytes, found.got) == (3, 64 + 40, 0)
    made.fill(7)
    assert made.check().ok
    made.time_ns(1)  # to slot 2
    held[0][1].data[:] = 0
    assert made.check().ok
    made.time_ns(4)
    held[0][1].data[:] = 0
    assert not made.check().ok


def test_the_next_destinations_are_spoilt() -> None:
    """Catches a copy that did not happen, hidden by an earlier one to the same place."""
    made, held = begun()
    made.time_ns(4)
    made.spoil(2)
    assert [int(destination.data[0]) == POISON for _, destination in held] == [False, True, True]
    made.spoil(9)
    assert [int(destination.data[0]) == POISON for _, destination in held] == [True] * 3
    assert all(int(destination.data[1]) != POISON for _, destination in held)


def test_what_is_recorded_of_the_copies() -> None:
    """Catches bytes counted that no copy touched, and an engine claimed that nobody saw."""
    made, _ = begun(size=4096)
    assert made.evidence()["distinct_bytes"] == {"source": 4096, "destination": 4096}
    made.time_ns(2)
    assert made.evidence()["distinct_bytes"]["source"] == 2 * 4096
    made.time_ns(9)
    assert made.evidence() == {
        "engine": "unknown",
        "engine_evidence": "PyTorch 0.0+fake chooses between the vendor's copy call and its own kernels",
        "verification": "first and last sample",
        "distinct_bytes": {"source": 3 * 4096, "destination": 3 * 4096},
    }


@pytest.mark.parametrize(
    ("changes", "count", "ends"),
    [
        ({"cache": "warm"}, 1, ("cuda 0", "cuda 1")),
        ({"size": 1 << 30}, 1, ("cuda 0", "cuda 1")),
        ({"source": "cpu0:pinned", "cache": "warm"}, 1, ("cpu None", "cuda 1")),
    ],
)
def test_buffers(changes: dict[str, Any], count: int, ends: tuple[str, str]) -> None:
    """Catches warm copies that rotate, and tensors on another device."""
    held = slots(**changes)
    assert len(held) == count
    assert tuple(f"{end.device.type} {end.device.index}" for end in held[0]) == ends
    assert {end.numel() * 8 for pair in held for end in pair} == {changes.get("size", MIB)}


def test_cold_copies_rotate_over_more_than_the_cache() -> None:
    """Catches a cold copy within the cache of a GPU, and slots that overlap."""
    few, many = FakeTorch(), FakeTorch()
    many.cuda.get_device_properties = lambda index: SimpleNamespace(
        uuid=f"aaaa-{index}", L2_cache_size=1 << 28, total_memory=1 << 36
    )
    assert len(slots(many)) > len(slots(few)) > 1
    held = slots(few, size=4096)
    for number, (source, _) in enumerate(held):
        source.fill_(number)
    assert [int(source.data[0]) for source, _ in held] == [*range(len(held))]


def test_pinned_memory_is_asked_for() -> None:
    """Catches pageable memory measured as pinned."""
    asked = []

    class Noting(FakeTorch):
        def empty(self, words: int, dtype: Any, device: str = "cpu", pin_memory: bool = False) -> Any:
            asked.append((device, pin_memory))
            return super().empty(words, dtype, device, pin_memory)

    for memory in ("pinned", "pageable"):
        slots(Noting(), source=f"cpu0:{memory}")
    assert asked == [("cpu", True), ("cuda:1", False), ("cpu", False), ("cuda:1", False)]


@pytest.mark.parametrize(
    ("error", "outcome_", "broken", "emptied"),
    [
        (
            MemoryError("no room\nfor 1 GiB"),
            {"status": "failed", "reason": "no room", "reason_code": OUT_OF_MEMORY},
            False,
            1,
        ),
        (
            RuntimeError("lost\nat line 3"),
            {"status": "failed", "reason": "lost", "reason_code": CALL_FAILED},
            True,
            0,
        ),
        (Unavailable("none"), {"status": "skipped", "reason": "none", "reason_code": UNAVAILABLE}, False, 0),
    ],
)
def test_errors_of_pytorch(
    error: Exception, outcome_: dict[str, Any], broken: bool, emptied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a worker that goes on with a broken PyTorch, one ended for want of memory, and tracebacks."""
    torch, calls = FakeTorch(), []
    torch.cuda.empty_cache = lambda: calls.append(1)
    measurer = TorchMeasurer(torch)  # type: ignore[arg-type]

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(measurer, "_outcome", fail)
    assert measurer.measure(request()) == (outcome_, broken) and len(calls) == emptied


def test_a_pytorch_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback of a broken installation, and a PyTorch without GPUs that is asked for copies."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Unavailable, match="PyTorch cannot be imported: "):
        TorchMeasurer.open()
    monkeypatch.setitem(sys.modules, "torch", FakeTorch(gpus=0))  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="PyTorch sees no GPU"):
        TorchMeasurer.open()
    monkeypatch.setitem(sys.modules, "torch", FakeTorch())  # type: ignore[arg-type]
    assert TorchMeasurer.open()._devices == {"aaaa0": 0, "aaaa1": 1}


@pytest.mark.parametrize(
    ("times_ns", "budget_s", "warned"),
    [
        ([2e6], 9.0, []),
        ([2e6, 4e6], 0.2, ["noisy"]),
        ([2e6], 0.0, []),
    ],
)
def test_the_core_ends_the_sampling(
    times_ns: list[float], budget_s: float, warned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a rule of its own for PyTorch: samples, interval and warnings are those of the native core."""
    turns = itertools.cycle(times_ns)
    monkeypatch.setattr(_Copies, "time_ns", lambda *_: next(turns))
    short = replace(request(cache="warm"), budget_s=budget_s)
    found, _ = TorchMeasurer(FakeTorch()).measure(short)  # type: ignore[arg-type]
    assert (len(found["samples_ns"]) == 6) == (budget_s == 0) and found["batch"] == 1
    assert [one["id"] for one in found["warnings"] if one["id"] in ("noisy", "few-samples")] == warned
    assert found["time_ns"]["n"] == len(found["samples_ns"]) and found["timer_resolution_ns"] == 500
    assert found["directions"] == {"gpu0>gpu1": found["bandwidth_bytes_per_s"]}


def test_a_queue_is_held_as_long_as_enqueueing_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches copies that begin before all are enqueued, and a queue held much longer than that."""
    torch, clock = FakeTorch(), [0]
    made = _Copies(torch, case(), slots(torch)[:2])  # type: ignore[arg-type]

    def tick() -> int:
        clock[0] += 40_000
        return clock[0]

    monkeypatch.setattr(torch_measuring.time, "perf_counter_ns", tick)
    held = []
    for count in (1, 10, 100, 1000):
        before = torch.held_ns
        made.time_ns(count)
        held.append(torch.held_ns - before)
    assert held == [200e3, 2 * 10 * 40_000, 2 * 100 * 40_000, 50e6]
    assert made.were_held() and made._enqueue_ns == 40_000


def test_three_misses_in_a_row_end_the_holding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a queue given up after one late call, and copies called gated that were not."""
    torch = FakeTorch()
    made = _Copies(torch, case(), slots(torch)[:2])  # type: ignore[arg-type]
    late = iter([True, True, False, True, True, True])
    misses = []
    for is_late in late:
        torch.host_ns = float("inf") if is_late else 0.0
        made.time_ns(1)
        misses.append((made._misses, made._holds()))
    assert misses == [(1, True), (2, True), (0, True), (1, True), (2, True), (3, False)]
    assert not made.were_held()
    before = torch.held_ns
    made.time_ns(1)
    assert torch.held_ns == before and made._misses == 3


@pytest.mark.parametrize(
    ("size", "fixed_ns", "batch"),
    [(MIB, 0.0, 193), (MIB, 1e7, 1), (8, 0.0, 150), (4096, 1e9, 147), (65536, 1e9, 1), (65528, 1e9, 113)],
)
def test_batches_are_long_enough_for_the_timer(size: int, fixed_ns: float, batch: int) -> None:
    """Catches batches that the timer's resolution blurs, and ones that take all of the time."""
    found = outcome(FakeTorch(fixed_ns=fixed_ns), size=size, cache="warm")
    assert found["batch"] == batch
    assert found["slope"] == (size < 65536)
