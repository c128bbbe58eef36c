"""What tests of faults share: a fake worker, a small suite, and the means to see that nothing outlives a
run.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from tests.cli.called import byteways

FAKE = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))

#: Seconds after which what a test waits for is taken never to come; on a busy machine all takes its time.
TIMEOUT_S = 120.0

#: Five cases of different sizes; the worst machine measures them with the fake worker in a second.
SUITE = """\
name = "small"
title = "Small"
rounds = 1
budget_s = 60

[[sweep]]
name = "copies"
interface = "memcpy"
pattern = "unidirectional"
source = "cpu0:pageable"
destination = "cpu0:pageable"
executor = "source"
size = ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB"]
"""


def planned(fault: str = "", *, size: int = 4096, executor: str = "cpu0", **changes: Any) -> PlannedCase:
    """A case on which the fake worker does what `fault` says."""
    buffer = Buffer("cpu0", "pageable")
    options = {"fault": fault} if fault else {}
    case = Case(
        "memcpy",
        "unidirectional",
        (Flow(buffer, buffer, executor),),
        size,
        "warm",
        options,
        changes.pop("environment", {}),
    )
    return PlannedCase(case, "faults", changes.pop("round", 0), 0.01, 0.01, changes.pop("reason", None))


#: Cases of 1 GiB of which the plan drops some for the budget, while the fake worker needs no time for any.
TIGHT = SUITE.replace("budget_s = 60", "budget_s = 12").replace(
    'size = ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB"]',
    'size = ["1024MiB", "1025MiB", "1026MiB", "1027MiB", "1028MiB"]',
)


@dataclass
class Watcher:
    """Observer that records its calls."""

    records: list[Record] = field(default_factory=list)
    on_tick: Callable[[], None] = lambda: None

    def began(self, planned: PlannedCase, position: int, time_left_s: float) -> None:
        self.on_tick()

    def ended(self, record: Record) -> None:
        self.records.append(record)

    def tick(self) -> None:
        self.on_tick()


def living(pids: Sequence[int]) -> list[int]:
    """Those of the processes, or members of their groups, that are still there (zombies are)."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid, group = int(stat.parent.name), int(fields[2])
        if pid in pids or group in pids:
            alive.append(pid)
    return alive


@dataclass
class Command:
    """`byteways run` with the fake worker and the small suite; `start` makes a process of it."""

    folder: Path
    suite: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    program: Sequence[str] = ("-m", "byteways")

    def start(
        self, *arguments: str, sigint: signal.Handlers = signal.SIG_DFL, **variables: str
    ) -> subprocess.Popen[str]:
        """`sigint` is what the process finds on entry, whatever the tests themselves were started with
        (`make test &` in a script ignores it).
        """
        process = subprocess.Popen(
            [sys.executable, *self.program, "run", *arguments],
            env={**self.environment, **variables},
            cwd=self.folder.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, sigint),
        )
        self.started.append(process)
        return process

    def end(self) -> None:
        """Kills what a failed test left running; workers go with their run."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """The same within this process: nothing is sent to it, and its workers are processes either way."""
        return byteways(self.folder.parent, "run", *arguments, **{**self.environment, **variables})

    def new(self, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.suite), "--out", str(self.folder), **variables)

    def resume(self, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.run("--resume", str(self.folder), **variables)


def assert_complete(folder: Path, planned: int = 5) -> None:
    """Every planned case and round has exactly one record, and every measured one its samples."""
    run = RunFolder(folder)
    keys = Counter((record.case_id, record.round) for record in run.records)
    assert len(keys) == run.manifest["planned"] == planned
    assert max(keys.values()) == 1
    assert run.manifest["state"] == "complete"
    measured = [record for record in run.records if record.status == "measured"]
    assert all(run.samples(record) is not None for record in measured)


def wait_for(condition: Callable[[], object], seconds: float = TIMEOUT_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)


def lines(folder: Path) -> list[bytes]:
    journal = folder / "measurements.jsonl"
    return journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
