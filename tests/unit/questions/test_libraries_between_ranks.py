"""What is told of messages and collectives by several libraries: none is mixed with another."""

from __future__ import annotations

from pathlib import Path

from byteways.answers.results.index import Index
from byteways.questions.subjects import messages
from byteways.record.run_folder import RunFolder
from tests.report import run_builder
from tests.report.rank_runs import DEVICE, send, send_xccl, together, told_by_xccl, trip
from tests.report.run_builder import GIB, MIB, Builder
from tests.unit.questions.test_ranks_analysis import titles, topic_of

GPUS = [("0/gpu0:device", "1/gpu1:device", "gpu0")]
WHERE = "Between ranks with a GPU each (NVLink4 ×18)"


def read(build: Builder, folder: Path) -> Index:
    return Index(RunFolder(build.write(folder)))


def test_half_of_the_bandwidth_has_a_smaller_size_below_it(tmp_path: Path) -> None:
    """Catches the smallest size told as the one where half is reached, which may be far below it."""
    build = Builder(run_builder.topology(2))
    for size, rate in ((MIB, 340.0), (GIB, 360.0)):
        send_xccl(build, size, rate)
    assert f"{WHERE}, NCCL messages reach 360 GB/s at 1 GiB" in titles(read(build, tmp_path))


def test_window_gain_is_of_one_library(tmp_path: Path) -> None:
    """Catches messages of MPI one at a time compared with those of NCCL."""
    build = Builder(run_builder.topology(2))
    send(build, MIB, 50.0, window=1, flows=GPUS, options={"window": 1})
    send_xccl(build, MIB, 80.0, cache="warm")
    told = titles(read(build, tmp_path))
    assert not any("window of" in title for title in told)


def collected(folder: Path) -> Index:
    """Collectives of four GPUs by NCCL and by MPI, of host memory by MPI, and a barrier of both places."""
    build = Builder(run_builder.topology(4))
    for size, xccl, device, host in ((8, 6e3, 9e3, 2e3), (MIB, 20e3, 40e3, 400e3)):
        together(build, "allreduce", size, xccl, interface="xccl", place=DEVICE)
        together(build, "allreduce", size, device, interface="mpi", place=DEVICE)
        together(build, "allreduce", size, host)
        together(build, "alltoall", size, xccl, interface="xccl", place=DEVICE)
        together(build, "allreduce", size, 2 * xccl, interface="xccl", place=DEVICE, timing="isolated")
    together(build, "barrier", 8, 900.0, place=DEVICE)
    return read(build, folder)


def test_collective_findings_are_of_one_library(tmp_path: Path) -> None:
    """Catches the time of one library told with the bus bandwidth of another."""
    told = [title for title in titles(collected(tmp_path)) if "allreduce" in title]
    assert sorted(told) == [
        "MPI allreduce of 4 ranks, pipelined, device memory, warm: "
        "9 µs at 8 B; bus bandwidth 39.3 GB/s at 1 MiB",
        "MPI allreduce of 4 ranks, pipelined, pageable memory, warm: "
        "2 µs at 8 B; bus bandwidth 3.93 GB/s at 1 MiB",
        "NCCL allreduce of 4 ranks, isolated, device memory, warm: "
        "12 µs at 8 B; bus bandwidth 39.3 GB/s at 1 MiB",
        "NCCL allreduce of 4 ranks, pipelined, device memory, warm: "
        "6 µs at 8 B; bus bandwidth 78.6 GB/s at 1 MiB",
    ]


def test_library_that_no_record_names(tmp_path: Path) -> None:
    """Catches the first word of any evidence taken for a library, and MPI assumed in its place."""
    build = Builder(run_builder.topology(2))
    send_xccl(build, MIB, 80.0)
    told_by_xccl(build, "send and receive between two GPUs")
    (table,) = topic_of(read(build, tmp_path), "messages").tables
    assert table.title == "NCCL/RCCL, 0/gpu0>1/gpu1, device memory" and table.note == ""


def test_lead_is_true_of_both_libraries(tmp_path: Path) -> None:
    """Catches windows claimed of a library that has none."""
    build = Builder(run_builder.topology(0))
    trip(build, 8, 840.0)
    assert topic_of(read(build, tmp_path), "messages").lead == messages.INTRODUCTION
    for sentence in messages.INTRODUCTION.split(". "):
        assert "window" not in sentence or "MPI" in sentence
