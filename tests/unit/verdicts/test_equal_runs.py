"""validation/equal_runs.py: what it compares, counts, and fails for."""

from __future__ import annotations

import pytest

import equal_runs
from byteways.models.library import names
from unpack_examples import EXAMPLES, recorded, unpack


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
