"""Topology from the XML of NCCL and RCCL (NCCL_TOPO_DUMP_FILE); nccl_xml_writer.py has the way back.

    <system version="1">
      <cpu numaid affinity arch vendor familyid modelid>
        <pci busid class link_speed link_width>            a switch, or the device of a GPU or NIC
          <gpu dev sm gcn rank gdr>
            <nvlink target count tclass/> <xgmi target count tclass/>

The format knows neither memory nor xGMI links to CPUs, so both are lost in it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from byteways.errors import BytewaysError
from byteways.files import MOST_TOPOLOGY_BYTES, read_bytes
from byteways.topology import link_rates
from byteways.topology.foreign_numbers import MOST_BUNDLE, MOST_CORES, MOST_DEVICE, whole
from byteways.topology.links import NVSWITCH, Graph, add_pcie, narrower
from byteways.topology.model import Device, Link, Topology
from byteways.topology.sysfs_pcie import PcieLink, canonical_address, parse_link
from byteways.topology.xgmi import xgmi_link

#: Elements without devices or links between devices.
_NETWORK = ("nic", "net", "collnet", "gin")
#: PCI classes at the far end of an NVLink: NVSwitch, and the bridge of a POWER9 processor.
NVSWITCH_CLASS, _CPU_CLASS = "0x068000", "0x068001"
#: Numbers in `gcn` that older RCCL wrote instead of the architecture's name.
_OLD_GCN = {"910": "gfx90a"}
_UNKNOWN = PcieLink(0, 0)


@dataclass
class _Found:
    """Data collected while walking the elements."""

    graph: Graph = field(default_factory=Graph)
    gpus: list[tuple[ET.Element, str, str]] = field(default_factory=list)  # element, address, CPU device
    names: dict[str, str] = field(default_factory=dict)  # of GPUs by address
    unknown: Counter[str] = field(default_factory=Counter)
    network: int = 0
    drawn: set[frozenset[str]] = field(default_factory=set)  # pairs of GPUs whose bundle is there


class _NoDoctype(ET.TreeBuilder):
    """Rejects document types, and so entities that expand without limit."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError("it declares a document type, which no topology needs")


def is_xml(content: bytes) -> bool:
    """Whether the content of a file is XML, not JSON."""
    return content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def read(path: Path) -> Topology:
    """Reads the topology in a file.

    Raises:
        BytewaysError: The file cannot be read, is malformed, or describes no machine.
    """
    try:
        content = read_bytes(path, MOST_TOPOLOGY_BYTES)
    except OSError as error:
        raise BytewaysError(f"cannot read {path}", cause=str(error), hint="byteways topo --help") from error
    return of(content, path)


def of(content: bytes, path: Path) -> Topology:
    """Parses a file's content. Raises BytewaysError like read()."""
    try:
        return parse(content, path.stem)
    except (ET.ParseError, ValueError, LookupError, RecursionError) as error:
        raise BytewaysError(
            f"{path} is not an NCCL topology",
            cause=str(error),
            hint="to write one, run any NCCL or RCCL program with NCCL_TOPO_DUMP_FILE set",
        ) from error


def parse(content: bytes, host: str) -> Topology:
    """Parses a file's content.

    Raises:
        ET.ParseError: Malformed XML.
        ValueError: Well-formed, but not a topology; the text says why.
        LookupError: Its encoding is unknown.
        RecursionError: It is nested deeper than any machine.
    """
    parser = ET.XMLParser(target=_NoDoctype())
    parser.feed(content)
    system: ET.Element = parser.close()
    if system.tag != "system":
        raise ValueError(f"its root is <{system.tag}> where <system> is expected")
    found = _Found()
    elements = _one_host(system, found)
    if not elements:
        raise ValueError("<system> has no <cpu>")
    cpus = _named(elements, "numaid", "cpu")
    for name, element in cpus.items():
        _walk(element, found, name, name, _UNKNOWN)
    numbered = _named([gpu for gpu, _, _ in found.gpus], "dev", "gpu")
    found.names.update({address: name for name, (_, address, _) in zip(numbered, found.gpus, strict=True)})
    _rename(found)
    for (element, address, cpu), name in zip(found.gpus, numbered, strict=True):
        _add_fabric(element, address, name, cpu, found)
    for a, b in combinations(cpus, 2):
        source = "the file has no rate between NUMA domains"
        found.graph.links.append(Link(a, b, "numa", 1, None, None, None, source, "NUMA"))
    _add_notes(found)
    devices = [_cpu_device(name, element) for name, element in cpus.items()]
    domains = {device.name: device.numa_domain for device in devices}
    gpus = [
        _gpu_device(name, element, address, domains[cpu])
        for name, (element, address, cpu) in zip(numbered, found.gpus, strict=True)
    ]
    gpus.sort(key=lambda device: int(device.name[3:]))
    return Topology(
        host,
        (*devices, *gpus),
        tuple(found.graph.switches),
        tuple(found.graph.links),
        tuple(found.graph.notes),
    )


