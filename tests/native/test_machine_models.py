"""Every machine model in the simulator: it is read, discovery agrees with it, and a run repeats itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from byteways import _core
from byteways.analyse.findings import findings
from byteways.analyse.subjects.saturation import saturations
from byteways.analyse.summary import cells
from byteways.cli import main
from byteways.machines import load, names, sheet
from byteways.machines.topology import topology_of
from byteways.plan.suite import load as suite
from byteways.results.run_folder import RunFolder
from byteways.run.execution import dry_plan
from byteways.run.options import Options
from byteways.run.probe import lost_probe
from byteways.run.process import WorkerLost
from byteways.run.simulation import Simulation
from byteways.run.simulator import simulator_path

sys.path.insert(0, str(Path(__file__).parent))

from simulated import apart, play

FIELDS = (
    "agent",
    "name",
    "pci_address",
    "uuid",
    "architecture",
    "numa_domain",
    "memory_bytes",
    "multiprocessors",
)


def agents(session: _core.Session) -> list[dict[str, Any]]:
    return [{name: getattr(agent, name) for name in FIELDS} for agent in session.devices]


@pytest.mark.parametrize("name", names())
def test_the_simulator_plays_it(name: str) -> None:
    """Would catch a key that the simulator does not know or misses, and GPUs that discovery does not find."""
    model = load(name)
    seen = {fields["agent"]: fields for fields in play(sheet(model), agents)}
    assert tuple(seen) == model.devices
    assert seen["gpu0"]["memory_bytes"] == model.whole("gpu.memory_bytes")
    assert [seen[gpu]["numa_domain"] for gpu in model.devices if gpu.startswith("gpu")] == [
        *model.wholes("gpu.domains")
    ]
    alone, met = topology_of(model), topology_of(model, seen)
    assert met.names() == alone.names()
    assert met.links == alone.links
    assert met.switches == alone.switches


@pytest.mark.parametrize("name", [name for name in names() if load(name).vendor == "nvidia"])
def test_both_ways_to_a_topology_agree(name: str) -> None:
    """Would catch a simulated management library that shows other links than the model's own discovery."""
    from byteways.topology import discover

    model = load(name)

    def links() -> list[list[Any]]:
        _core.load_machine(simulator_path(), sheet(model))
        topology = discover(management=_core.Nvml(simulator_path()).devices(), environment={})
        return [[link.a, link.b, link.link_class, link.peak_bytes_per_s] for link in topology.links]

    own = topology_of(model)
    gpu_links = [[link.a, link.b, link.link_class, link.peak_bytes_per_s] for link in own.links]
    assert [link for link in apart(links) if "NVLink" in link[2]] == [
        link for link in gpu_links if "NVLink" in link[2]
    ]


def test_a_run_repeats_itself(tmp_path: Path) -> None:
    """Would catch anything of a simulated run that depends on real time, addresses or chance."""
    outcomes = []
    for folder in ("A", "B"):
        command = ["run", "quick", "--machine", "crusher-mi250x", "--only", "path=gpu0>gpu*", "--no-report"]
        done = subprocess.run(
            [sys.executable, "-m", "byteways", *command, "--out", folder],
            cwd=tmp_path,
            env=dict(os.environ),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        own = ("started_at", "wall_s", "worker")
        records = [record.to_json() for record in RunFolder(tmp_path / folder).records]
        outcomes.append([{key: value for key, value in line.items() if key not in own} for line in records])
    assert outcomes[0] == outcomes[1]
    assert "measured" in {line["status"] for line in outcomes[0]}


def test_virtual_time_leaves_nothing_out() -> None:
    """Would catch cases that a suite's budget of real seconds drops from a run that costs none."""
    simulation = Simulation(load("crusher-mi250x"))
    whole = dry_plan(suite("quick"), Options(), simulation=simulation)
    short = dry_plan(suite("quick"), Options(budget_s=30.0), simulation=simulation)
    assert not [case for case in whole.cases if case.spare]
    assert [case for case in short.cases if case.spare]


def test_copies_of_an_apu_take_the_engine_that_the_rule_names(tmp_path: Path) -> None:
    """Would catch a copy between a package's CPU and its GPU done by a kernel, at the memory's speed."""
    only = ["--only", "interface=copy,pattern=unidirectional,path=cpu0>gpu0"]
    out = tmp_path / "R"
    assert main(["run", "quick", "--machine", "elcap-mi300a", *only, "--no-report", "--out", str(out)]) == 0
    records = RunFolder(out).records
    assert records and all(record.engine == "copy-engine" for record in records)
    assert all("as by rule" in (record.engine_evidence or "") for record in records)


def test_a_walk_that_fits_the_caches_is_not_called_memory(tmp_path: Path) -> None:
    """Would catch MI300X's Infinity Cache, as large as the working set, being called memory."""
    out = tmp_path / "R"
    only = ["--only", "interface=pointer-chase,executor=gpu0"]
    rounds = ["--rounds", "3", "--no-report"]
    assert main(["run", "quick", "--machine", "mi300x-8", *only, *rounds, "--out", str(out)]) == 0
    told = [one.title for one in findings(RunFolder(out)) if "Load latency on a GPU" in one.title]
    assert told and "its own caches" in told[0]


def recorded(name: str) -> RunFolder:
    return RunFolder(Path(__file__).parents[2] / "examples" / "h200x2" / name)


def simulated(tmp_path: Path, suite_name: str, *only: str) -> RunFolder:
    out = tmp_path / "R"
    command = ["run", suite_name, "--machine", "h200-x4", *only, "--no-report", "--out", str(out)]
    assert main(command) == 0
    return RunFolder(out)


def test_as_many_blocks_fill_a_link_of_h200_as_were_measured(tmp_path: Path) -> None:
    """Would catch a block that moves more or less than one of the recorded run, for a link or for all."""

    def enough(folder: RunFolder) -> dict[str, int]:
        curves = saturations(cells(folder.records), folder.topology)
        links = [curve for curve in curves if len(set(curve.path.split(">"))) > 1]
        return {f"{curve.path} {curve.interface} by {curve.executor}": curve.enough[0] for curve in links}

    found = enough(simulated(tmp_path, "saturation"))
    assert len(found) == 8
    assert found == enough(recorded("saturation"))


@pytest.mark.parametrize(
    ("name", "only", "most"),
    [
        ("managed", "interface=prefetch", 1.3),
        ("managed", "interface=kernel,source=*:managed", 1.3),
        ("memory-cost", "interface=allocate|free|register|unregister|map-peer", 2.0),
    ],
)
def test_what_memory_costs_on_h200_is_near_what_was_measured(
    tmp_path: Path, name: str, only: str, most: float
) -> None:
    """Would catch a cost of pages that is off by more than the fit: `most` is the median of the factors."""
    measured = {one.case_id: one.time_ns.median for one in recorded(name).records if one.time_ns}
    found = {
        one.case_id: one.time_ns.median
        for one in simulated(tmp_path, name, "--only", only).records
        if one.time_ns
    }
    factors = [
        max(time / measured[case], measured[case] / time) for case, time in found.items() if case in measured
    ]
    assert len(factors) >= 10
    assert median(factors) <= most


def test_a_missing_simulator_is_no_fault_of_the_model() -> None:
    """Would catch a hint to try another model where none could be played."""
    lost = WorkerLost("Error: dlopen: simulator (the simulator is not there: /nosuch.so)")
    assert lost_probe(lost, "crusher-mi250x").hint == "install byteways again: the simulator is a part of it"
    assert "another model" in (lost_probe(WorkerLost("it died"), "crusher-mi250x").hint or "")
