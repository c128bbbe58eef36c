"""What machines are called: packages and dies counted apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from byteways.answers.results.machine_names import devices_of, gpus, machine
from byteways.machine.sysfs_writer import MachineSpec
from tests.machines import amd
from tests.unit import machines


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (amd.frontier(), "4 × MI250X (8 GCDs)"),
        (amd.mi300x_cpx(), "MI300X (8 partitions)"),
        (amd.mi300x_x8(), "8 × MI300X"),
        (amd.mi300a_x4(), "4 × MI300A"),
    ],
)
def test_packages_are_counted(build: MachineSpec, name: str, tmp_path: Path) -> None:
    """Would catch dies or partitions counted as packages: a Frontier node has four MI250X, not eight."""
    assert machine(amd.topology_of(tmp_path, build)) == name


def test_several_hosts_and_full_names() -> None:
    topology = machines.frontier()[0]
    assert gpus(topology) == ["4 × AMD Instinct MI250X (8 GCDs)"]
    assert machine(replace(topology, hosts=("a", "b"))) == "2 hosts of 4 × MI250X (8 GCDs)"
    assert machine(machines.h200x4()[0]) == "4 × H200"
    assert machine(machines.two_cores()[0]).startswith(machines.cpu_device().model.split()[0])


def test_dies_without_known_packages_are_counted_as_dies() -> None:
    """Would catch one visible die of a package called a package, and dies without known links."""
    topology = machines.frontier()[0]
    dies = [device for device in topology.devices if device.kind == "gpu"]
    assert machine(replace(topology, devices=(dies[0],), links=())) == "1 GCD of MI250X"
    assert machine(replace(topology, devices=tuple(dies), links=())) == "8 GCDs of MI250X"
    assert (
        machine(replace(topology, devices=tuple(dies[:3]), links=topology.links[:1])) == "2 × MI250X (3 GCDs)"
    )


def test_lost_devices_are_dies() -> None:
    assert (devices_of("MI250X"), devices_of("NVIDIA H200")) == ("GCDs of MI250X", "NVIDIA H200")
