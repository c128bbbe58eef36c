"""KFD, xGMI and routes on machines written as trees, with the answers of the sources that amd.py names."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways import _core
from byteways.cases.case import Buffer, Case, Flow
from byteways.machine import kfd, link_rates
from byteways.machine.gpu_caches import listed_caches
from byteways.machine.kfd_caches import read_caches
from byteways.machine.model import Cache, Device, Link, Topology
from byteways.machine.routes import link_class, route, routes
from byteways.machine.sysfs_writer import CacheSpec, LinkSpec, MachineSpec, write_tree
from byteways.measuring.work.device_caches import last_level_caches
from byteways.plan.peaks import peak
from tests.machines import amd

FRONTIER_ROUTED_OVER_TWO = {(0, 7), (1, 6), (1, 7), (2, 5), (3, 4), (3, 5)}


def flow(source: str, destination: str) -> Flow:
    memory = {"cpu": "pageable", "gpu": "device"}
    return Flow(Buffer(source, memory[source[:3]]), Buffer(destination, memory[destination[:3]]), source)


def unidirectional(topology: Topology, source: str, destination: str) -> float | None:
    return peak(topology, Case("copy", "unidirectional", (flow(source, destination),), 2**30)).bytes_per_s


def classes(topology: Topology) -> dict[tuple[int, int], str]:
    gpus = topology.names("gpu")
    return {(a, b): link_class(topology, gpus[a], gpus[b]) for a, b in combinations(range(len(gpus)), 2)}


def test_frontier_routes_are_the_widest(tmp_path: Path) -> None:
    """Catches a routed pair on the shortest way where a longer one is wider, and other ways back."""
    topology = amd.topology_of(tmp_path, amd.frontier())
    table = routes(topology)
    for a, b in combinations(range(8), 2):
        there, back = table[f"gpu{a}", f"gpu{b}"], table[f"gpu{b}", f"gpu{a}"]
        wide = (a, b) in FRONTIER_ROUTED_OVER_TWO
        count = amd.FRONTIER_LINKS.get((a, b), 2 if wide else 1)
        assert there.peak_bytes_per_s == count * 50e9, (a, b)
        assert back.nodes == there.nodes[::-1]
        assert unidirectional(topology, f"gpu{a}", f"gpu{b}") == count * 50e9
    assert table["gpu3", "gpu5"].nodes == ("gpu3", "gpu2", "gpu4", "gpu5")
    assert table["gpu1", "gpu6"].nodes == ("gpu1", "gpu0", "gpu6")
    assert table["gpu0", "gpu3"].hops == 2


def test_cpu_traffic_does_not_pass_through_gpus(tmp_path: Path) -> None:
    """Catches a way from a domain to a far GPU over xGMI links of the GPUs at home."""
    topology = amd.topology_of(tmp_path, amd.frontier())
    assert [link.kind for link in route(topology, "cpu0", "gpu0")] == ["numa", "xgmi"]
    assert link_class(topology, "cpu0", "gpu0") == "NUMA distance 12 + xGMI to CPU ×1"


def test_apus_are_one_package_with_one_memory(tmp_path: Path) -> None:
    """Catches PCIe or NUMA links where there are none, and a copy within an APU judged by a link."""
    topology = amd.topology_of(tmp_path, amd.mi300a_x4())
    assert set(classes(topology).values()) == {"xGMI ×2"}
    assert {link.link_class for link in topology.links} == {"same package", "xGMI ×2"}
    assert [topology.device(f"gpu{n}").shares_memory_with for n in range(4)] == [f"cpu{n}" for n in range(4)]
    assert link_class(topology, "cpu1", "gpu1") == "same package"
    assert link_class(topology, "cpu1", "cpu2") == link_class(topology, "cpu1", "gpu2") == "xGMI ×2"
    assert unidirectional(topology, "cpu0", "gpu3") == unidirectional(topology, "cpu0", "cpu3") == 128e9
    assert unidirectional(topology, "cpu0", "gpu0") == pytest.approx(5324.8e9 / 2)
    assert topology.device("cpu0").memory_peak_bytes_per_s == topology.device("gpu0").memory_peak_bytes_per_s
    assert topology.device("gpu0").partition == "compute SPX, memory NPS1"


@pytest.mark.parametrize(
    "machine",
    [amd.mi300a_x4(), amd.mi300x_x8(), amd.frontier(), amd.two_cards()],
    ids=lambda each: each.gpus[0].model,
)
def test_the_runtime_knows_apus_as_the_topology_does(tmp_path: Path, machine: MachineSpec) -> None:
    """Catches an APU that is measured as a discrete GPU, as ROCm before 6.2 describes it, and the reverse."""
    topology = amd.topology_of(tmp_path, machine)
    for name in topology.names("gpu"):
        gpu = topology.device(name)
        assert gpu.pci_address is not None
        found = _core.shares_memory_with_cpu("hip", str(tmp_path / "sys"), gpu.pci_address)
        assert found == (gpu.shares_memory_with is not None)
    assert not _core.shares_memory_with_cpu("hip", str(tmp_path / "sys"), "0000:ff:00.0")
    assert not _core.shares_memory_with_cpu("hip", "", topology.device("gpu0").pci_address or "")


def test_a_node_of_cores_and_compute_units_is_an_apu(tmp_path: Path) -> None:
    """Catches older APUs, whose GPU has no link to the cores because both are one node."""
    node = tmp_path / "class/kfd/kfd/topology/nodes/0"
    node.mkdir(parents=True)
    (node / "properties").write_text("cpu_cores_count 8\nsimd_count 28\nlocation_id 1280\ndomain 0\n")
    assert _core.shares_memory_with_cpu("hip", str(tmp_path), "0000:05:00.0")


def test_a_pair_whose_link_is_down_is_routed_and_named(tmp_path: Path) -> None:
    """Catches a missing link that looks like any other routed pair."""
    topology = amd.topology_of(tmp_path, amd.without(amd.mi300x_x8(), "gpu2", "gpu5"))
    assert link_class(topology, "gpu2", "gpu5") == "routed"
    assert unidirectional(topology, "gpu2", "gpu5") == 64e9
    assert topology.notes == (
        "no xGMI link connects gpu2<>gpu5, although one connects every other pair: it may be down",
    )


def test_partitions_of_two_packages(tmp_path: Path) -> None:
    """Catches a width made up for links that the driver does not tell, and pairs without any way."""
    first = amd.mi300x_cpx()
    second = tuple(replace(gpu, pci_address=gpu.pci_address.replace("0c", "22")) for gpu in first.gpus)
    machine = replace(first, gpus=first.gpus + second, links=(LinkSpec("gpu0", "gpu8", "xgmi"),))
    topology = amd.topology_of(tmp_path, machine)
    assert topology.switches == ("package0", "package1")
    assert link_class(topology, "gpu1", "gpu15") == "same package + xGMI of unknown width"
    assert unidirectional(topology, "gpu1", "gpu15") is None


@pytest.mark.parametrize(
    ("environment", "numbers"),
    [
        ({}, [0, 1, 2, 3]),
        ({"ROCR_VISIBLE_DEVICES": "3,1"}, [3, 1]),
        ({"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0000000000000a02"}, [2]),
        ({"ROCR_VISIBLE_DEVICES": ""}, []),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "2"}, [2]),
        ({"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "2"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "1,9,2"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "1,1"}, [1]),
        ({"HIP_VISIBLE_DEVICES": "-1"}, []),
    ],
)
def test_visible_devices(tmp_path: Path, environment: dict[str, str], numbers: list[int]) -> None:
    """Catches a numbering other than HIP's, which would name the wrong GPU."""
    topology = amd.topology_of(tmp_path, amd.mi300a_x4(), environment=environment)
    gpus = [device for device in topology.devices if device.kind == "gpu"]
    assert [device.name for device in gpus] == [f"gpu{index}" for index in range(len(numbers))]
    assert [device.uuid for device in gpus] == [f"GPU-{0xA00 + number:016x}" for number in numbers]


