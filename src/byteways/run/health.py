"""The state of GPUs before and after a case: clocks, power, errors, link counters, other users. A change is a
warning on the case.

Read between cases, never while one is timed. byteways changes no setting.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from byteways.plan.case import Case, Flow
from byteways.plan.interfaces import counts_as_stream, figure_of
from byteways.results import warnings
from byteways.results.record import Warning
from byteways.results.warnings import CLOCK_DROP, THROTTLE_REASONS
from byteways.run.health_users import GpuUse
from byteways.topology.sysfs_health import SysfsHealth, SysfsReading

if TYPE_CHECKING:
    from byteways._core import Management, ManagementHealth

    Reading = ManagementHealth | SysfsReading

#: Counted by links in packets with data alone, so that a case's bytes are a lower bound; 10 % for counters
#: that are brought up to date late.
LEAST_COUNTED = 0.9
#: Age up to which the reading after one case serves as the reading before the next.
FRESH_S = 0.5
#: What a link must carry at least before its counters are judged: below, other traffic decides.
LEAST_BYTES = 64 << 20

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
    """What happened to the GPUs of a case while it was measured."""

    health: dict[str, Any] = field(default_factory=dict)
    warnings: list[Warning] = field(default_factory=list)
    link_bytes: dict[str, Any] | None = None


class HealthMonitor:
    """Reads the health of GPUs by device name; on a machine that tells nothing, every answer is empty.

    Args:
        core: The native module.
        uuids: UUID of each GPU device.
        simulator: File of the simulator when the machine is simulated, else ''.
        driver: Tells of GPUs that NVML does not know; None: nobody does.
    """

    def __init__(
        self,
        core: ModuleType,
        uuids: Mapping[str, str],
        simulator: str = "",
        driver: SysfsHealth | None = None,
    ) -> None:
        self._core = core
        self._keep = not simulator  # a reading's age is real time, which a simulated run must not depend on
        self._uuids = uuids
        self.management: Management | None = None  # None where it cannot be used
        self._driver = driver
        self._latest: dict[str, tuple[float, Reading]] = {}  # by device: when read, and what
        if uuids:
            with contextlib.suppress(core.Error):
                management = core.Management(simulator)
                self.management = management if management.report.usable else None

    def read(self, devices: Sequence[str], *, oldest_s: float = 0.0) -> dict[str, Reading]:
        """By device; without those that do not answer.

        Args:
            devices: Those without a UUID are left out.
            oldest_s: Answers with a reading that is no older, if there is one: a reading takes about 7 ms,
                and what one case left is what the next one finds.
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
        """Energy counters by device, in mJ; without those that have none."""
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
        """Readings, warnings and link counters of a case.

        Args:
            least_operations: Operations that each flow has done at least.
            users: Others that used the GPUs of the case, by device.
        """
        changes = Changes()
        shared: dict[str, str] = {}
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
            readings = {"before": _reading(old), "after": _reading(new)}
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
    """Every device that a case uses."""
    names = [name for flow in case.flows for name in (*(end.device for end in flow.buffers), flow.executor)]
    return list(dict.fromkeys(names))


def throttle_names(reasons: int) -> str:
    """'power cap, hardware slowdown' or '' when nothing holds the GPU back."""
    return ", ".join(name for bit, name in THROTTLE_REASONS.items() if reasons & bit)


def _reading(health: Reading) -> dict[str, int]:
    told = {name: getattr(health, name) for name in _KEPT}
    return {name: value for name, value in told.items() if value is not None}


def _clock_warnings(old: Reading, new: Reading, shared: str) -> list[Warning]:
    """`shared`: who else used the GPU, which then is the first thing to look at."""
    found = []
    if held := throttle_names(new.throttle_reasons or 0):
        found.append(warnings.make("throttled", f"{held}; shared, {shared}" if shared else held, "none"))
    if isinstance(old, SysfsReading) or isinstance(new, SysfsReading):
        return found  # amdgpu lowers the memory clock, too, as soon as nothing runs
    if 0 < new.memory_clock_mhz < (1 - CLOCK_DROP) * old.memory_clock_mhz:
        found.append(warnings.make("clock-drop", new.memory_clock_mhz, old.memory_clock_mhz))
    return found


def _error_warnings(old: Reading, new: Reading) -> list[Warning]:
    counters = (
        ("pcie-replays", old.pcie_replays, new.pcie_replays),
        ("link-errors", old.nvlink_errors, new.nvlink_errors),
    )
    return [
        warnings.make(name, now - before, 0)
        for name, before, now in counters
        if before is not None and now is not None and now > before >= 0
    ]


def _sendings(case: Case, flow: Flow) -> list[tuple[str, str]]:
    """(from, to) of each array that crosses links: a kernel over several brings each to its executor."""
    if not counts_as_stream(case.interface_of(flow)):
        return [(flow.source.device, flow.destination.device)]
    read, written = case.arrays_of(flow)
    return [*((end.device, flow.executor) for end in read), *((flow.executor, end.device) for end in written)]


def _link_bytes(
    case: Case, before: Mapping[str, Reading], after: Mapping[str, Reading], least_operations: int
) -> dict[str, Any] | None:
    """What each GPU's links sent, against what the case must have sent over them at least.

    Only GPUs that send to other GPUs, and only when the counters answer and have moved at all: on a machine
    without such links they stand still, which is no evidence of anything.
    """
    if figure_of(case.interface) != "bandwidth":
        return None
    sent: dict[str, int] = {}
    for flow in case.flows:
        for source, destination in _sendings(case, flow):
            if source != destination and source in after and destination in after:
                sent[source] = sent.get(source, 0) + case.size_of(flow) * least_operations
    counted = {}
    for device, expected in sent.items():
        old, new = before.get(device), after[device]
        if (
            old is None
            or old.nvlink_data_tx_bytes < 0
            or new.nvlink_data_tx_bytes <= old.nvlink_data_tx_bytes
        ):
            continue
        if expected >= LEAST_BYTES:
            moved = new.nvlink_data_tx_bytes - old.nvlink_data_tx_bytes
            counted[device] = {"counted": moved, "expected_at_least": expected}
    return counted or None
