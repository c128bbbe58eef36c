"""validation/equal_runs.py: what it compares, counts, and fails for."""

from __future__ import annotations

from pathlib import Path

import pytest

import byteways
import equal_runs
from byteways.models.library import names
from tests.report import sample_run
from tests.report.run_builder import GIB
from tests.unit.verdicts.test_comparison import folder_of
from unpack_examples import EXAMPLES, recorded, unpack

WRITE = [("gpu0:device", "gpu1:device", "gpu0")]


def test_a_model_under_two_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    """Catches runs of one seed, and cases that none of both has."""
    only = ["interface=copy,path=gpu0>gpu1,size=128MiB"]
    row, wrong = equal_runs.of_a_model("h200-x4", "quick", only)
    assert (row.name, row.different, wrong) == ("h200-x4", 0, []) and row.compared >= 1


#: Recorded runs: of copies and kernels alone; of noisy messages, of which most are too noisy alone.
QUICK_ONES = ("h200x4-rounds/quick", "h100x4/halo")


@pytest.mark.parametrize("name", QUICK_ONES)
def test_verdicts_on_a_recorded_run(name: str) -> None:
    """Catches a healthy machine that fails, and a slow one that passes: all of it, or any case."""
    assert equal_runs.wrong_in_recorded(recorded(name)) == []


@pytest.mark.slow
def test_verdicts_on_every_recorded_run() -> None:
    """Catches the same where a run has other noise, suites or machines."""
    unpack()
    folders = [file.parent for file in EXAMPLES.rglob("run.json")]
    wrong = {str(one): equal_runs.wrong_in_recorded(one) for one in filter(equal_runs.judged, folders)}
    assert len(wrong) > 20 and not any(wrong.values()), wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_verdicts_on_every_model(name: str) -> None:
    """Catches a healthy machine that fails under another seed: for what no run of it can measure, or a case
    that differs by chance.
    """
    row, wrong = equal_runs.of_a_model(name, "quick", [])
    assert wrong == [] and row.compared > 50


def test_wrong_verdicts_are_told(tmp_path: Path) -> None:
    """Catches a validation that calls every verdict right."""
    runs = []
    for number, rate in enumerate((200.0, 390.0, 100.0)):
        build = sample_run.Builder(sample_run.topology(2))
        build.measure("copy", WRITE, rate, size=GIB)
        build.measure("kernel", WRITE, rate, size=GIB)
        runs.append(folder_of(build, tmp_path / str(number)))
    slow, fast, slower = runs
    assert equal_runs.wrong_verdicts(slow, slower) == ["equal: FAIL instead of PASS"]
    assert "a tenth slower: PASS instead of FAIL" in equal_runs.wrong_verdicts(slow, fast)


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
