"""Last-level caches of GPUs as their kernel driver lists them.

A runtime may report the L2 cache alone. A cache on the memory side (AMD: Infinity Cache, which the driver
lists as level 3) holds more, so that buffers which exceed the L2 cache would still stay in it.
"""

from __future__ import annotations

from pathlib import Path

from byteways.machine import kfd


def listed_caches(sysfs: Path = Path("/sys")) -> dict[str, int]:
    """Returns the bytes of each GPU's largest data cache by PCI address; empty if no driver lists any."""
    return {
        gpu.pci_address: max(sizes)
        for gpu in kfd.read(sysfs).gpus
        if gpu.pci_address
        and (sizes := [cache.size_bytes for cache in gpu.caches if cache.kind != "instruction"])
    }
