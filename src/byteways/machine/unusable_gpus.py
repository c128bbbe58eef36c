"""GPUs that this machine has and that no runtime opens: hardware seen but unusable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from byteways.base.settings import gpus_wanted
from byteways.machine.sysfs_pcie import gpu_addresses

#: Vendor of the GPUs that need each library, named as in sysfs_pcie.gpu_addresses().
LIBRARY_VENDORS = {
    **dict.fromkeys(("cuda-driver", "nvrtc", "nvml"), "NVIDIA"),
    **dict.fromkeys(("hip", "hiprtc", "hsa"), "AMD"),
}


class UnusableGpus(TypedDict):
    """GPUs of one vendor, as the manifest has them."""

    vendor: str
    pci_addresses: list[str]
    library: str  # the one that fails; '' if none does
    reason: str  # why it fails; '' if no library does
    hint: str


def unusable_gpus(
    devices: Collection[str], libraries: Sequence[Mapping[str, Any]], sysfs: Path = Path("/sys")
) -> list[UnusableGpus]:
    """Returns the GPUs on the PCI bus of a machine on which no runtime opens any, by vendor.

    A GPU that stays closed next to one that was opened may be hidden on purpose (a batch system, a
    container), or only drive a display.

    Args:
        devices: Names of the devices that the runtimes opened.
        libraries: Fields of `_core.LibraryReport`.
        sysfs: Where sysfs is mounted.
    """
    if any(name.startswith("gpu") for name in devices):
        return []
    addresses: dict[str, list[str]] = {}
    for vendor, address in gpu_addresses(sysfs):
        addresses.setdefault(vendor, []).append(address)
    return [_of_vendor(vendor, found, libraries) for vendor, found in sorted(addresses.items())]


def unusable_here(devices: Collection[str], libraries: Sequence[Mapping[str, Any]]) -> list[UnusableGpus]:
    """Returns the unusable GPUs of this machine; none if the user wants no GPU."""
    return unusable_gpus(devices, libraries) if gpus_wanted() else []


def _of_vendor(vendor: str, addresses: list[str], libraries: Sequence[Mapping[str, Any]]) -> UnusableGpus:
    failing = [
        report
        for report in libraries
        if LIBRARY_VENDORS.get(str(report["library"])) == vendor and not report["usable"] and report["reason"]
    ]
    # The runtime comes first in the reports; without it the others do not matter.
    first: Mapping[str, Any] = failing[0] if failing else {}
    return {
        "vendor": vendor,
        "pci_addresses": addresses,
        "library": str(first.get("library", "")),
        "reason": str(first.get("reason", "")),
        "hint": str(first.get("hint", "")),
    }
