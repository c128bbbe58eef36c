"""A suite that is repeated for a time: how long, how many rounds, and what is said of the series."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from byteways.answers.results.index import Index
from byteways.answers.results.summary import cells
from byteways.base.units import format_duration, parse_duration
from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.measuring.conduct.execution import Repetition, repetition_of
from byteways.measuring.shared.options import RunOptions
from byteways.questions.findings import findings
from byteways.questions.subjects import series
from byteways.questions.subjects.series import changes
from byteways.questions.topics import topics
from byteways.record.run_folder import RunFolder
from tests.changed import replace
from tests.report import run_builder, sample_run
from tests.report.run_builder import Builder

TO = "gpu0:device"

COPY = [("gpu0:device", "gpu1:device", "gpu0")]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("0.5h", 1800), ("1m30", 90)],
)
def test_durations(text: str, seconds: float) -> None:
    """Catches a soak that ends sixty times too early."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "30 minutes", "-5m", "0", "0s", "1d"])
def test_what_is_no_duration(text: str) -> None:
    """Catches a slip of the pen that is taken for a time."""
    with pytest.raises(ValueError, match=r"duration|no time"):
        parse_duration(text)


def test_durations_read_back() -> None:
    """Catches a duration that is told in another unit than it is in."""
    told = [format_duration(seconds) for seconds in (45, 1800, 5400, 7200)]
    assert told == ["45 s", "30 min", "1 h 30 min", "2 h"]


def soak(values: list[float], **health: Any) -> sample_run.Builder:
    """One copy a minute, GB/s."""
    build = sample_run.Builder(sample_run.topology(2), rounds=1)
    build.options = {"for_s": 60.0 * len(values)}
    for number, value in enumerate(values):
        reading = {name: counts[number] for name, counts in health.items()}
        told = {"gpu0": {"before": reading, "after": reading}} if reading else None
        build.measure("copy", COPY, value, health=told)
        begun = f"2026-11-21T10:{number:02d}:00.000+00:00"
        build.records[-1] = replace(build.records[-1], round=number, started_at=begun)
    return build


def opened(build: sample_run.Builder, folder: Path) -> RunFolder:
    return RunFolder(build.write(folder))


def test_a_fall_is_found_with_its_size(tmp_path: Path) -> None:
    """Catches a link that becomes slower over a soak and is averaged away."""
    run = opened(soak([400, 401, 400, 399, 380, 381, 380]), tmp_path / "run")
    (change,) = changes(run, cells(run.records))
    assert change.settled
    assert change.relative == pytest.approx(380.5 / 400.5 - 1, rel=1e-3)
    said = next(finding for finding in findings(run) if "drifted over" in finding.title)
    assert "1 of 1 result drifted over 6 min and 7 rounds" in said.title
    assert "-5.0 %" in said.detail


def test_scatter_is_no_change(tmp_path: Path) -> None:
    """Catches noise that is called a change."""
    run = opened(soak([400, 380, 401, 399, 382, 400, 379]), tmp_path / "run")
    assert not changes(run, cells(run.records))[0].settled
    assert any("No lasting change in 1 result" in finding.title for finding in findings(run))


def test_counters_are_told_by_what_they_rose(tmp_path: Path) -> None:
    """Catches error counters that are shown as they stand since the machine was started."""
    run = opened(soak([400] * 4, pcie_replays=[7, 7, 8, 9], sm_clock_mhz=[1980, 1980, 1500, 1980]), tmp_path)
    (topic,) = [topic for topic in topics(Index.of(run)) if topic.anchor == "series"]
    table = topic.tables[1]
    row = dict(zip(table.headings, table.rows[0], strict=True))
    assert row["PCIe replays"] == "2"
    assert row["SM clock, MHz"] == "1500 to 1980"
    assert row["link errors"] == "unknown"


def planned(seconds: float) -> PlannedCase:
    flow = Flow(Buffer("gpu0", "device"), Buffer("gpu1", "device"), "gpu0")
    return PlannedCase(
        Case("copy", "unidirectional", (flow,), 4096), "sweep", 0, 0.1, 0.01, estimated_s=seconds
    )


def test_a_simulated_soak_counts_rounds() -> None:
    """Catches a simulated run that depends on how fast the machine is that plays it."""
    repetition = repetition_of([planned(10.0)], RunOptions(for_s=60.0), True)
    assert repetition is not None
    assert repetition.until(100.0) is None
    assert [repetition.over(number) for number in (1, 5, 6)] == [False, False, True]
    assert [case.round for case in repetition.round(3)] == [3]


def test_a_measured_soak_goes_by_the_clock() -> None:
    """Catches a soak that was taken up and runs its whole time again."""
    repetition = repetition_of([planned(10.0)], RunOptions(for_s=60.0), False, spent_s=20.0, begun=3)
    assert repetition == Repetition((planned(10.0),), 40.0, None, 3)
    assert repetition.until(100.0) == 140.0
    assert not repetition.over(10**6)


def test_nothing_to_repeat_ends() -> None:
    """Catches a soak of skipped cases that spins until its time is over."""
    skipped = replace(planned(1.0), reason="there is no such GPU")
    repetition = repetition_of([skipped], RunOptions(for_s=60.0), False)
    assert repetition is not None
    assert repetition.over(1)


def test_readings_go_by_their_time(tmp_path: Path) -> None:
    """Catches an error counter that falls because a later round stands first in the file, and a load of the
    host told as a GPU's clock.
    """
    build = soak([400] * 4, pcie_replays=[7, 8, 9, 12], power_mw=[300000, 310000, 305000, 0])
    build.records[:] = build.records[::-1]
    build.records[0] = replace(
        build.records[0], health={**(build.records[0].health or {}), "host": {"before": {"load": 1.0}}}
    )
    run = opened(build, tmp_path)
    (topic,) = [topic for topic in topics(Index.of(run)) if topic.anchor == "series"]
    table = topic.tables[1]
    assert [row[0] for row in table.rows] == ["gpu0"]
    row = dict(zip(table.headings, table.rows[0], strict=True))
    assert row["PCIe replays"] == "5"
    assert row["power, W"] == "300 to 310"


def built(folder: Path, *measured: tuple[str, str, float, Mapping[str, Any]]) -> RunFolder:
    """A run of copies to gpu0: interface, source, GB/s and further fields of each."""
    builder = Builder(run_builder.topology(gpus=2, cpus=2))
    for interface, source, rate, fields in measured:
        builder.measure(interface, [(source, TO, "gpu0")], rate, **fields)
    return RunFolder(builder.write(folder))


def test_a_repeated_run_without_data_has_no_series(tmp_path: Path) -> None:
    """Catches an empty topic, and one of a run that was not repeated."""
    folder = built(tmp_path / "once", ("copy", "cpu0:pinned", 50.0, {}))
    assert series.topic(Index.of(folder)) is None
    builder = Builder(run_builder.topology(2), rounds=1)
    builder.options = {"for_s": 60.0}
    builder.measure("copy", [("cpu0:pinned", TO, "gpu0")], 50.0)
    repeated = RunFolder(builder.write(tmp_path / "one"))
    assert series.topic(Index.of(repeated)) is None
