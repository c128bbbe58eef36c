"""What a case may take and what is put back, behind the plan and ahead of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from byteways.cases.case import Buffer, Case, Flow, PlannedCase
from byteways.measuring.conduct.execution import RESERVE_S, reserve_s
from byteways.measuring.conduct.pace import LEAST_CASE_PART, MOST_PART, Pace

BUFFER = Buffer("cpu0", "pageable")
CASE = Case("memcpy", "unidirectional", (Flow(BUFFER, BUFFER, "cpu0"),), 4096)
PLANNED = PlannedCase(CASE, "sweep", 0, 1.0, 0.01, None, 2.0)
SPARE = PlannedCase(CASE, "sweep", 0, 1.0, 0.01, "dropped", 2.0, True)


def test_a_run_that_is_behind_shortens_what_is_left() -> None:
    """Catches a run of 60 s that takes two minutes because allocation was slower than planned."""
    pace = Pace([PLANNED] * 10, 20.0)
    assert pace.budget_s(PLANNED, 0.0) == 1.0
    for _ in range(5):
        pace.done(PLANNED, 1.0, 8.0)  # four times as slow as planned
    assert LEAST_CASE_PART <= pace.budget_s(PLANNED, 19.0) < 0.2
    assert pace.budget_s(PLANNED, 30.0) == LEAST_CASE_PART
    assert pace.time_left_s > 20


def case_of(size_bytes: int, priority: int = 5, round: int = 0) -> PlannedCase:
    return replace(PLANNED, case=replace(CASE, size_bytes=size_bytes), priority=priority, round=round)


def measured(pace: Pace, plan: Sequence[PlannedCase], took_s: float) -> tuple[list[int], float]:
    """Follows a plan of which each case takes so long; returns the sizes that were measured, and the end."""
    sizes, now_s = [], 0.0
    for planned in plan:
        if pace.over(planned, now_s) is not None:
            pace.left_out(planned)
            continue
        pace.done(planned, pace.budget_s(planned, now_s), took_s)
        sizes.append(planned.case.size_bytes)
        now_s += took_s
    return sizes, now_s


def test_a_slow_run_leaves_out_what_matters_least() -> None:
    """Catches a run of 12 s that takes 22 s, one that leaves out the first page, and one that stops early."""
    plan = [case_of(8 * (1 + k), priority=9 if k % 2 else 3) for k in range(10)]
    sizes, end_s = measured(Pace(plan, 20.0), plan, 4.0)  # twice as long as estimated, and samples are few
    assert end_s <= 22.0 and len(sizes) >= 4
    important = {one.case.size_bytes for one in plan if one.priority == 9}
    assert len(important & set(sizes)) > len(set(sizes) - important)
    assert measured(Pace(plan, 20.0), plan, 2.0)[0] == [one.case.size_bytes for one in plan]
    assert measured(Pace(plan, 20.0, given=False), plan, 4.0)[1] == 40.0  # a suite's own: all is measured


def test_rounds_of_a_case_are_left_out_together() -> None:
    """Catches a second round of a case that had no first one, and a case given up before a lesser one."""
    plan = [case_of(8 * (1 + k), priority=4 + k, round=n) for n in range(3) for k in range(4)]
    sizes, end_s = measured(Pace(plan, 24.0), plan, 3.5)
    counts = Counter(sizes)
    assert end_s <= 26.0
    assert counts[32] == 3  # the most important case has all its rounds
    assert [counts[8 * (1 + k)] for k in range(4)] == sorted(counts[8 * (1 + k)] for k in range(4))


def test_something_is_measured_in_any_case() -> None:
    """Catches a run without any result because opening the machine took the budget."""
    pace = Pace([PLANNED, case_of(8)], 1.0)
    assert pace.over(PLANNED, 30.0) is None
    pace.done(PLANNED, 0.1, 1.0)
    assert pace.over(case_of(8), 31.0) is not None
    spare = Pace([PLANNED, SPARE], 6.0)
    spare.done(PLANNED, 1.0, 2.0)
    assert spare.over(SPARE, 5.9) is None and spare.over(SPARE, 6.1) is not None


def test_what_is_said_of_a_case_that_is_left_out() -> None:
    """Catches a reason that names slow cases where lost ones took the time, or the reverse."""
    plan = [case_of(8 * (1 + k)) for k in range(5)]
    pace = Pace(plan, 20.0)
    pace.done(plan[0], 1.0, 8.0)
    said = "left out to fit the budget: what was measured took 2.0 times its estimate"
    assert pace.over(plan[1], 25.0) == said
    pace.lost(plan[2], 22.0)
    assert pace.over(plan[3], 47.0) == "left out to fit the budget: cases that were lost took 22 s"
    assert Pace(plan, None).over(plan[0], 1e6) is None


def test_a_shortened_case_still_has_its_fixed_time() -> None:
    """Catches a machine taken for five times slower than it is because cases were sampled less."""
    pace = Pace([PLANNED] * 10, 20.0)
    for _ in range(5):
        pace.done(PLANNED, LEAST_CASE_PART * PLANNED.budget_s, 1.1)
    assert pace.slowness == pytest.approx(1.0, abs=0.01)


def test_a_run_without_a_budget_is_left_alone() -> None:
    """Catches cases that are cut short or put back where nobody asked for an end."""
    pace = Pace([PLANNED], None)
    assert pace.budget_s(PLANNED, 1e6) == 1.0
    assert not pace.puts_back(SPARE, 0.0)


def test_time_that_is_over_goes_to_the_next_case_up_to_a_limit() -> None:
    """Catches noisy cases that are cut off with time left, and one that eats the time of those after it."""
    pace = Pace([PLANNED] * 10, 20.5)
    assert pace.budget_s(PLANNED, 0.0) == 1.5
    assert Pace([PLANNED] * 10, 100.0).budget_s(PLANNED, 0.0) == MOST_PART
    pace.done(PLANNED, 1.5, 0.5)  # ahead by 1.5 s more
    assert pace.budget_s(PLANNED, 0.5) == 3.0
    assert pace.budget_s(PLANNED, 1.5) == 2.0


def test_longer_cases_do_not_count_as_slow_ones() -> None:
    """Catches a run that lets noisy cases go on, takes itself for slow and cuts the rest short."""
    pace = Pace([PLANNED] * 10, 100.0)
    for _ in range(5):
        pace.done(PLANNED, 3.0, 4.0)  # 2 s longer than planned, as it was allowed to
    assert pace.time_left_s == pytest.approx(10.0)
    pace.done(PLANNED, 3.0, 1.0)  # allowed to, and did not
    assert pace.time_left_s < 8.0


def test_dropped_cases_come_before_longer_ones() -> None:
    """Catches time spent on noise that a dropped case could have had, and one put back without room."""
    pace = Pace([PLANNED, SPARE, SPARE], 6.0)
    assert pace.budget_s(PLANNED, 0.0) == 1.0
    pace.done(PLANNED, 1.0, 2.0)
    assert pace.puts_back(SPARE, 2.0) and pace.puts_back(SPARE, 4.0)
    assert not pace.puts_back(SPARE, 4.1)
    assert pace.budget_s(SPARE, 2.0) == 1.0
    pace.left_out(SPARE)
    assert pace.budget_s(SPARE, 2.0) == 3.0


def test_a_slow_machine_puts_back_less() -> None:
    """Catches a run that believes its estimates after the machine has shown otherwise."""
    pace = Pace([PLANNED, PLANNED, SPARE], 30.0)
    for _ in range(2):
        pace.done(PLANNED, 1.0, 8.0)
    assert pace.puts_back(SPARE, 20.0)
    assert not pace.puts_back(SPARE, 26.0)


def test_a_small_budget_is_not_all_reserve() -> None:
    """Catches a run of 8 s that leaves a third of them, and a long one without time for its report."""
    assert reserve_s(8) == pytest.approx(1.2)
    assert reserve_s(600) == RESERVE_S


def test_without_leave_to_lengthen_a_fast_run_ends_sooner() -> None:
    """Would catch a suite's own budget used up where nobody asked for so much time."""
    assert Pace([PLANNED] * 10, 100.0, given=False).budget_s(PLANNED, 0.0) == PLANNED.budget_s


def test_a_case_comes_back_with_all_its_rounds_or_with_none() -> None:
    """Catches a case that was left out and gets one round, which can be compared with nothing."""
    rounds = [replace(SPARE, round=number, rounds=3) for number in range(3)]
    pace = Pace(rounds, 6.5)
    assert not pace.puts_back(rounds[0], 1.0)  # three rounds take 6 s
    assert not pace.puts_back(rounds[1], 1.0) and not pace.puts_back(rounds[2], 1.0)
    assert pace.puts_back(rounds[0], 0.5)
    other = replace(SPARE, case=replace(CASE, size_bytes=8192), rounds=1)
    assert not pace.puts_back(other, 2.0)  # what is promised comes first
    assert pace.puts_back(rounds[1], 6.4) and pace.puts_back(rounds[2], 6.4)
    assert not pace.puts_back(rounds[0], 6.4)
