"""GPU state from Linux sysfs, beside the PCI device: amdgpu.

Files as in the kernel's documentation, gpu/amdgpu/thermal. Link traffic is not available.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

#: `1: 1600Mhz *`; the star marks the current level.
_IN_USE = re.compile(r"^\s*\d+:\s*(\d+)\s*mhz\s*\*", re.IGNORECASE | re.MULTILINE)
#: gpu_metrics, version 1.3 (kgd_pp_interface.h): header of size, format and content version; the throttle
#: reasons, device-independent bits, are 8 bytes near the end.
_HEADER, _METRICS_VERSION, _REASONS_AT = struct.Struct("<HBB"), (1, 3), 112
_REASONS = struct.Struct("<Q")
_NOT_TOLD = 0xFFFFFFFFFFFFFFFF
#: Ranges of those bits (amdgpu_smu.h), and the corresponding bit in records
#: (record.warnings.THROTTLE_REASONS).
_REASON_RANGES = ((0, 16, 0x04), (16, 32, 0x08), (32, 56, 0x40))
#: Counters that amdgpu does not have.
_LINK_COUNTERS = ("nvlink_errors", "nvlink_data_tx_bytes")
_UNSUPPORTED = "amdgpu has no such counter"


@dataclass(frozen=True)
class SysfsReading:
    """The fields of _core.ManagementHealth; None: unknown, and `unknown` has the reason."""

    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_c: int | None = None
    power_mw: int | None = None
    throttle_reasons: int | None = None
    pcie_replays: int | None = None
    nvlink_errors: int | None = None
    nvlink_data_tx_bytes: int | None = None

    @property
    def unknown(self) -> dict[str, str]:
        """Why fields are None, by name."""
        return {
            one.name: _UNSUPPORTED
            if one.name in _LINK_COUNTERS
            else "the file of amdgpu is missing or has another form"
            for one in fields(self)
            if getattr(self, one.name) is None
        }


class SysfsHealth:
    """Reads the health of GPUs.

    Args:
        addresses: PCI address by device.
        sysfs: Where sysfs is mounted.
    """

    def __init__(self, addresses: Mapping[str, str], sysfs: Path = Path("/sys")) -> None:
        places = {device: _place(sysfs, address) for device, address in addresses.items() if address}
        self._places = {device: place for device, place in places.items() if place is not None}

    def tells(self, device: str) -> bool:
        return device in self._places

    def energy_mj(self, device: str) -> float | None:
        """Returns the energy counter in mJ since the driver was loaded; None if the device has none."""
        microjoules = _number(_hwmon(self._places[device]) / "energy1_input")
        return None if microjoules is None else microjoules / 1000

    def read(self, device: str) -> SysfsReading:
        """Returns a reading. Raises KeyError for a device for which tells() is false."""
        place = self._places[device]
        hwmon = _hwmon(place)
        microwatts = _number(hwmon / "power1_average") or _number(hwmon / "power1_input")
        return SysfsReading(
            _clock(place / "pp_dpm_sclk"),
            _clock(place / "pp_dpm_mclk"),
            _temperature(hwmon),
            None if microwatts is None else microwatts // 1000,
            _throttle_reasons(place / "gpu_metrics"),
            _number(place / "pcie_replay_count"),
        )


def _hwmon(place: Path) -> Path:
    return next(iter(sorted((place / "hwmon").glob("hwmon*"))), place / "hwmon")


def _place(sysfs: Path, address: str) -> Path | None:
    """Returns the device's folder; a partition's address, with another function, gives the whole device."""
    devices = sysfs / "bus/pci/devices"
    for name in (address, f"{address.rpartition('.')[0]}.0"):
        if (devices / name / "pp_dpm_sclk").exists():
            return devices / name
    return None


def _text(path: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text().strip()
    return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.lstrip("-").isdigit() else None


def _clock(path: Path) -> int | None:
    found = _IN_USE.search(_text(path))
    return int(found[1]) if found else None


def _temperature(hwmon: Path) -> int | None:
    """Returns degrees Celsius of the "junction" sensor if available, otherwise of the first sensor."""
    labels = {_text(label): label for label in hwmon.glob("temp*_label")}
    label = labels.get("junction", hwmon / "temp1_label")
    millidegrees = _number(label.with_name(label.name.replace("_label", "_input")))
    return None if millidegrees is None else millidegrees // 1000


def _throttle_reasons(path: Path) -> int | None:
    """Returns bits of record.warnings.THROTTLE_REASONS; None for other versions of the table."""
    data = b""
    with contextlib.suppress(OSError):
        data = path.read_bytes()
    if len(data) < _REASONS_AT + _REASONS.size or _HEADER.unpack_from(data)[1:] != _METRICS_VERSION:
        return None
    (bits,) = _REASONS.unpack_from(data, _REASONS_AT)
    if bits == _NOT_TOLD:
        return None
    reasons = 0
    for low, high, reason in _REASON_RANGES:
        if bits >> low & ((1 << (high - low)) - 1):
            reasons |= reason
    return reasons
