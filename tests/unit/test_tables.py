"""Tables of a run: which figures stand together, at which size, and under which words."""

from __future__ import annotations

import pytest

from byteways.explain.best.best_interfaces import best_map
from byteways.explain.display.curves import over_size
from byteways.explain.display.grids import inside_gpu, matrices
from byteways.explain.results.index import Index
from byteways.explain.results.obstacles import Reason, of_equal_devices, warning_groups
from byteways.explain.results.selection import broadest_size
from byteways.explain.results.summary import cells
from byteways.explain.subjects.latency import latency_tables
from byteways.explain.tables import patterns
from byteways.record.warnings import Warning
from tests.report import sample_run
from tests.report.few_records import Fixture

GIB, MIB = sample_run.GIB, sample_run.MIB


def a_pair(build: sample_run.Builder, rate: float, *, size: int = GIB, **options: int | bool) -> None:
    build.measure("kernel", [("gpu0:device", "gpu1:device", "gpu1")], rate, size=size, options=options)


def test_what_one_pair_did_is_one_list() -> None:
    """Would catch a matrix of one cell for every option, and options that are not in the order of numbers."""
    build = sample_run.Builder(sample_run.topology(2))
    for blocks in (64, 8, 16):
        a_pair(build, 300.0 + blocks, blocks=blocks)
    (grid,) = matrices(cells(build.records))
    assert grid.title == "Between GPUs, one pair only at 1 GiB"
    assert [row[0] for row in grid.rows] == [
        f"kernel, issued by the destination, blocks={blocks}" for blocks in (8, 16, 64)
    ]
    a_pair(build, 200.0, gate=False)
    assert "kernel, issued by the destination, gate=false" in [
        row[0] for row in matrices(cells(build.records))[0].rows
    ]


def test_managed_memory_says_on_which_end() -> None:
    """Would catch two tables of one name, one with migration and one without."""
    build = sample_run.Builder(sample_run.topology(2))
    for ends in (("gpu0:managed", "gpu1:device"), ("gpu0:device", "gpu1:managed")):
        build.measure("copy", [(*ends, "gpu1")], 300.0)
    assert [grid.title for grid in matrices(cells(build.records))] == [
        "copy, issued by the destination, device > managed, unidirectional at 1 GiB",
        "copy, issued by the destination, managed > device, unidirectional at 1 GiB",
    ]


