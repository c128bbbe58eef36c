"""Tables of single topics, cell by cell: what is in them, what is left out, and how it is shaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.explain.results.summary import cells
from byteways.explain.studies import topic as study_topic
from byteways.explain.studies.outcome import FigureOutcome
from byteways.explain.studies.rows import ValueRow
from byteways.explain.subjects import calls, memory_kinds, saturation, series, stream
from byteways.explain.subjects.concurrency import _together
from byteways.record import warnings
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.report import run_builder
from tests.report.run_builder import GIB, MIB, Builder

TO = "gpu0:device"


def built(folder: Path, *measured: tuple[str, str, float, Mapping[str, Any]]) -> RunFolder:
    """A run of copies to gpu0: interface, source, GB/s and further fields of each."""
    builder = Builder(run_builder.topology(gpus=2, cpus=2))
    for interface, source, rate, fields in measured:
        builder.measure(interface, [(source, TO, "gpu0")], rate, **fields)
    return RunFolder(builder.write(folder))


def test_memory_by_who_touched_it(tmp_path: Path) -> None:
    """Catches warm, optional or environment's results in the table of plain ones, and a column's own best."""
    folder = built(
        tmp_path,
        ("copy", "cpu0:pageable", 10.0, {}),
        ("copy", "cpu0:pageable@gpu0", 5.0, {}),
        ("copy", "cpu0:managed@cpu1", 20.0, {}),
        ("kernel", "cpu0:managed@cpu1", 40.0, {}),
        ("copy", "cpu0:pinned", 50.0, {"size": MIB}),  # not of the largest size
        ("copy", "cpu0:pinned", 51.0, {"cache": "warm"}),
        ("copy", "cpu0:pinned", 52.0, {"options": {"gate": "no"}}),
        ("copy", "cpu0:write-combined", 53.0, {}),
    )
    records = [
        replace(one, environment={"A": "1"}) if one.source == "cpu0:write-combined" else one
        for one in folder.records
    ]
    found = memory_kinds.topic(folder, cells(records))
    assert found is not None
    (table,) = found.tables
    assert table.headings == ("source memory", "first touch", "copy as read, GB/s", "kernel as read, GB/s")
    assert table.rows == (
        ("pageable", "its owner", "10.00", ""),
        ("pageable", "a GPU", "5.00", ""),
        ("managed", "another CPU", "20.00", "40.00"),
    )
    assert table.heat == ((None, None, 0.5, None), (None, None, 0.25, None), (None, None, 1.0, 1.0))


def test_no_table_where_every_owner_touched_its_memory(tmp_path: Path) -> None:
    """Would catch a table of first-touch effects without anything to compare."""
    folder = built(tmp_path, ("copy", "cpu0:pageable", 10.0, {}), ("copy", "cpu0:pinned", 50.0, {}))
    assert memory_kinds.topic(folder, cells(folder.records)) is None


@pytest.mark.parametrize(
    ("observed", "required", "said"),
    [
        (10e9, 15e9, "10 GB/s together; the rates of the flows while each ran add up to 15 GB/s"),
        ("10 GB/s", "15 GB/s", "10 GB/s together, 15 GB/s required"),
        ("10 GB/s", 15e9, "10 GB/s together, 15000000000.0 required"),
        (10e9, "15 GB/s", "10000000000.0 together, 15 GB/s required"),
    ],
)
def test_rates_of_flows_that_took_turns(observed: Any, required: Any, said: str) -> None:
    """Catches a warning of an older version, whose words are not numbers, that ends the report."""
    assert _together(replace(warnings.make("serialised", 0, 0), observed=observed, required=required)) == said


def row(line: str, size: int, ours: float | None, of_peak: float | None = None) -> ValueRow:
    return ValueRow(line, "quad", size, None, False, "m", ours, None, "", "", of_peak)


def figure(*rows: ValueRow) -> FigureOutcome:
    told: Any = SimpleNamespace(title="Copies", locator="Fig. 3", unit="GB/s")
    return FigureOutcome(told, rows, (), {}, {}, ("a note", "another"))


def test_map_of_a_study() -> None:
    """Catches a shade beyond the range of the table, and a missing value taken for the lowest."""
    found = study_topic._map(
        figure(
            row("copy", MIB, 10.0),
            row("copy", GIB, 30.0, 0.6),
            row("kernel", GIB, 20.0),
            row("kernel", MIB, None),
        )
    )
    assert found.title == "Copies (Fig. 3), measured, GB/s and part of the peak"
    assert found.headings == ("method", "1 MiB", "1 GiB")
    assert found.rows == (("copy", "10", "30 (60.0 %)"), ("kernel", "–", "20"))
    assert found.heat == ((None, 0.0, 1.0), (None, None, 0.5))
    assert found.note == "a note; another"


def test_map_of_equal_values() -> None:
    """Catches a division by a range of nothing."""
    found = study_topic._map(figure(row("copy", MIB, 10.0), row("copy", GIB, 10.0)))
    assert found.heat == ((None, 0.0, 0.0),)
    assert found.title == "Copies (Fig. 3), measured, GB/s"


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


@pytest.mark.parametrize(
    ("interface", "waits"),
    [("synchronize", True), ("launch", False), ("event", False), ("unregister", False)],
)
def test_which_call_blocks(interface: str, waits: bool) -> None:
    """Catches a call that nothing can run behind told as one that others follow."""
    told: Any = SimpleNamespace(record=SimpleNamespace(interface=interface, options={}))
    assert calls._is_host_call(told) is waits


def test_what_blocks_to_saturate_counts() -> None:
    """Catches the two ways of counting exchanged."""
    assert saturation.COUNT_NAMES[False] == "one direction" and saturation.COUNT_NAMES[True] == "read + write"


def test_a_repeated_run_without_data_has_no_series(tmp_path: Path) -> None:
    """Catches an empty topic, and one of a run that was not repeated."""
    folder = built(tmp_path / "once", ("copy", "cpu0:pinned", 50.0, {}))
    assert series.topic(folder, cells(folder.records)) is None
    builder = Builder(run_builder.topology(2), rounds=1)
    builder.options = {"for_s": 60.0}
    builder.measure("copy", [("cpu0:pinned", TO, "gpu0")], 50.0)
    repeated = RunFolder(builder.write(tmp_path / "one"))
    assert series.topic(repeated, cells(repeated.records)) is None
