"""How a time budget is dealt: something for every sweep, first things whole, varied and comparable."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.model import Capabilities, Topology
from byteways.plan.budget import BudgetCase, TotalTime
from byteways.plan.estimate import RANK_START_S, Estimator
from byteways.plan.planner import Plan, make_plan
from byteways.plan.suite import load, parse
from tests.unit import machines

MIB = 2**20

H200X4: tuple[Topology, Capabilities] = machines.h200x4()
TWO_CORES: tuple[Topology, Capabilities] = machines.two_cores()
#: Eleven sizes of three pairs, 0.1 s each.
SWEEP = (
    'interface = "copy"\nsource = "gpu0:device"\ndestination = "gpu*:device"\nsame_device = "never"\n'
    'executor = "source"\nsize = "64KiB..32MiB"\ncase_budget_s = 0.1\n'
)


def taken(plan: Plan) -> Counter[str]:
    return Counter(entry.sweep for entry in plan.cases if entry.reason is None)


@pytest.mark.parametrize(
    ("name", "budget_s"),
    [("memory", 60), ("stream", 60), ("memory-cost", 30), ("latency", 60), ("full", 300)],
)
def test_a_short_run_holds_something_of_every_sweep(name: str, budget_s: float) -> None:
    """Catches a budget that is spent on the first sweeps, so that the last are empty."""
    for machine in (H200X4, TWO_CORES):
        made = make_plan(load(name), *machine, budget_s=budget_s)
        able = {entry.sweep for entry in made.cases if entry.reason is None or entry.spare}
        assert able
        assert set(taken(made)) == able
        assert made.estimated_s <= budget_s


def test_a_sweep_of_expensive_cases_has_one_of_them() -> None:
    """Would catch copies left out because the first one fills buffers of several large caches."""
    topology, capabilities = H200X4
    cpu = {**capabilities.devices["cpu0"], "last_level_cache_bytes": 300 * MIB}
    large = replace(capabilities, devices={**capabilities.devices, "cpu0": cpu})
    made = make_plan(load("memory-cost"), topology, large, budget_s=30)
    assert taken(made)["copies-to-gpu"] >= 1
    assert taken(made)["copies-to-host"] >= 1


def test_of_what_comes_first_one_size_is_whole_before_the_next() -> None:
    """Catches a matrix of copies at one size and of kernels at another, each with holes."""
    sweep = SWEEP.replace('"copy"', '["copy", "kernel"]').replace("gpu0", "gpu*").replace("64KiB", "8MiB")
    text = f'name = "mine"\ntitle = "Mine"\nrounds = 1\n[[sweep]]\nname = "s"\npriority = 9\n{sweep}\n'
    made = make_plan(parse(text, file="mine.toml"), *H200X4, budget_s=11)
    cases = [entry.case for entry in made.cases if entry.reason is None]
    assert 24 < len(cases) < 72
    sizes = Counter(case.size_bytes >> 20 for case in cases)
    assert list(sizes.values()).count(24) >= len(sizes) - 1
    assert sizes[32] == 24


def wanted(source: str, destination: str, size: int = 4 << 20, **more: Any) -> BudgetCase:
    ends = Buffer.parse(source), Buffer.parse(destination)
    case = Case("memcpy", "unidirectional", (Flow(*ends, "cpu0"),), size, "warm", **more)
    return BudgetCase(case, SimpleNamespace(case_budget_s=0.01), 0)  # type: ignore[arg-type]


def between_two_gpus(**environment: str) -> BudgetCase:
    ends = [Buffer("gpu0", "device", rank=0), Buffer("gpu1", "device", rank=1)]
    flow = Flow(*ends, "gpu0")
    case = Case("xccl", "unidirectional", (flow,), 4 * MIB, "warm", environment=environment)
    return BudgetCase(case, SimpleNamespace(case_budget_s=0.01), 0)  # type: ignore[arg-type]


def test_processes_of_ranks_take_long_to_start() -> None:
    """Catches a budget that forgets what starting NCCL takes, or further processes in each round."""
    estimator = Estimator(*H200X4, gpus=2)
    spent = TotalTime(estimator, 3)
    first, same, other = (between_two_gpus(NCCL_PROTO=name) for name in ("LL", "LL", "Simple"))
    alone_s, whole_s = spent.cost(first)
    process_s, library_s = estimator.further_start_s(), 2 * RANK_START_S
    assert whole_s - 3 * alone_s == pytest.approx(estimator.start_s() + process_s + library_s)
    spent.add(first)
    assert spent.cost(same)[1] == pytest.approx(3 * spent.cost(same)[0])
    again_s, further_s = spent.cost(other)
    assert further_s - 3 * again_s == pytest.approx(3 * process_s)
    assert estimator.library_start_s(wanted("cpu0:pageable", "cpu0:pageable").case, ()) == 0


def test_what_a_case_takes_includes_the_start_of_its_process() -> None:
    """Catches time left that jumps when a process starts, and locked memory that is counted in each round."""
    values = "".join(
        f'[[sweep]]\nname = "s{value}"\ninterface = "copy"\nsource = "cpu0:pinned"\n'
        'destination = "gpu*:device"\nsize = "128MiB"\n'
        f'environment = {{ CUDA_DEVICE_MAX_CONNECTIONS = "{value}" }}\n'
        for value in ("1", "8", "32")
    )
    suite = parse('name = "s"\ntitle = "s"\nrounds = 3\n' + values, file="s")
    plan = make_plan(suite, *H200X4)
    estimator = Estimator(*H200X4)
    whole_s = estimator.start_s() + sum(one.estimated_s for one in plan.cases)
    assert whole_s == pytest.approx(plan.estimated_s)
    starts = [
        later
        for before, later in zip(plan.cases, plan.cases[1:], strict=False)
        if before.case.environment != later.case.environment
    ]
    assert len(starts) == 6 and min(one.estimated_s for one in starts) > estimator.further_start_s()
    same = [one.estimated_s for one in plan.cases if one not in starts and one.round > 0]
    assert max(same) < estimator.allocation_s(Buffer("cpu0", "pinned"), 128 * MIB) + min(same)


def test_pages_that_cpus_touch_are_quick() -> None:
    """Catches managed memory of the host estimated like that of a GPU, which leaves its methods out of an
    answer within ten seconds, and memory of a GPU that is free in later rounds.
    """
    estimator, size = Estimator(*H200X4), 1 << 30
    first, later = (
        {
            name: of(Buffer(*name.split(":")), size)
            for name in ("cpu0:managed", "gpu0:managed", "cpu0:pageable")
        }
        for of in (estimator.allocation_s, estimator.again_s)
    )
    assert first["cpu0:managed"] == first["cpu0:pageable"] < first["gpu0:managed"]
    assert later["cpu0:managed"] == later["cpu0:pageable"] < first["cpu0:pageable"]
    assert later["gpu0:managed"] == first["gpu0:managed"]
