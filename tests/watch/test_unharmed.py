"""What collectors may not do to a program: hold up its threads, forks and ends, or change what calls give.

Each program is right alone (`test_alone`), and the same with a collector inside.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from byteways.ext.watch.folder import WatchFolder
from tests.watch.programs import HERE, PATIENCE_S, codes, collectors, compiled, watched

SETTINGS = ["--memcpy", "64KiB"]
LARGE = 1 << 20


def program() -> Path:
    return compiled("unharmed", [HERE / "unharmed.c"], "-fno-builtin", "-Wall")


def constructor() -> Path:
    """A library whose constructor waits for a thread that copies."""
    return compiled("constructor.so", [HERE / "constructor.c"], "-fno-builtin", "-shared", "-fPIC")


def obstructed(**variables: str) -> dict[str, str]:
    """Variables of a program for which the system does not do what the collectors need."""
    library = compiled("obstructed.so", [HERE / "obstructed.c"], "-shared", "-fPIC")
    return {"LD_PRELOAD": str(library), **variables}


def may_separate() -> bool:
    """Whether this user may make user namespaces."""
    code = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000) != 0)"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def copies(found: WatchFolder) -> int:
    """Copies of 1 MiB of all processes."""
    return sum(one.count for one in found.watched.bins if one.size_to == LARGE)


#: What the program does, and the copies that it makes; None: as many as it comes to.
WAYS = {
    "copy": 1,
    "load": 3,
    "forks": 1,
    "leave": 1,
    "handler": None,
    "cancel": 1,
    "separate": 3,
    "descriptors": 402,
    "executions": 2,
    "children": 4,
}


def words_of(way: str) -> list[str]:
    if way == "separate" and not may_separate():
        pytest.skip("user namespaces are not allowed")
    return [str(program()), way, *([str(constructor())] if way == "load" else [])]


@pytest.mark.parametrize("way", WAYS)
def test_alone(way: str) -> None:
    """Catches a test that is wrong of itself."""
    done = subprocess.run(words_of(way), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")


@pytest.mark.parametrize("way", WAYS)
def test_as_alone(tmp_path: Path, way: str) -> None:
    """Catches a hook that waits for the loader, an errno, dlerror text or descriptor that is another, a
    thread that the system counts, and copies that an end of the process loses.
    """
    done, found = watched(tmp_path / "W", *words_of(way), settings=SETTINGS)
    assert (done.returncode, done.stdout) == (7, ""), done.stderr
    assert WAYS[way] in (None, copies(found))
    assert codes(found) == [] and all(process.ended for process in found.watched.processes)


@pytest.mark.parametrize("way", ["copy", "leave"])
def test_where_no_thread_can_be_started(tmp_path: Path, way: str) -> None:
    """Catches counts that only the thread can write, and an end that waits for it."""
    done, found = watched(
        tmp_path / "W", *words_of(way), settings=SETTINGS, variables=obstructed(NO_THREADS="1")
    )
    assert done.returncode == 7 and copies(found) == 1
    assert codes(found) == ["no-thread"]


def test_a_fork_does_not_wait_for_a_disk(tmp_path: Path) -> None:
    """Catches fork() waiting for what is held while a snapshot is written: the disk goes on behind it."""
    variables = obstructed(SLOW_DISK=str(tmp_path / "disk"))
    done, found = watched(tmp_path / "W", *words_of("forks"), settings=SETTINGS, variables=variables)
    assert (done.returncode, done.stdout) == (7, ""), done.stderr
    assert (tmp_path / "disk.reached").exists() and copies(found) == 1


@pytest.mark.parametrize("way", ["copy", "leave", "executions"])
def test_an_end_does_not_wait_for_a_disk_that_hangs(tmp_path: Path, way: str) -> None:
    """Catches a process that never ends, or is never replaced, because its snapshot is never written."""
    variables = obstructed(SLOW_DISK=str(tmp_path / "disk"))
    done, _ = watched(tmp_path / "W", *words_of(way), settings=SETTINGS, variables=variables)
    assert (done.returncode, done.stdout) == (7, ""), done.stderr
    assert (tmp_path / "disk.reached").exists()


def test_what_a_hook_may_call() -> None:
    """Catches a call that waits for a lock which the program may hold: of the loader, the heap or a mutex.

    dlsym() and dlerror() are of the library's constructor.
    """
    forbidden = {"malloc", "calloc", "realloc", "free", "dladdr", "dlopen", "dlclose", "dl_iterate_phdr"}
    forbidden |= {"pthread_mutex_lock", "pthread_once", "sem_wait", "sem_timedwait", "fopen", "snprintf"}
    [library] = [one for one in collectors() if one.name == "byteways_watch_memcpy.so"]
    done = subprocess.run(
        ["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True
    )
    called = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    assert "open" in called and not called & forbidden
