"""Outcomes of failed cases: what a record needs of the error beside its sentence."""

from __future__ import annotations

import pytest

from byteways.answers.results.blamed_ranks import blamed_in
from byteways.cases.case import PlannedCase
from byteways.cases.reasons import (
    CALL_FAILED,
    MEANINGS,
    NO_ANSWER,
    OUT_OF_MEMORY,
    UNAVAILABLE,
    WORKER_ERROR,
    WORKER_LOST,
)
from byteways.measuring.conduct.losses import Losses
from byteways.measuring.conduct.recording import record_without_values
from byteways.measuring.work.failures import failed_by
from byteways.record.blame import FailureBlame
from tests.report import sample_run
from tests.report.run_builder import Builder
from tests.unit.legality import case


class DriverError(RuntimeError):
    """As the native core raises it."""

    def __init__(self, text: str, device: str) -> None:
        super().__init__(f"cuLaunchKernel: CUDA_ERROR_UNKNOWN ({text}) on {device}")
        self.call, self.text, self.device = "cuLaunchKernel", text, device


@pytest.mark.parametrize(
    ("error", "blame"),
    [
        (DriverError("unknown error", "gpu1"), {"device": "gpu1"}),
        (DriverError("", "gpu1"), None),  # refused before a call: nothing failed on the device
        (DriverError("unknown error", ""), None),
        (ValueError("on gpu1"), None),
    ],
)
def test_the_device_of_an_error(error: Exception, blame: dict[str, str] | None) -> None:
    """Catches a device that is taken from the words of an error, and one that is lost on the way."""
    outcome = failed_by(error, f"rank 0: {error}; a new worker continues")
    assert outcome.get("blame") == blame and outcome["status"] == "failed"
    assert outcome["reason"] == f"rank 0: {error}; a new worker continues"


def test_a_device_that_fails_calls_is_blamed_by_its_field() -> None:
    """Catches a report that reads the device in the reason, and one that finds none."""
    build = Builder(sample_run.topology(2))
    flows = [("gpu0:device", "gpu1:device", "gpu0")]
    build.lose("failed", "call (failed) on gpu0", "copy", flows, blame=FailureBlame("gpu1"))
    [(_, names)] = blamed_in({}, build.records).items()
    assert names == {"errors on gpu1"}


def test_losses_count_against_the_device_of_the_failed_call() -> None:
    """Catches an executor that is given up for the GPU that it reads from."""
    losses = Losses()
    for memory in ("device", "pool", "vmm"):
        broken = case("copy", f"gpu1:{memory}", "gpu0:device", "gpu0")
        for _ in range(3):
            losses.add(broken, "a call failed", blame=FailureBlame("gpu1"))
    assert losses.given_up(case("copy", "gpu1:device", "gpu0:device", "gpu0"))
    assert not losses.given_up(case("copy", "gpu2:device", "gpu0:device", "gpu0"))


@pytest.mark.parametrize(
    ("place", "members", "rank", "blame"),
    [
        (1, (4, 2), 0, {"rank": 2}),  # by its place in the team
        (None, (4, 2), 4, {"rank": 4}),  # the own one
        (None, (4, 2), None, None),
        (7, (4, 2), None, None),
        (1, (), None, None),  # of another team than the case's
    ],
)
def test_the_rank_of_an_error(
    place: int | None, members: tuple[int, ...], rank: int | None, blame: dict[str, int] | None
) -> None:
    """Catches the number in a team taken for that of the case, and a rank that is blamed for another."""
    error = ValueError("rank 9: no memory")
    error.rank = place  # type: ignore[attr-defined]
    assert failed_by(error, rank=rank, members=members).get("blame") == blame


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DriverError("unknown error", "gpu1"), CALL_FAILED),
        (MemoryError("no room"), OUT_OF_MEMORY),
        (type("OutOfMemoryError", (DriverError,), {})("out of memory", "gpu0"), OUT_OF_MEMORY),
        (type("UnsupportedError", (DriverError,), {})("", "gpu0"), UNAVAILABLE),
        (ValueError("of the worker"), WORKER_ERROR),
    ],
)
def test_the_code_of_an_error(error: Exception, code: str) -> None:
    """Catches a lack of memory, or of a capability, that a program takes for a broken driver."""
    assert failed_by(error)["reason_code"] == code and code in MEANINGS


@pytest.mark.parametrize(
    ("status", "code"), [("lost", WORKER_LOST), ("timeout", NO_ANSWER), ("skipped", None)]
)
def test_the_code_of_a_worker_that_did_not_answer(status: str, code: str | None) -> None:
    """Catches a lost case without a code, and a given code that is replaced."""
    planned = PlannedCase(case("copy", "gpu0:device", "gpu1:device", "gpu0"), "s", 0, 1.0, 0.01)
    assert record_without_values(planned, 1, status, "why").reason_code == code
    assert record_without_values(planned, 1, status, "why", code="room").reason_code == "room"
