"""The time of copies beside kernels, in C++: that of all pairs, in whatever order records come."""

from __future__ import annotations

import subprocess

import pytest

from tests.cache import headers
from tests.watch.programs import HERE, compiled

NATIVE = HERE.parents[1] / "native"
PARTS = ("histogram", "names", "clock", "output", "gpu/overlap")


@pytest.mark.parametrize("check", ["in_order", "shuffled", "touching", "other_devices"])
def test_overlap(check: str) -> None:
    """Catches kernels that count twice, that come too late or too early, and those of other devices."""
    sources = [HERE / "check_overlap.cpp", *(NATIVE / f"watch/{name}.cpp" for name in PARTS)]
    options = ["-std=c++20", "-O2", "-Wall", "-Wextra", f"-I{NATIVE}"]
    options.append(f"-DHEADERS={headers(NATIVE / 'watch')}")
    program = compiled("check_overlap", sources, *options, compiler="g++")
    done = subprocess.run([program, check], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("GOOD\n", 0)
