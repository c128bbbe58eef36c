"""Discovery on synthetic machines: what each source tells is in the Topology, and what lacks is a note."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import byteways
from byteways.base.vendor_query import Calls
from byteways.machine.model import PCIE_EMULATED, PCIE_UNREPORTED, Link, Topology, UnknownRate
from tests.machines import synthetic


def between(topology: Topology, a: str, b: str, kind: str | None = None) -> Link:
    found = [link for link in topology.links if {link.a, link.b} == {a, b} and kind in (None, link.kind)]
    assert len(found) == 1, f"{len(found)} links between {a} and {b}"
    return found[0]


def test_affinity_limits_cores_and_domains(tmp_path: Path) -> None:
    """Catches cores that this process may not use, and a domain that drops out without a word."""
    machine = synthetic.switched_server(tmp_path)
    topology = machine.topology(allowed_cores=[1], runtime_devices=None)
    assert topology.names() == ["cpu0"]
    assert topology.device("cpu0").cores == (1,)
    assert "NUMA domain 1 left out: this process cannot use any of its 2 cores" in topology.notes


def test_a_kernel_without_numa_gives_one_domain(tmp_path: Path) -> None:
    """Catches a crash or an empty machine where sysfs has no NUMA domains (containers, small kernels)."""
    synthetic.add_processor(tmp_path, "Toy", virtual=False)
    machine = synthetic.Machine(tmp_path / "sys", tmp_path / "proc", [3, 4])
    topology = machine.topology()
    assert topology.device("cpu0").cores == (3, 4)
    assert topology.device("cpu0").memory_bytes == 8_000_000 * 1024
    assert any("no NUMA domains" in note for note in topology.notes)


def test_memory_without_cores_is_an_end_that_the_nearest_cores_serve(tmp_path: Path) -> None:
    """Catches a memory expander (CXL) that is lost, or that seems to execute."""
    machine = synthetic.bare_vm(tmp_path)
    synthetic.add_domain(tmp_path, 1, "", 1_000_000, "20 10")
    topology = machine.topology(runtime_devices=None)
    assert topology.names() == ["cpu0", "cpu1"]
    assert topology.with_cores() == ["cpu0"]
    memory = topology.device("cpu1")
    assert (memory.executed_by, memory.cores, memory.memory_bytes) == ("cpu0", (), 1_000_000 * 1024)
    assert between(topology, "cpu0", "cpu1").kind == "numa"
    assert Topology.from_json(json.loads(json.dumps(topology.to_json()))) == topology
    assert not [note for note in topology.notes if "NUMA" in note]


def test_a_domain_without_memory_and_cores_is_nothing(tmp_path: Path) -> None:
    """Catches placeholders of firmware (for instances of a GPU) that are said to have memory."""
    machine = synthetic.bare_vm(tmp_path)
    for domain in range(1, 37):
        synthetic.add_domain(tmp_path, domain, "", 0, " ".join(["10"] * 37))
    assert machine.topology().names() == ["cpu0"]
    assert not [note for note in machine.topology().notes if "NUMA" in note]


@pytest.mark.parametrize(
    ("cpuinfo", "device_class", "names"),
    [
        ("CPU implementer : 0x41\nCPU part : 0xd4f", "0x030200", ["cpu0"]),
        ("flags : fpu", "0x030200", ["cpu0", "cpu1"]),
    ],
)
def test_memory_of_a_coherent_gpu_is_the_gpus(
    tmp_path: Path, cpuinfo: str, device_class: str, names: list[str]
) -> None:
    """Catches a GH200 whose GPU memory is a CPU device, too, and an x86 machine that loses its expander."""
    machine = synthetic.bare_vm(tmp_path)
    synthetic.write(tmp_path / "proc/cpuinfo", f"processor : 0\n{cpuinfo}")
    synthetic.add_domain(tmp_path, 1, "", 1_000_000, "20 10")
    synthetic.write(tmp_path / "sys/bus/pci/devices/0009:01:00.0/vendor", "0x10de")
    synthetic.write(tmp_path / "sys/bus/pci/devices/0009:01:00.0/class", device_class)
    topology = machine.topology(runtime_devices=None)
    assert topology.names() == names
    assert len([note for note in topology.notes if note.startswith("NUMA domain 1 left out")]) == 2 - len(
        names
    )


def test_every_allowed_core_is_of_a_device_or_in_a_note(tmp_path: Path) -> None:
    """Catches cores whose NUMA domain is offline, which vanish without a word."""
    synthetic.add_domain(tmp_path, 1, "1,3", 1_000_000, "10")
    synthetic.add_processor(tmp_path, "Xeon", virtual=False)
    machine = synthetic.Machine(tmp_path / "sys", tmp_path / "proc", range(6))
    topology = machine.topology()
    assert {device.name: device.cores for device in topology.devices} == {"cpu1": (1, 3)}
    assert "CPUs 0,2,4-5 left out (4 of 6 that this process may use)" in " / ".join(topology.notes)


_GRACE, _EC2 = ("devices/soc0/soc_id", "jep106:036b:0241"), ("class/dmi/id/sys_vendor", "Amazon EC2")


@pytest.mark.parametrize(
    ("cores", "file", "model"),
    [
        (["0x41 0xd4f"], _GRACE, "Grace (Neoverse-V2)"),
        (["0x41 0xd4f"], _EC2, "Graviton4 (Neoverse-V2)"),
        (["0x41 0xd40"], _EC2, "Graviton3 (Neoverse-V1)"),
        (["0x41 0xd0c"], None, "Neoverse-N1"),
        (["0x46 0x001"], None, "A64FX"),
        (["0x48 0xd01"], None, "Kunpeng-920 (TaiShan-v110)"),
        (["0xc0 0xac3"], None, "AmpereOne (Ampere-1)"),
        (["0x41 0xd85", "0x41 0xd87", "0x41 0xd85"], None, "Cortex-X925 + Cortex-A725"),
        (["0x41 0xfff"], None, "Arm part 0xfff"),
        (["0x7f 0x001"], None, "Arm implementer 0x7f part 0x001"),
    ],
)
def test_names_of_arm_processors(
    tmp_path: Path, cores: list[str], file: tuple[str, str] | None, model: str
) -> None:
    """Catches an Arm processor without a name, and one whose cores of two designs seem alike."""
    synthetic.add_domain(tmp_path, 0, f"0-{len(cores) - 1}", 1_000_000, "10")
    text = ""
    for cpu, core in enumerate(cores):
        implementer, part = core.split()
        text += f"processor\t: {cpu}\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n\n"
    synthetic.write(tmp_path / "proc/cpuinfo", text)
    if file:
        synthetic.write(tmp_path / "sys" / file[0], file[1])
    machine = synthetic.Machine(tmp_path / "sys", tmp_path / "proc", range(len(cores)))
    device = machine.topology().device("cpu0")
    assert device.model == model
    types = {one.name: one.cores for one in device.core_types}
    assert types == ({"Cortex-X925": (0, 2), "Cortex-A725": (1,)} if len(cores) > 1 else {})


def test_hidden_far_ends_of_unequal_counts_are_not_guessed(tmp_path: Path) -> None:
    """Catches an NVSwitch made up where GPUs may just as well be wired to each other."""
    machine = synthetic.h200x4(tmp_path)
    del machine.management[1].fabric_links[12:]
    topology = machine.topology()
    assert topology.switches == ()
    assert "gpu1: the far ends of 12 active NVLinks are hidden" in topology.notes


def test_a_single_gpu_with_hidden_far_ends_gets_no_switch(tmp_path: Path) -> None:
    """Catches a link to nowhere on a machine that was given one GPU of a larger one."""
    machine = synthetic.h200x4(tmp_path)
    runtime = {name: fields for name, fields in (machine.runtime or {}).items() if name in ("cpu0", "gpu0")}
    topology = machine.topology(runtime_devices=runtime)
    assert topology.switches == ()
    assert "gpu0: the far ends of 18 active NVLinks are hidden" in topology.notes


def test_direct_bundles_are_drawn_once(tmp_path: Path) -> None:
    """Catches bundles that are counted from both ends or attached to the wrong GPU."""
    machine = synthetic.h200x4(tmp_path)
    addresses = [device.pci_address for device in machine.management]
    for me, device in enumerate(machine.management):
        peers = [peer for peer in range(4) if peer != me]
        device.fabric_links = [
            synthetic.FabricLink(i, remote_kind="gpu", remote_pci_address=addresses[peers[i // 4]])
            for i in range(12)
        ]
    topology = machine.topology()
    bundles = [link for link in topology.links if link.kind == "nvlink"]
    assert len(bundles) == 6
    assert {link.count for link in bundles} == {4}
    assert between(topology, "gpu1", "gpu3").peak_bytes_per_s == 100e9


def test_a_far_end_of_unknown_kind_with_a_gpus_address_is_that_gpu(tmp_path: Path) -> None:
    """Catches an NVSwitch drawn between GPUs whose drivers tell an address but no kind."""
    machine = synthetic.h200x4(tmp_path)
    for me, device in enumerate(machine.management):
        peer = machine.management[me ^ 1].pci_address
        device.fabric_links = [
            synthetic.FabricLink(i, remote_kind="unknown", remote_pci_address=peer) for i in range(2)
        ]
    topology = machine.topology()
    assert topology.switches == ()
    assert between(topology, "gpu0", "gpu1").peak_bytes_per_s == 50e9


def test_nvlink_to_the_cpu(tmp_path: Path) -> None:
    """Catches NVLinks to a processor that are taken for links to a switch."""
    machine = synthetic.h200x4(tmp_path)
    for link in machine.management[0].fabric_links:
        link.remote_kind = "cpu"
    assert between(machine.topology(), "gpu0", "cpu0", "nvlink").count == 18


def test_mig_and_inactive_links_close_nvlink(tmp_path: Path) -> None:
    """Catches peaks over links that are down or that MIG has closed."""
    machine = synthetic.h200x4(tmp_path)
    machine.management[0].mig_enabled = True
    for device in machine.management[1:]:
        for link in device.fabric_links:
            link.remote_kind = "switch"
    for link in machine.management[1].fabric_links[:2]:
        link.active = False
    topology = machine.topology()
    assert not [link for link in topology.links if link.a == "gpu0" and link.kind == "nvlink"]
    assert between(topology, "gpu1", "nvswitch").peak_bytes_per_s == 400e9
    assert "gpu0: MIG is on, which closes its 18 NVLinks to peers" in topology.notes
    assert "gpu1: 2 of 18 NVLinks are not active" in topology.notes


def test_bridges_of_a_virtual_machine_do_not_count(tmp_path: Path) -> None:
    """Catches the invented speed of an emulated bridge that would become a GPU's peak."""
    machine = synthetic.switched_server(tmp_path)
    synthetic.add_processor(tmp_path, "Toy", virtual=True)
    topology = machine.topology()
    assert topology.switches == ()
    assert between(topology, "gpu2", "cpu1").link_class == "PCIe 5.0 ×16"
    assert any("PCIe switches are hidden" in note for note in topology.notes)


