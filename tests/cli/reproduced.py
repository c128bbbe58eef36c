"""Studies reproduced once for all tests of a session, whichever of its processes they run in."""

from __future__ import annotations

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.texts_of_studies import reproduce


@dataclass(frozen=True)
class Reproduced:
    """`folder` holds run R, which tests read and leave as it is."""

    folder: Path
    stdout: str
    stderr: str


def reproduced(factory: pytest.TempPathFactory, name: str) -> Reproduced:
    """A study on a machine, by the name of its text."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, out, err = (base / f"reproduced-{name}{suffix}" for suffix in ("", ".out", ".err"))
    with (base / f"reproduced-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be at it
        if not out.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            done = reproduce(folder, name)
            err.write_text(done.stderr, encoding="utf-8")
            out.write_text(done.stdout, encoding="utf-8")
    return Reproduced(folder, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))
