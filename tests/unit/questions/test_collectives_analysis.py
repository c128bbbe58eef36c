"""What is told of collectives of ranks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.answers.results.index import Index
from byteways.questions.subjects import collectives
from byteways.questions.subjects.collectives import time_of
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.report import run_builder
from tests.report.rank_runs import together
from tests.report.run_builder import MIB, Builder
from tests.unit.rank_indices import column, topic_of


def test_the_leading_way_is_named_with_its_settings(tmp_path: Path) -> None:
    """Catches a library whose default way is slower that leads by a setting which is not named, and a library
    by its interface's name in a table that calls it NCCL.
    """
    build = Builder(run_builder.topology(4))
    place = "gpu*:device"
    together(build, "allgather", MIB, 565e3, interface="xccl", place=place)
    together(build, "allgather", MIB, 609e3, interface="direct", place=place)
    together(build, "allgather", MIB, 436e3, interface="direct", place=place, mechanism="copy")
    index = Index(RunFolder(build.write(tmp_path)))
    table = topic_of(index, "collectives").tables[0]
    assert table.headings == ("size", "NCCL", "direct", "direct mechanism=copy", "fastest", "margin")
    assert column(table, "fastest") == ["direct mechanism=copy"]
    (margin,) = column(table, "margin")
    assert margin.endswith(" over NCCL")


def test_tables_of_loops_of_osu(tmp_path: Path) -> None:
    """Catches the size of all blocks where OSU prints that of one, and extremes of ranks without a clock."""
    build = Builder(run_builder.topology(0))
    together(build, "allreduce", 32, 1200.0, timing="osu")
    together(build, "alltoall", 128, 3000.0, timing="osu")
    present = {"begin_ns": 0.0, "end_ns": 0.0, "begins_last": 0.25, "no_cpu": None}
    times_ns = [1100.0, 1150.0, 1250.0, 1300.0]
    build.records = [
        replace(one, ranks=[{**present, "rank": rank, "time_ns": time} for rank, time in enumerate(times_ns)])
        if one.pattern == "allreduce"
        else one
        for one in build.records
    ]
    index = Index(RunFolder(build.write(tmp_path)))
    means, least, most, rates = topic_of(index, "collectives").tables
    assert means.title == "MPI, 0-3/cpu0, pageable memory, warm, osu: time, µs"
    assert means.rows == (("32 B", "1.2", "3"),) and means.note.startswith("Timed as in OSU's programs: ")
    assert least.title.endswith(": min over ranks, µs") and least.rows == (("32 B", "1.1", ""),)
    assert most.rows == (("32 B", "1.3", ""),) and rates.rows[0][0] == "32 B"


def test_sizes_rounded_for_blocks_share_a_row() -> None:
    """Catches two rows named 16 MiB, and sizes that differ in one row."""
    rounded = 16 * MIB - 16 * MIB % 24
    assert collectives._rows_of([16 * MIB, rounded, 24, 8, 64]) == {
        16 * MIB: 16 * MIB,
        rounded: 16 * MIB,
        24: 24,
        8: 8,
        64: 64,
    }


def test_barrier_alone_has_a_table(tmp_path: Path) -> None:
    """Catches a barrier that is told nowhere when nothing else was measured."""
    build = Builder(run_builder.topology(0))
    together(build, "barrier", 8, 900.0)
    index = Index(RunFolder(build.write(tmp_path)))
    (table,) = topic_of(index, "collectives").tables
    assert table.rows == (("0-3/cpu0", "pipelined", "", "0.9"),)


@pytest.mark.parametrize(
    ("pattern", "time_ns", "expected"),
    [("allreduce", 2000.0, 2000.0), ("allreduce", None, 7.0), ("barrier", 2000.0, 7.0)],
)
def test_time_of_a_collective(pattern: str, time_ns: float | None, expected: float) -> None:
    """Catches a bandwidth told as a time: a barrier's value is its time, that of others is a rate."""
    cell: Any = SimpleNamespace(
        record=SimpleNamespace(pattern=pattern), time_ns=time_ns, value=7.0, low=6.0, high=8.0
    )
    found = time_of(cell)
    assert found.value == expected
    assert (found.low, found.high) == (
        (6.0, 8.0) if expected == 7.0 else (pytest.approx(2000 * 7 / 8), pytest.approx(2000 * 7 / 6))
    )
