"""Plans: that nothing asked for gets lost, order, rounds, time budgets, and what shipped suites come to."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byteways.errors import BytewaysError
from byteways.plan.case import MEMORIES, PATTERNS, Buffer, Case, Flow, PlannedCase
from byteways.plan.describe import describe
from byteways.plan.folding import folded, names_text
from byteways.plan.footprint import buffer_bytes, buffers, flow_buffer_bytes
from byteways.plan.planner import make_plan, plan
from byteways.plan.suite import Suite, load, parse
from byteways.plan.sweep import expand
from byteways.topology.model import Capabilities, Topology
from tests.unit import machines

MIB, GIB = 2**20, 2**30
Machine = tuple[Topology, Capabilities]

two_cores: Machine = machines.two_cores()
h200x4: Machine = machines.h200x4()
two_domains: Machine = machines.gpus(4, domains=2)
eight: Machine = machines.gpus(8, domains=2)
frontier: Machine = machines.frontier()
patchy: Machine = machines.gpus(
    3, without_peer=[("gpu0", "gpu1")], without_bulk=["gpu2"], pageable_access=True, linked=False
)
EVERY = {"two-cores": two_cores, "h200x4": h200x4, "two-domains": two_domains, "patchy": patchy}


def suite(*sweeps: str, head: str = "rounds = 1") -> Suite:
    """A suite of sweeps given as the lines of their tables, of one round unless `head` says otherwise."""
    tables = "".join(f'[[sweep]]\nname = "s{index}"\n{sweep}\n' for index, sweep in enumerate(sweeps))
    return parse(f'name = "mine"\ntitle = "Mine"\n{head}\n{tables}', file="my.toml")


PAIRS = (
    'interface = "copy"\nsource = "gpu*:device"\ndestination = "gpu*:device"\nsame_device = "never"\n'
    'size = "64MiB"'
)
MEMCPY = 'interface = "memcpy"\nsource = "cpu*:pageable"\ndestination = "cpu*:pageable"\nsize = "1MiB"'


def link_class(topology: Topology) -> Any:
    from byteways.topology.routes import link_class

    return lambda a, b: link_class(topology, a, b)


globs = st.builds(
    lambda device, memory, touch: f"{device}:{memory}{touch}",
    st.sampled_from(["gpu*", "cpu*", "cpu0", "?pu[01]"]),
    st.sampled_from([*MEMORIES, "p*"]),
    st.sampled_from(["", "", "", "@gpu*", "@cpu0"]),
)
lists_of_globs = st.lists(globs, min_size=1, max_size=2)


def toml(value: Any) -> str:
    return str(value).replace("'", '"')


@st.composite
def sweeps(draw: st.DrawFn) -> str:
    """Any sweep that is no mistake."""
    lines = {
        "size": draw(
            st.sampled_from([["64KiB"], ["4KiB..64KiB x4"], ["32KiB", "1GiB"], ["4TiB"], [16384, 4096]])
        )
    }
    if draw(st.integers(0, 4)) == 0:
        lines |= {"interface": ["pointer-chase"], "buffer": draw(lists_of_globs)}
        lines["executor"] = draw(st.sampled_from([["gpu*"], ["cpu*"], ["*"]]))
    else:
        pattern = draw(st.sampled_from(PATTERNS))
        words = ["copy", "kernel", "kernel-bulk", "memcpy", "memcpy-mt", "memcpy-stream"]
        lines |= {
            "interface": draw(st.lists(st.sampled_from(words), min_size=1, max_size=3)),
            "pattern": [pattern],
        }
        lines |= {"source": draw(lists_of_globs), "destination": draw(lists_of_globs)}
        lines["executor"] = draw(st.sampled_from([["both"], ["source", "destination"], ["gpu*"]]))
        lines["cache"] = draw(st.sampled_from([["cold"], ["warm", "cold"]]))
        if pattern == "interference":
            lines |= {"beside_source": "cpu0:pinned", "beside_destination": "gpu*:device"}
    for key, values in {
        "pairs": ["all", "near", "per-link-class"],
        "same_device": ["also", "only", "never"],
        "when": ["always", "always", "with-gpu", "without-gpu"],
    }.items():
        lines[key] = draw(st.sampled_from(values))
    quoted = {key: f'"{value}"' if isinstance(value, str) else toml(value) for key, value in lines.items()}
    return "\n".join(f"{key} = {value}" for key, value in quoted.items())


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(sweeps(), min_size=1, max_size=2), st.sampled_from([*EVERY]), st.integers(1, 3))
def test_no_case_is_lost_and_every_refusal_has_a_reason(tables: list[str], name: str, rounds: int) -> None:
    """Catches cases that vanish between suite and plan, are planned twice, or are refused without a word."""
    machine = EVERY[name]
    asked = suite(*tables, head=f"rounds = {rounds}")
    expanded = {
        case.case_id
        for sweep in asked.sweeps
        for case in expand(sweep, machine[0], link_class(machine[0])).cases
    }
    if not expanded:
        with pytest.raises(BytewaysError, match="has no case on this machine"):
            plan(asked, *machine)
        return
    planned = plan(asked, *machine)
    counts = Counter(entry.key for entry in planned)
    assert set(counts.values()) == {1}
    running = {entry.case.case_id for entry in planned if entry.reason is None}
    skipped = {entry.case.case_id for entry in planned if entry.reason is not None}
    assert running | skipped == expanded
    assert not running & skipped
    assert len(planned) == rounds * len(running) + len(skipped)
    assert all(entry.reason != "" for entry in planned)


def blocks_of(planned: list[PlannedCase]) -> list[tuple[str, ...]]:
    """The sets of buffers in running order, neighbours that use the same ones as one."""
    sets = [
        tuple(sorted({str(end) for flow in entry.case.flows for end in (flow.source, flow.destination)}))
        for entry in planned
        if entry.reason is None
    ]
    return [one for index, one in enumerate(sets) if index == 0 or sets[index - 1] != one]


def test_cases_of_one_set_of_buffers_run_one_after_another() -> None:
    """Catches an order that allocates a gigabyte anew for every case."""
    planned = plan(suite(PAIRS, PAIRS.replace("copy", "kernel")), *h200x4)
    order = blocks_of(planned)
    assert len(order) == len(set(order))
    three = plan(suite(PAIRS, PAIRS.replace("copy", "kernel"), head="rounds = 3"), *h200x4)
    for round_ in range(3):
        order = blocks_of([entry for entry in three if entry.round == round_])
        assert len(order) == len(set(order))


def test_rounds_are_whole_shuffled_and_repeatable() -> None:
    """Catches rounds that follow each other, equal orders, and an order that a resumed run lacks."""
    asked = suite(PAIRS, head="rounds = 3")
    planned = plan(asked, *h200x4)
    assert [entry.round for entry in planned] == sorted(entry.round for entry in planned)
    rounds = [[entry.case.case_id for entry in planned if entry.round == round_] for round_ in range(3)]
    assert len({frozenset(order) for order in rounds}) == 1
    assert len({tuple(order) for order in rounds}) == 3
    assert plan(asked, *h200x4) == planned


def test_environments_are_grouped_and_alternate() -> None:
    """Catches a new worker for every case, and one environment always measured first."""
    asked = suite(PAIRS + '\nenvironment = { A = ["1", "2"] }', head="rounds = 2")
    planned = plan(asked, *h200x4)
    values = [entry.case.environment["A"] for entry in planned]
    changes = [value for index, value in enumerate(values) if index == 0 or values[index - 1] != value]
    assert changes == ["1", "2", "1"]


def test_a_case_of_two_sweeps_is_planned_once_with_the_first_ones_budget() -> None:
    """Catches a duplicate, which would be measured twice and break the one-record rule."""
    planned = plan(suite(PAIRS + "\ncase_budget_s = 0.5\nprecision = 0.05", PAIRS), *h200x4)
    assert {(entry.sweep, entry.budget_s, entry.precision) for entry in planned} == {("s0", 0.5, 0.05)}
    assert len(planned) == 24


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


def test_the_budget_of_the_suite_holds_unless_another_is_given() -> None:
    """Catches a suite's own budget being ignored, or not giving way to --budget."""
    asked = suite(PAIRS, head="rounds = 1\nbudget_s = 6")
    assert any(entry.reason for entry in plan(asked, *h200x4))
    assert not any(entry.reason for entry in plan(asked, *h200x4, budget_s=600))


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


