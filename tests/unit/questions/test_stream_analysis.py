"""STREAM in report and findings: where arrays lie, both counts, maxima, threads per block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.questions.subjects import stream
from byteways.questions.subjects import stream as topic_of
from byteways.questions.subjects.stream import other_count, place, thread_maps
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.report import run_builder
from tests.report.run_builder import GB, GIB, MIB, Builder, topology

LOCAL = [("gpu0:device", "gpu0:device", "gpu0")]
REMOTE = [("gpu1:device", "gpu1:device", "gpu0")]
KERNELS = ("stream-triad", "stream-copy")  # not in STREAM's order


def local_count(rate: float) -> dict[str, Any]:
    return {"counts": "per-direction", "bytes_per_s": rate * GB}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A scan in own memory, one size in a peer's, a map over threads, and a copy to be kept apart from."""
    builder = Builder(topology())
    for interface in KERNELS:
        for size, rate in ((64 * MIB, 3500.0), (GIB, 4000.0), (8 * GIB, 3990.0)):
            builder.measure(interface, LOCAL, rate, size=size, peak=4800, other_count=local_count(rate / 2))
        away = {"counts": "between-agents", "bytes_per_s": 740 * GB}
        away |= {"read_bytes_per_s": 370 * GB, "written_bytes_per_s": 370 * GB}
        builder.measure(interface, REMOTE, 740.0, size=GIB, peak=900, other_count=away)
    for threads, rate in ((128, 3600.0), (1024, 4000.0)):
        builder.measure("stream-add", LOCAL, rate, size=2 * GIB, options={"threads": threads})
    builder.measure("copy", LOCAL, 2100.0, size=GIB, peak=2400)
    return RunFolder(builder.write(tmp_path / "run"))


def test_places_name_every_array(folder: RunFolder) -> None:
    """Catches a second source that is not told: its figure would be taken for that of another placement."""
    [cell] = [cell for cell in cells(folder.records) if cell.record.options.get("threads") == 128]
    flow = {**cell.record.flows[0], "second_source": "cpu0:pinned"}
    mixed = replace(cell, record=replace(cell.record, flows=[flow]))
    assert place(mixed) == "gpu0, reads gpu0:device and cpu0:pinned, writes gpu0:device"


def test_both_counts_stand_side_by_side(folder: RunFolder) -> None:
    """Catches one count in the column of the other."""
    built = topic_of.topic(Index.of(folder))
    assert built is not None
    rows = {row[:2]: row[2:] for row in built.tables[0].rows}
    own = rows["gpu0, local device memory", "stream-copy"]
    assert own == ("8 GiB", "3990.0", "83 %", "1995.0", "", "", "4000.0", "1 GiB")
    assert rows["gpu0, all in gpu1:device", "stream-copy"][:6] == (
        "1 GiB",
        "740.0",
        "82 %",
        "",
        "370.0",
        "370.0",
    )
    assert [chart.y.scale == "log" for chart in built.charts] == [
        False,
        True,
    ]  # a place with one size has no curve
    assert built.charts[0].levels[0].at == 4000.0 and built.charts[0].marks[0].at == GIB


def test_threads_against_size_absolute_and_relative(folder: RunFolder) -> None:
    """Catches a map whose percentages are not of its own greatest figure."""
    [each] = thread_maps(cells(folder.records))
    assert (each.interface, each.threads, each.sizes) == ("stream-add", (128, 1024), (2 * GIB,))
    built = topic_of.topic(Index.of(folder))
    assert built is not None
    absolute, relative = built.tables[1:]
    assert absolute.rows == (("128", "3600.0"), ("1024", "4000.0"))
    assert relative.rows == (("128", "90.0"), ("1024", "100.0"))
    assert relative.heat == ((None, 0.0), (None, 1.0))


def test_the_other_count_is_of_all_replicates(folder: RunFolder) -> None:
    """Catches a sentence whose two counts of one figure are of two rounds."""
    first = next(record for record in folder.records if record.interface == "stream-copy")
    rounds = [
        replace(first, round=number, bandwidth_bytes_per_s=rate * GB, other_count=local_count(rate / 2))
        for number, rate in enumerate((3500.0, 3000.0, 2900.0))
    ]
    (cell,) = cells(rounds)
    assert cell.value == 3000 * GB
    assert other_count(cell) == ("per-direction", {"bytes_per_s": pytest.approx(1500 * GB)})


def test_map_of_threads_with_a_gap(tmp_path: Path) -> None:
    """Catches a size that was not measured with all numbers of threads."""
    builder = Builder(run_builder.topology())
    local = [("gpu0:device", "gpu0:device", "gpu0")]
    for threads, size, rate in ((128, GIB, 3600.0), (1024, GIB, 4000.0), (128, MIB, 3800.0)):
        builder.measure("stream-add", local, rate, size=size, options={"threads": threads})
    folder = RunFolder(builder.write(tmp_path))
    (each,) = stream.thread_maps(cells(folder.records))
    absolute, relative = (stream._map(each, relative=which) for which in (False, True))
    assert absolute.rows == (("128", "3800.0", "3600.0"), ("1024", "", "4000.0"))
    assert relative.rows == (("128", "95.0", "90.0"), ("1024", "", "100.0"))
    assert relative.heat == ((None, pytest.approx(0.5), 0.0), (None, None, 1.0))
