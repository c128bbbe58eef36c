"""Health of GPUs before and after a case: whose readings are taken, and which changes are warned of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from byteways.cases.case import Buffer, Case, Flow
from byteways.machine.sysfs_health import SysfsReading
from byteways.measuring.shared.health_users import GpuProcess, GpuUse
from byteways.measuring.work import health
from byteways.measuring.work.health import (
    COUNTERS_JUDGED_FROM_BYTES,
    HealthMonitor,
    devices_of,
    throttle_names,
)
from byteways.record.warnings import THROTTLE_REASONS
from tests.changed import replace


class LostError(Exception):
    """Of a GPU that does not respond."""


def reading(**changes: Any) -> Any:
    """As NVML gives it, of an idle GPU."""
    return SimpleNamespace(
        **{
            "sm_clock_mhz": 1980,
            "memory_clock_mhz": 3000,
            "temperature_c": 40,
            "power_mw": 100_000,
            "throttle_reasons": 0,
            "pcie_replays": 0,
            "nvlink_errors": None,
            "nvlink_data_tx_bytes": None,
            "unknown": {},
            **changes,
        }
    )


def between(source: str, destination: str, executor: str = "gpu0", interface: str = "copy") -> Case:
    flow = Flow(Buffer.parse(f"{source}:device"), Buffer.parse(f"{destination}:device"), executor)
    return Case(interface, "unidirectional", (flow,), COUNTERS_JUDGED_FROM_BYTES)


class Management:
    """NVML with a GPU that answers, `gpu0`, and one that is lost."""

    report = SimpleNamespace(usable=True)

    def __init__(self, simulator: str = "") -> None:
        self.simulator, self.asked = simulator, 0

    def health(self, uuid: str) -> Any:
        self.asked += 1
        if uuid != "GPU-0":
            raise LostError
        return reading(sm_clock_mhz=self.asked)

    def energy_mj(self, uuid: str) -> float:
        if uuid == "GPU-1":
            raise LostError
        return {"GPU-0": 5.0, "GPU-2": -1.0, "GPU-3": 0.0}[uuid]


def core(management: type = Management) -> Any:
    return SimpleNamespace(Error=LostError, Management=management)


def monitor(simulator: str = "", **more: Any) -> HealthMonitor:
    uuids = {f"gpu{number}": f"GPU-{number}" for number in range(4)}
    return HealthMonitor(core(), uuids, simulator, **more)


@pytest.mark.parametrize(
    ("simulator", "age_s", "oldest_s", "again"),
    [
        ("", 0.4, 0.5, False),
        ("", 0.5, 0.5, False),
        ("", 0.6, 0.5, True),
        ("", 0.0, 0.0, False),
        ("", 0.1, 0.0, True),
        ("lib", 0.0, 9.0, True),
    ],
)
def test_when_a_reading_serves_again(
    simulator: str, age_s: float, oldest_s: float, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches seven milliseconds for each case, old readings, and simulated ones that depend on real time."""
    now = [100.0]
    monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=lambda: now[0]))
    watch = monitor(simulator)
    assert watch.read(["gpu0", "gpu1", "cpu0"])["gpu0"].sm_clock_mhz == 1
    assert [*watch.read(["gpu1", "cpu0"])] == []
    now[0] += age_s
    before = watch.management.asked  # type: ignore[union-attr]
    found = watch.read(["gpu0"], oldest_s=oldest_s)
    assert (watch.management.asked - before == 1) == again  # type: ignore[union-attr]
    assert [*found] == ["gpu0"]


def test_without_nvml_nothing_is_read() -> None:
    """Catches a run that fails because the machine has no NVML, or one that is of no use."""

    class Absent(Management):
        def __init__(self, simulator: str = "") -> None:
            raise LostError

    class Useless(Management):
        report = SimpleNamespace(usable=False)

    for management in (Absent, Useless):
        watch = HealthMonitor(core(management), {"gpu0": "GPU-0"})
        assert watch.management is None
        assert watch.read(["gpu0"]) == {} and watch.energy_mj(["gpu0"]) == {}
    assert HealthMonitor(core(Absent), {}).management is None
    assert monitor("libsim.so").management.simulator == "libsim.so"  # type: ignore[union-attr]


def test_counters_of_energy() -> None:
    """Catches a GPU that does not respond or has no counter taken for one that used no energy."""
    assert monitor().energy_mj(["gpu0", "gpu1", "gpu2", "gpu3", "cpu0"]) == {"gpu0": 5.0, "gpu3": 0.0}


