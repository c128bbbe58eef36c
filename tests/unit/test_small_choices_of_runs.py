"""Choices between few alternatives in what runs record and say: a changed operator would turn each."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.analyse.summary import Group
from byteways.results import manifest
from byteways.results.stragglers import stragglers
from byteways.run.simulated_ranks import _without_effect


def test_variables_that_no_library_reads_are_left_alone() -> None:
    """Catches a case that is skipped for a variable of the runtime, or one that the simulated MPI reads."""
    read = {"HSA_XNACK": "1", "NOBODY_READS_THIS": "1", "MPICH_GPU_IPC_ENABLED": "0"}
    assert _without_effect(read) == ""
    assert _without_effect({**read, "UCX_TLS": "sm"}).endswith("do not read UCX_TLS")


@pytest.mark.parametrize(("misjudged", "whole"), [(1, False), (2, True)])
def test_a_group_is_misjudged_like_its_median(misjudged: int, whole: bool) -> None:
    """Catches a group that is judged by any one of its cells, or by all."""
    each: Any = tuple(SimpleNamespace(misjudged=number < misjudged) for number in range(3))
    assert Group(each, 1.0, 0.9, 1.1).misjudged == whole


def test_a_manifest_has_no_number_that_json_lacks(tmp_path: Path) -> None:
    """Catches NaN in run.json: many readers refuse the whole file."""
    manifest.write(tmp_path, {"state": "running"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        manifest.write(tmp_path, {"wall_s": float("nan")})
    assert json.loads((tmp_path / "run.json").read_text()) == {"state": "running"}


def late(*begins_ns: float) -> list[dict[str, float]]:
    return [{"rank": rank, "begin_ns": ns, "begins_last": 1.0} for rank, ns in enumerate(begins_ns)]


@pytest.mark.parametrize(
    ("begins_ns", "ranks"),
    [((0.0, 5e4), [1]), ((5e4, 0.0), [0]), ((2e4, 2e4, 5e4), [2]), ((4e4, 4e4, 5e4), [])],
)
def test_a_straggler_is_compared_with_the_others(begins_ns: tuple[float, ...], ranks: list[int]) -> None:
    """Catches a rank that is compared with itself, and ranks that are late together."""
    assert [one.rank for one in stragglers(late(*begins_ns), 1e5)] == ranks
