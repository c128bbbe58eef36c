"""The CUDA collector over a fake CUPTI: records of every version, whole and in part."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from byteways.ext.watch.bins import Bin
from byteways.ext.watch.cupti import cupti_files
from byteways.ext.watch.folder import WatchFolder
from byteways.ext.watch.launching import watch_launch
from tests.watch.programs import HERE, codes, collectors, compiled, watched

#: Of a call of the fake CUPTI, in ns (FAKE_CALL_NS).
CALL_NS = 2000
#: CUPTI_API_VERSION of 12.4, 12.9, 13.0 and 13.5.
VERSIONS = (22, 28, 130001, 130500)


def run(folder: Path, *words: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], WatchFolder]:
    """The program of cuda_program.c with a fake CUPTI, watched."""
    fake = compiled("libcupti_fake.so", [HERE / "fake_cupti.c"], "-shared", "-fPIC")
    # CUPTI of the environment (conda's folder) is found before that of a machine.
    place = folder / "environment" / "lib"
    place.mkdir(parents=True)
    (place / "libcupti.so.13").symlink_to(fake)
    program = compiled("cuda_program", [HERE / "cuda_program.c"])
    settings = {"CONDA_PREFIX": str(place.parent), "FAKE_CUPTI": str(fake), **variables}
    return watched(folder / "W", program, *words, variables=settings)


def only(found: WatchFolder, **fields: Any) -> Bin:
    [one] = [
        one
        for one in found.watched.bins
        if all(getattr(one, name) == value for name, value in fields.items())
    ]
    return one


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_every_version(tmp_path: Path, version: int) -> None:
    """Catches a field that is read at a wrong place, and a record that is skipped, over several buffers."""
    count = 20_000
    done, found = run(tmp_path, "copies", str(count), FAKE_CUPTI_VERSION=str(version))
    assert done.returncode == 0 and codes(found) == []
    assert found.watched.processes[0].collectors == ["cuda"]
    pageable = only(found, method="cuMemcpyHtoD")
    assert (pageable.what, pageable.count, pageable.bytes, pageable.time_ns) == (
        *("copy", count, count * 4096, count * 500),
    )
    assert (pageable.source.memory, pageable.source.device) == ("pageable", None)
    assert (pageable.destination.memory, pageable.destination.device) == ("device", "gpu1")
    pinned = only(found, method="cuMemcpyDtoHAsync")
    assert (pinned.count, pinned.size_to, pinned.time_ns) == (count, 1 << 20, count * 700)
    assert (pinned.source.device, pinned.destination.memory) == ("gpu0", "pinned")
    peer = only(found, method="cuMemcpyPeerAsync")
    assert (peer.source.device, peer.destination.device, peer.bytes) == ("gpu0", "gpu1", 1 << 16)
    assert only(found, what="set").destination.device == "gpu1"
    migration = only(found, what="migration")
    assert (migration.bytes, migration.destination.device, migration.source.device) == (65536, "gpu1", None)
    assert (only(found, what="fault").count, only(found, what="fault").bytes) == (3, 0)
    assert only(found, what="allocation").destination.memory == "device"
    assert only(found, what="release").destination.memory == "pinned"
    wait = only(found, method="cuStreamSynchronize")
    assert (wait.time_ns, wait.call_ns, wait.waiting_ns) == (2000, 2000, 2000)
    assert only(found, method="cuStreamWaitEvent").waiting_ns is None
    assert found.watched.timeline and {one.what for one in found.watched.timeline.series} >= {"copy", "set"}


def test_members_of_a_batched_copy(tmp_path: Path) -> None:
    """Catches a batch that counts as one large copy."""
    _, found = run(tmp_path, "copies", "2", FAKE_CUPTI_VERSION="28", FAKE_CUPTI_BATCH="8")
    batch = only(found, method="cuMemcpyHtoD")
    assert (batch.count, batch.bytes, batch.size_to) == (16, 2 * 4096, 512)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kernels_first", [False, True])
def test_copies_beside_kernels(tmp_path: Path, version: int, kernels_first: bool) -> None:
    """Catches kernels of another GPU, two at once that count twice, and those whose records come later."""
    words = ["copies", "3000"]
    words = ["kernels", "3000", *words] if kernels_first else [*words, "kernels", "3000"]
    _, found = run(tmp_path, *words, FAKE_CUPTI_VERSION=str(version))
    assert only(found, method="cuMemcpyHtoD").overlap_ns == 3000 * 200
    assert only(found, method="cuMemcpyDtoHAsync").overlap_ns == 0
    assert only(found, what="set").overlap_ns is None


def test_without_records_of_kernels(tmp_path: Path) -> None:
    """Catches an overlap of 0 that nobody has observed."""
    _, found = run(tmp_path, "copies", "3", FAKE_CUPTI_VERSION="28", FAKE_CUPTI_NO_KERNELS="1")
    assert {one.overlap_ns for one in found.watched.bins} == {None}


@pytest.mark.parametrize("words", ["moves", "moves-of-driver"])
def test_the_module_that_called(tmp_path: Path, words: str) -> None:
    """Catches CUDA's own libraries as callers, one caller for all, and a call whose number is another's."""
    count = 20_000
    runtime = compiled("libcudart.so.13", [HERE / "fake_cudart.c"], "-shared", "-fPIC")
    named = tmp_path / "libcudart.so.13"
    named.symlink_to(runtime)
    mover = compiled("libmover.so", [HERE / "mover.c"], "-shared", "-fPIC")
    library = tmp_path / "libmover.so"
    library.symlink_to(mover)
    variables = {"FAKE_CUDART": str(named), "FAKE_MOVER": str(library)}
    done, found = run(tmp_path, words, str(count), FAKE_CUPTI_VERSION="28", **variables)
    assert done.stdout == f"{2 * count}\n"
    own, other = only(found, size_to=4096), only(found, size_to=8192)
    assert (own.count, other.count) == (count, count)
    assert own.site and own.site.startswith("cuda_program") and other.site == mover.name
    # Of each call, and of none twice: as long as the fake one takes, and not by an order of magnitude longer.
    assert all(1 <= (one.call_ns or 0) / (count * CALL_NS) < 10 for one in (own, other))


def test_memory_is_bounded_and_what_is_dropped_is_said(tmp_path: Path) -> None:
    """Catches buffers without bound, and records that are lost without a word."""
    words = ("hold", "100", "copies", "5", "give-back", "2", "copies", "20")
    done, found = run(tmp_path, *words, FAKE_CUPTI_VERSION="28")
    assert done.stdout.split() == ["32", "30"]
    assert only(found, method="cuMemcpyHtoD").count == 20
    assert found.watched.processes[0].lost == 2 * 5 + 8
    assert codes(found) == ["lost", "cupti-dropped"]


def test_a_killed_program(tmp_path: Path) -> None:
    """Catches records that only the program's end brings."""
    words = ("copies", "10", "sleep", "1500", "kill", str(int(signal.SIGKILL)))
    done, found = run(tmp_path, *words, FAKE_CUPTI_VERSION="28")
    assert done.returncode == 128 + signal.SIGKILL
    assert only(found, method="cuMemcpyHtoD").count == 10 and codes(found) == ["not-ended"]


