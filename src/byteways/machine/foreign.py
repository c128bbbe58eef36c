"""Topologies in files of other programs: one row a format, recognised by content, one reader a file.

A reader returns a Topology in which all that its file leaves out is None; what that is, and whether any file
of the format could have it, is determined here for all formats alike (`left_out`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_TOPOLOGY_BYTES, read_bytes
from byteways.base.system_errors import unusable
from byteways.machine import hwloc_xml, nccl_xml, nvidia_smi_matrix, rocm_smi_matrix, saved_machine
from byteways.machine.foreign_text import FormatError
from byteways.machine.gpu_models import UNKNOWN_GPU
from byteways.machine.model import FILE_LACKS, FORMAT_LACKS, Device, LeftOut, Topology
from byteways.machine.sysfs_cpu import UNKNOWN_PROCESSOR

#: Bytes in which a file shows its format: programs print a few lines of their own before.
_BEGINNING = 64 << 10


@dataclass(frozen=True)
class TopologyFormat:
    """A format of files that describe a machine."""

    name: str
    says: str  # for messages
    made_by: str  # the command that writes such a file
    begins: re.Pattern[bytes]  # found in the beginning of such files alone
    parse: Callable[[bytes, str], Topology]  # content and name of the host; raises FormatError
    has: frozenset[str]  # of _PROPERTIES and _RATES, what a file of the format may have


#: Properties of devices that a file may leave out, by their names in LeftOut.
_PROPERTIES: Mapping[str, Callable[[Device], object]] = {
    "cpu.model": lambda cpu: None if cpu.model == UNKNOWN_PROCESSOR else cpu.model,
    "cpu.cores": lambda cpu: cpu.cores or cpu.executed_by,
    "cpu.caches": lambda cpu: cpu.caches or cpu.executed_by,
    "cpu.memory_bytes": lambda cpu: cpu.memory_bytes,
    "cpu.numa_domain": lambda cpu: cpu.numa_domain,
    "gpu.model": lambda gpu: None if gpu.model == UNKNOWN_GPU else gpu.model,
    "gpu.architecture": lambda gpu: gpu.architecture,
    "gpu.pci_address": lambda gpu: gpu.pci_address,
    "gpu.numa_domain": lambda gpu: gpu.numa_domain,
    "gpu.multiprocessors": lambda gpu: gpu.multiprocessors,
    "gpu.memory_bytes": lambda gpu: gpu.memory_bytes,
    "gpu.memory_peak_bytes_per_s": lambda gpu: gpu.memory_peak_bytes_per_s,
}
_PEAK = "peak_bytes_per_s"
_ALL = frozenset((*_PROPERTIES, "nics", *(f"{kind}.{_PEAK}" for kind in ("pcie", "nvlink", "c2c", "xgmi"))))
_NO_MEMORY = frozenset({"cpu.caches", "cpu.memory_bytes", "gpu.memory_bytes", "gpu.memory_peak_bytes_per_s"})

#: In order of precedence; the beginnings exclude each other but for logs that hold several outputs.
TOPOLOGY_FORMATS = (
    TopologyFormat(
        "saved-machine",
        "a machine saved by byteways",
        "byteways topo --save FILE",
        re.compile(rb'\A\s*\{\s*"byteways_machine"'),
        saved_machine.parse,
        _ALL,
    ),
    TopologyFormat(
        "nccl-xml",
        "a topology of NCCL or RCCL (XML)",
        "NCCL_TOPO_DUMP_FILE=FILE, set for any program that uses NCCL or RCCL",
        re.compile(rb"\A(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE [^\[>]*(?:\[.*?\])?\s*>)*<system\b", re.DOTALL),
        nccl_xml.parse,
        _ALL - _NO_MEMORY - {"gpu.multiprocessors", "nics"},
    ),
    TopologyFormat(
        "hwloc-xml",
        "a topology of hwloc (lstopo's XML)",
        "lstopo --of xml FILE",
        re.compile(
            rb"\A(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE [^\[>]*(?:\[.*?\])?\s*>)*<topology\b", re.DOTALL
        ),
        hwloc_xml.parse,
        _ALL - {"gpu.memory_peak_bytes_per_s", f"pcie.{_PEAK}", f"c2c.{_PEAK}", f"xgmi.{_PEAK}"},
    ),
    TopologyFormat(
        "nvidia-smi-topo",
        "output of nvidia-smi topo -m",
        "(nvidia-smi -L; nvidia-smi topo -m) > FILE",
        nvidia_smi_matrix.NVIDIA_SMI_BEGINS,
        nvidia_smi_matrix.parse,
        frozenset(
            ("cpu.cores", "cpu.numa_domain", "gpu.model", "gpu.architecture", "gpu.numa_domain", "nics")
        )
        | {f"nvlink.{_PEAK}"},
    ),
    TopologyFormat(
        "rocm-smi-topo",
        "output of rocm-smi --showtopo",
        "(rocm-smi --showproductname; rocm-smi --showtopo) > FILE",
        rocm_smi_matrix.ROCM_SMI_BEGINS,
        rocm_smi_matrix.parse,
        frozenset(("cpu.numa_domain", "gpu.model", "gpu.architecture", "gpu.numa_domain")),
    ),
)


def format_of(content: bytes) -> TopologyFormat | None:
    """Returns the format of a file by its content; None: none that is known here."""
    beginning = content[:_BEGINNING]
    return next((known for known in TOPOLOGY_FORMATS if known.begins.search(beginning)), None)


def read(path: Path) -> Topology:
    """Reads the topology in a file of another program.

    Raises:
        BytewaysError: The file cannot be read, has an unknown format, is malformed, or describes no machine.
    """
    try:
        content = read_bytes(path, MOST_TOPOLOGY_BYTES)
    except OSError as error:
        raise unusable(f"cannot read {path}", error, formats_hint()) from error
    return of(content, path)


def of(content: bytes, path: Path) -> Topology:
    """Parses a file's content. Raises BytewaysError like read()."""
    known = format_of(content)
    if known is None:
        cause = "it is empty" if not content.strip() else "its content has none of the formats that are known"
        if b"\0" in content[:_BEGINNING]:
            cause = "it is a binary file"
        raise BytewaysError(f"{path} contains no topology", cause=cause, hint=formats_hint())
    try:
        found = known.parse(content, path.stem)
        if contradiction := found.contradiction():
            raise FormatError(contradiction)
    except (ValueError, RecursionError) as error:
        wrong = error if isinstance(error, FormatError) else FormatError(str(error))
        place = f"{path}:{wrong.line}" if wrong.line else str(path)
        raise BytewaysError(
            f"{place} is not {known.says}",
            cause=str(error),
            hint=wrong.hint or f"to write one: {known.made_by}",
        ) from error
    return replace(found, read_from=known.name, left_out=tuple(_left_out(found, known)))


