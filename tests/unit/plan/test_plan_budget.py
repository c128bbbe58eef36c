"""Plans within a time budget: what is dropped, what is spare, and what is an error."""

from __future__ import annotations

import pytest

from byteways.base.errors import BytewaysError
from byteways.plan.planner import make_plan
from byteways.plan.suite import load
from tests.unit import machines
from tests.unit.planning import MEMCPY, MIB, PAIRS, h200x4, plan, suite, two_cores


def test_a_budget_drops_the_least_important_first() -> None:
    """Catches a run that overruns, drops what matters, or drops without saying so."""
    asked = suite(PAIRS + "\npriority = 2", PAIRS.replace("64MiB", "65MiB") + "\npriority = 8")
    whole = make_plan(asked, *h200x4)
    tight = make_plan(asked, *h200x4, budget_s=whole.estimated_s * 0.9 / 0.85)
    dropped = [entry for entry in tight.cases if entry.reason is not None]
    assert 0 < len(dropped) < 24
    assert {entry.sweep for entry in dropped} == {"s0"}
    assert tight.estimated_s <= 0.9 * whole.estimated_s
    assert all("left out to fit the budget of" in (entry.reason or "") for entry in dropped)
    assert "--only" in (dropped[0].reason or "")
    told = float((dropped[0].reason or "").split("--budget ")[1].split()[0])
    assert not [entry for entry in plan(asked, *h200x4, budget_s=told) if entry.reason]


def test_a_large_case_that_does_not_fit_leaves_room_for_small_ones() -> None:
    """Catches one case of seconds that takes every case of milliseconds with it when it is dropped."""
    large = MEMCPY.replace("1MiB", "8GiB") + "\npriority = 9"
    small = MEMCPY.replace('"1MiB"', '["4KiB", "64KiB"]') + '\ncache = "warm"\npriority = 1'
    planned = plan(suite(large, small), *machines.two_cores(MIB), budget_s=5)
    assert [(entry.sweep, entry.reason is None, entry.spare) for entry in planned] == [
        ("s1", True, False),
        ("s1", True, False),
        ("s0", False, True),
    ]
    assert planned[0].estimated_s < 1 < planned[2].estimated_s


@pytest.mark.parametrize("only", [(), ("interface=memcpy",)])
@pytest.mark.parametrize("budget_s", [18, 24, 30, 36])
def test_every_budget_of_seconds_gives_a_plan_of_quick(budget_s: float, only: tuple[str, ...]) -> None:
    """Catches budgets that measure nothing although they have room, or that are left unused."""
    made = make_plan(load("quick"), *two_cores, only=only, budget_s=budget_s)
    running = {entry.case.case_id for entry in made.cases if entry.reason is None}
    left_s = 0.85 * budget_s - made.estimated_s
    assert len(running) >= 3
    assert left_s >= 0
    assert all(3 * entry.estimated_s > left_s for entry in made.cases if entry.spare)


def test_what_is_dropped_is_spare_with_its_time_and_comes_last_by_priority() -> None:
    """Catches refused cases that a run with time left would try, and an unimportant one put back first."""
    other = PAIRS.replace("64MiB", "65MiB") + "\npriority = 8"
    refused = MEMCPY.replace("1MiB", "9TiB") + "\npriority = 9"
    planned = plan(suite(PAIRS + "\npriority = 2", other, refused), *h200x4, budget_s=7)
    skipped = [entry for entry in planned if entry.reason is not None]
    assert skipped == planned[-len(skipped) :]
    spares = [entry for entry in skipped if entry.spare]
    assert skipped[-len(spares) :] == spares
    assert {entry.sweep for entry in skipped if not entry.spare} == {"s2"}
    assert all(entry.estimated_s > 0 for entry in spares)
    order = [entry.sweep for entry in spares]
    assert order == sorted(order, reverse=True) and set(order) == {"s0", "s1"}


def test_a_budget_that_fits_nothing_is_an_error() -> None:
    """Catches a run that measures nothing and ends well."""
    with pytest.raises(BytewaysError, match="no case fits the budget of 1 s") as caught:
        plan(suite(PAIRS), *h200x4, budget_s=1)
    told = float((caught.value.hint or "").split()[-1])
    assert any(entry.reason is None for entry in plan(suite(PAIRS), *h200x4, budget_s=told))
    whole = float((caught.value.cause or "").rpartition("whole suite ")[2].split()[0])
    assert told < whole
    assert not any(entry.reason for entry in plan(suite(PAIRS), *h200x4, budget_s=whole))
    for budget in (0.0, -3.0, float("nan")):
        with pytest.raises(BytewaysError, match="too short to measure anything"):
            plan(suite(PAIRS), *h200x4, budget_s=budget)
