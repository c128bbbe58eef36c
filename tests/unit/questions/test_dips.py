"""Dips of a curve over size: one size below both neighbours in every round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.answers.claims.importance import Priority
from byteways.answers.results.index import Index
from byteways.questions.findings import findings
from byteways.questions.subjects.dips import dips
from byteways.record.run_folder import RunFolder
from tests.report import sample_run

MIB = sample_run.MIB
PAIR = [("gpu0:device", "gpu1:device", "gpu0")]


def run_of(folder: Path, rates: dict[int, float]) -> RunFolder:
    build = sample_run.Builder(sample_run.topology(2), rounds=3, spread=0.0)
    for size, rate in rates.items():
        build.measure("copy", PAIR, rate, size=size, peak=450)
    return RunFolder(build.write(folder))


def test_a_dip_is_named_with_both_neighbours(tmp_path: Path) -> None:
    """Would catch a curve that falls at one size unnoticed."""
    run = run_of(tmp_path, {MIB: 200.0, 4 * MIB: 150.0, 16 * MIB: 380.0, 64 * MIB: 390.0})
    (dip,) = dips(Index.of(run))
    assert dip.cell.record.size_bytes == 4 * MIB
    assert dip.part == pytest.approx(0.75, rel=0.01)
    (found,) = [one for one in findings(run) if one.priority is Priority.CURVE_DIP]
    assert [claim.leads for claim in found.claims] == [True, True]
    assert len(found.results) == 3


def test_what_is_faster_at_the_size_is_named(tmp_path: Path) -> None:
    """Would catch advice on another interface that nobody measured there, or that is no faster."""
    for rate, quoted in ((190.0, 4), (150.0, 3), (140.0, 3)):
        build = sample_run.Builder(sample_run.topology(2), rounds=3, spread=0.0)
        for size, own in ((MIB, 200.0), (4 * MIB, 150.0), (16 * MIB, 380.0)):
            build.measure("copy", PAIR, own, size=size, peak=450)
        build.measure("kernel", PAIR, rate, size=4 * MIB, peak=450)
        run = RunFolder(build.write(tmp_path / str(rate)))
        (found,) = [one for one in findings(run) if one.priority is Priority.CURVE_DIP]
        assert len(found.results) == quoted


@pytest.mark.parametrize(
    "rates",
    [
        {MIB: 200.0, 4 * MIB: 190.0, 16 * MIB: 380.0},  # less than 10 %
        {MIB: 200.0, 4 * MIB: 150.0, 16 * MIB: 140.0},  # a curve that falls
        {MIB: 200.0, 4 * MIB: 150.0},  # an end
        {MIB // 64: 200.0, 4 * MIB: 150.0, 64 * MIB: 380.0},  # nothing near it was measured
    ],
)
def test_no_dip(rates: dict[int, float], tmp_path: Path) -> None:
    """Would catch noise, falling curves and ends that are called dips."""
    assert dips(Index.of(run_of(tmp_path, rates))) == []


def test_a_dip_of_some_rounds_is_none(tmp_path: Path) -> None:
    """Would catch a disturbed round that is called a property of the machine."""
    run = run_of(tmp_path, {MIB: 200.0, 4 * MIB: 150.0, 16 * MIB: 380.0})
    path = run.path / "measurements.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        if record["size_bytes"] == 4 * MIB and record["round"] == 1:
            record["bandwidth_bytes_per_s"] = 300e9
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert dips(Index.of(RunFolder(run.path))) == []
