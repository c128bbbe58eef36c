"""Topology from the XML of hwloc (`lstopo --of xml`), versions 1 to 3.

    <topology version="2.0">
      <object type="Machine">
        <object type="Package"> <info name="CPUModel" value/>
          <object type="NUMANode" os_index cpuset local_memory/>    1: holds the cores; 2, 3: beside them
          <object type="L3Cache" cache_size depth cache_linesize cache_type cpuset/> …
          <object type="Bridge" bridge_type="0-1">                   a host bridge; "1-1": of PCI Express
            <object type="PCIDev" pci_busid pci_type="0302 [10de:2330] …" pci_link_speed>
              <object type="OSDev" name osdev_type subtype gp_index> <info name="GPUModel" value/>
      <distances2 type="NUMANode" indexing="os" name="NUMALatency"> <indexes/> <u64values/>

PCI Express has no peak here: hwloc stores the speed of the moment, at which GPUs idle, or for NVIDIA's GPUs a
maximum that it computes as if there were no generation after 3 (hwloc, topology-pci.c and topology-nvml.c).
NVLinks are in the distances `NVLinkBandwidth`, by the rate that hwloc assumes for one link of a generation;
xGMI in `XGMIHops`.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from byteways.machine import link_rates
from byteways.machine.foreign_numbers import (
    MOST_BUNDLE,
    MOST_DEVICE,
    check_count,
    cores_of_mask,
    whole,
)
from byteways.machine.foreign_text import FormatError, at_line, parse_xml
from byteways.machine.gpu_models import UNKNOWN_GPU, architecture_of
from byteways.machine.kfd import pci_model
from byteways.machine.links import NVSWITCH, Graph
from byteways.machine.model import PCIE_NOT_MAXIMUM, Cache, Device, Link, Nic, Topology, UnknownRate
from byteways.machine.outliers import with_outliers
from byteways.machine.sysfs_cpu import UNKNOWN_PROCESSOR
from byteways.machine.sysfs_pcie import canonical_address, is_gpu

#: `0302 [10de:2330] [10de:16c1] a1`: class, vendor and device.
_PCI_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\].*", re.IGNORECASE)
#: Class of NICs, and that of NVSwitches and other bridges.
_NIC_CLASS, _BRIDGE_CLASS = "02", "06"
#: MB/s that hwloc counts for one NVLink by its generation (topology-nvml.c); from 3 on both directions.
_NVLINK_MBS = {1: 20_000, 2: 25_000, 3: 50_000, 4: 50_000}
_NO_PEAK = "hwloc stores the speed of the moment, not the maximum"
_NO_MEMORY = "hwloc has no bandwidth of memory"
_MOST_BYTES = 10**18


@dataclass
class _Found:
    """What the walk collects."""

    lines: Mapping[ET.Element, int]
    graph: Graph = field(default_factory=Graph)
    gpus: list[tuple[ET.Element, str]] = field(default_factory=list)  # `PCIDev`, CPU device
    nics: list[tuple[ET.Element, str]] = field(default_factory=list)
    by_index: dict[str, str] = field(default_factory=dict)  # device or switch by gp_index of its object


@dataclass(frozen=True)
class _Domain:
    name: str
    element: ET.Element  # NUMANode, or the machine where the file has none
    cores: tuple[int, ...]


def parse(content: bytes, host: str) -> Topology:
    """Parses a file's content. Raises FormatError, with the line, if it is no topology."""
    root, lines = parse_xml(content)
    machine = root.find("object")
    if machine is None:
        raise FormatError("<topology> has no <object>", lines[root])
    found = _Found(lines)
    domains = _domains(machine, found)
    _walk(machine, found, domains, domains[0].name)
    check_count(len(found.gpus) + len(found.nics), "GPUs and network interfaces")
    gpus = [_gpu(index, element, cpu, domains, found) for index, (element, cpu) in enumerate(found.gpus)]
    _add_pcie(machine, found)
    nics = [_nic(index, element, cpu, found) for index, (element, cpu) in enumerate(found.nics)]
    _add_numa(root, domains, found)
    gpus = _add_fabrics(root, gpus, found)
    graph, cpus = found.graph, [_cpu(domain, machine, found) for domain in domains]
    return with_outliers(
        Topology(
            host,
            (*cpus, *gpus),
            tuple(graph.switches),
            tuple(graph.links),
            tuple(graph.notes),
            nics=tuple(nics),
        )
    )


def _objects(element: ET.Element, *types: str) -> list[ET.Element]:
    return [one for one in element.iter("object") if one.get("type") in types]


