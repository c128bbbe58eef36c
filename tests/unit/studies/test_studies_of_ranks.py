"""Studies between ranks: places with several ranks, grids of lines, speed-ups, the best of several lines."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.cases.case import Case, Flow
from byteways.ext.studies.comparison.claims import judge
from byteways.ext.studies.comparison.outcome import FigureOutcome, compare
from byteways.ext.studies.comparison.scope import scope
from byteways.ext.studies.comparison.topic import topic_of
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.comparison.verdicts import FAILS_HERE, HOLDS, UNTESTED
from byteways.ext.studies.published.reading import load
from byteways.ext.studies.published.study import Study
from byteways.questions.display.table import Table
from byteways.record.record import Record
from tests.changed import replace
from tests.unit.study_runs import record, run
from tests.unit.study_sheet import GIB, KIB, MIB, FakeSheet, verdict

MACHINE = "elcap-mi300a"


@pytest.fixture(scope="module")
def study() -> Study:
    return load("schieffer2025")


def collective(library: str, pattern: str, ranks: int, size: int) -> Case:
    ends = [f"{rank}/gpu{rank}:device" for rank in range(ranks)]
    data = {"source": ends[0], "destination": ends[0], "executor": "gpu0"}
    flow = Flow.from_json({**data, "others": [[end, end] for end in ends[1:]]})
    return Case(library, pattern, (flow,), size, "warm", {"timing": "osu"})


def message(interface: str, source: str, destination: str, **fields: Any) -> Case:
    executor = source.partition(":")[0] if interface == "mpi" else "gpu0"
    data = {"source": f"0/{source}", "destination": f"1/{destination}", "executor": executor}
    options = {"timing": "osu"} if interface == "mpi" else {}
    flow = Flow.from_json(data)
    return Case(interface, "unidirectional", (flow,), fields.pop("size", 64 * MIB), "warm", options, **fields)


def timed(case: Case, time_us: float) -> Record:
    return record(case, case.size_bytes / (1e3 * time_us))


def figure(study: Study, name: str, *records: Record, machine: str = MACHINE) -> FigureOutcome:
    alone = replace(study, figures=tuple(one for one in study.figures if one.id == name), claims=())
    (found,) = compare(alone, run(machine, *records)).figures
    return found


def table(study: Study, title: str, *records: Record) -> Table:
    topic = topic_of(compare(study, run(MACHINE, *records)))
    return next(one for one in topic.tables if title in one.title)


def test_a_place_of_ranks_has_the_collectives_of_so_many(study: Study) -> None:
    """Catches a collective of four ranks that stands for one of two, and one of no place."""
    two, four = (timed(collective("xccl", "allreduce", ranks, MIB), 10.0 * ranks) for ranks in (2, 4))
    sheet = Sheet(study, run(MACHINE, two, four))
    line = study.lines["RCCL collective, allreduce"]
    found = {name: sheet.ours(line, study.places[name]) for name in ("2 APUs", "3 APUs", "4 APUs")}
    assert {name: [round(one.time_ns) for one in ours.values()] for name, ours in found.items()} == {
        "2 APUs": [20_000],
        "3 APUs": [],
        "4 APUs": [40_000],
    }
    assert "no case of RCCL collective, allreduce, 3 APUs" in sheet.missing(
        line, study.places["3 APUs"], None
    )
    assert {64, MIB} <= set(sheet.asked(line, study.places["3 APUs"]))


def test_more_ranks_than_gpus_is_a_reason_and_no_verdict(study: Study) -> None:
    """Catches a claim on four ranks that two GPUs decide, and a row without its reason."""
    outcome = compare(study, run("h200-x4", timed(collective("xccl", "allreduce", 2, 16 * MIB), 9.0)))
    assert next(one for one in outcome.verdicts if one.claim.id == "allreduce-large").verdict == UNTESTED
    small = run(MACHINE)
    devices = tuple(one for one in small.topology.devices if one.name not in ("gpu2", "gpu3"))
    links = tuple(one for one in small.topology.links if not {"gpu2", "gpu3"} & {one.a, one.b})
    small.topology = replace(small.topology, devices=devices, links=links)
    sheet = Sheet(study, small)
    assert sheet.located["2 APUs"].devices == ("gpu0",)
    reason = "it needs 3 ranks with a GPU each, and this machine has 2"
    assert (sheet.located["3 APUs"].devices, sheet.located["3 APUs"].reason) == (None, reason)
    (rows,) = [one.rows for one in compare(study, small).figures if one.figure.id == "fig14"]
    assert {row.reason for row in rows if row.place == "3 APUs"} == {reason}
    assert "Sec. 6.2, Fig. 14" in scope(study, small.topology).possible


def test_memory_that_is_not_shared_leaves_applications_untested(study: Study) -> None:
    """Catches a verdict on MI300A's allocators from a machine whose GPUs have memory of their own."""
    found = compare(study, run("frontier-mi250x"))
    detail = {one.claim.id: (one.verdict, one.detail) for one in found.verdicts}["cloverleaf-gain"]
    assert detail[0] == UNTESTED
    assert "do not share one memory here, unlike in the source" in detail[1]