def test_a_gpu_that_nothing_describes_still_is_an_device(tmp_path: Path) -> None:
    """Catches a GPU of the runtime that is dropped, or gets a made-up link rate, without NVML and sysfs."""
    machine = synthetic.bare_vm(tmp_path)
    runtime = {**(machine.runtime or {}), "gpu0": synthetic.runtime_gpu(0, "", "GPU-x", memory_bytes_per_s=0)}
    topology = machine.topology(runtime_devices=runtime)
    link = between(topology, "gpu0", "cpu0")
    assert (link.peak_bytes_per_s, link.link_class) == (None, "PCIe")
    assert "neither NVML nor sysfs shows this device" in link.source
    gpu = topology.device("gpu0")
    assert gpu.memory_peak_bytes_per_s is None
    assert "neither the runtime nor NVML" in (gpu.memory_peak_source or "")


def test_runtime_names_are_matched_by_uuid_then_address(tmp_path: Path) -> None:
    """Catches names that follow NVML's order although the runtime numbers GPUs otherwise."""
    machine = synthetic.h200x4(tmp_path)
    devices = machine.management
    runtime = {
        "cpu0": synthetic.runtime_cpu(0),
        "gpu0": synthetic.runtime_gpu(0, "", devices[3].uuid),
        "gpu1": synthetic.runtime_gpu(1, "0000:00:06.0", "MIG-of-another-name"),
    }
    topology = machine.topology(runtime_devices=runtime)
    assert topology.device("gpu0").pci_address == "0000:00:08.0"
    assert topology.device("gpu1").pci_address == "0000:00:06.0"


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (None, [0, 1, 2, 3]),
        ("2,0", [2, 0]),
        ("", []),
        ("1,9,2", [1]),
        ("GPU-00000003", [3]),
        ("1,1", [1]),
        ("-1", []),
    ],
)
def test_visible_devices_without_a_runtime(tmp_path: Path, wanted: str | None, numbers: list[int]) -> None:
    """Catches GPUs that CUDA_VISIBLE_DEVICES hides or orders otherwise than the CUDA guide says."""
    machine = synthetic.h200x4(tmp_path)
    environment = {} if wanted is None else {"CUDA_VISIBLE_DEVICES": wanted}
    topology = machine.topology(runtime_devices=None, environment=environment)
    gpus = [device for device in topology.devices if device.kind == "gpu"]
    assert [device.name for device in gpus] == [f"gpu{i}" for i in range(len(numbers))]
    assert [device.uuid for device in gpus] == [machine.management[number].uuid for number in numbers]