def _info(element: ET.Element, name: str) -> str | None:
    """Returns the value of an <info> of the object itself."""
    return next((one.get("value") for one in element.findall("info") if one.get("name") == name), None)


def _number(element: ET.Element, key: str, found: _Found, most: int) -> int | None:
    text = element.get(key)
    with at_line(found.lines[element]):
        return None if text is None else whole(text, key, 0, most)


def _cores(element: ET.Element, found: _Found) -> tuple[int, ...]:
    with at_line(found.lines[element]):
        return cores_of_mask(element.get("cpuset", ""))


# ---- CPUs and memory


def _domains(machine: ET.Element, found: _Found) -> list[_Domain]:
    domains: dict[int, _Domain] = {}
    for element in _objects(machine, "NUMANode"):
        number = _number(element, "os_index", found, MOST_DEVICE)
        if number is None or number in domains:
            raise FormatError("a NUMANode has no os_index of its own", found.lines[element])
        domains[number] = _Domain(f"cpu{number}", element, _cores(element, found))
    check_count(len(domains), "NUMA nodes")
    executing: list[_Domain] = []
    for _, one in sorted(domains.items()):
        # hwloc gives memory without cores (CXL, HBM, that of a GPU) the cores that are near to it.
        if one.cores and not any({*one.cores} & {*other.cores} for other in executing):
            executing.append(one)
    if left := [str(number) for number, one in sorted(domains.items()) if one not in executing]:
        found.graph.notes.append(f"NUMA domains without cores of their own are left out: {', '.join(left)}")
    if executing:
        return executing
    found.graph.notes.append("the file has no NUMA domains; all cores are taken as one")
    return [_Domain("cpu0", machine, _cores(machine, found))]


def _cpu(domain: _Domain, machine: ET.Element, found: _Found) -> Device:
    own = frozenset(domain.cores)
    caches: dict[tuple[int, str], Cache] = {}
    for element in machine.iter("object"):
        if re.fullmatch(r"L[1-5]i?Cache|Cache", element.get("type", "")) and own & {*_cores(element, found)}:
            cache = _cache(element, found)
            caches.setdefault((cache.level, cache.kind), cache)
    threads = [tuple(c for c in _cores(one, found) if c in own) for one in _objects(machine, "Core")]
    packages = [one for one in _objects(machine, "Package", "Socket") if own & {*_cores(one, found)}]
    model = next((text for one in (*packages, machine) if (text := _info(one, "CPUModel"))), None)
    numbered = domain.element.get("type") == "NUMANode"
    memory = _number(domain.element, "local_memory", found, _MOST_BYTES)
    return Device(
        domain.name,
        "cpu",
        " ".join(model.split()) if model else UNKNOWN_PROCESSOR,
        numa_domain=int(domain.name[3:]) if numbered else None,
        cores=domain.cores,
        memory_bytes=memory or None,
        memory_peak_source=_NO_MEMORY,
        architecture=_info(machine, "Architecture"),
        caches=tuple(caches[key] for key in sorted(caches)),
        threads=tuple(core for core in threads if core),
    )


def _cache(element: ET.Element, found: _Found) -> Cache:
    kind = {"1": "data", "2": "instruction"}.get(element.get("cache_type", "0"), "unified")
    size = _number(element, "cache_size", found, _MOST_BYTES) or 0
    line = _number(element, "cache_linesize", found, 1 << 20) or 0
    level = _number(element, "depth", found, 9) or 0
    return Cache(level, kind, size, line, max(1, len(_cores(element, found))))


def _add_numa(root: ET.Element, domains: Sequence[_Domain], found: _Found) -> None:
    distances: dict[tuple[str, str], int] = {}
    for a, b, value in _distances(root, "NUMALatency", found):
        distances[f"cpu{a}", f"cpu{b}"] = value
    for one, other in combinations(domains, 2):
        distance = distances.get((one.name, other.name))
        source = f"hwloc has {f'only a distance, {distance},' if distance else 'nothing'} of two NUMA domains"
        link_class = f"NUMA distance {distance}" if distance else "NUMA"
        found.graph.links.append(Link(one.name, other.name, "numa", 1, None, None, None, source, link_class))


