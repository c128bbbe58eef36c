"""Whether it matters in which NUMA domain host memory lies: suite numa and its finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.answers.claims.claim import TIE, TRAILS
from byteways.answers.results.index import Index
from byteways.measuring.conduct.interruption import Interruption
from byteways.measuring.conduct.measure_from_python import Quiet, measure_from_python
from byteways.measuring.conduct.simulation import simulation_of
from byteways.measuring.shared.options import RunOptions
from byteways.plan.suite import load
from byteways.questions.subjects.placement import placement


def run_of(folder: Path, only: str, *faults: str) -> Index:
    return Index(
        measure_from_python(
            load("numa"),
            RunOptions(only=(only,)),
            folder,
            ["test"],
            lambda cases, interruption: Quiet(interruption),
            Interruption(),
            simulation_of("mi300x-8", list(faults)),
        )
    )


@pytest.mark.parametrize(("faults", "verdict"), [((), TIE), (("slow:cpu0-cpu1:0.1",), TRAILS)])
def test_placement_is_compared_gpu_by_gpu(tmp_path: Path, faults: tuple[str, ...], verdict: str) -> None:
    """Catches a farther domain that is compared with another GPU's, and a placement said to matter anyway."""
    index = run_of(tmp_path / "run", "interface=copy,path=cpu*>gpu*,size=256MiB", *faults)
    (found,) = placement(index)
    (claim,) = found.claims
    assert claim.verdict == verdict
    far, near = found.results
    assert set(far.paths).isdisjoint(near.paths)
    assert {path.partition(">")[2] for path in far.paths} == {path.partition(">")[2] for path in near.paths}
    assert claim.pairs == len(far.paths) == 8


def test_one_domain_has_no_placement(tmp_path: Path) -> None:
    """Catches a finding on placement of a run that measured the nearest domain alone."""
    index = run_of(tmp_path / "run", "interface=copy,path=cpu0>gpu0,size=256MiB")
    assert list(placement(index)) == []
