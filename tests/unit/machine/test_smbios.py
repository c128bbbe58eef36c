"""Memory modules by firmware tables: what they carry together, and what must not be made up."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.machine.smbios import DMI_TABLES, memory_rate, read_modules


def device(
    size: int = 32768, bits: int = 64, speed: int = 5600, configured: int = 4800, extra: bytes = b""
) -> bytes:
    """A memory device (type 17) as DMTF DSP0134 lays it out, with two texts."""
    body = bytearray(0x22)
    struct.pack_into("<H", body, 0x08, 80)
    struct.pack_into("<H", body, 0x0A, bits)
    struct.pack_into("<H", body, 0x0C, size)
    struct.pack_into("<H", body, 0x15, speed)
    struct.pack_into("<H", body, 0x20, configured)
    body += extra
    body[0], body[1] = 17, len(body)
    return bytes(body) + b"DIMM 0\0BANK 0\0\0"


BIOS = bytes([0, 4, 0, 0]) + b"vendor\0\0"
END = bytes([127, 4, 0, 0]) + b"\0\0"


def sysfs(folder: Path, *structures: bytes, channels: int = 0) -> Path:
    place = folder / DMI_TABLES
    place.parent.mkdir(parents=True)
    place.write_bytes(BIOS + b"".join(structures) + END)
    for channel in range(channels):
        for slot in range(2):
            dimm = folder / f"devices/system/edac/mc/mc{channel // 4}/dimm{2 * (channel % 4) + slot}"
            dimm.mkdir(parents=True)
            (dimm / "dimm_location").write_text(f"channel {channel % 4} slot {slot} \n")
            (dimm / "size").write_text("32768\n" if slot == 0 else "0\n")
    return folder


def test_modules_as_they_are_set_and_not_as_they_could_be(tmp_path: Path) -> None:
    """Catches the module's own speed where the machine runs it slower, empty slots, and bits for bytes."""
    found = memory_rate(sysfs(tmp_path, *[device()] * 8, device(size=0)), virtual_machine=False)
    assert found.bytes_per_s == 8 * 8 * 4800e6
    assert "8 modules" in found.source and "4800 MT/s" in found.source


def test_channels_count_where_the_kernel_tells_them(tmp_path: Path) -> None:
    """Catches two modules on one channel counted as two channels."""
    found = memory_rate(sysfs(tmp_path, *[device()] * 16, channels=8), virtual_machine=False)
    assert found.bytes_per_s == 8 * 8 * 4800e6
    assert "8 channels" in found.source


def test_speeds_beyond_a_word(tmp_path: Path) -> None:
    """Catches 65535 MT/s where the true speed stands in the extended field."""
    extra = bytes(0x58 - 0x22) + struct.pack("<I", 70000)
    found = memory_rate(sysfs(tmp_path, device(configured=0xFFFF, extra=extra)), virtual_machine=False)
    assert found.bytes_per_s == 8 * 70000e6


@pytest.mark.parametrize(
    "structure", [device(speed=0, configured=0), device(bits=0), device(bits=0xFFFF), b""]
)
def test_what_is_not_told_is_not_made_up(tmp_path: Path, structure: bytes) -> None:
    """Catches a limit from modules of unknown speed or width, as hypervisors describe them."""
    found = memory_rate(
        sysfs(tmp_path, device(), structure) if structure else tmp_path, virtual_machine=False
    )
    assert found.bytes_per_s is None
    assert len(found.source) > 20


def test_virtual_machines_have_no_modules(tmp_path: Path) -> None:
    """Catches a hypervisor's made-up module taken for the host's memory."""
    assert memory_rate(sysfs(tmp_path, device()), virtual_machine=True).bytes_per_s is None


@given(st.binary(max_size=200), st.integers(0, 60))
def test_damaged_tables_never_raise(noise: bytes, cut: int) -> None:
    """Catches an endless loop or an exception on tables that are cut off or no tables at all."""
    list(read_modules(noise))
    assert len(list(read_modules((device() * 2)[:cut] + noise))) <= 20
