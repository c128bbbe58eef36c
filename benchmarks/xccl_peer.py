"""Compares allreduce by `xccl` with PyTorch's over the same file of NCCL or RCCL, in turns. Prints ratios.

    python benchmarks/xccl_peer.py [--ranks 2] [--pairs 6] [--mpi FOLDER] [--torch PYTHON]

`--torch` is an interpreter that has PyTorch, this one where none is named; `--mpi` the prefix of an
installation with bin/mpiexec, else that in PATH is used. Both programs sum 64-bit integers of equal size in
place, a rank a GPU, with operations back to back in batches timed by events of the GPU, and take the slowest
rank (benchmarks/peers/torch_allreduce.py). Both inherit this environment, with the library's own settings.
A line gives, for one size in bytes, both medians over all pairs and the ratio of byteways' time to PyTorch's:
the geometric mean over pairs, and its 95 % interval. Different versions of the library are not compared.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byteways.record.record import Record
from peer_runs import Key, environment, find_launcher, in_turns, launched, own_records, pairs_of

PROGRAM = Path(__file__).parent / "peers" / "torch_allreduce.py"
PATTERN = "allreduce"
SIZES = ("16MiB", "64MiB", "256MiB")
SECONDS = 0.6
#: Both number GPUs as the PCI bus does.
ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def suite() -> str:
    return f"""name = "peer"
title = "As PyTorch's all-reduce"
rounds = 1
precision = 0.002
case_budget_s = {SECONDS}

[[sweep]]
name = "{PATTERN}"
interface = "xccl"
pattern = "{PATTERN}"
source = "gpu*:device"
destination = "gpu*:device"
cache = "warm"
size = {json.dumps(SIZES)}
options = {{ timing = "pipelined", in_place = "yes" }}
"""


def version_text(version: int) -> str:
    """`2.28.3` of 22803, as ncclGetVersion codes it; before 2.9 the numbers had one digit less."""
    base = 1000 if version < 10000 else 10000
    return f"{version // base}.{version % base // 100}.{version % 100}"


def setting_of(library: str) -> str:
    """The variable that names byteways the file: NCCL's or RCCL's."""
    return "BYTEWAYS_LIBRCCL" if Path(library).name.startswith("librccl") else "BYTEWAYS_LIBNCCL"


def told_versions(records: Iterable[Record]) -> set[str]:
    """Of the library behind each record, `2.28.3`; empty text where a record does not tell."""
    found = (re.match(r"\w+ ([\d.]+): ", record.engine_evidence or "") for record in records)
    return {told[1] if told else "" for told in found}


def read_answer(printed: str) -> dict[str, Any]:
    """The line of JSON in what ranks print, among which the library's own words may be.

    Raises:
        ValueError: There is none.
    """
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    if not lines:
        raise ValueError(f"PyTorch's ranks gave no times: {printed[-200:]!r}")
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@dataclass
class Peers:
    """Both programs on one library.

    Attributes:
        folder: For runs of byteways.
        launcher: With `{ranks}`.
        ranks: A GPU each.
        python: Interpreter with PyTorch.
        library: File of NCCL or RCCL.
        version: `2.28.3`, what PyTorch has loaded.
    """

    folder: Path
    launcher: str
    ranks: int
    python: str
    library: str
    version: str
    sizes: tuple[int, ...] = ()  # in bytes, as byteways measured them: a rank's blocks are whole words

    def ours(self, number: int) -> dict[Key, float]:
        """Nanoseconds of an operation of byteways, by size."""
        named = environment(**{setting_of(self.library): self.library})
        records = own_records(self.folder / f"R{number}", suite(), self.launcher, self.ranks, named)
        self.require_same("byteways", told_versions(records))
        self.sizes = tuple(record.size_bytes for record in records)
        return {(PATTERN, record.size_bytes): record.time_ns.median for record in records if record.time_ns}

    def theirs(self, _: int) -> dict[Key, float]:
        """The same of PyTorch, of the sizes that byteways measured last."""
        words = [self.python, str(PROGRAM), "--port", str(free_port()), *map(str, self.sizes)]
        answer = read_answer(launched(self.launcher, self.ranks, words, environment(**ORDER)))
        self.require_same("PyTorch", {version_text(answer["version"])})
        return {(PATTERN, int(size)): statistics.median(times) for size, times in answer["times_ns"].items()}

    def require_same(self, who: str, versions: set[str]) -> None:
        """Raises SystemExit when a run had another version of the library."""
        if versions != {self.version}:
            told = ", ".join(sorted(one or "an unknown version" for one in versions))
            raise SystemExit(f"{who} ran with {told}, and PyTorch loads {self.version}: not compared")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="processes, a GPU each")
    parser.add_argument("--pairs", type=pairs_of, default=6)
    parser.add_argument("--mpi", type=Path, help="prefix of the MPI to use")
    parser.add_argument("--torch", default=sys.executable, help="Python interpreter that has PyTorch")
    arguments = parser.parse_args()
    _, launcher, mpi = find_launcher(arguments.mpi)
    asked = subprocess.run([arguments.torch, str(PROGRAM), "--library"], capture_output=True, text=True)
    if asked.returncode:
        why = "".join(asked.stderr.strip().splitlines()[-1:])
        raise SystemExit(f"{arguments.torch} has no PyTorch with NCCL or RCCL: {why}")
    loaded = read_answer(asked.stdout)
    version = version_text(loaded["version"])
    print(f"{mpi}; PyTorch loads {loaded['library']}, version {version}")
    with tempfile.TemporaryDirectory() as name:
        peers = Peers(Path(name), launcher, arguments.ranks, arguments.torch, loaded["library"], version)
        lines = list(in_turns(arguments.pairs, peers.ours, peers.theirs))
    print(f"byteways ran with version {version} too; byteways and PyTorch:")
    for line in lines:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
