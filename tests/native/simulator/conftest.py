"""The toys: C++ programs against the simulator's own parts, built once for all tests here."""

from __future__ import annotations

import fcntl
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cache import ROOT

#: What a toy printed: key -> the values of each of its lines.
Told = dict[str, list[list[str]]]
#: play(toy, sheet) runs a toy, on the machine of a sheet where it needs one.
Play = Callable[..., Told]


@pytest.fixture(scope="session")
def toys() -> Path:
    """The program. The build of the package makes it, of the objects of the simulator's library: what a
    source or a header has changed since is compiled again, and nothing else.
    """
    caches = sorted(ROOT.glob("build/*/CMakeCache.txt"), key=lambda path: path.stat().st_mtime)
    assert caches, "the native core was not built here: make develop"
    found = re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", caches[-1].read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    folder, target = caches[-1].parent, "simulator_toys"
    with (folder / f"{target}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may be building it
        command = [found[1], "--build", folder, "--target", target]
        built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / target


@pytest.fixture
def play(toys: Path, tmp_path: Path) -> Play:
    def run(toy: str, sheet: str = "", timeout_s: float = 120) -> Told:
        command: list[str | Path] = [toys, toy]
        if sheet:
            (tmp_path / "sheet").write_text(sheet, encoding="utf-8")
            command.append(tmp_path / "sheet")
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
        assert done.returncode == 0, f"{toy} ended with {done.returncode}: {done.stderr}"
        told: Told = {}
        for line in done.stdout.splitlines():
            key, *values = line.split(" ")
            told.setdefault(key, []).append(values)
        return told

    return run
