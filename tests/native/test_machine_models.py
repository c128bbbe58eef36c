"""Every machine model in the simulator: it is read, discovery agrees with it, and a run repeats itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from byteways import _core
from byteways.analyse.findings import findings
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
    return [{name: getattr(agent, name) for name in FIELDS} for agent in session.agents]


@pytest.mark.parametrize("name", names())
def test_the_simulator_plays_it(name: str) -> None:
    """Would catch a key that the simulator does not know or misses, and GPUs that discovery does not find."""
    model = load(name)
    seen = {fields["agent"]: fields for fields in play(sheet(model), agents)}
    assert tuple(seen) == model.agents
    assert seen["gpu0"]["memory_bytes"] == model.whole("gpu.memory_bytes")
    assert [seen[gpu]["numa_domain"] for gpu in model.agents if gpu.startswith("gpu")] == [
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
    only = ["--only", "interface=copy,pattern=one-way,path=cpu0>gpu0"]
    out = tmp_path / "R"
    assert main(["run", "quick", "--machine", "elcap-mi300a", *only, "--no-report", "--out", str(out)]) == 0
    records = RunFolder(out).records
    assert records and all(record.engine == "copy-engine" for record in records)
    assert all("as by rule" in (record.engine_evidence or "") for record in records)


def test_a_walk_that_fits_the_caches_is_not_called_memory(tmp_path: Path) -> None:
    """Would catch MI300X's Infinity Cache, as large as the working set, being called memory."""
    out = tmp_path / "R"
    only = ["--only", "interface=chase,executor=gpu0"]
    assert main(["run", "quick", "--machine", "mi300x-8", *only, "--no-report", "--out", str(out)]) == 0
    waits = [one.title for one in findings(RunFolder(out)) if "waits" in one.title and "GPU" in one.title]
    assert waits and "from its own caches" in waits[0]


def test_a_missing_simulator_is_no_fault_of_the_model() -> None:
    """Would catch a hint to try another model where none could be played."""
    lost = WorkerLost("Error: dlopen: simulator (the simulator is not there: /nosuch.so)")
    assert lost_probe(lost, "crusher-mi250x").hint == "install byteways again: the simulator is a part of it"
    assert "another model" in (lost_probe(WorkerLost("it died"), "crusher-mi250x").hint or "")
