"""Interface `torch-copy`: PyTorch's `destination.copy_(source)`, timed by PyTorch's events.

A separate worker measures it, so that PyTorch's runtime and ours never share a process. The native core
decides on batches, slope, warm-up and the end of sampling as for its own interfaces (`_core.measure_calls`);
what is here fills, copies, times and compares. Only the gate differs: PyTorch has none, so a kernel that
spins for a given time holds the queue, and a batch that was not fully enqueued by then is marked `ungated`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.reasons import CALL_FAILED
from byteways.measuring.shared.protocol import Unavailable
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.failures import failed_by, skipped
from byteways.measuring.work.measurer import options_of
from byteways.measuring.work.outcome import outcome_of
from byteways.measuring.work.outcome_fields import Outcome
from byteways.plan.footprint import flow_buffer_bytes, rotated_cache

#: Operations of a batch: a queue holds 1,024 entries, and a slope takes two batches.
MOST_BATCH = 512
#: The queue is held for this multiple of the expected enqueueing time, and at least …
HOLD_MARGIN = 2.0
LEAST_HOLD_NS = 200e3
#: … and at most this long: a copy that blocks until done (pageable memory) outlasts any hold.
MOST_HOLD_NS = 50e6
#: After this many consecutive batches that were not enqueued in time, the queue is no longer held.
MOST_MISSES = 3
#: Assumed GPU cycles per ns for the spin duration; real clocks are at most twice that.
CYCLES_PER_NS = 2.0
#: Words generated and compared at a time: limits the extra memory.
CHUNK_WORDS = 8 << 20
TORCH_WORD_BYTES, WORD_MASK = 8, (1 << 64) - 1
POISON = -0x5A5A5A5A5A5A5A5B
#: 2^64 / golden ratio as a signed number, as in native/interfaces/device/data_pattern.hpp.
MULTIPLIER = -0x61C8864680B583EB


class TorchMeasurer:
    """Answers `measure` requests for `torch-copy`.

    Args:
        torch: The PyTorch module.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        cuda = torch.cuda
        self._devices = {
            _plain(str(cuda.get_device_properties(index).uuid)): index for index in range(cuda.device_count())
        }

    @classmethod
    def open(cls) -> TorchMeasurer:
        """Imports PyTorch. Raises Unavailable if it is missing, broken, or finds no GPU."""
        try:
            torch = importlib.import_module("torch")
        except Exception as error:  # a broken installation may raise anything
            raise Unavailable(f"PyTorch cannot be imported: {error}") from error
        if not torch.cuda.is_available():
            raise Unavailable("PyTorch sees no GPU")
        return cls(torch)

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        """Leaves once PyTorch has become unusable."""
        try:
            return WorkerAnswer(self._outcome(request))
        except Unavailable as reason:
            return WorkerAnswer(skipped(str(reason)))
        except self._torch.cuda.OutOfMemoryError as error:
            self._torch.cuda.empty_cache()
            return WorkerAnswer(failed_by(error, str(error).partition("\n")[0]))
        except RuntimeError as error:  # PyTorch raises it for every runtime failure and does not recover
            outcome = failed_by(error, str(error).partition("\n")[0])
            return WorkerAnswer({**outcome, "reason_code": CALL_FAILED}, leaving=True)

    def _outcome(self, request: CaseRequest) -> Outcome:
        case = request.case
        copies = _Copies(self._torch, case, self._slots(case, case.flows[0], request.uuids))
        copies.fill(request.key)
        measurement = _core.measure_calls(
            options_of(request),
            time_ns=copies.time_ns,
            spoil=copies.spoil,
            check=copies.check,
            gated=copies.were_held,
            size_bytes=case.size_bytes,
            most_operations=MOST_BATCH,
        )
        return {**outcome_of(case, measurement, []), **copies.evidence()}

    def _slots(self, case: Case, flow: Flow, uuids: Mapping[str, str]) -> list[tuple[Any, Any]]:
        """Returns (source, destination) tensors of words; operations rotate over them."""

        def cache_bytes(device: str) -> int:
            index = self._index(device, uuids) if device in uuids else None
            if index is None:
                return 0
            told = self._torch.cuda.get_device_properties(index)
            return rotated_cache(int(told.L2_cache_size), int(told.total_memory))

        count = 1
        if case.cache == "cold":
            count = max(1, flow_buffer_bytes(case, flow, cache_bytes) // case.size_bytes)
        ends = [self._tensor(end, count * case.size_bytes, uuids) for end in (flow.source, flow.destination)]
        words = case.size_bytes // TORCH_WORD_BYTES
        return [(ends[0][at : at + words], ends[1][at : at + words]) for at in range(0, count * words, words)]

    def _tensor(self, buffer: Buffer, size_bytes: int, uuids: Mapping[str, str]) -> Any:
        words, kind = size_bytes // TORCH_WORD_BYTES, self._torch.int64
        if buffer.memory == "device":
            return self._torch.empty(words, dtype=kind, device=f"cuda:{self._index(buffer.device, uuids)}")
        return self._torch.empty(words, dtype=kind, pin_memory=buffer.memory == "pinned")

    def _index(self, device: str, uuids: Mapping[str, str]) -> int:
        """Returns PyTorch's index of a device, which may differ from ours."""
        index = self._devices.get(_plain(uuids.get(device, "")))
        if index is None:
            raise Unavailable(f"PyTorch does not see {device}")
        return index


def _plain(uuid: str) -> str:
    """Normalises a UUID: libraries differ in prefix and punctuation."""
    return uuid.lower().removeprefix("gpu-").replace("-", "")


class _Copies:
    """The copies of one case; operation k uses slot k % slots."""

    def __init__(self, torch: ModuleType, case: Case, slots: list[tuple[Any, Any]]) -> None:
        self._torch, self._case, self._slots = torch, case, slots
        self._next, self._done = 0, 0  # operations so far: in total; since the last fill
        self._key, self._enqueue_ns = 0, 0.0  # _enqueue_ns: per operation, longest so far
        self._misses, self._all_held = 0, True
        on_gpu = [end.device.index for end in slots[0] if end.device.type == "cuda"]
        self._device = on_gpu[0]  # PyTorch enqueues a copy on its source's GPU and makes the other one wait
        # Like the vendor's copies beside them. In the default stream of an H100 copies of 64 MiB within the
        # GPU are 0.4 % faster, by PyTorch and by the driver's call alike (2026-11-25).
        self._stream = torch.cuda.Stream(device=self._device)

    def evidence(self) -> Outcome:
        """Returns the record fields on what moved and checked the bytes, which the native core cannot see."""
        distinct = min(len(self._slots), max(self._done, 1)) * self._case.size_bytes
        return {
            "engine": "unknown",
            "engine_evidence": f"PyTorch {self._torch.__version__} chooses between the vendor's copy "
            "call and its own kernels",
            "verification": "first and last sample",
            "distinct_bytes": {"source": distinct, "destination": distinct},
        }

    def fill(self, key: int) -> None:
        """Writes new data into every source and poison into every destination."""
        self._key, self._done = key, 0
        for number, (source, destination) in enumerate(self._slots):
            for first in range(0, source.numel(), CHUNK_WORDS):
                part = source[first : first + CHUNK_WORDS]
                part.copy_(self._words(part, number * source.numel() + first))
            destination.fill_(POISON)
        self._synchronize()

    def spoil(self, count: int) -> None:
        """Poisons the first word of the next destinations, so that a missing operation is detected."""
        for operation in range(self._next, self._next + min(count, len(self._slots))):
            self._slots[operation % len(self._slots)][1][:1].fill_(POISON)
        self._synchronize()

    def check(self) -> _core.Verification:
        """Returns the first destination, of all copied to since fill(), that has wrong words."""
        self._synchronize()
        last = min(self._done, len(self._slots))
        for number in [operation % len(self._slots) for operation in range(self._next - last, self._next)]:
            destination = self._slots[number][1]
            for first in range(0, destination.numel(), CHUNK_WORDS):
                part = destination[first : first + CHUNK_WORDS]
                expected = self._words(part, number * destination.numel() + first)
                wrong = part != expected
                if count := int(wrong.sum()):
                    at = int(wrong.nonzero()[0])
                    offset = (number * destination.numel() + first + at) * TORCH_WORD_BYTES
                    words = (int(some[at : at + 1].sum()) & WORD_MASK for some in (expected, part))
                    return _core.Verification(last * self._case.size_bytes, count, offset, *words)
        return _core.Verification(last * self._case.size_bytes)

    def _words(self, like: Any, first: int) -> Any:
        """Returns the expected words, generated on the tensor's device."""
        index = self._torch.arange(first, first + like.numel(), dtype=self._torch.int64, device=like.device)
        word = (index + self._key) * MULTIPLIER
        return word ^ (word >> 31)

    def were_held(self) -> bool:
        """Returns whether all batches since the last call were enqueued before the first copy ran."""
        held, self._all_held = self._all_held and self._holds(), True
        return held

    def _holds(self) -> bool:
        return self._misses < MOST_MISSES

    def time_ns(self, count: int) -> float:
        """Returns the ns for `count` operations enqueued behind a spinning kernel that holds the queue.

        Nothing may be under way in other streams: this one does not wait for them.
        """
        cuda = self._torch.cuda
        with cuda.device(self._device), cuda.stream(self._stream):
            begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            if self._holds():
                hold_ns = max(LEAST_HOLD_NS, HOLD_MARGIN * count * self._enqueue_ns)
                cuda._sleep(int(min(hold_ns, MOST_HOLD_NS) * CYCLES_PER_NS))
            begin.record()
            before = time.perf_counter_ns()
            for operation in range(self._next, self._next + count):
                source, destination = self._slots[operation % len(self._slots)]
                destination.copy_(source, non_blocking=True)
            end.record()
            held = not begin.query()
            enqueueing_ns = time.perf_counter_ns() - before
        end.synchronize()
        self._next += count
        self._done += count
        self._enqueue_ns = max(self._enqueue_ns, enqueueing_ns / count)
        if self._holds():
            self._misses = 0 if held else self._misses + 1
        self._all_held = self._all_held and held
        return 1e6 * float(begin.elapsed_time(end))

    def _synchronize(self) -> None:
        for index in {end.device.index for end in self._slots[0] if end.device.type == "cuda"}:
            self._torch.cuda.synchronize(index)
