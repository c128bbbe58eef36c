"""Topologies in files of other programs: what is read, what is null and why, mistakes with their lines."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.base.errors import BytewaysError
from byteways.machine import foreign, machine_saver, nccl_xml_writer, saved_machine, smbios
from byteways.machine.gpu_models import architecture_of
from byteways.machine.model import FILE_LACKS, FORMAT_LACKS, PCIE_NOT_MAXIMUM, Topology
from byteways.machine.nvml import FabricLink, ManagementDevice
from byteways.machine.routes import route
from tests.machines import amd, synthetic

FILES = Path(__file__).parents[2] / "machines/files"
SAMPLES = sorted(FILES.iterdir())


def sample(name: str) -> Topology:
    return foreign.read(FILES / name)


def lacking(topology: Topology) -> dict[str, str]:
    return {one.what: one.code for one in topology.left_out}


def refused(path: Path, content: str | bytes) -> BytewaysError:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(BytewaysError) as caught:
        foreign.read(path)
    assert caught.value.hint
    assert caught.value.cause
    return caught.value


def saved_text(machine: synthetic.Machine) -> str:
    """A synthetic machine as `topo --save` writes it."""
    management = [
        ManagementDevice(
            **{**vars(one), "fabric_links": tuple(FabricLink(**vars(link)) for link in one.fabric_links)}
        )
        for one in machine.management
    ]
    saved = machine_saver.saved(machine.runtime, management, machine.cores, machine.sysfs, machine.proc)
    return json.dumps(saved_machine.fields_of(saved), indent=1)


# ---- what is read


def test_switches_that_the_matrix_of_nvidia_smi_does_not_show() -> None:
    """Catches 126 NVLinks of a GPU that has 18, lost models, NICs at the wrong GPU and escape sequences."""
    topology = sample("nvidia-smi-topo-h100x8.txt")
    (link, other) = route(topology, "gpu0", "gpu7")
    assert (link.b, other.b, link.count, link.peak_bytes_per_s) == ("nvswitch", "nvswitch", 18, 450e9)
    assert topology.device("gpu0").model == "NVIDIA H100 80GB HBM3"
    assert [topology.device(name).numa_domain for name in ("gpu3", "gpu4")] == [0, 1]
    assert len(topology.device("cpu1").cores) == 104
    assert [(nic.port, nic.nearest_gpus[:1], nic.up) for nic in topology.nics] == [
        ("mlx5_0", ("gpu0",), None),
        ("mlx5_1", ("gpu0",), None),
        ("mlx5_2", ("gpu4",), None),
    ]
    assert [link.b for link in route(topology, "gpu0", "cpu0")] == ["pcie-switch0", "cpu0"]


def test_a_mesh_of_an_older_driver() -> None:
    """Catches a switch where links join pairs, and domains that are one for lack of their numbers."""
    topology = sample("nvidia-smi-topo-v100x4.txt")
    counts = {(link.a, link.b): link.count for link in topology.links if link.kind == "nvlink"}
    assert counts["gpu0", "gpu1"] == 2
    assert len(counts) == 6
    assert "nvswitch" not in topology.switches
    assert topology.names("cpu") == ["cpu0", "cpu1"]
    assert topology.device("cpu0").numa_domain is None
    assert lacking(topology)["nvlink.peak_bytes_per_s"] == FILE_LACKS


def test_xgmi_of_rocm_smi() -> None:
    """Catches links between pairs that rocm-smi joins by two hops, and widths or rates from nowhere."""
    full, routed = sample("rocm-smi-topo-mi300x8.txt"), sample("rocm-smi-topo-routed.txt")
    assert sum(link.kind == "xgmi" for link in full.links) == 28
    assert {link.peak_bytes_per_s for link in full.links} == {None}
    assert full.device("gpu7").architecture == "gfx942"
    assert full.device("gpu7").numa_domain == 1
    assert [len(route(routed, "gpu0", to)) for to in ("gpu1", "gpu3")] == [1, 2]
    assert routed.device("gpu0").model == "unknown GPU"


def test_an_xml_of_hwloc() -> None:
    """Catches devices, switches and distances of lstopo's XML that get lost, and current speeds as peaks."""
    topology = sample("lstopo-a100x2.xml")
    gpu, cpu = topology.device("gpu0"), topology.device("cpu0")
    assert (gpu.model, gpu.architecture, gpu.multiprocessors) == ("NVIDIA A100-SXM4-40GB", "sm_80", 108)
    assert (gpu.pci_address, gpu.memory_bytes) == ("0000:03:00.0", 41538304 * 1024)
    assert (cpu.model, cpu.memory_bytes, cpu.threads) == ("Example Processor 7000", 64 << 30, ((0,), (1,)))
    assert topology.names("cpu") == ["cpu0", "cpu1"]  # node 2 has the cores of node 1: memory alone
    (nvlink,) = route(topology, "gpu0", "gpu1")
    assert (nvlink.count, nvlink.peak_bytes_per_s) == (12, 300e9)
    switched = route(topology, "gpu0", "cpu0")
    assert [link.b for link in switched] == ["pcie-switch0", "cpu0"]
    assert switched[0].peak_bytes_per_s is None
    assert switched[0].unknown
    assert switched[0].unknown.code == PCIE_NOT_MAXIMUM
    assert topology.nics[0].nearest_gpus == ("gpu0", "gpu1")
    said = json.dumps(topology.to_json())
    assert not re.search("secret-host|1234567890|b859", said)


