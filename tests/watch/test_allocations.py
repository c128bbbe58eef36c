"""Large allocations in other memory: registered with a driver of tests, zero, aligned, and freed once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from byteways.ext.watch.folder import read_snapshots
from byteways.measuring.shared.simulator import native_folder
from tests.watch.programs import PATIENCE_S, compiled

HERE = Path(__file__).parent
LIBRARY = "byteways_watch_memory.so"
#: Bytes from which on allocations are changed; the C++ library takes 72 KiB when it starts.
THRESHOLD = 100_000


def ran(source: str, kind: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program with the fake driver; what it allocates is of the kind."""
    driver = compiled("libcuda.so.1", [HERE / "fake_cuda.c"], "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    compiler = "g++" if source.endswith(".cpp") else "gcc"
    program = compiled(source.partition(".")[0], [HERE / source, HERE / "driver.h"], compiler=compiler)
    (folder / "processes").mkdir(parents=True)
    variables = {
        "BYTEWAYS_WATCH_MEMORY": kind,
        "BYTEWAYS_WATCH_THRESHOLD": str(THRESHOLD),
        "BYTEWAYS_WATCH": str(folder),
        "LD_PRELOAD": str(native_folder() / LIBRARY),
    }
    done = subprocess.run(
        [program, driver],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done


def allocated(kind: str, folder: Path, source: str = "allocating.c") -> dict[str, list[int]]:
    """Runs a program; returns what the driver counted at each point."""
    lines = (line.split() for line in ran(source, kind, folder).stdout.splitlines())
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
def test_large_allocations_are_of_the_kind(kind: str, counts: dict[str, list[int]], tmp_path: Path) -> None:
    """Catches memory that is not registered, is freed twice or never, and a child that frees its parent's."""
    found = allocated(kind, tmp_path)
    assert {when: found[when] for when in counts} == counts
    assert found["freed"] == [0, 0, 0]


def test_allocations_are_counted(tmp_path: Path) -> None:
    """Catches a trial that changed nothing and is taken for one that gained nothing."""
    allocated("registered", tmp_path)
    watched, problems = read_snapshots(sorted((tmp_path / "processes").glob("*.json")))
    # Probes for the driver apart.
    bins = [one for one in watched.bins if one.what == "allocation" and one.method != "valloc"]
    assert not problems
    assert sum(one.count for one in bins if one.method == "posix_memalign") == 1
    assert {one.destination.memory for one in bins} == {"pageable", "pinned"}
    assert sum(one.count for one in bins if one.destination.memory == "pageable") == 1  # before the driver


def test_allocations_of_cpp(tmp_path: Path) -> None:
    """Catches vectors that stay pageable, and `new` that ends otherwise where there is no memory."""
    found = allocated("registered", tmp_path, "allocating_new.cpp")
    assert found == {"allocated": [4, 0, 0, 0], "freed": [0, 0, 0]}
    watched, _ = read_snapshots(sorted((tmp_path / "processes").glob("*.json")))
    found_bins = [one for one in watched.bins if one.what == "allocation" and one.method != "valloc"]
    assert {one.method for one in found_bins} == {"operator new", "operator new[]"}
    assert sum(one.count for one in found_bins) == 4
    assert all(one.site and one.site.startswith("allocating") for one in found_bins)


@pytest.mark.parametrize("kind", ["registered", "pinned"])
def test_memory_that_another_thread_registers(kind: str, tmp_path: Path) -> None:
    """Catches a free() that waits for a call of the driver, and a child that waits for a thread it lacks."""
    ran("registering.c", kind, tmp_path)


@pytest.mark.parametrize("kind", ["registered", "pinned", "managed"])
def test_a_captured_graph_stays_valid(kind: str, tmp_path: Path) -> None:
    """Catches a driver's call in the mode of a thread whose stream is captured, and a mode that stays."""
    ran("capturing.c", kind, tmp_path)


def test_pages_around_aligned_allocations_are_given_back(tmp_path: Path) -> None:
    """Catches slack that stays mapped: the program would run out of addresses, or of its limit of them."""
    ran("aligned.c", "registered", tmp_path)
