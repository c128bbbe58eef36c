"""Topology from a machine that `byteways topo --save FILE` wrote: what discovery reads of the kernel.

    {
      "byteways_machine": 1,
      "cores": "0-63",                                              logical CPUs of the process that saved it
      "files": {"sys/devices/system/node/node0/cpulist": "0-63", …},
      "links": {"sys/bus/pci/devices/0000:01:00.0": "sys/devices/pci/0000:00:01.0/0000:01:00.0", …},
      "modules": [{"data_bits": 64, "transfers_per_s": 4.8e9}, …],  memory modules, where root saved it
      "management": [{"index": 0, "name": "NVIDIA H200", …}, …],    what NVML said
      "runtime": {"gpu0": {"architecture": "sm_90", …}, …}          what a worker said; null: none was asked
    }

The tree is written into a temporary folder, and discovery reads it like that of a machine: one code for both.
Only paths of FILE_PATH and LINK_PATH are written and read, so that a file neither gives anything else away
nor writes elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from byteways.base.decoding import decoded
from byteways.base.private_folder import private_folder
from byteways.machine import smbios
from byteways.machine.discovery import discover
from byteways.machine.foreign_numbers import MOST_LOGICAL_CPUS, check_count
from byteways.machine.foreign_text import FormatError
from byteways.machine.kfd import NODES
from byteways.machine.model import Topology
from byteways.machine.nvml import ManagementDevice
from byteways.machine.smbios import Module
from byteways.machine.sysfs_cpu import parse_cpu_list
from byteways.machine.sysfs_writer import write_file, write_link

#: Version of the format: a change that older versions would read wrongly raises it.
SAVED_MACHINE_VERSION = 1
_N = r"\d{1,5}"
_PCI = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_NAME = r"[a-z][a-z0-9_]{0,20}"
#: Files by their path. None holds a serial number, a name of host or user, or an address of a network.
FILE_PATH = re.compile(
    "|".join(
        (
            r"sys/devices/system/node/node\d{1,3}/(?:cpulist|distance|meminfo)",
            rf"sys/devices/system/cpu/cpu{_N}/topology/thread_siblings_list",
            rf"sys/devices/system/cpu/cpu{_N}/cache/index\d/"
            r"(?:level|type|size|shared_cpu_list|coherency_line_size)",
            rf"sys/{smbios.CHANNELS}/mc{_N}/(?:dimm|rank){_N}/(?:dimm_location|size)",
            r"sys/devices/cpu_(?:core|atom)/cpus",
            r"sys/devices/soc0/soc_id",
            r"sys/class/dmi/id/sys_vendor",
            r"sys/hypervisor/type",
            r"sys/module/amdgpu/parameters/noretry",
            rf"sys/devices/pci(?:/{_PCI}){{1,32}}/(?:class|vendor|device|numa_node"
            r"|(?:max|current)_link_(?:speed|width)|product_name|current_(?:compute|memory)_partition"
            rf"|available_compute_partition|hwmon/hwmon{_N}/power1_cap_default)",
            rf"sys/{NODES}/\d{{1,3}}/(?:name|properties|(?:caches|mem_banks|io_links|p2p_links)/{_N}/properties)",
            rf"sys/class/net/{_NAME}/(?:speed|operstate)",
            rf"sys/class/infiniband/{_NAME}/ports/{_N}/(?:rate|state)",
            r"proc/(?:cpuinfo|meminfo|self/status)",
        )
    )
)
LINK_PATH = re.compile(rf"sys/(?:bus/pci/devices/{_PCI}|class/(?:net|infiniband)/{_NAME}/device)")
_TARGET = re.compile(rf"sys/devices/pci(?:/{_PCI}){{1,32}}")
#: Files of a machine with 512 logical CPUs: some 15,000.
_MOST_FILES = 100_000
#: GPUs, network interfaces and bridges, virtual functions among them, with the names of interfaces.
_MOST_LINKS = 4096


@dataclass(frozen=True)
class SavedMachine:
    """The content of a file."""

    byteways_machine: int
    cores: str
    files: dict[str, str]
    links: dict[str, str] = field(default_factory=dict)
    modules: list[Module] = field(default_factory=list)
    management: list[ManagementDevice] = field(default_factory=list)
    runtime: dict[str, dict[str, str | int | float | bool | None]] | None = None


def parse(content: bytes, host: str) -> Topology:
    """Returns the topology that discovery finds in a saved machine. Raises FormatError."""
    try:
        saved: SavedMachine = decoded(content, SavedMachine)
    except ValueError as error:
        raise FormatError(str(error), _line(content, str(error))) from error
    if saved.byteways_machine != SAVED_MACHINE_VERSION:
        hint = "install a newer byteways, or save the machine again with this one"
        raise FormatError(
            f"its version is {saved.byteways_machine}, and {SAVED_MACHINE_VERSION} is known", hint=hint
        )
    _check(saved, content)
    with private_folder() as folder:
        root = folder.resolve()
        try:
            _write(root, saved)
        except OSError as error:
            raise FormatError(f"its files do not form a tree: {error.strerror}") from error
        return discover(
            saved.runtime,
            root / "sys",
            proc=root / "proc",
            allowed_cores=parse_cpu_list(saved.cores),
            management=saved.management,
            environment={},
            host=host,
            unopened=True,
        )


def _write(root: Path, saved: SavedMachine) -> None:
    for folder in ("sys", "proc"):
        (root / folder).mkdir()
    for path, text in saved.files.items():
        write_file(root / path, text)
    for path, target in saved.links.items():
        (root / target).mkdir(parents=True, exist_ok=True)
        write_link(root / path, root / target)
    if saved.modules:
        write_file(root / "sys" / smbios.DMI_TABLES, smbios.tables_of(saved.modules))


def _check(saved: SavedMachine, content: bytes) -> None:
    """Raises FormatError for what byteways never writes."""

    def refused(what: str, word: str) -> FormatError:
        at = content.find(word.encode())
        return FormatError(what, content.count(b"\n", 0, at) + 1 if at >= 0 else None)

    if not re.fullmatch(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*", saved.cores):
        raise refused(f"its cores, '{saved.cores[:40]}', are not a list of numbers", '"cores"')
    try:
        cores = parse_cpu_list(saved.cores)
    except ValueError as error:
        raise refused(str(error), '"cores"') from error
    if cores[-1] >= MOST_LOGICAL_CPUS or len(saved.files) > _MOST_FILES or len(saved.links) > _MOST_LINKS:
        raise FormatError("it has more cores, files or PCI devices than any machine")
    check_count(len(saved.management), "GPUs of NVML")
    check_count(len(saved.runtime or ()), "devices")
    for path in saved.files:
        if not FILE_PATH.fullmatch(path):
            raise refused(f"'{path[:80]}' is no file that discovery reads", path)
    for path, target in saved.links.items():
        if not LINK_PATH.fullmatch(path) or not _TARGET.fullmatch(target):
            raise refused(f"'{path[:80]}' is no link that discovery follows", path)
    for module in saved.modules:
        if not 0 <= module.data_bits < 1 << 16 or not 0 <= module.transfers_per_s < 4e15:
            raise refused("a memory module has impossible numbers", '"modules"')


def _line(content: bytes, said: str) -> int | None:
    """Returns the line of msgspec's message: malformed JSON has a byte, a wrong value a path."""
    if at := re.search(r"\(byte (\d+)\)", said):
        return content.count(b"\n", 0, int(at[1])) + 1
    if path := re.search(r"`\$\.(\w+)", said):
        found = content.find(f'"{path[1]}"'.encode())
        return content.count(b"\n", 0, found) + 1 if found >= 0 else None
    return None


def fields_of(machine: SavedMachine) -> dict[str, Any]:
    """Returns JSON data in the order of the fields."""
    from msgspec import to_builtins

    data: dict[str, Any] = to_builtins(machine)
    return data
