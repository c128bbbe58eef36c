"""What is told of messages between ranks, and that they and collectives stay apart from everything else."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from byteways.answers.results.case_names import describe
from byteways.answers.results.index import Index
from byteways.cases.case import Case
from byteways.cli.progress import describe as progress_of
from byteways.questions.subjects import messages, rank_memories, rank_pairs
from byteways.questions.tables import tables
from byteways.questions.topics import topics
from byteways.record.run_folder import RunFolder
from byteways.report.page import from_run
from byteways.report.render import render
from tests.changed import replace
from tests.report import run_builder
from tests.report.rank_runs import HOST, send, together, trip
from tests.report.run_builder import GB, KIB, MIB, Builder
from tests.unit.rank_indices import all_ranks, column, titles, topic_of


def test_messages_as_fast_as_a_copy_tie(tmp_path: Path) -> None:
    """Catches a winner among results that no interval tells apart, and a claim on different memory."""
    build = Builder(run_builder.topology(0))
    send(build, MIB, 9.0)
    build.measure("memcpy", [(HOST, HOST, "cpu0")], 9.0, size=MIB, cache="warm")
    build.measure("memcpy", [("cpu0:hugepage", "cpu0:hugepage", "cpu0")], 20.0, size=MIB, cache="warm")
    told = titles(Index(RunFolder(build.write(tmp_path))))
    tie = "messages of 1 MiB: no significant difference between MPI and memcpy, 9 and 9 GB/s"
    assert [title for title in told if "messages of" in title] == [f"Between ranks of one NUMA domain, {tie}"]


def test_all_interfaces_are_on_one_chart_for_each_pattern(tmp_path: Path) -> None:
    """Catches a chart of one side alone, patterns or memories mixed, and settings among defaults."""
    build = Builder(run_builder.topology(2))
    there, back = ("gpu0:device", "gpu1:device", "gpu0"), ("gpu1:device", "gpu0:device", "gpu1")
    for size in (KIB, MIB):
        build.measure("copy", [there], 300.0, size=size)
        build.measure("copy", [there, back], 500.0, size=size, pattern="bidirectional")
        build.measure("kernel", [("gpu0:device", "gpu1:ipc", "gpu0")], 250.0, size=size)
        for options in ({}, {"window": 1}):
            flows = [("0/gpu0:device", "1/gpu1:device", "gpu0")]
            build.measure("mpi", flows, 200.0, size=size, cache="warm", options=options)
    build.measure("xccl", [("0/gpu0:device", "1/gpu1:device", "gpu0")], 100.0, size=MIB)
    build.measure("memcpy", [("cpu0:pageable", "cpu0:pageable", "cpu0")], 9.0, size=MIB)
    topic = topic_of(Index(RunFolder(build.write(tmp_path))), "all-interfaces")
    (chart,) = topic.charts
    assert chart.title == "Unidirectional, between GPUs, NVLink4 ×18, device memory"
    labels = [line.label for line in chart.series]
    assert labels == ["copy issued by the source", "kernel issued by the source, IPC", "MPI (warm)"]
    assert [each.y for each in chart.series[2].points] == [200.0, 200.0]
    alone = Builder(run_builder.topology(2))
    alone.measure("copy", [there], 300.0, size=MIB)
    index = Index(RunFolder(alone.write(tmp_path / "alone")))
    assert "all-interfaces" not in {one.anchor for one in topics(index)}


def test_messages_between_gpus_are_no_matrix(tmp_path: Path) -> None:
    """Catches messages between GPUs in the matrices of copies, or as a way that the copy has to beat."""
    build = Builder(run_builder.topology(4))
    flows = [("0/gpu0:device", "1/gpu1:device", "gpu0"), ("1/gpu1:device", "0/gpu0:device", "gpu1")]
    rates = {"0/gpu0>1/gpu1": 100.0, "1/gpu1>0/gpu0": 100.0}
    build.measure("mpi", flows, rates, size=MIB, pattern="bidirectional")
    build.measure("mpi", flows[:1], 300.0, size=MIB)
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 200.0, size=MIB)
    index = Index(RunFolder(build.write(tmp_path)))
    (matrix,) = tables(index).matrices
    assert {cell.record.interface for cell in matrix.members()} == {"copy"}
    told = titles(index)
    where = "Between ranks with a GPU each (NVLink4 ×18)"
    assert f"{where}, messages of 1 MiB: MPI is 50 % faster than copy: 300 vs 200 GB/s" in told
    assert not any(title.startswith("Between GPUs") and "mpi" in title.lower() for title in told)
    assert topic_of(index, "messages").charts == ()  # of one size


def test_puts_have_their_own_table_and_their_time(tmp_path: Path) -> None:
    """Catches puts pooled with messages, a latency that is half of what a put takes, and a window's time
    called a latency.
    """
    build = Builder(run_builder.topology(2))
    flows = [("0/gpu0:device", "1/gpu1:device", "gpu0")]
    single = {"options": {"window": 1}, "cache": "warm"}
    build.measure("mpi", flows, 200.0, size=MIB, cache="warm")
    build.measure("mpi-put", flows, 300.0, size=MIB, cache="warm")
    build.measure("mpi-put", flows, 0.001, size=8, **single)
    build.measure("mpi-put", flows, 100.0, size=MIB, **single)
    index = Index(RunFolder(build.write(tmp_path)))
    messages, many, one = topic_of(index, "messages").tables
    assert [table.title.partition(",")[0] for table in (messages, many, one)] == ["MPI", "MPI put", "MPI put"]
    assert column(many, "unidirectional, GB/s") == ["300"] and column(many, "latency, µs") == [""]
    assert column(one, "latency, µs") == ["8", "10.5"]
    told = titles(index)
    assert any("MPI put of 8 B takes 8 µs" in title for title in told)
    assert any("MPI puts reach 300 GB/s" in title for title in told)


def staged(build: Builder, size: int, rate: float, round_trip_ns: float, how: str = "") -> None:
    """Messages of device memory, and their round trips: by MPI itself, or staged."""
    flows = [("0/gpu0:device", "1/gpu1:device", "gpu0")]
    more = {"options": {"staging": how} if how else {}, "size": size, "cache": "warm"}
    build.measure("mpi", flows, rate, **more)
    build.measure("mpi-ping-pong", flows, 1.0, latency_ns=round_trip_ns, **more)


def test_staging_stands_beside_what_mpi_does_itself(tmp_path: Path) -> None:
    """Catches the longer time called the faster way, sizes compared across, and latencies of both pooled."""
    build = Builder(run_builder.topology(2))
    staged(build, MIB, 100.0, 40_000.0)
    staged(build, MIB, 25.0, 120_000.0, "pinned")
    staged(build, KIB, 1.0, 10_000.0)
    index = Index(RunFolder(build.write(tmp_path)))
    told = titles(index)
    where = "Between ranks with a GPU each (NVLink4 ×18)"
    direct, pinned = "MPI on device memory", "staging in pinned host memory"
    rates = f"{where}, messages of 1 MiB: {direct} is 4 times as fast as {pinned}: 100 vs 25 GB/s"
    times = f"{where}, round trips of 1 MiB: {pinned} takes 3 times as long as {direct}: 120 µs vs 40 µs"
    assert [title for title in told if "staging in" in title] == [rates, times]
    plain, other = topic_of(index, "messages").tables
    assert "staging" not in plain.title and other.title.endswith("staging=pinned, default window")
    assert column(plain, "latency, µs") == ["5", "20"]
    assert column(other, "latency, µs") == ["60"]


def test_staging_that_changes_nothing_is_a_tie(tmp_path: Path) -> None:
    """Catches a lead where both take equally long."""
    build = Builder(run_builder.topology(2))
    staged(build, MIB, 100.0, 40_000.0)
    staged(build, MIB, 100.0, 40_000.0, "pinned")
    told = [title for title in titles(Index(RunFolder(build.write(tmp_path)))) if "staging in" in title]
    assert len(told) == 2
    tie = "no significant difference between MPI on device memory and staging in pinned host memory"
    assert all(title.endswith(tie) for title in told)


def test_pairs_are_told_beside_one_alone(tmp_path: Path) -> None:
    """Catches the messages of one pair told as those of all, and bytes told as messages."""
    build = Builder(run_builder.topology(0))
    for ranks, time_ns in ((2, 400.0), (4, 500.0), (8, 1600.0)):
        together(build, "multi-pair", 8, time_ns, ranks)
    together(build, "multi-pair", MIB, 100_000.0, 8)
    index = Index(RunFolder(build.write(tmp_path)))
    told = [title for title in titles(index) if "pairs of ranks" in title]
    rate = "4 pairs of ranks send 2.5 million MPI messages of 8 B per second"
    assert told == [f"{rate}; compared with one pair: no significant difference"]
    rates, bandwidths = topic_of(index, "message-rate").tables
    assert rates.headings == bandwidths.headings == ("size", "1 pair", "2 pairs", "4 pairs")
    assert rates.rows[0] == ("8 B", "2.5", "4", "2.5")
    assert bandwidths.rows[1] == ("1 MiB", "", "", "41.9")


def test_many_paths_share_a_table(tmp_path: Path) -> None:
    """Catches a table for each of many pairs of ranks, and paths of several classes pooled."""
    build = Builder(run_builder.topology(4))
    for a in range(4):
        for b in range(4):
            if a != b:
                flows = [(f"{a}/gpu{a}:device", f"{b}/gpu{b}:device", f"gpu{a}")]
                send(build, MIB, 200.0 + a, flows=flows)
    send(build, MIB, 9.0)
    index = Index(RunFolder(build.write(tmp_path)))
    titles_ = [table.title for table in topic_of(index, "messages").tables]
    assert titles_[-2:] == [
        f"MPI, device memory, warm: bandwidth of every pair of ranks at 1 MiB, {how}"
        for how in ("GB/s", "relative to the best")
    ]
    assert titles_[:-2] == [
        "MPI, between ranks with a GPU each (NVLink4 ×18), median of 12 paths, device memory, warm, "
        "default window",
        "MPI, 0/cpu0>1/cpu0, pageable memory, warm, default window",
    ]
    assert not any("outlier" in title for title in titles(index))


def test_first_use_beside_later_messages(tmp_path: Path) -> None:
    """Catches a first message over buffers of an earlier case told as one over new ones, and rounds without
    any.
    """
    build = Builder(run_builder.topology(0))
    uses = [
        {"time_ns": 90e3, "memory": "new", "connection": "new"},
        {"time_ns": 20e3, "memory": "new", "connection": "used"},
        {"time_ns": 1e3, "memory": "used", "connection": "used"},
    ]
    trip(build, 8, 840.0)
    build.records = [replace(one, first_use=use) for one, use in zip(build.records, uses, strict=True)]
    trip(build, 4 * KIB, 2600.0)
    build.records[-3:] = [replace(one, first_use=uses[-1]) for one in build.records[-3:]]
    index = Index(RunFolder(build.write(tmp_path)))
    (table,) = (table for table in topic_of(index, "messages").tables if "first use" in table.title)
    assert table.title == "MPI, 0/cpu0>1/cpu0, pageable memory, warm: first use"
    row = ("8 B", "round trip, unidirectional", "55", "0.84", "buffers and connection")
    assert table.rows == (row,)


def test_matrices_of_all_pairs(tmp_path: Path) -> None:
    """Catches rows for columns, a share of the worst pair, and a matrix with holes."""
    build = Builder(run_builder.topology(3))
    for a, b in itertools.permutations(range(3), 2):
        flows = [(f"{a}/gpu{a}:device", f"{b}/gpu{b}:device", f"gpu{a}")]
        for size in (KIB, MIB):
            send(build, size, 100.0 + 10 * a + b, flows=flows)
        latency = {"size": 8, "latency_ns": 1000.0 * (2 + a + b), "cache": "warm"}
        build.measure("mpi-ping-pong", flows, 1.0, **latency)  # type: ignore[arg-type]
    send(build, 64 * MIB, 500.0, flows=[("0/gpu0:device", "1/gpu1:device", "gpu0")])  # of one pair alone
    index = Index(RunFolder(build.write(tmp_path)))
    rates, shares, latencies, by_latency = sorted(
        rank_pairs.matrices(messages.messages(index.cells)), key=lambda table: "latency" in table.title
    )
    assert rates.headings == ("from \\ to", "0/gpu0", "1/gpu1", "2/gpu2")
    assert rates.rows == (
        ("0/gpu0", "–", "101", "102"),
        ("1/gpu1", "110", "–", "112"),
        ("2/gpu2", "120", "121", "–"),
    )
    assert shares.rows[0] == ("0/gpu0", "–", "83 %", "84 %")
    assert shares.heat[2] == (None, pytest.approx(120 / 121), 1.0, None)
    assert latencies.title.endswith("latency of every pair of ranks at 8 B, µs")
    assert latencies.rows[1] == ("1/gpu1", "1.5", "–", "2.5")
    assert by_latency.rows[2] == ("2/gpu2", "75 %", "60 %", "–")


def test_pairs_within_a_gpu_are_the_diagonal(tmp_path: Path) -> None:
    """Catches twins as further ranks of a matrix, and pairs of GPUs compared with what a memory carries."""
    build = Builder(run_builder.topology(3))
    for a, b in itertools.permutations(range(3), 2):
        send(build, MIB, 100.0 + 10 * a + b, flows=[(f"{a}/gpu{a}:device", f"{b}/gpu{b}:device", f"gpu{a}")])
    for a in range(3):
        send(build, MIB, 1500.0 + 10 * a, flows=[(f"{a}/gpu{a}:device", f"{a + 3}/gpu{a}:device", f"gpu{a}")])
    index = Index(RunFolder(build.write(tmp_path)))
    rates, shares = rank_pairs.matrices(messages.messages(index.cells))
    assert rates.headings == ("from \\ to", "0/gpu0", "1/gpu1", "2/gpu2")
    assert rates.rows[1] == ("1/gpu1", "110", "1510", "112")
    assert "the diagonal has two ranks on one GPU" in rates.note
    assert shares.rows[0] == ("0/gpu0", "–", "83 %", "84 %")


def test_matrices_of_memory(tmp_path: Path) -> None:
    """Catches rows for columns, a pair without a result that looks measured, and one of several pairs."""
    build = Builder(run_builder.topology(2))
    ends = {"pageable": "cpu0", "device": "gpu{rank}"}
    for number, (sender, receiver) in enumerate(itertools.product(ends, repeat=2)):
        flows = [
            (
                f"0/{ends[sender].format(rank=0)}:{sender}",
                f"1/{ends[receiver].format(rank=1)}:{receiver}",
                ends[sender].format(rank=0),
            )
        ]
        send(build, MIB, 10.0 * (number + 1), flows=flows)
        if number < 3:
            send(build, KIB, 1.0 + number, flows=flows)
        latency = {"size": 8, "latency_ns": 1000.0 * (1 + number), "cache": "warm"}
        build.measure("mpi-ping-pong", flows, 1.0, **latency)  # type: ignore[arg-type]
    send(build, MIB, 9.0, flows=[("1/gpu1:device", "0/cpu0:pageable", "gpu1")])  # of another pair
    index = Index(RunFolder(build.write(tmp_path)))
    found = {table.title: table for table in rank_memories.matrices(messages.messages(index.cells))}
    lead = "MPI, rank 0 to rank 1"
    rates = found[f"{lead}, warm: bandwidth by memory of sender and receiver at 1 MiB, GB/s"]
    assert rates.headings == ("from \\ to", "cpu0 pageable", "gpu1 device")
    assert rates.rows == (("cpu0 pageable", "10", "20"), ("gpu0 device", "30", "40"))
    shares = found[f"{lead}, warm: bandwidth by memory of sender and receiver at 1 MiB, relative to the best"]
    assert shares.rows[0] == ("cpu0 pageable", "25 %", "50 %") and shares.heat[1] == (None, 0.75, 1.0)
    small = found[f"{lead}, warm: bandwidth by memory of sender and receiver at 1 KiB, GB/s"]
    assert small.rows[1] == ("gpu0 device", "3", "–") and "–: no result" in small.note
    latencies = found[f"{lead}: latency by memory of sender and receiver at 8 B, µs"]
    assert latencies.rows == (("cpu0 pageable", "0.5", "1"), ("gpu0 device", "1.5", "2"))
    by_latency = found[f"{lead}: latency by memory of sender and receiver at 8 B, relative to the best"]
    assert by_latency.rows[1] == ("gpu0 device", "33 %", "25 %")
    assert len(found) == 6
    assert {*found} <= {table.title for table in topic_of(index, "messages").tables}


@pytest.mark.parametrize("rounds", [1, 2])
def test_few_rounds_are_shown_and_not_told(tmp_path: Path, rounds: int) -> None:
    """Catches sentences on results that may not be ranked."""
    build = Builder(run_builder.topology(0), rounds=rounds)
    trip(build, 8, 840.0)
    send(build, 8, 0.02)
    together(build, "allreduce", 8, 1200.0)
    index = Index(RunFolder(build.write(tmp_path)))
    assert {topic.anchor for topic in topics(index)} >= {"messages", "collectives"}
    assert not any("MPI" in title or "allreduce" in title for title in titles(index))


def test_labels_name_the_operation_once(tmp_path: Path) -> None:
    """Catches "allreduce allreduce:0-3/cpu0"."""
    record = all_ranks(tmp_path).records[0]
    assert describe(record) == "MPI allreduce of 0-3/cpu0"
    pattern = replace(record, interface="halo", pattern="halo", path="halo:0-3/cpu0")
    assert describe(pattern) == "halo of 0-3/cpu0"
    assert progress_of(Case.from_json(pattern.definition)) == "halo:0-3/cpu0 8 B"
    assert progress_of(Case.from_json(record.definition)) == "mpi allreduce:0-3/cpu0 8 B"


def test_report_has_tables_and_charts(tmp_path: Path) -> None:
    """Catches tables that only the terminal has, and charts that the page cannot draw."""
    page = from_run(all_ranks(tmp_path))
    assert [topic.anchor for topic in page.topics] == ["collectives"]
    (chart,) = page.topics[0].charts
    (line,) = chart.series
    assert (line.label, chart.y.label) == ("allreduce", "GB/s, bus bandwidth")
    assert line.points[-1].y == pytest.approx(1.5 * MIB / 400e3 * 1e9 / GB, rel=1e-3)
    text = render(page, "")
    assert "bus bandwidth, GB/s" in text


def test_only_settings_that_differ_there_are_told(tmp_path: Path) -> None:
    """Catches a lead with the memory of messages that have no rival between these ranks, and one without it
    where two kinds of messages would read alike.
    """
    build = Builder(run_builder.topology(2))
    trip(build, 8, 840.0)
    for place in ("gpu0:device", "gpu1:device"):
        flows = [(f"0/{place}", f"1/{place}", place.partition(":")[0])]
        build.measure("mpi-ping-pong", flows, 1.0, size=8, latency_ns=9000.0, cache="warm")
    index = Index(RunFolder(build.write(tmp_path)))
    trips = messages.messages(index.between_ranks)
    host = trips[0]
    assert messages.lead_of(index, host, trips) == "Between ranks of one NUMA domain"
    pinned = replace(host.record, source="0/cpu0:pinned", destination="1/cpu0:pinned", case_id="pinned")
    other = replace(host, record=pinned)
    told = messages.lead_of(index, host, [*trips, other])
    assert told == "Between ranks of one NUMA domain, pageable memory, warm"