def test_a_grid_has_sources_and_destinations(study: Study) -> None:
    """Catches a grid that is turned over, and an empty cell without a reason."""
    made = [
        record(message("mpi", "gpu0:device", "gpu1:device"), 82.0),
        record(message("mpi", "gpu0:device", "cpu1:pageable"), 54.0),
        record(message("mpi", "gpu0:device", "gpu1:device", size=MIB), 20.0),
        record(message("mpi", "cpu0:pageable", "gpu1:device"), 11.7),
    ]
    found = table(study, "Fig. 10a", *made)
    assert found.headings == ("from \\ to", "malloc", "hipMalloc", "hipHostMalloc", "hipMallocManaged")
    numbers = {row[0]: row[1:] for row in found.rows}
    assert [cell.split()[0] for cell in numbers["hipMalloc"][:2]] == ["54", "82"]
    assert numbers["malloc"][1].split()[0] == "11.7" and numbers["malloc"][0].split()[0] == "–"
    assert found.heat[1][:3] == (None, pytest.approx(54 / 82), 1.0)
    assert "malloc > malloc: this run has no case of MPI, malloc > malloc" in found.note


def exchange(transport: str, data: str, time_us: float) -> Record:
    named = {"transport": "xccl"} if transport == "xccl" else {}
    options = {"width_cells": 30720, "fields": 6, "packing": "original", "timed": "exchange", **named}
    ends = [f"{rank}/{data.replace('*', str(rank))}" for rank in range(4)]
    told = {"source": ends[0], "destination": ends[0], "executor": "gpu0"}
    flow = Flow.from_json({**told, "others": [[end, end] for end in ends[1:]]})
    case = Case("halo", "halo", (flow,), 3600 * MIB, "warm", options, {"HSA_XNACK": "1"})
    return timed(case, time_us)


def test_speed_ups_stand_beside_those_published(study: Study) -> None:
    """Catches a quotient upside down, and one of a line that was not measured."""
    made = [exchange("mpi", "gpu*:device", 90.0), exchange("xccl", "gpu*:device", 60.0)]
    made.append(exchange("mpi", "cpu*:registered", 100.0))
    rows = {row.line: row for row in figure(study, "fig16-gain", *made).rows}
    own = rows["exchange, hipMalloc"]
    assert (own.ours, own.published, own.ratio) == (pytest.approx(1.5), 1.5, pytest.approx(1.0))
    assert (own.size_bytes, own.reason) == (3600 * MIB, "")
    missing = rows["exchange, malloc"]
    assert (missing.ours, missing.ratio) == (None, None)
    assert "no case of CloverLeaf exchange, RCCL, malloc" in missing.reason
    assert rows["iteration, malloc"].published is None
    found = table(study, "from MPI to RCCL", *made)
    assert ("exchange, hipMalloc", "3.516 GiB", "1.5", "1.5", "1.000", "") in found.rows


def test_a_published_range_is_compared_by_its_nearer_end(study: Study) -> None:
    """Catches a range that is read as its middle."""
    rows = figure(study, "fig15-gain").rows
    assert [(row.published, row.published_range) for row in rows] == [
        (pytest.approx(1.08), (1.05, 1.11)),
        (pytest.approx(1.08), (1.05, 1.11)),
        (1.153, None),
    ]


def test_the_best_of_each_size_is_named(study: Study) -> None:
    """Catches the slowest of two, and one that ran alone and is called the best."""
    made = [
        timed(collective("mpi", "allreduce", 4, 64), 5.0),
        timed(collective("xccl", "allreduce", 4, 64), 20.0),
        timed(collective("mpi", "allreduce", 4, MIB), 80.0),
        timed(collective("xccl", "allreduce", 4, MIB), 20.0),
        timed(collective("xccl", "allreduce", 4, 16 * MIB), 20.0),
        record(message("mpi", "gpu0:device", "gpu1:device", environment={"MPICH_GPU_IPC_ENABLED": "0"}), 60),
        record(message("xccl", "gpu0:device", "gpu1:device"), 88.0),
    ]
    rows = figure(study, "fig17", *made).rows
    best = {(row.group.partition(":")[0], row.size_bytes): row.line for row in rows if row.ours is not None}
    assert best == {
        ("AllReduce", 64): "MPI collective, allreduce",
        ("AllReduce", MIB): "RCCL collective, allreduce",
        ("point-to-point", 64 * MIB): "RCCL",
    }
    assert {row.group.partition(":")[0] for row in rows if row.reason} == {
        "direct access",
        "explicit",
        "ReduceScatter",
    }
    found = table(study, "Fig. 17", *made)
    (own,) = [row for row in found.rows if row[0].startswith("point-to-point")]
    assert own[-1] == "RCCL: 88 GB/s"
    assert "ReduceScatter: MPI, RCCL: this run has no case" in found.note


