"""A machine model says at once what discovery would find in its files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from byteways.models.library import load, names
from byteways.models.model import MachineModel, SourcedValue
from byteways.models.topology import topology_of
from tests.machines import model_tree


def told(model: MachineModel) -> dict[str, dict[str, Any]]:
    """What a simulated worker tells of the devices, as far as the topology has it."""
    cpus = {f"cpu{number}": {"numa_domain": number} for number in range(model.each("cpu.domains"))}
    gpus = {
        f"gpu{number}": {
            "pci_address": address.upper(),
            "architecture": model.text_of("gpu.architecture"),
            "uuid": f"GPU-{number:032x}",
            "multiprocessors": 7,
        }
        for number, address in enumerate(model.texts("gpu.pci_addresses")[: model.each("gpu.count")])
    }
    return {**cpus, **gpus}


def assert_same(folder: Path, model: MachineModel, devices: Any = None, faults: tuple[str, ...] = ()) -> None:
    assert topology_of(model, devices, faults) == model_tree.discovered(folder, model, devices, faults)


def changed(name: str, **values: object) -> MachineModel:
    model = load(name)
    facts = {key.replace("__", "."): SourcedValue(value) for key, value in values.items()}  # type: ignore[arg-type]
    assert facts.keys() <= model.facts.keys()
    return replace(model, facts={**model.facts, **facts})


@pytest.mark.parametrize("name", names())
def test_topology_is_the_one_in_the_files(name: str, tmp_path: Path) -> None:
    """Would catch a property that the model says otherwise than its sysfs, KFD, SMBIOS and NVML would."""
    assert_same(tmp_path, load(name))


@pytest.mark.parametrize("name", names())
def test_topology_of_a_worker_is_the_one_in_the_files(name: str, tmp_path: Path) -> None:
    """Would catch the same beside a runtime: one that opens all devices, some GPUs or none."""
    model = load(name)
    devices = told(model)
    some = {name: fields for name, fields in devices.items() if name not in ("gpu0", "gpu3")}
    none = {name: fields for name, fields in devices.items() if name.startswith("cpu")}
    for number, opened in enumerate((devices, some, none)):
        assert_same(tmp_path / str(number), model, opened)


@pytest.mark.parametrize("name", names())
def test_topology_without_links_is_the_one_in_the_files(name: str, tmp_path: Path) -> None:
    """Would catch a peer or a NIC that is reached over a link which is down, and one that is not reached."""
    model = load(name)
    links = [
        pair
        for index in range(model.count("links"))
        if model.text_of(f"links.{index}.kind") != "numa"
        for pair in model.texts(f"links.{index}.pairs")
        if "cpu" not in pair  # without them the model passes the limit of PCI Express
    ]
    for number, gone in enumerate((links[:1], links[::2], links)):
        faults = tuple(f"down:{pair}" for pair in gone)
        assert_same(tmp_path / str(number), model, told(model), faults)


def test_partitions_are_those_in_the_files(tmp_path: Path) -> None:
    """Would catch partitions of one device that count as devices, and packages without their links."""
    addresses = tuple(f"0000:c{bus}:00.{part}" for bus in range(4) for part in range(2))
    model = changed("mi300x-8", gpu__pci_addresses=addresses)
    assert [name for name in topology_of(model).switches if "package" in name]
    assert_same(tmp_path, model)


def test_unknown_and_emulated_links_are_those_in_the_files(tmp_path: Path) -> None:
    """Would catch another reason for the unknown rate of generation 1, and other neutral values."""
    for number, (generation, width) in enumerate(((1, 16), (5, 32), (6, 16))):
        model = changed("mi300x-8", topology__pcie_generation=generation, topology__pcie_width=width)
        assert_same(tmp_path / str(number), model)
