"""Tables of a run: which figures stand together, at which size, and under which words."""

from __future__ import annotations

from byteways.answers.best.best_interfaces import best_map
from byteways.answers.results.index import Index
from byteways.answers.results.selection import broadest_size
from byteways.answers.results.summary import cells
from byteways.questions.display.grids import matrices
from byteways.questions.display.table import Columns, figures, tabulated, words
from byteways.questions.subjects.latency import latency_tables
from byteways.questions.tables import patterns
from tests.report import sample_run
from tests.report.few_records import Fixture

GIB, MIB = sample_run.GIB, sample_run.MIB


def a_pair(build: sample_run.Builder, rate: float, *, size: int = GIB, **options: int | bool) -> None:
    build.measure("kernel", [("gpu0:device", "gpu1:device", "gpu1")], rate, size=size, options=options)


def test_a_column_brings_its_cells_its_kind_and_its_shade() -> None:
    """Catches a number that is aligned as text, or the shade of another column, after a column is added."""
    columns: Columns[tuple[str, float]] = (
        words("what", lambda row: row[0]),
        figures("GB/s", lambda row: f"{row[1]:.0f}", lambda row: row[1] / 4),
        words("remark", lambda row: ""),
        figures("half", lambda row: f"{row[1] / 2:.0f}"),
    )
    table = tabulated("Rates", columns, [("a", 4.0), ("b", 2.0)], "a note")
    assert (table.headings, table.numeric, table.notes) == (
        ("what", "GB/s", "remark", "half"),
        (1, 3),
        ("a note",),
    )
    assert table.rows == (("a", "4", "", "2"), ("b", "2", "", "1"))
    assert table.heat == ((None, 1.0, None, None), (None, 0.5, None, None))
    assert tabulated("Rates", columns[::2], [("a", 4.0)]).heat == ()  # no column is shaded


def test_what_one_pair_did_is_one_list() -> None:
    """Would catch a matrix of one cell for every option, and options that are not in the order of numbers."""
    build = sample_run.Builder(sample_run.topology(2))
    for blocks in (64, 8, 16):
        a_pair(build, 300.0 + blocks, blocks=blocks)
    (grid,) = matrices(cells(build.records))
    assert grid.title == "Between GPUs, one pair only at 1 GiB"
    assert [row[0] for row in grid.rows] == [
        f"kernel issued by the destination (blocks={blocks})" for blocks in (8, 16, 64)
    ]
    a_pair(build, 200.0, gate=False)
    assert "kernel issued by the destination (gate=false)" in [
        row[0] for row in matrices(cells(build.records))[0].rows
    ]


def test_few_small_transfers_do_not_stand_for_the_largest() -> None:
    """Would catch a table at 1 MiB because one pair more was measured there."""
    build = sample_run.Builder(sample_run.topology(3))
    a_pair(build, 370.0)
    for size in (MIB, GIB // 8):
        for peer in ("gpu1", "gpu2"):
            build.measure("kernel", [("gpu0:device", f"{peer}:device", peer)], 300.0, size=size)
    assert broadest_size(cells(build.records)) == GIB // 8


def test_patterns_stand_in_order_and_count_what_is_measured() -> None:
    """Would catch rows in the shuffled order of the run, a sum of what is measured and what disturbs."""
    build = sample_run.Builder(sample_run.topology(3))
    flows = [("gpu0:device", "gpu1:device", "gpu0"), ("gpu0:device", "gpu2:device", "gpu0")]
    whole = {"gpu0>gpu1": 180e9, "gpu0>gpu2": 190e9}
    for pattern in ("interference", "fan-out"):
        rates = (
            {"gpu0>gpu1": 190.0} if pattern == "interference" else {"gpu0>gpu1": 190.0, "gpu0>gpu2": 195.0}
        )
        build.measure(
            "copy", flows, rates, pattern=pattern, end_to_end_bytes_per_s=whole, load_bytes_per_s=195e9
        )
    (table,) = patterns(Index(Fixture(build.records))).tables
    shown = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    assert [(row["pattern"], row["total run"], row["background"]) for row in shown] == [
        ("fan-out", "370.0", ""),
        ("interference", "", "195.0"),
    ]
    assert shown[1]["each direction"] == "gpu0>gpu1 190.0"
    assert [cell.value for cell in table.members()] == [385e9, 190e9]


def walk(build: sample_run.Builder, executor: str, buffer: str, size: int, latency_ns: float) -> None:
    build.measure("pointer-chase", [(buffer, buffer, executor)], 0.0, size=size, latency_ns=latency_ns)


def test_what_has_no_common_working_set_has_a_table_of_its_own() -> None:
    """Would catch a place that goes missing, or that stands under a size at which it was not walked."""
    build = sample_run.Builder(sample_run.topology(0))
    walk(build, "cpu0", "cpu0:hugepage", GIB, 232.2)
    walk(build, "cpu0", "cpu0:pageable", 256 * MIB, 237.0)
    grids = latency_tables(cells(build.records))
    assert [(grid.title.partition("set ")[2], [cell.value for cell in grid.members()]) for grid in grids] == [
        ("1 GiB", [232.2]),
        ("256 MiB", [237.0]),
    ]


def test_best_interface_says_whether_caches_were_cold() -> None:
    """Would catch warm and cold figures compared with each other, or warm ones left out."""
    build = sample_run.Builder(sample_run.topology(0))
    flow = [("cpu0:hugepage", "cpu0:hugepage", "cpu0")]
    for cache, plain, stream in (("cold", 7.0, 12.0), ("warm", 200.0, 20.0)):
        build.measure("memcpy", flow, plain, size=MIB, cache=cache)
        build.measure("memcpy-stream", flow, stream, size=MIB, cache=cache)
    found = best_map(Index(Fixture(build.records)))
    assert found is not None
    assert [(label, [entry.variant.interface for entry in row if entry]) for label, row in found.rows] == [
        ("In host memory, cold", ["memcpy-stream"]),
        ("In host memory, warm", ["memcpy"]),
    ]