def _distances(root: ET.Element, name: str, found: _Found) -> Iterator[tuple[str, str, int]]:
    """Yields the ordered pairs of a matrix of distances with their values; ends are indexes in the file."""
    for matrix in (*root.iter("distances2"), *root.iter("distances2hetero")):
        if matrix.get("name") != name:
            continue
        # Several elements hold a part of the numbers each. Of kinds that differ: `OSDev:45`.
        ends = [
            word.rpartition(":")[2]
            for part in matrix.findall("indexes")
            for word in "".join(part.itertext()).split()
        ]
        values = [word for part in matrix.findall("u64values") for word in "".join(part.itertext()).split()]
        with at_line(found.lines[matrix]):
            if len(values) != len(ends) ** 2:
                raise FormatError(f"{name} has {len(values)} values for {len(ends)} objects")
            numbers = [whole(word, f"a value of {name}", 0, _MOST_BYTES) for word in values]
        for row, a in enumerate(ends):
            for column, b in enumerate(ends):
                if row != column:
                    yield a, b, numbers[row * len(ends) + column]


# ---- devices


def _walk(element: ET.Element, found: _Found, domains: Sequence[_Domain], cpu: str) -> None:
    """Collects PCI devices with the NUMA domain of the nearest object that has cores."""
    if own := {*_cores(element, found)}:
        near = [one.name for one in domains if own & {*one.cores}]
        cpu = near[0] if len(near) == 1 else cpu
    kind = _kind(element, found)
    if kind == "gpu":
        _index(element, f"gpu{len(found.gpus)}", found)
        found.gpus.append((element, cpu))
    elif kind == "nic":
        found.nics.append((element, cpu))
    elif kind == "switch":
        _index(element, NVSWITCH, found)
    for child in element.findall("object"):
        _walk(child, found, domains, cpu)


def _kind(element: ET.Element, found: _Found) -> str:
    """`gpu`, `nic`, `switch` (an NVSwitch); empty for all else."""
    if element.get("type") != "PCIDev":
        return ""
    stated = _PCI_TYPE.fullmatch(element.get("pci_type", ""))
    if stated is None:
        raise FormatError("a PCIDev has no pci_type such as '0302 [10de:2330]'", found.lines[element])
    if is_gpu(f"0x{stated[1]}", f"0x{stated[2]}"):
        return "gpu"
    if stated[1].startswith(_NIC_CLASS):
        return "nic"
    return "switch" if stated[1].startswith(_BRIDGE_CLASS) and stated[2].lower() == "10de" else ""


def _index(element: ET.Element, name: str, found: _Found) -> None:
    for one in element.iter("object"):
        if index := one.get("gp_index"):
            found.by_index[index] = name


def _gpu(index: int, element: ET.Element, cpu: str, domains: Sequence[_Domain], found: _Found) -> Device:
    stated = _PCI_TYPE.fullmatch(element.get("pci_type", ""))
    parts = _objects(element, "OSDev")
    named = next((text for one in parts if (text := _info(one, "GPUModel"))), None)
    by_number = pci_model(f"0x{stated[2]}", f"0x{stated[3]}") if stated else UNKNOWN_GPU
    model = named or by_number
    kib = next((text for one in parts if (text := _info(one, "CUDAGlobalMemorySize"))), None)
    kib = kib or next((text for one in parts if (text := _info(one, "RSMIVRAMSize"))), None)
    units = next((text for one in parts if (text := _info(one, "CUDAMultiProcessors"))), None)
    numbered = any(one.name == cpu and one.element.get("type") == "NUMANode" for one in domains)
    with at_line(found.lines[element]):
        return Device(
            f"gpu{index}",
            "gpu",
            model,
            pci_address=canonical_address(element.get("pci_busid", "")) or None,
            numa_domain=int(cpu[3:]) if numbered else None,
            memory_bytes=whole(kib, "the memory", 0, _MOST_BYTES >> 10) * 1024 if kib else None,
            memory_peak_source=_NO_MEMORY,
            architecture=architecture_of(model),
            multiprocessors=whole(units, "CUDAMultiProcessors", 1, 1 << 16) if units else None,
        )


def _nic(index: int, element: ET.Element, cpu: str, found: _Found) -> Nic:
    """Returns a NIC. Its addresses and identifiers are not read."""
    parts = _objects(element, "OSDev")
    ports = [one.get("name", "") for one in parts if one.get("osdev_type") == "3"]  # OpenFabrics
    interfaces = [one.get("name", "") for one in parts if one.get("osdev_type") == "2"]
    above = next((link.b for link in found.graph.links if link.a == f"nic{index}"), cpu)
    adjacent = [link.a for link in found.graph.links if link.b == above and link.a.startswith("gpu")]
    home = [f"gpu{number}" for number, (_, near) in enumerate(found.gpus) if near == cpu]
    return Nic(
        f"nic{index}",
        canonical_address(element.get("pci_busid", "")) or None,
        interfaces=tuple(interfaces),
        port=ports[0] if ports else None,
        numa_domain=int(cpu[3:]),
        home=cpu,
        up=None,
        nearest_gpus=tuple(adjacent if above in found.graph.switches else home),
        peak_source="hwloc stores neither rate nor state of network interfaces",
    )


