"""Feeds damaged and hostile files to the readers: suites, machine models, studies, run folders, topologies,
outputs of other programs, traces of other profilers.

    python validation/fuzz.py --minutes 1
    python validation/fuzz.py --case model:812 --keep finds    # one case again, its files kept

Every case must be read, or refused with a BytewaysError, within five seconds of processor time and a
gigabyte. Anything else (another exception, a hang, memory without end, a crash) is a find: it is printed
with its case, and the status is 1. A case is made from seed, target and number alone, so that it can be
made again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from random import Random

from byteways.base.errors import BytewaysError
from byteways.measuring.conduct.plan_file import read as read_plan
from byteways.record.run_folder import RunFolder
from fuzz_damage import DAMAGE

#: Of one case: processor time, so that a busy machine makes no finds, and time in all, for what waits.
MOST_S, MOST_WAIT_S = 5.0, 60.0
#: On top of what the process holds before.
MOST_BYTES = 1 << 30
#: Cases of a child process: as many as share the cost of its start.
BATCH = 100

#: Files of a case by name.
Files = dict[str, bytes]

# ---- what is fuzzed


@dataclass
class Target:
    """Something that is read: what it looks like when it is whole, and what reads it."""

    name: str
    seeds: list[Files]
    read: Callable[[Path], None]
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0

    def case(self, seed: int, number: int) -> Files:
        """The files of a case: one of the seeds with one of its files damaged."""
        random = Random(f"{seed} {self.name} {number}")
        files = dict(random.choice(self.seeds))
        name = random.choice([*files])
        files[name] = DAMAGE[Path(name).suffix](random, files[name])
        return files


#: Limits of every kind.
LIMITS = b"""[[limit]]
only = "interface=copy,path=gpu0>gpu1"
size = "1MiB..1GiB"
at_least = "380 GB/s"
[[limit]]
title = "any"
only = ["interface=kernel", "executor=gpu*"]
at_least = "70%"
[[limit]]
at_most = "2.5 us"
"""


def seed_run(folder: Path) -> Path:
    """A small simulated run."""
    words = ["run", "quick", "--machine", "h200-x4", "--only", "path=gpu0>gpu1", "--only", "path=cpu0>gpu0"]
    command = [sys.executable, "-m", "byteways", *words, "--no-report", "--out", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def targets(work: Path) -> list[Target]:
    """All of them. `work` takes a run that serves as a seed."""
    run = RunFolder(seed_run(work / "run"))
    capabilities = run.manifest["capabilities"]

    def shipped(package: str) -> list[Files]:
        files = (entry for entry in resources.files(package).iterdir() if entry.name.endswith(".toml"))
        return [{"s.toml": entry.read_bytes()} for entry in sorted(files, key=lambda entry: entry.name)]

    def read_suite(folder: Path) -> None:
        from byteways.machine.model import Capabilities
        from byteways.plan.planner import make_plan
        from byteways.plan.suite import load

        make_plan(load(str(folder / "s.toml")), run.topology, Capabilities.from_json(capabilities))

    def read_model(folder: Path) -> None:
        from byteways.models import load, sheet
        from byteways.models.topology import topology_of

        model = load(str(folder / "s.toml"))
        topology_of(model)
        sheet(model)

    def read_study(folder: Path) -> None:
        from byteways.ext.studies.published.reading import load

        load(str(folder))

    def read_topology(folder: Path) -> None:
        from byteways.cli.topo import blocks, read

        topology, _ = read(next(folder.iterdir()))
        blocks(topology)

    from byteways.ext.studies.published import names
    from byteways.machine import machine_saver, nccl_xml_writer, saved_machine

    studies = [
        {
            entry.name: entry.read_bytes()
            for entry in (resources.files("byteways.ext.studies.published") / name).iterdir()
            if Path(entry.name).suffix in DAMAGE
        }
        for name in names()
    ]
    samples = Path(__file__).parents[1] / "tests/machines/files"
    topologies = [{one.name: one.read_bytes()} for one in sorted(samples.iterdir())]
    topologies.append({"topology.xml": nccl_xml_writer.write(run.topology).encode()})
    saved = saved_machine.fields_of(machine_saver.saved(None, (), range(4)))
    topologies.append({"saved.json": json.dumps(saved).encode()})
    kept = ("run.json", "measurements.jsonl", "plan.jsonl", "samples.jsonl")
    shown = [{name: (run.path / name).read_bytes() for name in kept[:2]}]
    return [
        Target("suite", shipped("byteways.plan.suites"), read_suite),
        Target("model", shipped("byteways.models"), read_model),
        Target(
            "study",
            [{n: c for n, c in one.items() if Path(n).suffix in DAMAGE} for one in studies],
            read_study,
        ),
        Target("run", [{name: (run.path / name).read_bytes() for name in kept}], read_run),
        Target("show", shown, read_shown),
        Target("ask", shown, partial(read_asked, run)),
        Target(
            "check",
            [{**shown[0], "normal.json": learned_of(run), "limits.toml": LIMITS}],
            partial(read_checked, run),
        ),
        Target("topology", topologies, read_topology),
        Target("outputs", outputs_of_programs(), partial(read_foreign, run)),
        Target("traces", traces_of_profilers(work), read_trace),
    ]


def outputs_of_programs() -> list[Files]:
    """A file of each format and variant of the corpus, all damaged as text: logs hold documents of JSON."""
    corpus = Path(__file__).parents[1] / "tests/imported"
    kinds = (".txt", ".csv", ".json", ".jsonl")
    found = (
        one for one in sorted(corpus.glob("*/*.*")) if one.suffix in kinds and one.name != "expected.json"
    )
    return [{f"{one.stem}.txt": one.read_bytes()} for one in found]


def traces_of_profilers(work: Path) -> list[Files]:
    """A trace of each format and variant of the corpus: JSON is damaged as data and as text."""
    corpus = Path(__file__).parents[1] / "tests/watched/traces"
    found: list[Files] = []
    for file in sorted(corpus.glob("*/*.*")):
        if file.suffix == ".sql":
            made = work / f"{file.stem}.sqlite"
            with contextlib.closing(sqlite3.connect(made)) as database:
                database.executescript(file.read_text(encoding="utf-8"))
            found.append({"trace.sqlite": made.read_bytes()})
        elif file.name.endswith("_memory_copy_trace.csv"):
            prefix = file.name.removesuffix("memory_copy_trace.csv")
            found.append({one.name: one.read_bytes() for one in sorted(file.parent.glob(f"{prefix}*"))})
        elif file.suffix in (".json", ".jsonl", ".csv") and file.name != "expected.json":
            content = file.read_bytes()
            found.append({"trace.txt": content})
            if file.suffix == ".json" and is_json(content):
                found.append({"trace.json": content})
    return found


def is_json(content: bytes) -> bool:
    """Whether a content is a document of JSON: some recorders write what only resembles one."""
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def read_trace(folder: Path) -> None:
    """A trace of another profiler as `watch --import` reads it."""
    import msgspec

    from byteways.ext.watch.bins import Watched
    from byteways.ext.watch.traces.collecting import joined
    from byteways.ext.watch.traces.scan import watched_of_trace

    copies = [*folder.glob("*_memory_copy_trace.csv")]
    read = watched_of_trace(copies[0] if copies else next(folder.iterdir()))
    msgspec.json.decode(msgspec.json.encode(joined([read, read])), type=Watched)


def read_foreign(run: RunFolder, folder: Path) -> None:
    """An output of another program as `import` and `audit` read it."""
    from byteways.ext.audit.imported.records import imported_records
    from byteways.ext.audit.imported.scan import read_outputs
    from byteways.ext.audit.judging.audit import ReadFile, audited
    from byteways.verdicts.checks.normal import read_normal

    file = next(folder.iterdir())
    found = read_outputs(file)
    for _ in imported_records([(str(file), found.outputs)], run.topology, 1):
        pass
    read = ReadFile(str(file), tuple(found.outputs), tuple(found.mistakes))
    json.dumps(audited([read], run.topology, read_normal(None), machine="it").to_json(), allow_nan=False)


def read_run(folder: Path) -> None:
    """A run folder as resume and export read it."""
    from io import StringIO

    from byteways.answers.results.progress import damage
    from byteways.measuring.conduct.simulation import recorded_simulation
    from byteways.measuring.shared.options import RunOptions
    from byteways.plan.suite import parse
    from byteways.record.exporters import FORMATS

    run = RunFolder(folder)
    damage(run)
    FORMATS["csv"].write(run.manifest, run.records, StringIO(), None)
    FORMATS["json"].write(run.manifest, run.records, StringIO(), run.samples)
    recorded_simulation(folder, run.manifest)
    try:
        RunOptions.from_json(run.manifest["options"])
    except ValueError:
        return  # told as a damaged manifest by whoever takes up the run
    read_plan(folder, parse(run.manifest["suite"]["text"], file="suite"))


def read_shown(folder: Path) -> None:
    """A run folder as `show` reads it, tables and findings included."""
    from byteways.cli.show import show

    kept = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nothing:  # noqa: PTH123
        sys.stdout = sys.stderr = nothing
        try:
            show(folder)
        finally:
            sys.stdout, sys.stderr = kept


def read_asked(healthy: RunFolder, folder: Path) -> None:
    """A run folder as `best`, `compare` and data frames read it."""
    from byteways.answers.best.answers import answers
    from byteways.cases.question import question
    from byteways.record.frame import frame
    from byteways.verdicts.two_runs.comparison import compare_runs

    run = RunFolder(folder)
    healthy.manifest["run_id"] = "of the healthy run"
    frame(run.manifest, run.records, None)
    for compared in compare_runs([healthy, run], ["healthy", "damaged"], mixed=True):
        json.dumps(compared.to_json(), allow_nan=False)
    for answer in answers(run, question("gpu0", "gpu*", "128MiB")):
        json.dumps(answer.to_json(), allow_nan=False)


def learned_of(run: RunFolder) -> bytes:
    """A small file of `check --learn`."""
    from byteways.verdicts.checks.learning import learned

    return learned([(run, "healthy")]).text().encode()


def read_checked(healthy: RunFolder, folder: Path) -> None:
    """A run folder, a learned file and limits as `check` reads them, with every format of verdicts."""
    from byteways.report.verdicts import junit, prometheus, slurm
    from byteways.verdicts.checks.check import CheckQuestion, checked

    run = RunFolder(folder)
    healthy.manifest["run_id"] = "of the healthy run"
    for against in ("peak", "limits.toml", "normal.json", str(healthy.path)):
        path = str(folder / against) if "." in against else against
        found = checked(run, "damaged", CheckQuestion.of(path, mixed=True), healthy)
        json.dumps(found.to_json(), allow_nan=False)
        junit.junit(found)
        prometheus.prometheus(found)
        slurm.drain_line(found, found.host)


# ---- running cases


def write_case(folder: Path, files: Files) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def outcome_of(target: Target, folder: Path) -> str:
    """`read`, `refused`, or what else happened."""
    try:
        target.read(folder)
    except BytewaysError as error:
        return "refused" if error.what else "a BytewaysError without words"
    except Exception as error:  # all others are what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:120]} ({Path(place.filename).name}:{place.lineno})"
    return "read"


def child(target: Target, seed: int, numbers: range, folder: Path, pipe: int) -> None:
    """Runs cases one after another; tells of each before and after."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MOST_BYTES, held + MOST_BYTES))
    for ends in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(ends, signal.SIG_DFL)
    for number in numbers:
        write_case(folder, target.case(seed, number))
        os.write(pipe, f"{json.dumps([number])}\n".encode())
        signal.setitimer(signal.ITIMER_PROF, MOST_S)
        signal.setitimer(signal.ITIMER_REAL, MOST_WAIT_S)
        began = time.monotonic()
        outcome = outcome_of(target, folder)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.write(pipe, f"{json.dumps([number, outcome, time.monotonic() - began])}\n".encode())


