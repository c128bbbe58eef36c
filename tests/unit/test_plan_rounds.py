"""Rounds in a plan: three of every case, within the time of one, with the flows of concurrent cases alone."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from byteways.plan.budget import BudgetCase
from byteways.plan.case import Buffer, Case, Flow
from byteways.plan.estimate import Estimator
from byteways.plan.interfaces import INTERFACES
from byteways.plan.planner import _round, make_plan
from byteways.plan.suite import Suite, load, names, parse
from byteways.topology.model import Capabilities, Topology
from tests.unit import machines
from tests.unit.planning import plan

Machine = tuple[Topology, Capabilities]
h200x4: Machine = machines.h200x4()
two_domains: Machine = machines.gpus(4, domains=2)
frontier: Machine = machines.frontier()
patchy: Machine = machines.gpus(
    3, without_peer=[("gpu0", "gpu1")], without_bulk=["gpu2"], pageable_access=True, linked=False
)
PAIRS = (
    'interface = "copy"\nsource = "gpu*:device"\ndestination = "gpu*:device"\nsame_device = "never"\n'
    'size = "64MiB"'
)


def suite(sweep: str, *, head: str = "") -> Suite:
    """A suite of one sweep, given as the lines of its table."""
    return parse(f'name = "mine"\ntitle = "Mine"\n{head}\n[[sweep]]\nname = "s0"\n{sweep}\n', file="my.toml")


def test_a_budget_takes_fewer_cases_and_never_fewer_rounds() -> None:
    """Catches a case of one or two rounds, which no other can be compared with, where time is short."""
    asked = suite(PAIRS, head="")
    assert asked.rounds == 3
    made = make_plan(asked, *h200x4, budget_s=8)
    rounds = Counter(entry.case.case_id for entry in made.cases if entry.reason is None)
    assert 0 < len(rounds) < 24
    assert set(rounds.values()) == {3}
    spares = Counter(entry.case.case_id for entry in made.cases if entry.spare)
    assert set(spares.values()) == {3}  # a record for each round, measured after all or not
    assert len(rounds) + len(spares) == 24


def test_the_time_of_a_case_is_that_of_all_its_rounds() -> None:
    """Catches three rounds that take three times as long as one, and rounds that know of no other."""
    budgets = {}
    for rounds in (1, 3):
        asked = suite(PAIRS + "\ncase_budget_s = 0.6", head=f"rounds = {rounds}")
        made = make_plan(asked, *h200x4)
        assert {entry.rounds for entry in made.cases} == {rounds}
        budgets[rounds] = {entry.budget_s for entry in made.cases}
    assert budgets == {1: {0.6}, 3: {0.6 / 3}}
    estimator = Estimator(*h200x4)
    (case,) = {entry.case.case_id: entry.case for entry in plan(suite(PAIRS), *h200x4)[:1]}.values()
    assert 3 * estimator.case_s(case, 0.6, 3) < 2 * estimator.case_s(case, 0.6, 1)


@pytest.mark.parametrize("name", [name for name, _ in names()])
def test_shipped_suites_have_three_rounds(name: str) -> None:
    """Catches a suite whose figures nothing can be ranked by."""
    assert load(name).rounds >= 3


def _predictable(case: Case) -> bool:
    """Whether the maximum flow over what its flows get alone is a prediction of the case."""
    row = INTERFACES[case.interface]
    moves = row.figure == "bandwidth" and row.counts == "per-direction" and row.buffers == "pair"
    return len(case.flows) > 1 and case.pattern != "interference" and moves


@pytest.mark.parametrize("suite_name", ["full", "quick", "concurrency"])
@pytest.mark.parametrize("machine", [h200x4, two_domains, frontier, patchy])
def test_every_flow_of_a_concurrent_case_is_measured_alone(suite_name: str, machine: Machine) -> None:
    """Catches concurrent cases at a size, or by an executor, that nothing is measured alone with: of 243 of
    `full` 230 could not be predicted.
    """
    asked = dataclasses.replace(load(suite_name), budget_s=None, rounds=1)
    running = [entry.case for entry in plan(asked, *machine) if entry.reason is None]
    planned = {case.case_id for case in running}
    lacking = [
        (case.interface, case.path, flow.path, case.size_bytes)
        for case in filter(_predictable, running)
        for flow in case.flows
        if dataclasses.replace(case, pattern="unidirectional", flows=(flow,)).case_id not in planned
    ]
    assert lacking == []


def test_groups_of_a_process_alternate() -> None:
    """Catches rounds that all begin with the same environment, whose results would carry its warm-up."""
    environments = ("A", "B", "C")
    flow = Flow(Buffer("gpu0", "device"), Buffer("gpu1", "device"), "gpu0")
    sweep = suite(PAIRS).sweeps[0]
    running = [
        BudgetCase(Case("copy", "unidirectional", (flow,), size, environment={"X": name}), sweep, 1)
        for name in environments
        for size in (4096, 8192)
    ]
    orders = [_round(running, suite(PAIRS), number) for number in range(4)]
    for order in orders:
        assert sorted(map(id, order)) == sorted(map(id, running))
    begun = ["".join(item.case.environment["X"] for item in order) for order in orders]
    assert begun == ["AABBCC", "CCBBAA", "AABBCC", "CCBBAA"]
    assert _round(running, suite(PAIRS), 1) == orders[1]  # a resumed run has the same order
    alone = suite(PAIRS, head="rounds = 1")
    assert _round(running[::-1], alone, 1) == running[::-1]