def test_gpus_on_the_bus_that_nothing_opens_are_named(tmp_path: Path) -> None:
    """Catches silence about GPUs whose driver is missing."""
    machine = synthetic.h200x4(tmp_path)
    topology = machine.topology(runtime_devices={"cpu0": synthetic.runtime_cpu(0)}, management=[])
    (note,) = [note for note in topology.notes if "no runtime opens" in note]
    assert "NVIDIA" in note
    assert "0000:00:05.0" in note


def test_gpus_of_unknown_domain_are_drawn_somewhere_and_said_so(tmp_path: Path) -> None:
    """Catches a GPU without a way to the host when the system does not tell its domain."""
    machine = synthetic.switched_server(tmp_path)
    runtime = {**(machine.runtime or {}), "gpu2": synthetic.runtime_gpu(2, "", "GPU-2", numa_domain=-1)}
    topology = machine.topology(runtime_devices=runtime)
    assert between(topology, "gpu2", "cpu0").kind == "pcie"
    assert "gpu2: its NUMA domain is unknown; drawn at cpu0" in topology.notes


def test_unusable_nvml_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a missing management library that ends discovery instead of being told."""
    from byteways.machine import nvml

    monkeypatch.setattr(nvml, "read", lambda: nvml.Nvml(reason="NVML: libnvidia-ml.so.1 was not found"))
    topology = synthetic.bare_vm(tmp_path).topology(management=None)
    assert topology.notes == ("NVML: libnvidia-ml.so.1 was not found",)


class FakeManagement:
    """Stands for _core.Management in one of its states."""

    def __init__(self, usable: bool, failing: bool = False) -> None:
        fields = dict.fromkeys(("library", "path", "found_by", "version", "searched", "hint"), "")
        reason = "libnvidia-ml.so.1 was not found"
        self.report = type("Report", (), {**fields, "usable": usable, "reason": reason, "missing": []})
        self._failing = failing

    def devices(self) -> list[object]:
        if self._failing:
            raise RuntimeError("nvmlInit_v2: NVML_ERROR_DRIVER_NOT_LOADED")
        return []


@pytest.mark.parametrize(
    ("library", "reason"),
    [
        (FakeManagement(usable=False), "NVML: libnvidia-ml.so.1 was not found"),
        (FakeManagement(usable=True, failing=True), "NVML: nvmlInit_v2: NVML_ERROR_DRIVER_NOT_LOADED"),
        (None, "NVML unavailable: byteways' native module does not load (no module)"),
    ],
)
def test_every_state_of_nvml(
    library: FakeManagement | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches an exception that leaves discovery when NVML is missing, too old, or fails."""
    from byteways.machine import nvml

    class Core:
        Error = RuntimeError

        def __getattr__(self, name: str) -> object:
            if library is None:
                raise ImportError("no module")
            return lambda *_: library

    monkeypatch.setitem(sys.modules, "byteways._core", Core())
    monkeypatch.setattr(byteways, "_core", Core(), raising=False)
    told = nvml.describe(Calls())
    assert (told["devices"], told["reason"]) == ([], reason)


