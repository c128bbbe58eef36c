"""Runs that have lost rounds of some cases, or their manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.cli import main
from byteways.record.run_folder import JOURNAL
from tests.unit.verdicts.test_comparison import folder_of, pairs_run


@pytest.mark.parametrize("against", ["run", "peak"])
def test_lost_rounds_are_missing(against: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a run that passes because too few rounds are left to judge most of its cases."""
    run = folder_of(pairs_run(gpus=2), tmp_path / "run").path
    healthy = folder_of(pairs_run(gpus=2), tmp_path / "healthy").path
    reference = str(healthy) if against == "run" else against
    assert main(["check", str(run), "--against", reference]) == 0
    lines = (run / JOURNAL).read_text().splitlines(keepends=True)
    (run / JOURNAL).write_text("".join(lines[:-1]))
    capsys.readouterr()
    assert main(["check", str(run), "--against", reference]) == 1
    said = capsys.readouterr().out
    assert "MISSING" in said and " 1 of 3 rounds has no record" in said


def test_a_lost_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a folder of results that is called no run folder."""
    run = folder_of(pairs_run(gpus=2), tmp_path / "run").path
    (run / "run.json").unlink()
    assert main(["show", str(run)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {run} has lost its run.json\nhint: restore it from a copy; ")
    assert str(run / JOURNAL) in told
