"""The last-level cache of every device, which decides how large cold buffers are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from byteways._core import Device


def last_level_caches(
    devices: Sequence[Device], simulated: bool, sysfs: Path = Path("/sys")
) -> dict[str, int]:
    """Returns bytes by device name: the larger of what the runtime and the kernel driver report."""
    listed: dict[str, int] = {}
    if not simulated and any(device.runtime != "host" for device in devices):
        from byteways.machine.gpu_caches import listed_caches

        listed = listed_caches(sysfs)
    return {
        device.name: max(device.last_level_cache_bytes, listed.get(device.pci_address, 0))
        if device.runtime != "host"
        else device.last_level_cache_bytes
        for device in devices
    }
