"""Every machine model in the simulator: it is read, discovery agrees with it, and a run repeats itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest

from byteways import _core
from byteways.answers.results.summary import cells
from byteways.cases.case import Buffer, Case, Flow
from byteways.cli import main
from byteways.machine.routes import route
from byteways.measuring.conduct.dry_run import dry_plan
from byteways.measuring.conduct.probe import lost_probe, probe_with
from byteways.measuring.conduct.process import WorkerLost
from byteways.measuring.conduct.simulation import Simulation
from byteways.measuring.shared.options import RunOptions
from byteways.measuring.shared.simulator import simulator_path
from byteways.measuring.work.measuring import NativeMeasurer
from byteways.measuring.work.own_host import devices_of_own_host
from byteways.measuring.work.worker import refused
from byteways.models import load, names, sheet
from byteways.models.model import MachineModel
from byteways.models.topology import topology_of
from byteways.plan.suite import load as suite
from byteways.questions.findings import findings
from byteways.questions.subjects.saturation import saturations
from byteways.record.run_folder import RunFolder
from scripts.unpack_examples import recorded
from tests.asked import asked
from tests.native.simulated import apart, play

FIELDS = (
    "name",
    "model",
    "pci_address",
    "uuid",
    "architecture",
    "numa_domain",
    "memory_bytes",
    "multiprocessors",
)


def devices(of: Iterable[_core.Device]) -> list[dict[str, Any]]:
    return [{name: getattr(device, name) for name in FIELDS} for device in of]


@pytest.mark.parametrize("name", names())
def test_the_simulator_plays_it(name: str) -> None:
    """Would catch a key that the simulator does not know or misses, and GPUs that discovery does not find."""
    model = load(name)
    text = sheet(model)

    def found(session: _core.Session) -> list[list[dict[str, Any]]]:
        return [devices(session.devices), devices(devices_of_own_host(session, text))]

    seen, own = ({fields["name"]: fields for fields in each} for each in play(text, found))
    assert tuple(seen) == model.devices
    assert seen["gpu0"]["memory_bytes"] == model.whole("gpu.memory_bytes")
    assert [seen[gpu]["numa_domain"] for gpu in model.devices if gpu.startswith("gpu")] == [
        *model.wholes("gpu.domains")
    ]
    alone, met = topology_of(model), topology_of(model, own)
    assert met.names() == alone.names()
    assert met.links == alone.links
    assert met.switches == alone.switches


@pytest.mark.parametrize("name", [name for name in names() if load(name).vendor == "nvidia"])
def test_both_ways_to_a_topology_agree(name: str) -> None:
    """Would catch a simulated management library that shows other links than the model's own discovery."""
    from byteways.machine.discovery import discover

    model = load(name)

    def links() -> list[list[Any]]:
        _core.load_machine(simulator_path(), sheet(model))
        topology = discover(management=_core.Management(simulator_path()).devices(), environment={})
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
        command = ["run", "quick", "--machine", "crusher-mi250x", "--only", "path=gpu0>gpu1", "--no-report"]
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
    whole = dry_plan(suite("quick"), RunOptions(), simulation=simulation).plan
    short = dry_plan(suite("quick"), RunOptions(budget_s=30.0), simulation=simulation).plan
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


def recorded_run(name: str) -> RunFolder:
    return RunFolder(recorded(f"h200x2/{name}"))


def simulated(tmp_path: Path, suite_name: str, *only: str) -> RunFolder:
    out = tmp_path / "R"
    words = ["--machine", "h200-x4", *only, "--rounds", "1", "--no-report", "--out", str(out)]
    assert main(["run", suite_name, *words]) == 0
    return RunFolder(out)


def test_as_many_blocks_fill_a_link_of_h200_as_were_measured(tmp_path: Path) -> None:
    """Would catch a block that moves more or less than one of the recorded run, for a link or for all."""

    def enough(folder: RunFolder) -> dict[str, int]:
        curves = saturations(cells(folder.records), folder.topology)
        links = [curve for curve in curves if len(set(curve.path.split(">"))) > 1]
        return {f"{curve.path} {curve.interface} by {curve.executor}": curve.enough[0] for curve in links}

    found = enough(simulated(tmp_path, "saturation"))
    assert len(found) == 8
    assert found == enough(recorded_run("saturation"))


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
    measured = {one.case_id: one.time_ns.median for one in recorded_run(name).records if one.time_ns}
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
    try:
        _core.load_machine("/nosuch.so", "")
    except _core.Error as error:
        answer = refused(error, "probe")
    worker: Any = SimpleNamespace(send=lambda _: None, answer=lambda _: answer)
    with pytest.raises(WorkerLost) as lost:
        probe_with(worker)
    assert lost_probe(lost.value, "crusher-mi250x").hint == "reinstall byteways: the simulator is part of it"
    assert "another model" in (lost_probe(WorkerLost("it died"), "crusher-mi250x").hint or "")


