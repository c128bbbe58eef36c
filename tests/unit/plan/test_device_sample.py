"""Large machines: plans of a sample of devices within their budget, and a topology that fits a screen."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest

from byteways.cli.device_groups import grouped, names_in_ranges, ranges_of
from byteways.cli.topo import blocks
from byteways.cli.topo_links import tree
from byteways.console.layout import plain
from byteways.machine.model import Topology
from byteways.machine.routes import link_class
from byteways.measuring.conduct import suite_choice
from byteways.measuring.conduct.probe import probe_with
from byteways.measuring.conduct.process import WorkerProcess
from byteways.measuring.conduct.simulation import simulation_of
from byteways.measuring.shared.options import RunOptions
from byteways.plan.device_sample import ALL_UP_TO_DEVICES, sample_for
from byteways.plan.estimate import Estimator
from byteways.plan.planner import make_plan
from byteways.plan.probe_scope import ProbeScope, scope_of
from byteways.plan.suite import load
from tests.machines import amd
from tests.unit import machines, planning
from tests.unit.planning import suite

PAIRS = f'{planning.PAIRS}\nexecutor = "source"'


@pytest.fixture(scope="module")
def partitioned(tmp_path_factory: pytest.TempPathFactory) -> Topology:
    """Four MI300X, each divided into eight devices."""
    one, eight = amd.mi300x_cpx(), amd.mi300x_x8()
    parts = tuple(
        replace(
            part, pci_address=f"{whole.pci_address[:-1]}{part.pci_address[-1]}", cpu=whole.cpu, unique_id=1
        )
        for whole in eight.gpus[::2]
        for part in one.gpus
    )
    links = amd.peers(((8 * a, 8 * b), 1) for a, b in combinations(range(4), 2))
    return amd.topology_of(tmp_path_factory.mktemp("cpx"), replace(eight, gpus=parts, links=links))


def test_every_class_of_links_is_in_the_sample(partitioned: Topology) -> None:
    """Catches a sample without a kind of link of the machine, and one that differs from run to run."""
    sample = sample_for(suite(PAIRS), partitioned)
    assert sample is not None
    assert (len(sample.devices), sample.gpus, sample.left_out) == (ALL_UP_TO_DEVICES + 2, 32, ())
    gpus = [name for name in sample.devices if name.startswith("gpu")]
    some = {link_class(partitioned, a, b) for a, b in combinations(gpus, 2)}
    assert some == {link_class(partitioned, a, b) for a, b in combinations(partitioned.names("gpu"), 2)}
    assert {partitioned.nearest_cpu(gpu) for gpu in gpus} == {"cpu0", "cpu1"}
    assert sample_for(suite(PAIRS), partitioned) == sample
    other = sample_for(suite(PAIRS), partitioned, seed=1)
    assert other is not None
    assert other.devices != sample.devices


def test_devices_that_are_named_are_in_the_sample() -> None:
    """Catches a question for two GPUs of a large machine that measures others."""
    topology, capabilities = machines.gpus(40)
    named = suite(PAIRS.replace('"gpu*:device"', '"gpu33:device"', 1))
    cases = make_plan(named, topology, capabilities).cases
    assert {case.case.flows[0].source.device for case in cases} == {"gpu33"}
    only = make_plan(suite(PAIRS), topology, capabilities, only=["path=gpu38>gpu39"])
    assert [case.case.path for case in only.cases] == ["gpu38>gpu39"]


def test_machines_up_to_the_limit_are_taken_whole() -> None:
    """Catches a sample where there is time for every pair."""
    topology, capabilities = machines.gpus(ALL_UP_TO_DEVICES)
    found = make_plan(suite(PAIRS), topology, capabilities)
    assert found.sample is None
    assert len(found.cases) == ALL_UP_TO_DEVICES * (ALL_UP_TO_DEVICES - 1)


def test_a_large_plan_says_what_was_sampled_and_how_to_get_all() -> None:
    """Catches a plan that leaves devices out without a word, and an option that does not take them."""
    topology, capabilities = machines.gpus(20)
    found = make_plan(suite(PAIRS), topology, capabilities)
    assert found.sample is not None
    assert found.sample.to_json()["option"] == "--all-devices"
    assert found.notes[0] == found.sample.note()
    assert len(found.cases) == ALL_UP_TO_DEVICES * (ALL_UP_TO_DEVICES - 1)
    assert len(make_plan(suite(PAIRS), topology, capabilities, all_devices=True).cases) == 20 * 19


def test_quick_of_64_gpus_fits_a_minute() -> None:
    """Catches a budget of 60 s that is refused on a large machine."""
    topology, capabilities = machines.gpus(64, domains=2)
    found = make_plan(load("quick"), topology, capabilities, budget_s=60)
    running = {case.case.case_id for case in found.cases if case.reason is None}
    assert len(running) > 50
    assert found.estimated_s <= 60
    assert {case.sweep for case in found.cases if case.reason is None} >= {"pairs", "from-host", "latency"}


def test_numa_domains_of_a_large_machine_are_sampled_too() -> None:
    """Catches 40 domains of which every pair is planned."""
    topology, _ = machines.two_cores()
    cpus = tuple(machines.cpu_device(index) for index in range(40))
    sample = sample_for(suite(PAIRS), replace(topology, devices=cpus))
    assert sample is not None
    assert len(sample.devices) == ALL_UP_TO_DEVICES
    assert (sample.gpus, sample.cpus) == (0, 40)


def test_a_large_machine_fits_a_screen(partitioned: Topology) -> None:
    """Catches thousands of lines for 64 devices, a mesh drawn as a tree, and an option that shows nothing."""
    short = [line for block in blocks(partitioned) for line in plain(block)]
    assert len(short) < 80
    assert len(tree(partitioned)) < 2 * len(partitioned.links)
    assert any("gpu0 to gpu7 (8)" in line for line in short)
    assert len([line for block in blocks(partitioned, every=True) for line in plain(block)]) > 2 * len(short)


def test_names_become_ranges() -> None:
    """Catches a range over a gap, or over devices of two kinds."""
    assert ranges_of(["gpu0", "gpu1", "gpu2", "gpu4", "cpu5"]) == "gpu0 to gpu2, gpu4, cpu5"
    assert names_in_ranges("gpu0, gpu1, gpu2: idle, gpu7") == "gpu0 to gpu2: idle, gpu7"
    rows = [("gpu0", "A", "1"), ("gpu1", "A", "2"), ("gpu2", "B", "3")]
    assert grouped(rows, own=(2,)) == [("gpu0 to gpu1 (2)", "A", "1 … 2"), ("gpu2", "B", "3")]


@pytest.mark.parametrize("many", [False, True])
def test_only_sampled_gpus_are_tried(many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a probe that opens 64 GPUs before a run of a minute begins, and a list of devices that a
    machine with few is waited for.
    """
    monkeypatch.setattr(suite_choice, "many_gpus", lambda: many)
    sample = SimpleNamespace(devices=("cpu0", "gpu1"))
    monkeypatch.setattr(suite_choice, "sample_of", lambda suite, options, topology: sample)
    quick = load("quick")
    every = scope_of(quick)
    scope = suite_choice.SuiteChoice(quick, RunOptions(), simulated=False).scope()
    assert (scope(Topology("node", ())) if callable(scope) else scope) == (
        replace(every, gpus=("gpu1",)) if many else every
    )
    assert suite_choice.SuiteChoice(quick, RunOptions(), simulated=True).scope() == every
    asked = suite_choice.SuiteChoice(lambda topology: quick, RunOptions(), simulated=True)
    scope = asked.scope()
    assert callable(scope) and scope(Topology("node", ())) == every and asked.applied.name == "quick"


