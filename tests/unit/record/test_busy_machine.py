"""A busy machine is announced before any figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.record.busy_machine import other_work, verdict_of
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from tests.report import sample_run

COPY = [("cpu0:hugepage", "cpu0:hugepage", "cpu0")]


def run_with(tmp_path: Path, warnings: list[list[Warning]]) -> RunFolder:
    """A run with a case for each list of warnings."""
    build = sample_run.Builder(sample_run.topology(0))
    for number, some in enumerate(warnings):
        build.measure("memcpy", COPY, 9.8 + number, size=4096 << number, warnings=some)
    return RunFolder(build.write(tmp_path))


@pytest.mark.parametrize(("disturbed", "said"), [(0, False), (1, True), (4, True)])
def test_other_work_is_said_first(tmp_path: Path, disturbed: int, said: bool) -> None:
    """Catches a load of ten on two cores that no first line mentions, and a word on a quiet machine."""
    busy = [Warning("host-busy", 0.48, 0.1, ""), Warning("steal", 0.2, 0.02, "")]
    run = run_with(tmp_path, [busy if number < disturbed else [] for number in range(4)])
    verdict = verdict_of(run.manifest, run.records)
    assert bool(verdict) is said
    work = other_work(run.records)
    assert (work is not None) is said
    if work is not None:
        assert work.to_json() == {
            "disturbed": disturbed * 3,
            "measured": 12,
            "observed": {"host-busy": 0.48, "steal": 0.2},
        }
        assert "48 %" in verdict and "20 %" in verdict


def test_few_disturbed_measurements_are_no_busy_machine(tmp_path: Path) -> None:
    """Catches a run called busy for one measurement of many, and one without any called so."""
    busy = [Warning("gpu-shared", None, None, "")]
    run = run_with(tmp_path, [busy, *([[]] * 7)])
    assert other_work(run.records) is None
    assert other_work([]) is None