def test_nvswitches_and_xgmi_of_hwloc() -> None:
    """Catches links to NVSwitches that get lost, and xGMI over another GPU."""
    switch = (
        '<object type="PCIDev" gp_index="{}" pci_busid="0000:0{}:00.0" pci_type="0680 [10de:1af1] [0:0] a1"/>'
    )
    bridge = '<object type="Bridge" gp_index="20"'
    text = LSTOPO.replace(bridge, switch.format(40, 6) + switch.format(41, 7) + bridge)
    begin, end = text.index('<distances2 type="OSDev"'), text.index("</topology>")
    values = [[0, 0, 300000, 300000], [0, 0, 300000, 300000], [300000, 300000, 0, 0], [300000, 300000, 0, 0]]
    matrix = (
        '<distances2hetero nbobjs="4" kind="9" name="NVLinkBandwidth" indexing="gp">'
        "<indexes>OSDev:25 OSDev:29</indexes><indexes>PCIDev:40 PCIDev:41</indexes>"
        f"<u64values>{' '.join(str(value) for row in values for value in row)}</u64values></distances2hetero>"
    )
    switched = foreign.of((text[:begin] + matrix + text[end:]).encode(), Path("switched"))
    counts = {(link.a, link.b): link.count for link in switched.links if link.kind == "nvlink"}
    assert counts == {("gpu0", "nvswitch"): 12, ("gpu1", "nvswitch"): 12}
    hops = matrix.replace("NVLinkBandwidth", "XGMIHops").replace("300000", "2")
    assert not [
        link
        for link in foreign.of((text[:begin] + hops + text[end:]).encode(), Path("x")).links
        if link.kind == "xgmi"
    ]
    pair = LSTOPO.replace("NVLinkBandwidth", "XGMIHops").replace("1000000 600000 600000 1000000", "0 1 1 0")
    assert [link.count for link in foreign.of(pair.encode(), Path("x")).links if link.kind == "xgmi"] == [1]


def test_an_xml_of_hwloc_1() -> None:
    """Catches names of version 1: sockets, levels of caches, cores within a NUMA node."""
    core = '<object type="Core" cpuset="0x{0}"><object type="PU" os_index="{1}" cpuset="0x{0}"/></object>'
    text = (
        '<!DOCTYPE topology SYSTEM "hwloc.dtd"><topology><object type="Machine" cpuset="0x00000003">'
        '<object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="1073741824">'
        '<object type="Socket" cpuset="0x00000003"><info name="CPUModel" value="Old"/>'
        '<object type="Cache" cpuset="0x00000003" cache_size="8388608" depth="3" cache_linesize="64">'
        f"{core.format(1, 0)}{core.format(2, 1)}</object></object></object></object></topology>"
    )
    cpu = foreign.of(text.encode(), Path("old")).device("cpu0")
    assert (cpu.model, cpu.cores, cpu.memory_bytes, cpu.threads) == ("Old", (0, 1), 1 << 30, ((0,), (1,)))
    assert [(cache.level, cache.size_bytes, cache.shared_by_cores) for cache in cpu.caches] == [
        (3, 8 << 20, 2)
    ]


