"""Topology from the matrix of `nvidia-smi topo -m`, with the models of `nvidia-smi -L` if they are there.

            GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
    GPU0     X      NV18    PIX     0-47            0               N/A
    GPU1    NV18     X      SYS     48-95           1               N/A
    NIC0    PIX     SYS      X

    NIC Legend:
      NIC0: mlx5_0

A cell is the nearest that joins two devices: NV# (that many NVLinks), PIX and PXB (PCI Express bridges), PHB
(the host bridge), NODE (host bridges of one NUMA domain), SYS (the link of NUMA domains; SOC in drivers
before 390). The matrix has no rates, and does not show NVSwitches: links to peers add up beyond what a GPU
has only where switches share them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from byteways.machine import link_rates
from byteways.machine.foreign_numbers import MOST_DEVICE, MOST_LOGICAL_CPUS, check_count, whole
from byteways.machine.foreign_text import FormatError, at_line, text_lines
from byteways.machine.gpu_models import UNKNOWN_GPU, architecture_of
from byteways.machine.links import NVSWITCH
from byteways.machine.model import Device, Link, Nic, Topology
from byteways.machine.outliers import with_outliers
from byteways.machine.sysfs_cpu import UNKNOWN_PROCESSOR, parse_cpu_list

#: The header: names of devices, and a blank in place of the rows' names.
NVIDIA_SMI_BEGINS = re.compile(
    rb"^[ \t]*(?:\x1b\[[0-9;]*m)*[ \t]*GPU\d+[ \t]+[^\n:]*(?:CPU|NUMA) Affinity", re.MULTILINE
)
_COLUMNS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_CPU, _NUMA = _COLUMNS[:2]
_CELL = re.compile(r"X|SYS|SOC|NODE|PHB|PXB|PIX|NV\d{1,4}")
_MODEL = re.compile(r"GPU (\d{1,4}): (.+?)(?: \(UUID: [^)]*\))?")
_NIC = re.compile(r"(NIC\d{1,4}): (\S+)")
#: NVLinks of a GPU at most, by generation (the vendor's white papers, see link_rates.py); of unknown GPUs the
#: most of any.
_MOST_NVLINKS = {1: 4, 2: 6, 3: 12, 4: 18, 5: 18}
_NO_RATE = "nvidia-smi topo -m has no rates"


@dataclass
class _Matrix:
    """Cells by row and column, and the columns behind them, as in the file."""

    names: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)  # of the rows
    places: dict[str, dict[str, str]] = field(default_factory=dict)  # `CPU Affinity` and so on by row
    models: dict[str, str] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)  # names of RDMA devices by NIC

    @property
    def gpus(self) -> list[str]:
        return [name for name in self.names if _is_gpu(name)]

    @property
    def nics(self) -> list[str]:
        return [name for name in self.names if not _is_gpu(name)]


def parse(content: bytes, host: str) -> Topology:
    """Parses a file's content. Raises FormatError, with the line, if it is no such matrix."""
    matrix = _read(content)
    cpus = _cpus(matrix)
    by_row = {row: cpu.name for row in matrix.gpus for cpu in cpus if _home(matrix, row, cpu)}
    homes = {row: by_row.get(row, cpus[0].name) for row in matrix.gpus}
    architectures = {row: architecture_of(matrix.models.get(row, "")) for row in matrix.gpus}
    notes: list[str] = []
    links = [
        Link(a.name, b.name, "numa", 1, None, None, None, _NO_RATE, "NUMA") for a, b in combinations(cpus, 2)
    ]
    nics = _nics(matrix, homes)
    pcie, switches = _pcie(matrix, homes, nics)
    nvlinks = _nvlinks(matrix, architectures, notes)
    if any(NVSWITCH in (link.a, link.b) for link in nvlinks):
        switches.append(NVSWITCH)
    devices = [
        Device(
            row.lower(),
            "gpu",
            matrix.models.get(row, UNKNOWN_GPU),
            numa_domain=_numa(matrix, row),
            memory_peak_source=_NO_RATE,
            architecture=architectures[row],
        )
        for row in matrix.gpus
    ]
    topology = Topology(
        host, (*cpus, *devices), tuple(switches), (*links, *pcie, *nvlinks), tuple(notes), nics=tuple(nics)
    )
    return with_outliers(topology)


def _is_gpu(name: str) -> bool:
    return re.fullmatch(r"GPU\d+", name) is not None


