"""Two simulated hosts joined by NICs: messages between them, and what may not cross."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from byteways.measuring.conduct.dry_run import DryRun
from byteways.measuring.conduct.execution import plan_of
from byteways.measuring.conduct.probe import Probe
from byteways.measuring.conduct.simulation import Simulation
from byteways.measuring.shared.options import RunOptions
from byteways.models import load
from byteways.models.topology import topology_of
from byteways.plan.planner import NoCaseError
from byteways.plan.suite import load as load_suite
from byteways.record.record import Record
from byteways.record.run_folder import RunFolder
from tests.cli.called import byteways

MODEL = "frontier-mi250x-2"
SIMULATION = Simulation(load(MODEL))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    folder = tmp_path_factory.mktemp("hosts")
    words = ["run", "mpi", "--machine", MODEL, "--ranks", "2", "--rounds", "1", "--no-report"]
    only = ["--only", "interface=mpi*|xccl*,sweep=device-*|latency|gpu-latency", "--size", "8B..64MiB"]
    assert byteways(folder, *words, *only, "--out", "R").returncode == 0
    return RunFolder(folder / "R").records


def test_messages_cross_the_nics_and_stay_below_their_rate(records: list[Record]) -> None:
    """Catches bytes that reach the other host over xGMI, words that arrive wrong, and a peak of one host."""
    large = [
        record
        for record in records
        if record.path == "host0:gpu0>host1:gpu0"
        and record.interface == "mpi"
        and record.size_bytes == 64 << 20
        and "staging" not in record.options
    ]
    (record,) = large
    assert record.status == "measured" and record.verified and record.simulated
    assert record.peak_bytes_per_s == 25e9 and "nic" in (record.peak_source or "")
    assert record.bandwidth_bytes_per_s is not None and 20e9 < record.bandwidth_bytes_per_s < 25e9
    assert record.rests_on is not None and {"assumed", "nominal"} <= {*record.rests_on}


def test_a_message_takes_longer_than_within_a_host(records: list[Record]) -> None:
    """Catches a latency of shared memory between two hosts."""
    trips = [
        record.latency_ns
        for record in records
        if record.interface == "mpi-ping-pong" and record.path.startswith("host0:cpu")
    ]
    assert trips and all(latency is not None and latency > 2 * 1700 for latency in trips)


def test_the_vendors_library_does_not_cross(records: list[Record]) -> None:
    """Catches figures of NCCL or RCCL between hosts that nothing simulates."""
    of_xccl = [record for record in records if record.interface.startswith("xccl")]
    assert of_xccl and all(record.status == "skipped" for record in of_xccl)
    assert {record.reason for record in of_xccl} == {"the simulated NCCL and RCCL reach no other host"}


def test_collectives_of_both_hosts(tmp_path: Path) -> None:
    """Catches collectives that stay within a host, direct ones between hosts, and a run without the labels of
    what it rests on.
    """
    words = ["run", "collectives", "--machine", MODEL, "--ranks", "2", "--rounds", "1", "--no-report"]
    only = ["--only", "pattern=allreduce|barrier", "--size", "8B..1MiB"]
    assert byteways(tmp_path, *words, *only, "--out", "R").returncode == 0
    found = RunFolder(tmp_path / "R").records
    assert {(record.interface, record.status) for record in found} == {
        ("mpi", "measured"),
        ("mpi-barrier", "measured"),
        ("xccl", "skipped"),
        ("direct", "skipped"),
    }
    done = [record for record in found if record.status == "measured"]
    assert {record.path.partition(":")[2] for record in done} == {"host0:cpu3,host1:cpu3"}
    assert all(record.verified and record.simulated and record.rests_on for record in done)
    assert all(record.time_ns is not None and record.time_ns.median > 1700 for record in done)
    reasons = {record.reason for record in found if record.interface == "direct"}
    assert reasons == {"direct collectives need peer access between GPUs, within one host"}


def test_a_wrong_number_of_ranks(tmp_path: Path) -> None:
    """Catches ranks without a host of their own."""
    done = byteways(tmp_path, "run", "mpi", "--machine", MODEL, "--ranks", "4", "--out", "R")
    assert done.returncode == 2 and "2 simulated hosts have one rank each, not 4" in done.stderr


def test_each_host_is_a_frontier_node() -> None:
    """Catches a model of two hosts whose halves differ from the model of one."""
    two, one = topology_of(load(MODEL)), topology_of(load("frontier-mi250x"))
    assert two.hosts == ("host0", "host1") and one.hosts == ()
    assert two.names() == one.names()
    assert [nic.peak_bytes_per_s for nic in two.nics] == [25e9] * 4
    assert two.nics[0].nearest_gpus == ("gpu0", "gpu1")
    own = [link for link in two.links if not link.a.startswith("nic")]
    assert own == list(one.links)


@pytest.fixture(scope="module")
def probed() -> Probe:
    return SIMULATION.probe()


def test_a_process_offers_the_devices_of_its_own_host(probed: Probe) -> None:
    """Catches devices of another host among those that a process finds, which the topology does not list."""
    own = [*SIMULATION.topology(probed.capabilities.devices).names()]
    found = probed.capabilities
    assert sorted(found.devices) == sorted(own)
    gpus = [name for name in own if name.startswith("gpu")]
    assert sorted(found.peer) == sorted(found.host_access) == gpus
    assert {*found.memory} == {*found.interface} == {*found.pageable_access} == {*own}


#: Together they have every interface between ranks, and most of those within a process.
SUITES = ("full", "mpi", "collectives", "applications", "message-rate", "rank-pairs")


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_is_planned_for_several_hosts(name: str, probed: Probe) -> None:
    """Catches an internal error of any suite where the machine has several hosts, and devices that are not
    this host's.
    """
    suite = load_suite(name)
    few = replace(suite, sweeps=tuple(one.replaced(sizes=one.sizes[:1]) for one in suite.sweeps))
    topology = SIMULATION.topology(probed.capabilities.devices)
    options = RunOptions()
    try:
        plan = plan_of(options.applied(few), topology, probed, options, True, lambda done, cases: None)
    except NoCaseError:
        assert name == "message-rate"  # pairs of ranks within a host
        return
    DryRun.of(plan, options, topology, probed.capabilities, simulated=True)
    assert {device for entry in plan.cases for device in entry.case.devices} <= {*topology.names()}


def test_a_process_measures_as_on_a_machine_of_one_host(tmp_path: Path) -> None:
    """Catches a transfer that other hosts' GPUs relay."""
    words = ["run", "routes", "--rounds", "1", "--no-report", "--size", "64MiB"]
    only = ["--only", "interface=route,path=gpu0>gpu1"]
    for model in (MODEL, "frontier-mi250x"):
        assert byteways(tmp_path, *words, *only, "--machine", model, "--out", model).returncode == 0
    two, one = (RunFolder(tmp_path / model).records for model in (MODEL, "frontier-mi250x"))
    assert [record.time_ns for record in two] == [record.time_ns for record in one]
    assert two and all(record.status == "measured" for record in two)
