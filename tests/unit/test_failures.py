"""Outcomes of failed cases: what a record needs of the error beside its sentence."""

from __future__ import annotations

import pytest

from byteways.explain.results.blamed_ranks import blamed_in
from byteways.record.blame import FailureBlame
from byteways.run.conduct.losses import Losses
from byteways.run.work.failures import failed_by
from tests.report import sample_run
from tests.report.run_builder import Builder
from tests.unit.legality import case


class DriverError(RuntimeError):
    """As the native core raises it."""

    def __init__(self, text: str, device: str) -> None:
        super().__init__(f"cuLaunchKernel: CUDA_ERROR_UNKNOWN ({text}) on {device}")
        self.text, self.device = text, device


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
    outcome = failed_by(error, "rank 0: ", "; a new worker continues")
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
            losses.add(broken, "a call failed", device="gpu1")
    assert losses.given_up(case("copy", "gpu1:device", "gpu0:device", "gpu0"))
    assert not losses.given_up(case("copy", "gpu2:device", "gpu0:device", "gpu0"))
