"""Topology from the XML of NCCL and RCCL (NCCL_TOPO_DUMP_FILE); nccl_xml_writer.py has the way back.

    <system version="1">
      <cpu host_hash numaid affinity arch vendor familyid modelid>
        <nic> <net dev speed …/> <gin/> <rma/> <collnet/>    the network, not shown
        <pci busid class vendor device link_speed link_width>   a switch, or the device of a GPU or NIC
          <pcilink target/>                                  between two switches of one package
          <gpu dev sm gcn rank gdr mlopart>                  absent in files of cloud providers
            <nvlink target count tclass/> <xgmi target count tclass/> <c2c bw count/>

These are the elements of NCCL up to 2.32 (src/graph/xml.cc and topo.cc) and of RCCL. The format knows neither
memory nor xGMI links to CPUs, so both are lost in it. Cloud providers ship files (NCCL_TOPO_FILE) whose GPUs
are devices of a GPU's PCI class: NCCL adds the rest when it runs.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from byteways.machine import link_rates
from byteways.machine.foreign_numbers import (
    MOST_BUNDLE,
    MOST_DEVICE,
    MOST_MEGABYTES_PER_S,
    check_count,
    cores_of_mask,
    whole,
)
from byteways.machine.foreign_text import FormatError, at_line, parse_xml
from byteways.machine.kfd import pci_model
from byteways.machine.links import NVSWITCH, Graph, add_pcie, narrower
from byteways.machine.model import Device, Link, Topology
from byteways.machine.outliers import with_outliers
from byteways.machine.sysfs_pcie import GPU_VENDORS, PcieLink, canonical_address, is_gpu, parse_link
from byteways.machine.xgmi import xgmi_link

#: Elements of the network.
_NETWORK = ("nic", "net", "collnet", "gin", "rma")
#: Beginning of the PCI classes of NICs.
_NIC_CLASS = "0x02"
#: What an unknown element may change, by the element that contains it.
_MAY_CHANGE = {
    "system": "hosts or CPUs may be missing",
    "cpu": "devices below this CPU may be missing",
    "pci": "devices or links below this bridge may be missing",
    "gpu": "links of this GPU may be missing, so that its peaks are too low",
}
#: PCI classes at the far end of an NVLink: NVSwitch, and the bridge of a POWER9 processor.
NVSWITCH_CLASS, _CPU_CLASS = "0x068000", "0x068001"
#: Numbers in `gcn` that older RCCL wrote instead of the architecture's name.
_OLD_GCN = {"910": "gfx90a"}
_UNKNOWN = PcieLink(0, 0)


@dataclass
class _Found:
    """Data collected while walking the elements."""

    lines: Mapping[ET.Element, int]
    graph: Graph = field(default_factory=Graph)
    gpus: list[tuple[ET.Element, str, str]] = field(default_factory=list)  # element, address, CPU device
    devices: dict[str, ET.Element] = field(default_factory=dict)  # `pci` elements of GPUs by address
    names: dict[str, str] = field(default_factory=dict)  # of GPUs by address
    unknown: Counter[tuple[str, str]] = field(
        default_factory=Counter
    )  # element, and the one that contains it
    network: int = 0
    drawn: set[frozenset[str]] = field(default_factory=set)  # pairs of GPUs whose bundle is there
    bare: int = 0  # GPUs without <gpu>

    def line(self, element: ET.Element) -> int | None:
        """Returns the line of an element; None for one that stands for what the file leaves out."""
        return self.lines.get(element)


def parse(content: bytes, host: str) -> Topology:
    """Parses a file's content. Raises FormatError, with the line, if it is no topology."""
    system, lines = parse_xml(content)
    found = _Found(lines)
    elements = _one_host(system, found)
    if not elements:
        raise FormatError("<system> has no <cpu>", lines[system])
    cpus = _named(elements, "numaid", "cpu", found)
    for name, element in cpus.items():
        _walk(element, found, name, name, _UNKNOWN)
    numbered = _named([gpu for gpu, _, _ in found.gpus], "dev", "gpu", found)
    found.names.update({address: name for name, (_, address, _) in zip(numbered, found.gpus, strict=True)})
    _rename(found)
    for (element, address, cpu), name in zip(found.gpus, numbered, strict=True):
        _add_fabric(element, address, name, cpu, found)
    for a, b in combinations(cpus, 2):
        source = "the file has no rate between NUMA domains"
        found.graph.links.append(Link(a, b, "numa", 1, None, None, None, source, "NUMA"))
    _add_notes(found)
    devices = [_cpu_device(name, element, found.line(element)) for name, element in cpus.items()]
    domains = {device.name: device.numa_domain for device in devices}
    gpus = [
        _gpu_device(name, element, found.devices[address], address, domains[cpu])
        for name, (element, address, cpu) in zip(numbered, found.gpus, strict=True)
    ]
    gpus.sort(key=lambda device: int(device.name[3:]))
    return with_outliers(
        Topology(
            host,
            (*devices, *gpus),
            tuple(found.graph.switches),
            tuple(found.graph.links),
            tuple(found.graph.notes),
        )
    )


