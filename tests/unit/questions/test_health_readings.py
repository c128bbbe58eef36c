"""Readings of devices: energy, errors of links, temperatures, free memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways import _core
from byteways.measuring.work.capabilities import _DEVICE_FIELDS, _device
from byteways.measuring.work.energy import CounterWatch
from byteways.measuring.work.health import _error_warnings
from byteways.questions.subjects.series import _health
from tests.changed import replace
from tests.report.few_records import flow, record


def test_energy_between_updates() -> None:
    """Catches joules cut to whole ones, and a device without a second update that ends the list."""
    watch = CounterWatch({"gpu0": 0.0, "gpu1": 0.0})
    watch.see(1.0, {"gpu0": 5.0, "gpu1": 100.0})
    watch.see(2.0, {"gpu0": 5.0, "gpu1": 1600.0})
    found = watch.spans()
    assert [*found] == ["gpu1"]
    assert found["gpu1"].joules == pytest.approx(1.5)
    assert found["gpu1"].steps == ((0.0, 0.0), (1.0, 1.5))


def test_errors_of_links_are_counted() -> None:
    """Catches another number than the increase, and a warning without one."""
    old: Any = SimpleNamespace(pcie_replays=3, nvlink_errors=None)
    new: Any = SimpleNamespace(pcie_replays=5, nvlink_errors=7)
    (found,) = _error_warnings(old, new)
    assert (found.id, found.observed) == ("pcie-replays", 2)
    assert not _error_warnings(new, new)


def test_health_of_the_host_is_no_gpu() -> None:
    """Catches GPUs missing from the table because the host's readings came before theirs."""
    reading = {
        "sm_clock_mhz": 1980,
        "memory_clock_mhz": 3201,
        "temperature_c": 40,
        "power_mw": 100_000,
        "pcie_replays": 0,
        "nvlink_errors": 0,
    }
    one = record("copy", [flow("gpu0:device", "gpu1:device", "gpu0")], 1e9)
    health = {"host": {"before": {}, "after": {}}, "gpu0": {"before": reading, "after": reading}}
    table = _health([replace(one, health=health)])
    assert table is not None and [row[0] for row in table.rows] == ["gpu0"]


def test_free_memory_of_a_lost_gpu_is_unknown() -> None:
    """Catches a machine that cannot be probed because one of its GPUs is lost."""

    def lose(device: str) -> int:
        raise _core.Error("lost")

    device: Any = SimpleNamespace(**dict.fromkeys(_DEVICE_FIELDS))
    device.runtime = "cuda"
    assert _device(SimpleNamespace(free_bytes=lose), device)["free_bytes"] == 0  # type: ignore[arg-type]