def _read(content: bytes) -> _Matrix:
    matrix = _Matrix()
    last = 0
    for last, text in text_lines(content):
        if not matrix.names:
            if NVIDIA_SMI_BEGINS.match(text.encode()):
                _header(matrix, last, text)
            elif model := _MODEL.fullmatch(text.strip()):
                matrix.models[f"GPU{int(model[1])}"] = model[2]
            continue
        first = text.split(maxsplit=1)[0] if text.strip() else ""
        if first in matrix.names and len(matrix.lines) < len(matrix.names):
            _row(matrix, last, text)
        elif port := _NIC.fullmatch(text.strip()):
            matrix.ports[port[1]] = port[2]
        elif model := _MODEL.fullmatch(text.strip()):
            matrix.models[f"GPU{int(model[1])}"] = model[2]
    if missing := [name for name in matrix.names if name not in matrix.lines]:
        raise FormatError(
            f"its header names {missing[0]}, and no row begins with it: the end is cut off", last
        )
    for a, b in combinations(matrix.names, 2):
        if matrix.cells[a, b] != matrix.cells[b, a]:
            said = f"{a} to {b} is {matrix.cells[a, b]}, and {b} to {a} is {matrix.cells[b, a]}"
            raise FormatError(f"the two halves of the matrix differ: {said}", matrix.lines[b])
    return matrix


def _header(matrix: _Matrix, line: int, text: str) -> None:
    for column in _COLUMNS:
        if column in text:
            matrix.columns.append(column)
            text = text.replace(column, " ")
    matrix.names = text.split()
    if len({*matrix.names}) < len(matrix.names):
        raise FormatError("its header names a device twice", line)
    with at_line(line):
        check_count(len(matrix.names), "devices")
        for name in matrix.gpus:
            whole(name[3:], "the number of a GPU", 0, MOST_DEVICE)


def _row(matrix: _Matrix, line: int, text: str) -> None:
    row, *words = text.split()
    if row in matrix.lines:
        raise FormatError(f"{row} has two rows", line)
    cells, rest = words[: len(matrix.names)], words[len(matrix.names) :]
    for column, cell in zip(matrix.names, cells, strict=False):
        if not _CELL.fullmatch(cell) or (cell == "X") != (column == row):
            hint = "keep the matrix as it is printed; nvidia-smi topo -p2p prints another, without links"
            raise FormatError(
                f"{row} to {column} is '{cell[:40]}', which is no kind of connection", line, hint
            )
        matrix.cells[row, column] = cell
    if len(cells) < len(matrix.names):
        raise FormatError(f"{row} has {len(cells)} of {len(matrix.names)} connections", line)
    matrix.lines[row] = line
    # A column that is blank for a row shifts the others: then none of them is certain.
    if len(rest) == len(matrix.columns):
        matrix.places[row] = dict(zip(matrix.columns, rest, strict=True))
    elif rest and _is_gpu(row) and len(rest) > len(matrix.columns):
        raise FormatError(f"{row} has more values than the header has columns", line)


def _place(matrix: _Matrix, row: str, column: str) -> str:
    text = matrix.places.get(row, {}).get(column, "")
    return "" if text == "N/A" else text


def _numbers(matrix: _Matrix, row: str, column: str) -> tuple[int, ...]:
    text = _place(matrix, row, column)
    if not re.fullmatch(r"(?:\d{1,6}(?:-\d{1,6})?(?:,|$))*", text):
        raise FormatError(
            f"the {column} of {row}, '{text[:40]}', is not a list of numbers", matrix.lines[row]
        )
    with at_line(matrix.lines[row]):
        found = parse_cpu_list(text)
    if found and found[-1] >= MOST_LOGICAL_CPUS:
        raise FormatError(f"the {column} of {row} has number {found[-1]}", matrix.lines[row])
    return found


def _numa(matrix: _Matrix, row: str) -> int | None:
    """Returns the NUMA domain of a GPU; None if the file has none, or several."""
    found = _numbers(matrix, row, _NUMA)
    return found[0] if len(found) == 1 else None


def _cpus(matrix: _Matrix) -> list[Device]:
    """Returns the NUMA domains of the GPUs; without their numbers, one for each set of cores."""
    cores: dict[int | tuple[int, ...] | None, tuple[int, ...]] = {}
    for row in matrix.gpus:
        domain, near = _numa(matrix, row), _numbers(matrix, row, _CPU)
        cores.setdefault(near if domain is None else domain, near)
    numbered = all(isinstance(key, int) for key in cores)
    found = [
        Device(
            f"cpu{key if numbered else index}",
            "cpu",
            UNKNOWN_PROCESSOR,
            numa_domain=key if isinstance(key, int) else None,
            cores=near,
            memory_peak_source=_NO_RATE,
        )
        for index, (key, near) in enumerate(cores.items())
    ]
    return sorted(found, key=lambda cpu: int(cpu.name[3:]))


