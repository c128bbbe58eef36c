"""Checks of the GPUs: other users, restricting modes, and peer access."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from byteways.cases.memory import VARIANTS
from byteways.machine import nvml
from byteways.machine.model import Capabilities, Offer, Topology
from byteways.machine.nvml import ManagementDevice
from byteways.machine.outliers import outliers
from byteways.measuring.doctor.check import Diagnosis
from byteways.measuring.shared.health_users import GpuUse

#: Name of MPS's daemons, truncated by the kernel to 15 characters.
MPS_PROCESS = "nvidia-cuda-mps"
#: Command that shows peer access, by runtime.
PEER_COMMANDS = {"cuda": "nvidia-smi topo -p2p rw", "hip": "rocm-smi --showtopoaccess"}


def check_gpus(
    capabilities: Capabilities,
    management: Sequence[ManagementDevice],
    on_bus: Sequence[tuple[str, str]],
    users: Mapping[str, GpuUse],
) -> list[Diagnosis]:
    """Checks every GPU that a runtime opens, then the pairs.

    Args:
        capabilities: As probed by a worker.
        management: NVML's devices; may be empty.
        on_bus: (vendor, PCI address) of the GPUs on the PCI bus.
        users: Users of the GPUs by device; GPUs without information are absent.
    """
    gpus = {name: fields for name, fields in capabilities.devices.items() if fields["runtime"] != "host"}
    if not gpus:
        return [_none(on_bus)]
    checks: list[Diagnosis] = []
    for name, fields in gpus.items():
        device = nvml.match(fields, management)
        checks += _state(name, fields, device, users.get(name, GpuUse())) + _offers(name, capabilities)
    return checks + _peers(capabilities.peer, {str(fields["runtime"]) for fields in gpus.values()})


def check_outliers(topology: Topology) -> list[Diagnosis]:
    """Warns of devices that have less, or other, than the others of their model."""
    advice = (
        "compare with byteways topo on an equal node; look for link errors in the kernel's log, then reseat "
        "or replace the device"
    )
    return [
        Diagnosis(
            "GPUs" if odd.devices[0].startswith("gpu") else "host", odd.kind, "warning", str(odd), advice
        )
        for odd in outliers(topology)
    ]


def check_mps(proc: Path, environment: Mapping[str, str]) -> Diagnosis | None:
    """Checks for CUDA's multi-process service, a server between workers and GPUs; None if not in use."""
    running = any(_is_mps(comm) for comm in proc.glob("[0-9]*/comm"))
    pipes = environment.get("CUDA_MPS_PIPE_DIRECTORY")
    if not running and pipes is None:
        return None
    signs = ["its daemon is running"] if running else []
    signs += [f"CUDA_MPS_PIPE_DIRECTORY is {pipes}"] if pipes is not None else []
    advice = (
        "echo quit | nvidia-cuda-mps-control, and unset CUDA_MPS_PIPE_DIRECTORY: other clients share the GPU"
    )
    return Diagnosis("GPUs", "MPS", "warning", " and ".join(signs), advice)


def _is_mps(comm: Path) -> bool:
    try:
        return comm.read_text().strip() == MPS_PROCESS
    except OSError:  # the process has exited meanwhile
        return False


def _none(on_bus: Sequence[tuple[str, str]]) -> Diagnosis:
    if not on_bus:
        return Diagnosis("GPUs", "GPUs", "ok", "none on the PCI bus; the host is measured")
    listed = ", ".join(f"{vendor} {address}" for vendor, address in on_bus)
    advice = "see the libraries above; in a container, start it with access to the GPUs"
    return Diagnosis("GPUs", "GPUs", "problem", f"PCI shows {listed}, but no runtime opens any", advice)


