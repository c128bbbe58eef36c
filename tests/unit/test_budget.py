"""How a time budget is dealt: something for every sweep, first things whole, varied and comparable."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.plan.budget import BudgetCase, TotalTime
from byteways.plan.case import Buffer, Case, Flow
from byteways.plan.estimate import (
    GPU_RANKS_START_S,
    HOST_TOTAL_BYTES_PER_S,
    LINK_EFFICIENCY,
    PATTERN_BYTES_PER_S,
    Estimator,
)
from byteways.plan.footprint import buffers
from byteways.plan.planner import Plan, make_plan
from byteways.plan.suite import load, parse
from byteways.topology.model import Capabilities, Topology
from tests.unit import machines

MIB = 2**20

H200X4: tuple[Topology, Capabilities] = machines.h200x4()
TWO_CORES: tuple[Topology, Capabilities] = machines.two_cores()
#: Eleven sizes of three pairs, 0.1 s each.
SWEEP = (
    'interface = "copy"\nsource = "gpu0:device"\ndestination = "gpu*:device"\nsame_device = "never"\n'
    'executor = "source"\nsize = "64KiB..32MiB"\ncase_budget_s = 0.1\n'
)


def planned(budget_s: float, *priorities: int) -> Plan:
    text = 'name = "mine"\ntitle = "Mine"\nrounds = 1\n'
    for index, priority in enumerate(priorities):
        sizes = SWEEP.replace("64KiB", f"{64 + index}KiB").replace("32MiB", f"{32 + index}MiB")
        text += f'[[sweep]]\nname = "s{index}"\npriority = {priority}\n{sizes}\n'
    return make_plan(parse(text, file="mine.toml"), *H200X4, budget_s=budget_s)


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


def test_sweeps_of_one_priority_share_alike() -> None:
    """Catches sweeps that are served in the order of the file."""
    counts = taken(planned(12, 5, 5, 5, 5))
    assert 0 < sum(counts.values()) < 4 * 33
    assert max(counts.values()) - min(counts.values()) <= 2


def test_what_comes_first_is_whole_and_importance_tells() -> None:
    """Catches a matrix of all pairs with holes in it, and priorities that change nothing."""
    counts = taken(planned(13, 2, 9, 7))
    assert counts["s1"] == 33
    assert 0 < counts["s0"] < counts["s2"]


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


def test_what_a_sweep_has_can_be_compared() -> None:
    """Catches cases that differ in everything at once, from which no curve or comparison follows."""
    sweep = SWEEP.replace('"copy"', '["copy", "kernel"]')
    text = f'name = "mine"\ntitle = "Mine"\nrounds = 1\n[[sweep]]\nname = "s"\n{sweep}\n'
    made = make_plan(parse(text, file="mine.toml"), *H200X4, budget_s=8)
    taken_cases = [entry.case for entry in made.cases if entry.reason is None]
    places = Counter((case.path, case.size_bytes) for case in taken_cases)
    assert 4 <= len(taken_cases) < 60
    assert [*places.values()].count(2) >= len(places) - 1
    assert len({path for path, _ in places}) == 3
    assert {64 << 10, 32 << 20} <= {size for _, size in places}


def test_every_sweep_of_full_has_a_comparison_in_five_minutes() -> None:
    """Catches sweeps of which one case is taken of several."""
    made = make_plan(load("full"), *H200X4, budget_s=300)
    able = Counter(entry.sweep for entry in made.cases if entry.spare) + taken(made)
    assert all(count >= 2 or able[sweep] == 1 for sweep, count in taken(made).items())


def test_of_each_sweep_sizes_and_partners_are_spread() -> None:
    """Catches a short run that has all sizes of one pair and none of the others, or only small sizes."""
    made = planned(8, 5, 5)
    cases = [entry.case for entry in made.cases if entry.reason is None and entry.sweep == "s0"]
    assert 6 <= len(cases) <= 20
    assert len({case.path for case in cases}) == 3
    sizes = {case.size_bytes for case in cases}
    assert len(sizes) >= len(cases) // 3
    assert {64 << 10, 32 << 20} <= sizes


def test_what_was_left_out_comes_back_in_the_same_order() -> None:
    """Catches a run with time left that fills up the first sweep only."""
    spares = [entry.sweep for entry in planned(8, 5, 5, 5).cases if entry.spare]
    assert set(spares[:3]) == {"s0", "s1", "s2"}


def test_an_estimate_holds_filling_and_checking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches plans of large buffers that take no time to fill, poison and check."""
    estimator = Estimator(*TWO_CORES)
    ends = Buffer.parse("cpu0:pageable"), Buffer.parse("cpu0:pageable")
    copied = Case("memcpy", "unidirectional", (Flow(*ends, "cpu0"),), 4 << 30)
    whole_s = estimator.case_s(copied, 0.01)
    monkeypatch.setattr(Estimator, "_preparation_s", lambda *_: 0.0)
    each_pass_s = (4 << 30) / PATTERN_BYTES_PER_S["cpu"]
    assert whole_s - estimator.case_s(copied, 0.01) > 2 * 1.5 * each_pass_s


