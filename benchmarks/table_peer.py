"""Compares the cells of a node's first table with a plain loop of the vendor's copy call, in turns.

    python benchmarks/table_peer.py

It needs an NVIDIA GPU. The loop is cuMemcpyAsync through ctypes, on the same buffers as byteways and in the
same process: one stream for each transfer, a batch of copies, CUDA events around it for one transfer; for
several at once the host's clock from the first call until all streams are empty. A row has the medians over
the rounds, and the loop's rate over byteways' with the smallest and largest round.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from byteways import _core
from byteways.measuring.shared.library_paths import library_directories

SIZE = 128 << 20
BATCH = 8
#: Of the loop with several transfers at once, so that starting and ending them does not count.
CONCURRENT_BATCH = 40


@dataclass(frozen=True)
class Transfer:
    source: str
    destination: str

    @property
    def executor(self) -> str:
        """The GPU in whose stream the copy is enqueued: the source, if it is one."""
        return self.source if self.source.startswith("gpu") else self.destination


@dataclass(frozen=True)
class Cell:
    name: str
    transfers: tuple[Transfer, ...]


def cells_of(gpus: Sequence[str]) -> list[Cell]:
    """Returns the cells of the first table: each path alone, both directions, and all GPUs at once."""
    pairs = [Transfer(a, b) for a, b in permutations(gpus, 2)]
    into, out = [Transfer("cpu0", g) for g in gpus], [Transfer(g, "cpu0") for g in gpus]
    alone = [Cell(f"{t.source}>{t.destination}", (t,)) for t in (*into, *out, *pairs)]
    both = [Cell("cpu0<>gpu0", (into[0], out[0]))]
    if len(gpus) > 1:
        both += [
            Cell("gpu0<>gpu1", (pairs[0], Transfer("gpu1", "gpu0"))),
            Cell("cpu0>all GPUs", tuple(into)),
            Cell("all GPUs>cpu0", tuple(out)),
            Cell("all pairs", tuple(pairs)),
        ]
    return alone + both


class Driver:
    """The calls of the loop. Contexts are the primary ones, which byteways uses too."""

    def __init__(self, gpus: Sequence[str]) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        self._contexts = {}
        for gpu in gpus:
            context = ctypes.c_void_p()
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), int(gpu.removeprefix("gpu")))
            self._contexts[gpu] = context

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            sys.exit(f"error: {name} returned {code}")

    def stream(self, gpu: str) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        self._call("cuCtxSetCurrent", self._contexts[gpu])
        self._call("cuStreamCreate", ctypes.byref(found), 1)
        return found

    def event(self) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(found), 0)
        return found

    def enqueue(self, loop: Loop, batch: int) -> None:
        self._call("cuCtxSetCurrent", self._contexts[loop.gpu])
        self._call("cuEventRecord", loop.begin, loop.stream)
        to, source, size = (ctypes.c_uint64(v) for v in (loop.to, loop.source, SIZE))
        for _ in range(batch):
            self._call("cuMemcpyAsync", to, source, size, loop.stream)
        self._call("cuEventRecord", loop.end, loop.stream)

    def wait(self, loop: Loop) -> None:
        self._call("cuCtxSetCurrent", self._contexts[loop.gpu])
        self._call("cuStreamSynchronize", loop.stream)

    def nanoseconds(self, loop: Loop) -> float:
        found = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(found), loop.begin, loop.end)
        return found.value * 1e6


@dataclass(frozen=True)
class Loop:
    gpu: str
    to: int
    source: int
    stream: ctypes.c_void_p
    begin: ctypes.c_void_p
    end: ctypes.c_void_p


def rate_of_loop(driver: Driver, loops: Sequence[Loop]) -> float:
    """Returns GB/s of all transfers together."""
    batch = BATCH if len(loops) == 1 else CONCURRENT_BATCH
    begin = time.perf_counter_ns()
    for loop in loops:
        driver.enqueue(loop, batch)
    for loop in loops:
        driver.wait(loop)
    taken = driver.nanoseconds(loops[0]) if len(loops) == 1 else time.perf_counter_ns() - begin
    return len(loops) * batch * SIZE / taken


def rate_of_byteways(session: _core.Session, flows: Sequence[_core.Flow]) -> float:
    options = _core.MeasureOptions()
    options.budget_s = 0.15
    measured = session.measure(list(flows), options)
    if not measured.verified:
        sys.exit("error: byteways moved wrong data")
    return sum(flow.bytes_per_s for flow in measured.flows) / 1e9


class Table:
    """The buffers of all cells, and both programs."""

    def __init__(self) -> None:
        self.session = _core.Session(library_directories=library_directories())
        self.gpus = [device.name for device in self.session.devices if device.name.startswith("gpu")]
        if not self.gpus:
            sys.exit("error: no GPU here\nhint: run it on a machine with an NVIDIA GPU")
        self.driver = Driver(self.gpus)

    def buffer(self, device: str, user: str) -> _core.Buffer:
        memory = "device" if device.startswith("gpu") else "pinned"
        return self.session.allocate(device, memory, 2 * SIZE, device, user=user)

    def rates(self, cell: Cell, rounds: int) -> tuple[list[float], list[float]]:
        flows, loops = [], []
        for transfer in cell.transfers:
            source = self.buffer(transfer.source, transfer.executor)
            destination = self.buffer(transfer.destination, transfer.executor)
            flows.append(_core.Flow(source, destination, transfer.executor, "copy", SIZE))
            stream = self.driver.stream(transfer.executor)
            events = (self.driver.event(), self.driver.event())
            loops.append(Loop(transfer.executor, destination.address, source.address, stream, *events))
        own, plain = [], []
        for turn in range(rounds + 1):
            own.append(rate_of_byteways(self.session, flows))
            plain.append(rate_of_loop(self.driver, loops))
            if turn == 0:  # opens peer access and wakes the links
                own, plain = [], []
        return own, plain


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    table = Table()
    print(f"{'cell':16}{'ours GB/s':>10}{'loop GB/s':>10}  loop / ours (all rounds)")
    off = 0
    for cell in cells_of(table.gpus):
        own, plain = table.rates(cell, arguments.rounds)
        ratios = [theirs / ours for ours, theirs in zip(own, plain, strict=True)]
        middle = statistics.median(plain) / statistics.median(own)
        off += abs(middle - 1) > 0.02
        print(
            f"{cell.name:16}{statistics.median(own):10.1f}{statistics.median(plain):10.1f}  "
            f"{middle:.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
        )
    print(f"{off} cells differ by more than 2 %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
