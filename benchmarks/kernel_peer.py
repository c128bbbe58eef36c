"""Compares the GPU interfaces of byteways with plain CUDA programs, in one process and on the same buffers.

    python benchmarks/kernel_peer.py --rounds 5

It needs an NVIDIA GPU and nvcc, which compiles benchmarks/peers/kernels.cu for the GPU that is here. Every
round is a process of its own: the same kernel takes 0.1 to 0.2 us longer in some processes than in others.
In it byteways and the plain program take turns on the same buffers, with equal batches, slots and sizes; the
plain program tries each of its shapes first and keeps the fastest. A row has the medians over all rounds and
the plain time over ours with the smallest and largest round: above 1 byteways is faster. Wanted: 0.98.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from byteways import _core
from byteways.base.units import format_size
from byteways.measuring.shared.library_paths import library_directories

SOURCE = Path(__file__).parent / "peers" / "kernels.cu"
LIBRARY = "kernels.so"
SIZES = tuple(4096 << (2 * k) for k in range(10))  # 4 KiB to 1 GiB
#: Bytes of a buffer, but for larger sizes: several times the last-level cache, over which the slots rotate.
BUFFER_BYTES = 256 << 20
#: Below, the cost of a batch is removed by the slope of two, as byteways does.
SLOPE_BELOW = 64 << 10
SAMPLES = 9
WANTED = 0.98

TWO_ARRAYS = ("stream-add", "stream-triad")
ONE_BUFFER = ("compute", "load", "store", "random-load", "random-store", "random-update")
COPIES = ("copy", "kernel", "kernel-bulk")
#: Their size is not a number of bytes that they move.
FIXED = {"compute": 1 << 20, "ping-pong": 8}
#: Rows of `kernel-2d`; kernels.cu has them too.
ROWS = {"width_bytes": 4096, "pitch_bytes": 8192}
LOCAL = (
    *COPIES,
    "load",
    "store",
    "stream-copy",
    "stream-scale",
    "stream-add",
    "stream-triad",
    "random-load",
    "random-store",
    "random-update",
    "kernel-2d",
    *FIXED,
)


@dataclass(frozen=True)
class DataPath:
    """A path as a user writes it, its ends, and what is compared there. gpu0 executes all."""

    name: str
    source: tuple[str, str]
    destination: tuple[str, str]
    interfaces: tuple[str, ...]


PATHS = (
    DataPath("within a GPU", ("gpu0", "device"), ("gpu0", "device"), LOCAL),
    DataPath(
        "to a peer",
        ("gpu0", "device"),
        ("gpu1", "device"),
        (*COPIES, "store", "kernel-2d", "ping-pong"),
    ),
    DataPath("from a peer", ("gpu1", "device"), ("gpu0", "device"), (*COPIES, "load", "kernel-2d")),
    DataPath("from pinned memory", ("cpu0", "pinned"), ("gpu0", "device"), (*COPIES, "load")),
    DataPath("to pinned memory", ("gpu0", "device"), ("cpu0", "pinned"), (*COPIES, "store")),
)


def span(interface: str, size: int) -> int:
    """Bytes of a slot: pitched rows have gaps."""
    return size // ROWS["width_bytes"] * ROWS["pitch_bytes"] if interface == "kernel-2d" else size


def compile_peer(folder: Path) -> None:
    flags = ["-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
    subprocess.run(
        ["nvcc", *flags, "-o", str(folder / LIBRARY), str(SOURCE)], check=True, capture_output=True
    )


class Peer:
    """The plain program as a library of this process."""

    def __init__(self, folder: Path) -> None:
        self._library = ctypes.CDLL(str(folder / LIBRARY))
        self._library.peer_batch.restype = self._library.peer_ping_pong.restype = ctypes.c_double
        self._library.peer_shape.restype = ctypes.c_char_p
        self.shapes = int(self._library.peer_shapes())

    def shape(self, index: int) -> str:
        return str(self._library.peer_shape(index).decode())

    def batch(self, interface: str, buffers: Buffers, size: int, shape: int, first: int, count: int) -> float:
        stride = span(interface, size)
        slots = max(1, buffers.bytes // stride)
        pointers = [ctypes.c_void_p(buffer.address) for buffer in buffers.of_peer(interface)]
        if interface == "ping-pong":
            partner = int(buffers.partner.removeprefix("gpu"))
            ours, theirs = pointers[1], pointers[0]
            round_trip = self._library.peer_ping_pong(0, partner, ours, theirs, ctypes.c_uint64(count))
            return float(round_trip) * count
        numbers = (ctypes.c_uint64(number) for number in (size, slots, stride))
        range_ = (ctypes.c_uint(shape), ctypes.c_uint64(first), ctypes.c_uint64(count))
        nanoseconds = float(self._library.peer_batch(0, interface.encode(), *pointers, *numbers, *range_))
        if nanoseconds < 0:
            sys.exit(f"error: the plain program failed on {interface}, {format_size(size)}")
        return nanoseconds

    def times(
        self, interface: str, buffers: Buffers, size: int, shape: int, batch: int, samples: int = SAMPLES
    ) -> list[float]:
        """Nanoseconds of one operation, of several batches."""
        found = []
        for sample in range(samples):
            first = 3 * sample * batch
            if size < SLOPE_BELOW and interface != "ping-pong":
                one = self.batch(interface, buffers, size, shape, first, batch)
                two = self.batch(interface, buffers, size, shape, first + batch, 2 * batch)
                found.append((two - one) / batch)
            else:
                found.append(self.batch(interface, buffers, size, shape, first, batch) / batch)
        return found


class Buffers:
    """The arrays of one path and one round."""

    def __init__(self, session: _core.Session, path: DataPath, span_bytes: int) -> None:
        self.bytes = max(span_bytes, BUFFER_BYTES)
        self.partner = path.destination[0]

        def allocate(end: tuple[str, str]) -> _core.Buffer:
            device, memory = end
            return session.allocate(device, memory, self.bytes, device, user="gpu0")

        self.source, self.destination = allocate(path.source), allocate(path.destination)
        self.second = allocate(path.source) if path.name == "within a GPU" else None

    def of_ours(self, interface: str) -> tuple[_core.Buffer, _core.Buffer]:
        if interface in ONE_BUFFER:
            one = self.source if interface == "load" else self.destination
            return one, one
        return self.source, self.destination

    def of_peer(self, interface: str) -> tuple[_core.Buffer, _core.Buffer, _core.Buffer]:
        first, destination = self.of_ours(interface)
        return destination, first, self.second or first


def ours(session: _core.Session, interface: str, buffers: Buffers, size: int) -> _core.Measurement:
    options = _core.MeasureOptions()
    options.budget_s, options.precision = 0.03, 1e-4
    source, destination = buffers.of_ours(interface)
    second = buffers.second if interface in TWO_ARRAYS else None
    rows: dict[str, Any] = {**ROWS, "strided": "source"} if interface == "kernel-2d" else {}
    partner = buffers.partner if interface == "ping-pong" else ""
    flow = _core.Flow(
        source, destination, "gpu0", interface, size, second_source=second, partner=partner, **rows
    )
    measured = session.measure([flow], options)
    if not measured.verified:
        sys.exit(f"error: {interface} of {format_size(size)} moved wrong data")
    return measured


@dataclass
class Row:
    path: str
    interface: str
    size: int
    shape: str
    ours_ns: list[float]
    peer_ns: list[float]

    @property
    def ratios(self) -> list[float]:
        return [peer / own for own, peer in zip(self.ours_ns, self.peer_ns, strict=True)]

    @property
    def ratio(self) -> float:
        return statistics.median(self.peer_ns) / statistics.median(self.ours_ns)

    def line(self) -> str:
        own, peer = statistics.median(self.ours_ns), statistics.median(self.peer_ns)
        rates = f"{self.size / own:8.1f} {self.size / peer:8.1f}"
        spread = f"{self.ratio:6.3f} ({min(self.ratios):.3f}-{max(self.ratios):.3f})"
        name = f"{self.path:19}{self.interface:14}{format_size(self.size):>8}"
        return f"{name} {own / 1e3:9.2f} {peer / 1e3:9.2f} {rates}  {spread}  {self.shape}"


def compared(session: _core.Session, peer: Peer, path: DataPath, interface: str, size: int) -> Row:
    buffers = Buffers(session, path, span(interface, size))
    measured = ours(session, interface, buffers, size)
    batch = measured.batch
    shapes = range(1 if interface in ("copy", *FIXED) else peer.shapes)
    tried = {
        shape: statistics.median(peer.times(interface, buffers, size, shape, batch, 3)) for shape in shapes
    }
    best = min(tried, key=tried.__getitem__)
    names = {"copy": "the vendor's call", "kernel-bulk": f"chunks of {min(16, 1 << best)} KiB"}
    theirs = peer.times(interface, buffers, size, best, batch)
    again = ours(session, interface, buffers, size)
    samples = [*measured.samples_ns, *again.samples_ns]
    return Row(
        path.name,
        interface,
        size,
        names.get(interface, peer.shape(best)),
        [statistics.median(samples)],
        [statistics.median(theirs)],
    )


def cases(
    session: _core.Session, chosen: Callable[[DataPath, str, int], bool]
) -> Iterator[tuple[DataPath, str, int]]:
    gpus = {device.name for device in session.devices if device.name.startswith("gpu")}
    for path in PATHS:
        ends = {path.source[0], path.destination[0]} - {"cpu0"}
        if not ends <= gpus:
            print(f"{path.name}: left out, it needs {len(ends)} GPUs", file=sys.stderr)
            continue
        for interface in path.interfaces:
            for size in (FIXED[interface],) if interface in FIXED else SIZES:
                if chosen(path, interface, size):
                    yield path, interface, size


def measured_rows(arguments: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """One round, in this process."""
    session = _core.Session(library_directories=library_directories())

    def chosen(path: DataPath, interface: str, size: int) -> bool:
        return path.name in arguments.path and interface in arguments.interface and size <= arguments.most

    peer = Peer(folder)
    for path, interface, size in cases(session, chosen):
        yield compared(session, peer, path, interface, size)


def rounds(arguments: argparse.Namespace, folder: Path) -> list[Row]:
    """All rounds, each in a process of its own, merged by case."""
    merged: dict[tuple[str, str, int], Row] = {}
    for _ in range(arguments.rounds):
        command = [sys.executable, __file__, *sys.argv[1:], "--round-in", str(folder)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        for line in done.stdout.splitlines():
            row = Row(**json.loads(line))
            known = merged.setdefault((row.path, row.interface, row.size), row)
            if known is not row:
                known.ours_ns += row.ours_ns
                known.peer_ns += row.peer_ns
    return list(merged.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--interface", nargs="*", default=LOCAL)
    parser.add_argument("--path", nargs="*", default=[path.name for path in PATHS])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="bytes of the largest operation")
    parser.add_argument("--round-in", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.round_in:
        for row in measured_rows(arguments, arguments.round_in):
            print(json.dumps(asdict(row)), flush=True)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        compile_peer(Path(folder))
        rows = rounds(arguments, Path(folder))
    if not rows:
        print("error: no GPU here\nhint: run it on a machine with an NVIDIA GPU and nvcc", file=sys.stderr)
        return 2
    print("microseconds, GB/s of bytes moved once; plain over ours")
    print(f"{'path':19}{'interface':14}{'size':>8} {'ours':>9} {'plain':>9} {'ours':>8} {'plain':>8}  ratio")
    below = sum(row.ratio < WANTED for row in rows)
    for row in rows:
        print(row.line() + ("  BELOW" if row.ratio < WANTED else ""))
    print(f"{below} of {len(rows)} below {WANTED}")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
