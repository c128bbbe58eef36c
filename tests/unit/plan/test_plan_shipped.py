"""Shipped suites: what quick and full come to on several machines."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from byteways.cases.block_layout import moves_blocks
from byteways.cases.case import OF_ALL_RANKS, PATTERNS
from byteways.cases.reasons import OUT_OF_TIME
from byteways.machine.routes import link_class
from byteways.plan.planner import Plan, make_plan
from byteways.plan.suite import load
from tests.unit import machines
from tests.unit.planning import EVERY, eight, frontier

MACHINES = {**EVERY, "eight": eight, "frontier": frontier}


@cache
def planned_for(machine: str, suite: str) -> Plan:
    """Up to a second for `full`, which several tests read."""
    return make_plan(load(suite), *MACHINES[machine])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["quick", "full"])
def test_shipped_suites_run_everywhere_within_their_budget(name: str, machine: str) -> None:
    """Catches a shipped suite that is empty somewhere, or whose plan is longer than its budget."""
    made = planned_for(machine, name)
    assert sum(entry.reason is None for entry in made.cases) >= 20
    assert made.budget_s is not None
    assert made.estimated_s <= made.budget_s


@pytest.mark.parametrize("machine", [name for name in MACHINES if name != "two-cores"])
def test_quick_holds_the_sizes_that_programs_ask_for(machine: str) -> None:
    """Catches a class of links without small sizes, by which `best` answers after quick."""
    planned = [entry.case for entry in planned_for(machine, "quick").cases if entry.reason is None]
    single = [case for case in planned if case.pattern == "unidirectional" and case.interface == "copy"]
    topology = MACHINES[machine][0]
    sizes: dict[object, set[int]] = {}
    for case in single:
        ends = case.flows[0].source.device, case.flows[0].destination.device
        kinds = (
            tuple(end[:3] for end in ends),
            ends[0] == ends[1],
            ends[0] == ends[1] or link_class(topology, *ends),
        )
        sizes.setdefault(kinds, set()).add(case.size_bytes)
    asked = {4 * 2**10, 64 * 2**10, 2**20, 16 * 2**20}
    assert sizes
    lacking = {kinds for kinds, found in sizes.items() if kinds[1] is False and not asked <= found}
    assert lacking == set()


def test_full_measures_what_one_runtime_alone_has() -> None:
    """Catches a memory kind or a setting of AMD's runtime that falls to the budget, or that others get."""
    cases = [entry.case for entry in planned_for("frontier", "full").cases if entry.reason is None]
    memories = {
        end.memory for case in cases for flow in case.flows for end in (flow.source, flow.destination)
    }
    assert memories >= {"device-fine", "device-uncached", "pinned-noncoherent", "managed-coarse", "pageable"}
    environments = {(name, value) for case in cases for name, value in case.environment.items()}
    assert environments == {
        ("HSA_ENABLE_SDMA", "0"),
        ("HSA_ENABLE_SDMA", "1"),
        ("HSA_ENABLE_PEER_SDMA", "0"),
        ("HSA_XNACK", "0"),
        ("HSA_XNACK", "1"),
    }
    faulting = [case for case in cases if case.environment.get("HSA_XNACK") == "1"]
    assert ("kernel", "pageable") in {(case.interface, case.flows[0].source.memory) for case in faulting}
    elsewhere = [entry for machine in ("h200x4", "eight") for entry in planned_for(machine, "full").cases]
    assert not [entry for entry in elsewhere if entry.case.environment or entry.sweep.startswith("hip")]


def test_full_of_an_h200_node_leaves_room_in_nine_minutes() -> None:
    """Catches a full suite that drops cases on the machine it is made for."""
    made = planned_for("h200x4", "full")
    assert made.estimated_s <= 440
    assert not [entry.reason for entry in made.cases if "budget" in (entry.reason or "")]
    have = {entry.case.interface for entry in made.cases}
    assert have >= {"copy", "kernel", "kernel-bulk", "pointer-chase", "memcpy", "memcpy-mt", "memcpy-stream"}
    assert have >= {"stream-copy", "stream-triad", "copy-2d", "kernel-2d", "launch", "synchronize", "event"}
    assert have >= {"ping-pong", "route", "allocate", "free", "register", "prefetch", "torch-copy"}
    options = {name for entry in made.cases for name in entry.case.options}
    assert options >= {"blocks", "pitch_bytes", "submit", "pace", "energy", "relays"}
    assert any(flow.options for entry in made.cases for flow in entry.case.flows[1:])  # a loaded latency
    assert {entry.case.pattern for entry in made.cases} == set(PATTERNS) - {*OF_ALL_RANKS, "transfers"}
    memories = {
        end.memory for entry in made.cases for end in (entry.case.flows[0].source,) if not entry.reason
    }
    assert memories == {*machines.HOST_MEMORY, "device", "pool", "vmm"}
    assert max(entry.round for entry in made.cases) == 2


def test_two_cores_finish_in_time() -> None:
    """Catches plans that leave such a machine out of one of its budgets, 60 s and 480 s."""
    assert planned_for("two-cores", "quick").estimated_s <= 52
    full = planned_for("two-cores", "full")
    assert full.estimated_s <= 160
    assert not [entry for entry in full.cases if entry.reason]


@pytest.mark.parametrize("count", [1, 4])
def test_blocks_has_its_grid_within_a_minute(count: int) -> None:
    """Catches a grid of block copies that is left out for lack of time, and a direction between GPUs or a
    kind of memory that no cell has. The host's cache is as large as where the suite was measured.
    """
    topology, found = machines.gpus(count)
    host = {**found.devices["cpu0"], "last_level_cache_bytes": 300 * 2**20}
    calls = dict.fromkeys(topology.names("gpu"), dict.fromkeys(("batch", "graph"), machines.YES))
    found = replace(found, devices={**found.devices, "cpu0": host}, calls=calls)
    made = make_plan(load("blocks"), topology, found)
    assert made.estimated_s <= (60 if count == 1 else 72)
    cells = {one.case.case_id: one.case for one in made.cases if one.reason is None}.values()
    out = {one.sweep for one in made.cases if one.reason_code == OUT_OF_TIME}
    assert out <= (set() if count == 1 else {"calls-other"})
    beside = [case.flows[1].interface for case in cells if case.pattern == "interference"]
    assert sorted(beside) == ["bulk-blocks", "copy-blocks", "kernel-blocks"]
    singles = [case for case in cells if case.pattern == "unidirectional"]
    memories = {
        "pinned",
        "registered",
        "device",
        *(("pageable", "hugepage", "managed") if count == 1 else ()),
    }
    assert {case.flows[0].source.memory for case in singles} >= memories
    assert any("block_sizes" in case.options for case in singles)
    between = {
        (case.interface, case.flows[0].executor == case.flows[0].source.device)
        for case in singles
        if {end.device for end in case.flows[0].buffers} == {"gpu0", "gpu1"} and moves_blocks(case.interface)
    }
    assert count == 1 or between >= {
        (name, by_source) for name in ("kernel-blocks", "copy-blocks") for by_source in (True, False)
    }
