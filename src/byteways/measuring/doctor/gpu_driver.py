"""Checks of the AMD GPU software: kernel driver, device files, ROCm, and settings that hide or slow GPUs."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from byteways.machine import kfd
from byteways.machine.kfd import Kfd
from byteways.machine.sysfs_cpu import read_text
from byteways.measuring.doctor.check import Diagnosis

#: How to give a user access to the device files.
_GROUPS = "usermod -aG render,video $USER, then log in again"
_CONTAINER = "in a container: --device=/dev/kfd --device=/dev/dri --group-add render"
#: IOMMU group types without address translation (kernel: sysfs-kernel-iommu_groups).
_UNTRANSLATED = ("identity",)


def check_gpu_driver(
    on_bus: Sequence[tuple[str, str]], environment: Mapping[str, str], root: Path = Path("/")
) -> list[Diagnosis]:
    """Returns all checks; none on a machine without AMD GPUs and their driver.

    Args:
        on_bus: (vendor, PCI address) of the GPUs on the PCI bus.
        environment: Variables of the process.
        root: Root of the file system.
    """
    addresses = [address for vendor, address in on_bus if vendor == "AMD"]
    driver = kfd.read(root / "sys")
    if not addresses and not driver.gpus:
        return []
    module = check_module(root)
    if module.state == "problem":
        return [module]
    return [
        module,
        check_device_files(root),
        check_releases(root),
        *check_visible(driver, environment),
        *(
            Diagnosis("GPUs", f"page faults {name}", "ok", text)
            for name, text in sorted(driver.page_faults.items())
        ),
        *check_iommu(addresses, root),
    ]


def check_module(root: Path) -> Diagnosis:
    """Reports the kernel module and its version, which only AMD's own package has."""
    if not (root / "sys/module/amdgpu").is_dir():
        advice = "modprobe amdgpu (administrator); dmesg says why it was not loaded at boot"
        return Diagnosis("GPUs", "amdgpu", "problem", "the kernel module is not loaded", advice)
    version = read_text(root / "sys/module/amdgpu/version")
    text = f"version {version}" if version else f"in-kernel driver, {platform.release()}"
    return Diagnosis("GPUs", "amdgpu", "ok", text)


def check_device_files(root: Path) -> Diagnosis:
    """Checks `/dev/kfd` and the render nodes, which every HIP process opens."""
    files = [root / "dev/kfd", *sorted((root / "dev/dri").glob("renderD*"))]
    if not files[0].exists():
        text = "/dev/kfd does not exist: no process can compute on AMD GPUs"
        return Diagnosis("GPUs", "device files", "problem", text, _CONTAINER)
    if len(files) == 1:
        text = "no /dev/dri/renderD* exists: the runtime finds no GPU"
        return Diagnosis("GPUs", "device files", "problem", text, _CONTAINER)
    refused = [file for file in files if not os.access(file, os.R_OK | os.W_OK)]
    if refused:
        names = ", ".join(f"/{file.relative_to(root)}" for file in refused)
        text = f"{names} cannot be opened by this user"
        return Diagnosis("GPUs", "device files", "problem", text, f"{_GROUPS}; {_CONTAINER}")
    nodes = len(files) - 1
    return Diagnosis(
        "GPUs", "device files", "ok", f"/dev/kfd and {nodes} render node{'s' if nodes > 1 else ''}"
    )


def check_releases(root: Path) -> Diagnosis:
    """Lists ROCm releases in the usual folder."""
    releases: dict[str, str] = {}
    for folder in sorted((root / "opt").glob("rocm*")):
        if version := read_text(folder / ".info/version"):
            releases.setdefault(version, f"/{folder.relative_to(root)}")
    if not releases:
        return Diagnosis("GPUs", "ROCm", "ok", "no release under /opt; see the libraries above")
    listed = ", ".join(f"{version} in {place}" for version, place in releases.items())
    return Diagnosis("GPUs", "ROCm", "ok", listed)


def check_visible(driver: Kfd, environment: Mapping[str, str]) -> list[Diagnosis]:
    """Reports variables that hide GPUs, and how many GPUs remain."""
    names = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    there, seen = len(driver.gpus), len(kfd.visible(driver.gpus, environment))
    if there == seen:
        return []
    variables = ", ".join(f"{name}={environment[name]}" for name in names if name in environment)
    text = f"{variables} exposes {seen} of {there} GPUs"
    if seen:
        return [Diagnosis("GPUs", "hidden GPUs", "ok", text)]
    return [Diagnosis("GPUs", "hidden GPUs", "problem", text, f"unset {', '.join(names)}")]


def check_iommu(addresses: Sequence[str], root: Path) -> list[Diagnosis]:
    """Checks IOMMU address translation, which slows PCIe copies and may prevent peer access."""
    modes: dict[str, list[str]] = {}
    for address in addresses:
        mode = read_text(root / "sys/bus/pci/devices" / address / "iommu_group/type")
        if mode and mode not in _UNTRANSLATED:
            modes.setdefault(mode, []).append(address)
    advice = "boot with iommu=pt (administrator): transfers over PCIe are slower, and peers may be refused"
    return [
        Diagnosis("GPUs", "IOMMU", "warning", f"address translation ({mode}) for {', '.join(names)}", advice)
        for mode, names in modes.items()
    ]