def test_skipped_cases_need_no_budget() -> None:
    """Catches an error about the budget where nothing could run anyway."""
    planned = plan(suite(MEMCPY.replace("1MiB", "1TiB"), head="budget_s = 1"), *two_cores)
    assert [entry.reason is None for entry in planned] == [False]


def test_no_case_here_says_why() -> None:
    """Catches an empty plan without a word: the suite is for other machines."""
    with pytest.raises(BytewaysError, match="has no case on this machine") as caught:
        plan(suite(PAIRS), *two_cores)
    assert "no device here matches 'gpu*'" in (caught.value.cause or "")


@pytest.mark.parametrize("machine", [*EVERY.values(), eight, frontier], ids=[*EVERY, "eight", "frontier"])
@pytest.mark.parametrize("name", ["quick", "full"])
def test_shipped_suites_run_everywhere_within_their_budget(name: str, machine: Machine) -> None:
    """Catches a shipped suite that is empty somewhere, or whose plan is longer than its budget."""
    made = make_plan(load(name), *machine)
    assert sum(entry.reason is None for entry in made.cases) >= 20
    assert made.budget_s is not None
    assert made.estimated_s <= made.budget_s


def test_quick_covers_an_h200_node_in_half_a_minute() -> None:
    """Catches a pair or a device that quick would leave out, and three rounds that take more than 30 s."""
    made = make_plan(load("quick"), *h200x4)
    assert not [entry for entry in made.cases if entry.reason]
    assert made.estimated_s <= 29
    assert {entry.rounds for entry in made.cases} == {3}
    have = {(entry.case.interface, entry.case.path, entry.case.access) for entry in made.cases}
    gpus = [f"gpu{index}" for index in range(4)]
    for a, b in itertools.permutations(gpus, 2):
        assert {("copy", f"{a}>{b}", "write"), ("kernel", f"{a}>{b}", "write")} <= have
        assert ("kernel", f"{a}>{b}", "read") in have
    for interface in ("copy", "kernel"):
        for a, b in itertools.combinations(gpus, 2):
            assert (interface, f"{a}<>{b}", "write") in have
        assert {(interface, f"{a}>{a}", "local") for a in gpus} <= have
        assert {(interface, "cpu0>gpu0", "read"), (interface, "gpu0>cpu0", "write")} <= have
        assert {
            (interface, "gpu0>gpu1,gpu2,gpu3", "write"),
            (interface, "all:" + ",".join(gpus), "write"),
        } <= have
        assert (interface, "gpu1,gpu2,gpu3>gpu0", "write") in have
    assert ("copy", "gpu0>gpu1", "read") in have
    assert {("copy", f"cpu0>{a}", "read") for a in gpus} <= have
    assert {("copy", f"{a}>cpu0", "write") for a in gpus} <= have
    assert {("copy", f"cpu0<>{a}", "read") for a in gpus} <= have
    assert {
        ("copy", "cpu0>gpu0,gpu1,gpu2,gpu3", "read"),
        ("copy", "gpu0,gpu1,gpu2,gpu3>cpu0", "write"),
    } <= have
    chases = [entry.case for entry in made.cases if entry.case.interface == "pointer-chase"]
    chased = {(case.flows[0].executor, case.path[:4]) for case in chases}
    assert chased >= {*((a, a) for a in gpus), ("gpu0", "cpu0")}
    assert chased & {("gpu0", "gpu1"), ("gpu1", "gpu0")}