def test_what_a_worker_tells_of_gpus_that_it_does_not_try(tmp_path: Path) -> None:
    """Catches an untried GPU that is lost, and one whose memory and peers are tried all the same."""
    simulation = simulation_of("h200-x4", None)
    assert simulation is not None
    command = simulation.command(simulation.write_sheet(tmp_path), None)
    worker = WorkerProcess(tmp_path / "log", command=command)
    try:
        scope = ProbeScope(("gpu0", "gpu2"), ("copy", "kernel"), ())
        found = probe_with(worker, scope=scope).capabilities
    finally:
        worker.stop()
    assert sorted(found.devices) == ["cpu0", "gpu0", "gpu1", "gpu2", "gpu3"]
    assert sorted(found.memory) == sorted(found.interface) == ["cpu0", "gpu0", "gpu2"]
    assert {a: [*row] for a, row in found.peer.items()} == {"gpu0": ["gpu2"], "gpu2": ["gpu0"]}
    assert sorted(found.interface["gpu0"]) == ["copy", "kernel"] and found.granted["gpu0"] == {"gpu2": {}}
    assert Estimator(simulation.topology(), found).start_s() < Estimator(*machines.h200x4()).start_s()
    free = {name: fields["free_bytes"] > 0 for name, fields in found.devices.items() if name != "cpu0"}
    assert free == {"gpu0": True, "gpu1": False, "gpu2": True, "gpu3": False}