def _home(matrix: _Matrix, row: str, cpu: Device) -> bool:
    domain = _numa(matrix, row)
    return domain == cpu.numa_domain if domain is not None else _numbers(matrix, row, _CPU) == cpu.cores


def _nics(matrix: _Matrix, homes: Mapping[str, str]) -> list[Nic]:
    """Returns the NICs with their nearest GPUs: joined by bridges, a host bridge or a NUMA domain."""
    found = []
    for index, row in enumerate(matrix.nics):
        kinds = {gpu: matrix.cells[row, gpu] for gpu in matrix.gpus}
        near: list[str] = []
        for joined in (("PIX",), ("PXB",), ("PHB",), ("NODE",)):
            near = near or [gpu for gpu, kind in kinds.items() if kind in joined]
        home = homes[near[0]] if near else None
        source = "nvidia-smi topo -m has neither rate nor state of network interfaces"
        port = matrix.ports.get(row, None if row.startswith("NIC") else row)
        names = tuple(gpu.lower() for gpu in near)
        found.append(
            Nic(f"nic{index}", None, port=port, home=home, up=None, nearest_gpus=names, peak_source=source)
        )
    return found


def _pcie(matrix: _Matrix, homes: Mapping[str, str], nics: Sequence[Nic]) -> tuple[list[Link], list[str]]:
    """Returns the PCI Express links, and switches that devices share: those joined by PIX or PXB."""
    names = {**{row: row.lower() for row in matrix.gpus}}
    names |= {row: nic.name for row, nic in zip(matrix.nics, nics, strict=True)}
    homes = {**homes, **{row: nic.home for row, nic in zip(matrix.nics, nics, strict=True) if nic.home}}
    groups: list[list[str]] = []
    for row in matrix.names:
        joined = [group for group in groups if any(matrix.cells[row, one] in ("PIX", "PXB") for one in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([row, *(one for group in joined for one in group)])
    links: list[Link] = []
    switches: list[str] = []
    for group in sorted(groups, key=lambda group: min(map(matrix.names.index, group))):
        home = next((homes[row] for row in group if row in homes), None)
        above = home
        if len(group) > 1:
            above = f"pcie-switch{len(switches)}"
            switches.append(above)
            if home:
                links.append(_pcie_link(above, home))
        if above:
            links.extend(_pcie_link(names[row], above) for row in sorted(group, key=matrix.names.index))
    return links, switches


def _pcie_link(a: str, b: str) -> Link:
    return Link(a, b, "pcie", 1, None, None, None, _NO_RATE, "PCIe")


def _nvlinks(matrix: _Matrix, architectures: Mapping[str, str | None], notes: list[str]) -> list[Link]:
    """Returns the bundles of NVLinks: between pairs, or to NVSwitches if they exceed a GPU's links."""
    counts = {
        (a, b): int(matrix.cells[a, b][2:])
        for a, b in combinations(matrix.gpus, 2)
        if matrix.cells[a, b].startswith("NV")
    }
    most, switched = 0, False
    for gpu in matrix.gpus:
        own = [count for pair, count in counts.items() if gpu in pair]
        generation = link_rates.nvlink_generation(architectures[gpu], 0, 0)
        most = _MOST_NVLINKS.get(generation or 0, max(_MOST_NVLINKS.values()))
        switched = switched or sum(own) > most
    if not switched:
        if len(matrix.gpus) == 2 and counts:
            notes.append("the NVLinks of two GPUs are drawn between them; they may lead to NVSwitches")
        return [_nvlink(a, b.lower(), count, architectures[a]) for (a, b), count in counts.items()]
    notes.append(
        f"NVLink: the links of a GPU to its peers exceed the {most} that it has, so NVSwitches are assumed"
    )
    to_switch = {gpu: max((c for pair, c in counts.items() if gpu in pair), default=0) for gpu in matrix.gpus}
    return [_nvlink(gpu, NVSWITCH, count, architectures[gpu]) for gpu, count in to_switch.items() if count]


def _nvlink(gpu: str, far: str, count: int, architecture: str | None) -> Link:
    with at_line(None):
        whole(str(count), "the number of NVLinks", 1, 1024)
    generation = link_rates.nvlink_generation(architecture, 0, 0)
    rate = link_rates.nvlink(count, generation, 0, architecture)
    source = rate.source if generation else f"{_NO_RATE}, and the model of {gpu.lower()} is unknown"
    return Link(
        gpu.lower(),
        far,
        "nvlink",
        count,
        str(generation) if generation else None,
        rate.data_bytes_per_s,
        rate.signalling_bytes_per_s,
        source,
        f"NVLink{generation or ''} ×{count}",
    )