def test_quick_covers_a_node_of_eight_dies() -> None:
    """Catches a quick plan that drops a pair, or the size that figures of a link class are published for."""
    planned = [entry.case for entry in make_plan(load("quick"), *frontier).cases if entry.reason is None]
    have = {(case.interface, case.path, case.access) for case in planned if case.pattern == "unidirectional"}
    for interface, a, b in itertools.product(("copy", "kernel"), range(8), range(8)):
        assert a == b or (interface, f"gpu{a}>gpu{b}", "write") in have
    large = {(case.interface, case.path, case.executors[0]) for case in planned if case.size_bytes == 2**30}
    classes = ("gpu0>gpu1", "gpu0>gpu6", "gpu0>gpu2", "gpu0>gpu3")  # four links, two, one, and routed
    wanted = itertools.product(("copy", "kernel"), classes)
    assert large == {(interface, path, "gpu0") for interface, path in wanted}
    assert {case.pattern for case in planned} >= {"bidirectional", "all-pairs", "fan-out", "fan-in"}


def test_full_measures_what_one_runtime_alone_has() -> None:
    """Catches a memory kind or a setting of AMD's runtime that falls to the budget, or that others get."""
    cases = [entry.case for entry in make_plan(load("full"), *frontier).cases if entry.reason is None]
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
    elsewhere = [entry for machine in (h200x4, eight) for entry in make_plan(load("full"), *machine).cases]
    assert not [entry for entry in elsewhere if entry.case.environment or entry.sweep.startswith("hip")]