def test_the_diagonal_is_of_the_matrix_own_size_and_memory() -> None:
    """Would catch a diagonal that another size or another memory fills, or that stays empty."""
    build = sample_run.Builder(sample_run.topology(2))
    for size, rate in ((GIB, 2000.0), (2 * GIB, 2100.0)):
        build.measure("kernel", [("gpu0:device", "gpu0:device", "gpu0")], rate, size=size)
    build.measure("kernel", [("gpu0:managed", "gpu0:managed", "gpu0")], 10.0)
    a_pair(build, 370.0)
    (grid,) = matrices(cells(build.records))
    assert [cell.result.value / 1e9 if cell else None for cell in grid.results[0][1:]] == [
        pytest.approx(2000.0),
        pytest.approx(370.0),
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


def test_options_have_charts_of_their_own() -> None:
    """Would catch twenty curves of options over those of the interfaces."""
    build = sample_run.Builder(sample_run.topology(2))
    for size in (MIB, GIB):
        a_pair(build, 370.0, size=size)
        a_pair(build, 360.0, size=size, blocks=8)
    titles = [family.title for family in over_size(cells(build.records), build.topology)]
    assert titles == ["Between GPUs, NVLink4 ×18", "Between GPUs, NVLink4 ×18, with options"]


@pytest.mark.parametrize(
    ("warning", "observed", "shown"),
    [
        ("serialised", 389.2e9, "389.2 GB/s"),
        ("unexpected-path", float(3 * GIB), "3 GiB"),
        ("placement", 0.875, "87.5 %"),
        ("clock-drop", 1593.0, "1593 MHz"),
        ("ungated", 0.0, "not gated"),
        ("bimodal", 7.1322, "7.132"),
    ],
)
def test_figures_of_warnings_have_units(warning: str, observed: float, shown: str) -> None:
    """Would catch bytes per second and shares written as bare numbers."""
    build = sample_run.Builder(sample_run.topology(2))
    flow = [("gpu0:device", "gpu1:device", "gpu0")]
    build.measure("copy", flow, 394.0, warnings=[Warning(warning, observed, None, "")])
    (group,) = warning_groups(build.records)
    assert (group.observed, group.required) == (shown, "")


def walk(build: sample_run.Builder, executor: str, buffer: str, size: int, latency_ns: float) -> None:
    build.measure("pointer-chase", [(buffer, buffer, executor)], 0.0, size=size, latency_ns=latency_ns)


def test_latencies_of_one_table_are_of_one_working_set() -> None:
    """Would catch hugepage memory at 1 GiB beside pageable memory at 256 MiB under one heading."""
    build = sample_run.Builder(sample_run.topology(1))
    for size, latency in ((256 * MIB, 180.0), (GIB, 232.2)):
        walk(build, "cpu0", "cpu0:hugepage", size, latency)
    walk(build, "cpu0", "cpu0:pageable", 256 * MIB, 237.0)
    walk(build, "gpu0", "gpu0:device", 256 * MIB, 640.0)
    walk(build, "gpu0", "cpu0:pinned", 256 * MIB, 1171.0)
    (grid,) = latency_tables(cells(build.records))
    assert grid.title == "Latency of a dependent load, working set 256 MiB"
    figures = {cell.record.source: cell.value for cell in grid.members()}
    assert figures == {
        "cpu0:hugepage": 180.0,
        "cpu0:pageable": 237.0,
        "gpu0:device": 640.0,
        "cpu0:pinned": 1171.0,
    }


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


def test_warm_caches_have_a_chart_of_their_own() -> None:
    """Would catch one warm figure that flattens all cold ones."""
    build = sample_run.Builder(sample_run.topology(0))
    flow = [("cpu0:hugepage", "cpu0:hugepage", "cpu0")]
    for cache in ("cold", "warm"):
        for size in (MIB, GIB):
            build.measure("memcpy", flow, 9.0, size=size, cache=cache)
    families = over_size(cells(build.records), build.topology)
    assert [family.title for family in families] == ["In host memory", "In host memory, warm caches"]


def test_sizes_are_named_where_a_table_has_several() -> None:
    """Would catch figures at 1 GiB beside others at 256 MiB, with no size to be seen."""
    build = sample_run.Builder(sample_run.topology(1))
    for interface, size in (("copy", 256 * MIB), ("kernel", GIB)):
        build.measure(interface, [("gpu0:device", "gpu0:device", "gpu0")], 2000.0, size=size)
    (mixed,) = inside_gpu(cells(build.records))
    assert (mixed.title, [row[0] for row in mixed.rows]) == (
        "Inside a GPU",
        ["copy, 256 MiB", "kernel, 1 GiB"],
    )
    (one,) = inside_gpu([cell for cell in cells(build.records) if cell.record.size_bytes == GIB])
    assert (one.title, [row[0] for row in one.rows]) == ("Inside a GPU at 1 GiB", ["kernel"])


def test_reasons_of_equal_devices_are_one_row() -> None:
    """Would catch a reason eight times over, or two that differ in more than a device in one row."""
    told = [
        Reason("skipped", "no bulk copies on gpu0: gpu0 is old", 9, "one", ("kernel-bulk",)),
        Reason("skipped", "no bulk copies on gpu10: gpu10 is old", 3, "two", ("kernel-bulk",)),
        Reason("skipped", "gpu0 cannot reach gpu1", 2, "three", ("copy",)),
        Reason("failed", "no bulk copies on gpu1: gpu1 is old", 1, "four", ("kernel-bulk",)),
        Reason("skipped", "gpu0 cannot reach gpu2", 2, "five", ("copy",)),
        Reason("skipped", "no bulk copies on gpu2: gpu2 is old", 1, "six", ("kernel",)),
    ]
    merged = of_equal_devices(told)
    assert [(one.reason, one.count) for one in merged] == [
        ("no bulk copies on gpu1: gpu1 is old", 1),
        ("no bulk copies on gpu0: gpu0 is old; the same for gpu2 and gpu10", 13),
        ("gpu0 cannot reach gpu1", 2),
        ("gpu0 cannot reach gpu2", 2),
    ]
    assert merged[1].interfaces == ("kernel-bulk", "kernel") and merged[1].example == "one"
