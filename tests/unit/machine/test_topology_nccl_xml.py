"""NCCL and RCCL topology XML: what it tells arrives, what it lacks is a note, what is broken is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError
from byteways.machine import foreign, nccl_xml, nccl_xml_writer
from byteways.machine.capacity import links_between
from byteways.machine.foreign_text import FormatError
from byteways.machine.model import Topology
from byteways.machine.routes import link_class, route
from tests.machines import amd, synthetic

#: Two GPUs below one switch and NVSwitches, as NCCL dumps them, with a NIC and an element of another version.
NVSWITCHED = """\
<!-- written by NCCL -->
<system version="1">
  <cpu host_hash="0x1" numaid="1" affinity="00000001,00000003" arch="x86_64" vendor="GenuineIntel"
       familyid="6" modelid="207">
    <pci busid="0000:16:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:07:00.0" count="10" tclass="0x068000"/>
          <nvlink target="0000:06:00.0" count="8" tclass="0x068000"/>
          <future/>
        </gpu>
      </pci>
      <pci busid="0000:19:00.0" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="400000"/></nic>
      </pci>
      <pci busid="00000000:1A:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="8">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
    </pci>
    <nic><net name="eth0" dev="1"/></nic>
  </cpu>
</system>
"""


def xgmi_pair(attributes: str = 'gcn="910"', first: int = 4, second: int = 4, target: str = "c6") -> str:
    """Two dies of an MI250X as RCCL writes them."""
    return f"""\
<system version="2">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="48">
    <pci busid="0000:c1:00.0" class="0x038000" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" {attributes}><xgmi target="0000:{target}:00.0" count="{first}" tclass="0x038000"/></gpu>
    </pci>
    <pci busid="0000:c6:00.0" class="0x038000" link_speed="" link_width="0">
      <gpu dev="1" {attributes}><xgmi target="0000:c1:00.0" count="{second}" tclass="0x038000"/></gpu>
    </pci>
  </cpu>
</system>
"""


def parsed(text: str) -> Topology:
    return nccl_xml.parse(text.encode(), "node1")


def test_an_nvlink_machine() -> None:
    """Catches several NVSwitches drawn apart, GPUs out of order, a lost switch, and cores read backwards."""
    topology = parsed(NVSWITCHED)
    assert topology.names() == ["cpu1", "gpu0", "gpu1"]
    assert topology.switches == ("pcie-switch0", "nvswitch")
    cpu = topology.device("cpu1")
    assert (cpu.model, cpu.cores, cpu.numa_domain) == ("GenuineIntel family 6 model 207", (0, 1, 32), 1)
    assert topology.device("gpu0").pci_address == "0000:1a:00.0"
    assert (topology.device("gpu1").architecture, topology.device("gpu1").numa_domain) == ("sm_90", 1)
    assert link_class(topology, "gpu0", "gpu1") == "NVLink4 ×18"
    assert link_class(topology, "gpu0", "cpu1") == "PCIe 4.0 ×8 + PCIe 5.0 ×16"
    assert [link.peak_bytes_per_s for link in topology.links if link.kind == "nvlink"] == [450e9, 450e9]
    assert topology.notes == (
        "2 network devices of the file are not shown",
        "unknown element <future> in <gpu> is ignored: links of this GPU may be missing, so that its peaks "
        "are too low",
    )


def test_an_xgmi_machine() -> None:
    """Catches the architecture's old number, a bundle drawn from both ends, and a made-up PCIe rate."""
    topology = parsed(xgmi_pair())
    assert topology.device("gpu0").architecture == "gfx90a"
    (bundle,) = [link for link in topology.links if link.kind == "xgmi"]
    assert (bundle.link_class, bundle.peak_bytes_per_s) == ("xGMI ×4", 200e9)
    assert link_class(topology, "gpu1", "cpu0") == "PCIe"
    assert topology.notes == ()
    for attributes in ('gcn="942"', 'gcn="gfx942:sramecc+:xnack-"'):
        assert parsed(xgmi_pair(attributes)).device("gpu1").architecture == "gfx942"


def test_counts_of_older_rccl_are_doubted() -> None:
    """Catches a peak of one link given without a word where older RCCL does not count."""
    (note,) = parsed(xgmi_pair(first=1, second=1)).notes
    assert note == "older RCCL writes count 1 for xGMI bundles of any width, so peaks may be too low"


