"""`byteways best` without a run: what it asks of the machine before it measures."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cases.question import question
from byteways.cli import best, measure_now
from byteways.measuring.conduct import plan_file
from byteways.measuring.conduct.time_limit import TimeLimit
from byteways.plan.question_suite import suite_of
from byteways.plan.suite_types import Suite
from tests.unit.legality import H200X4


def test_the_suite_is_made_for_the_machine_that_a_worker_opens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches a question that opens the machine twice: to make its suite, and to measure it."""
    suites: list[Suite] = []

    def rounds(suite: Suite) -> list[Any]:
        return [SimpleNamespace(text=suite.text, round=number) for number in range(suite.rounds + 2)]

    def measured(suite: Any, *_: Any, **__: Any) -> Any:
        suites.append(suite(H200X4[0]))
        return SimpleNamespace(manifest={"suite": {"text": suites[0].text}})

    monkeypatch.setattr(measure_now, "measure_from_python", measured)
    monkeypatch.setattr(plan_file, "read", lambda _, suite: SimpleNamespace(cases=rounds(suite)))
    asked = question("gpu0", "gpu1", "1MiB")
    _, planned = best._measured(asked, None, tmp_path, TimeLimit(None, 0.0))
    assert suites[0] == suite_of(asked, H200X4[0])
    # Rounds that were added where time was left are no part of the plan: none of them is missing.
    assert [(one.text, one.round) for one in planned] == [(suites[0].text, number) for number in range(3)]
