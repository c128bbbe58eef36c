"""What is told of messages and collectives by several libraries: none is mixed with another."""

from __future__ import annotations

from pathlib import Path

from byteways.explain.findings import findings
from byteways.explain.results.index import Index
from byteways.explain.subjects import messages
from byteways.record.run_folder import RunFolder
from tests.report import run_builder
from tests.report.rank_runs import DEVICE, send, send_xccl, together, told_by_xccl, trip, trip_xccl
from tests.report.run_builder import GIB, KIB, MIB, Builder
from tests.unit.test_ranks_analysis import column, titles, topic_of

GPUS = [("0/gpu0:device", "1/gpu1:device", "gpu0")]
WHERE = "Between ranks with a GPU each (NVLink4 ×18)"


def read(build: Builder, folder: Path) -> Index:
    return Index(RunFolder(build.write(folder)))


def copied(build: Builder, interface: str, size: int, rate: float, to: str = "gpu1") -> None:
    """Within one process, by the source."""
    build.measure(interface, [("gpu0:device", f"{to}:device", "gpu0")], rate, size=size)


def sent_by_both(build: Builder) -> None:
    """The same bytes between the same GPUs by MPI and by NCCL, all out of warm caches."""
    for size, mpi, xccl in ((4 * KIB, 1.0, 0.5), (MIB, 50.0, 80.0), (GIB, 300.0, 360.0)):
        send(build, size, mpi, flows=GPUS)
        send_xccl(build, size, xccl, cache="warm")
    build.measure("mpi-ping-pong", GPUS, 1.0, size=8, latency_ns=6e3, cache="warm")
    trip_xccl(build, 8, 16e3)


def test_message_findings_name_the_library(tmp_path: Path) -> None:
    """Catches a finding on NCCL that speaks of MPI, or has half of the other's greatest bandwidth."""
    build = Builder(run_builder.topology(2))
    sent_by_both(build)
    for size in (MIB, GIB):  # of the other library alone, this one reaches half
        send_xccl(build, size // 2, 250.0, cache="warm")
    told = titles(read(build, tmp_path))
    assert f"{WHERE}, an MPI message of 8 B takes 3 µs" in told
    assert f"{WHERE}, an NCCL message of 8 B takes 8 µs" in told
    assert f"{WHERE}, MPI messages reach 300 GB/s at 1 GiB" in told
    assert f"{WHERE}, NCCL messages reach 360 GB/s at 1 GiB and half of that at 512 KiB" in told


def test_half_of_the_bandwidth_has_a_smaller_size_below_it(tmp_path: Path) -> None:
    """Catches the smallest size told as the one where half is reached, which may be far below it."""
    build = Builder(run_builder.topology(2))
    for size, rate in ((MIB, 340.0), (GIB, 360.0)):
        send_xccl(build, size, rate)
    assert f"{WHERE}, NCCL messages reach 360 GB/s at 1 GiB" in titles(read(build, tmp_path))


def test_messages_of_both_libraries_share_a_plot(tmp_path: Path) -> None:
    """Catches lines that the legend does not tell apart, and a caption that is true of MPI alone."""
    build = Builder(run_builder.topology(2))
    sent_by_both(build)
    for interface in ("copy", "kernel"):
        for size in (MIB, GIB):
            build.measure(interface, [("gpu0:device", "gpu1:device", "gpu0")], 380.0, size=size, cache="warm")
    (chart,) = topic_of(read(build, tmp_path), "messages").charts
    labels = [line.label for line in chart.series]
    assert labels == ["MPI, warm", "NCCL, warm", "copy, write, warm", "kernel, write, warm"]
    assert [point.y for point in chart.series[1].points] == [0.5, 80.0, 360.0]
    assert chart.caption.endswith("Within one process the same bytes are moved by copy and kernel.")
    assert chart.title == "0/gpu0>1/gpu1, device memory, warm"


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


def test_slower_kernel_is_told_beside_a_tie_with_the_copy(tmp_path: Path) -> None:
    """Catches the second interface within one process told as the first one is."""
    build = Builder(run_builder.topology(2))
    send_xccl(build, GIB, 396.0)
    copied(build, "copy", GIB, 396.0)
    copied(build, "kernel", GIB, 330.0)
    (found,) = [one for one in findings(read(build, tmp_path)) if "messages of" in one.title]
    assert found.title.endswith("no significant difference between NCCL and copy, 396 and 396 GB/s")
    assert found.detail.endswith("; NCCL is 20 % faster than kernel: 396 vs 330 GB/s.")


def test_window_gain_is_of_one_library(tmp_path: Path) -> None:
    """Catches messages of MPI one at a time compared with those of NCCL."""
    build = Builder(run_builder.topology(2))
    send(build, MIB, 50.0, window=1, flows=GPUS, options={"window": 1})
    send_xccl(build, MIB, 80.0, cache="warm")
    told = titles(read(build, tmp_path))
    assert not any("window of" in title for title in told)


def test_pairs_of_a_class_are_pooled_by_library(tmp_path: Path) -> None:
    """Catches a median over paths of two libraries."""
    build = Builder(run_builder.topology(4))
    for number, pair in enumerate(((0, 1), (0, 2), (0, 3), (1, 2), (1, 3))):
        send_xccl(build, GIB, 360.0 + number, pair)
        flows = [(f"{pair[0]}/gpu{pair[0]}:device", f"{pair[1]}/gpu{pair[1]}:device", f"gpu{pair[0]}")]
        build.measure("mpi", flows, 300.0, size=GIB)
    mpi, xccl = sorted(topic_of(read(build, tmp_path), "messages").tables, key=lambda table: table.title)
    pooled = "between ranks with a GPU each (NVLink4 ×18), median of 5 paths, device memory"
    assert (mpi.title, xccl.title) == (f"MPI, {pooled}, default window", f"NCCL, {pooled}")
    assert column(mpi, "unidirectional, GB/s") == ["300"]
    assert column(xccl, "unidirectional, GB/s") == ["362"]


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


def test_collectives_of_several_libraries_share_a_plot(tmp_path: Path) -> None:
    """Catches a comparison of two timings, of unlike operations, and lines without library or memory."""
    charts = {chart.title: chart for chart in topic_of(collected(tmp_path), "collectives").charts}
    shared = charts["allreduce of 4 ranks, pipelined"]
    assert [(line.label, round(line.points[-1].y, 1)) for line in shared.series] == [
        ("MPI, pageable memory, warm", 3.9),
        ("MPI, device memory, warm", 39.3),
        ("NCCL, device memory, warm", 78.6),
    ]
    assert not any(title.startswith("alltoall") or "4 ranks, isolated" in title for title in charts)


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
