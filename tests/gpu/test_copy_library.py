"""libbyteways_copy.so on a real GPU: each method moves the right bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]


def test_each_method_moves_the_right_bytes() -> None:
    """Catches kernels that the driver does not compile, lists that it does not read, and lost pieces."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.gpu.copy_round_trip"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"batch", "kernel", "kernel with 32 blocks", "captured"} <= found.keys()
    for name, one in found.items():
        if name == "bulk" and one["warning"]:
            continue  # before sm_90
        calls = 1 if name == "between GPUs" else 2
        assert (set(one["codes"]), one["right"], one["calls"]) == ({0}, True, calls), (name, one)
        assert not one.get("warning"), (name, one)