def _one_host(system: ET.Element, found: _Found) -> list[ET.Element]:
    """Returns the `cpu` elements of the first host in the file."""
    cpus = [element for element in system if element.tag == "cpu"]
    hosts = list(dict.fromkeys(element.get("host_hash", "") for element in cpus))
    found.unknown.update(element.tag for element in system if element.tag not in ("cpu", *_NETWORK))
    found.network += sum(element.tag in _NETWORK for element in system)
    if len(hosts) > 1:
        found.graph.notes.append(f"the file describes {len(hosts)} hosts; this is the first")
    return [element for element in cpus if element.get("host_hash", "") == hosts[0]]


def _named(elements: Sequence[ET.Element], attribute: str, prefix: str) -> dict[str, ET.Element]:
    """Names elements by their numbers, or in order if these are not unique."""
    numbers = [element.get(attribute, "") for element in elements]
    if len(set(numbers)) < len(numbers) or not all(number.isdigit() for number in numbers):
        numbers = [str(index) for index in range(len(elements))]
    found = [whole(number, f"the number of a <{prefix}>", 0, MOST_DEVICE) for number in numbers]
    return {f"{prefix}{number}": one for number, one in zip(found, elements, strict=True)}


def _walk(element: ET.Element, found: _Found, cpu: str, above: str, carried: PcieLink) -> None:
    """Adds PCIe links below an element. A switch shared by several GPUs becomes a node, as with sysfs.

    Args:
        element: A `cpu`, or a `pci` that is not a GPU's device.
        found: Receives the links.
        cpu: The CPU device at the root.
        above: The node above this element.
        carried: The narrowest link of omitted switches.
    """
    for child in element:
        if child.tag in _NETWORK:
            found.network += 1
        elif child.tag != "pci":
            found.unknown[child.tag] += 1
        else:
            _add_pci(child, found, cpu, above, carried)


def _add_pci(pci: ET.Element, found: _Found, cpu: str, above: str, carried: PcieLink) -> None:
    address = canonical_address(pci.get("busid", ""))
    link = narrower(parse_link(pci.get("link_speed", ""), pci.get("link_width", "")), carried)
    below = sum(1 for _ in pci.iter("gpu"))
    devices = pci.findall("gpu")
    if devices:
        if not address:
            raise ValueError("a <pci> that holds a <gpu> has no busid")
        if len(devices) > 1 or address in [known for _, known, _ in found.gpus]:
            raise ValueError(f"two <gpu> have the address {address}")
        found.gpus.append((devices[0], address, cpu))
        add_pcie(found.graph, address, above, link, "by the file")
    elif below > 1:
        switch = f"pcie-switch{len(found.graph.switches)}"
        found.graph.switches.append(switch)
        add_pcie(found.graph, switch, above, link, f"uplink of PCIe switch {address} by the file")
        _walk(pci, found, cpu, switch, _UNKNOWN)
    else:
        _walk(pci, found, cpu, above, link)


def _rename(found: _Found) -> None:
    """Replaces GPU addresses by names, which are known only after all GPUs have been found."""
    links = found.graph.links
    for index, link in enumerate(links):
        links[index] = Link(**{**vars(link), "a": found.names.get(link.a, link.a)})


