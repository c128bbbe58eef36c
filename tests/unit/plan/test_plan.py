"""Plans: that nothing asked for gets lost, order, rounds, time budgets, and what shipped suites come to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError
from byteways.cases.case import OF_ALL_RANKS, PATTERNS, Buffer, Case, Flow
from byteways.cases.folding import folded
from byteways.cases.memory import MEMORIES
from byteways.machine.model import Topology
from byteways.plan.footprint import (
    buffer_bytes,
    buffers,
    flow_buffer_bytes,
)
from byteways.plan.sweep import expand
from tests.unit.planning import EVERY, MIB, PAIRS, h200x4, plan, suite, two_cores


def link_class(topology: Topology) -> Any:
    from byteways.machine.routes import link_class

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
        # A sweep of transfers names devices, which differ from machine to machine: test_transfers.py.
        named = (*OF_ALL_RANKS, "transfers")
        pattern = draw(st.sampled_from([name for name in PATTERNS if name not in named]))
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
    asked = suite(PAIRS + '\nenvironment = { OMP_NUM_THREADS = ["1", "2"] }', head="rounds = 2")
    planned = plan(asked, *h200x4)
    values = [entry.case.environment["OMP_NUM_THREADS"] for entry in planned]
    changes = [value for index, value in enumerate(values) if index == 0 or values[index - 1] != value]
    assert changes == ["1", "2", "1"]


def test_no_case_here_says_why() -> None:
    """Catches an empty plan without a word: the suite is for other machines."""
    with pytest.raises(BytewaysError, match="has no case on this machine") as caught:
        plan(suite(PAIRS), *two_cores)
    assert "no device here matches 'gpu*'" in (caught.value.cause or "")


@given(st.integers(1, 2**32), st.integers(0, 2**30))
def test_a_cold_rotation_exceeds_four_caches_in_whole_operations(size: int, cache: int) -> None:
    """Catches a rotation that fits a cache (figures too good), or one of parts of operations."""
    cold = buffer_bytes(size, "cold", cache)
    assert cold > 4 * cache
    assert cold % size == 0
    assert cold <= size + 4 * cache + 64 * MIB
    assert buffer_bytes(size, "warm", cache) == size


def test_both_ends_of_a_flow_rotate_over_the_larger_cache() -> None:
    """Catches host memory that stays in a CPU's large cache because the GPU's is small."""
    asked = suite('interface = "copy"\nsource = "cpu0:pinned"\ndestination = "gpu*:device"\nsize = "1MiB"')
    case = plan(asked, *h200x4)[0].case
    sizes = {size for _, size in buffers(case, h200x4[1])}
    assert sizes == {
        flow_buffer_bytes(case, case.flows[0], lambda device: {"cpu0": 105 * MIB}.get(device, 0))
    }
    assert sizes.pop() > 4 * 105 * MIB


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
    assert flows * shared > 4 * cache
    assert shared <= alone <= 1.25 * (4 * cache + max(size, 64 * MIB))
    assert rotation("interference", flows) == alone


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


def test_what_sentences_have_alike_is_said_once() -> None:
    """Catches "and 2 like it" where only one device differs, and devices left out where two do."""
    one = [f"gpu0 has no path to gpu{number}" for number in (1, 2, 3)]
    assert set(folded(one).values()) == {"gpu0 has no path to gpu1 (gpu2, gpu3 too)"}
    two = ["gpu0 has no path to gpu1", "gpu1 has no path to gpu2"]
    assert set(folded(two).values()) == {"gpu0 has no path to gpu1 (and 1 like it)"}
