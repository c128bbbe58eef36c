"""Sentences on a simulated run do not speak of measuring."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.results.index import Index
from byteways.questions.findings import findings
from byteways.record.run_folder import RunFolder
from byteways.record.simulation_mark import MEASURED, SIMULATED, voice_of
from scripts.unpack_examples import recorded
from tests.unit.said_of_runs import BUILT


def as_simulated(folder: Path) -> Index:
    """A measured run whose manifest says that it was simulated: its records are written by the same code."""
    index = Index.of(RunFolder(folder))
    index.manifest = {**index.manifest, "simulated": True, "machine_model": {"name": "a model"}}
    return index


def test_the_voice_is_that_of_the_run() -> None:
    """Catches findings on a model worded as measured ones, and the other way round."""
    assert voice_of({"simulated": True}) == SIMULATED and voice_of({}) == MEASURED
    advice = "was measured on “measured” pages"
    assert SIMULATED.quote(advice) == "was simulated on “measured” pages" and MEASURED.quote(advice) == advice


@pytest.mark.parametrize("name", ["one-round", "slow-pair", "messages", "h200x4-rounds/quick"])
def test_no_finding_on_a_model_speaks_of_measuring(name: str, tmp_path: Path) -> None:
    """Catches a sentence whose maker took no voice: its words are right of measured runs alone."""
    index = as_simulated(BUILT[name]().write(tmp_path / "run") if name in BUILT else recorded(name))
    found = findings(index)
    assert found and all(one.title.startswith("Simulated: ") for one in found)
    for one in found:
        assert SIMULATED.quote(f"{one.title}: {one.detail}") == f"{one.title}: {one.detail}"
