"""Runs our kernels under NVIDIA's compute-sanitizer, and prints what it finds: one tool after the other.

    python benchmarks/sanitize.py [--tools memcheck racecheck initcheck] [--sanitizer FILE] [--ranks 2]
        [--mpi FOLDER] [--keep FOLDER]

The suite has small cases of every kernel that stores into memory of another GPU or of other threads: direct
collectives in each combination of algorithm, protocol and place, halo and particles by their own transports,
random accesses. compute-sanitizer is in PATH or in the CUDA toolkit. It follows all processes (the launcher,
ranks, workers), and writes what it finds in them into the folder of --keep.

Exit status: 0: nothing was found; 1: something was, or a case failed; 2: nothing was measured.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from peer_runs import environment, find_launcher

TOOLS = ("memcheck", "racecheck", "initcheck")
HEAD = 'name = "sanitize"\ntitle = "Our kernels under a sanitizer"\nrounds = 1\nprecision = 0.5\n'
PEERS = 'source = "gpu*:device"\ndestination = "gpu*:device"\n'
SUITE = f"""{HEAD}case_budget_s = 0.01

[[sweep]]
name = "sums"
interface = "direct"
{PEERS}cache = "warm"
pattern = "allreduce"
size = ["24B", "768KiB"]
[sweep.options]
launch = "thread"
algorithm = ["one-shot", "two-shot"]
protocol = ["auto", "simple"]
in_place = ["no", "yes"]

[[sweep]]
name = "others"
interface = "direct"
{PEERS}cache = "warm"
pattern = ["allgather", "reduce-scatter", "alltoall"]
size = "768KiB"
[sweep.options]
launch = "thread"
protocol = ["LL", "simple"]

[[sweep]]
name = "persistent"
interface = "direct"
{PEERS}cache = "warm"
pattern = "allreduce"
size = "64KiB"
[sweep.options]
launch = "thread"
submit = "persistent"
algorithm = "one-shot"
protocol = ["LL", "simple"]
in_place = "yes"

[[sweep]]
name = "halo"
interface = "halo"
pattern = "halo"
{PEERS}executor = "gpu*"
size = "256KiB"
[sweep.options]
transport = ["copies", "kernels"]

[[sweep]]
name = "particles"
interface = "particles"
pattern = "particles"
{PEERS}executor = "gpu*"
size = "256KiB"
[sweep.options]
transport = ["copies", "kernels"]

[[sweep]]
name = "random"
interface = ["random-load", "random-store", "random-update"]
buffer = "gpu*:device"
executor = "gpu*"
pairs = "per-link-class"
size = "1MiB"
[sweep.options]
access_bytes = [8, 64]
"""

#: A line of a report: what it says behind the bar, and how far it is set in.
_LINE = re.compile(r"^========= ( *)(.*)$")
#: Lines at the margin that are no findings.
_FRAME = re.compile(
    r"(COMPUTE-SANITIZER|(ERROR|RACECHECK|LEAK) SUMMARY|Target application|Internal Sanitizer Error: )"
)
_NO_KERNEL = "no kernel is named"
#: The kernel in a line as "    at direct_pull+0x1f0" or "    at direct_pull(DirectArguments):0x160".
_KERNEL = re.compile(r"\bat (?:.*[: ])?(\w+)(?:\(|\+0x)")


def findings(report: str) -> Counter[tuple[str, str]]:
    """How often one process met each kind of finding, by its heading and the kernel."""
    found: Counter[tuple[str, str]] = Counter()
    heading = ""
    for line in report.splitlines():
        parts = _LINE.match(line)
        if parts is None:
            continue
        inset, text = parts.groups()
        if not inset and text:
            if heading:
                found[heading, _NO_KERNEL] += 1
            heading = "" if _FRAME.match(text) else text
            if kernel := _KERNEL.search(heading):
                found[heading[: kernel.start()].rstrip(), kernel[1]] += 1
                heading = ""
        elif heading and (kernel := _KERNEL.search(text)):
            found[heading, kernel[1]] += 1
            heading = ""
    if heading:
        found[heading, _NO_KERNEL] += 1
    return found


def unfinished(report: str) -> bool:
    """Whether the sanitizer wrote no summary: it failed, or its process was killed."""
    return "SUMMARY:" not in report and "COMPUTE-SANITIZER" in report


def installed_sanitizer(named: str | None = None) -> str | None:
    """The program's file."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "compute-sanitizer"
    return shutil.which(named or "compute-sanitizer") or shutil.which(str(toolkit))


def under(tool: str, sanitizer: str, folder: Path) -> list[str]:
    """The words before a command that is run under one tool. Its reports are `report.*` in the folder."""
    words = [sanitizer, "--tool", tool, "--target-processes", "all", "--report-api-errors", "no"]
    return [*words, "--log-file", str(folder / "report.%p")]


def find_sanitizer(named: str | None) -> str:
    """The program's file. Raises SystemExit with what to do when there is none."""
    found = installed_sanitizer(named)
    if found is None:
        sys.exit(
            "error: compute-sanitizer is not found\n"
            "hint: install the CUDA toolkit, or name its file by --sanitizer"
        )
    return found


def run(tool: str, sanitizer: str, folder: Path, ranks: int, launcher: str) -> list[Record]:
    """Runs the suite under one tool. Its reports are `report.*` in the folder; returns the run's records."""
    folder.mkdir(parents=True)
    suite = folder / "sanitize.toml"
    suite.write_text(SUITE)
    words = [*under(tool, sanitizer, folder), sys.executable, "-m", "byteways", "run", str(suite)]
    words += ["--ranks", str(ranks), "--no-report", "--out", str(folder / "run")]
    words += ["--launcher", launcher] if launcher else []
    subprocess.run(words, env=environment(), stdout=sys.stderr, check=False)
    return list(RunFolder(folder / "run").records) if (folder / "run").exists() else []


def conclude(tool: str, folder: Path, records: Sequence[Record]) -> int:
    """Prints what one tool found; returns the exit status."""
    found: Counter[tuple[str, str]] = Counter()
    reports = [file.read_text(errors="replace") for file in sorted(folder.glob("report.*"))]
    for report in reports:
        found += findings(report)
    by_status = Counter(record.status for record in records)
    cases = ", ".join(f"{count} {status}" for status, count in by_status.items()) or "no case"
    print(f"{tool}: {found.total()} findings in {len(reports)} reports; {cases}")
    for (heading, kernel), count in found.most_common():
        print(f"  {count} × {heading}: {kernel}")
    for record in records:
        if record.status != "measured":
            print(f"  {record.status}: {record.interface} {record.pattern}: {record.reason}")
    broken = sum(unfinished(report) for report in reports)
    if broken:
        print(f"  {broken} reports have no summary")
    if not by_status["measured"] or not reports:
        return 2
    failed = set(by_status) - {"measured", "skipped"}
    return 1 if found or failed or broken else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    parser.add_argument("--sanitizer", help="file of compute-sanitizer")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mpi", type=Path, help="folder with bin/mpiexec, for halo and particles")
    parser.add_argument("--keep", type=Path, help="new folder for reports and runs")
    given = parser.parse_args()
    sanitizer = find_sanitizer(given.sanitizer)
    launcher = find_launcher(given.mpi)[1] if given.mpi else ""
    with tempfile.TemporaryDirectory() as temporary:
        root = given.keep or Path(temporary) / "sanitize"
        worst = 0
        for tool in given.tools:
            records = run(tool, sanitizer, root / tool, given.ranks, launcher)
            worst = max(worst, conclude(tool, root / tool, records))
    return worst


if __name__ == "__main__":
    sys.exit(main())
