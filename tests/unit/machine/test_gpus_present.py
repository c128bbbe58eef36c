"""Which GPUs the system shows without a runtime: every sign of one counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.machine.kfd import MODELS
from byteways.machine.sysfs_pcie import gpu_addresses
from tests.machines.synthetic import write


def device(root: Path, address: str, vendor: str, device_class: str, driver: str = "") -> None:
    place = root / "sys/bus/pci/devices" / address
    write(place / "vendor", vendor)
    write(place / "class", device_class)
    if driver:
        (root / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
        (place / "driver").symlink_to(root / "sys/bus/pci/drivers" / driver)


@pytest.mark.parametrize(
    ("vendor", "device_class", "driver", "is_gpu"),
    [
        ("0x1002", "0x120000", "", True),  # MI300 and later
        ("0x1002", "0x120001", "", True),
        ("0x1002", "0x038000", "", True),
        ("0x10de", "0x030200", "", True),
        ("0x10de", "0x030000", "", True),
        ("0x10de", "0x120000", "", True),
        ("0x10de", "0xff0000", "nvidia", True),
        ("0x10de", "0x068000", "nvidia-nvswitch", False),
        ("0x10de", "0x040300", "", False),  # its audio function
        ("0x10de", "0x060400", "", False),
        ("0x1002", "0x060400", "", False),
        ("0x1a03", "0x030000", "", False),  # the display of a management controller
        ("0x1da3", "0x120000", "", False),  # an accelerator that no runtime opens
    ],
)
def test_what_counts_as_a_gpu(
    vendor: str, device_class: str, driver: str, is_gpu: bool, tmp_path: Path
) -> None:
    """Catches an MI300 that is invisible without its driver, and another device taken for a GPU."""
    device(tmp_path, "0000:0c:00.0", vendor, device_class, driver)
    name = {"0x1002": "AMD", "0x10de": "NVIDIA"}.get(vendor)
    assert gpu_addresses(tmp_path / "sys") == ([(name, "0000:0c:00.0")] if is_gpu else [])


def test_a_driver_shows_what_the_bus_hides(tmp_path: Path) -> None:
    """Catches a container with NVIDIA's driver but without the PCI bus that seems to have no GPU."""
    (tmp_path / "proc/driver/nvidia/gpus/0000:3B:00.0").mkdir(parents=True)
    device(tmp_path, "0000:5e:00.0", "0x10de", "0x030200")
    assert gpu_addresses(tmp_path / "sys", tmp_path / "proc") == [
        ("NVIDIA", "0000:3b:00.0"),
        ("NVIDIA", "0000:5e:00.0"),
    ]


@pytest.mark.parametrize(("number", "name"), [(0x6860, "MI25"), (0x74A2, "MI308X"), (0x74B5, "MI300X VF")])
def test_names_by_device_number(number: int, name: str) -> None:
    """Catches a GPU without a name where the kernel gives none."""
    assert MODELS[number].endswith(name)
