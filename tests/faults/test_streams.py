"""Nobody who watches a run can end it: standard error that is closed, full or gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.record.run_folder import RunFolder
from tests.faults.harness import Command


def by_shell(command: Command, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line],
        env=command.environment,
        cwd=command.folder.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    "redirection", ["2>&-", "2>/dev/full", "2> >(exec true)", "<&- >&- 2>&-", ">/dev/full"]
)
def test_run_with_streams_that_cannot_be_written(command: Command, redirection: str) -> None:
    """Would catch progress that ends the run, or a file of the run that takes a closed stream's number."""
    words = f'"{sys.executable}" -m byteways run "{command.suite}" --out "{command.folder}" --no-report'
    done = by_shell(command, f"{words} {redirection}")
    run = RunFolder(command.folder)
    assert (len(run.records), run.damaged_lines, run.manifest["state"]) == (5, 0, "complete")
    assert done.returncode == (2 if redirection == ">/dev/full" else 0), done.stderr
    assert "Traceback" not in done.stderr


def test_progress_of_a_closed_stream_is_not_data(command: Command) -> None:
    """Would catch progress on standard output: print() goes there when there is no standard error."""
    words = f'"{sys.executable}" -m byteways run "{command.suite}" --out "{command.folder}" --json'
    closed = by_shell(command, f"{words} 2>&-")
    assert closed.stdout.startswith("{") and closed.stdout.rstrip().endswith("}")


def test_few_descriptors(command: Command) -> None:
    """Would catch a traceback, or `something unexpected`, where the system refuses a file or a socket."""
    for limit in (4, 9, 14):
        folder = command.folder.with_name(f"N{limit}")
        words = f'exec "{sys.executable}" -m byteways run "{command.suite}" --out "{folder}" --no-report'
        done = by_shell(command, f"ulimit -n {limit}; {words}")
        assert "something unexpected" not in done.stderr, (limit, done.stderr)
        assert done.returncode in (0, 1, 2)


def test_worker_command_that_is_none(command: Command) -> None:
    """Would catch `something unexpected` for a setting that is quoted wrongly."""
    for mistaken in ("'x", " "):
        done = command.new(BYTEWAYS_WORKER=mistaken)
        assert done.returncode == 2
        assert "error: BYTEWAYS_WORKER is not a command" in done.stderr and "hint: " in done.stderr
    assert not os.path.exists(Path(command.folder))  # noqa: PTH110
