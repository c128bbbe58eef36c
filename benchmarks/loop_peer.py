"""What mpi_peer.py, halo_peer.py and particles_peer.py share: byteways and a plain C loop in turns.

The loop makes the same calls of the same MPI on the same cores. Both take turns in the same two processes, in
slices of a fifth of a second (rank_slices.py), so that other work on the machine and its clocks disturb both
alike. Both have batches of 2 ms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from byteways.measuring.shared.mpi_wheels import wheels_found
from peer_runs import Key, environment, find_launcher, launched, lines_of, pairs_of

PEERS = Path(__file__).parent / "peers"
SLICES = Path(__file__).with_name("rank_slices.py")
#: Of a slice.
SECONDS = 0.2
#: First word of the lines of rank_slices.py.
MARK = "pair"


@dataclass(frozen=True)
class Comparison:
    """A plain loop, and what of it is compared.

    Attributes:
        loop: Name of its source in benchmarks/peers.
        flags: Of its compiler.
        operations: Kind and bytes of each (rank_slices.py).
        words: What the loop calls an operation; may write files into the folder.
        wanted: Of the interval of the ratio.
    """

    loop: str
    flags: tuple[str, ...]
    operations: Sequence[Key]
    words: Callable[[str, int, Path], str]
    wanted: tuple[float, float]


def _compiled(name: str, prefix: str, flags: Sequence[str], folder: Path) -> Path:
    """Compiles a source of benchmarks/peers as a shared library."""
    library = folder / f"lib{name}.so"
    command = [f"{prefix}mpicc", *flags, "-shared", "-fPIC", str(PEERS / f"{name}.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def polling(prefix: str, folder: Path) -> dict[str, str]:
    """Variables of ranks whose waits poll where MPI would give its core away (peers/polling.c)."""
    return {"LD_PRELOAD": str(_compiled("polling", prefix, ("-O2",), folder))}


def slices(
    comparison: Comparison, prefix: str, folder: Path, cores: Sequence[int], seconds: float
) -> list[str]:
    """Compiles the loop; the words of a rank that compares (rank_slices.py), but for the number of pairs.

    Args:
        prefix: What stands before `mpicc`.
        folder: For the library, and for what the loop reads.
        seconds: Of a slice.
    """
    library = _compiled(comparison.loop, prefix, comparison.flags, folder)
    told = [f"{kind}:{size}:{comparison.words(kind, size, folder)}" for kind, size in comparison.operations]
    return [sys.executable, str(SLICES), str(library), ",".join(map(str, cores)), str(seconds), *told]


def compare(comparison: Comparison, title: str, of_devices: Comparison | None = None) -> int:
    """Reads the command line, lets both take turns, and prints a line for each operation.

    Args:
        comparison: In memory of the host.
        title: For the help.
        of_devices: In memory of GPUs, with `--device`; None: there is no such option.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--mpi", type=Path, help="prefix of the MPI to use")
    parser.add_argument("--pairs", type=pairs_of, default=20)
    parser.add_argument("--best", action="store_true", help="the best batch of each slice, not the median")
    parser.add_argument("--polling", action="store_true", help="MPI polls and does not give its core away")
    if of_devices is not None:
        parser.add_argument("--device", action="store_true", help="in memory of two GPUs")
    arguments = parser.parse_args()
    on_devices = of_devices is not None and arguments.device
    if on_devices and of_devices is not None:
        comparison = of_devices
    wheels = wheels_found() if on_devices and arguments.mpi is None else None
    installation = arguments.mpi if wheels is None else wheels.mpiexec.parent.parent
    prefix, launcher, version = find_launcher(installation)
    more: dict[str, str] = {} if on_devices else {"BYTEWAYS_GPUS": "0"}
    if wheels is not None:
        launcher = " ".join((launcher, *wheels.words(os.environ)))
        more |= wheels.parameters(os.environ)
        version = str(wheels)
    print(version)
    half = sorted(os.sched_getaffinity(0))
    cores = (half[0], half[len(half) // 2])  # the first of each rank's own in the plan of byteways
    found: defaultdict[Key, list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        words = slices(comparison, prefix, Path(name), cores, SECONDS)
        words += ["--pairs", str(arguments.pairs), *(["--best"] if arguments.best else [])]
        more |= polling(prefix, Path(name)) if arguments.polling else {}
        for line in launched(launcher, 2, words, environment(**more)).splitlines():
            if not line.startswith(MARK):  # libraries print here, too
                print(line, file=sys.stderr)
                continue
            _, kind, size, mine, other = line.split()
            found[kind, int(size)].append((float(mine), float(other)))
    for line in lines_of(found, comparison.wanted):
        print(line)
    return 0


#: As the native core builds its kernels of hosts (`fast_sources` in CMakeLists.txt).
_FAST = ("-O3", "-falign-loops=32")


def application(name: str, sizes: Sequence[int], words: Callable[[int, Path], str]) -> Comparison:
    """Of an application pattern between two ranks; byteways' own work may be 2 % of an iteration.

    Args:
        name: Of the pattern and its interface; the loop's source is called like it.
        sizes: Bytes of one rank's data.
        words: Of the loop for a size; may write files into the folder.
    """
    loop = f"{name.removesuffix('s')}_loop"
    keys = [(name, size) for size in sizes]
    return Comparison(loop, _FAST, keys, lambda _, size, folder: words(size, folder), (0.0, 1.02))
