"""Compares the copy library with plain calls that move the same scattered blocks, on one machine in turns.

    byteways run blocks --out R && python benchmarks/blocks_peer.py R

It needs an NVIDIA GPU and nvcc, which compiles benchmarks/peers/blocks.cu. The plan of run R is used for
cells that R did not measure: sizes, counts and layouts between its own. Rivals are a loop of cuMemcpyAsync,
cuMemcpyBatchAsync, and a gather kernel as inference engines write it. "Best" is the fastest of them and of
each single method of the library. All ratios are of host times, from the call until the stream is empty.

Intervals are of the mean of the logarithms over the rounds, at 95 % for all cells together (Bonferroni).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from byteways.answers.best.copy_plan import CopyPlan, copy_plan
from byteways.answers.results.index import Index
from byteways.answers.results.repeatability import student
from byteways.base.units import format_size
from byteways.ext.copy.native_library import LIBRARY
from byteways.measuring.shared.simulator import native_folder
from byteways.record.run_folder import RunFolder

SOURCE = Path(__file__).parent / "peers" / "blocks.cu"
#: Between the sizes and counts of suite `blocks`.
HELD_OUT_SIZES = (2 << 10, 6 << 10, 12 << 10, 24 << 10, 48 << 10, 128 << 10)
HELD_OUT_COUNTS = (32, 100, 500, 2000)
LAYOUTS = ("random", "source", "destination", "strided")
TO_AND_FROM_HOST = ("host-gpu", "gpu-host")
BETWEEN_GPUS = ("put",)
#: What suite `blocks` measures between GPUs.
BETWEEN_GPUS_SIZES, BETWEEN_GPUS_COUNTS = (4 << 10, 64 << 10), (64, 1024)
MOST_BYTES = 256 << 20
RELAYED = (256 << 20, 512 << 20)
OURS, DEFAULT = "plan", "default"
#: The rival that knows beforehand that its blocks neither overlap nor are out of a kernel's reach.
UNCHECKED = "gather"
#: Equal parts between the host and every GPU at once, which no relay can exceed.
ALL_LINKS = "all-links"
CONFIDENCE = 0.95

Cell = tuple[str, str, int, int]
#: Nanoseconds of each round, by candidate.
Rounds = Mapping[str, Sequence[float]]


def held_out(directions: Sequence[str]) -> Iterator[Cell]:
    """Yields the cells that the plan has not seen; the layouts take turns."""
    number = 0
    for direction in directions:
        for size in HELD_OUT_SIZES:
            for count in HELD_OUT_COUNTS:
                if size * count <= MOST_BYTES and (direction in TO_AND_FROM_HOST or _is_within(size, count)):
                    yield direction, LAYOUTS[number % len(LAYOUTS)], size, count
                    number += 1


def _is_within(size: int, count: int) -> bool:
    """Whether such blocks lie between those that were measured between GPUs."""
    least, most = BETWEEN_GPUS_SIZES
    return least <= size <= most and BETWEEN_GPUS_COUNTS[0] <= count <= BETWEEN_GPUS_COUNTS[1]


def wide(directions: Sequence[str]) -> Iterator[Cell]:
    """Yields the cells of the comparison with plain calls: 4 to 64 KiB, 64 to 4,096 blocks."""
    for direction in directions:
        for size in (4 << 10, 16 << 10, 64 << 10):
            for count in (64, 512, 4096):
                if size * count <= MOST_BYTES and (direction in TO_AND_FROM_HOST or _is_within(size, count)):
                    yield direction, "random", size, count


def only(plan: CopyPlan, name: str) -> CopyPlan:
    """Returns the plan with one method, used wherever it was measured."""
    paths = []
    for path in plan.paths:
        used = [
            replace(method, cells=tuple(replace(cell, leads=True) for cell in method.cells))
            for method in path.methods[1:]
            if method.name == name
        ]
        paths.append(replace(path, methods=(path.methods[0], *used)))
    return replace(plan, paths=tuple(paths))


def plan_files(run: Path, folder: Path) -> Mapping[str, str]:
    """Writes the plan of a run, and one for each of its methods. Returns their files by candidate."""
    plan = copy_plan(Index.of(RunFolder(run)))
    methods = {method.name for path in plan.paths for method in path.methods[1:]}
    made = {OURS: plan, **{f"only {name}": only(plan, name) for name in sorted(methods)}}
    files = {}
    for number, (name, one) in enumerate(made.items()):
        file = folder / f"{number}.plan"
        file.write_text(one.text)
        files[name] = str(file)
    return files


@dataclass(frozen=True)
class Ratio:
    """Ratio of two times, with its interval; above 1 the second candidate is faster."""

    value: float
    low: float
    high: float


def ratio(slow: Sequence[float], fast: Sequence[float], comparisons: int) -> Ratio:
    """Returns the geometric mean of slow / fast over the rounds, which both have in common."""
    logarithms = [math.log(a / b) for a, b in zip(slow, fast, strict=True)]
    middle = statistics.mean(logarithms)
    chance = (1 - CONFIDENCE) / comparisons
    width = student(chance, len(logarithms) - 1) * statistics.stdev(logarithms) / len(logarithms) ** 0.5
    return Ratio(math.exp(middle), math.exp(middle - width), math.exp(middle + width))


def measure(
    program: Path, library: Path, plans: Mapping[str, str], cells: Sequence[Cell], rounds: int
) -> Mapping[Cell, Mapping[str, Rounds]]:
    """Runs the plain program. Returns by cell and time ("host_ns", "call_ns", "device_ns") the rounds."""
    lines = "".join(f"{d} {layout} {size} {count} {rounds}\n" for d, layout, size, count in cells)
    words = [str(program), str(library), *(f"{name}={plan}" for name, plan in plans.items())]
    done = subprocess.run(words, input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"error: the plain program ended with status {done.returncode}")
    found: dict[Cell, dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for line in done.stdout.splitlines():
        row = json.loads(line)
        cell = (row["direction"], row["layout"], row["block_bytes"], row["blocks"])
        for key in ("host_ns", "call_ns", "device_ns"):
            found[cell][key][row["candidate"]].append(row[key])
    return found


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.mean(map(math.log, values)))


def compare_held_out(measured: Mapping[Cell, Mapping[str, Rounds]], cells: Sequence[Cell]) -> None:
    below_best = below_unchecked = below_default = 0
    worst: list[tuple[float, str]] = []
    for cell in cells:
        host = measured[cell]["host_ns"]
        rival = min((name for name in host if name != OURS), key=lambda name: statistics.median(host[name]))
        best = ratio(host[rival], host[OURS], len(cells))
        default = ratio(host[DEFAULT], host[OURS], len(cells))
        below_best += best.high < 0.95
        below_unchecked += best.high < 0.95 and rival == UNCHECKED
        below_default += default.high < 0.98
        direction, layout, size, count = cell
        worst.append(
            (
                best.value,
                f"  {direction:9} {layout:12} {format_size(size):>8} x {count:<5} best {rival:12} "
                f"{best.value:5.2f} [{best.low:.2f}, {best.high:.2f}]  default {default.value:6.2f}",
            )
        )
    print(f"held-out cells: {len(cells)}; surely below 0.95 of the best method: {below_best}, ", end="")
    print(f"of them of the gather kernel, which does not check its blocks: {below_unchecked}; ", end="")
    print(f"surely below 0.98 of the default call: {below_default}")
    print("\n".join(text for _, text in sorted(worst)[:12]))


def compare_wide(measured: Mapping[Cell, Mapping[str, Rounds]], cells: Sequence[Cell]) -> None:
    for direction in sorted({cell[0] for cell in cells}):
        for rival in ("batch", "loop", "gather"):
            ratios = [
                statistics.median(measured[cell]["host_ns"][rival])
                / statistics.median(measured[cell]["host_ns"][OURS])
                for cell in cells
                if cell[0] == direction
            ]
            print(
                f"{direction:9} {rival:7} / ours, 4-64 KiB x 64-4096: geometric mean "
                f"{geometric_mean(ratios):6.2f}, {min(ratios):.2f} to {max(ratios):.2f}"
            )


def cost_of_calls(measured: Mapping[Cell, Mapping[str, Rounds]], cells: Sequence[Cell]) -> None:
    for cell in cells:
        calls = {name: statistics.median(times) for name, times in measured[cell]["call_ns"].items()}
        direction, _, size, count = cell
        plain = calls["loop"] if count == 1 else calls["batch"]
        print(
            f"call of {count} x {format_size(size)}, {direction}: ours {calls[OURS] / 1e3:.2f} us, "
            f"without plan {calls[DEFAULT] / 1e3:.2f} us, driver's call {plain / 1e3:.2f} us"
        )
    few, many = (cell for cell in cells if cell[3] > 1)
    for name in (OURS, "batch", "gather"):
        ends = [statistics.median(measured[cell]["call_ns"][name]) for cell in (few, many)]
        each = (ends[1] - ends[0]) / (many[3] - few[3])
        print(
            f"  calls of blocks by {name}: {(ends[0] - few[3] * each) / 1e3:.2f} us + {each:.1f} ns a block"
        )


def relays(measured: Mapping[Cell, Mapping[str, Rounds]], cells: Sequence[Cell]) -> None:
    for cell in cells:
        host = measured[cell]["host_ns"]
        gain, share = (ratio(host[rival], host[OURS], 2 * len(cells)) for rival in ("loop", ALL_LINKS))
        print(
            f"relay {cell[0]} {format_size(cell[2])}: {gain.value:.2f} x the direct copy "
            f"[{gain.low:.2f}, {gain.high:.2f}], {cell[2] / statistics.median(host[OURS]):.1f} GB/s; "
            f"{share.value:.2f} x what all links carry at once [{share.low:.2f}, {share.high:.2f}], "
            f"{cell[2] / statistics.median(host[ALL_LINKS]):.1f} GB/s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="run folder of suite blocks, on this machine")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--gpus", type=int, default=1, help="2 and more: between GPUs, and relays")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run_comparison(options.run, Path(temporary), options.rounds, options.gpus)


def run_comparison(run: Path, folder: Path, rounds: int, gpus: int) -> None:
    program = folder / "blocks"
    flags = ["-O3", "-std=c++17", "-arch=native", "-lcuda", "-ldl"]
    subprocess.run(["nvcc", "-o", str(program), str(SOURCE), *flags], check=True, capture_output=True)
    plans = {DEFAULT: "", **plan_files(run, folder)}
    directions = TO_AND_FROM_HOST + (BETWEEN_GPUS if gpus > 1 else ())
    unseen, known = list(held_out(directions)), list(wide(directions))
    calls: list[Cell] = [("host-gpu", "random", 4096, count) for count in (1, 64, 1024)]
    large: list[Cell] = [(d, "source", size, 1) for d in TO_AND_FROM_HOST for size in RELAYED]
    cells = [*dict.fromkeys([*unseen, *known, *calls, *(large if gpus > 1 else ())])]
    measured = measure(program, native_folder() / LIBRARY, plans, cells, rounds)
    compare_held_out(measured, unseen)
    compare_wide(measured, known)
    cost_of_calls(measured, calls)
    if gpus > 1:
        relays(measured, large)


if __name__ == "__main__":
    main()
