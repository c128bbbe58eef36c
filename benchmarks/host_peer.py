"""Compares the host's interfaces with plain C loops that do the same work. Prints a table of ratios.

    python benchmarks/host_peer.py
    python benchmarks/host_peer.py --isa avx2 --compiler clang-19 --only load store --size 4096 262144

The loops (benchmarks/peers/host_loops.c, with intrinsics) have the same sizes, threads, kind of pages and
length of a batch. Both take turns in this process, in slices of 50 ms: in every second pair the plain loop
comes first. Of a slice the lowest tenth counts, which work of others on the machine disturbs least. Below 64
KiB, and of walks, a sample is the difference of two batches, which such work also lowers, and the median
counts. The ratio is the time of the plain loop over ours, so that above 1 byteways is faster, with the 95 %
interval over the pairs. Both figures of each case come first, then the table of all ratios.

`--compiler` compiles the plain loops. byteways is what was built; by another compiler it goes into an
environment of its own:

    python -m venv clang && CXX=clang++-19 clang/bin/pip install . && clang/bin/python benchmarks/host_peer.py
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from byteways.base.units import format_size
from peer_runs import pairs_of, ratio_of

if TYPE_CHECKING:
    from byteways import _core

SOURCE = Path(__file__).parent / "peers" / "host_loops.c"
#: `-fno-builtin`: a loop of stores stays one, and is not turned into a call of memset.
FLAGS = ("-O3", "-falign-loops=32", "-fno-builtin", "-shared", "-fPIC")
ISA_FLAGS = {
    "": ("-march=native",),
    "sse2": (),
    "avx2": ("-mavx2", "-mfma"),
    "avx512": ("-mavx512f", "-mavx512dq", "-mavx512vl", "-mfma"),
    "neon": (),
}
#: Each interface with the plain loop that does its work, and how many arrays it counts.
PEERS = {
    "memcpy": ("memcpy", 1),
    "memcpy-stream": ("memcpy-stream", 1),
    "memcpy-mt": ("memcpy-mt", 1),
    "load": ("load", 1),
    "store": ("store", 1),
    "store / one value": ("one-value", 1),
    "store / memset": ("memset", 1),
    "stream-copy": ("stream-copy", 2),
    "stream-scale": ("stream-scale", 2),
    "stream-add": ("stream-add", 3),
    "stream-triad": ("stream-triad", 3),
    "stream-triad / loop of STREAM": ("stream-c-triad", 3),
    "random-load": ("random-load", 1),
    "random-store": ("random-store", 1),
    "random-update": ("random-update", 1),
    "pointer-chase": ("pointer-chase", 0),
}
ONE_BUFFER = ("load", "store", "random-load", "random-store", "random-update", "pointer-chase")
SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20)
MEMORY = "hugepage"
SLICE_S = 0.05
BATCH_NS = 2e6  # as byteways' batches on a host; beside it the two readings of a clock are nothing
SLOPE_BELOW, SLOPE_BATCH_NS = 64 << 10, 2e4  # as byteways, too
LINE = 64
#: Of a walk, as in byteways: so many steps at least, and once round a set of at most so many lines.
STEPS, MOST_ROUND = 5000, 1 << 16

Slice = Callable[[], float]  # nanoseconds of one operation


def lowest_tenth(samples: Sequence[float]) -> float:
    return statistics.quantiles(samples, n=10, method="inclusive")[0] if len(samples) > 1 else samples[0]


def compiled(compiler: str, isa: str, folder: Path) -> ctypes.CDLL:
    """The plain loops. A compiler without OpenMP has them for one thread alone."""
    library = folder / "libhost_loops.so"
    command = [compiler, *FLAGS, *ISA_FLAGS[isa], str(SOURCE), "-o", str(library)]
    if subprocess.run([*command, "-fopenmp"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        subprocess.run(command, check=True)
    loops = ctypes.CDLL(str(library))
    loops.batch_ns.restype = loops.walk_ns.restype = ctypes.c_double
    loops.batch_ns.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    for function in (loops.open_arrays, loops.open_chase, loops.walk_ns):
        function.argtypes = [ctypes.c_size_t]
    return loops


def ours(session: _core.Session, interface: str, size: int, threads: int) -> Slice:
    from byteways import _core

    options = _core.MeasureOptions()
    options.budget_s, options.precision = SLICE_S, 1e-4
    buffers = [
        session.allocate("cpu0", MEMORY, size, "cpu0") for _ in range(1 if interface in ONE_BUFFER else 3)
    ]
    second = buffers[1] if interface in ("stream-add", "stream-triad") else None
    given = {} if interface in ("memcpy", "pointer-chase") else {"threads": threads}

    def measured() -> float:
        flow = _core.Flow(
            buffers[0],
            buffers[-1],
            "cpu0",
            interface,
            size,
            cold=False,
            second_source=second,
            **given,
        )
        found = session.measure([flow], options)
        assert found.verified
        return statistics.median(found.samples_ns) if found.slope else lowest_tenth(found.samples_ns)

    return measured


def plain(loops: ctypes.CDLL, kernel: str, size: int, threads: int) -> Slice:
    if kernel == "pointer-chase":
        loops.open_chase(size)
        loops.walk_ns(size // LINE)  # once round: no page is new
        steps = max(STEPS, size // LINE if size // LINE <= MOST_ROUND else 0)
        return slope_of(loops.walk_ns, steps)

    def batch(operations: int) -> float:
        return float(loops.batch_ns(kernel.encode(), size, operations, threads))

    slopes = size < SLOPE_BELOW
    operations = 1
    while batch(operations) < (SLOPE_BATCH_NS if slopes else BATCH_NS):
        operations *= 2
    if slopes:
        return slope_of(batch, operations)
    return lambda: lowest_tenth(list(slice_of(lambda: batch(operations) / operations, operations)))


def slope_of(batch_ns: Callable[[int], float], operations: int) -> Slice:
    """As byteways: from batches of which one is twice as long, so that what each costs counts in neither."""

    def sample() -> float:
        return (batch_ns(2 * operations) - batch_ns(operations)) / operations

    return lambda: statistics.median(slice_of(sample, 3 * operations))


def slice_of(sample: Callable[[], float], operations: int) -> Iterator[float]:
    """As many samples as fit into a slice, three at least."""
    spent, count = 0.0, 0
    while spent < SLICE_S * 1e9 or count < 3:
        value = sample()
        spent, count = spent + value * operations, count + 1
        yield value


def compare(
    session: _core.Session, loops: ctypes.CDLL, row: str, size: int, pairs: int, threads: int
) -> tuple[str, str]:
    """Both medians, and the ratio with its interval."""
    kernel, arrays = PEERS[row]
    loops.open_arrays(size)
    mine, theirs = ours(session, row.split(" / ")[0], size, threads), plain(loops, kernel, size, threads)
    found: list[tuple[float, float]] = []
    for number in range(pairs + 1):
        both = (mine(), theirs()) if number % 2 else tuple(reversed((theirs(), mine())))
        if number:  # the first one warms up
            found.append(both)
    loops.close_arrays()
    one, two = (statistics.median(values) for values in zip(*found, strict=True))
    centre, low, high = ratio_of([other / own for own, other in found])
    figures = [f"{arrays * size / value:.1f} GB/s" if arrays else f"{value:.2f} ns" for value in (one, two)]
    return " | ".join(figures), f"{centre:.2f} ({low:.2f}–{high:.2f})"


def table(ratios: Mapping[tuple[str, int], str]) -> Iterator[str]:
    """A line for each interface, a column for each size."""
    rows, sizes = (list(dict.fromkeys(part)) for part in zip(*ratios, strict=True))
    yield f"| plain time / ours | {' | '.join(format_size(size) for size in sizes)} |"
    yield f"|---|{'---|' * len(sizes)}"
    for row in rows:
        name = " and ".join(f"`{part}`" if " " not in part else part for part in row.split(" / "))
        yield f"| {name} | {' | '.join(ratios[row, size] for size in sizes)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=pairs_of, default=15)
    parser.add_argument("--only", nargs="*", default=list(PEERS), choices=list(PEERS), metavar="INTERFACE")
    parser.add_argument("--size", type=int, nargs="*", default=SIZES, help="bytes of one array")
    parser.add_argument("--threads", type=int, default=1, help="of all but memcpy-mt, which has every core")
    parser.add_argument("--isa", default="", choices=list(ISA_FLAGS), help="default: the processor's widest")
    parser.add_argument("--compiler", default="gcc", help="of the plain loops")
    arguments = parser.parse_args()
    if arguments.isa:
        os.environ["BYTEWAYS_ISA"] = arguments.isa
    from byteways import _core

    session = _core.Session(gpus=False)
    cores = len(os.sched_getaffinity(0))
    version = subprocess.run([arguments.compiler, "--version"], check=True, capture_output=True, text=True)
    print(f"byteways: {_core.host_isa()} by {_core.COMPILER}; plain: {version.stdout.splitlines()[0]}")
    print("| interface | size | threads | byteways | plain | plain time / ours (95 %) |")
    print("|---|---|---|---|---|---|")
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        loops = compiled(arguments.compiler, arguments.isa, Path(folder))
        for row in arguments.only:
            threads = cores if row == "memcpy-mt" else arguments.threads
            if threads > 1 and not loops.has_threads():
                print(f"{arguments.compiler} has no OpenMP here: {row} is left out", file=sys.stderr)
                continue
            for size in arguments.size:
                figures, ratio = compare(session, loops, row, size, arguments.pairs, threads)
                print(f"| {row} | {format_size(size)} | {threads} | {figures} | {ratio} |", flush=True)
                ratios[row, size] = ratio
    if ratios:
        print("", *table(ratios), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
