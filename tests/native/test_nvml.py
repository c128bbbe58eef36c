"""NVML through a library of our own making: what is read, and what stays unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways import _core
from byteways.machine import nvml as topology_nvml
from byteways.measuring.work.health import _KEPT
from tests.native import fake_libraries as fake

#: Optional functions that the fake driver lacks.
LACKING = ["nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetMigMode", "nvmlDeviceGetMemoryBusWidth"]


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _core.Management:
    monkeypatch.setenv("BYTEWAYS_LIBNVML", str(fake.build(tmp_path, "nvml.def", LACKING)))
    return _core.Management()


def test_device_and_links(nvml: _core.Management) -> None:
    """Catches misread structures: a PCI address, link generation or speed that is not what NVML said."""
    assert nvml.report.usable and nvml.report.version == "driver 580.1"
    assert {f.name for f in nvml.report.missing} == set(LACKING)
    (device,) = nvml.devices()
    assert (device.name, device.uuid, device.pci_address) == ("Fake GPU", "GPU-1", "0001:3b:02.0")
    assert (device.compute_mode, device.compute_processes) == ("exclusive-process", 2)
    assert not device.mig_enabled and device.memory_bus_bits == 0
    up, down = device.fabric_links
    assert (up.active, up.version, up.remote_kind, up.remote_pci_address) == (
        True,
        4,
        "switch",
        "0000:05:00.0",
    )
    assert up.signalling_bytes_per_s == 26_562_000_000
    assert (down.active, down.remote_kind, down.signalling_bytes_per_s) == (False, "unknown", 0)


def test_health_sums_errors_and_leaves_the_unanswered_unknown(nvml: _core.Management) -> None:
    """Catches zeros in place of what the driver did not tell, and counters in the wrong unit."""
    health = nvml.health("GPU-1")
    assert health.power_mw == 700_000
    assert health.nvlink_errors == 7
    assert (health.nvlink_data_tx_bytes, health.nvlink_data_rx_bytes) == (3 * 1024, None)
    assert (health.sm_clock_mhz, nvml.energy_mj("GPU-1")) == (None, -1)
    missing = {name for name in _KEPT if getattr(health, name) is None}
    assert missing <= {*health.unknown} and "nvlink_errors" not in health.unknown
    assert health.unknown["sm_clock_mhz"].startswith("nvmlDeviceGetClockInfo: ")


def test_link_counters_in_bytes(nvml: _core.Management) -> None:
    """Catches counters in another unit, and zeros in place of counters that are not there."""
    found = nvml.link_bytes("GPU-1")
    assert (found.fabric_tx_bytes, found.fabric_rx_bytes) == (3 * 1024, None)
    assert (found.pcie_tx_bytes, found.pcie_rx_bytes) == (1 << 20, None)


def test_what_a_gpu_does_not_support_is_asked_once(nvml: _core.Management, tmp_path: Path) -> None:
    """Catches health readings that wait for refusals each time, which take as long as an answer does."""

    def calls_of(reading: str) -> tuple[list[str], _core.ManagementHealth]:
        with (tmp_path / reading).open("w") as file:
            _core.announce_management_calls(file.fileno())
            health = nvml.health("GPU-1")
            _core.announce_management_calls(-1)
        lines = (tmp_path / reading).read_text().splitlines()
        return [json.loads(line)["call"] for line in lines], health

    first, once = calls_of("first")
    second, again = calls_of("second")
    assert (once.unknown, once.nvlink_errors) == (again.unknown, again.nvlink_errors)
    assert "nvmlDeviceGetHandleByUUID" in first and "nvmlDeviceGetClockInfo" in first
    assert "nvmlDeviceGetHandleByUUID" not in second and "nvmlDeviceGetClockInfo" not in second
    # Of seven fields the fake GPU knows three.
    assert [one.count("nvmlDeviceGetFieldValues") for one in (first, second)] == [7, 3]
    slow = {"nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature"}
    assert slow <= {*first} and not slow & {*second} and again.power_mw == once.power_mw == 700_000


def test_utilisation_is_left_out_where_nobody_asks(nvml: _core.Management) -> None:
    """Catches a query of several milliseconds before each case."""
    use = nvml.use("GPU-1", with_utilisation=False)
    assert use.utilisation_percent == -1 and len(use.processes) == 2


def test_users_of_a_gpu(nvml: _core.Management) -> None:
    """Catches a misread process list, unknown memory taken for 16 EiB, and an unknown list taken for an
    empty one.
    """
    use = nvml.use("GPU-1")
    assert use.processes_known and use.utilisation_percent == 97
    told = [(process.pid, process.kind, process.memory_bytes) for process in use.processes]
    assert told == [(4711, "compute", 3 << 30), (4712, "compute", -1)]


def test_users_that_the_driver_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an idle GPU claimed of a driver without these functions."""
    lists = [f"nvmlDeviceGet{kind}RunningProcesses_v{v}" for kind in ("Compute", "Graphics") for v in (2, 3)]
    library = fake.build(tmp_path, "nvml.def", [*lists, "nvmlDeviceGetUtilizationRates"])
    monkeypatch.setenv("BYTEWAYS_LIBNVML", str(library))
    use = _core.Management().use("GPU-1")
    assert (use.processes_known, use.processes, use.utilisation_percent) == (False, [], -1)


def test_unknown_gpu_is_an_error(nvml: _core.Management) -> None:
    """Catches health figures of another GPU than the one asked for."""
    with pytest.raises(_core.Error, match="Not Found"):
        nvml.health("GPU-2")


def test_absent_library_is_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a machine without NVIDIA's driver on which the topology cannot be shown."""
    monkeypatch.setenv("BYTEWAYS_LIBNVML", str(tmp_path / "nosuch.so"))
    nvml = _core.Management()
    assert not nvml.report.usable and nvml.report.reason and nvml.report.hint
    assert nvml.devices() == []
    with pytest.raises(_core.UnsupportedError):
        nvml.health("GPU-1")


def test_a_child_reads_the_same_and_announces_its_calls(
    nvml: _core.Management, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches a field that the child loses, and a call that is not named before it hangs."""
    told = topology_nvml.read()
    assert told.reason == "" and told.report["usable"]
    (one,), (same,) = nvml.devices(), told.devices
    names = set(topology_nvml.ManagementDevice.__dataclass_fields__) - {"fabric_links"}
    assert {name: getattr(one, name) for name in names} == {name: getattr(same, name) for name in names}
    assert [link.remote_pci_address for link in one.fabric_links] == [
        link.remote_pci_address for link in same.fabric_links
    ]
    assert told.use("GPU-1").utilisation_percent == nvml.use("GPU-1").utilisation_percent
    with (tmp_path / "calls").open("w") as file:
        _core.announce_management_calls(file.fileno())
        nvml.devices()
        _core.announce_management_calls(-1)
    calls = [json.loads(line)["call"] for line in (tmp_path / "calls").read_text().splitlines()]
    assert calls[:2] == ["nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"]
    assert "nvmlDeviceGetNvLinkState" in calls