def run_batch(target: Target, seed: int, numbers: range, folder: Path) -> list[tuple[int, str]]:
    """Runs cases in a process of their own. Answers the finds, and counts the rest.

    Raises:
        RuntimeError: The first case cannot be made, a mistake of the fuzzer.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            child(target, seed, numbers, folder, writer)
        finally:
            os._exit(0)
    os.close(writer)
    told = b""
    while select.select([reader], [], [], 2 * MOST_WAIT_S)[0] and (part := os.read(reader, 65536)):
        told += part
    os.close(reader)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    entries = [json.loads(line) for line in told.splitlines() if line.endswith(b"]")]
    if not entries:  # the same cases again would end as soon, until the time is over
        raise RuntimeError(f"case {target.name}:{numbers[0]} cannot be made: --case shows why")
    finds = []
    for entry in (entry for entry in entries if len(entry) == 3):
        number, outcome, seconds = entry
        target.cases += 1
        target.slowest_s = max(target.slowest_s, seconds)
        target.outcomes[outcome if outcome in ("read", "refused") else "find"] += 1
        if outcome not in ("read", "refused"):
            finds.append((number, outcome))
    if entries and len(entries[-1]) == 1:  # begun and not ended
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        limits = {signal.SIGPROF: f"no end within {MOST_S:g} s", signal.SIGALRM: f"waited {MOST_WAIT_S:g} s"}
        how = limits.get(ended, f"ended by signal {ended}")
        finds.append((entries[-1][0], how))
        target.cases += 1
        target.outcomes["find"] += 1
    return finds


def fuzz(chosen: list[Target], seed: int, seconds: float, work: Path) -> list[tuple[str, int, str]]:
    """Batches of all targets in turn until the time is over."""
    deadline = time.monotonic() + seconds
    finds: list[tuple[str, int, str]] = []
    while time.monotonic() < deadline:
        for target in chosen:
            began, batch = target.cases, BATCH
            while batch and time.monotonic() < deadline:
                numbers = range(target.cases, began + BATCH)
                found = run_batch(target, seed, numbers, work / "case")
                finds += [(target.name, number, what) for number, what in found]
                batch = began + BATCH - target.cases  # after a crash the rest goes on in a new process
    return finds


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzzes the readers of files.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only",
        help="one target alone: suite, model, study, run, show, ask, check, topology, outputs or traces",
    )
    parser.add_argument("--case", help="TARGET:NUMBER, to run that one alone and show its traceback")
    parser.add_argument("--keep", type=Path, help="folder for the files of that case")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="byteways-fuzz-") as place:
        work = Path(place)
        chosen = [target for target in targets(work) if arguments.only in (None, target.name)]
        if arguments.case:
            name, _, number = arguments.case.partition(":")
            (target,) = (target for target in chosen if target.name == name)
            folder = arguments.keep or work / "case"
            write_case(folder, target.case(arguments.seed, int(number)))
            target.read(folder)
            return 0
        finds = fuzz(chosen, arguments.seed, 60.0 * arguments.minutes, work)
    print(f"{'target':8} {'cases':>7} {'read':>7} {'refused':>8} {'finds':>6} {'slowest':>9}")
    for target in chosen:
        counts = [target.outcomes[name] for name in ("read", "refused", "find")]
        row = f"{target.name:8} {target.cases:7} {counts[0]:7} {counts[1]:8} {counts[2]:6}"
        print(f"{row} {1e3 * target.slowest_s:6.0f} ms")
    seen: set[tuple[str, str]] = set()
    for name, number, what in finds:
        if (name, what) not in seen:
            seen.add((name, what))
            print(f"find: {what}\n  python validation/fuzz.py --seed {arguments.seed} --case {name}:{number}")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