def _one_host(system: ET.Element, found: _Found) -> list[ET.Element]:
    """Returns the `cpu` elements of the first host in the file."""
    cpus = [element for element in system if element.tag == "cpu"]
    hosts = list(dict.fromkeys(element.get("host_hash", "") for element in cpus))
    found.unknown.update((one.tag, "system") for one in system if one.tag not in ("cpu", *_NETWORK))
    found.network += sum(element.tag in _NETWORK for element in system)
    if len(hosts) > 1:
        found.graph.notes.append(f"the file describes {len(hosts)} hosts; this is the first")
    return [element for element in cpus if element.get("host_hash", "") == hosts[0]]


def _named(
    elements: Sequence[ET.Element], attribute: str, prefix: str, within: _Found
) -> dict[str, ET.Element]:
    """Names elements by their numbers, or in order if these are not unique."""
    check_count(len(elements), f"<{prefix}>")
    numbers = [element.get(attribute, "") for element in elements]
    if len(set(numbers)) < len(numbers) or not all(number.isdigit() for number in numbers):
        numbers = [str(index) for index in range(len(elements))]
    named = {}
    for number, one in zip(numbers, elements, strict=True):
        with at_line(within.line(one)):
            named[f"{prefix}{whole(number, f'the number of a <{prefix}>', 0, MOST_DEVICE)}"] = one
    return named


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
        elif child.tag == "pci":
            _add_pci(child, found, cpu, above, carried)
        elif child.tag != "pcilink":  # a second link of two switches, which the tree shows apart
            found.unknown[child.tag, element.tag] += 1


def _is_gpu(pci: ET.Element) -> bool:
    """Whether a device without <gpu> is a GPU: by its PCI class, and its vendor where the file has it."""
    vendor = pci.get("vendor")
    return len(pci) == 0 and is_gpu(pci.get("class", ""), vendor or next(iter(GPU_VENDORS)))


def _add_pci(pci: ET.Element, found: _Found, cpu: str, above: str, carried: PcieLink) -> None:
    address = canonical_address(pci.get("busid", ""))
    below = sum(1 for one in pci.iter("pci") if one.find("gpu") is not None or _is_gpu(one))
    devices = pci.findall("gpu")
    link = parse_link(pci.get("link_speed", ""), pci.get("link_width", ""))
    link = narrower(link.unless_emulated() if below else link, carried)
    if devices or _is_gpu(pci):
        _add_device(pci, devices, found, cpu, address)
        add_pcie(found.graph, address, above, link, "by the file")
    elif below > 1:
        switch = f"pcie-switch{len(found.graph.switches)}"
        found.graph.switches.append(switch)
        add_pcie(found.graph, switch, above, link, f"uplink of PCIe switch {address} by the file")
        _walk(pci, found, cpu, switch, _UNKNOWN)
    else:
        found.network += len(pci) == 0 and pci.get("class", "").startswith(_NIC_CLASS)
        _walk(pci, found, cpu, above, link)