def _state(
    name: str, fields: Mapping[str, Any], device: ManagementDevice | None, use: GpuUse
) -> list[Diagnosis]:
    model = f"{fields['model']} {fields['pci_address']}".strip()
    found = _busy(name, device, use)
    if device is None:
        untold = "; NVML does not report its state" if fields["runtime"] == "cuda" else ""
        busy = [Diagnosis("GPUs", name, state, f"{model}; {text}", advice) for state, text, advice in found]
        return busy or [Diagnosis("GPUs", name, "ok", f"{model}{untold}")]
    if device.mig_enabled:
        whole = "nvidia-smi -mig 0 (administrator) to measure the whole GPU and its links"
        found.append(
            ("warning", "MIG is on: an instance has a share of the memory bandwidth and no NVLink", whole)
        )
    if device.compute_mode.startswith("exclusive"):
        share = "nvidia-smi -c DEFAULT (administrator)"
        found.append(("warning", f"compute mode {device.compute_mode}: a second process is refused", share))
    if device.compute_mode == "prohibited":
        found.append(("problem", "compute mode prohibited: no process may compute", "nvidia-smi -c DEFAULT"))
    if 0 < device.pcie_width < device.pcie_width_max:
        lanes = f"its PCIe link has {device.pcie_width} of {device.pcie_width_max} lanes"
        found.append(("warning", lanes, "reseat the card or the riser, check the slot's width in the manual"))
    if not found:
        alone = device.compute_processes == 0 or use.processes is not None
        idle = "no other process computes" if alone else "other processes unknown"
        text = f"{model}; {idle}, compute mode {device.compute_mode}, MIG off"
        return [Diagnosis("GPUs", name, "ok", text)]
    return [Diagnosis("GPUs", name, state, f"{model}; {text}", advice) for state, text, advice in found]


def _busy(name: str, device: ManagementDevice | None, use: GpuUse) -> list[tuple[str, str, str]]:
    """Returns findings on other users of the GPU: by name if listed, otherwise their number."""
    wait = "wait for them to end, or leave this GPU out (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES)"
    if (others := use.others()) is not None:
        return [("warning", f"busy: {use.told(others)}", wait)]
    if use.processes is None and device is not None and device.compute_processes > 0:
        plural = "process computes" if device.compute_processes == 1 else "processes compute"
        return [("warning", f"busy: {device.compute_processes} other {plural} on it", wait)]
    return []


def _offers(name: str, capabilities: Capabilities) -> list[Diagnosis]:
    """Lists memory kinds and interfaces that this GPU lacks, except host-only ones.

    A variant of memory that the GPU has is no loss: its vendor does not offer the choice.
    """
    refused: dict[str, list[str]] = {}
    for table in (capabilities.memory, capabilities.interface):
        of_host = {
            kind
            for device, offers in table.items()
            if capabilities.devices[device]["runtime"] == "host"
            for kind, offer in offers.items()
            if offer.available
        }
        for kind, offer in table.get(name, {}).items():
            if not offer.available and kind not in of_host:
                refused.setdefault(offer.reason, []).append(kind)
    advice = "cases that need it are skipped with this reason"
    has = {kind for kind, offer in capabilities.memory.get(name, {}).items() if offer.available}
    return [
        Diagnosis("GPUs", name, "ok", f"no {', '.join(kinds)}: {reason}")
        if all(VARIANTS.get(kind) in has for kind in kinds)
        else Diagnosis("GPUs", name, "warning", f"no {', '.join(kinds)}: {reason}", advice)
        for reason, kinds in refused.items()
    ]


def _peers(peer: Mapping[str, Mapping[str, Offer]], runtimes: Collection[str]) -> list[Diagnosis]:
    pairs = {(a, b): offer for a, row in peer.items() for b, offer in row.items()}
    if not pairs:
        return []
    refused: dict[str, list[str]] = {}
    for (executor, owner), offer in pairs.items():
        if not offer.available:
            refused.setdefault(offer.reason, []).append(f"{executor} to {owner}")
    if not refused:
        text = f"all {len(pairs)} ordered pairs, each proved by a verified write"
        return [Diagnosis("GPUs", "peer access", "ok", text)]
    told = " and ".join(sorted(PEER_COMMANDS[runtime] for runtime in runtimes if runtime in PEER_COMMANDS))
    see = f"see {told}; " if told else ""
    advice = f"{see}without it kernels cannot reach the peer and copies go through the host"
    return [
        Diagnosis("GPUs", "peer access", "warning", f"refused for {', '.join(names)}: {reason}", advice)
        for reason, names in refused.items()
    ]
