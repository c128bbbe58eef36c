"""What `byteways doctor` says of AMD's driver, device files and settings, each in each of its states."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from byteways.machine.sysfs_writer import write_tree
from byteways.measuring.doctor.check import Diagnosis
from byteways.measuring.doctor.gpu_driver import (
    check_device_files,
    check_gpu_driver,
    check_iommu,
    check_module,
    check_releases,
)
from byteways.measuring.doctor.process import check_variables
from tests.machines import amd
from tests.machines.synthetic import write

ON_BUS = [("AMD", "0000:c1:00.0"), ("AMD", "0000:c6:00.0")]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A Frontier node on which all is in order."""
    write_tree(tmp_path, amd.frontier())
    write(tmp_path / "sys/module/amdgpu/version", "6.10.5")
    write(tmp_path / "dev/kfd", "")
    for number in range(128, 136):
        write(tmp_path / f"dev/dri/renderD{number}", "")
    write(tmp_path / "opt/rocm/.info/version", "6.4.3-128")
    write(tmp_path / "opt/rocm-6.4.3/.info/version", "6.4.3-128")
    return tmp_path


def found(checks: list[Diagnosis], name: str) -> Diagnosis:
    (check,) = [check for check in checks if check.name == name]
    return check


def test_a_node_in_order(node: Path) -> None:
    """Catches false alarm, and a version that is not told."""
    checks = check_gpu_driver(ON_BUS, {}, node)
    assert {check.state for check in checks} == {"ok"}
    assert found(checks, "amdgpu").text == "version 6.10.5"
    assert found(checks, "device files").text == "/dev/kfd and 8 render nodes"
    assert found(checks, "ROCm").text == "6.4.3-128 in /opt/rocm"
    assert "XNACK" in found(checks, "page faults gfx90a").text


def test_nothing_is_said_without_such_a_gpu(tmp_path: Path) -> None:
    """Catches advice about AMD on a machine that has none."""
    assert check_gpu_driver([("NVIDIA", "0000:3b:00.0")], {}, tmp_path) == []


def test_a_module_that_is_not_loaded(tmp_path: Path) -> None:
    """Catches a long list of consequences in place of their one cause."""
    (check,) = check_gpu_driver(ON_BUS, {}, tmp_path)
    assert (check.name, check.state) == ("amdgpu", "problem")
    assert "modprobe" in (check.advice or "")
    (tmp_path / "sys/module/amdgpu").mkdir(parents=True)
    assert check_module(tmp_path).text.startswith("in-kernel driver, ")


def test_device_files(node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a user without the group, and a container without the devices, that go unexplained."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "kfd")
    refused = check_device_files(node)
    assert (refused.state, refused.text) == ("problem", "/dev/kfd cannot be opened by this user")
    assert "render,video" in (refused.advice or "")
    for file in (node / "dev/dri").iterdir():
        file.unlink()
    assert "renderD" in check_device_files(node).text
    (node / "dev/kfd").unlink()
    missing = check_device_files(node)
    assert (missing.state, missing.text.split()[0]) == ("problem", "/dev/kfd")
    assert "--device=/dev/kfd" in (missing.advice or "")


def test_no_release_below_opt(tmp_path: Path) -> None:
    """Catches alarm over ROCm from a package of the system or of Python."""
    assert check_releases(tmp_path).state == "ok"


@pytest.mark.parametrize(
    ("environment", "state", "said"),
    [
        ({"ROCR_VISIBLE_DEVICES": "0,1"}, "ok", "ROCR_VISIBLE_DEVICES=0,1 exposes 2 of 8 GPUs"),
        (
            {"ROCR_VISIBLE_DEVICES": "4", "HIP_VISIBLE_DEVICES": "4"},
            "problem",
            "ROCR_VISIBLE_DEVICES=4, HIP_VISIBLE_DEVICES=4 exposes 0 of 8 GPUs",
        ),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "ok", "exposes 1 of 8 GPUs"),
    ],
)
def test_variables_that_hide_gpus(node: Path, environment: dict[str, str], state: str, said: str) -> None:
    """Catches GPUs that are missing for a reason that nobody names."""
    check = found(check_gpu_driver(ON_BUS, environment, node), "hidden GPUs")
    assert check.state == state
    assert said in check.text
    assert (check.advice is None) == (state == "ok")


def test_an_iommu_that_translates(tmp_path: Path) -> None:
    """Catches slow transfers over PCIe that nobody explains, and alarm over pass-through."""
    for address, mode in (("0000:c1:00.0", "DMA-FQ"), ("0000:c6:00.0", "identity")):
        write(tmp_path / f"sys/bus/pci/devices/{address}/iommu_group/type", mode)
    (check,) = check_iommu([address for _, address in ON_BUS], tmp_path)
    assert check.text == "address translation (DMA-FQ) for 0000:c1:00.0"
    assert "iommu=pt" in (check.advice or "")


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("GPU_MAX_HW_QUEUES", "4", "warning"),
        ("GPU_MAX_HW_QUEUES", "16", "ok"),
        ("HSA_ENABLE_SDMA", "0", "warning"),
        ("HSA_ENABLE_PEER_SDMA", "1", "ok"),
        ("AMD_SERIALIZE_KERNEL", "3", "warning"),
        ("HIP_LAUNCH_BLOCKING", "0", "ok"),
        ("HSA_XNACK", "1", "ok"),
        ("HSA_SOMETHING", "1", "ok"),
    ],
)
def test_variables_of_rocm(name: str, value: str, state: str) -> None:
    """Catches a setting that changes every figure and is called well, or one that is told twice."""
    (check,) = check_variables({name: value})
    assert (check.name, check.state) == (name, state)