def test_links_to_gpus_that_are_not_in_the_file() -> None:
    """Catches a link to nowhere."""
    topology = parsed(xgmi_pair(target="de"))
    assert "gpu0: 4 xgmi links lead to 0000:de:00.0, not in the file" in topology.notes


def test_several_hosts_and_odd_numbers() -> None:
    """Catches devices of two hosts under one name, and NUMA domains without a number."""
    cpu = '<cpu host_hash="{}" numaid="-1"><pci busid="0000:0{}:00.0"><gpu dev="0"/></pci></cpu>'
    topology = parsed(f'<system version="1">{cpu.format("0x1", 1)}{cpu.format("0x2", 2)}<other/></system>')
    assert topology.names() == ["cpu0", "gpu0"]
    assert topology.device("cpu0").numa_domain is None
    assert "the file describes 2 hosts; this is the first" in topology.notes
    twice = parsed(f'<system version="1">{cpu.format("0x1", 1)}{cpu.format("0x1", 2)}</system>')
    assert twice.names() == ["cpu0", "cpu1", "gpu0", "gpu1"]


def test_nvlink_to_a_processor() -> None:
    """Catches NVLinks of a POWER9 machine that are lost."""
    link = '<nvlink target="0004:00:00.0" count="3" tclass="0x068001"/>'
    gpu = f'<pci busid="0000:01:00.0"><gpu dev="0" sm="70">{link}</gpu></pci>'
    topology = parsed(f'<system version="1"><cpu numaid="0">{gpu}</cpu></system>')
    assert link_class(topology, "gpu0", "cpu0") == "NVLink2 ×3"


def relations(topology: Topology) -> set[tuple[frozenset[str], str, float | None]]:
    """Links without what XML cannot say: NUMA distances, and rates on the wire."""
    return {
        (frozenset((link.a, link.b)), link.link_class, link.peak_bytes_per_s)
        for link in topology.links
        if link.kind != "numa"
    }


@pytest.mark.parametrize("name", ["h200x4", "switched_server", "mi300x_x8", "two_cards"])
def test_there_and_back(tmp_path: Path, name: str) -> None:
    """Catches a link, core or address that is lost between writing and reading."""
    if hasattr(synthetic, name):
        topology = getattr(synthetic, name)(tmp_path).topology()
    else:
        topology = amd.topology_of(tmp_path, getattr(amd, name)())
    back = parsed(nccl_xml_writer.write(topology))
    assert relations(back) == relations(topology)
    for device in topology.devices:
        again = back.device(device.name)
        assert (again.pci_address, again.cores, again.numa_domain) == (
            device.pci_address,
            device.cores,
            device.numa_domain,
        )
        assert device.kind == "cpu" or again.architecture == device.architecture
    assert nccl_xml_writer.write(parsed(nccl_xml_writer.write(back))) == nccl_xml_writer.write(back)


def test_architectures_are_written_as_rccl_reads_them(tmp_path: Path) -> None:
    """Catches `gcn="90a"`, which RCCL takes for an architecture of that name (archinfo.cc)."""
    assert 'gcn="gfx90a"' in nccl_xml_writer.write(amd.topology_of(tmp_path / "a", amd.frontier()))
    assert 'sm="90"' in nccl_xml_writer.write(synthetic.h200x4(tmp_path / "n").topology())


def test_gpus_that_hang_on_xgmi_are_written(tmp_path: Path) -> None:
    """Catches GPUs left out of the file because they have no PCIe link of their own."""
    for name in ("frontier", "mi300a_x4", "mi300x_cpx"):
        topology = amd.topology_of(tmp_path / name, getattr(amd, name)())
        back = parsed(nccl_xml_writer.write(topology))
        assert back.names() == topology.names()
        gpus = set(topology.names("gpu"))
        bundles = {relation for relation in relations(topology) if relation[0] <= gpus}
        assert bundles <= relations(back)


def test_a_switch_that_nothing_locates_is_left_out(tmp_path: Path) -> None:
    """Catches GPUs lost below a switch without an address."""
    topology = synthetic.switched_server(tmp_path).topology()
    data = topology.to_json()
    for link in data["links"]:
        link["source"] = "a model file"
    assert parsed(nccl_xml_writer.write(Topology.from_json(data))).names("gpu") == topology.names("gpu")


