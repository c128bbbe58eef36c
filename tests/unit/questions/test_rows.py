"""Rows on paper: what is refused, how large their buffers are, what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.best.best_interfaces import best_map
from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.cases.case import Case, Flow
from byteways.cases.pieces import pieces_of
from byteways.cases.pitched_rows import PitchedRows
from byteways.plan.footprint import flow_buffer_bytes
from byteways.plan.legality import refusal
from byteways.questions.findings import findings
from byteways.questions.subjects.rows import rivals, topic
from byteways.record.run_folder import RunFolder
from tests.report import sample_run
from tests.unit import machines

H200X4 = machines.h200x4()
KIB, MIB, GIB = sample_run.KIB, sample_run.MIB, sample_run.GIB


def case(interface: str = "copy-2d", size: int = MIB, **options: int | str) -> Case:
    flow = Flow.from_json({"source": "gpu0:device", "destination": "gpu1:device", "executor": "gpu0"})
    return Case(interface, "unidirectional", (flow,), size, options=options)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (case(pitch_bytes=0), "a pitch of 0 bytes makes all rows overlap"),
        (case(width_bytes=512, pitch_bytes=256), "rows of 512 bytes overlap at a pitch of 256"),
        (case(width_bytes=500, pitch_bytes=512), "multiples of 8 bytes"),
        (case(width_bytes=48, pitch_bytes=64), "1 MiB is not a multiple of the row width, 48 bytes"),
        (
            case(width_bytes=8, pitch_bytes=2**31),
            "pitch_bytes must be from 8 to 2147483647 (largest pitch of drivers, in bytes)",
        ),
        (case(width_bytes=8, pitch_bytes=2**20, size=GIB), "its buffers need"),
    ],
)
def test_what_cannot_be_is_refused_while_planning(what: Case, why: str) -> None:
    """Catches rows that a worker would only then find out to be none."""
    assert why in (refusal(what, *H200X4) or "")
    assert refusal(case(), *H200X4) is None
    assert refusal(case("kernel-2d"), *H200X4) is None


def test_defaults() -> None:
    """Catches a worker that is told other rows than the plan thought of."""
    what = case()
    assert pieces_of(what, what.flows[0]) == PitchedRows(4096, 8192, "source", MIB)


@pytest.mark.parametrize(
    ("width", "pitch", "slots"),
    [
        (4096, 4096, 256),  # 60 MiB of cache: a rotation of 256 MiB
        (4096, 8192, 256),
        (64, 4096, 256),
        (8, 4096, 32),  # a line of 64 bytes for every 8
    ],
)
def test_buffers_rotate_over_the_lines_that_are_touched(width: int, pitch: int, slots: int) -> None:
    """Catches cold buffers whose gaps are counted as touched, so that the rows stay in the cache."""
    what = case(width_bytes=width, pitch_bytes=pitch)
    size = flow_buffer_bytes(what, what.flows[0], lambda _: 60 * MIB)
    assert size == slots * (MIB // width) * pitch


def built() -> sample_run.Builder:
    """The packing kernel wins on narrow rows, the call on wide ones; a plain copy beside them."""
    build = sample_run.Builder(sample_run.topology(2))
    ends = [("gpu0:device", "gpu1:device", "gpu0")]
    build.measure("copy", ends, 390.0)
    for width, call, kernel in ((64, 20.0, 100.0), (4096, 380.0, 340.0)):
        options = {"width_bytes": width, "pitch_bytes": 8192, "strided": "source"}
        build.measure("copy-2d", ends, call, size=16 * MIB, options=options)
        build.measure("kernel-2d", ends, kernel, size=16 * MIB, options=options)
    return build


def test_rows_are_compared_with_rows_alone(tmp_path: Path) -> None:
    """Catches a packing kernel that is called slow beside a plain copy, or fast beside other rows."""
    found = cells(built().records)
    assert [(each.first.record.interface, each.shape.width_bytes) for each in rivals(found)] == [
        ("kernel-2d", 64),
        ("copy-2d", 4096),
    ]
    assert best_map(Index(RunFolder(built().write(tmp_path)))) is None
    titles = [finding.title for finding in findings(RunFolder(built().write(tmp_path)))]
    assert (
        "Between GPUs, rows of 64 B every 8 KiB: kernel-2d reaches 100 GB/s, 5 times as fast as copy-2d (20)"
        in titles
    )
    assert not any("2d" in title and "fastest" in title for title in titles)


def test_table(tmp_path: Path) -> None:
    """Catches figures under the wrong interface, and rows in another order than that of their width."""
    run = RunFolder(built().write(tmp_path))
    shown = topic(Index.of(run))
    assert shown is not None
    (table,) = shown.tables
    assert table.headings == ("work", "width", "pitch", "copy-2d", "kernel-2d")
    assert table.rows == (
        ("packing", "64 B", "8 KiB", "20.00", "100.0"),
        ("packing", "4 KiB", "8 KiB", "380.0", "340.0"),
    )


def test_a_shape_of_one_interface_hides_no_other() -> None:
    """Catches shapes that are not compared because one before them has no rival."""
    build = sample_run.Builder(sample_run.topology(2))
    options = {"width_bytes": 32, "pitch_bytes": 8192, "strided": "source"}
    build.measure("copy-2d", [("gpu0:device", "gpu1:device", "gpu0")], 9.0, size=16 * MIB, options=options)
    build.records += built().records
    found = rivals(cells(build.records))
    assert [each.shape.width_bytes for each in found] == [64, 4096]
