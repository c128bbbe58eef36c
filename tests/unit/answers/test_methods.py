"""How methods are named: as a programmer writes them, by the vendor's runtime."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from byteways.answers.best.methods import method
from byteways.answers.results.index import Index
from byteways.machine.model import Topology
from byteways.record.run_folder import RunFolder
from tests.report import sample_run
from tests.report.run_builder import GIB, Builder

WRITE = [("gpu0:device", "gpu1:device", "gpu0")]
READ = [("gpu0:device", "gpu1:device", "gpu1")]
HOST = [("cpu0:pinned", "gpu0:device", "gpu0")]


def of_architecture(topology: Topology, name: str) -> Topology:
    devices = tuple(
        dataclasses.replace(one, architecture=name) if one.kind == "gpu" else one for one in topology.devices
    )
    return dataclasses.replace(topology, devices=devices)


def named(build: Builder, folder: Path, architecture: str = "sm_90") -> str:
    index = Index.of(RunFolder(build.write(folder)))
    return method(index.cells, of_architecture(index.topology, architecture))


@pytest.mark.parametrize(
    ("interface", "flow", "more", "architecture", "name"),
    [
        ("copy", WRITE, {}, "sm_90", "cudaMemcpyAsync in a stream of gpu0 (copy, issued by the source)"),
        ("copy", READ, {}, "gfx942", "hipMemcpyAsync in a stream of gpu1 (copy, issued by the destination)"),
        ("copy", HOST, {}, "sm_90", "cudaMemcpyAsync in a stream of gpu0 (copy, pinned memory)"),
        (
            "copy",
            WRITE,
            {"options": {"submit": "batch"}},
            "gfx942",
            "hipMemcpyBatchAsync in a stream of gpu0 (copy, issued by the source)",
        ),
        (
            "copy",
            HOST,
            {"options": {"submit": "graph"}},
            "sm_90",
            "cudaMemcpyAsync in a stream of gpu0, recorded in a graph (copy, pinned memory)",
        ),
        (
            "kernel",
            READ,
            {"launch": {"blocks": 132, "threads": 512}},
            "sm_90",
            "kernel of gpu1: 16-byte loads, grid of 132 thread blocks × 512 threads "
            "(issued by the destination)",
        ),
        (
            "kernel",
            WRITE,
            {"options": {"blocks": 8}},
            "sm_90",
            "kernel of gpu0: 16-byte stores (issued by the source, blocks=8)",
        ),
        (
            "prefetch",
            [("gpu0:managed", "gpu1:managed", "gpu0")],
            {},
            "sm_90",
            "cudaMemPrefetchAsync in a stream of gpu0 (prefetch, issued by the source, managed memory)",
        ),
        (
            "memcpy-mt",
            [("cpu0:pageable", "cpu0:pageable", "cpu0")],
            {"launch": {"blocks": 16, "threads": 1}},
            "sm_90",
            "memcpy-mt by 16 threads of cpu0 (pageable memory)",
        ),
        (
            "mpi",
            [("0/gpu0:device", "1/gpu1:device", "gpu0")],
            {},
            "sm_90",
            "MPI_Isend and MPI_Irecv",
        ),
    ],
)
def test_names(
    interface: str,
    flow: list[tuple[str, str, str]],
    more: dict[str, object],
    architecture: str,
    name: str,
    tmp_path: Path,
) -> None:
    """Catches a name of the other vendor, another device's stream, or a launch that nobody made."""
    build = Builder(sample_run.topology(2))
    build.measure(interface, flow, 50.0, **more)  # type: ignore[arg-type]
    assert named(build, tmp_path, architecture) == name


def test_several_paths_have_no_device_in_common(tmp_path: Path) -> None:
    """Catches gpu0's stream and grid named for paths on which other GPUs issue other launches."""
    build = Builder(sample_run.topology(2))
    build.measure("kernel", WRITE, 50.0, size=GIB, launch={"blocks": 132, "threads": 512})
    other = [("gpu1:device", "gpu0:device", "gpu1")]
    build.measure("kernel", other, 50.0, size=GIB, launch={"blocks": 64, "threads": 512})
    assert named(build, tmp_path) == "kernel of the source: 16-byte stores (issued by the source)"