def formats_hint() -> str:
    """Returns how to write a file of each format, for messages."""
    return f"byteways topo --json > FILE, or {'; or '.join(known.made_by for known in TOPOLOGY_FORMATS)}"


def _left_out(topology: Topology, known: TopologyFormat) -> Iterable[LeftOut]:
    """Yields what is null, in the order of _PROPERTIES, then links by kind and reason."""
    for what, of_device in _PROPERTIES.items():
        kind = what.partition(".")[0]
        lacking = [one.name for one in topology.devices if one.kind == kind and of_device(one) in (None, ())]
        if lacking:
            yield LeftOut(what, _code(what, known), tuple(lacking))
    links: dict[tuple[str, str], list[str]] = {}
    for link in topology.links:
        if link.peak_bytes_per_s is None and link.kind != "numa":  # of which no source has a peak
            what = f"{link.kind}.{_PEAK}"
            code = link.unknown.code if link.unknown else _code(what, known)
            links.setdefault((what, code), []).append(f"{link.a}<>{link.b}")
    yield from (LeftOut(what, code, tuple(names)) for (what, code), names in links.items())
    if not topology.nics:
        yield LeftOut("nics", _code("nics", known))


def _code(what: str, known: TopologyFormat) -> str:
    return FILE_LACKS if what in known.has else FORMAT_LACKS
