"""Application patterns: tiles, grids and memory of a plan; tables and findings of a run; published gains."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.answers.results.index import Index
from byteways.cases.applications import (
    columns_of,
    native_options,
    tile_of,
)
from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.model import Capabilities, Topology
from byteways.plan.legality.applications import transport_refusal
from byteways.plan.legality.context import LegalityContext
from byteways.plan.legality.executors import in_environment
from byteways.questions.subjects import applications as subject
from byteways.questions.subjects.published_applications import PublishedGain, gains
from byteways.record.run_folder import RunFolder
from byteways.record.version2 import evidence_in
from tests.changed import replace
from tests.report import run_builder
from tests.report.run_builder import MIB, Builder
from tests.unit import machines

DEVICE = "gpu{0}:device"


def test_a_tile_is_as_square_as_its_cells_allow() -> None:
    """Catches a tile that is turned, and halos that are counted on one side."""
    tile = tile_of(MIB, {})
    assert (tile.width, tile.height, tile.depth, tile.fields) == (512, 256, 2, 4)
    assert tile.state_bytes == 2 * 4 * 516 * 260 * 8
    assert tile.face_bytes == (2 * 4 * 8 * 256, 2 * 4 * 8 * 516)
    assert tile.message_bytes == 3 * 2 * (2 * 4 * 8 * 256 + 2 * 4 * 8 * 516)
    wide = tile_of(MIB, {"width_cells": 2048, "depth_cells": 1, "fields": 1})
    assert (wide.width, wide.height, wide.depth, wide.fields) == (2048, 64, 1, 1)


@pytest.mark.parametrize(
    "size, options, reason",
    [
        (MIB, {"width_cells": 3}, "no whole rows of 3 cells"),
        (12, {}, "no whole rows"),
        (256, {"width_cells": 32, "depth_cells": 2}, "a tile of 32 × 1 cells has no halo of 2 cells"),
    ],
)
def test_cells_that_make_no_tile(size: int, options: dict[str, int], reason: str) -> None:
    """Catches a tile whose face reaches into the halo beyond."""
    with pytest.raises(ValueError, match=reason):
        tile_of(size, options)


@given(st.integers(1, 256))
def test_grids_hold_all_ranks(ranks: int) -> None:
    """Catches ranks outside of the grid, and a grid that is higher than wide."""
    columns = columns_of(ranks, {})
    assert ranks % columns == 0 and columns >= ranks // columns
    assert not any(ranks % more == 0 for more in range(ranks // columns + 1, columns))


def test_ranks_that_do_not_fill_the_grid() -> None:
    """Catches a grid with a hole."""
    assert columns_of(6, {"columns": 2}) == 2
    with pytest.raises(ValueError, match="6 ranks do not fill rows of 4"):
        columns_of(6, {"columns": 4})


def test_the_native_core_is_told_everything() -> None:
    """Catches a default that Python and the native core have each for themselves."""
    told = native_options("halo", MIB, 4, {"transport": "xccl"})
    assert told == {
        "columns": 2,
        "transport": "xccl",
        "timed": "iteration",
        "packing": "fused",
        "width_cells": 512,
        "height_cells": 256,
        "depth": 2,
        "fields": 4,
    }
    told = native_options("particles", MIB, 3, {"timed": "exchange", "packing": "original"})
    assert told == {
        "columns": 3,
        "transport": "mpi",
        "timed": "exchange",
        "packing": "original",
        "crossing": 10,
        "message_bytes": 65536,
    }


@pytest.mark.parametrize(
    ("size", "ranks", "batches", "largest"),
    [
        (
            1344000000,
            4,
            10,
            2 * 104999 // 20 * 128 + 128,
        ),  # 104,999.6 leave to two neighbours: 10,500 a message
        (64000000, 4, 10, 500 * 128),
        (64000000, 2, 10, 1000 * 128),  # one neighbour
        (64000000, 4, 1000, 5 * 128),
        (12800, 4, 1000, 128),  # one particle at least
        (2**34, 2, 1, 2**24),  # what the native core takes at most
    ],
)
def test_messages_of_batches(size: int, ranks: int, batches: int, largest: int) -> None:
    """Catches messages that stay as small as they are where the problem grows, and a message of nothing."""
    told = native_options("particles", size, ranks, {"batches": batches})
    assert told["message_bytes"] == largest and "batches" not in told


def case_of(transport: str, timed: str, pattern: str = "halo", ends: str = DEVICE, **more: int) -> Case:
    buffers = [Buffer.parse(f"{rank}/{ends.format(rank)}") for rank in range(4)]
    flow = Flow(buffers[0], buffers[0], "gpu0", others=tuple((one, one) for one in buffers[1:]))
    named = {"transport": transport} if transport != "mpi" else {}
    options = {**named, **({"timed": timed} if timed != "iteration" else {}), **more}
    return Case(pattern, pattern, (flow,), MIB, "warm", options)


@pytest.mark.parametrize("transport", ["xccl", "hybrid"])
def test_rccl_takes_managed_messages_with_xnack_only(transport: str) -> None:
    """Catches cases planned to fail, each of which takes a process from all others on its GPUs."""
    case = case_of(transport, "iteration", ends="gpu{0}:managed")
    said = "RCCL takes managed memory with XNACK only (HSA_XNACK=1), and 0/gpu0:managed is managed"

    def told(case: Case, machine: tuple[Topology, Capabilities]) -> str | None:
        topology, found = machine
        there = in_environment(case, found)
        return transport_refusal(LegalityContext(case, case.flows[0], topology, found, there))

    assert told(case, machines.frontier()) == said
    assert told(case, machines.frontier(pageable_access=True)) is None
    assert told(replace(case, environment={"HSA_XNACK": "1"}), machines.frontier()) is None
    assert told(case, machines.h200x4()) is None
    assert told(case_of(transport, "iteration", ends=DEVICE), machines.frontier()) is None


@pytest.mark.parametrize(
    "transport, by_xccl, by_mpi",
    [("mpi", False, True), ("mpi-staged", False, False), ("xccl", True, False), ("hybrid", True, True)],
)
def test_what_carries_a_case(transport: str, by_xccl: bool, by_mpi: bool) -> None:
    """Catches a communicator of NCCL that is missing, and a trial of MPI with memory that it never gets."""
    case = case_of(transport, "iteration")
    assert (case.transport, case.by_xccl, case.by_mpi) == (transport, by_xccl, by_mpi)
    flow = Flow(Buffer("cpu0", "pageable", rank=0), Buffer("cpu0", "pageable", rank=1), "cpu0")
    messages = Case("mpi", "unidirectional", (flow,), MIB)
    assert (messages.transport, messages.by_xccl, messages.by_mpi) == ("", False, True)


def add(build: Builder, case: Case, time_ns: float, evidence: str = "2 messages; by MPI") -> None:
    """A measured case, with the fields that a run writes for it."""
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu0")], 1.0, latency_ns=time_ns, cache="warm")
    flow = case.flows[0]
    for number in range(-build.rounds, 0):
        build.records[number] = replace(
            build.records[number],
            case_id=case.case_id,
            interface=case.interface,
            category="application",
            pattern=case.pattern,
            path=case.path,
            executor="gpu0",
            access="local",
            source=str(flow.source),
            destination=str(flow.destination),
            flows=[flow.to_json()],
            size_bytes=case.size_bytes,
            options=dict(case.options),
            counts=str(case.options.get("timed", "iteration")),
            engine="mpi",
            engine_evidence=evidence,
            evidence=evidence_in(evidence),
        )


def test_a_table_has_both_times_and_the_best_choice_is_told(tmp_path: Path) -> None:
    """Catches times of two choices in one row, a share that is turned, and a gain without what it is over."""
    build = Builder(run_builder.topology(4))
    for transport, whole, part in (
        ("mpi", 200e3, 100e3),
        ("mpi-staged", 400e3, 300e3),
        ("xccl", 160e3, 50e3),
    ):
        add(build, case_of(transport, "iteration"), whole)
        add(build, case_of(transport, "exchange"), part)
    index = Index(RunFolder(build.write(tmp_path)))
    topic = subject.topic(index)
    assert topic is not None
    table, beside = topic.tables
    assert table.title == "halo of 4 ranks, 1 MiB of a field per rank, on GPUs"
    assert [(row[0], *row[4:]) for row in table.rows] == [
        ("MPI", "200", "100", "50 %"),
        ("staged MPI", "400", "300", "75 %"),
        ("NCCL/RCCL", "160", "50", "31 %"),
    ]
    (row,) = beside.rows
    assert row[0] == "CloverLeaf, clover_exchange, hipMalloc: MPI to RCCL"
    assert (row[1], row[2], row[4], row[5]) == ("1 MiB", "2", "1.5", "1.33")
    found = {finding.title: finding for finding in subject.best_over_staging(index)}
    assert set(found) == {
        f"halo of 4 ranks, 1 MiB, {part} times as long as NCCL/RCCL: {times}"
        for part, times in (
            ("iteration: staged MPI takes 2.5", "400 µs vs 160 µs"),
            ("exchange: staged MPI takes 6", "300 µs vs 50 µs"),
        )
    }
    (claim,) = next(iter(found.values())).claims
    assert claim.leads and claim.low < claim.effect < claim.high


def test_one_round_ranks_nothing(tmp_path: Path) -> None:
    """Catches a ratio of two figures whose spread between rounds is unknown."""
    build = Builder(run_builder.topology(4), rounds=1)
    for transport, time_ns in (("mpi", 100e3), ("mpi-staged", 300e3), ("xccl", 50e3)):
        add(build, case_of(transport, "exchange"), time_ns)
    index = Index(RunFolder(build.write(tmp_path)))
    topic = subject.topic(index)
    assert topic is not None and len(topic.tables) == 1
    assert list(subject.best_over_staging(index)) == []


def test_what_fell_back_is_told_and_compared_with_nothing_published(tmp_path: Path) -> None:
    """Catches a time of staging that is shown as that of peer memory."""
    why = "2 messages; kernels fell back to mpi-staged: rank 0: no peer access; messages by MPI"
    build = Builder(run_builder.topology(4))
    add(build, case_of("kernels", "iteration"), 300e3, why)
    index = Index(RunFolder(build.write(tmp_path)))
    topic = subject.topic(index)
    assert topic is not None
    assert topic.tables[0].note == "kernels fell back to mpi-staged: rank 0: no peer access"
    add(build, case_of("mpi-staged", "iteration"), 400e3)
    again = Index(RunFolder(build.write(tmp_path / "again")))
    assert list(subject.best_over_staging(again)) == []


def test_without_staging_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    """Catches another choice that is taken for the naive one."""
    build = Builder(run_builder.topology(4))
    for transport, time_ns in (("mpi", 100e3), ("xccl", 50e3)):
        add(build, case_of(transport, "iteration"), time_ns)
    index = Index(RunFolder(build.write(tmp_path)))
    assert list(subject.best_over_staging(index)) == []


@pytest.mark.parametrize("gain", [gain for gain in gains() if gain.seconds], ids=lambda gain: gain.id)
def test_published_ratios_are_those_of_the_published_times(gain: PublishedGain) -> None:
    """Catches a ratio that was typed in from another row: the source rounds its factors to a tenth."""
    before, after = gain.seconds
    assert before / after == pytest.approx(gain.ratio[0], abs=0.051) and gain.ratio[0] == gain.ratio[1]


def test_published_rows_name_choices_that_exist() -> None:
    """Catches a row that no run can ever be set beside."""
    assert len({gain.id for gain in gains()}) == len(gains()) == 5
    for gain in gains():
        assert gain.pattern in ("halo", "particles") and gain.timed in ("iteration", "exchange")
        low, high = gain.ratio
        assert gain.published in (f"{low:g}", f"{low:g} to {high:g}")
        assert {gain.before.transport, gain.after.transport} <= {"mpi", "xccl"}
