"""Topology from `rocm-smi --showtopo`, with models where the file has those of `--showproductname`, too.

    ======== Weight between two GPUs ========
           GPU0         GPU1
    GPU0   0            15
    GPU1   15           0
    ======== Hops between two GPUs ==========         ======== Numa Nodes ========
    ======== Link Type between two GPUs =====         GPU[0]  : (Topology) Numa Node: 0
           GPU0         GPU1                          GPU[0]  : (Topology) Numa Affinity: 0
    GPU0   0            XGMI

Two GPUs with the type XGMI have links of their own where the weight is that of one hop (KFD's, kfd.py). The
tables have neither the width of a bundle nor what joins GPU and CPU.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations

from byteways.machine.foreign_numbers import MOST_DEVICE, check_count, whole
from byteways.machine.foreign_text import FormatError, at_line, text_lines
from byteways.machine.gpu_models import UNKNOWN_GPU, architecture_of
from byteways.machine.kfd import XGMI_WEIGHT
from byteways.machine.model import Device, Link, Topology
from byteways.machine.outliers import with_outliers
from byteways.machine.sysfs_cpu import UNKNOWN_PROCESSOR

ROCM_SMI_BEGINS = re.compile(
    rb"^=+ (?:(?:Weight|Hops|Link Type) between two GPUs|Numa Nodes) =+\s*$", re.MULTILINE
)
_SECTION = re.compile(r"=+ (.*?) =+")
_WEIGHT, _HOPS, _TYPE = (f"{what} between two GPUs" for what in ("Weight", "Hops", "Link Type"))
_VALUES = {
    _WEIGHT: re.compile(r"\d{1,6}"),
    _HOPS: re.compile(r"\d{1,3}"),
    _TYPE: re.compile(r"0|XGMI|PCIE|UNKNOWN"),
}
_NUMA = re.compile(r"GPU\[(\d+)\]\s*: \(Topology\) Numa (?:Node|Affinity): (-?\d+)")
_MODEL = re.compile(r"GPU\[(\d+)\]\s*: Card [Ss]eries:\s*(.+?)\s*")
_NO_RATE = "rocm-smi --showtopo has no rates"


@dataclass
class _Tables:
    cells: dict[str, dict[tuple[str, str], str]] = field(default_factory=dict)  # by section
    names: list[str] = field(default_factory=list)  # of GPUs, equal in all sections
    domains: dict[str, int] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    section: str = ""
    columns: list[str] = field(default_factory=list)  # of the section
    rows: list[str] = field(default_factory=list)


def parse(content: bytes, host: str) -> Topology:
    """Parses a file's content. Raises FormatError, with the line, if it has no such tables."""
    tables = _read(content)
    numbers: list[int | None] = [*sorted({*tables.domains.values()})] or [None]
    cpus = [
        Device(f"cpu{number or 0}", "cpu", UNKNOWN_PROCESSOR, numa_domain=number, memory_peak_source=_NO_RATE)
        for number in numbers
    ]
    gpus = [
        Device(
            name.lower(),
            "gpu",
            tables.models.get(name, UNKNOWN_GPU),
            numa_domain=tables.domains.get(name),
            memory_peak_source=_NO_RATE,
            architecture=architecture_of(tables.models.get(name, "")),
        )
        for name in tables.names
    ]
    links = [
        Link(a.name, b.name, "numa", 1, None, None, None, _NO_RATE, "NUMA") for a, b in combinations(cpus, 2)
    ]
    source = "rocm-smi --showtopo does not have the links to CPUs; PCI Express is assumed"
    for gpu in gpus:
        home = f"cpu{gpu.numa_domain if gpu.numa_domain is not None else cpus[0].name[3:]}"
        links.append(Link(gpu.name, home, "pcie", 1, None, None, None, source, "PCIe"))
    notes: list[str] = []
    links.extend(_bundles(tables, notes))
    if not tables.domains:
        notes.append("the file has no NUMA domains; all GPUs are drawn at cpu0")
    return with_outliers(Topology(host, (*cpus, *gpus), (), tuple(links), tuple(notes)))


