"""`byteways watch --memcpy`: large copies of the C library, by any thread; small ones pass."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.watch.programs import HERE, codes, compiled, watched

LARGE = 1 << 20


def copies() -> Path:
    return compiled("copies", [HERE / "copies.c"], "-fno-builtin")


def test_large_copies_are_counted(tmp_path: Path) -> None:
    """Catches copies that are wrong, lost, counted below the threshold, or given to another module."""
    done, found = watched(tmp_path / "W", copies(), settings=["--memcpy", "64KiB"])
    assert (done.returncode, done.stdout, codes(found)) == (0, "done\n", [])
    assert found.manifest.options["memcpy_bytes"] == 64 << 10
    own = [one for one in found.watched.bins if one.site == copies().name]
    assert {(one.method, one.size_to): one.count for one in own} == {
        ("memcpy", LARGE): 5 + 3,
        ("memmove", LARGE): 2,
        ("memcpy", LARGE // 2): 400,
    }
    assert all(one.what == "copy" and one.bytes == one.count * one.size_to and one.time_ns for one in own)
    assert {one.source.memory for one in own} == {"pageable"}
    assert found.watched.processes[0].collectors == ["memcpy"]


def test_copies_of_a_child(tmp_path: Path) -> None:
    """Catches a child that leaves by _exit with its copies."""
    _, found = watched(tmp_path / "W", copies(), "child", settings=["--memcpy", "1MiB"])
    assert [(one.count, one.bytes) for one in found.watched.bins] == [(1, LARGE)]


def test_a_checked_copy_that_overflows_ends_the_program(tmp_path: Path) -> None:
    """Catches a check of the C library that is lost with the layer."""
    done, found = watched(tmp_path / "W", copies(), "overflow", settings=["--memcpy", "64KiB"])
    assert done.returncode == 128 + signal.SIGABRT and found.manifest.signal == signal.SIGABRT


def test_without_the_option_nothing_is_counted(tmp_path: Path) -> None:
    """Catches a threshold that is left from elsewhere."""
    variables = {"BYTEWAYS_WATCH_MEMCPY": "1"}
    _, found = watched(tmp_path / "W", copies(), variables=variables)
    assert codes(found) == ["no-snapshots"]


def test_python_runs_with_it(tmp_path: Path) -> None:
    """Catches a library that breaks large programs, or counts its own snapshots."""
    code = (
        "import json; b = bytes(range(256)) * 4096; print(sum(len(bytes(bytearray(b))) for _ in range(50)))"
    )
    done, found = watched(tmp_path / "W", sys.executable, "-c", code, settings=["--memcpy", "256KiB"])
    assert (done.returncode, done.stdout) == (0, f"{50 * LARGE}\n")
    assert sum(one.bytes for one in found.watched.bins) >= 50 * LARGE
    assert not [one for one in found.watched.bins if "byteways_watch" in (one.site or "")]
