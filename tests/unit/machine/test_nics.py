"""NICs by sysfs: which there are, their rates, and which of them a device uses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from byteways.machine.model import Nic
from byteways.machine.nics import SLINGSHOT, nic_class, nic_of, route_to_nic
from byteways.machine.sysfs_writer import NicSpec
from tests.machines import amd, synthetic


def test_each_device_uses_the_nearest_nic_that_is_up(tmp_path: Path) -> None:
    """Catches a GPU that sends through the other socket, and a slow NIC in place of a fast one."""
    topology = synthetic.server_with_nics(tmp_path).topology()
    used = {name: nic.name for name in topology.names() if (nic := nic_of(topology, name))}
    assert used == {"cpu0": "nic0", "cpu1": "nic1", "gpu0": "nic0", "gpu1": "nic0", "gpu2": "nic1"}
    assert nic_class(topology, "gpu0") == "gpu, PCIe 5.0 ×16" != nic_class(topology, "cpu0")
    (tmp_path / "sys/class/infiniband/mlx5_1/ports/1/state").write_text("1: DOWN\n")
    down = synthetic.Machine(
        tmp_path / "sys", tmp_path / "proc", [0, 1, 2, 3], {"cpu0": synthetic.runtime_cpu(0)}
    ).topology()
    assert [nic.up for nic in down.nics] == [True, False, True]
    assert nic_of(down, "cpu0") == down.nics[0]


def test_ways_to_a_nic(tmp_path: Path) -> None:
    """Catches a way over the CPU where a switch is shared, and one that leaves out the switch's uplink."""
    topology = synthetic.server_with_nics(tmp_path).topology()
    near, far = topology.nics[0], topology.nics[1]

    def way(device: str, nic: Nic) -> list[str]:
        return [f"{link.a}<>{link.b}" for link in route_to_nic(topology, device, nic)]

    assert way("gpu0", near) == ["gpu0<>pcie-switch0", "nic0<>pcie-switch0"]
    assert way("cpu0", near) == ["pcie-switch0<>cpu0", "nic0<>pcie-switch0"]
    assert way("gpu2", far) == ["gpu2<>cpu1", "nic1<>cpu1"]
    assert way("cpu1", near) == ["cpu0<>cpu1", "pcie-switch0<>cpu0", "nic0<>pcie-switch0"]


@pytest.mark.parametrize(
    ("vendor", "architecture", "generation", "expected"),
    [
        (SLINGSHOT, "gfx90a", 4, ("PCIe 4.0 ESM ×16", 50e9)),
        (SLINGSHOT, "gfx942", 4, ("PCIe 4.0 ESM ×16", 50e9)),
        (SLINGSHOT, "gfx908", 4, ("PCIe 4.0 ×16", pytest.approx(31.508e9, rel=1e-4))),
        (SLINGSHOT, "gfx90a", 5, ("PCIe 5.0 ×16", pytest.approx(63.015e9, rel=1e-4))),
        ("0x15b3", "gfx90a", 4, ("PCIe 4.0 ×16", pytest.approx(31.508e9, rel=1e-4))),
    ],
)
def test_the_extended_speed_of_slingshot(
    tmp_path: Path, vendor: str, architecture: str, generation: int, expected: tuple[str, float]
) -> None:
    """Catches 31.5 GB/s for a link that carries 50, and 50 for any other NIC, GPU or generation."""
    machine = amd.frontier()
    gpus = tuple(replace(gpu, architecture=architecture) for gpu in machine.gpus)
    nic = NicSpec("0000:10:00.0", gpus[0].cpu, "hsn0", vendor=vendor, pcie_generation=generation)
    topology = amd.topology_of(tmp_path, replace(machine, gpus=gpus, nics=(nic,)))
    link = next(link for link in topology.links if link.a == "nic0")
    assert (link.link_class, link.peak_bytes_per_s) == expected
    assert ("extended speed mode" in link.source) == ("ESM" in expected[0])


def test_a_machine_without_nics(tmp_path: Path) -> None:
    """Catches an exception where sysfs has no network folder."""
    topology = synthetic.switched_server(tmp_path).topology()
    assert topology.nics == () and nic_of(topology, "gpu0") is None
    assert nic_class(topology, "gpu0") == "no NIC"


@pytest.mark.parametrize(
    ("speed", "source"),
    [("-1", "the driver of eth0 reports no speed"), ("", "the driver of eth0 reports no speed")],
)
def test_a_virtual_nic_has_no_rate(tmp_path: Path, speed: str, source: str) -> None:
    """Catches a rate of nought or below of a driver that reports none; virtio's device lies below PCI's."""
    synthetic.bare_vm(tmp_path)
    folder = tmp_path / "sys/devices/pci0000:00/0000:00:03.0"
    (folder / "virtio2").mkdir(parents=True)
    synthetic.write(folder / "numa_node", "-1")
    place = tmp_path / "sys/class/net/eth0"
    place.mkdir(parents=True)
    (place / "device").symlink_to(folder / "virtio2")
    synthetic.write(place / "speed", speed)
    synthetic.write(place / "operstate", "up")
    topology = synthetic.Machine(tmp_path / "sys", tmp_path / "proc", [0]).topology()
    (nic,) = topology.nics
    assert (nic.pci_address, nic.peak_bytes_per_s, nic.peak_source) == ("0000:00:03.0", None, source)
