"""Compares STREAM and chase on this machine's CPU with plain programs, run in turns. Prints ratios.

    python benchmarks/stream_peer.py --rounds 20

The plain programs (benchmarks/peers/stream.cpp, compiled here with -O3 -march=native -fopenmp) have the same
threads, array sizes and pages. In every round both run once. Of STREAM the ratio is of the least time that
each had in all rounds, and of the medians: on a machine that is busy with other things only the least says
anything. Of the chase it is of medians over equally short walks: a sample of ours is the difference of two
walks, so the least of them is no least time. Wanted: triad within 2 %, chase within 3 %.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from byteways import _core

SOURCE = Path(__file__).parent / "peers" / "stream.cpp"
FLAGS = ("-O3", "-march=native", "-fopenmp")
KERNELS = ("stream-copy", "stream-scale", "stream-add", "stream-triad")
#: Arrays of STREAM: in a core's own cache, in the last level, and in memory.
SIZES = (128 << 10, 4 << 20, 64 << 20)
WORKING_SETS = (256 << 10, 16 << 20, 256 << 20)
MEMORY = "hugepage"
BUDGET_S = 0.1
STEPS = 5000  # of one walk: as many as ours has, so that both are interrupted as often
WALKS = 200

Times = dict[str, list[float]]


def compiled(folder: Path) -> Path:
    program = folder / "stream"
    subprocess.run(["g++", *FLAGS, str(SOURCE), "-o", str(program)], check=True)
    return program


def options() -> _core.MeasureOptions:
    made = _core.MeasureOptions()
    made.budget_s, made.precision = BUDGET_S, 1e-4
    return made


def our_stream(session: _core.Session, size: int, threads: int) -> Times:
    """Nanoseconds of every sample, by kernel."""
    arrays = [session.allocate("cpu0", MEMORY, size, "cpu0") for _ in range(3)]
    found = {}
    for kernel in KERNELS:
        second = arrays[1] if kernel in ("stream-add", "stream-triad") else None
        flow = _core.Flow(
            arrays[0],
            arrays[2],
            "cpu0",
            kernel,
            size,
            cold=False,
            second_source=second,
            threads=threads,
        )
        measured = session.measure([flow], options())
        assert measured.verified
        found[kernel] = list(measured.samples_ns)
    return found


def their_stream(program: Path, size: int, threads: int) -> Times:
    repeats = max(4, min(500, (1 << 27) // size))
    words = [str(program), "stream", str(size), str(threads), str(repeats), "1"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    rows = (line.split() for line in done.stdout.splitlines())
    return {name: [1e9 * float(value) for value in values] for name, *values in rows}


def our_chase(session: _core.Session, size: int) -> Times:
    buffer = session.allocate("cpu0", MEMORY, size, "cpu0")
    flow = _core.Flow(buffer, buffer, "cpu0", "pointer-chase", size)
    measured = session.measure([flow], options())
    assert measured.verified
    return {"chase": list(measured.samples_ns)}


def their_chase(program: Path, size: int) -> Times:
    words = [str(program), "chase", str(size), str(STEPS), str(WALKS), "1"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return {"chase": [float(value) for value in done.stdout.split()]}


def report(what: str, ours: Times, theirs: Times) -> None:
    """One line a kernel: least and median time of both, and theirs over ours (above 1: ours is faster)."""
    for kernel, mine in ours.items():
        other = theirs[kernel]
        told = f"{kernel:13}{what:24}"
        for name, statistic in (("least", min), ("median", statistics.median)):
            one, two = statistic(mine), statistic(other)
            if kernel != "chase" or name == "median":
                told += f"{name} {one:13.1f} and {two:13.1f} ns, ratio {two / one:6.3f}  "
        print(told.rstrip(), flush=True)


def gathered(into: Times, more: Times) -> None:
    for name, values in more.items():
        into.setdefault(name, []).extend(values)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, len(os.sched_getaffinity(0))])
    parser.add_argument("--size", type=int, nargs="*", default=SIZES, help="bytes of one array")
    parser.add_argument("--working-set", type=int, nargs="*", default=WORKING_SETS, help="bytes")
    arguments = parser.parse_args()
    session = _core.Session(gpus=False)
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        for threads in dict.fromkeys(arguments.threads):
            for size in arguments.size:
                ours: Times = {}
                theirs: Times = {}
                for _ in range(arguments.rounds):
                    gathered(ours, our_stream(session, size, threads))
                    gathered(theirs, their_stream(program, size, threads))
                report(f"{threads} threads, {size >> 10} KiB", ours, theirs)
        for size in arguments.working_set:
            ours, theirs = {}, {}
            for _ in range(arguments.rounds):
                gathered(ours, our_chase(session, size))
                gathered(theirs, their_chase(program, size))
            report(f"{size >> 10} KiB", ours, theirs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
