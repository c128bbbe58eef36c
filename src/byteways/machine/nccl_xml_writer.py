"""Writes a topology as XML for NCCL and RCCL (NCCL_TOPO_FILE), which then use it instead of discovery."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping

from byteways.base.errors import BytewaysError
from byteways.base.text import visible
from byteways.machine import link_rates
from byteways.machine.links import NVSWITCH
from byteways.machine.model import Device, Link, Topology
from byteways.machine.nccl_xml import NVSWITCH_CLASS


def write(topology: Topology) -> str:
    """Returns the topology as XML for NCCL and RCCL, without what they detect themselves.

    Raises:
        BytewaysError: A GPU has no PCI address, which identifies it.
    """
    gpus = {device.name: device for device in topology.devices if device.kind == "gpu"}
    for device in gpus.values():
        if not device.pci_address:
            raise BytewaysError(
                f"{device.name} cannot be written as XML",
                cause="it has no PCI address, by which NCCL knows GPUs",
                hint="byteways topo --json",
            )
    amd = any((device.architecture or "").startswith("gfx") for device in gpus.values())
    system = ET.Element("system", version="2" if amd else "1")  # RCCL has its own version numbers
    above = _parents(topology)
    for device in topology.devices:
        if device.kind == "cpu":
            cpu = ET.SubElement(system, "cpu", _cpu_attributes(device))
            _write_below(cpu, device.name, topology, above, gpus)
    ET.indent(system)
    # NCCL's parser rejects a blank before "/>".
    return ET.tostring(system, encoding="unicode").replace(" />", "/>") + "\n"


def comment(text: str) -> str:
    """Returns an XML comment; cuts double hyphens, which would end it (XML 1.0, section 2.5)."""
    return f"<!-- {re.sub('-(?=-)', '- ', visible(text).replace(chr(10), ' ')).rstrip('-')} -->"


def _parents(topology: Topology) -> dict[str, Link]:
    """Returns the upward link of each GPU and switch: PCIe, otherwise to its CPU or package."""
    cpus = topology.names("cpu")
    parents = {*cpus, *topology.switches} - {NVSWITCH}
    found: dict[str, Link] = {}
    for link in sorted(topology.links, key=lambda link: link.kind != "pcie"):
        upward = link if link.a not in cpus else Link(**{**vars(link), "a": link.b, "b": link.a})
        if link.kind == "pcie" or (upward.b in parents and link.kind != "numa"):
            found.setdefault(upward.a, upward)
    return found


def _cpu_attributes(device: Device) -> dict[str, str]:
    number = device.numa_domain if device.numa_domain is not None else -1
    known = re.fullmatch(r"(\S+) family (\d+) model (\d+)", device.model)
    vendors = {"AMD": "AuthenticAMD", "Intel": "GenuineIntel"}
    vendor = known[1] if known else next((v for k, v in vendors.items() if k in device.model), None)
    mask = sum(1 << core for core in device.cores)
    words = max(1, -(-mask.bit_length() // 32))
    affinity = ",".join(f"{mask >> 32 * word & 0xFFFFFFFF:08x}" for word in reversed(range(words)))
    told = {
        "numaid": str(number),
        "affinity": affinity if device.cores else None,
        "arch": device.architecture,
        "vendor": vendor,
        "familyid": known[2] if known else None,
        "modelid": known[3] if known else None,
    }
    return {key: value for key, value in told.items() if value is not None}


def _write_below(
    parent: ET.Element, name: str, topology: Topology, above: Mapping[str, Link], gpus: Mapping[str, Device]
) -> None:
    """Writes the `pci` elements below a CPU device or a switch."""
    for lower in [lower for lower, link in above.items() if link.b == name]:
        if lower in gpus:
            device = gpus[lower]
            attributes = {"busid": device.pci_address or "", "class": _pci_class(device)}
            pci = ET.SubElement(parent, "pci", {**attributes, **_speed(above[lower])})
            gpu = ET.SubElement(pci, "gpu", {"dev": lower[3:], **_architecture(device), "rank": lower[3:]})
            for tag, fields in _fabric(topology, lower, gpus):
                ET.SubElement(gpu, tag, fields)
            continue
        address = re.search(r"PCIe switch (\S+)", above[lower].source)
        if address is None:  # a switch of unknown address: attach its GPUs to the node above
            _write_below(parent, lower, topology, above, gpus)
            continue
        fields = {"busid": address[1], "class": "0x060400", **_speed(above[lower])}
        _write_below(ET.SubElement(parent, "pci", fields), lower, topology, above, gpus)


def _architecture(device: Device) -> dict[str, str]:
    """`sm="90"`, or `gcn="gfx90a"`: RCCL takes the name; as a number only a few old ones."""
    architecture = device.architecture or ""
    if architecture.startswith("gfx"):
        return {"gcn": architecture.partition(":")[0]}
    return {"sm": architecture.removeprefix("sm_")} if architecture else {}


def _pci_class(device: Device) -> str:
    """Returns the PCI class: 3D controller, display controller (AMD up to gfx90a), or accelerator."""
    architecture = device.architecture or ""
    if not architecture.startswith("gfx"):
        return "0x030200"
    return "0x038000" if architecture in ("gfx906", "gfx908", "gfx90a") else "0x120000"


def _speed(link: Link) -> dict[str, str]:
    """Returns speed and width as in sysfs, for a link of known class."""
    known = re.fullmatch(r"PCIe (\d)\.0 ×(\d+)", link.link_class)
    if known is None:
        return {}
    speed = link_rates.pcie_transfers(int(known[1])) / 1e9
    return {"link_speed": f"{speed:.1f} GT/s PCIe", "link_width": known[2]}


def _fabric(
    topology: Topology, name: str, gpus: Mapping[str, Device]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Writes the bundles of one GPU to peers and NVSwitches; NCCL has a single address for all switches."""
    for link in topology.links:
        if link.kind == "c2c" and name in (link.a, link.b) and link.peak_bytes_per_s:
            megabytes = round(link.peak_bytes_per_s / link.count / 1e6)
            yield "c2c", {"bw": str(megabytes), "count": str(link.count)}
        if link.kind not in ("nvlink", "xgmi") or name not in (link.a, link.b):
            continue
        far = link.b if link.a == name else link.a
        if far in gpus:
            target, target_class = gpus[far].pci_address or "", _pci_class(gpus[far])
        elif far == NVSWITCH:
            target, target_class = "fffffff:ffff:ff", NVSWITCH_CLASS
        else:
            continue
        yield link.kind, {"target": target, "count": str(link.count), "tclass": target_class}
