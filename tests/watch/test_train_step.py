"""examples/watch/train_step.py: each of its programs gives the same result on every run, watched or not."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.watch.programs import watched

SCRIPT = Path(__file__).parents[2] / "examples" / "watch" / "train_step.py"
SMALL = ("--steps", "2", "--layers", "2", "--width", "64", "--batch", "8")


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("program", ["train", "infer", "swap", "load"])
def test_a_watched_step_is_the_same(program: str, tmp_path: Path) -> None:
    """Catches a program that does not run without a GPU, and a result that a watch changes."""
    command = [sys.executable, str(SCRIPT), program, *SMALL]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    done, _ = watched(tmp_path / "W", *command)
    assert (done.returncode, done.stdout) == (0, plain), done.stderr
    assert plain.startswith(f"{program} on ")
