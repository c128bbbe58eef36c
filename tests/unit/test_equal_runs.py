"""validation/equal_runs.py: what it compares, counts, and fails for."""

from __future__ import annotations

from pathlib import Path

import pytest

import byteways
import equal_runs
from tests.report import sample_run
from tests.report.run_builder import GIB
from tests.unit.test_comparison import folder_of

WRITE = [("gpu0:device", "gpu1:device", "gpu0")]


def test_a_model_under_two_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches runs of one seed, and cases that none of both has."""
    only = ["interface=copy,path=gpu0>gpu1,size=128MiB"]
    row = equal_runs.of_a_model("h200-x4", "quick", only)
    assert row.name == "h200-x4" and row.compared >= 1 and row.different == 0


def test_what_differs_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Catches a benchmark that reports success whatever differs."""
    runs = []
    for number, rate in enumerate((390.0, 300.0)):
        build = sample_run.Builder(sample_run.topology(2))
        build.measure("copy", WRITE, rate, size=GIB)
        build.measure("kernel", WRITE, 200.0, size=GIB)
        runs.append(byteways.load(folder_of(build, tmp_path / str(number)).path))
    row = equal_runs.row("both", *runs)
    assert row == equal_runs.Row("both", 2, 1)
    assert not equal_runs.table("title", [row])
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "         2          1    50.00  both",
        "         2          1    50.00  all",
    ]
    assert equal_runs.table("title", [equal_runs.Row("good", 100, 1)])
    assert not equal_runs.table("title", [equal_runs.Row("bad", 100, 2)])