@pytest.mark.parametrize("name", ["h200x4", "switched_server", "server_with_nics", "bare_vm"])
def test_a_saved_machine_is_the_machine(name: str, tmp_path: Path) -> None:
    """Catches something that discovery reads and that is not saved."""
    machine = getattr(synthetic, name)(tmp_path / "machine")
    path = tmp_path / "node1.json"
    path.write_text(saved_text(machine))
    found, there = foreign.read(path), machine.topology(host="node1", unopened=True)
    plain = {**there.to_json(), "read_from": "saved-machine", "left_out": []}
    for device in plain["devices"]:
        device["uuid"] = None
    for nic in plain["nics"]:
        nic["guid"] = None
    assert {**found.to_json(), "left_out": []} == plain


def test_a_saved_machine_of_amd(tmp_path: Path) -> None:
    """Catches properties of KFD that get lost with the serial numbers among them."""
    spec = amd.frontier()
    there = amd.topology_of(tmp_path / "machine", spec)
    cores = [core for cpu in spec.cpus for core in cpu.cores]
    saved = machine_saver.saved(None, [], cores, tmp_path / "machine/sys", tmp_path / "machine/proc")
    path = tmp_path / "node.json"
    path.write_text(json.dumps(saved_machine.fields_of(saved)))
    found = foreign.read(path)
    assert found.links == there.links
    assert [one.model for one in found.devices] == [one.model for one in there.devices]


def test_a_saved_machine_has_no_identifiers(tmp_path: Path) -> None:
    """Catches serial numbers, UUIDs, names and addresses in a file that its user sends to somebody."""
    machine = synthetic.server_with_nics(tmp_path)
    secrets = ("SERIAL0123", "b8599f00aabb", "GPU-", "site_word", "00000000cafe", "SocketSN")
    synthetic.write(
        tmp_path / "proc/cpuinfo", "processor: 0\nmodel name: Toy\nSerial: 00000000cafe\nflags: fpu"
    )
    synthetic.write(
        tmp_path / "sys/class/kfd/kfd/topology/nodes/0/properties", "unique_id 1234567890123456\nx 1"
    )
    pci = next((tmp_path / "sys/bus/pci/devices").iterdir())
    synthetic.write(pci / "serial_number", "SERIAL0123")
    for name in ("enxb8599f00aabb", "site_word"):
        place = tmp_path / "sys/class/net" / name
        synthetic.write(place / "address", "b8:59:9f:00:aa:bb")
        synthetic.write(place / "speed", "1000")
        (place / "device").symlink_to(pci.resolve())
    structure = bytes([17, 40]) + bytes(38) + b"SocketSN\0\0"
    (tmp_path / "sys/firmware/dmi/tables").mkdir(parents=True)
    (tmp_path / "sys/firmware/dmi/tables/DMI").write_bytes(structure)
    text = saved_text(machine)
    assert not [word for word in (*secrets, "b8:59:9f", "1234567890123456", "node_guid") if word in text]
    assert '"sys/class/net/net0/speed": "1000"' in text


def test_modules_of_memory_survive_without_their_makers() -> None:
    """Catches memory rates that get lost with the rest of the firmware's tables."""
    modules = [smbios.Module(64, 4800e6), smbios.Module(64, 70000e6)]
    assert list(smbios.read_modules(smbios.tables_of(modules))) == modules


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_what_is_null_is_told_with_a_code(path: Path) -> None:
    """Catches a null without a reason, a reason for what is there, and JSON that does not come back."""
    topology = foreign.read(path)
    assert topology.read_from in {known.name for known in foreign.TOPOLOGY_FORMATS}
    codes = lacking(topology)
    for device in topology.devices:
        for name in ("memory_bytes", "architecture", "numa_domain", "pci_address", "multiprocessors"):
            what = f"{device.kind}.{name}"
            named = [one.of for one in topology.left_out if one.what == what]
            if what in ("gpu.memory_bytes", *codes):
                assert (getattr(device, name) is None) == any(device.name in names for names in named)
    for link in topology.links:
        stated = any(
            f"{link.a}<>{link.b}" in one.of for one in topology.left_out if one.what.startswith(link.kind)
        )
        assert stated == (link.peak_bytes_per_s is None and link.kind != "numa")
    assert codes["gpu.memory_peak_bytes_per_s"] == FORMAT_LACKS
    assert Topology.from_json(topology.to_json()) == topology