def test_visible_devices_are_named_as_the_machine_has_them(tmp_path: Path) -> None:
    """Catches a process's own numbers in place of the machine's, and a guess where there are no numbers."""
    _, found = run(tmp_path / "a", "copies", "1", FAKE_CUPTI_VERSION="28", CUDA_VISIBLE_DEVICES="5,3")
    assert only(found, method="cuMemcpyHtoD").destination.device == "gpu3"
    assert only(found, method="cuMemcpyPeerAsync").source.device == "gpu5"
    _, found = run(
        tmp_path / "b", "copies", "1", FAKE_CUPTI_VERSION="28", CUDA_VISIBLE_DEVICES="GPU-8932f937"
    )
    assert only(found, method="cuMemcpyHtoD").destination.device is None


@pytest.mark.parametrize(("error", "code"), [("39", "cupti-taken"), ("1", "cupti-unusable")])
def test_another_profiler_has_cupti(tmp_path: Path, error: str, code: str) -> None:
    """Catches a process that looks as if it had copied nothing."""
    done, found = run(tmp_path, "copies", "1", FAKE_CUPTI_VERSION="28", FAKE_CUPTI_SUBSCRIBE=error)
    assert done.returncode == 0 and code in codes(found)
    assert found.watched.processes[0].failures == [code] and found.watched.bins == []


def test_an_injected_tool_of_the_user_stays(tmp_path: Path) -> None:
    """Catches a profiler of the user that is replaced."""
    environment = {"CUDA_INJECTION64_PATH": "/opt/tool.so"}
    folder = collectors()[0].parent
    launch = watch_launch(Path("/bin/true"), tmp_path, folder, 1, environment)
    assert launch.environment["CUDA_INJECTION64_PATH"] == "/opt/tool.so"
    assert [one.code for one in launch.problems] == [
        "cuda-injection-taken"
    ] and "cuda" not in launch.collectors


def test_cupti_is_searched_in_the_programs_environment_first(tmp_path: Path) -> None:
    """Catches the CUPTI of byteways in a program that has its own, and a folder whose name is split."""
    wheel = tmp_path / "venv/lib/python3.12/site-packages/nvidia/cu13/lib"
    toolkit = tmp_path / "cuda/lib64"
    extras = tmp_path / "cuda/extras/CUPTI/lib64"
    colon = tmp_path / "a:b/lib"
    for folder, name in ((wheel, "13"), (toolkit, "11"), (extras, "12"), (colon, "13")):
        folder.mkdir(parents=True)
        (folder / f"libcupti.so.{name}").write_text("")
    program = tmp_path / "venv/bin/python"
    found = cupti_files(program, [str(toolkit)], {"CONDA_PREFIX": str(colon.parent)})
    assert found == [wheel / "libcupti.so.13", extras / "libcupti.so.12"]