def wanted(source: str, destination: str, size: int = 4 << 20, **more: Any) -> BudgetCase:
    ends = Buffer.parse(source), Buffer.parse(destination)
    case = Case("memcpy", "unidirectional", (Flow(*ends, "cpu0"),), size, "warm", **more)
    return BudgetCase(case, SimpleNamespace(case_budget_s=0.01), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("further", "allocations", "starts"),
    [
        (wanted("cpu0:pageable", "cpu0:pageable"), (), 0),
        (wanted("cpu0:pageable", "cpu0:pinned"), ("cpu0:pinned",), 0),
        (wanted("cpu0:pinned", "cpu0:pinned"), ("cpu0:pinned", "cpu0:pinned"), 0),
        (
            wanted("cpu0:pageable", "cpu0:pageable", environment={"OMP_NUM_THREADS": "1"}),
            ("cpu0:pageable", "cpu0:pageable"),
            1,
        ),
    ],
    ids=["the same buffers", "one more", "two more", "another process"],
)
def test_what_is_there_is_not_paid_for_again(
    further: BudgetCase, allocations: tuple[str, ...], starts: int
) -> None:
    """Catches a plan that allocates again for every case, or never, and workers that start for nothing: with
    rounds, every round pays for its own.
    """
    estimator = Estimator(*TWO_CORES)

    def paid(item: BudgetCase, *allocated: str) -> float:
        sizes = {str(buffer): size for buffer, size in buffers(item.case, TWO_CORES[1])}
        return sum(estimator.allocation_s(Buffer.parse(one), sizes[one]) for one in allocated)

    spent = TotalTime(estimator, 3)
    first = wanted("cpu0:pageable", "cpu0:pageable")
    alone_s = estimator.case_s(first.case, 0.01, 3)
    buffers_s = paid(first, "cpu0:pageable", "cpu0:pageable")
    assert spent.started_s() == estimator.start_s()
    assert spent.cost(first) == pytest.approx(
        (alone_s + buffers_s, estimator.start_s() + 3 * (alone_s + buffers_s))
    )
    assert spent.add(first).estimated_s == pytest.approx(alone_s + buffers_s)
    assert (
        spent.total_s == spent.started_s() == pytest.approx(estimator.start_s() + 3 * (alone_s + buffers_s))
    )
    round_s = estimator.case_s(further.case, 0.01, 3)
    round_s += paid(further, *allocations)
    start_s = starts * 3 * estimator.further_start_s()
    assert spent.cost(further) == pytest.approx((round_s, start_s + 3 * round_s))
    assert spent.empty().cost(first) == pytest.approx(
        (alone_s + buffers_s, estimator.start_s() + 3 * (alone_s + buffers_s))
    )


def test_host_memory_is_shared_by_gpus_and_not_by_cores() -> None:
    """Catches copies of two GPUs from one host estimated as if they took turns, and two CPUs' as if not."""
    topology, capabilities = machines.h200x4()
    estimator = Estimator(topology, capabilities)
    size = 1024 * MIB

    def seconds(interface: str, *paths: tuple[str, str, str]) -> float:
        flows = tuple(Flow(Buffer.parse(a), Buffer.parse(b), by) for a, b, by in paths)
        return estimator._operation_s(Case(interface, "fan-out", flows, size))

    gpus = [("cpu0:pinned", f"gpu{k}:device", f"gpu{k}") for k in range(2)]
    alone = seconds("copy", gpus[0])
    assert seconds("copy", *gpus) == pytest.approx(alone + size / HOST_TOTAL_BYTES_PER_S)
    assert seconds("copy", *gpus) < 2 * alone
    host = ("cpu0:pageable", "cpu0:pageable", "cpu0")
    assert seconds("memcpy", host, host) == pytest.approx(2 * seconds("memcpy", host))


def test_the_host_link_of_the_gpu_at_either_end() -> None:
    """Catches the estimate of another link, and of none, for a copy between host and GPU."""
    topology, capabilities = machines.h200x4()
    estimator = Estimator(topology, capabilities)
    host, gpu = Buffer("cpu0", "pinned"), Buffer("gpu1", "device")
    (peak,) = {
        link.peak_bytes_per_s for link in topology.links if link.kind == "pcie" and "gpu1" in (link.a, link.b)
    }
    assert peak is not None
    for source, destination in ((host, gpu), (gpu, host)):
        rate = estimator._rate("copy", source, destination, "gpu1")
        assert rate == pytest.approx(LINK_EFFICIENCY * peak)


def between_two_gpus(**environment: str) -> BudgetCase:
    ends = [Buffer("gpu0", "device", rank=0), Buffer("gpu1", "device", rank=1)]
    flow = Flow(*ends, "gpu0")
    case = Case("xccl", "unidirectional", (flow,), 4 * MIB, "warm", environment=environment)
    return BudgetCase(case, SimpleNamespace(case_budget_s=0.01), 0)  # type: ignore[arg-type]


def test_processes_of_ranks_take_long_to_start() -> None:
    """Catches a budget that forgets what starting NCCL takes, in each round where processes differ."""
    estimator = Estimator(*H200X4, gpus=2)
    spent = TotalTime(estimator, 3)
    first, same, other = (between_two_gpus(NCCL_PROTO=name) for name in ("LL", "LL", "Simple"))
    alone_s, whole_s = spent.cost(first)
    assert whole_s - 3 * alone_s == pytest.approx(estimator.start_s() + GPU_RANKS_START_S)
    spent.add(first)
    assert spent.cost(same)[1] == pytest.approx(3 * spent.cost(same)[0])
    again_s, further_s = spent.cost(other)
    assert further_s - 3 * again_s == pytest.approx(3 * (estimator.further_start_s() + GPU_RANKS_START_S))
    assert estimator.ranks_start_s(wanted("cpu0:pageable", "cpu0:pageable").case) == 0