def test_the_driver_is_asked_first() -> None:
    """Catches readings of NVML for a GPU that it does not drive."""
    told = SimpleNamespace(
        tells=lambda name: name == "gpu2", read=lambda name: "r", energy_mj=lambda name: 7.0
    )
    watch = monitor(driver=told)
    assert watch.read(["gpu2"]) == {"gpu2": "r"}
    assert watch.energy_mj(["gpu0", "gpu2"]) == {"gpu0": 5.0, "gpu2": 7.0}


def changed(case: Case | None = None, least: int = 1, **ends: Any) -> Any:
    """What is told of a case with these readings of gpu0 before and after it."""
    before, after = ({"gpu0": ends[name], "gpu1": reading()} for name in ("before", "after"))
    return HealthMonitor.compare(case or between("gpu0", "gpu1"), before, after, least)


@pytest.mark.parametrize(
    ("before", "after", "warned"),
    [
        ({}, {}, []),
        ({}, {"memory_clock_mhz": 2941}, []),
        ({}, {"memory_clock_mhz": 2939}, [("clock-drop", 2939, 3000)]),
        ({}, {"memory_clock_mhz": 0}, []),
        ({}, {"memory_clock_mhz": None}, []),
        ({"memory_clock_mhz": None}, {}, []),
        ({}, {"memory_clock_mhz": 3100}, []),
        ({}, {"throttle_reasons": 0x01}, []),
        ({}, {"throttle_reasons": 0x04}, [("throttled", "power cap", "none")]),
        (
            {},
            {"throttle_reasons": 0x48},
            [("throttled", "hardware slowdown, hardware thermal slowdown", "none")],
        ),
        ({}, {"throttle_reasons": None}, []),
        ({}, {"pcie_replays": 2}, [("pcie-replays", 2, 0)]),
        ({"pcie_replays": 3}, {"pcie_replays": 3}, []),
        ({"pcie_replays": 3}, {"pcie_replays": 1}, []),
        ({"pcie_replays": None}, {"pcie_replays": 1}, []),
        ({"nvlink_errors": 0}, {"nvlink_errors": 4}, [("link-errors", 4, 0)]),
        ({"nvlink_errors": 0}, {"nvlink_errors": None}, []),
    ],
    ids=str,
)
def test_what_is_warned_of(before: Any, after: Any, warned: list[tuple[str, Any, Any]]) -> None:
    """Catches a throttled GPU, a dropped clock or errors of links nobody is told of, and false alarms."""
    found = changed(before=reading(**before), after=reading(**after))
    assert [(one.id, one.observed, one.required) for one in found.warnings] == warned


def test_every_reason_for_throttling_has_its_name() -> None:
    """Catches a reason told by the name of another."""
    assert throttle_names(0) == ""
    for bit, name in THROTTLE_REASONS.items():
        assert throttle_names(bit) == name
    assert throttle_names(0xFF) == ", ".join(THROTTLE_REASONS.values())


def test_a_clock_of_amdgpu_is_no_drop() -> None:
    """Catches a warning for every case, as amdgpu lowers the clock of an idle GPU."""
    idle = SysfsReading(memory_clock_mhz=100)
    busy = SysfsReading(memory_clock_mhz=1300)
    assert changed(case=between("gpu0", "gpu0"), before=busy, after=idle).warnings == []


def test_what_is_recorded() -> None:
    """Catches readings exchanged, of a device that has but one, and an unknown value without its reason."""
    case = between("gpu0", "gpu0")
    why = {"nvlink_errors": "Not Supported", "nvlink_data_rx_bytes": "not recorded"}
    old = reading(sm_clock_mhz=1, nvlink_errors=None, unknown=why)
    new = reading(sm_clock_mhz=2, nvlink_errors=0)
    user = GpuUse((GpuProcess(7, "other"),), 0.5)
    found = HealthMonitor.compare(
        case, {"gpu0": old}, {"gpu0": new, "gpu1": new}, 1, {"gpu0": user, "gpu1": GpuUse()}
    )
    assert [*found.health] == ["gpu0"]
    told = found.health["gpu0"]
    assert (told["before"]["sm_clock_mhz"], told["after"]["sm_clock_mhz"]) == (1, 2)
    assert told["before"]["nvlink_errors"] is None and told["after"]["nvlink_errors"] == 0
    assert told["unknown"] == {"nvlink_errors": "Not Supported"}
    assert told["utilisation_before"] == 0.5 and told["other_processes"][0]["pid"] == 7
    assert [(one.id, one.observed) for one in found.warnings] == [("gpu-shared", "gpu0: other (pid 7)")]
    throttled = HealthMonitor.compare(
        case, {"gpu0": old}, {"gpu0": reading(throttle_reasons=4)}, 1, {"gpu0": user}
    )
    assert throttled.warnings[-1].observed == "power cap; shared, gpu0: other (pid 7)"


