"""Large allocations in other memory: registered with a driver of tests, zero, aligned, and freed once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from byteways.run.shared.simulator import native_folder
from byteways.watch.folder import read_snapshots
from tests.watch.programs import compiled

HERE = Path(__file__).parent
LIBRARY = "byteways_watch_memory.so"
#: Bytes from which on allocations are changed; the C++ library takes 72 KiB when it starts.
THRESHOLD = 100_000


def allocated(kind: str, folder: Path | None = None, source: str = "allocating.c") -> dict[str, list[int]]:
    """Runs a program; returns what the driver counted at each point."""
    driver = compiled("libcuda.so.1", [HERE / "fake_cuda.c"], "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    compiler = "g++" if source.endswith(".cpp") else "gcc"
    program = compiled("allocating", [HERE / source], compiler=compiler)
    variables = {"BYTEWAYS_WATCH_MEMORY": kind, "BYTEWAYS_WATCH_THRESHOLD": str(THRESHOLD)}
    if folder is not None:
        (folder / "processes").mkdir(parents=True)
        variables["BYTEWAYS_WATCH"] = str(folder)
    environment = {**os.environ, **variables, "LD_PRELOAD": str(native_folder() / LIBRARY)}
    done = subprocess.run(
        [program, driver], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = (line.split() for line in done.stdout.splitlines())
    return {when: [*map(int, numbers)] for when, *numbers in lines}


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        # registered, unregistered, pinned now, managed now: an early one and each of the three later ones.
        ("registered", {"loaded": [0, 0, 0, 0], "active": [2, 0, 0, 0], "allocated": [4, 1, 0, 0]}),
        # Pages of an alignment that no driver promises are registered, or stay as they are.
        ("pinned", {"loaded": [0, 0, 0, 0], "active": [1, 0, 1, 0], "allocated": [2, 1, 2, 0]}),
        ("managed", {"loaded": [0, 0, 0, 0], "active": [0, 0, 0, 1], "allocated": [0, 0, 0, 2]}),
        ("hugepage", {"loaded": [0, 0, 0, 0], "active": [0, 0, 0, 0], "allocated": [0, 0, 0, 0]}),
        ("other", {"loaded": [0, 0, 0, 0], "active": [0, 0, 0, 0], "allocated": [0, 0, 0, 0]}),
    ],
)
def test_large_allocations_are_of_the_kind(kind: str, counts: dict[str, list[int]]) -> None:
    """Catches memory that is not registered, is freed twice or never, and a child that frees its parent's."""
    found = allocated(kind)
    assert {when: found[when] for when in counts} == counts
    assert found["freed"] == [0, 0, 0]


def test_allocations_are_counted(tmp_path: Path) -> None:
    """Catches a trial that changed nothing and is taken for one that gained nothing."""
    allocated("registered", tmp_path)
    watched, problems = read_snapshots(sorted((tmp_path / "processes").glob("*.json")))
    bins = [one for one in watched.bins if one.what == "allocation"]
    assert not problems
    assert sum(one.count for one in bins if one.method == "posix_memalign") == 1
    assert {one.destination.memory for one in bins} == {"pageable", "pinned"}
    assert sum(one.count for one in bins if one.destination.memory == "pageable") == 1  # before the driver


def test_allocations_of_cpp(tmp_path: Path) -> None:
    """Catches vectors that stay pageable, and `new` that ends otherwise where there is no memory."""
    found = allocated("registered", tmp_path, "allocating_new.cpp")
    assert found == {"allocated": [4, 0, 0, 0], "freed": [0, 0, 0]}
    watched, _ = read_snapshots(sorted((tmp_path / "processes").glob("*.json")))
    found_bins = [one for one in watched.bins if one.what == "allocation"]
    assert {one.method for one in found_bins} == {"operator new", "operator new[]"}
    assert sum(one.count for one in found_bins) == 4
    assert all(one.site and one.site.startswith("allocating") for one in found_bins)
