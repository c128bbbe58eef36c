"""Discovery source: the PCI Express tree from a device up to its root, from Linux sysfs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from byteways.machine.link_rates import PCIE_GENERATIONS, pcie_generation
from byteways.machine.model import PCIE_EMULATED, PCIE_UNREPORTED, UnknownRate
from byteways.machine.sysfs_cpu import read_text

_ADDRESS = re.compile(r"^([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$")
#: PCI vendors whose devices of _GPU_CLASSES are GPUs that a runtime may open.
GPU_VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD"}
#: PCI classes of GPUs (PCI Code and ID Assignment Specification, section 1): display controllers (VGA, XGA,
#: 3D, other), and processing accelerators, as which AMD's GPUs appear since MI300.
_GPU_CLASSES = ("0x0300", "0x0301", "0x0302", "0x0380", "0x1200")
#: Kernel drivers that are bound to GPUs only.
_GPU_DRIVERS = ("nvidia", "amdgpu")


@dataclass(frozen=True)
class PcieLink:
    """Speed and width of one link; 0 if unknown. `speed` and `lanes` are what the source says, verbatim."""

    generation: int
    width: int
    speed: str = field(default="", compare=False)
    lanes: str = field(default="", compare=False)
    emulated: bool = field(default=False, compare=False)

    def known(self) -> bool:
        """Whether a nominal rate is known."""
        return self.generation in PCIE_GENERATIONS and 1 <= self.width <= 32

    def unless_emulated(self) -> PcieLink:
        """Returns this maximum of a link to a GPU or another fast device; unknown if it is emulated.

        Every GPU that a runtime opens has PCI Express 3.0 or later, as have the switches and ports above it.
        A maximum of 2.5 GT/s (generation 1) is that of an emulated bridge (QEMU's default), or of a GPU whose
        link to the CPU is of another kind (GB10).
        """
        return replace(self, generation=0, emulated=True) if self.generation == 1 else self

    def unknown(self) -> UnknownRate:
        """Returns why no nominal rate is known."""
        return UnknownRate(PCIE_EMULATED if self.emulated else PCIE_UNREPORTED, self.speed, self.lanes)


@dataclass(frozen=True)
class PcieDevice:
    """A device or bridge with its link towards the root."""

    address: str
    maximum: PcieLink
    current: PcieLink


@dataclass(frozen=True)
class PciePath:
    """A device and the bridges above it, nearest first, up to the root port."""

    device: PcieDevice
    bridges: tuple[PcieDevice, ...]
    numa_domain: int | None


def canonical_address(text: str) -> str:
    """Normalises a PCI address as in sysfs: `00000000:3B:00.0` is `0000:3b:00.0`; others in lower case."""
    match = _ADDRESS.match(text.lower())
    if match is None:
        return text.lower()
    return f"{int(match[1], 16):04x}:{match[2]}:{match[3]}.{match[4]}"


def read_path(sysfs: Path, address: str) -> PciePath | None:
    """Returns the tree above a device; None if sysfs does not show it."""
    place = sysfs / "bus/pci/devices" / canonical_address(address)
    if not place.exists():
        return None
    folder = place.resolve()
    bridges = []
    for parent in folder.parents:
        if not _ADDRESS.match(parent.name):
            break
        bridges.append(_device(parent))
    numa = read_text(folder / "numa_node")
    return PciePath(_device(folder), tuple(bridges), int(numa) if numa and numa.isdigit() else None)


def gpu_addresses(sysfs: Path, proc: Path | None = None) -> list[tuple[str, str]]:
    """Returns (vendor, address) of all GPUs that the system shows, with or without a driver.

    Any one sign suffices: class and vendor on the PCI bus, a GPU driver bound to the device, or an entry of
    the NVIDIA driver in procfs, which containers may see without the bus.

    Args:
        sysfs: Where sysfs is mounted.
        proc: Where procfs is mounted; None: not read.
    """
    found = {}
    for place in (sysfs / "bus/pci/devices").glob("*"):
        vendor = (read_text(place / "vendor") or "").lower()
        bound = (place / "driver").exists() and (place / "driver").resolve().name in _GPU_DRIVERS
        if is_gpu(read_text(place / "class") or "", vendor) or (bound and vendor in GPU_VENDORS):
            found[canonical_address(place.name)] = GPU_VENDORS[vendor]
    if proc is not None:
        for place in (proc / "driver/nvidia/gpus").glob("*"):
            found.setdefault(canonical_address(place.name), "NVIDIA")
    return [(vendor, address) for address, vendor in sorted(found.items())]


def is_gpu(device_class: str, vendor: str) -> bool:
    """Whether a PCI device is a GPU, by its class (`0x120000`) and vendor (`0x1002`)."""
    return device_class.lower().startswith(_GPU_CLASSES) and vendor.lower() in GPU_VENDORS


def _device(folder: Path) -> PcieDevice:
    return PcieDevice(folder.name, _link(folder, "max"), _link(folder, "current"))


def _link(folder: Path, which: str) -> PcieLink:
    """Returns the `max` or `current` link of a device."""
    speed, width = (read_text(folder / f"{which}_link_{what}") or "" for what in ("speed", "width"))
    return parse_link(speed, width)


def parse_link(speed: str, width: str) -> PcieLink:
    """Parses speed and width from sysfs: `32.0 GT/s PCIe` and `16`, or `Unknown` and 0 or 255."""
    words = speed.split()
    try:
        generation = pcie_generation(float(words[0]) * 1e9) if words else None
    except ValueError:
        generation = None
    lanes = int(width) if width.isdigit() else 0
    return PcieLink(generation or 0, lanes if 1 <= lanes <= 32 else 0, speed, width)
