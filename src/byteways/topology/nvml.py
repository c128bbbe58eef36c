"""Discovery source: NVML, for NVLink, PCIe, UUIDs and the state of the GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from byteways.topology.sysfs_pcie import canonical_address

if TYPE_CHECKING:
    from byteways._core import ManagementDevice


def read_devices() -> tuple[list[ManagementDevice], list[str]]:
    """Returns all NVIDIA GPUs in PCI order, and notes on why there are none.

    Never raises: many machines lack NVIDIA's driver.
    """
    try:
        from byteways._core import Management
    except ImportError as error:
        return [], [f"NVML unavailable: byteways' native module does not load ({error})"]
    try:
        library = Management()
        if not library.report.usable:
            return [], [f"NVML: {library.report.reason}"]
        return list(library.devices()), []
    except RuntimeError as error:  # _core.Error: a call that failed, with call and code in its text
        return [], [f"NVML: {error}"]


def visible(devices: Sequence[ManagementDevice], environment: Mapping[str, str]) -> list[ManagementDevice]:
    """Returns the devices that CUDA_VISIBLE_DEVICES selects, in CUDA's numbering.

    As in the CUDA programming guide: indices (in PCI order, as byteways sets CUDA_DEVICE_ORDER) or UUID
    prefixes; everything from the first invalid entry on is ignored.
    """
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return list(devices)
    chosen: list[ManagementDevice] = []
    for entry in (part.strip() for part in wanted.split(",")):
        if entry.isdigit():
            matches = [devices[int(entry)]] if int(entry) < len(devices) else []
        else:
            matches = [device for device in devices if entry and device.uuid.startswith(entry)]
        if len(matches) != 1 or matches[0] in chosen:
            break
        chosen.append(matches[0])
    return chosen


def match(fields: Mapping[str, Any], devices: Sequence[ManagementDevice]) -> ManagementDevice | None:
    """Returns the device of a runtime's GPU: by UUID, then by PCI address (a MIG instance has its own UUID).

    Args:
        fields: Of `_core.Device`.
        devices: From read_devices().
    """
    for device in devices:
        if fields.get("uuid") and device.uuid == fields["uuid"]:
            return device
    address = canonical_address(fields.get("pci_address") or "")
    return next((one for one in devices if address and canonical_address(one.pci_address) == address), None)


def memory_peak(device: ManagementDevice) -> float | None:
    """Returns nominal memory bandwidth in bytes/s, shared by reads and writes: clock × bus width × 2."""
    rate = device.memory_clock_mhz * 1e6 * device.memory_bus_bits / 8 * 2
    return rate or None
