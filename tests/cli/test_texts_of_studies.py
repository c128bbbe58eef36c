"""What is said of reproduced studies, compared with what was said before."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.called import byteways
from tests.cli.expected_of_studies import EXPECTED
from tests.cli.reproduced import reproduced
from tests.cli.texts_of_studies import FOLDER, RUNS, text_of

#: Of these no other test needs the run.
SLOW = (
    "herten2022-jureca-mi250",
    "memcpy-peer-mi300x-8",
    "schieffer2024-frontier-mi250x",
    "schieffer2025-elcap-mi300a",
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in RUNS]
)
def test_a_study_says_what_it_said(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Catches any figure, verdict, note or reason that changes with a change of something else; and cases and
    figures that no longer meet, or a verdict that changes with the models, where the text was renewed.

    Renew: python -m tests.cli.texts_of_studies
    """
    study = reproduced(tmp_path_factory, name)
    assert text_of(study.folder, study.stdout) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    patterns, verdicts = EXPECTED.get(name, ((), {}))
    assert [pattern for pattern in patterns if not re.search(pattern, study.stdout)] == []
    if verdicts:
        again = byteways(study.folder, "reproduce", RUNS[name][0], "--from", "R", "--json")
        found = {one["id"]: one["verdict"] for one in json.loads(again.stdout)["claims"]}
        assert {claim: found[claim] for claim in verdicts} == verdicts


def test_every_text_is_compared() -> None:
    """Catches a file that nothing computes any more, and expectations of a study that nothing reproduces."""
    assert {path.stem for path in FOLDER.iterdir()} == set(RUNS)
    assert EXPECTED.keys() <= RUNS.keys()
