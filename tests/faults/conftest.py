"""Fixtures of the fault tests: the real conductor and the real command with a fake worker."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from byteways.cases.case import PlannedCase
from byteways.machine.model import Device, Topology
from byteways.measuring.conduct.conductor import Conductor
from byteways.measuring.conduct.journal import Journal
from byteways.record.record import Record
from tests.faults.harness import FAKE, SUITE, TIMEOUT_S, Command, Watcher, living


@pytest.fixture
def worker_pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """Process ids of all fake workers started during the test."""
    file = tmp_path / "pids"
    monkeypatch.setenv("BYTEWAYS_FAKE_PIDS", str(file))
    return lambda: [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.fixture(autouse=True)
def no_orphans(worker_pids: Callable[[], list[int]]) -> Iterator[None]:
    """After every test of faults: no worker, no child of one, no zombie."""
    yield
    deadline = time.monotonic() + TIMEOUT_S
    while living(worker_pids()) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = living(worker_pids())
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"still there: {left}"


@pytest.fixture
def conduct(tmp_path: Path) -> Callable[..., list[Record]]:
    """Runs a plan with the real conductor and the fake worker; returns the journal's records."""

    def run(plan: Sequence[PlannedCase], **options: Any) -> list[Record]:
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        watcher = options.pop("watcher", None) or Watcher()
        options.setdefault("deadline", lambda planned, first: TIMEOUT_S)
        topology = options.pop("topology", None) or Topology("test", (Device("cpu0", "cpu", "fake"),))
        with Journal(folder) as journal:
            conductor = Conductor(journal, topology, 1, watcher, command=FAKE, **options)
            try:
                conductor.run(plan)
            finally:
                conductor.close()
            return journal.read().records

    return run


@pytest.fixture
def command(tmp_path: Path, worker_pids: Callable[[], list[int]]) -> Iterator[Command]:
    suite = tmp_path / "small.toml"
    suite.write_text(SUITE)
    environment = {**os.environ, "BYTEWAYS_WORKER": shlex.join(FAKE)}
    command = Command(tmp_path / "R", suite, environment)
    yield command
    command.end()