def test_a_gpu_without_address_cannot_be_written(tmp_path: Path) -> None:
    """Catches XML that NCCL could match to nothing."""
    machine = synthetic.bare_vm(tmp_path)
    runtime = {**(machine.runtime or {}), "gpu0": synthetic.runtime_gpu(0, "", "GPU-x")}
    with pytest.raises(BytewaysError, match="gpu0 cannot be written as XML") as caught:
        nccl_xml_writer.write(machine.topology(runtime_devices=runtime))
    assert caught.value.hint


BOMB = '<!DOCTYPE system [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><system><cpu numaid="&b;"/></system>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<system>", "no element found"),
        ('<system version="1"/>', "<system> has no <cpu>"),
        (BOMB, "its document type declares entities"),
        ('<system><cpu affinity="zz"/></system>', "'zz' is not a core mask"),
        ("<system><cpu><pci><gpu/></pci></cpu></system>", "a <pci> that holds a <gpu> has no busid"),
        (
            "<system><cpu>" + '<pci busid="0000:01:00.0"><gpu/></pci>' * 2 + "</cpu></system>",
            "two <gpu> have the address",
        ),
        (xgmi_pair().replace('count="4"', 'count="many"'), "<xgmi> 'many' is not a whole number"),
        ('<?xml version="1.0" encoding="klingon"?><system/>', "klingon"),
        ("<system><cpu>" + "<pci>" * 1500 + "<gpu/>" * 2 + "</pci>" * 1500 + "</cpu></system>", ""),
    ],
)
def test_broken_files_are_errors(tmp_path: Path, text: str, said: str) -> None:
    """Catches a traceback, an entity that expands, and half a machine shown for a broken file."""
    path = tmp_path / "topo.xml"
    path.write_text(text)
    with pytest.raises(BytewaysError, match=r"topo.xml:\d+ is not a topology of NCCL or RCCL") as caught:
        foreign.read(path)
    assert said in (caught.value.cause or "")
    assert caught.value.hint


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Catches a traceback on a missing file."""
    with pytest.raises(BytewaysError, match="cannot read") as caught:
        foreign.read(tmp_path / "none.xml")
    assert caught.value.hint


@given(st.text(alphabet='<>/="ab cpugim012:.x\n', max_size=60), st.integers(0, len(NVSWITCHED)))
def test_any_text_is_a_topology_or_an_error(text: str, at: int) -> None:
    """Catches an exception other than those that become errors."""
    for content in (text, NVSWITCHED[:at] + text + NVSWITCHED[at:], NVSWITCHED[:at]):
        try:
            found = parsed(content)
        except FormatError:
            continue
        assert Topology.from_json(found.to_json()) == found


_C2C = '<gpu dev="0" sm="121"><c2c bw="43125" count="8"/></gpu>'


def pci(inner: str, address: str = "0000:01:00.0", **changes: str) -> str:
    """A `pci` element of a GPU's class; `changes` are attributes that differ, empty ones are left out."""
    values = {"class": "0x030200", "link_speed": "32.0 GT/s PCIe", "link_width": "16", **changes}
    words = " ".join(f'{name}="{value}"' for name, value in values.items() if value)
    return f'<pci busid="{address}" {words}>{inner}</pci>'


def machine(*devices: str) -> Topology:
    return parsed(f'<system version="1"><cpu numaid="0">{"".join(devices)}</cpu></system>')


def test_c2c_is_the_route_to_the_cpu() -> None:
    """Catches a chip-to-chip link that is ignored, so that the peak is that of an emulated PCIe link."""
    topology = machine(pci(_C2C, link_speed="2.5 GT/s PCIe"))
    (link,) = route(topology, "gpu0", "cpu0")
    assert (link.link_class, link.count, link.peak_bytes_per_s) == ("NVLink-C2C ×8", 8, 345e9)
    assert link.signalling_bytes_per_s is None
    again = parsed(nccl_xml_writer.write(topology))
    assert [one.peak_bytes_per_s for one in route(again, "cpu0", "gpu0")] == [345e9]
    assert machine(pci(_C2C.replace("43125", ""))).links[1].peak_bytes_per_s is None