def test_architectures_follow_from_models() -> None:
    """Catches a model within the name of another one."""
    models = {
        "NVIDIA GH200 480GB": "sm_90",
        "AMD Instinct MI250X/MI250": "gfx90a",
        "Tesla V100-SXM2": "sm_70",
    }
    assert {model: architecture_of(model) for model in models} == models
    assert architecture_of("NVIDIA A1000") is None


# ---- mistakes

H100 = (FILES / "nvidia-smi-topo-h100x8.txt").read_text()
ROCM = (FILES / "rocm-smi-topo-mi300x8.txt").read_text()
LSTOPO = (FILES / "lstopo-a100x2.xml").read_text()


def line_with(text: str, word: str) -> int:
    return text[: text.index(word)].count("\n") + 1


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (H100, "GPU5\tNV18", "GPU5\tNV1x"),
        (H100, "GPU5\tNV18", "GPU5"),
        (H100, "GPU5\tNV18", "GPU5\tNV4"),
        (H100, "GPU7\tNV18", "GPU7\tX"),
        (H100, "0-51,104-155", "0-5x"),
        (H100, "0-51,104-155", "9-3"),
        (H100, "52-103,156-207", "0-99999"),
        (ROCM, "GPU5   15", "GPU5   xx"),
        (ROCM, "GPU5   15", "GPU5"),
        (ROCM, "GPU5   15", "GPU5   14"),
        (ROCM, "GPU5   15", "GPU4   15"),
        (ROCM, "GPU5   XGMI", "GPU5   CXL"),
        (LSTOPO, 'os_index="1" cpuset="0x0000000c" gp_index="13"', 'os_index="0"'),
        (LSTOPO, 'cpuset="0x00000002" gp_index="7"', 'cpuset="0xzz"'),
        (LSTOPO, 'local_memory="68719476736"', 'local_memory="-1"'),
        (LSTOPO, "0302 [10de:20b0]", "GPU"),
        (LSTOPO, "1000000 600000 600000 1000000", "1000000 600000"),
        (LSTOPO, "10 32 32 10", "10 many 32 10"),
        (LSTOPO, 'depth="3" cache', 'depth="three" cache'),
    ],
)
def test_a_mistake_has_its_line(tmp_path: Path, text: str, old: str, new: str) -> None:
    """Catches a mistake without its place, and half a machine that is shown for a wrong file."""
    wrong = text.replace(old, new, 1)
    path = tmp_path / "topo.txt"
    error = refused(path, wrong)
    said = re.fullmatch(rf"{path}:(\d+) is not .*", error.what)
    assert said
    # The matrix of hwloc names the line of its element, a pair of cells by either of its rows.
    assert line_with(text, old) - 2 <= int(said[1]) <= line_with(text, old) + 1


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_cut_files_are_refused_or_read_without_a_traceback(tmp_path: Path, path: Path) -> None:
    """Catches an exception for a file that ends early, and rows of a matrix that are missed by nobody."""
    content = path.read_bytes()
    for part in range(1, 12):
        cut = tmp_path / "cut.txt"
        cut.write_bytes(content[: len(content) * part // 12])
        try:
            foreign.read(cut)
        except BytewaysError as error:
            assert error.hint


def test_a_matrix_whose_end_is_cut_off_is_refused(tmp_path: Path) -> None:
    """Catches a machine with the GPUs of the first rows alone."""
    assert "GPU6" in (refused(tmp_path / "a", H100[: H100.index("\nGPU6")]).cause or "")
    assert "GPU6" in (refused(tmp_path / "b", ROCM[: ROCM.index("\nGPU6")]).cause or "")


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\1\2" * 99, b"<html/>", b"PCI devices:\n", b"GPU0 GPU1\n", b"\xff\xfe<\0s\0", b'{"a": 1}'],
)
def test_unknown_files_say_what_is_known(tmp_path: Path, content: bytes) -> None:
    """Catches a hint that leaves out how to write a file that can be read."""
    error = refused(tmp_path / "file", content)
    for known in foreign.TOPOLOGY_FORMATS:
        assert known.made_by in (error.hint or "")


BOMB = '<!DOCTYPE topology [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><topology><object a="&b;"/></topology>'


def test_hostile_xml_is_refused(tmp_path: Path) -> None:
    """Catches entities that expand, depth that ends the process, and files without end."""
    assert f"{tmp_path / 'a'}:1 " in refused(tmp_path / "a", BOMB).what
    deep = "<topology>" + '<object type="Group">' * 5000
    assert "deeper" in (refused(tmp_path / "b", deep).cause or "")
    many = "<topology>" + "<object/>" * 100_001 + "</topology>"
    assert "elements" in (refused(tmp_path / "c", many).cause or "")
    assert "bytes" in (refused(tmp_path / "d", H100 + "x" * 70_000).cause or "")


@pytest.mark.parametrize(
    "text",
    [
        " ".join(["", *(f"GPU{number}" for number in range(5000)), " CPU Affinity"]),
        "==== Link Type between two GPUs ====\n" + " ".join(f"GPU{number}" for number in range(5000)),
        "<system>" + "<cpu/>" * 5000 + "</system>",
        '<topology><object type="Machine">'
        + "".join(f'<object type="NUMANode" os_index="{number}"/>' for number in range(5000))
        + "</object></topology>",
    ],
    ids=["nvidia-smi", "rocm-smi", "nccl", "hwloc"],
)
def test_more_devices_than_any_host_has_are_refused(tmp_path: Path, text: str) -> None:
    """Catches a file whose every two devices take minutes and gigabytes."""
    assert "5000" in (refused(tmp_path / "file", text).cause or "")


def changed(text: str, key: str, value: object) -> str:
    data = json.loads(text)
    data[key] = value
    return json.dumps(data, indent=1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("files", {"sys/../../etc/passwd": "x"}),
        ("files", {"/etc/passwd": "x"}),
        ("files", {"proc/self/environ": "x"}),
        ("files", {"proc/meminfo": 1}),
        ("files", {"sys/devices/soc0/soc_id": "x", "proc/meminfo": "y", "sys/class/net/eth0/device/x": "z"}),
        ("links", {"sys/class/net/eth0/device": "/etc"}),
        ("links", {"sys/bus/pci/devices/0000:01:00.0": "sys/devices/pci/../../.."}),
        ("cores", "all"),
        ("cores", "9-1"),
        ("cores", "0-999999"),
        ("byteways_machine", 99),
        ("management", [{"index": 0}]),
        ("modules", [{"data_bits": -1, "transfers_per_s": 1}]),
        ("runtime", {"gpu0": {"architecture": "sm_90", "numa_domain": []}}),
    ],
)
def test_a_saved_machine_that_was_changed_is_refused(tmp_path: Path, key: str, value: object) -> None:
    """Catches a file that writes outside its folder, and values that end in a traceback."""
    text = saved_text(synthetic.h200x4(tmp_path / "machine"))
    before = {one.name for one in tmp_path.iterdir()}
    refused(tmp_path / "saved.json", changed(text, key, value))
    assert {one.name for one in tmp_path.iterdir()} == before | {"saved.json"}


