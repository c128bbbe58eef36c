"""The collector of HIP over a fake rocprofiler-sdk: records of every version, whichever comes first."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from byteways.ext.watch.bins import Bin
from byteways.ext.watch.folder import WatchFolder
from byteways.ext.watch.launching import watch_launch
from tests.watch.programs import HERE, codes, collectors, compiled, watched

#: 10000 * major + 100 * minor of the versions whose records differ.
VERSIONS = ("400", "500", "600", "10000")


def run(
    folder: Path, *words: str, version: str = "10000", **variables: str
) -> tuple[subprocess.CompletedProcess[str], WatchFolder]:
    """The program of hip_program.c with a fake rocprofiler-sdk, watched."""
    named = "-Wl,-soname,librocprofiler-sdk.so.1"
    fake = compiled(
        "librocprofiler-sdk.so.1", [HERE / "fake_rocprofiler.c"], "-shared", "-fPIC", "-std=gnu11", named
    )
    path = f"-Wl,-rpath,{fake.parent}"
    program = compiled("hip_program", [HERE / "hip_program.c", fake], path)
    settings = {"FAKE_ROCPROFILER": version, "LD_LIBRARY_PATH": str(_linked(folder, fake)), **variables}
    return watched(folder / "W", program, *words, variables=settings)


def _linked(folder: Path, fake: Path) -> Path:
    """A folder in which the library has its name."""
    place = folder / "lib"
    place.mkdir(parents=True)
    (place / "librocprofiler-sdk.so.1").symlink_to(fake)
    return place


def only(found: WatchFolder, **fields: Any) -> Bin:
    [one] = [
        one
        for one in found.watched.bins
        if all(getattr(one, name) == value for name, value in fields.items())
    ]
    return one


def to(found: WatchFolder, gpu: str) -> Bin:
    [one] = [
        one for one in found.watched.bins if one.method == "hipMemcpyAsync" and one.destination.device == gpu
    ]
    return one


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_every_version(tmp_path: Path, version: str) -> None:
    """Catches a field that is read at a wrong place, and a copy without the name of its call."""
    count = 1000
    done, found = run(tmp_path, "work", str(count), version=version)
    assert done.returncode == 0 and codes(found) == []
    assert found.watched.processes[0].collectors == ["hip"]
    first, second = to(found, "gpu1"), to(found, "gpu0")
    assert (first.count, first.bytes, first.time_ns, first.call_ns) == (
        *(count, count * 4096, count * 500, count * 200),
    )
    assert (second.count, second.bytes, second.time_ns, second.call_ns) == (
        *(count, count * 8192, count * 700, count * 900),
    )
    assert first.source.device == second.source.device == "cpu1"
    unnamed = only(found, method="HSA copy")
    assert (unnamed.source.device, unnamed.destination.device, unnamed.time_ns) == ("gpu0", "gpu1", 900)
    wait = only(found, what="synchronisation")
    assert (wait.method, wait.call_ns, wait.waiting_ns) == ("hipDeviceSynchronize", 2000, 2000)


@pytest.mark.parametrize("version", VERSIONS)
def test_host_memory_is_named_where_the_records_show_it(tmp_path: Path, version: str) -> None:
    """Catches a guess where a version has no addresses, and memory of the runtime as the program's."""
    _, found = run(tmp_path, "work", "10", version=version)
    pinned, other = to(found, "gpu1").source.memory, to(found, "gpu0").source.memory
    allocations = [one for one in found.watched.bins if one.what == "allocation"]
    if version in ("400", "500"):
        assert (pinned, other) == (None, None)
    else:
        assert (pinned, other) == ("pinned", "pageable")
    if version == "400":
        assert allocations == []
        return
    [made] = allocations
    assert (made.method, made.bytes, made.destination.memory) == ("hipHostMalloc", 1 << 16, "pinned")
    gone = only(found, what="release")
    assert (gone.method, gone.bytes, gone.destination.memory) == ("hipHostFree", 1 << 16, "pinned")


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_without_a_record_of_a_copy(tmp_path: Path, version: str) -> None:
    """Catches copies by kernels of the runtime that leave no trace, and those whose record comes late."""
    _, found = run(tmp_path, "work", "500", "blits", "20000", "work", "500", version=version)
    unsized = only(found, what="copy", sized=False)
    assert (unsized.method, unsized.count, unsized.bytes) == ("hipMemcpyAsync", 20_000, 0)
    assert (unsized.time_ns, unsized.call_ns) == (20_000 * 40, 20_000 * 40)
    assert sum(one.count for one in found.watched.bins if one.what == "copy") == 2 * (2 * 500 + 1) + 20_000


def test_registered_memory_may_be_anywhere(tmp_path: Path) -> None:
    """Catches registered memory that counts as pageable."""
    _, found = run(tmp_path, "register", "1", "work", "10")
    assert to(found, "gpu1").source.memory == "pinned" and to(found, "gpu0").source.memory is None


def test_a_killed_program(tmp_path: Path) -> None:
    """Catches records that only the program's end brings."""
    words = ("work", "10", "sleep", "1500", "kill", str(int(signal.SIGKILL)))
    done, found = run(tmp_path, *words)
    assert done.returncode == 128 + signal.SIGKILL
    assert to(found, "gpu1").count == 10 and codes(found) == ["not-ended"]


def test_dropped_records_are_said(tmp_path: Path) -> None:
    """Catches records that are lost without a word."""
    _, found = run(tmp_path, "drop", "3", "work", "1")
    assert found.watched.processes[0].lost == 3
    assert codes(found) == ["lost", "rocprofiler-dropped"]


def test_a_library_that_refuses(tmp_path: Path) -> None:
    """Catches a process that looks as if it had copied nothing."""
    done, found = run(tmp_path, "work", "1", FAKE_ROCPROFILER_REFUSES="1")
    assert done.returncode == 0 and codes(found) == ["rocprofiler-unusable"]


def test_tools_of_the_user_stay(tmp_path: Path) -> None:
    """Catches a tool that is replaced, and ours that is named twice."""
    environment = {"ROCP_TOOL_LIBRARIES": "/opt/tool.so, /opt/other.so"}
    folder = collectors()[0].parent
    launch = watch_launch(Path("/bin/true"), tmp_path, folder, 1, environment)
    tools = launch.environment["ROCP_TOOL_LIBRARIES"].split(":")
    assert tools == ["/opt/tool.so", "/opt/other.so", str(folder / "byteways_watch.so")]
    again = watch_launch(Path("/bin/true"), tmp_path, folder, 1, launch.environment)
    assert again.environment["ROCP_TOOL_LIBRARIES"].split(":") == tools