def test_hidden_gpus_that_may_forward_are_told(tmp_path: Path) -> None:
    """Catches a pair without a way because the GPUs between are hidden, without a word."""
    topology = amd.topology_of(tmp_path, amd.frontier(), environment={"HIP_VISIBLE_DEVICES": "0,7"})
    assert "6 more GPUs are not visible here; pairs may be reached over their xGMI links" in topology.notes


def runtime_gpu(index: int, **fields: Any) -> dict[str, Any]:
    return {"runtime": "hip", "model": "MI300A by HIP", "numa_domain": -1, **fields}


def test_runtime_devices_are_matched_by_uuid_then_address(tmp_path: Path) -> None:
    """Catches links given to the wrong GPU where the runtime numbers otherwise than the driver."""
    runtime = {
        "gpu0": runtime_gpu(0, uuid="GPU-0000000000000A03", pci_address=""),
        "gpu1": runtime_gpu(1, uuid="", pci_address="0000:42:00.0"),
        "gpu2": runtime_gpu(2, uuid="GPU-feed", pci_address="0000:99:00.0"),
    }
    topology = amd.topology_of(tmp_path, amd.mi300a_x4(), runtime_devices=runtime)
    assert topology.device("gpu0").pci_address == "0000:c2:00.0"
    assert topology.device("gpu0").model == "MI300A by HIP"
    assert topology.device("gpu1").uuid == "GPU-0000000000000a01"
    assert link_class(topology, "gpu0", "gpu1") == "xGMI ×2"
    assert topology.device("gpu2").peer_copy_engines is None