def _add_fabric(gpu: ET.Element, address: str, name: str, cpu: str, found: _Found) -> None:
    """Adds the bundles of one GPU. Those between GPUs occur twice in the file; the second is ignored."""
    to_switch = 0
    drawn = set()
    for element in gpu:
        if element.tag not in ("nvlink", "xgmi"):
            found.unknown[element.tag] += 1
            continue
        target, count = canonical_address(element.get("target", "")), _count(element)
        peer = found.names.get(target)
        if peer is not None and frozenset((name, peer)) not in found.drawn:
            drawn.add(frozenset((name, peer)))
            found.graph.links.append(_bundle(gpu, element.tag, name, peer, count))
        elif peer is None and element.tag == "nvlink" and element.get("tclass") == _CPU_CLASS:
            found.graph.links.append(_bundle(gpu, "nvlink", name, cpu, count))
        elif peer is None and element.tag == "nvlink" and element.get("tclass", "")[:8] == NVSWITCH_CLASS:
            to_switch += count
        elif peer is None:
            found.graph.notes.append(f"{name}: {count} {element.tag} links lead to {target}, not in the file")
    found.drawn |= drawn
    if to_switch:
        if NVSWITCH not in found.graph.switches:
            found.graph.switches.append(NVSWITCH)
        found.graph.links.append(_bundle(gpu, "nvlink", name, NVSWITCH, to_switch))


def _count(element: ET.Element) -> int:
    return whole(element.get("count", "1"), f"the count of <{element.tag}>", 1, MOST_BUNDLE)


def _bundle(gpu: ET.Element, kind: str, a: str, b: str, count: int) -> Link:
    architecture = _architecture(gpu)
    if kind == "xgmi":
        return xgmi_link(a, b, count, link_rates.xgmi(count, architecture), f"xGMI ×{count}")
    generation = link_rates.nvlink_generation(architecture, 0, 0)
    rate = link_rates.nvlink(count, generation, 0, architecture)
    return Link(
        a,
        b,
        "nvlink",
        count,
        str(generation) if generation else None,
        rate.data_bytes_per_s,
        rate.signalling_bytes_per_s,
        rate.source,
        f"NVLink{generation or ''} ×{count}",
    )


def _architecture(gpu: ET.Element) -> str | None:
    gcn, sm = gpu.get("gcn", "").partition(":")[0], gpu.get("sm", "")
    if gcn:
        return _OLD_GCN.get(gcn) or (gcn if gcn.startswith("gfx") else f"gfx{gcn}")
    return f"sm_{sm}" if sm else None


def _add_notes(found: _Found) -> None:
    notes = found.graph.notes
    if found.network:
        plural = "device of the file is" if found.network == 1 else "devices of the file are"
        notes.append(f"{found.network} network {plural} not shown")
    if found.unknown:
        tags = ", ".join(f"<{tag}>" for tag in sorted(found.unknown))
        notes.append(f"ignored unknown elements of the file: {tags}")
    bundles = [link for link in found.graph.links if link.kind == "xgmi"]
    if (
        bundles
        and {link.count for link in bundles} == {1}
        and any("25 Gbit" in link.source for link in bundles)
    ):
        notes.append("older RCCL writes count 1 for xGMI bundles of any width, so peaks may be too low")


def _cpu_device(name: str, element: ET.Element) -> Device:
    numa = element.get("numaid", "")
    words = [element.get("vendor", "unknown processor")]
    for key, label in (("familyid", "family"), ("modelid", "model")):
        if element.get(key):
            words.append(f"{label} {element.get(key)}")
    return Device(
        name,
        "cpu",
        " ".join(words),
        numa_domain=int(name[3:]) if numa.isdigit() else None,
        cores=_cores(element.get("affinity", "")),
        memory_peak_source="the file does not describe memory",
        architecture=element.get("arch"),
    )


def _gpu_device(name: str, element: ET.Element, address: str, numa_domain: int | None) -> Device:
    return Device(
        name,
        "gpu",
        _architecture(element) or "unknown GPU",
        pci_address=address,
        numa_domain=numa_domain,
        memory_peak_source="the file does not describe memory",
        architecture=_architecture(element),
    )


def _cores(mask: str) -> tuple[int, ...]:
    """Parses a hexadecimal mask in words of 32 bits, highest first: `00000001,00000003` is (0, 1, 32)."""
    if len(mask) > MOST_CORES // 2:
        raise ValueError("an affinity is longer than the core mask of any machine")
    try:
        bits = int("".join(word.removeprefix("0x").zfill(8) for word in mask.split(",")) or "0", 16)
    except ValueError as error:
        raise ValueError(f'affinity="{mask}" is not a core mask') from error
    return tuple(index for index in range(bits.bit_length()) if bits >> index & 1)