@pytest.mark.parametrize(
    ("bridge", "device", "code", "link_class"),
    [
        ({"link_speed": "2.5 GT/s PCIe", "link_width": "1"}, {"link_width": "0"}, "pcie-unreported", "PCIe"),
        ({"link_speed": "2.5 GT/s PCIe", "link_width": "1"}, {}, None, "PCIe 5.0 ×16"),
        ({}, {"link_speed": "2.5 GT/s PCIe", "link_width": "1"}, None, "PCIe 5.0 ×16"),
        ({"link_speed": ""}, {"link_speed": "2.5 GT/s PCIe"}, "pcie-emulated", "PCIe"),
        ({"link_speed": ""}, {"link_speed": "Unknown", "link_width": "255"}, "pcie-unreported", "PCIe"),
        ({"link_speed": ""}, {"link_speed": "", "link_width": ""}, "pcie-unreported", "PCIe"),
        ({"link_speed": "8.0 GT/s PCIe", "link_width": "8"}, {}, None, "PCIe 3.0 ×8"),
    ],
)
def test_emulated_and_missing_values_are_unknown(
    bridge: dict[str, str], device: dict[str, str], code: str | None, link_class: str
) -> None:
    """Catches the speed of an emulated bridge as a GPU's peak, and an unknown rate without a code."""
    gpu = pci('<gpu dev="0" sm="90"/>', **device)
    topology = machine(pci(gpu, "0000:00:01.0", **{"class": "0x060400", **bridge}))
    (link,) = topology.links
    assert (link.link_class, link.peak_bytes_per_s is None) == (link_class, code is not None)
    assert (link.unknown.code if link.unknown else None) == code
    if link.unknown:
        assert link.unknown.speed == device.get("link_speed", "32.0 GT/s PCIe")
        arcs = links_between(topology, "gpu0", "cpu0")
        assert arcs is not None
        assert [(arc.capacity, arc.limit) for arc in arcs] == [(None, None)]
    assert Topology.from_json(json.loads(json.dumps(topology.to_json()))) == topology


@pytest.mark.parametrize(
    ("attributes", "model"),
    [
        ({}, "unknown GPU"),
        ({"class": "0x120000", "vendor": "0x1002", "device": "0x74a2"}, "AMD Instinct MI308X"),
        ({"class": "0x030200", "vendor": "0x10de", "device": "0x2330"}, "NVIDIA GPU, PCI device 0x2330"),
        ({"class": "0x030000", "vendor": "0x1a03"}, None),
        ({"class": "0x020700"}, None),
        ({"class": "0x060400"}, None),
    ],
)
def test_files_of_providers_have_gpus_by_class(attributes: dict[str, str], model: str | None) -> None:
    """Catches a provider's file that seems to have no GPU, and another device taken for one."""
    topology = machine(pci("", **attributes))
    assert [one.model for one in topology.devices if one.kind == "gpu"] == ([model] if model else [])
    assert len([note for note in topology.notes if "by PCI class only" in note]) == (model is not None)


def test_every_element_of_the_schema_is_known() -> None:
    """Catches elements of a newer NCCL that are reported as unknown, and partitions that are refused."""
    parts = '<gpu dev="0" sm="100" mlopart="0"/><gpu dev="1" sm="100" mlopart="1"/>'
    network = "<nic><net/><gin/><rma/><collnet/></nic>"
    switch = pci('<pcilink target="0000:03:00.0"/>' + pci(parts), "0000:00:01.0", **{"class": "0x060400"})
    topology = machine(switch, network)
    assert topology.names("gpu") == ["gpu0"]
    assert not [note for note in topology.notes if "unknown element" in note]
    assert "0000:01:00.0: 2 ranks or partitions of one GPU, shown as one" in topology.notes


def test_an_unknown_element_says_what_it_may_change() -> None:
    """Catches a link of a future NCCL that is dropped without a word on the peaks."""
    topology = machine(pci("<gpu><warp/><warp/></gpu>"), "<tunnel/>")
    notes = " / ".join(topology.notes)
    assert "<warp> in <gpu> (2 times) is ignored: links of this GPU may be missing" in notes
    assert "<tunnel> in <cpu> is ignored: devices below this CPU may be missing" in notes
