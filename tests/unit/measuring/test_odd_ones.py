"""The odd one out among equal devices, by every property and from every source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from byteways.machine import nccl_xml
from byteways.machine.discovery import discover
from byteways.machine.model import Device, Link, Topology
from byteways.machine.outliers import outliers
from byteways.measuring.doctor.devices import check_outliers
from tests.machines import amd, synthetic


def link(a: str, b: str, kind: str, count: int = 1, link_class: str = "PCIe 5.0 ×16") -> Link:
    return Link(a, b, kind, count, None, None, None, "", link_class)


def machine(gpus: int = 4) -> Topology:
    """Equal GPUs with 18 NVLinks to switches, one link to their CPU and equal memory."""
    names = [f"gpu{index}" for index in range(gpus)]
    devices = [Device(name, "gpu", "H200", numa_domain=0, memory_bytes=141 * 10**9) for name in names]
    links = [link(name, "nvswitch", "nvlink", 18) for name in names]
    links += [link(name, "cpu0", "pcie") for name in names]
    return Topology("a", (Device("cpu0", "cpu", "EPYC"), *devices), ("nvswitch",), tuple(links))


def with_link(topology: Topology, gpu: str, which: str, **changes: object) -> Topology:
    """The machine with another link of a GPU; without it if there are no changes."""
    links = []
    for one in topology.links:
        if (one.a, one.kind) != (gpu, which):
            links.append(one)
        elif changes:
            links.append(replace(one, **changes))  # type: ignore[arg-type]
    return replace(topology, links=tuple(links))


def with_gpu(topology: Topology, gpu: str, **changes: object) -> Topology:
    devices = tuple(
        replace(one, **changes) if one.name == gpu else one  # type: ignore[arg-type]
        for one in topology.devices
    )
    return replace(topology, devices=devices)


@pytest.mark.parametrize(
    ("change", "kind", "value"),
    [
        (lambda m: with_link(m, "gpu1", "nvlink"), "nvlink", "no NVLink"),
        (lambda m: with_link(m, "gpu1", "nvlink", count=17), "nvlink", "17 NVLinks"),
        (lambda m: with_link(m, "gpu1", "nvlink", kind="xgmi"), "xgmi", "18 xGMI links"),
        (lambda m: with_link(m, "gpu1", "pcie", link_class="PCIe 5.0 ×8"), "pcie", "PCIe 5.0 ×8"),
        (lambda m: with_link(m, "gpu1", "pcie", link_class="PCIe 3.0 ×16"), "pcie", "PCIe 3.0 ×16"),
        (lambda m: with_link(m, "gpu1", "pcie"), "pcie", "no PCIe link"),
        (lambda m: with_gpu(m, "gpu1", memory_bytes=2**36), "memory", "64 GiB of memory"),
        (lambda m: with_gpu(m, "gpu1", numa_domain=1), "numa", "NUMA domain 1"),
        (lambda m: with_gpu(m, "gpu1", numa_domain=None), "numa", "no NUMA domain"),
    ],
)
def test_one_of_four_that_differs_is_found(
    change: Callable[[Topology], Topology], kind: str, value: str
) -> None:
    """Catches a GPU that lacks links, lanes or memory and is drawn without a word."""
    found = {odd.kind: odd for odd in outliers(change(machine()))}
    assert (found[kind].devices, found[kind].value, found[kind].others) == (("gpu1",), value, 3)
    warnings = check_outliers(change(machine()))
    assert {(one.name, one.state) for one in warnings} == {(kind, "warning") for kind in found}


@pytest.mark.parametrize(
    "topology",
    [
        machine(),
        with_gpu(machine(), "gpu1", memory_bytes=140 * 10**9),
        with_gpu(machine(), "gpu1", model="L4", memory_bytes=2**34),
        with_gpu(with_gpu(machine(), "gpu2", numa_domain=1), "gpu3", numa_domain=1),
        with_gpu(machine(3), "gpu2", numa_domain=1),
        with_link(machine(2), "gpu1", "pcie", link_class="PCIe 5.0 ×8"),
        with_link(with_link(machine(), "gpu2", "nvlink"), "gpu3", "nvlink"),
    ],
)
def test_designs_are_not_odd(topology: Topology) -> None:
    """Catches a note on GPUs of two models, on two halves of a machine, or on reserved memory."""
    assert outliers(topology) == []


@pytest.mark.parametrize("spec", [amd.frontier, amd.mi300a_x4, amd.mi300x_x8, amd.mi300x_cpx, amd.two_cards])
def test_whole_machines_have_no_odd_one(spec: Callable[[], amd.MachineSpec], tmp_path: Path) -> None:
    """Catches a false note on a machine as its vendor builds it."""
    assert outliers(amd.topology_of(tmp_path, spec())) == []


def test_a_link_that_is_down_is_found_in_files_too(tmp_path: Path) -> None:
    """Catches a pair without its link that only the kernel driver's data show."""
    topology = amd.topology_of(tmp_path, amd.without(amd.mi300x_x8(), "gpu0", "gpu3"))
    (odd,) = outliers(topology)
    assert (odd.kind, odd.devices) == ("xgmi-pair", ("gpu0", "gpu3"))
    assert str(odd) in topology.notes
    gpus = [
        f'<pci busid="0000:0{index}:00.0" class="0x030200"><gpu dev="{index}" sm="90">'
        + ('<nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>' if index != 2 else "")
        + "</gpu></pci>"
        for index in range(4)
    ]
    read = nccl_xml.parse(f'<system><cpu numaid="0">{"".join(gpus)}</cpu></system>'.encode(), "a")
    (odd,) = outliers(read)
    assert (odd.kind, odd.devices, odd.usual) == ("nvlink", ("gpu2",), "18 NVLinks")
    assert str(odd) in read.notes


