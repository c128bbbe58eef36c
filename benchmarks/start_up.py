"""What byteways itself costs: starting, and conducting a run. Prints a table; the figures wanted are in it.

    python benchmarks/start_up.py

Each start is the median of `--repeat` processes. The share of conductor and journal is taken from a run of
the quick
suite: its wall time without what its cases took in their workers, without probe and report.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from byteways.measuring.conduct.conductor import Conductor
from byteways.measuring.conduct.journal import Journal
from byteways.measuring.conduct.process import WorkerProcess


def process_s(*arguments: str) -> float:
    """Wall seconds of one Python process."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def import_s() -> float:
    """Of `import byteways` alone, as the interpreter that imports it sees it."""
    program = "import time; t = time.perf_counter(); import byteways; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return float(done.stdout)


def worker_start_s(folder: Path) -> float:
    """From the conductor's decision to the worker's hello."""
    began = time.perf_counter()
    worker = WorkerProcess(folder / "log")
    taken = time.perf_counter() - began
    worker.stop()
    return taken


class Bystander:
    """Observer that shows nothing."""

    def began(self, planned: object, position: int, time_left_s: float) -> None: ...
    def ended(self, record: object) -> None: ...
    def tick(self) -> None: ...


def conducting(folder: Path) -> tuple[float, float]:
    """Conducts the quick suite; shares of wall time: conductor with journal, and journal."""
    from byteways.machine import discover
    from byteways.measuring.conduct.probe import probe_with
    from byteways.plan.planner import make_plan
    from byteways.plan.suite import load

    worker = WorkerProcess(folder / "log")
    probed = probe_with(worker)
    topology = discover(probed.capabilities.devices)
    planned = make_plan(load("quick"), topology, probed.capabilities).cases
    with Journal(folder) as journal:
        began = time.perf_counter()
        Conductor(journal, topology, probed.method_version, Bystander(), worker=worker).run(planned)
        wall_s = time.perf_counter() - began
        in_workers_s = sum(record.wall_s or 0.0 for record in journal.read().records)
        return (wall_s - in_workers_s) / wall_s, journal.seconds / wall_s


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=9, help="processes a start is measured with")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repeat = range(arguments.repeat)
        share, journal_share = conducting(folder)
        imported = statistics.median(import_s() for _ in repeat)
        helped = statistics.median(process_s("-m", "byteways", "--help") for _ in repeat)
        started = statistics.median(worker_start_s(folder) for _ in repeat)
        figures = [
            ("import byteways", imported * 1e3, 50.0, "ms"),
            ("byteways --help", helped * 1e3, 400.0, "ms"),
            ("worker start", started * 1e3, 100.0, "ms"),
            ("conductor and journal, of wall time", share * 100, 5.0, "%"),
            ("journal alone, of wall time", journal_share * 100, 5.0, "%"),
        ]
    if arguments.json:
        names = ("what", "measured", "wanted", "unit")
        print(json.dumps([dict(zip(names, row, strict=True)) for row in figures]))
        return
    for what, measured, wanted, unit in figures:
        print(f"{what:<36} {measured:8.2f} {unit:<2}  wanted <= {wanted:g} {unit}")


if __name__ == "__main__":
    main()
