"""What a machine is called: its GPUs by package, or its NUMA domains. Counts of GPUs are worded here only.

Devices are what a runtime lists: of an MI250X each of its two dies (graphics compute dies, GCDs; AMD CDNA 2
white paper, 2021), of a divided MI300X each partition. A reader counts packages, so both are given.
"""

from __future__ import annotations

from collections import Counter

from byteways.answers.results.counting import count, listed
from byteways.machine.model import Topology
from byteways.machine.packages import package_of

#: What a title leaves out of a model's name.
_VENDORS = ("NVIDIA ", "AMD ", "Instinct ", "Intel(R) ")
#: Models of two dies, each a GPU to its runtime.
_TWO_DIES = "MI250"


def machine(topology: Topology) -> str:
    """`4 × H200`, `2 hosts of 4 × MI250X (8 GCDs)`; without a GPU `2 NUMA domains of EPYC 7A53`."""
    devices = gpus(topology, short=True) or _domains(topology)
    hosts = f"{len(topology.hosts)} hosts of " if len(topology.hosts) > 1 else ""
    return f"{hosts}{listed(devices)}" if devices else "No devices"


def gpus(topology: Topology, *, short: bool = False) -> list[str]:
    """Returns `4 × H200`, `4 × MI250X (8 GCDs)` for each model of GPUs, `H200` for a single one.

    Args:
        topology: The devices of one host.
        short: Whether to leave out the vendor.
    """
    packages = package_of(topology)
    models: dict[str, list[str]] = {}
    for device in topology.devices:
        if device.kind == "gpu":
            models.setdefault(device.model, []).append(packages[device.name])
    return [_packages(_short(model) if short else model, own) for model, own in models.items()]


def devices_of(model: str) -> str:
    """What a number of such devices is of: `H200`, `GCDs of MI250X`."""
    return f"GCDs of {model}" if _TWO_DIES in model else model


def _packages(model: str, packages: list[str]) -> str:
    """Words a model's GPUs, of which each is in one of these packages."""
    dies, number = len(packages), len({*packages})
    part = "GCD" if _TWO_DIES in model else "partition"
    if number == dies and part == "GCD":  # no link between dies of a package is known: packages are not
        return f"{count(dies, part)} of {model}"
    inside = f" ({count(dies, part)})" if number < dies else ""
    return f"{number} × {model}{inside}" if number > 1 else f"{model}{inside}"


def _domains(topology: Topology) -> list[str]:
    models = Counter(device.model for device in topology.devices if device.kind == "cpu")
    several = sum(models.values()) > 1
    return [
        f"{number} {'NUMA domains of ' if several else ''}{_short(model)}" if number > 1 else _short(model)
        for model, number in models.items()
    ]


def _short(model: str) -> str:
    for vendor in _VENDORS:
        model = model.replace(vendor, "")
    return model.strip() or "unknown model"