def _read(content: bytes) -> _Tables:
    tables, last = _Tables(), 0
    for last, text in text_lines(content):
        line = text.strip()
        if section := _SECTION.fullmatch(line):
            _end(tables, last)
            tables.section, tables.columns, tables.rows = section[1], [], []
        elif stated := _NUMA.fullmatch(line):
            with at_line(last):
                gpu = f"GPU{whole(stated[1], 'the number of a GPU', 0, MOST_DEVICE)}"
                if not stated[2].startswith("-"):  # -1: unknown
                    tables.domains[gpu] = whole(stated[2], "the NUMA node", 0, MOST_DEVICE)
        elif model := _MODEL.fullmatch(line):
            tables.models[f"GPU{int(model[1][:6])}"] = model[2]
        elif line and tables.section in _VALUES:
            _row(tables, last, line.split())
    _end(tables, last)
    if not tables.names:
        tables.names = sorted({*tables.domains}, key=lambda name: int(name[3:]))
    if not tables.names:
        raise FormatError("it names no GPU", last)
    if unknown := sorted({*tables.domains} - {*tables.names}):
        raise FormatError(f"{unknown[0]} has a NUMA node and no row in the tables", last)
    return tables


def _row(tables: _Tables, line: int, words: list[str]) -> None:
    """Reads the header of a section, or a row."""
    if not tables.columns:
        with at_line(line):
            check_count(len(words), "GPUs")
        for name in words:
            if not re.fullmatch(r"GPU\d{1,4}", name):
                raise FormatError(f"'{name[:40]}' is where the name of a GPU is expected", line)
        if len({*words}) < len(words) or (tables.names and words != tables.names):
            raise FormatError(f"{tables.section}: its GPUs are not those of the other tables", line)
        tables.columns = tables.names = words
        return
    row, *values = words
    if row not in tables.columns or row in tables.rows:
        raise FormatError(f"'{row[:40]}' is where the row of another GPU is expected", line)
    if len(values) != len(tables.columns):
        raise FormatError(f"{row} has {len(values)} of {len(tables.columns)} values", line)
    cells = tables.cells.setdefault(tables.section, {})
    for column, value in zip(tables.columns, values, strict=True):
        if not _VALUES[tables.section].fullmatch(value):
            what = f"{tables.section}: {row} to {column} is '{value[:40]}'"
            raise FormatError(f"{what}, which rocm-smi does not print there", line)
        if cells.get((column, row), value) != value:
            raise FormatError(f"{tables.section}: {row} to {column} and back differ", line)
        cells[row, column] = value
    tables.rows.append(row)


def _end(tables: _Tables, line: int) -> None:
    """Raises FormatError if the section so far lacks rows."""
    if missing := [name for name in tables.columns if name not in tables.rows]:
        raise FormatError(f"{tables.section}: the row of {missing[0]} is missing: the end is cut off", line)


def _bundles(tables: _Tables, notes: list[str]) -> list[Link]:
    """Returns the xGMI links of pairs that have some of their own."""
    types = tables.cells.get(_TYPE)
    if types is None:
        notes.append("the file has no types of links: those between GPUs are unknown")
        return []
    weights = tables.cells.get(_WEIGHT)
    if weights is None:
        notes.append(
            "the file has no weights: each two GPUs that xGMI joins are taken to have links of their own"
        )
    source = "rocm-smi --showtopo has neither the number of links nor their rate"
    return [
        Link(a.lower(), b.lower(), "xgmi", 1, None, None, None, source, "xGMI of unknown width")
        for a, b in combinations(tables.names, 2)
        if types[a, b] == "XGMI" and (weights is None or int(weights[a, b]) <= XGMI_WEIGHT)
    ]