def test_partitions_with_one_uuid_are_matched_by_address(tmp_path: Path) -> None:
    """Catches every partition taken for the first, whose UUID they share."""
    write_tree(tmp_path, amd.without_caches(amd.mi300x_cpx()))
    gpus = kfd.read(tmp_path / "sys").gpus
    fields = {"uuid": "GPU-00000000000000c0", "pci_address": "0000:0c:00.5"}
    assert kfd.match(fields, gpus) == gpus[5]
    assert kfd.match({"uuid": fields["uuid"]}, gpus) is None


def test_a_driver_that_tells_little(tmp_path: Path) -> None:
    """Catches a crash on unreadable nodes, odd lines and absent files, and numbers made up for them."""
    nodes = tmp_path / "sys" / kfd.NODES
    for number, text in enumerate(
        ["cpu_cores_count 4\nsimd_count 0", "", "simd_count 8\nodd\nx y\nunique_id zz"]
    ):
        (nodes / str(number)).mkdir(parents=True)
        (nodes / str(number) / "properties").write_text(text)
    (nodes / "2/io_links/0").mkdir(parents=True)
    (nodes / "2/io_links/0/properties").write_text("type 99")
    found = kfd.read(tmp_path / "sys")
    (gpu,) = found.gpus
    assert (gpu.pci_address, gpu.uuid, gpu.architecture, gpu.compute_units) == (None, None, None, None)
    assert (gpu.memory_bytes, gpu.memory_peak, gpu.partition, gpu.links) == (None, None, None, ())
    assert found.notes == ("KFD: node 1 cannot be read; its device may belong to another container",)
    assert found.cpu_nodes == (0,)
    assert kfd.read(tmp_path / "nothing") == kfd.Kfd()


def test_older_drivers_tell_no_widths(tmp_path: Path) -> None:
    """Catches a direct pair of gfx908 lost, because its driver gives no bandwidth."""
    cards = amd.two_cards()
    gpus = tuple(replace(gpu, architecture="gfx908", model="AMD Instinct MI100") for gpu in cards.gpus)
    machine = replace(cards, gpus=gpus, links=(LinkSpec("gpu0", "gpu1", "xgmi"),), xgmi_mbs=0)
    topology = amd.topology_of(tmp_path, machine)
    (link,) = [link for link in topology.links if link.kind == "xgmi"]
    assert (link.link_class, link.peak_bytes_per_s) == ("xGMI ×1", 46e9)
    assert link.source.endswith("the driver reports no width; one link is assumed")


