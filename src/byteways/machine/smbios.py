"""Discovery source: the host's memory modules from firmware (SMBIOS), and their channels from EDAC.

Only the superuser may read the firmware tables. Structures and offsets: DMTF DSP0134, System Management BIOS
Reference Specification 3.7, sections 6.1.2 and 7.18. Channels: Linux, Documentation/admin-guide/ras.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from byteways.machine.sysfs_cpu import read_text

DMI_TABLES = "firmware/dmi/tables/DMI"
CHANNELS = "devices/system/edac/mc"
_MEMORY_DEVICE, _END_OF_TABLE = 17, 127
#: Word offsets in a memory device's structure: data width in bits, size, maximum and configured MT/s.
_DATA_WIDTH, _SIZE, _SPEED, _CONFIGURED = 0x0A, 0x0C, 0x15, 0x20
#: Offsets of the double words used if the word is 0xFFFF.
_EXTENDED = {_SPEED: 0x54, _CONFIGURED: 0x58}
_UNKNOWN, _SEE_EXTENDED = 0, 0xFFFF
#: Data bits of a channel, without ECC.
_CHANNEL_BITS = 64


@dataclass(frozen=True)
class Module:
    """One installed memory module."""

    data_bits: int
    transfers_per_s: float  # 0: unknown

    @property
    def bytes_per_s(self) -> float:
        return self.transfers_per_s * self.data_bits / 8


@dataclass(frozen=True)
class MemoryRate:
    """Total rate of the host's memory modules, shared by reads and writes; None with the reason."""

    bytes_per_s: float | None
    source: str


def memory_rate(sysfs: Path, *, virtual_machine: bool) -> MemoryRate:
    """Returns the rate from EDAC's channels, otherwise from the modules, of which a channel may have two."""
    if virtual_machine:
        return MemoryRate(None, "a virtual machine's firmware tables do not describe physical memory modules")
    try:
        tables = (sysfs / DMI_TABLES).read_bytes()
    except OSError as error:
        why = f"the firmware tables cannot be read ({(error.strerror or 'unknown error').lower()})"
        return MemoryRate(None, f"{why}, and no other source reports the speed of memory modules")
    modules = list(read_modules(tables))
    if not modules or not all(module.bytes_per_s for module in modules):
        return MemoryRate(None, "the firmware tables do not report the speed of every memory module")
    channels = count_channels(sysfs)
    fastest = max(modules, key=lambda module: module.transfers_per_s)
    speed = f"{fastest.transfers_per_s / 1e6:.0f} MT/s"
    if channels:
        rate = channels * fastest.transfers_per_s * _CHANNEL_BITS / 8
        return MemoryRate(rate, f"{channels} channels × 64 bit × {speed} (EDAC, SMBIOS)")
    rate = sum(module.bytes_per_s for module in modules)
    return MemoryRate(rate, f"{len(modules)} modules, at most one per channel, {speed} (SMBIOS)")


def tables_of(modules: Iterable[Module]) -> bytes:
    """Returns firmware tables with these modules and nothing else: neither serial numbers nor makers."""
    tables = b""
    for module in modules:
        structure = bytearray(_EXTENDED[_CONFIGURED] + 4)
        structure[0], structure[1] = _MEMORY_DEVICE, len(structure)
        structure[_DATA_WIDTH : _DATA_WIDTH + 2] = module.data_bits.to_bytes(2, "little")
        structure[_SIZE : _SIZE + 2] = (1).to_bytes(2, "little")  # not 0: a module is there
        structure[_CONFIGURED : _CONFIGURED + 2] = _SEE_EXTENDED.to_bytes(2, "little")
        structure[_EXTENDED[_CONFIGURED] :] = int(module.transfers_per_s / 1e6).to_bytes(4, "little")
        tables += bytes(structure) + b"\0\0"
    return tables


def read_modules(tables: bytes) -> Iterator[Module]:
    """Yields the memory modules in SMBIOS tables; ignores truncated ones."""
    at = 0
    while at + 4 <= len(tables):
        kind, length = tables[at], tables[at + 1]
        structure = tables[at : at + length]
        if kind == _END_OF_TABLE or length < 4 or len(structure) < length:
            return
        if kind == _MEMORY_DEVICE and length > _SPEED + 1 and _word(structure, _SIZE):
            configured = _speed(structure, _CONFIGURED) or _speed(structure, _SPEED)
            bits = _word(structure, _DATA_WIDTH)
            yield Module(0 if bits == _SEE_EXTENDED else bits, configured * 1e6)
        end_of_strings = tables.find(b"\0\0", at + length)
        if end_of_strings < 0:
            return
        at = end_of_strings + 2


def _speed(structure: bytes, offset: int) -> int:
    """Returns MT/s, 0 if unknown."""
    told = _word(structure, offset)
    if told != _SEE_EXTENDED:
        return told
    place = _EXTENDED[offset]
    return int.from_bytes(structure[place : place + 4], "little") if len(structure) >= place + 4 else _UNKNOWN


def _word(structure: bytes, offset: int) -> int:
    return int.from_bytes(structure[offset : offset + 2], "little") if len(structure) >= offset + 2 else 0


def count_channels(sysfs: Path) -> int:
    """Returns the number of populated memory channels from the EDAC driver; 0 without it."""
    found = set()
    for place in (sysfs / CHANNELS).glob("mc*/dimm*"):
        channel = re.search(r"channel (\d+)", read_text(place / "dimm_location") or "")
        if channel and (read_text(place / "size") or "0") != "0":
            found.add((place.parent.name, channel[1]))
    return len(found)
