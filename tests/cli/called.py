"""`byteways` called within the test's process, for tests of what it prints, writes and refuses.

A process of its own imports the program anew, which takes longer than most of what is tested. Tests of the
process itself (signals, closed streams, imports, terminals) start one. Workers are processes either way.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from byteways.cli import main

#: Width of a terminal on which no line is wrapped.
WIDE = "400"


def byteways(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command line in a folder, with more environment variables; what a process of it would give."""
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with (
            mock.patch.dict(os.environ, variables),
            mock.patch.object(sys, "argv", ["byteways", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = main(arguments)
    finally:
        os.chdir(before)
    return subprocess.CompletedProcess(["byteways", *arguments], status, out.getvalue(), err.getvalue())


def measured(folder: Path, suite: str, *words: str, status: int = 0) -> list[dict[str, Any]]:
    """Runs a suite, given as text, into run R of a folder, without a report; returns its records."""
    (folder / "toy.toml").write_text(suite)
    done = byteways(folder, "run", "toy.toml", "--out", "R", "--no-report", *words)
    assert done.returncode == status, done.stderr
    return records_of(folder / "R")


def records_of(run: Path) -> list[dict[str, Any]]:
    """The records of a run folder, as written."""
    return [json.loads(line) for line in (run / "measurements.jsonl").read_text("utf-8").splitlines()]
