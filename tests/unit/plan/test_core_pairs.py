"""Pairs of cores: each once, and of large machines a sample that has every kind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from byteways.base.errors import BytewaysError
from byteways.cases.case import Case
from byteways.machine.discovery import discover
from byteways.machine.model import Cache, Device, Topology
from byteways.machine.routes import link_class
from byteways.plan.core_pairs import (
    ALL_PAIRS_UP_TO_CORES,
    core_pairs,
    note,
    physical_cores,
    sampled_cores,
    shared_cache,
)
from byteways.plan.suite import parse
from byteways.plan.sweep import expand
from tests.unit import machines

TWO_CORES: Topology = machines.two_cores()[0]
TWO_DOMAINS: Topology = machines.gpus(4, domains=2)[0]
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
    devices = [
        Device(f"cpu{index}", "cpu", "a CPU", cores=tuple(range(threads)), caches=caches)
        for index in range(domains)
    ]
    return Topology("host", tuple(devices))


def test_every_pair_is_there_once() -> None:
    """Catches a pair in both orders, a core with itself, and domains that are not joined."""
    cases, notes = expansion(PING_PONG, TWO_DOMAINS)
    of = {name: len(TWO_DOMAINS.device(name).cores) for name in ("cpu0", "cpu1")}
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
    device = cpus(1, 16, per_core=2).devices[0]
    assert physical_cores(device) == 8
    assert list(core_pairs("cpu0", "cpu0", cpus(1, 4, per_core=2))) == [(0, 1)]


def processor(folder: Path, cores: int, threads: int, l3: int) -> Path:
    """The sysfs of one NUMA domain: thread t of core c is CPU c + t × cores; `l3` cores share a cache."""
    system = folder / "devices/system"
    (system / "node/node0").mkdir(parents=True)
    (system / "node/node0/cpulist").write_text(f"0-{cores * threads - 1}")
    for cpu in range(cores * threads):
        core = cpu % cores
        siblings = [core + thread * cores for thread in range(threads)]
        group = [
            c + thread * cores for c in range(cores) if c // l3 == core // l3 for thread in range(threads)
        ]
        (system / f"cpu/cpu{cpu}/topology").mkdir(parents=True)
        (system / f"cpu/cpu{cpu}/topology/thread_siblings_list").write_text(",".join(map(str, siblings)))
        caches = [
            (1, "Data", siblings),
            (1, "Instruction", group),
            (2, "Unified", siblings),
            (3, "Unified", group),
        ]
        for index, (level, kind, shared) in enumerate(caches):
            place = system / f"cpu/cpu{cpu}/cache/index{index}"
            place.mkdir(parents=True)
            for name, text in (
                ("level", level),
                ("type", kind),
                ("size", "32K"),
                ("coherency_line_size", 64),
            ):
                (place / name).write_text(f"{text}\n")
            (place / "shared_cpu_list").write_text(",".join(map(str, sorted(shared))))
    return folder


def test_one_thread_a_core_is_a_core_each(tmp_path: Path) -> None:
    """Catches two cores found where a job has one thread of each of four: CPUs 0 to 3 of 8."""
    found = discover({}, processor(tmp_path, 4, 2, 4), proc=tmp_path, allowed_cores=range(4), management=[])
    device = found.device("cpu0")
    assert device.threads == ((0,), (1,), (2,), (3,))
    assert physical_cores(device) == 4
    assert shared_cache(device, 0, 3) == 3
    whole = discover({}, tmp_path, proc=tmp_path, allowed_cores=range(8), management=[]).device("cpu0")
    assert physical_cores(whole) == 4
    assert whole.threads[1] == (1, 5)
    assert Topology.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_caches_are_shared_by_whom_the_kernel_says(tmp_path: Path) -> None:
    """Catches cores 1 and 9 in one L3 where a system keeps the first core of each, as Frontier's nodes do:
    counted without those, cores 1 to 7 and 9 to 15 are numbered one after another.
    """
    processor(tmp_path, 16, 2, 8)
    allowed = [cpu for cpu in range(16) if cpu % 8]
    device = discover({}, tmp_path, proc=tmp_path, allowed_cores=allowed, management=[]).device("cpu0")
    number = {core[0]: index for index, core in enumerate(device.threads)}
    assert physical_cores(device) == 14
    assert shared_cache(device, number[1], number[9]) is None
    assert shared_cache(device, number[7], number[9]) is None
    assert shared_cache(device, number[9], number[10]) == 3
    assert shared_cache(device, number[1], number[7]) == 3


def test_large_machines_are_sampled_with_neighbours_and_far_ones() -> None:
    """Catches half a million cases, and a sample in which no two cores share a cache."""
    large = cpus(2, 96)
    taken = sampled_cores(large)
    assert sum(map(len, taken.values())) <= ALL_PAIRS_UP_TO_CORES + 2
    kinds = {shared_cache(large.devices[0], a, b) for a, b in core_pairs("cpu0", "cpu0", large)}
    assert kinds == {3, None}
    assert "of 192 cores two neighbours at a time" in (note(large) or "")
    assert note(cpus(1, ALL_PAIRS_UP_TO_CORES)) is None


def test_a_single_core_has_no_pair_and_says_so() -> None:
    """Catches an empty sweep without a word."""
    alone = replace(TWO_CORES, devices=(replace(TWO_CORES.devices[0], cores=(0,)),))
    cases, notes = expansion(PING_PONG, alone)
    assert cases == ()
    assert any("one core only" in text for text in notes)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (PING_PONG.replace("ping-pong", "memcpy"), "memcpy does not run between two cores"),
        (PING_PONG + "options = { core = 0 }", "the options already choose cores"),
    ],
)
def test_pairs_of_cores_are_of_what_has_cores(lines: str, problem: str) -> None:
    """Catches a key that nothing reads."""
    with pytest.raises(BytewaysError, match=problem):
        expansion(lines, TWO_CORES)