@pytest.mark.parametrize(
    ("sent", "least", "counted", "warned"),
    [
        (COUNTERS_JUDGED_FROM_BYTES, 1, COUNTERS_JUDGED_FROM_BYTES, False),
        (int(0.91 * COUNTERS_JUDGED_FROM_BYTES), 1, int(0.91 * COUNTERS_JUDGED_FROM_BYTES), False),
        (int(0.89 * COUNTERS_JUDGED_FROM_BYTES), 1, int(0.89 * COUNTERS_JUDGED_FROM_BYTES), True),
        (COUNTERS_JUDGED_FROM_BYTES, 2, COUNTERS_JUDGED_FROM_BYTES, True),
        (0, 1, None, False),
    ],
)
def test_bytes_over_links(sent: int, least: int, counted: int | None, warned: bool) -> None:
    """Catches a copy that took another path than its links, and an alarm without links to count."""
    ends = {"before": reading(nvlink_data_tx_bytes=10), "after": reading(nvlink_data_tx_bytes=10 + sent)}
    found = changed(least=least, **ends)
    expected = (
        None
        if counted is None
        else {"gpu0": {"counted": counted, "expected_at_least": least * COUNTERS_JUDGED_FROM_BYTES}}
    )
    assert found.link_bytes == expected
    assert [one.id for one in found.warnings] == ["unexpected-path"] * warned


COUNTED = {"before": reading(nvlink_data_tx_bytes=0), "after": reading(nvlink_data_tx_bytes=1 << 40)}
SHORT = replace(between("gpu0", "gpu1"), size_bytes=COUNTERS_JUDGED_FROM_BYTES - 8)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (between("gpu0", "gpu1"), COUNTERS_JUDGED_FROM_BYTES),
        (between("gpu0", "gpu0"), None),
        (between("gpu1", "gpu0"), None),  # gpu1 sends, whose counter stands
        (between("gpu0", "gpu9"), None),
        (between("gpu0", "gpu1", interface="pointer-chase"), None),
        (between("gpu0", "gpu1", "gpu0", "stream-copy"), COUNTERS_JUDGED_FROM_BYTES),
        (between("gpu1", "gpu1", "gpu0", "stream-copy"), COUNTERS_JUDGED_FROM_BYTES),
        (between("gpu0", "gpu0", "gpu1", "stream-triad"), 2 * COUNTERS_JUDGED_FROM_BYTES),
        (SHORT, None),
        (
            replace(between("gpu0", "gpu1"), flows=between("gpu0", "gpu1").flows * 2),
            2 * COUNTERS_JUDGED_FROM_BYTES,
        ),
    ],
    ids=str,
)
def test_bytes_that_a_gpu_must_send(case: Case, expected: int | None) -> None:
    """Catches bytes of another GPU or of no link expected of this one, and of short cases judged."""
    found = changed(case=case, **COUNTED).link_bytes
    assert found == (
        None if expected is None else {"gpu0": {"counted": 1 << 40, "expected_at_least": expected}}
    )


def test_links_of_a_gpu_without_a_reading_before() -> None:
    """Catches a traceback for a GPU that did not respond before the case, and a counter that is unknown."""
    after = {"gpu0": COUNTED["after"], "gpu1": reading()}
    assert HealthMonitor.compare(between("gpu0", "gpu1"), {"gpu1": reading()}, after, 1).link_bytes is None
    assert changed(before=reading(nvlink_data_tx_bytes=None), after=COUNTED["after"]).link_bytes is None


def test_devices_of_a_case() -> None:
    """Catches an executor whose state is not read, and one read twice."""
    assert devices_of(between("gpu0", "gpu1", "gpu2")) == ["gpu0", "gpu1", "gpu2"]
    assert devices_of(between("gpu0", "gpu0", "gpu0")) == ["gpu0"]
