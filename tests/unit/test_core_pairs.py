"""Pairs of cores: each once, and of large machines a sample that has every kind."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from byteways.errors import BytewaysError
from byteways.plan.case import Case
from byteways.plan.core_pairs import MOST_CORES, core_pairs, note, physical_cores, sampled_cores, shared_cache
from byteways.plan.suite import parse
from byteways.plan.sweep import expand
from byteways.topology.model import Agent, Cache, Topology
from byteways.topology.routes import link_class

MACHINES = runpy.run_path(str(Path(__file__).with_name("machines.py")))
TWO_CORES: Topology = MACHINES["two_cores"]()[0]
TWO_DOMAINS: Topology = MACHINES["gpus"](4, domains=2)[0]
PING_PONG = (
    'interface = "ping-pong"\nsource = "cpu*:pageable"\ndestination = "cpu*:pageable"\n'
    'executor = "source"\ncores = "pairs"\n'
)


def expansion(lines: str, topology: Topology) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    text = f'name = "mine"\ntitle = "Mine"\n[[sweep]]\nname = "s"\nsize = 8\n{lines}'
    sweep = parse(text, file="my.toml").sweeps[0]
    found = expand(sweep, topology, lambda a, b: link_class(topology, a, b))
    return found.cases, found.notes


def cpus(domains: int, threads: int, per_core: int = 1, group: int = 8) -> Topology:
    """Domains of so many threads, with a first-level cache of each core and a last one of each group."""
    caches = (
        Cache(1, "data", 32 << 10, 64, per_core),
        Cache(1, "instruction", 32 << 10, 64, per_core),
        Cache(3, "unified", 32 << 20, 64, group * per_core),
    )
    agents = [
        Agent(f"cpu{index}", "cpu", "a CPU", cores=tuple(range(threads)), caches=caches)
        for index in range(domains)
    ]
    return Topology("host", tuple(agents))


def test_every_pair_is_there_once() -> None:
    """Catches a pair in both orders, a core with itself, and domains that are not joined."""
    cases, notes = expansion(PING_PONG, TWO_DOMAINS)
    of = {name: len(TWO_DOMAINS.agent(name).cores) for name in ("cpu0", "cpu1")}
    total = sum(of.values())
    assert notes == ()
    assert len(cases) == total * (total - 1) // 2
    pairs = {
        frozenset(
            {
                (case.flows[0].executor, case.options["core"]),
                (str(case.flows[0].partner), case.options["partner_core"]),
            }
        )
        for case in cases
    }
    assert len(pairs) == len(cases) and all(len(pair) == 2 for pair in pairs)


def test_siblings_are_one_core() -> None:
    """Catches the two threads of a core measured as if they were cores."""
    agent = cpus(1, 16, per_core=2).devices[0]
    assert physical_cores(agent) == 8
    assert list(core_pairs("cpu0", "cpu0", cpus(1, 4, per_core=2))) == [(0, 1)]


def test_large_machines_are_sampled_with_neighbours_and_far_ones() -> None:
    """Catches half a million cases, and a sample in which no two cores share a cache."""
    large = cpus(2, 96)
    taken = sampled_cores(large)
    assert sum(map(len, taken.values())) <= MOST_CORES + 2
    kinds = {shared_cache(large.devices[0], a, b) for a, b in core_pairs("cpu0", "cpu0", large)}
    assert kinds == {3, None}
    assert "of 192 cores two neighbours at a time" in (note(large) or "")
    assert note(cpus(1, MOST_CORES)) is None


def test_a_single_core_has_no_pair_and_says_so() -> None:
    """Catches an empty sweep without a word."""
    alone = replace(TWO_CORES, devices=(replace(TWO_CORES.devices[0], cores=(0,)),))
    cases, notes = expansion(PING_PONG, alone)
    assert cases == ()
    assert any("one core only" in text for text in notes)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (PING_PONG.replace("ping-pong", "memcpy"), "memcpy is not between two cores"),
        (PING_PONG + "options = { core = 0 }", "the options choose cores already"),
    ],
)
def test_pairs_of_cores_are_of_what_has_cores(lines: str, problem: str) -> None:
    """Catches a key that nothing reads."""
    with pytest.raises(BytewaysError, match=problem):
        expansion(lines, TWO_CORES)
