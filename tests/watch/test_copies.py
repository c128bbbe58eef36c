"""`byteways watch --try copies`: PyTorch copies by a plan, and a program that cannot goes on as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.ext.watch.changes import COPIES_VARIABLE, HOOK, ProgramChange, changes_of
from byteways.ext.watch.copies import problems_of_copies
from byteways.ext.watch.folder import read_watch_folder
from byteways.ext.watch.launching import FOLDER_VARIABLE, WatchLaunch
from byteways.ext.watch.problems import Problem
from tests.watch.programs import PATIENCE_S, watching

#: A byteways with a plan, of which a program makes two calls; and one whose plan cannot be opened.
BYTEWAYS = """
from contextlib import contextmanager
from types import SimpleNamespace
import warnings

calls = {"default": 1, "relay": 0}

def open_plan(file):
    warnings.warn("of another machine")
    return SimpleNamespace(file=file, statistics=lambda: SimpleNamespace(calls=calls))

@contextmanager
def fast_copies(plan):
    calls["relay"] += 1
    print("fast by", plan.file)
    yield
"""
BROKEN = "def open_plan(file): raise OSError('no driver')"


def run_hooked(
    tmp_path: Path, package: str, script: str = "import torch; print(torch.name)"
) -> subprocess.CompletedProcess[str]:
    """A program of Python with the hook, a stand-in for PyTorch, and this byteways."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "byteways.py").write_text(package)
    (site / "torch.py").write_text("name = 'torch'")
    (site / "sitecustomize.py").write_text("print('own sitecustomize')")
    launch = WatchLaunch({"PYTHONPATH": str(site), FOLDER_VARIABLE: str(tmp_path)})
    ProgramChange("copies", plan=Path("/plan")).apply(launch, tmp_path)
    # The interpreter behind the virtual environment, which finds no other byteways first.
    command = [Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, env=launch.environment, check=False)


def test_copies_are_fast_once_torch_is_there(tmp_path: Path) -> None:
    """Catches a mode that is not entered, a sitecustomize that is hidden, and statistics that are lost."""
    done = run_hooked(tmp_path, BYTEWAYS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["own sitecustomize", "fast by /plan", "torch"]
    [file] = (tmp_path / "copies").iterdir()
    assert json.loads(file.read_text()) == {
        "warnings": ["of another machine"],
        "calls": {"default": 1, "relay": 1},
    }
    assert [one.code for one in problems_of_copies(tmp_path)] == ["copies-doubt"]


def test_a_plan_that_cannot_be_used_fails_no_program(tmp_path: Path) -> None:
    """Catches a program that ends because byteways cannot."""
    done = run_hooked(tmp_path, BROKEN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["own sitecustomize", "torch"]
    assert [one.code for one in problems_of_copies(tmp_path)] == ["copies-failed", "copies-unused"]


@pytest.mark.parametrize("script", ["pass", "import json", "import torch_of_nobody"])
def test_a_program_without_torch_is_left_alone(tmp_path: Path, script: str) -> None:
    """Catches a hook that imports PyTorch, or breaks other imports."""
    done = run_hooked(tmp_path, BYTEWAYS, script)
    assert done.stdout.splitlines() == ["own sitecustomize"]
    assert ("ModuleNotFoundError" in done.stderr) == ("nobody" in script)
    assert [one.code for one in problems_of_copies(tmp_path)] == ["copies-unused"]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Catches a full disk that ends the watch."""
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "h-1.json").write_text("{")
    assert [one.code for one in problems_of_copies(tmp_path)] == ["damaged-snapshot", "copies-unused"]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ({"default": 80, "relay": 0}, [Problem("copies-kept", "80")]),
        ({"default": 80, "relay": 1}, []),
        ({"default": 0}, [Problem("copies-unused")]),
    ],
)
def test_copies_of_the_drivers_call(tmp_path: Path, calls: dict[str, int], expected: list[Problem]) -> None:
    """Catches a plan that keeps the driver's call, taken for a program without copies."""
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "h-1.json").write_text(json.dumps({"calls": calls}))
    assert problems_of_copies(tmp_path) == expected


def test_a_watch_says_that_no_copy_was_changed(tmp_path: Path) -> None:
    """Catches a change without effect that looks like one, and a hook that is not installed."""
    (tmp_path / "plan").write_text("")
    [_, change] = changes_of([], ["copies"], tmp_path / "plan")
    assert (change.name, change.plan, change.memory) == ("copies", tmp_path / "plan", "")
    assert (HOOK / "sitecustomize.py").is_file()
    words = ("--try", "copies", "--plan", tmp_path / "plan", "--repeat", "1", "--", sys.executable, "-c")
    script = f"import os; print(os.environ.get({COPIES_VARIABLE!r}, 'none'))"
    process = watching("-o", tmp_path / "W", *words, script)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0 and out.splitlines() == ["none", str(tmp_path / "plan")], err
    found = read_watch_folder(tmp_path / "W" / "1-copies")
    assert "copies-unused" in [problem.code for problem in found.problems]
    assert "copies" in str(found.manifest.options["collectors"])