# ---- links


def _add_pcie(machine: ET.Element, found: _Found) -> None:
    """Adds PCI Express links; a bridge with two branches that lead to GPUs is a switch."""
    names = {one: (f"gpu{index}", cpu) for index, (one, cpu) in enumerate(found.gpus)}
    names |= {one: (f"nic{index}", cpu) for index, (one, cpu) in enumerate(found.nics)}

    def below(element: ET.Element) -> list[ET.Element]:
        return [one for one in element.iter("object") if one in names]

    def add(element: ET.Element, above: str | None) -> None:
        for child in element.findall("object"):
            if child in names:
                name, cpu = names[child]
                found.graph.links.append(_pcie_link(name, above or cpu, child))
                continue
            inner = above
            branches = [one for one in child.findall("object") if any(d in gpus for d in below(one))]
            if child.get("bridge_type", "").startswith("1-") and len(branches) > 1:
                inner = f"pcie-switch{len(found.graph.switches)}"
                found.graph.switches.append(inner)
                found.graph.links.append(_pcie_link(inner, above or names[below(child)[0]][1], child))
            add(child, inner)

    gpus = {one for one, _ in found.gpus}
    add(machine, None)


def _pcie_link(a: str, b: str, element: ET.Element) -> Link:
    speed = element.get("pci_link_speed", "")[:20]
    unknown = UnknownRate(PCIE_NOT_MAXIMUM, f"{speed} GB/s" if speed else "")
    source = f"{_NO_PEAK}{f': {speed} GB/s' if speed else ''}"
    return Link(a, b, "pcie", 1, None, None, None, source, "PCIe", unknown)


def _add_fabrics(root: ET.Element, gpus: list[Device], found: _Found) -> list[Device]:
    """Adds NVLinks and xGMI links; returns the GPUs with the reason where their links may be missing."""
    graph = found.graph
    by_name = {gpu.name: gpu for gpu in gpus}
    stated: set[str] = set()
    for matrix in ("NVLinkBandwidth", "XGMIHops"):
        sums: dict[tuple[str, str], int] = {}
        for a, b, value in _distances(root, matrix, found):
            ends = found.by_index.get(a, ""), found.by_index.get(b, "")
            stated.update(ends)
            # A domain's CPU is no device of PCI; links to switches add up, those of two GPUs appear twice.
            if value and ends[0] in by_name and (ends[1] == NVSWITCH or ends[0] < ends[1]):
                sums[ends] = sums.get(ends, 0) + value
        for (one, other), value in sums.items():
            if matrix == "XGMIHops":
                source = "hwloc stores the hops between two GPUs, not the number of links"
                link = Link(one, other, "xgmi", 1, None, None, None, source, "xGMI of unknown width")
                graph.links.extend([link] if value == 1 else [])
            else:
                graph.links.append(_nvlinks(by_name[one], other, value))
                if other == NVSWITCH and NVSWITCH not in graph.switches:
                    graph.switches.append(NVSWITCH)
    why = "the file has no distances between GPUs"
    return [gpu if gpu.name in stated else _hidden(gpu, why) for gpu in gpus]


def _hidden(gpu: Device, why: str) -> Device:
    return Device(**{**vars(gpu), "hidden_links": why})


def _nvlinks(gpu: Device, other: str, megabytes_per_s: int) -> Link:
    """Returns the NVLinks of a GPU to a peer or to the switches, whose sum of rates hwloc stores."""
    generation = link_rates.nvlink_generation(gpu.architecture, 0, 0)
    one = _NVLINK_MBS.get(generation or 0)
    if one is None or megabytes_per_s % one or not 1 <= megabytes_per_s // one <= MOST_BUNDLE:
        source = f"hwloc stores {megabytes_per_s / 1000:.4g} GB/s, from which no number of links follows"
        return Link(gpu.name, other, "nvlink", 1, None, None, None, source, "NVLink of unknown width")
    count = megabytes_per_s // one
    rate = link_rates.nvlink(count, generation, 0, gpu.architecture)
    return Link(
        gpu.name,
        other,
        "nvlink",
        count,
        str(generation),
        rate.data_bytes_per_s,
        rate.signalling_bytes_per_s,
        rate.source,
        f"NVLink{generation} ×{count}",
    )