def test_lines_that_intervals_do_not_separate_share_the_first_place(study: Study) -> None:
    """Catches a winner by half of the interval."""
    made = [
        timed(collective("mpi", "allreduce", 4, 64), 20.05),
        timed(collective("xccl", "allreduce", 4, 64), 20.0),
    ]
    (row,) = [one for one in figure(study, "fig17", *made).rows if one.size_bytes == 64]
    assert row.line == "RCCL collective, allreduce, MPI collective, allreduce"


def line_of_times(*microseconds: float, half_width: float = 0.0) -> FakeSheet:
    """Sizes of 1, 4, 16 … MiB; the fake figures give times as 1000 over their number."""
    figures = {("copy", "quad", 4**at * MIB): 1 / time for at, time in enumerate(microseconds)}
    return FakeSheet(figures, half_width=half_width)


LINEAR = {"kind": "linear", "of": "copy@quad/*"}


@pytest.mark.parametrize(
    ("times", "check", "expected"),
    [
        ((11.0, 14.0, 26.0, 74.0), {"at_most": 0.01}, HOLDS),  # 10 and 1 a MiB
        ((11.0, 14.0, 26.0, 74.0), {"at_least": 0.2}, FAILS_HERE),
        ((11.0, 30.0, 26.0, 74.0), {"at_most": 0.2}, FAILS_HERE),
        ((11.0, 30.0, 26.0, 74.0), {"at_least": 0.2}, HOLDS),
        ((11.0, 14.0, 26.0), {"at_most": 0.2}, UNTESTED),  # through three nearly any line goes
    ],
)
def test_a_straight_line_is_told_from_a_bent_one(
    times: tuple[float, ...], check: dict[str, float], expected: str
) -> None:
    """Catches a fit that only the longest time decides, and one through too few sizes."""
    found = verdict(line_of_times(*times), **LINEAR, **check)
    assert found.verdict == expected, found.detail


def test_a_fit_is_as_certain_as_its_times() -> None:
    """Catches a verdict on a deviation that lies within the intervals."""
    found = verdict(line_of_times(11.0, 14.0, 26.0, 74.0, half_width=0.02), **LINEAR, at_most=0.01)
    assert found.verdict == "too close to call"
    assert found.detail.startswith("largest deviation from a straight line of time vs message size: ")


def test_every_line_of_a_fit_is_fitted_alone() -> None:
    """Catches two straight lines that are not straight together."""
    figures = {
        (line, "quad", 4**at * MIB): 1 / time
        for line, rise in (("copy", 1.0), ("kernel", 7.0))
        for at, time in enumerate(10 + rise * 4**at for at in range(5))
    }
    assert verdict(FakeSheet(figures), kind="linear", of="*@quad/*", at_most=0.01).verdict == HOLDS


def test_claims_whose_data_are_missing_have_no_verdict(study: Study) -> None:
    """Catches sections 6 and 7 judged by a run of nothing, in either direction."""
    sheet = Sheet(study, run(MACHINE, record(message("mpi", "gpu0:device", "gpu1:device", size=GIB), 1.0)))
    names = {"staging-up-to-1mb", "observation-6", "quicksilver-communication", "cloverleaf-gain"}
    found = [judge(claim, sheet) for claim in study.claims if claim.id in names]
    assert {one.verdict for one in found} == {UNTESTED}
    assert all("this run has no case of" in one.detail for one in found)
    assert KIB in sheet.asked(study.lines["MPI, CPU staging"], study.places["APU0>APU1"])


def test_a_ping_pong_is_told_as_half_of_a_round_trip(study: Study) -> None:
    """Catches twice the latency that OSU's programs print, and a published value that no line has."""
    flow = Flow.from_json({"source": "0/gpu0:device", "destination": "1/gpu1:device", "executor": "gpu0"})
    case = Case(
        "mpi-ping-pong", "unidirectional", (flow,), 8, "warm", environment={"MPICH_GPU_IPC_ENABLED": "0"}
    )
    times = {"bandwidth_bytes_per_s": None, "latency_ns": 4000.0, "half_round_trip_ns": 2000.0}
    rows = figure(study, "fig8", record(case, 8 / 4000.0, **times)).rows
    (row,) = [one for one in rows if one.line == "MPI ping-pong, CPU staging"]
    assert (row.ours, row.published) == (pytest.approx(2.0), 1.9)
    assert {one.published for one in rows} == {1.9, 4.8, 20.0}
