"""Choices between few alternatives in what runs record and say: a changed operator would turn each."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.explain.bottlenecks.prediction import LEAST_TOGETHER, _together_long
from byteways.explain.results.repeatability import Spread
from byteways.explain.results.summary import Result, ResultGroup
from byteways.plan.case import Buffer
from byteways.plan.flow_sets import of_some_gpus
from byteways.record import manifest
from byteways.record.stragglers import stragglers
from byteways.run.work.simulated_ranks import _without_effect
from tests.unit import machines


def test_variables_that_no_library_reads_are_left_alone() -> None:
    """Catches a case that is skipped for a variable of the runtime, or one that the simulated MPI reads."""
    read = {"HSA_XNACK": "1", "NOBODY_READS_THIS": "1", "MPICH_GPU_IPC_ENABLED": "0"}
    assert _without_effect(read) == ""
    assert _without_effect({**read, "UCX_TLS": "sm"}).endswith("do not read UCX_TLS")


@pytest.mark.parametrize(("misjudged", "whole"), [(1, False), (2, True)])
def test_a_group_is_misjudged_like_its_median(misjudged: int, whole: bool) -> None:
    """Catches a group that is judged by any one of its cells, or by all."""
    each: Any = tuple(SimpleNamespace(misjudged=number < misjudged) for number in range(3))
    assert ResultGroup(each, 1.0, 0.9, 1.1).misjudged == whole


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


@pytest.mark.parametrize(
    ("share", "warned", "long"),
    [
        (LEAST_TOGETHER, False, True),
        (0.9 * LEAST_TOGETHER, False, False),
        (0.9 * LEAST_TOGETHER, True, True),  # it says so itself
    ],
)
def test_flows_overlap_for_a_part_of_the_whole_time(share: float, warned: bool, long: bool) -> None:
    """Catches rates of flows that were hardly concurrent, taken for simultaneous ones."""
    warnings = [SimpleNamespace(id="serialised")] if warned else []
    records = [
        SimpleNamespace(window_ns=None, end_to_end_ns=None, warnings=[]),
        SimpleNamespace(window_ns=share * 1e6, end_to_end_ns=1e6, warnings=warnings),
    ]
    cell: Any = SimpleNamespace(records=records)
    assert _together_long(cell) == long


@pytest.mark.parametrize(
    ("rounds", "deviation"),
    [((50.0,), 0.01), ((50.0, None, 50.1), 0.01), ((40.0, 60.0), math.log(1.5) / math.sqrt(2))],
)
def test_a_part_is_known_as_well_as_its_own_rounds_agree(
    rounds: tuple[float | None, ...], deviation: float
) -> None:
    """Catches a direction without a doubt of its own, and one round that is given the largest."""
    cell: Any = SimpleNamespace(spread=Spread(0.01, 20.0), rounds=3)
    part = Result.beside(cell, 50.0, rounds)
    assert (part.low, part.high) == pytest.approx(Spread(deviation, 20.0).interval(50.0, 3))


def test_a_fan_grows_to_all_gpus_that_are_there() -> None:
    """Catches a set of GPUs that is never measured where their number is odd."""
    topology = machines.gpus(3)[0]
    host = Buffer("cpu0", "pinned")
    group = tuple((host, Buffer(f"gpu{number}", "device")) for number in range(3))
    found: Any = of_some_gpus(group, 1, ("packed",), topology)  # type: ignore[arg-type]
    assert [len(ends) for ends in found] == [2, 3]