def test_full_of_an_h200_node_leaves_room_in_nine_minutes() -> None:
    """Catches a full suite that drops cases on the machine it is made for."""
    made = make_plan(load("full"), *h200x4)
    assert made.estimated_s <= 440
    assert not [entry.reason for entry in made.cases if "budget" in (entry.reason or "")]
    have = {entry.case.interface for entry in made.cases}
    assert have >= {"copy", "kernel", "kernel-bulk", "pointer-chase", "memcpy", "memcpy-mt", "memcpy-stream"}
    assert have >= {"stream-copy", "stream-triad", "copy-2d", "kernel-2d", "launch", "synchronize", "event"}
    assert have >= {"ping-pong", "route", "allocate", "free", "register", "prefetch", "torch-copy"}
    options = {name for entry in made.cases for name in entry.case.options}
    assert options >= {"blocks", "pitch_bytes", "submit", "pace", "energy", "relays"}
    assert any(flow.options for entry in made.cases for flow in entry.case.flows[1:])  # a loaded latency
    assert {entry.case.pattern for entry in made.cases} == set(PATTERNS)
    memories = {
        end.memory for entry in made.cases for end in (entry.case.flows[0].source,) if not entry.reason
    }
    assert memories == {*machines.HOST_MEMORY, "device", "pool", "vmm"}
    assert max(entry.round for entry in made.cases) == 2


def test_two_cores_finish_in_time() -> None:
    """Catches plans that leave such a machine out of one of its budgets, 60 s and 480 s."""
    assert make_plan(load("quick"), *two_cores).estimated_s <= 40
    full = make_plan(load("full"), *two_cores)
    assert full.estimated_s <= 160
    assert not [entry for entry in full.cases if entry.reason]


@given(st.integers(1, 2**32), st.integers(0, 2**30))
def test_a_cold_rotation_exceeds_twice_the_cache_in_whole_operations(size: int, cache: int) -> None:
    """Catches a rotation that fits a cache (figures too good), or one of parts of operations."""
    cold = buffer_bytes(size, "cold", cache)
    assert cold > 2 * cache
    assert cold % size == 0
    assert cold <= size + 2 * cache + 64 * MIB
    assert buffer_bytes(size, "warm", cache) == size