def flows_of_all_gpus(model: MachineModel) -> tuple[Flow, ...]:
    """Copies of every GPU to and from pinned memory of its nearest NUMA domain."""
    found = []
    for gpu, domain in enumerate(model.wholes("gpu.domains")):
        host, device = Buffer(f"cpu{domain}", "pinned"), Buffer(f"gpu{gpu}", "device")
        found += [Flow(host, device, f"gpu{gpu}"), Flow(device, host, f"gpu{gpu}")]
    return tuple(found)


@pytest.mark.parametrize("name", [name for name in names() if name != "elcap-mi300a"])
def test_a_domain_gives_no_more_than_its_memory_has(name: str) -> None:
    """Would catch reads and writes that each get all of a domain's channels: 408 GB/s on a node of 205."""
    model = load(name)
    case = Case("copy", "fan-bidirectional", flows_of_all_gpus(model), 64 << 20)

    def measured() -> float:
        measurer = NativeMeasurer.open(sheet(model))
        answer = measurer.measure(asked(case)).outcome
        return float(answer["bandwidth_bytes_per_s"])

    most = max(model.number("cpu.read_bytes_per_s"), model.number("cpu.write_bytes_per_s"))
    assert apart(measured) <= 1.02 * most * len(set(model.wholes("gpu.domains")))


@pytest.mark.parametrize("name", names())
def test_pages_move_no_faster_than_links(name: str) -> None:
    """Would catch pages that move through nothing, or to another domain than the one whose path is named."""
    model = load(name)
    topology = topology_of(model)  # of the first host
    far = topology.names("cpu")[-1]
    ends = [(far, "gpu0"), ("gpu0", far), ("gpu0", topology.names("gpu")[-1])]

    def measured() -> list[Any]:
        measurer = NativeMeasurer.open(sheet(model))
        answers = []
        for key, (source, destination) in enumerate(ends):
            flow = Flow(Buffer(source, "managed"), Buffer(destination, "managed"), "gpu0")
            case = Case("prefetch", "unidirectional", (flow,), 64 << 20)
            measurer.restart(key)
            answer = measurer.measure(asked(case)).outcome
            answers.append([answer["status"], answer["reason"], answer.get("bandwidth_bytes_per_s", 0.0)])
        return answers

    for (source, destination), (status, reason, bandwidth) in zip(ends, apart(measured), strict=True):
        if status == "failed":
            assert f"were not on {destination}" in reason
            continue
        peaks = [link.peak_bytes_per_s or float("inf") for link in route(topology, source, destination)]
        assert status == "measured" and bandwidth <= min(peaks)


def outcome(name: str, case: Case) -> dict[str, Any]:
    """Measures the case on a machine model in a separate process."""

    def measured() -> dict[str, Any]:
        return NativeMeasurer.open(sheet(load(name))).measure(asked(case)).outcome

    return dict(apart(measured))


def test_loads_of_a_core_wait_for_copies() -> None:
    """Would catch a CPU's memory that answers as fast under load as without."""
    host = Buffer("cpu0", "pageable")
    walk = Flow(host, host, "cpu0")
    alone = outcome("h200-x4", Case("pointer-chase", "unidirectional", (walk,), 512 << 20, cache="warm"))
    load_of_all = Flow(host, host, "cpu0", interface="memcpy-mt")
    case = Case("pointer-chase", "interference", (walk, load_of_all), 512 << 20, cache="warm")
    beside = outcome("h200-x4", case)
    assert alone["latency_ns"] == pytest.approx(134, rel=0.02)
    assert 1.5 * alone["latency_ns"] < beside["latency_ns"] < 4 * alone["latency_ns"]


def test_kernels_of_one_gpu_share_its_path() -> None:
    """Would catch kernels that wait for the host and leave others alone: 95 GB/s where 57 were measured."""
    host, device = Buffer("cpu0", "pinned"), Buffer("gpu0", "device")
    case = Case("kernel", "bidirectional", (Flow(host, device, "gpu0"), Flow(device, host, "gpu0")), 64 << 20)
    assert outcome("h200-x4", case)["bandwidth_bytes_per_s"] == pytest.approx(57.4e9, rel=0.03)
