"""Health of GPUs from sysfs: a written tree, files that are not there, and what becomes a warning."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.sysfs_health import SysfsHealth, SysfsReading
from byteways.measuring.work.health import HealthMonitor
from tests.machines.synthetic import write

ADDRESS = "0000:c1:00.0"


def metrics(bits: int, version: tuple[int, int] = (1, 3)) -> bytes:
    """gpu_metrics of 120 bytes with these reasons for throttling."""
    return struct.pack("<HBB108xQ", 120, *version, bits)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    device = tmp_path / "bus/pci/devices" / ADDRESS
    write(device / "pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *")
    write(device / "pp_dpm_mclk", "0: 400Mhz\n1: 1600Mhz *")
    write(device / "hwmon/hwmon4/temp1_input", "41000")
    write(device / "hwmon/hwmon4/temp2_label", "junction")
    write(device / "hwmon/hwmon4/temp2_input", "47000")
    write(device / "hwmon/hwmon4/power1_average", "93000000")
    write(device / "pcie_replay_count", "3")
    (device / "gpu_metrics").write_bytes(metrics(0))
    return tmp_path


def test_a_device_that_tells_all(tree: Path) -> None:
    """Catches a file that is read wrongly, a wrong unit, and the lesser of two temperatures."""
    health = SysfsHealth({"gpu0": ADDRESS, "gpu1": "0000:c1:00.1", "gpu2": "0000:ff:00.0", "gpu3": ""}, tree)
    assert [device for device in ("gpu0", "gpu1", "gpu2", "gpu3") if health.tells(device)] == ["gpu0", "gpu1"]
    told = SysfsReading(1700, 1600, 47, 93_000, 0, 3)
    assert health.read("gpu0") == health.read("gpu1") == told, "a partition has the files of the whole"


def test_a_device_that_tells_little(tree: Path) -> None:
    """Catches a missing or senseless file that is taken for a figure."""
    device = tree / "bus/pci/devices" / ADDRESS
    write(device / "pp_dpm_sclk", "no levels")
    for name in ("pp_dpm_mclk", "gpu_metrics", "pcie_replay_count", "hwmon/hwmon4/power1_average"):
        (device / name).unlink()
    (device / "hwmon/hwmon4/temp2_label").unlink()
    reading = SysfsHealth({"gpu0": ADDRESS}, tree).read("gpu0")
    assert reading == SysfsReading(temperature_c=41)
    write(device / "hwmon/hwmon4/power1_input", "1500000")
    assert SysfsHealth({"gpu0": ADDRESS}, tree).read("gpu0").power_mw == 1500


@pytest.mark.parametrize(
    ("data", "reasons"),
    [
        (metrics(1 << 0), 0x04),
        (metrics(1 << 16 | 1 << 36), 0x08 | 0x40),
        (metrics(1 << 57), 0),
        (metrics((1 << 64) - 1), None),
        (metrics(1, version=(1, 4)), None),
        (metrics(1)[:100], None),
    ],
)
def test_reasons_for_throttling(tree: Path, data: bytes, reasons: int | None) -> None:
    """Catches a reason of the wrong kind, and a table of another version that is read as this one."""
    (tree / "bus/pci/devices" / ADDRESS / "gpu_metrics").write_bytes(data)
    assert SysfsHealth({"gpu0": ADDRESS}, tree).read("gpu0").throttle_reasons == reasons


@pytest.mark.parametrize(
    ("after", "warned"),
    [
        ({}, []),
        ({"throttle_reasons": 0x04}, ["throttled"]),
        ({"throttle_reasons": None}, []),
        ({"memory_clock_mhz": 400}, []),  # idle again
        ({"pcie_replays": 4}, ["pcie-replays"]),
        ({"pcie_replays": None}, []),
    ],
)
def test_what_becomes_a_warning(after: dict[str, int | None], warned: list[str]) -> None:
    """Catches a change that is not told, a warning of an idle clock, and what is not told taken for 0."""
    before = SysfsReading(1700, 1600, 47, 93_000, 0, 3)
    buffers = Buffer("gpu0", "device"), Buffer("gpu1", "device")
    case = Case("copy", "unidirectional", (Flow(*buffers, "gpu0"),), 2**30)
    readings = {"gpu0": replace(before, **after), "gpu1": before}
    changes = HealthMonitor.compare(case, {"gpu0": before, "gpu1": before}, readings, 100)
    assert [warning.id for warning in changes.warnings] == warned
    assert changes.link_bytes is None, "sysfs has no byte counters of links"
    seen = changes.health["gpu0"]
    unknown = {name for side in ("before", "after") for name, value in seen[side].items() if value is None}
    assert "nvlink_errors" in unknown and unknown == {*seen["unknown"]}, (
        "null has a reason, and nothing else has one"
    )


def test_the_monitor_asks_the_driver_before_nvml(tree: Path) -> None:
    """Catches a GPU without NVML of which nothing is read."""
    core = SimpleNamespace(
        Error=RuntimeError, Management=lambda _: (_ for _ in ()).throw(RuntimeError("none"))
    )
    monitor = HealthMonitor(core, {"gpu0": "GPU-1"}, "", SysfsHealth({"gpu0": ADDRESS}, tree))  # type: ignore[arg-type]
    assert [*monitor.read(["cpu0", "gpu0"])] == ["gpu0"], "a CPU has no UUID to ask by"
    assert monitor.read(["cpu0", "gpu0"])["gpu0"].temperature_c == 47
    write(tree / "bus/pci/devices" / ADDRESS / "hwmon/hwmon4/temp2_input", "60000")
    assert monitor.read(["gpu0"], oldest_s=60)["gpu0"].temperature_c == 47, "fresh enough"
    assert monitor.read(["gpu0"])["gpu0"].temperature_c == 60