def test_an_unknown_architecture_takes_the_drivers_rate() -> None:
    """Catches a rate of another generation for links that no table knows, and a made-up one."""
    told = link_rates.xgmi(2, "gfx999", driver_bytes_per_s=70e9)
    assert (told.data_bytes_per_s, told.source) == (140e9, "2 links × 70 GB/s (by the kernel driver)")
    assert link_rates.xgmi(2, None).data_bytes_per_s is None
    assert link_rates.xgmi(1, "gfx942", to_cpu=True, driver_bytes_per_s=50e9).data_bytes_per_s == 50e9


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90010, "gfx90a"),
        (90402, "gfx942"),
        (90008, "gfx908"),
        (90500, "gfx950"),
        (110501, "gfx1151"),
        (0, None),
    ],
)
def test_architecture_names(version: int, name: str | None) -> None:
    """Catches decimal steppings: 90010 is gfx90a."""
    assert kfd.architecture(version) == name


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7))
def test_locations_are_pci_addresses(domain: int, bus: int, device: int, function: int) -> None:
    """Catches shifted bits."""
    found = kfd.pci_address(domain, bus << 8 | device << 3 | function)
    assert found == f"{domain:04x}:{bus:02x}:{device:02x}.{function}"


@pytest.mark.parametrize("build", [amd.frontier, amd.mi300a_x4, amd.mi300x_x8, amd.mi300x_cpx, amd.two_cards])
def test_topology_survives_json(tmp_path: Path, build: Any) -> None:
    """Catches a field that does not come back from a manifest."""
    topology = amd.topology_of(tmp_path, build())
    assert Topology.from_json(json.loads(json.dumps(topology.to_json()))) == topology


@pytest.mark.parametrize("name", ["gpu9", "cpu7", "nic0", "gpux"])
def test_a_description_with_unknown_devices(tmp_path: Path, name: str) -> None:
    """Catches a link to nowhere in a described machine."""
    machine: MachineSpec = amd.mi300a_x4()
    with pytest.raises(ValueError, match=f"a link names {name}"):
        write_tree(tmp_path, replace(machine, links=(LinkSpec("gpu0", name, "xgmi"),)))


@st.composite
def meshes(draw: st.DrawFn) -> Topology:
    """GPUs of one host with random xGMI bundles."""
    count = draw(st.integers(2, 6))
    devices = [Device("cpu0", "cpu", "toy"), *(Device(f"gpu{i}", "gpu", "toy") for i in range(count))]
    links = [Link(f"gpu{i}", "cpu0", "pcie", 1, None, 32e9, None, "toy", "PCIe") for i in range(count)]
    for a, b in combinations(range(count), 2):
        width = draw(st.integers(0, 4))
        if width:
            links.append(
                Link(f"gpu{a}", f"gpu{b}", "xgmi", width, None, width * 50e9, None, "toy", f"×{width}")
            )
    return Topology("toy", tuple(devices), (), tuple(links))


@given(meshes())
def test_routes_on_any_mesh(topology: Topology) -> None:
    """Catches a routed pair narrower than need be, a detour where there is a bundle, and broken chains."""
    bundles = {frozenset((link.a, link.b)): link for link in topology.links if link.kind == "xgmi"}
    gpus = topology.names("gpu")
    widest = {(a, b): 0.0 if a != b else float("inf") for a in gpus for b in gpus}
    for ends, link in bundles.items():
        for a, b in permutations(ends):
            widest[a, b] = link.peak_bytes_per_s or 0
    for over in gpus:
        for a in gpus:
            for b in gpus:
                widest[a, b] = max(widest[a, b], min(widest[a, over], widest[over, b]))
    for (a, b), found in routes(topology).items():
        assert found.nodes[0] == a
        assert found.nodes[-1] == b
        if "cpu0" in (a, b):
            assert found.hops == 1
        elif frozenset((a, b)) in bundles:
            assert found.links == (bundles[frozenset((a, b))],)
        elif widest[a, b]:
            assert found.peak_bytes_per_s == widest[a, b]
            assert link_class(topology, a, b) == "routed"
        else:
            assert link_class(topology, a, b) == "PCIe through host"


