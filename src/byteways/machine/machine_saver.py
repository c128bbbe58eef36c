"""Saves a machine for somebody else to look at: what discovery reads of it, and nothing that identifies it.

What is saved is listed (saved_machine.py), so that a new file of the kernel is left out until somebody adds
it. Of files that mix properties with identifiers, the lines with properties are kept. Names of network
interfaces that a user or a hardware address may have given are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from byteways.machine import smbios
from byteways.machine.kfd import NODES
from byteways.machine.nvml import ManagementDevice
from byteways.machine.saved_machine import FILE_PATH, SAVED_MACHINE_VERSION, SavedMachine
from byteways.machine.smbios import Module
from byteways.machine.sysfs_cpu import read_text
from byteways.machine.sysfs_pcie import canonical_address

#: Patterns of files below sysfs besides those of devices; FILE_PATH decides.
_GLOBS = (
    "devices/system/node/node*/*",
    "devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list",
    "devices/system/cpu/cpu[0-9]*/cache/index*/*",
    f"{smbios.CHANNELS}/mc*/*/*",
    "devices/cpu_*/cpus",
    "devices/soc0/soc_id",
    "class/dmi/id/sys_vendor",
    "hypervisor/type",
    "module/amdgpu/parameters/noretry",
    f"{NODES}/*/*",
    f"{NODES}/*/*/*/properties",
)
#: Files of a PCI device.
_PCI_GLOBS = ("*", "hwmon/hwmon*/power1_cap_default")
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
#: PCI classes of what discovery looks at: network, display, bridges, InfiniBand, processing accelerators.
_PCI_CLASSES = ("0x02", "0x03", "0x06", "0x0c06", "0x12")
#: Lines to keep of files that have others, too: KFD's lack the GPU's serial number, those of the processor
#: the board's.
_LINES = {
    "properties": re.compile(r"(?!unique_id\b)\w+ .*"),
    "meminfo": re.compile(r".*MemTotal:.*"),
    "status": re.compile(r"Mems_allowed_list:.*"),
    "cpuinfo": re.compile(
        r"(?:processor|model name|Model Name|cpu|uarch|flags|CPU implementer|CPU part)\s*:.*"
    ),
}
#: Names that the kernel's drivers count; others may hold a hardware address or a word of the site.
_COUNTED = re.compile(r"(?:eth|ib|hsn|net|mlx[45]_|bnxt_re|irdma|efa_|hfi1_|cxi|mana_)\d{1,3}")
#: Fields of a worker's devices that discovery uses, without their UUIDs.
_RUNTIME = (
    "runtime",
    "model",
    "pci_address",
    "architecture",
    "numa_domain",
    "multiprocessors",
    "memory_bytes",
    "last_level_cache_bytes",
    "memory_bytes_per_s",
)


def saved(
    runtime: Mapping[str, Mapping[str, Any]] | None,
    management: Sequence[ManagementDevice],
    cores: Collection[int],
    sysfs: Path = Path("/sys"),
    proc: Path = Path("/proc"),
) -> SavedMachine:
    """Returns this machine without what identifies it.

    Args:
        runtime: Fields of `_core.Device` by name; None: no worker could be asked.
        management: NVML's devices.
        cores: Logical CPUs of this process.
        sysfs: Where sysfs is mounted.
        proc: Where procfs is mounted.
    """
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    for glob in _GLOBS:
        _keep(files, ((f"sys/{place.relative_to(sysfs)}", place) for place in sorted(sysfs.glob(glob))))
    _keep(files, ((f"proc/{name}", proc / name) for name in ("cpuinfo", "meminfo", "self/status")))
    for place in sorted((sysfs / "bus/pci/devices").glob("*")):
        _keep_pci(files, links, place)
    for kind, own in (("net", "*"), ("infiniband", "ports/*/*")):
        _keep_network(files, links, sysfs / "class" / kind, own)
    return SavedMachine(
        SAVED_MACHINE_VERSION,
        ",".join(map(str, sorted(cores))),
        files,
        links,
        _modules(sysfs),
        _unnamed(management),
        _fields(runtime),
    )


def _keep(files: dict[str, str], places: Iterable[tuple[str, Path]]) -> None:
    for path, place in places:
        if FILE_PATH.fullmatch(path) and place.is_file() and (text := read_text(place)) is not None:
            wanted = _LINES.get(place.name)
            kept = [line for line in text.splitlines() if wanted is None or wanted.fullmatch(line)]
            files[path] = "\n".join(_plain(line) for line in kept)


def _plain(line: str) -> str:
    """Returns a line of /proc/cpuinfo with the one flag that discovery reads; others as they are."""
    key, colon, value = line.partition(":")
    if key.strip() != "flags" or not colon:
        return line
    return f"{key}: {'hypervisor' if 'hypervisor' in value.split() else ''}"


def _pci_path(place: Path) -> str | None:
    """Returns the path of a PCI device below its bridges; None for one that is no PCI device."""
    parts = list(place.resolve().parts)
    while parts and not _ADDRESS.fullmatch(parts[-1]):  # of a network device: virtio's own below PCI's
        parts.pop()
    chain: list[str] = []
    while parts and _ADDRESS.fullmatch(parts[-1]):
        chain.insert(0, parts.pop())
    return "/".join(("sys/devices/pci", *chain)) if chain else None


def _keep_pci(files: dict[str, str], links: dict[str, str], place: Path) -> None:
    path = _pci_path(place)
    if path is None or not (read_text(place / "class") or _PCI_CLASSES[0]).startswith(_PCI_CLASSES):
        return
    links[f"sys/bus/pci/devices/{canonical_address(place.name)}"] = path
    for glob in _PCI_GLOBS:
        _keep(files, ((f"{path}/{one.relative_to(place)}", one) for one in sorted(place.glob(glob))))


def _keep_network(files: dict[str, str], links: dict[str, str], folder: Path, own: str) -> None:
    """Keeps what a class of network devices says of those on PCI Express."""
    prefix = "net" if folder.name == "net" else "rdma"
    taken = {place.name for place in folder.glob("*")}
    free = (f"{prefix}{number}" for number in range(10**5) if f"{prefix}{number}" not in taken)
    for place in sorted(folder.glob("*")):
        if (path := _pci_path(place / "device")) is None or not (place / "device").exists():
            continue
        name = place.name if _COUNTED.fullmatch(place.name) else next(free)
        below = f"sys/class/{folder.name}/{name}"
        links[f"{below}/device"] = path
        _keep(files, ((f"{below}/{one.relative_to(place)}", one) for one in sorted(place.glob(own))))


def _modules(sysfs: Path) -> list[Module]:
    try:
        return list(smbios.read_modules((sysfs / smbios.DMI_TABLES).read_bytes()))
    except OSError:  # only root may read it
        return []


def _unnamed(management: Sequence[ManagementDevice]) -> list[ManagementDevice]:
    return [replace(one, uuid="", compute_mode="default", compute_processes=0) for one in management]


def _fields(runtime: Mapping[str, Mapping[str, Any]] | None) -> dict[str, dict[str, Any]] | None:
    if runtime is None:
        return None
    return {
        name: {key: fields[key] for key in _RUNTIME if fields.get(key) is not None}
        for name, fields in runtime.items()
    }
