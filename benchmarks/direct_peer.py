"""Compares collectives by `direct` with those of NCCL or RCCL in equal launch modes, in turns. Prints ratios.

    python benchmarks/direct_peer.py [--ranks 2] [--pairs 6] [--mpi FOLDER] [--pattern allreduce]
        [--modes thread graph] [--sizes 8B 16MiB] [--option blocks=64]

A mode is `process`, `thread` or `single`, one launch a call, or `graph`: a graph of each rank, which is a
thread. A line gives, for one mode and size in bytes, both medians over all pairs of runs and the ratio of
direct's time to the library's: the geometric mean over pairs, and its 95 % interval. `persistent` has no
counterpart in the library: its line compares with the library's graph, and says so. Both inherit this
environment: NCCL_NVLS_ENABLE=0 keeps NVLink SHARP out of the comparison.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from byteways.cases.interfaces import DIRECT_COLLECTIVES
from peer_runs import Key, environment, find_launcher, in_turns, own_records, pairs_of

SIZES = ("8B", "1KiB", "4KiB", "64KiB", "1MiB", "16MiB", "64MiB", "256MiB")
SECONDS = 0.3
#: Options of each mode: of direct, and of the library.
MODES: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "process": ({}, {}),
    "thread": ({"launch": "thread"}, {"launch": "thread"}),
    "single": ({"launch": "single"}, {"launch": "single"}),
    "graph": ({"launch": "thread", "submit": "graph"}, {"launch": "thread", "submit": "graph"}),
    "persistent": ({"launch": "thread", "submit": "persistent"}, {"launch": "thread", "submit": "graph"}),
}


def suite(interface: str, pattern: str, options: Mapping[str, str], sizes: Sequence[str]) -> str:
    """The text of a suite that measures one mode."""
    chosen = ", ".join(
        f"{name} = {value if value.isdigit() else json.dumps(value)}" for name, value in options.items()
    )
    return f"""name = "peer"
title = "Collectives in one launch mode"
rounds = 1
precision = 0.005
case_budget_s = {SECONDS}

[[sweep]]
name = "{interface}"
interface = "{interface}"
pattern = "{pattern}"
source = "gpu*:device"
destination = "gpu*:device"
cache = "warm"
size = {json.dumps(list(sizes))}
options = {{ {chosen} }}
"""


@dataclass
class Runs:
    """Runs of byteways in turns.

    Attributes:
        folder: For the runs.
        launcher: With `{ranks}`.
        ranks: A GPU each.
        pattern: The collective.
        modes: Names of MODES.
        sizes: As a suite has them.
        more: Further options of direct.
    """

    folder: Path
    launcher: str
    ranks: int
    pattern: str
    modes: Sequence[str]
    sizes: Sequence[str]
    more: Mapping[str, str]

    def direct(self, number: int) -> dict[Key, float]:
        """Nanoseconds of an operation by mode and size."""
        return {
            key: value
            for mode in self.modes
            for key, value in self._run("direct", number, mode, {**MODES[mode][0], **self.more}).items()
        }

    def library(self, number: int) -> dict[Key, float]:
        """The same of NCCL or RCCL."""
        return {
            key: value
            for mode in self.modes
            for key, value in self._run("xccl", number, mode, MODES[mode][1]).items()
        }

    def _run(self, interface: str, number: int, mode: str, options: Mapping[str, str]) -> dict[Key, float]:
        text = suite(interface, self.pattern, options, self.sizes)
        out = self.folder / f"{interface}-{mode}-{number}"
        records = own_records(out, text, self.launcher, self.ranks, environment())
        return {(mode, record.size_bytes): record.time_ns.median for record in records if record.time_ns}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="a GPU each")
    parser.add_argument("--pairs", type=pairs_of, default=6)
    parser.add_argument("--mpi", type=Path, help="prefix of the MPI to use")
    parser.add_argument("--pattern", choices=DIRECT_COLLECTIVES, default="allreduce")
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=["thread", "graph"])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of direct")
    arguments = parser.parse_args()
    launcher, mpi = "", "no MPI"  # threads need none
    if "process" in arguments.modes:
        _, launcher, mpi = find_launcher(arguments.mpi)
    more = dict(one.split("=", 1) for one in arguments.option)
    print(f"{mpi}; {arguments.pattern} of {arguments.ranks} ranks; direct and the library:")
    if "persistent" in arguments.modes:
        print("persistent: direct by one launch a batch, the library by a graph a batch")
    with tempfile.TemporaryDirectory() as name:
        chosen = (arguments.pattern, arguments.modes, arguments.sizes, more)
        runs = Runs(Path(name), launcher, arguments.ranks, *chosen)
        for line in in_turns(arguments.pairs, runs.direct, runs.library):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