def test_nvml_speaks_of_pcie_when_sysfs_is_silent(tmp_path: Path) -> None:
    """Catches PCIe links lost where a container hides sysfs, and a generation that no table knows."""
    machine = synthetic.h200x4(tmp_path)
    empty = tmp_path / "empty"
    topology = machine.topology(sysfs=empty)
    assert between(topology, "gpu0", "cpu0").link_class == "PCIe 5.0 ×16"
    machine.management[0] = replace(machine.management[0], pcie_generation_max=9)
    assert between(machine.topology(sysfs=empty), "gpu0", "cpu0").peak_bytes_per_s is None


def test_topo_shows_memory_without_cores_and_core_types(tmp_path: Path) -> None:
    """Catches an expander with "unknown" cores, and cores of two designs shown as one."""
    from byteways.cli.topo import blocks
    from byteways.console.layout import plain

    machine = synthetic.bare_vm(tmp_path)
    synthetic.add_domain(tmp_path, 1, "", 1_000_000, "20 10")
    cores = "processor : {}\nCPU implementer : 0x41\nCPU part : {}\n\n"
    synthetic.write(tmp_path / "proc/cpuinfo", cores.format(0, "0xd85") + cores.format(1, "0xd87"))
    shown = blocks(machine.topology(runtime_devices=None))
    text = "\n".join(line for block in shown for line in plain(block))
    assert "none; cpu0 executes" in text
    assert "cpu0: Cortex-A725 1 (1), Cortex-X925 1 (0)" in text