def test_malformed_json_of_a_saved_machine_has_its_line(tmp_path: Path) -> None:
    """Catches an offset in bytes that nobody can find."""
    text = saved_text(synthetic.bare_vm(tmp_path / "machine"))
    wrong = text.replace('"links"', "links", 1)
    line = line_with(text, '"links"')
    assert refused(tmp_path / "saved.json", wrong).what.startswith(f"{tmp_path / 'saved.json'}:{line} ")


@given(st.sampled_from([H100, ROCM, LSTOPO]), st.text('GPU0NVX123-,<>" \t\n=', max_size=20), st.data())
def test_any_text_is_a_topology_or_an_error(text: str, word: str, data: st.DataObject) -> None:
    """Catches an exception other than those that become errors."""
    at = data.draw(st.integers(0, len(text)))
    try:
        found = foreign.of((text[:at] + word + text[at:]).encode(), Path("topo"))
    except BytewaysError:
        return
    nccl_safe = Topology.from_json(found.to_json())
    assert nccl_safe == found


def test_xml_of_nccl_is_known_after_comments(tmp_path: Path) -> None:
    """Catches XML that is known by its first byte alone."""
    text = nccl_xml_writer.write(synthetic.h200x4(tmp_path).topology())
    for before in (b"", b"\n ", b"<!-- x -->\n", b'<?xml version="1.0"?>\n<!-- <topology -->'):
        known = foreign.format_of(before + text.encode())
        assert known
        assert known.name == "nccl-xml"
