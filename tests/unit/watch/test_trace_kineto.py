"""Traces of PyTorch: collectives without names, devices as the file lists them, sizes of calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from byteways.ext.watch.traces.collecting import TraceRead
from byteways.ext.watch.traces.scan import watched_of_trace


def event(category: str, name: str, begin: int = 1000, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "ts": begin, "dur": 8000, "args": args}


def read(folder: Path, *events: dict[str, Any], devices: int | None = None) -> TraceRead:
    listed = {} if devices is None else {"deviceProperties": [{"id": number} for number in range(devices)]}
    about = {"backend": "nccl", "rank": 0, "world_size": 8}
    document = {"schemaVersion": 1, **listed, "distributedInfo": about, "traceEvents": list(events)}
    (folder / "trace.json").write_text(json.dumps(document))
    return watched_of_trace(folder / "trace.json")


GENERIC = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"


def test_kernels_that_name_no_collective_are_counted(tmp_path: Path) -> None:
    """Would catch a third of a program's collectives that vanish, as RCCL has one kernel for all of them."""
    events = [event("kernel", GENERIC, 1000 + 20_000 * number, device=0) for number in range(5)]
    named = event("kernel", GENERIC, 10, device=0, **{"Collective name": "allreduce", "dtype": "Float"})
    found = read(tmp_path, *events, named)
    bins = {one.method: one for one in found.watched.bins}
    unnamed = bins.pop("ncclDevKernel_Generic")
    assert (unnamed.what, unnamed.count, unnamed.time_ns, unnamed.sized) == (
        "collective",
        5,
        40_000_000,
        False,
    )
    assert [(one.method, one.count) for one in bins.values()] == [("ncclAllReduce", 1)]
    assert found.unread == 0


def test_calls_of_unknown_collectives_are_named(tmp_path: Path) -> None:
    """Would catch a collective of a newer PyTorch that is left out without a word."""
    call = event("cpu_op", "record_param_comms", 1, **{"Collective name": "teleport", "dtype": "Float"})
    waits = event("cpu_op", "record_param_comms", 2, **{"Collective name": "wait"})
    found = read(tmp_path, call, waits)
    assert found.unread == 1 and "teleport" in found.mistakes[0].what and found.watched.bins == []


def copy(device: int, correlation: Any = 7, **more: Any) -> list[dict[str, Any]]:
    """A copy of ROCm's profiler: its size may be in the call alone."""
    call = event("cuda_runtime", "hipMemcpyAsync", correlation=correlation, **more)
    name = "Memcpy HtoD (Pinned -> Device)"
    return [call, event("gpu_memcpy", name, device=device, correlation=correlation)]


@pytest.mark.parametrize(
    ("numbers", "listed", "named"),
    [
        ((9,), 1, ["gpu0"]),  # two CPUs and more before it
        ((2, 3), 2, ["gpu0", "gpu1"]),
        ((0, 1), 2, ["gpu0", "gpu1"]),
        ((2,), 8, [None]),
        ((2,), None, ["gpu2"]),
    ],
)
def test_devices_are_those_that_the_file_lists(
    tmp_path: Path, numbers: tuple[int, ...], listed: int | None, named: list[str | None]
) -> None:
    """Would catch gpu9 of a machine with one GPU, and a guess where the numbers leave it open."""
    events = [one for number in numbers for one in copy(number, number)]
    found = read(tmp_path, *events, devices=listed).watched.bins
    assert [one.destination.device for one in found] == named


def test_devices_of_other_profilers_stay(tmp_path: Path) -> None:
    """Would catch a GPU of a trace of CUDA that becomes unknown, since a process may use one of eight."""
    calls = [event("cuda_runtime", "cudaMemcpyAsync", correlation=7)]
    (found,) = read(tmp_path, *calls, copy(2)[1], devices=8).watched.bins
    assert found.destination.device == "gpu2"


def test_sizes_of_calls(tmp_path: Path) -> None:
    """Would catch copies that count without bytes though their call says how many."""
    (found,) = read(tmp_path, *copy(0, size=4096), devices=1).watched.bins
    assert (found.bytes, found.sized, found.method) == (4096, True, "hipMemcpyAsync")


@pytest.mark.parametrize("odd", [[1], {}, None, "7", 1.5, True])
def test_odd_correlations(tmp_path: Path, odd: Any) -> None:
    """Would catch a traceback for a correlation that cannot be a key."""
    (found,) = read(tmp_path, *copy(0, odd, size=4096), devices=1).watched.bins
    assert found.count == 1