def test_a_domain_with_less_memory_is_found() -> None:
    """Catches a socket whose memory modules are missing."""
    sizes = (2**38, 2**38, 2**37, 2**38)
    devices = tuple(Device(f"cpu{i}", "cpu", "EPYC", memory_bytes=size) for i, size in enumerate(sizes))
    (odd,) = outliers(Topology("a", devices))
    assert (odd.kind, odd.devices, odd.usual) == ("memory", ("cpu2",), "256 GiB of memory")


@pytest.mark.parametrize(
    ("source", "kept"), [("kfd", True), ("bus", True), ("bus, but hidden", False), ("opened", False)]
)
def test_any_one_source_shows_a_gpu(source: str, kept: bool, tmp_path: Path) -> None:
    """Catches a GPU that its driver or the bus shows and topo does not, for lack of a runtime."""
    spec = amd.two_cards()
    amd.write_tree(tmp_path, amd.without_caches(spec))
    arguments = {
        "sysfs": tmp_path / "sys",
        "proc": tmp_path / "proc",
        "allowed_cores": amd.all_cores(spec),
        "management": [],
        "environment": {},
    }
    runtime = {"cpu0": synthetic.runtime_cpu(0)}
    if source.startswith("bus"):
        (tmp_path / "sys/class/kfd").rename(tmp_path / "sys/class/none")
    if source.endswith("hidden"):
        arguments["environment"] = {"ROCR_VISIBLE_DEVICES": ""}
    if source == "opened":
        for index, gpu in enumerate(spec.gpus):
            fields = {"runtime": "hip", "pci_address": gpu.pci_address}
            runtime[f"gpu{index}"] = {**synthetic.runtime_gpu(index, gpu.pci_address, ""), **fields}
    assert discover(runtime, **arguments).names("gpu") == [name for name in runtime if name.startswith("gpu")]  # type: ignore[arg-type]
    shown = discover(runtime, **arguments, unopened=True)  # type: ignore[arg-type]
    assert len([note for note in shown.notes if "no runtime opens it" in note]) == kept
    assert shown.names("gpu") == (["gpu0", "gpu1"] if kept or source == "opened" else [])
    if kept:
        model = shown.device("gpu0").model
        assert model == (spec.gpus[0].model if source == "kfd" else "AMD GPU")
