"""As much of PyTorch as `torch-copy` uses, on NumPy arrays and a clock of its own."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

BYTES_PER_NS = 100.0
START_NS = 2000.0


class Tensor:
    def __init__(self, data: np.ndarray, place: SimpleNamespace, torch: FakeTorch) -> None:
        self.data, self.device, self._torch = data, place, torch

    def numel(self) -> int:
        return self.data.size

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self.data[key], self.device, self._torch)

    def fill_(self, value: int) -> None:
        self.data[...] = value

    def copy_(self, source: Tensor, non_blocking: bool = False) -> None:
        if non_blocking:
            self._torch.queued_ns += START_NS + source.data.nbytes / BYTES_PER_NS
            self._torch.copies += 1
            self._torch.streams.add(self._torch.current_stream)
            if self._torch.blocking:
                self._torch.host_ns = self._torch.queued_ns
            if self._torch.copies in self._torch.left_out:
                return
        self.data[...] = source.data

    def __add__(self, value: int) -> Tensor:
        return Tensor(self.data + np.int64(value), self.device, self._torch)

    def __mul__(self, value: int) -> Tensor:
        return Tensor(self.data * np.int64(value), self.device, self._torch)

    def __rshift__(self, bits: int) -> Tensor:
        return Tensor(self.data >> bits, self.device, self._torch)

    def __xor__(self, other: Tensor) -> Tensor:
        return Tensor(self.data ^ other.data, self.device, self._torch)

    def __ne__(self, other: object) -> Any:
        return Tensor(self.data != other.data, self.device, self._torch)  # type: ignore[attr-defined]

    def sum(self) -> int:
        return int(self.data.sum())

    def nonzero(self) -> np.ndarray:
        return np.flatnonzero(self.data)


class FakeTorch:
    """`left_out`: numbers of the copies, counted from 1, that do not happen.

    `fixed_ns`: what a batch takes beside its copies.

    `blocking`: a copy returns when it is done; `host_ns` is then what the host's clock tells.
    """

    int64 = np.int64
    __version__ = "0.0+fake"

    def __init__(self, gpus: int = 2, blocking: bool = False, fixed_ns: float = 0.0) -> None:
        self.fixed_ns = fixed_ns
        self.queued_ns, self.copies, self.left_out = 0.0, 0, set[int]()
        self.blocking, self.host_ns, self.held_ns = blocking, 0.0, 0.0
        self.current_stream, self.streams = "default stream", set[str]()  # those of timed copies
        properties = [
            SimpleNamespace(uuid=f"aaaa-{index}", L2_cache_size=1 << 20, total_memory=1 << 34)
            for index in range(gpus)
        ]
        self.cuda = SimpleNamespace(
            device_count=lambda: gpus,
            is_available=lambda: gpus > 0,
            get_device_properties=lambda index: properties[index],
            OutOfMemoryError=MemoryError,
            Event=lambda enable_timing: FakeEvent(self),
            device=self._device,
            Stream=lambda device: f"stream of {device}",
            stream=self._stream,
            synchronize=lambda index: None,
            empty_cache=lambda: None,
            _sleep=self._sleep,
        )

    @contextmanager
    def _device(self, index: int) -> Any:
        yield

    @contextmanager
    def _stream(self, stream: str) -> Any:
        self.current_stream = stream
        yield
        self.current_stream = "default stream"

    def _sleep(self, cycles: int) -> None:
        self.queued_ns += cycles / 2
        self.held_ns += cycles / 2

    def empty(self, words: int, dtype: Any, device: str = "cpu", pin_memory: bool = False) -> Tensor:
        kind, _, index = device.partition(":")
        place = SimpleNamespace(type=kind, index=int(index) if index else None)
        return Tensor(np.zeros(words, dtype), place, self)

    def arange(self, first: int, end: int, dtype: Any, device: Any) -> Tensor:
        return Tensor(np.arange(first, end, dtype=dtype), device, self)


class FakeEvent:
    def __init__(self, torch: FakeTorch) -> None:
        self._torch, self._at = torch, 0.0

    def record(self) -> None:
        """The first event of a batch comes before its fixed cost, the second one after."""
        self._at = self._torch.queued_ns
        self._torch.queued_ns += self._torch.fixed_ns

    def query(self) -> bool:
        return self._torch.host_ns > self._at

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: FakeEvent) -> float:
        return (end._at - self._at) / 1e6