def _add_device(pci: ET.Element, gpus: list[ET.Element], found: _Found, cpu: str, address: str) -> None:
    """Adds a GPU. Several `gpu` of one device are ranks that share it, or its partitions (`mlopart`)."""
    if not address:
        raise FormatError("a <pci> that holds a <gpu> has no busid", found.line(pci))
    if address in found.devices:
        raise FormatError(f"two <gpu> have the address {address}", found.line(pci))
    if len(gpus) > 1:
        found.graph.notes.append(f"{address}: {len(gpus)} ranks or partitions of one GPU, shown as one")
    found.bare += not gpus
    found.devices[address] = pci
    found.gpus.append((gpus[0] if gpus else ET.Element("gpu"), address, cpu))


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
        if element.tag not in ("c2c", "nvlink", "xgmi"):
            found.unknown[element.tag, "gpu"] += 1
            continue
        with at_line(found.line(element)):
            if element.tag == "c2c":
                found.graph.links.append(_c2c(element, name, cpu))
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


def _c2c(element: ET.Element, gpu: str, cpu: str) -> Link:
    """Returns the NVLink-C2C of a GPU to its CPU.

    `bw` is the rate of one of `count` links in MB/s (NVML_FI_DEV_C2C_LINK_GET_MAX_BW), which NCCL takes for
    that of each direction.
    """
    count, text = _count(element), element.get("bw", "")
    rate = link_rates.c2c(count, whole(text, "the bw of <c2c>", 0, MOST_MEGABYTES_PER_S) if text else 0)
    return Link(
        gpu,
        cpu,
        "c2c",
        count,
        None,
        rate.data_bytes_per_s,
        rate.signalling_bytes_per_s,
        rate.source,
        f"NVLink-C2C ×{count}",
    )


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
    for (tag, parent), times in sorted(found.unknown.items()):
        number = f" ({times} times)" if times > 1 else ""
        notes.append(f"unknown element <{tag}> in <{parent}>{number} is ignored: {_MAY_CHANGE[parent]}")
    if found.bare:
        notes.append(
            f"{found.bare} of the GPUs are given by PCI class only: their models, numbers and links to each "
            "other are unknown; NCCL and RCCL find them when they run"
        )
    bundles = [link for link in found.graph.links if link.kind == "xgmi"]
    if (
        bundles
        and {link.count for link in bundles} == {1}
        and any("25 Gbit" in link.source for link in bundles)
    ):
        notes.append("older RCCL writes count 1 for xGMI bundles of any width, so peaks may be too low")


def _cpu_device(name: str, element: ET.Element, line: int | None) -> Device:
    numa = element.get("numaid", "")
    words = [element.get("vendor", "unknown processor")]
    for key, label in (("familyid", "family"), ("modelid", "model")):
        if element.get(key):
            words.append(f"{label} {element.get(key)}")
    with at_line(line):
        cores = cores_of_mask(element.get("affinity", ""))
    return Device(
        name,
        "cpu",
        " ".join(words),
        numa_domain=int(name[3:]) if numa.isdigit() else None,
        cores=cores,
        memory_peak_source="the file does not describe memory",
        architecture=element.get("arch"),
    )


def _gpu_device(
    name: str, element: ET.Element, pci: ET.Element, address: str, numa_domain: int | None
) -> Device:
    return Device(
        name,
        "gpu",
        _architecture(element) or pci_model(pci.get("vendor", ""), pci.get("device", "")),
        pci_address=address,
        numa_domain=numa_domain,
        memory_peak_source="the file does not describe memory",
        architecture=_architecture(element),
    )
