"""Holds a run on 4 x H200 beside what other tools and plain programs gave on such a machine.

    byteways run benchmarks/peer_figures.toml --out R && python benchmarks/peer_figures.py R

The thresholds are single runs of other programs on another day (docs/reference/peers.md has them with their
definitions), so a row is a comparison of magnitude. Absolute figures hold for this GPU only.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from byteways.record.simulation_mark import is_simulated

Predicate = Callable[[Record], bool]


@dataclass(frozen=True)
class Row:
    """One line of the table: which records, and the least figure in GB/s that they should reach."""

    what: str
    wanted: float
    chosen: Predicate
    factor: float = 1.0  # 2: counts read + write of a local copy


def between_gpus(record: Record) -> bool:
    ends = record.path.replace("<>", ">").split(">")
    return all(end.startswith("gpu") for end in ends) and ends[0] != ends[-1]


def pair(interface: str, access: str, pattern: str = "unidirectional") -> Predicate:
    return lambda r: (
        r.interface == interface and r.access == access and r.pattern == pattern and between_gpus(r)
    )


def host(pattern: str, to_gpu: bool) -> Predicate:
    def chosen(record: Record) -> bool:
        source, destination = record.path.split(">")[0], record.path.split(">")[-1]
        ends = (source, destination) if to_gpu else (destination, source)
        right_ends = ends[0].startswith("cpu") and ends[1].startswith("gpu")
        return record.interface == "copy" and record.pattern == pattern and right_ends

    return chosen


def bidirectional(record: Record) -> bool:
    return record.interface == "copy" and record.pattern == "bidirectional" and between_gpus(record)


ROWS = (
    Row("copy read", 393, pair("copy", "read")),
    Row("copy write", 395, pair("copy", "write")),
    Row("copy bidirectional, sum", 778, bidirectional),
    Row("kernel read", 373, pair("kernel", "read")),
    Row("kernel write", 369, pair("kernel", "write")),
    Row("kernel-bulk read, 8 blocks", 360, pair("kernel-bulk", "read")),
    Row("kernel-bulk write, 8 blocks", 360, pair("kernel-bulk", "write")),
    Row("host to device", 55.2, host("unidirectional", True)),
    Row("device to host", 55.0, host("unidirectional", False)),
    Row("host to all GPUs, sum", 165, host("fan-out", True)),
    Row("all GPUs to host, sum", 140, host("fan-in", False)),
    Row("local copy, read + write", 4150, lambda r: r.interface == "copy" and r.access == "local", 2.0),
)


def main() -> int:
    run = RunFolder(Path(sys.argv[1]))
    if is_simulated(run.manifest):
        sys.exit("a simulated run is not held beside figures of a machine")
    print(f"{'figure':30} {'wanted':>8} {'min':>8} {'median':>8} {'max':>8} {'cells':>6}  verdict")
    missed = 0
    for row in ROWS:
        values = [
            row.factor * record.bandwidth_bytes_per_s / 1e9
            for record in run.records
            if record.status == "measured" and record.bandwidth_bytes_per_s and row.chosen(record)
        ]
        if not values:
            print(f"{row.what:30} {row.wanted:8.1f} {'no record':>26}")
            missed += 1
            continue
        middle = statistics.median(values)
        reached = middle >= row.wanted
        missed += not reached
        verdict = "reached" if reached else f"{middle / row.wanted:.3f} of it"
        figures = f"{min(values):8.1f} {middle:8.1f} {max(values):8.1f} {len(values):6}"
        print(f"{row.what:30} {row.wanted:8.1f} {figures}  {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
