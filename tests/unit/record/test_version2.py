"""Records of schema version 2 in today's form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from byteways.cases.reasons import OUT_OF_TIME, PAGES_LAND_ELSEWHERE
from byteways.record.journal_lines import JournalLines
from byteways.record.record import SCHEMA_VERSION, Record
from tests.report import sample_run


def read(schema_version: int = 2, **fields: Any) -> Record:
    """Returns the first record of a sample run with these fields, as a journal's reader gives it."""
    data = {**sample_run.cpu_only().records[0].to_json(), **fields}
    return JournalLines(schema_version=schema_version).record(json.dumps(data).encode())


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


@pytest.mark.parametrize(
    ("sentence", "fields"),
    [
        ("windows of 64 messages, each acknowledged", {"window": 64}),
        ("windows of 1 message; the loop of OSU's program: 20 iterations after 2", {"window": 1}),
        (
            "RCCL 2.18.3: send and receive between two GPUs, one process each",
            {"library": "RCCL", "library_version": "2.18.3"},
        ),
        (
            "4 messages; copies fell back to mpi-staged: rank 0: no peer access; messages by MPI",
            {"fallback": {"asked": "copies", "used": "mpi-staged", "reason": "rank 0: no peer access"}},
        ),
        ("one message at a time, blocking send and receive", None),
        (None, None),
    ],
)
@pytest.mark.parametrize("schema_version", [2, SCHEMA_VERSION])
def test_facts_of_an_evidence(
    schema_version: int, sentence: str | None, fields: dict[str, Any] | None
) -> None:
    """Catches a fact that is lost with the words of an older run, and words of today that are parsed."""
    found = read(schema_version, engine_evidence=sentence)
    expected = fields if schema_version == 2 else None
    assert found.to_json().get("evidence") == expected
    if fields is not None:
        assert read(SCHEMA_VERSION, evidence=fields).to_json()["evidence"] == fields


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        ("skipped", "left out to fit the budget of 5 s", OUT_OF_TIME),
        ("skipped", "dropped to fit the budget of 5 s", OUT_OF_TIME),
        ("skipped", "the pages would land on cpu0, and not on cpu1", PAGES_LAND_ELSEWHERE),
        ("skipped", "gpu0 has no pool memory", None),
        ("failed", "left out to fit", None),
    ],
)
def test_codes_of_reasons(status: str, reason: str, code: str | None) -> None:
    """Catches an older case that was left out and counts as skipped, and words of today that are parsed."""
    fields = {"status": status, "reason": reason, "time_ns": None, "bandwidth_bytes_per_s": None}
    older = read(**fields)
    assert older.reason_code == code
    assert older.display_status == ("left out" if code == OUT_OF_TIME else status)
    assert read(SCHEMA_VERSION, **fields).reason_code is None
    assert read(SCHEMA_VERSION, **fields, reason_code=OUT_OF_TIME).reason_code == OUT_OF_TIME


DEADLOCK = "MPI_Allgather: error 1001 (allgather: deadlock: rank 0 waits for rank 1 in allgather; rank 1 {})"


@pytest.mark.parametrize(
    ("reason", "rank"),
    [
        (DEADLOCK.format("has left"), 1),
        (DEADLOCK.format("is dead"), 1),
        (f"rank 0: Error: {DEADLOCK.format('waits for nothing: it never enters split')}", 1),
        ("no answer within 20 s; rank 1 (gpu1, process 7 on node7) is stopped", 1),
        ("worker ended; rank 1 (process 7 on node7) ended first", 1),
        ("rank 1 (gpu1, process 7 on node7) failed in set-up: no memory", 1),
        ("rank 1 (gpu1, process 7 on node7): cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY", 1),
        ("rank 0: CUDA_ERROR_UNKNOWN", 0),
        ("gpu1 does not answer any more, and so rank 0 waits for rank 1", None),
        ("worker ended by SIGSEGV", None),
    ],
)
def test_the_rank_of_a_failure(reason: str, rank: int | None) -> None:
    """Catches the rank that waits blamed for the one that does not come, and words of today parsed."""
    fields = {"status": "failed", "reason": reason, "time_ns": None, "bandwidth_bytes_per_s": None}
    blame = read(**fields).blame
    assert (blame.rank if blame else None) == rank
    assert read(SCHEMA_VERSION, **fields).blame is None


def test_the_device_of_a_failed_call() -> None:
    """Catches a device that older runs blame in words alone, and words of today that are parsed."""
    reason = "rank 1 failed in set-up: cuMemAlloc: CUDA_ERROR_UNKNOWN (unknown error) on gpu2; see on gpu3"
    fields = {"status": "failed", "reason": reason, "time_ns": None, "bandwidth_bytes_per_s": None}
    assert read(**fields).to_json()["blame"] == {"device": "gpu2", "rank": 1}
    assert read(**{**fields, "reason": "copy: not available on gpu2"}).blame is None
    assert read(SCHEMA_VERSION, **fields).blame is None
    assert read(SCHEMA_VERSION, **fields, blame={"device": "gpu1"}).to_json()["blame"] == {"device": "gpu1"}