def test_devices_without_a_model_are_named_by_the_library(tmp_path: Path) -> None:
    """Catches an unnamed GPU although the management library knows its name."""
    write_tree(tmp_path, amd.without_caches(amd.mi300a_x4()))
    for place in (tmp_path / "sys").rglob("product_name"):
        place.unlink()
    gpus = kfd.with_names(kfd.read(tmp_path / "sys").gpus, {"0000:42:00.0": "a name"})
    assert [gpu.model for gpu in gpus] == [None, "a name", None, None]


def test_what_kfd_tells_of_compute_units(tmp_path: Path) -> None:
    """Catches KiB taken for bytes, watts for millionths, and the 0 W of a second die for a limit."""
    machine = amd.frontier()
    caches = (CacheSpec(1, "Data", 16), CacheSpec(1, "Instruction", 32, 2), CacheSpec(2, "Unified", 8192, 0))
    told = {
        "dies": 1,
        "clock_mhz": 1700,
        "caches": caches,
        "line_bytes": 64,
        "partition_modes": ("SPX", "CPX"),
    }
    first = replace(machine.gpus[0], power_limit_watts=560, **told)  # type: ignore[arg-type]
    found = amd.topology_of(tmp_path, replace(machine, gpus=(first, *machine.gpus[1:])))
    gpu, other = found.device("gpu0"), found.device("gpu1")
    assert (gpu.dies, gpu.clock_mhz, gpu.power_limit_watts) == (1, 1700, 560)
    assert gpu.partition_modes == ("SPX", "CPX")
    assert gpu.caches == (
        Cache(1, "data", 16384, 64, 1),
        Cache(1, "instruction", 32768, 64, 2),
        Cache(2, "unified", 8388608, 64, 110),
    )
    assert (other.dies, other.clock_mhz, other.power_limit_watts, other.caches) == (None, None, None, ())


@given(st.text(max_size=200))
def test_any_properties_of_a_cache(text: str) -> None:
    """Catches an exception, or a cache without a size, of a file that no kernel writes."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "0", "properties")
        place.parent.mkdir()
        place.write_text(text, encoding="utf-8")
        assert all(one.size_bytes > 0 and one.level > 0 for one in read_caches(Path(folder)))


def test_caches_of_a_kernel_that_lists_them_otherwise(tmp_path: Path) -> None:
    """Catches a cache without siblings that nobody has, a second one of a kind, and one without a size."""
    entries = ("level 1\nsize 16\ntype 9", "level 1\nsize 99\ntype 9", "level 2\ntype 11", "size 8", "")
    for number, text in enumerate(entries):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "properties").write_text(text)
    assert read_caches(tmp_path) == (Cache(1, "data", 16384, 0, 1),)
    assert read_caches(tmp_path / "none") == ()


def test_a_cache_on_the_memory_side_counts(tmp_path: Path) -> None:
    """Catches cold buffers that exceed the L2 cache, which the runtime reports, and stay in a larger one."""
    machine = amd.without_caches(amd.mi300x_x8())
    caches = (
        CacheSpec(1, "Instruction", 64),
        CacheSpec(2, "Unified", 4096, 0),
        CacheSpec(3, "Data", 262144, 0),
    )
    write_tree(tmp_path, replace(machine, gpus=(replace(machine.gpus[0], caches=caches),), links=()))
    listed = listed_caches(tmp_path / "sys")
    address, largest = next(iter(listed.items()))
    runtime = SimpleNamespace(name="gpu0", runtime="hip", pci_address=address, last_level_cache_bytes=4096)
    other = SimpleNamespace(name="gpu1", runtime="cuda", pci_address="ffff:00:00.0", last_level_cache_bytes=9)
    cpu = SimpleNamespace(name="cpu0", runtime="host", pci_address="", last_level_cache_bytes=7)
    devices: Any = [runtime, other, cpu]
    assert largest == 256 << 20
    assert last_level_caches(devices, False, tmp_path / "sys") == {"gpu0": largest, "gpu1": 9, "cpu0": 7}
    assert last_level_caches(devices, True, tmp_path / "sys") == {"gpu0": 4096, "gpu1": 9, "cpu0": 7}
