"""GPU state before and after a case: clocks, power, errors, link counters, other users. Changes give
warnings.

Read between cases, never during timing. byteways changes no setting.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from byteways.base.settings import management_wanted
from byteways.base.text import Sentence
from byteways.cases.case import Case, Flow
from byteways.cases.interfaces import counts_as_stream, metric_of
from byteways.machine.sysfs_health import SysfsHealth, SysfsReading
from byteways.measuring.shared.health_users import GpuUse, HealthCore
from byteways.record import warnings
from byteways.record.warnings import CLOCK_DROP, THROTTLE_REASONS, Warning

if TYPE_CHECKING:
    from byteways._core import Management, ManagementHealth

    Reading = ManagementHealth | SysfsReading

#: Fraction of a case's bytes that link counters must show. Packets count data only, so the case's bytes are a
#: lower bound; 10 % tolerance for counters that update late.
LEAST_COUNTED = 0.9
#: Least bytes of a case over a link to judge its counters: below, other traffic dominates.
COUNTERS_JUDGED_FROM_BYTES = 64 << 20

_KEPT = (
    "sm_clock_mhz",
    "memory_clock_mhz",
    "temperature_c",
    "power_mw",
    "throttle_reasons",
    "pcie_replays",
    "nvlink_errors",
)


@dataclass
class Changes:
    """What changed on the GPUs of a case during its measurement."""

    health: dict[str, Any] = field(default_factory=dict)
    warnings: list[Warning] = field(default_factory=list)
    link_bytes: dict[str, Any] | None = None


class HealthMonitor:
    """Reads GPU health by device name; all results are empty if no interface provides it.

    Args:
        core: The native module.
        uuids: UUID of each GPU device.
        simulator: The simulator's library on a simulated machine, otherwise ''.
        driver: Source for GPUs unknown to NVML; None: no such source.
    """

    def __init__(
        self,
        core: HealthCore,
        uuids: Mapping[str, str],
        simulator: str = "",
        driver: SysfsHealth | None = None,
    ) -> None:
        self._core = core
        self._keep = not simulator  # the age of a reading is real time; a simulated run must not depend on it
        self._uuids = uuids
        self.management: Management | None = None  # None if unavailable
        self._driver = driver
        self._latest: dict[str, tuple[float, Reading]] = {}  # by device: time of the reading, and the reading
        if uuids and (simulator or management_wanted()):
            with contextlib.suppress(core.Error):
                management = core.Management(simulator)
                self.management = management if management.report.usable else None

    def read(self, devices: Sequence[str], *, oldest_s: float = 0.0) -> dict[str, Reading]:
        """Returns readings by device; devices that do not respond are absent.

        Args:
            devices: Devices without a UUID are ignored.
            oldest_s: Reuses an earlier reading up to this age in seconds: a reading takes about 7 ms, and the
                state after one case is the state before the next.
        """
        readings: dict[str, Reading] = {}
        for device in devices:
            read_at, kept = self._latest.get(device, (0.0, None))
            if kept is not None and self._keep and time.monotonic() - read_at <= oldest_s:
                readings[device] = kept
            elif (reading := self._reading(device)) is not None:
                readings[device] = reading
                self._latest[device] = (time.monotonic(), reading)
        return readings

    def _reading(self, device: str) -> Reading | None:
        if self._driver is not None and self._driver.tells(device):
            return self._driver.read(device)
        if self.management is not None and device in self._uuids:
            with contextlib.suppress(self._core.Error):
                return self.management.health(self._uuids[device])
        return None

    def energy_mj(self, devices: Sequence[str]) -> dict[str, float]:
        """Returns energy counters by device in mJ; devices without a counter are absent."""
        shown: dict[str, float] = {}
        for device in devices:
            told: float | None = None
            if self._driver is not None and self._driver.tells(device):
                told = self._driver.energy_mj(device)
            elif self.management is not None and device in self._uuids:
                with contextlib.suppress(self._core.Error):
                    told = self.management.energy_mj(self._uuids[device])
            if told is not None and told >= 0:
                shown[device] = told
        return shown

    @staticmethod
    def compare(
        case: Case,
        before: Mapping[str, Reading],
        after: Mapping[str, Reading],
        least_operations: int,
        users: Mapping[str, GpuUse] | None = None,
    ) -> Changes:
        """Returns readings, warnings and link counters of a case.

        Args:
            least_operations: Least number of operations done by each flow.
            users: Other users of the case's GPUs, by device.
        """
        changes = Changes()
        shared: dict[str, Sentence] = {}
        for device, use in (users or {}).items():
            if told := use.to_json():
                changes.health[device] = told
            if (warning := use.warning(device)) is not None:
                changes.warnings.append(warning)
                shared[device] = str(warning.observed)
        for device in after:
            if device not in before:
                continue
            old, new = before[device], after[device]
            readings: dict[str, Any] = {"before": _reading(old), "after": _reading(new)}
            if unknown := {name: why for name, why in (old.unknown | new.unknown).items() if name in _KEPT}:
                readings["unknown"] = unknown
            changes.health[device] = readings | changes.health.get(device, {})
            changes.warnings += _clock_warnings(old, new, shared.get(device, "")) + _error_warnings(old, new)
        changes.link_bytes = _link_bytes(case, before, after, least_operations)
        if changes.link_bytes:
            for entry in changes.link_bytes.values():
                if entry["counted"] < LEAST_COUNTED * entry["expected_at_least"]:
                    changes.warnings.append(
                        warnings.make("unexpected-path", entry["counted"], entry["expected_at_least"])
                    )
        return changes


def devices_of(case: Case) -> list[str]:
    """Returns all devices that a case uses."""
    names = [name for flow in case.flows for name in (*(end.device for end in flow.buffers), flow.executor)]
    return list(dict.fromkeys(names))


def throttle_names(reasons: int) -> str:
    """'power cap, hardware slowdown', or '' if the GPU is not throttled."""
    return ", ".join(name for bit, name in THROTTLE_REASONS.items() if reasons & bit)


def _reading(health: Reading) -> dict[str, int | None]:
    return {name: getattr(health, name) for name in _KEPT}


def _clock_warnings(old: Reading, new: Reading, shared: Sentence) -> list[Warning]:
    """`shared`: other users of the GPU, the first suspects."""
    found = []
    reasons = new.throttle_reasons or 0
    if held := throttle_names(reasons):
        observed = f"{held}; shared, {shared}" if shared else held
        found.append(warnings.make("throttled", observed, "none", {"throttle_reasons": reasons}))
    if isinstance(old, SysfsReading) or isinstance(new, SysfsReading):
        return found  # amdgpu also lowers the memory clock as soon as the GPU is idle
    now, before = new.memory_clock_mhz, old.memory_clock_mhz
    if now is not None and before is not None and 0 < now < (1 - CLOCK_DROP) * before:
        found.append(warnings.make("clock-drop", now, before))
    return found


def _error_warnings(old: Reading, new: Reading) -> list[Warning]:
    counters = (
        ("pcie-replays", old.pcie_replays, new.pcie_replays),
        ("link-errors", old.nvlink_errors, new.nvlink_errors),
    )
    return [
        warnings.make(name, now - before, 0)
        for name, before, now in counters
        if before is not None and now is not None and now > before
    ]


def _sendings(case: Case, flow: Flow) -> list[tuple[str, str]]:
    """(from, to) of each array that crosses links; STREAM moves each array from or to its executor."""
    if not counts_as_stream(case.interface_of(flow)):
        return [(flow.source.device, flow.destination.device)]
    read, written = case.arrays_of(flow)
    return [*((end.device, flow.executor) for end in read), *((flow.executor, end.device) for end in written)]


def _link_bytes(
    case: Case, before: Mapping[str, Reading], after: Mapping[str, Reading], least_operations: int
) -> dict[str, Any] | None:
    """Compares the bytes that each GPU's links sent with the least bytes that the case must have sent.

    Covers only GPUs that send to other GPUs, and only if the counters respond and changed at all: on a
    machine without such links they stay constant, which proves nothing.
    """
    if metric_of(case.interface) != "bandwidth":
        return None
    sent: dict[str, int] = {}
    for flow in case.flows:
        for source, destination in _sendings(case, flow):
            if source != destination and source in after and destination in after:
                sent[source] = sent.get(source, 0) + case.size_of(flow) * least_operations
    counted = {}
    for device, expected in sent.items():
        old, new = before.get(device), after[device].nvlink_data_tx_bytes
        if old is None or old.nvlink_data_tx_bytes is None or new is None or new <= old.nvlink_data_tx_bytes:
            continue
        if expected >= COUNTERS_JUDGED_FROM_BYTES:
            moved = new - old.nvlink_data_tx_bytes
            counted[device] = {"counted": moved, "expected_at_least": expected}
    return counted or None