@pytest.mark.parametrize("virtual", [True, False])
def test_emulated_bridges_and_links_are_unknown(tmp_path: Path, virtual: bool) -> None:
    """Catches the 0.25 GB/s of an emulated bridge as the peak of a passed-through GPU, by sysfs or NVML."""
    synthetic.add_processor(tmp_path, "guest", virtual=virtual)
    synthetic.add_domain(tmp_path, 0, "0-1", 1_000_000, "10")
    chain = ("0000:00:01.0", "0000:01:00.0")
    synthetic.add_pci(tmp_path, chain[:1], "2.5 GT/s PCIe", 1)
    synthetic.add_pci(tmp_path, chain, "32.0 GT/s PCIe", 16)
    one = synthetic.ManagementDevice(0, "00000000:01:00.0", "GPU-1", pcie_generation_max=1, pcie_width_max=1)
    machine = synthetic.Machine(tmp_path / "sys", tmp_path / "proc", range(2), None, [one])
    assert between(machine.topology(), "gpu0", "cpu0").link_class == "PCIe 5.0 ×16"
    place = tmp_path / "sys/devices/pci0000:00" / "/".join(chain)
    (place / "max_link_width").write_text("0")
    link = between(machine.topology(), "gpu0", "cpu0")
    assert (link.peak_bytes_per_s, link.signalling_bytes_per_s) == (None, None)
    assert link.unknown == UnknownRate(PCIE_UNREPORTED, "32.0 GT/s PCIe", "0")
    (place / "max_link_width").write_text("16")
    (place / "max_link_speed").write_text("2.5 GT/s PCIe")
    emulated = between(machine.topology(), "gpu0", "cpu0").unknown
    assert emulated == UnknownRate(PCIE_EMULATED, "2.5 GT/s PCIe", "16")
