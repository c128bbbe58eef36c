"""Records of schema version 2 in today's form."""

from __future__ import annotations

import json
from typing import Any

from byteways.record.journal_lines import JournalLines
from byteways.record.record import Record
from tests.report import sample_run


def read(**fields: Any) -> Record:
    """Returns the first record of a sample run with these fields, as a journal's reader gives it."""
    data = {**sample_run.cpu_only().records[0].to_json(), **fields}
    return JournalLines().record(json.dumps(data).encode())


def test_a_health_reading_without_an_answer_is_null() -> None:
    """Catches −1 taken for a number, a zero taken for unknown, and a missing value without a reason."""
    answered = {"nvlink_errors": 0, "power_mw": 99}
    older = {"before": {"nvlink_errors": -1, "power_mw": 99}, "after": answered}
    host = {"load_1min": 0.5, "runnable": 1}
    health = read(
        health={"gpu0": older, "gpu1": {"before": answered, "after": answered}, "host": host}
    ).health
    assert health is not None
    assert health["gpu0"]["before"] == {"nvlink_errors": None, "power_mw": 99}
    assert health["gpu0"]["after"] == answered
    assert [*health["gpu0"]["unknown"]] == ["nvlink_errors"] and health["gpu0"]["unknown"]["nvlink_errors"]
    assert health["gpu1"] == {"before": answered, "after": answered} and health["host"] == host
    assert read(health=health).health == health, "today's form stays as it is"
