"""Compares MPI between two ranks with a plain C loop over the same library, run in turns. Prints ratios.

    python benchmarks/mpi_peer.py [--mpi FOLDER] [--pairs 10]

`--mpi` is the prefix of an installation with bin/mpicc and bin/mpiexec; without it those in PATH are used.
The loop (benchmarks/peers/mpi_loop.c) makes the same calls on the same cores. A line gives, for one
operation, both medians over all pairs and the ratio of byteways' time to the loop's: the median over pairs,
and the 95 % interval of the mean. Wanted: intervals within 0.97 to 1.03.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from byteways.results.run_folder import RunFolder

SOURCE = Path(__file__).parent / "peers" / "mpi_loop.c"
SECONDS = 0.4
#: What the loop calls it, sizes in bytes, and the case of byteways.
KINDS = {
    "pong": ((8, 65536), 'interface = "mpi-ping-pong"'),
    "window": ((4096, 1 << 20), 'interface = "mpi"\ncache = "warm"'),
    "allreduce": ((8, 1 << 20), 'interface = "mpi"\npattern = "allreduce"\ncache = "warm"'),
}

Key = tuple[str, int]


def suite() -> str:
    text = 'name = "peer"\ntitle = "As the plain loop"\nrounds = 1\nprecision = 0.002\n'
    text += f"case_budget_s = {SECONDS}\n"
    for name, (sizes, keys) in KINDS.items():
        text += (
            f'[[sweep]]\nname = "{name}"\n{keys}\nsource = "cpu0:pageable"\ndestination = "cpu0:pageable"\n'
        )
        text += f"size = {[*sizes]}\n"
    return text


def environment() -> dict[str, str]:
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **root, "BYTEWAYS_GPUS": "0"}


def ours(folder: Path, launcher: str, number: int) -> dict[Key, float]:
    """Nanoseconds of an operation of byteways, by kind and size."""
    (folder / "peer.toml").write_text(suite(), encoding="utf-8")
    out = folder / f"R{number}"
    words = [sys.executable, "-m", "byteways", "run", str(folder / "peer.toml"), "--out", str(out)]
    words += ["--no-report", "--ranks", "2", "--launcher", launcher]
    subprocess.run(words, check=True, env=environment(), capture_output=True)
    found = {}
    for record in RunFolder(out).records:
        assert record.verified and record.time_ns is not None, record.reason
        if record.pattern == "unidirectional" and record.path != "0/cpu0>1/cpu0":
            continue
        found[record.sweep, record.size_bytes] = record.time_ns.median
    return found


def theirs(program: Path, launcher: str, cores: tuple[int, int]) -> dict[Key, float]:
    """The same of the plain loop."""
    words = [*launcher.replace("{ranks}", "2").split(), str(program), *map(str, cores), str(SECONDS)]
    for name, (sizes, _) in KINDS.items():
        words += [word for size in sizes for word in (name, str(size))]
    done = subprocess.run(words, check=True, env=environment(), capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        name, size, *times = line.split()
        found[name, int(size)] = statistics.median(map(float, times))
    return found


def ratio_text(ratios: list[float]) -> str:
    """Median of ratios with the 95 % interval of the mean of their logarithms (normal, n - 1 degrees)."""
    logs = [math.log(one) for one in ratios]
    half = 2.26 * statistics.stdev(logs) / math.sqrt(len(logs))  # Student's t for 9 degrees of freedom
    centre = statistics.fmean(logs)
    low, high = math.exp(centre - half), math.exp(centre + half)
    return f"ratio {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", type=Path, help="prefix of the MPI to use")
    parser.add_argument("--pairs", type=int, default=10)
    arguments = parser.parse_args()
    at = f"{arguments.mpi}/bin/" if arguments.mpi else ""
    version = subprocess.run([f"{at}mpiexec", "--version"], capture_output=True, text=True, env=environment())
    open_mpi = "Open MPI" in version.stdout or "OpenRTE" in version.stdout
    launcher = f"{at}mpiexec -n {{ranks}}" + (" --bind-to none" if open_mpi else "")
    print(version.stdout.splitlines()[0] if version.stdout else "unknown MPI")
    half = sorted(os.sched_getaffinity(0))
    cores = (half[0], half[len(half) // 2])  # the first of each rank's own in the plan of byteways
    mine: defaultdict[Key, list[float]] = defaultdict(list)
    plain: defaultdict[Key, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "mpi_loop"
        subprocess.run([f"{at}mpicc", "-O2", str(SOURCE), "-o", str(program)], check=True)
        for number in range(arguments.pairs):
            for found, into in (
                (ours(folder, launcher, number), mine),
                (theirs(program, launcher, cores), plain),
            ):
                for key, value in found.items():
                    into[key].append(value)
    for key, values in plain.items():
        pairs = list(zip(mine[key], values, strict=True))
        medians = f"{statistics.median(mine[key]):12.0f} and {statistics.median(values):12.0f} ns"
        print(f"{key[0]:10}{key[1]:9}{medians}, {ratio_text([a / b for a, b in pairs])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
