"""How a time budget is dealt: something for every sweep, first things whole, varied from the start."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import pytest

from byteways.plan.planner import Plan, make_plan
from byteways.plan.suite import load, parse
from byteways.topology.model import Capabilities, Topology

MACHINES = runpy.run_path(str(Path(__file__).with_name("machines.py")))
H200X4: tuple[Topology, Capabilities] = MACHINES["h200x4"]()
TWO_CORES: tuple[Topology, Capabilities] = MACHINES["two_cores"]()
#: Eleven sizes of three pairs, 0.1 s each.
SWEEP = (
    'interface = "copy"\nsource = "gpu0:device"\ndestination = "gpu*:device"\nsame_agent = "never"\n'
    'executor = "source"\nsize = "64KiB..32MiB"\ncase_budget_s = 0.1\n'
)


def planned(budget_s: float, *priorities: int) -> Plan:
    text = 'name = "mine"\ntitle = "Mine"\n'
    for index, priority in enumerate(priorities):
        sizes = SWEEP.replace("64KiB", f"{64 + index}KiB").replace("32MiB", f"{32 + index}MiB")
        text += f'[[sweep]]\nname = "s{index}"\npriority = {priority}\n{sizes}\n'
    return make_plan(parse(text, file="mine.toml"), *H200X4, budget_s=budget_s)


def taken(plan: Plan) -> Counter[str]:
    return Counter(entry.sweep for entry in plan.cases if entry.reason is None)


@pytest.mark.parametrize("name", ["memory", "stream", "memory-cost", "latency"])
def test_thirty_seconds_hold_something_of_every_sweep(name: str) -> None:
    """Catches a budget that is spent on the first sweeps, so that the last are empty."""
    for machine in (H200X4, TWO_CORES):
        made = make_plan(load(name), *machine, budget_s=30)
        able = {entry.sweep for entry in made.cases if entry.reason is None or entry.spare}
        assert able
        assert set(taken(made)) == able
        assert made.estimated_s <= 30


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


def test_of_each_sweep_sizes_and_partners_are_spread() -> None:
    """Catches a short run that has all sizes of one pair and none of the others, or only small sizes."""
    made = planned(8, 5, 5)
    cases = [entry.case for entry in made.cases if entry.reason is None and entry.sweep == "s0"]
    assert 6 <= len(cases) <= 20
    assert len({case.path for case in cases}) == 3
    assert len({case.size_bytes for case in cases}) >= min(len(cases), 10) - 1


def test_what_was_dropped_comes_back_in_the_same_order() -> None:
    """Catches a run with time left that fills up the first sweep only."""
    spares = [entry.sweep for entry in planned(8, 5, 5, 5).cases if entry.spare]
    assert set(spares[:3]) == {"s0", "s1", "s2"}