def test_both_ends_of_a_flow_rotate_over_the_larger_cache() -> None:
    """Catches host memory that stays in a CPU's large cache because the GPU's is small."""
    asked = suite('interface = "copy"\nsource = "cpu0:pinned"\ndestination = "gpu*:device"\nsize = "1MiB"')
    case = plan(asked, *h200x4)[0].case
    sizes = {size for _, size in buffers(case, h200x4[1])}
    assert sizes == {
        flow_buffer_bytes(case, case.flows[0], lambda device: {"cpu0": 105 * MIB}.get(device, 0))
    }
    assert sizes.pop() > 2 * 105 * MIB


@given(st.integers(1, 8), st.integers(0, 2**30), st.sampled_from([4096, MIB, 128 * MIB, 1024 * MIB]))
def test_concurrent_flows_share_the_rotation(flows: int, cache: int, size: int) -> None:
    """Catches flows that together fit a cache, several times the memory that is needed (locking 4 GiB took
    1.5 s of a quick run), and an interference case whose flows alone fit the cache.
    """
    flow = Flow(Buffer.parse("cpu0:pinned"), Buffer.parse("gpu0:device"), "gpu0")
    caches = {"cpu0": cache}

    def rotation(pattern: str, count: int) -> int:
        case = Case("copy", pattern, (flow,) * count, size)
        return flow_buffer_bytes(case, flow, lambda device: caches.get(device, 0))

    alone, shared = rotation("unidirectional", 1), rotation("fan-out", flows)
    assert flows * shared > 2 * cache
    assert shared <= alone <= 1.25 * (2 * cache + max(size, 64 * MIB))
    assert rotation("interference", flows) == alone


def test_a_plan_describes_itself() -> None:
    """Catches counts that differ from the plan, rounds counted as cases, and reasons that are left out."""
    asked = suite(PAIRS, MEMCPY.replace("memcpy", "copy"), head="rounds = 3")
    made = make_plan(asked, *patchy)
    summary = describe(made.cases, made.notes, made.estimated_s)
    assert (summary.to_measure, summary.rounds, summary.skipped) == (12, 3, 1)
    assert summary.sampling_s == pytest.approx(12)  # of all rounds together
    assert [(sweep.name, sweep.to_measure, sweep.skipped) for sweep in summary.sweeps] == [
        ("s0", 12, 0),
        ("s1", 0, 1),
    ]
    assert summary.left_out == 0
    assert [*summary.reason_of.values()] == [reason for reason, _ in summary.reasons]
    assert "copy is queued on a GPU, and cpu0 is a CPU" in summary.reasons[0][0]


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ("gpu0", "gpu0"),
        ("gpu0 gpu1", "gpu0, gpu1"),
        ("cpu0 gpu0 gpu1 gpu2 gpu3", "cpu0, gpu0 to gpu3"),
        ("gpu0 gpu1 gpu2 gpu5 gpu7 gpu8 gpu9", "gpu0 to gpu2, gpu5, gpu7 to gpu9"),
    ],
)
def test_names_as_ranges(devices: str, text: str) -> None:
    """Catches a range over a device that is not meant."""
    assert names_text(devices.split()) == text


def test_sentences_that_differ_in_devices_are_one() -> None:
    """Catches a reason that speaks for a device it is not of, and one that is lost."""
    told = [
        "gpu0 has no vmm memory: no",
        "gpu1 has no vmm memory: no",
        "gpu2 has no vmm memory: no",
        "gpu0 has no pool memory: no",
        "gpu0 cannot touch cpu0:pageable@gpu0 first",
        "gpu1 cannot touch cpu1:pageable@gpu1 first",
    ]
    stands = folded([*told, told[0]])
    assert [*stands] == told
    assert {stands[sentence] for sentence in told[:3]} == {"gpu0 has no vmm memory: no (gpu1, gpu2 too)"}
    assert stands[told[3]] == told[3]
    assert stands[told[5]] == "gpu0 cannot touch cpu0:pageable@gpu0 first (and 1 like it)"
