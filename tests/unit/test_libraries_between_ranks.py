"""What is told of messages and collectives by several libraries: none is mixed with another."""

from __future__ import annotations

from pathlib import Path

from byteways.explain.findings import findings
from byteways.explain.results.index import Index
from byteways.explain.subjects import messages
from byteways.record.run_folder import RunFolder
from tests.report import run_builder
from tests.report.rank_runs import DEVICE, send, send_xccl, together, told_by_xccl, trip
from tests.report.run_builder import GIB, MIB, Builder
from tests.unit.test_ranks_analysis import column, titles, topic_of

GPUS = [("0/gpu0:device", "1/gpu1:device", "gpu0")]
WHERE = "Between ranks with a GPU each (NVLink4 ×18)"


def read(build: Builder, folder: Path) -> Index:
    return Index(RunFolder(build.write(folder)))


def copied(build: Builder, interface: str, size: int, rate: float, to: str = "gpu1") -> None:
    """Within one process, by the source."""
    build.measure(interface, [("gpu0:device", f"{to}:device", "gpu0")], rate, size=size)


def test_half_of_the_bandwidth_has_a_smaller_size_below_it(tmp_path: Path) -> None:
    """Catches the smallest size told as the one where half is reached, which may be far below it."""
    build = Builder(run_builder.topology(2))
    for size, rate in ((MIB, 340.0), (GIB, 360.0)):
        send_xccl(build, size, rate)
    assert f"{WHERE}, NCCL messages reach 360 GB/s at 1 GiB" in titles(read(build, tmp_path))


def test_messages_beside_copy_and_kernel(tmp_path: Path) -> None:
    """Catches a comparison with another pair of GPUs, another size or only one of the plain interfaces."""
    build = Builder(run_builder.topology(4))
    send_xccl(build, MIB, 100.0)
    send_xccl(build, GIB, 360.0)
    for size, copy, kernel in ((MIB, 200.0, 190.0), (GIB, 396.0, 360.0)):
        copied(build, "copy", size, copy)
        copied(build, "kernel", size, kernel)
        copied(build, "copy", size, 440.0, to="gpu2")
    copied(build, "copy", 4 * GIB, 397.0)
    index = read(build, tmp_path)
    found = [one for one in findings(index) if "messages of" in one.title]
    title = f"{WHERE}, messages of 1 GiB: copy is 10 % faster than NCCL: 396 vs 360 GB/s"
    assert [one.title for one in found] == [title]
    assert found[0].detail == (
        "Device memory; copy moves the same bytes within one process, gpu0>gpu1; "
        "no significant difference between NCCL and kernel, 360 and 360 GB/s."
    )
    assert [claim.second.name for claim in found[0].claims] == ["copy", "kernel"]
    assert all(dict(claim.scope)["size"] == str(GIB) for claim in found[0].claims)


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


def test_libraries_have_collective_tables_of_their_own(tmp_path: Path) -> None:
    """Catches a collective of one library that takes the place of another's, and MPI's barrier at NCCL."""
    tables = {table.title: table for table in topic_of(collected(tmp_path), "collectives").tables}
    ranks = "0/gpu0,1/gpu1,2/gpu2,3/gpu3"
    assert [title for title in tables if title.endswith("time, µs")] == [
        "MPI, 0-3/cpu0, pageable memory, warm, pipelined: time, µs",
        f"MPI, {ranks}, device memory, warm, pipelined: time, µs",
        f"NCCL, {ranks}, device memory, warm, pipelined: time, µs",
        f"NCCL, {ranks}, device memory, warm, isolated: time, µs",
    ]
    by_mpi, by_xccl = (
        tables[f"{library}, {ranks}, device memory, warm, pipelined: time, µs"] for library in ("MPI", "NCCL")
    )
    assert column(by_mpi, "allreduce") == ["9", "40"] and "alltoall" not in by_mpi.headings
    assert column(by_xccl, "allreduce") == ["6", "20"]
    assert "a barrier takes 0.9 µs" in by_mpi.note and "barrier" not in by_xccl.note
    assert by_xccl.note.endswith("; NCCL 2.28.3") and "NCCL" not in by_mpi.note


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


def test_other_ranks_are_named_in_a_shared_plot(tmp_path: Path) -> None:
    """Catches two lines of one label: two groups of ranks of the same library and memory."""
    build = Builder(run_builder.topology(4))
    for size in (8, MIB):
        together(build, "allreduce", size, 5e3, ranks=2)
        for place in ("gpu0:device", DEVICE):
            together(build, "allreduce", size, 5e3, ranks=2, interface="xccl", place=place)
    (chart,) = (
        chart
        for chart in topic_of(read(build, tmp_path), "collectives").charts
        if chart.title == "allreduce of 2 ranks, pipelined"
    )
    assert [line.label for line in chart.series] == [
        "MPI, pageable memory, warm",
        "NCCL, 0-1/gpu0, device memory, warm",
        "NCCL, 0/gpu0,1/gpu1, device memory, warm",
    ]


def test_library_that_no_record_names(tmp_path: Path) -> None:
    """Catches the first word of any evidence taken for a library, and MPI assumed in its place."""
    build = Builder(run_builder.topology(2))
    send_xccl(build, MIB, 80.0)
    told_by_xccl(build, "send and receive between two GPUs")
    (table,) = topic_of(read(build, tmp_path), "messages").tables
    assert table.title == "NCCL or RCCL, 0/gpu0>1/gpu1, device memory" and table.note == ""


def test_lead_is_true_of_both_libraries(tmp_path: Path) -> None:
    """Catches windows claimed of a library that has none."""
    build = Builder(run_builder.topology(0))
    trip(build, 8, 840.0)
    assert topic_of(read(build, tmp_path), "messages").lead == messages.INTRODUCTION
    for sentence in messages.INTRODUCTION.split(". "):
        assert "window" not in sentence or "MPI" in sentence
