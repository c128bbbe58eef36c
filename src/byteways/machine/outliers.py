"""Finds the odd one out among equal devices: fewer links, a narrower one, less memory (pure).

Equal devices of one machine have equal links. One that differs is a usual cause of a slow node. Every source
may show it, files of other machines too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from byteways.base.units import format_size
from byteways.machine.model import Device, Topology

#: The part of equal devices that must agree before the others are odd: 2 of 3, 3 of 4, 6 of 8. Half and half
#: is a design, as on MI250X, whose dies have 6 or 7 links.
AGREEING = 2 / 3
#: Relative difference of memory sizes that is none: drivers reserve different parts.
SAME_MEMORY = 0.05
#: Least number of GPUs of which one alone in a NUMA domain is odd; of fewer, 2 + 1 is a usual board.
LEAST_OF_DOMAINS = 4


@dataclass(frozen=True)
class Outlier:
    """A property in which a few devices, or a pair, differ from the others of their model."""

    kind: str  # "nvlink", "xgmi", "c2c", "pcie", "memory", "numa"
    devices: tuple[str, ...]
    value: str
    usual: str  # value of the others; empty for pairs
    others: int

    def __str__(self) -> str:
        if self.kind.endswith("-pair"):
            kind = {"nvlink-pair": "NVLink", "xgmi-pair": "xGMI link"}[self.kind]
            return f"no {kind} connects {self.value}, although one connects every other pair: it may be down"
        have = "has" if len(self.devices) == 1 else "have"
        plural = "other GPU" if self.devices[0].startswith("gpu") else "other NUMA domain"
        plural += "s" if self.others > 1 else ""
        theirs = "has" if self.others == 1 else "have"
        return (
            f"{', '.join(self.devices)} {have} {self.value}, the {self.others} {plural} of this model "
            f"{theirs} {self.usual}"
        )


def with_outliers(topology: Topology) -> Topology:
    """Returns the topology with a note on each odd one."""
    found = (str(odd) for odd in outliers(topology))
    return replace(topology, notes=(*topology.notes, *(note for note in found if note not in topology.notes)))


def outliers(topology: Topology) -> list[Outlier]:
    """Returns every property in which few of the equal devices differ from most."""
    groups: dict[Hashable, list[Device]] = {}
    for device in topology.devices:
        if device.executed_by is None:
            groups.setdefault((device.kind, device.model, device.architecture, device.partition), []).append(
                device
            )
    found: list[Outlier] = []
    for devices in groups.values():
        if devices[0].kind == "gpu":
            found += _of_gpus(topology, devices)
        else:
            found += _differing("memory", devices, _memory(devices))
    return found


def _of_gpus(topology: Topology, gpus: Sequence[Device]) -> list[Outlier]:
    found = []
    for kind, name in (("nvlink", "NVLink"), ("xgmi", "xGMI link"), ("c2c", "NVLink-C2C link")):
        pairs = _unlinked_pairs(topology, gpus, kind)
        explained = {name for pair in pairs for name in pair}
        if pairs:
            text = ", ".join(f"{a}<>{b}" for a, b in pairs)
            found.append(Outlier(f"{kind}-pair", tuple(sorted(explained)), text, "", len(gpus)))
        counts = _link_counts(topology, kind)
        values = {gpu.name: _count(counts[gpu.name], name) for gpu in gpus if gpu.name not in explained}
        found += _differing(kind, gpus, values)
    classes = {
        end: link.link_class for link in topology.links if link.kind == "pcie" for end in (link.a, link.b)
    }
    found += _differing("pcie", gpus, {gpu.name: classes.get(gpu.name, "no PCIe link") for gpu in gpus})
    found += _differing("memory", gpus, _memory(gpus))
    domains = {gpu.name: _domain(gpu) for gpu in gpus}
    alone = Counter(domains.values()).most_common()
    if len(gpus) >= LEAST_OF_DOMAINS and [times for _, times in alone[1:]] == [1]:
        found += _differing("numa", gpus, domains)
    return found


def _count(number: int, name: str) -> str:
    """`no NVLink`, `1 NVLink`, `18 NVLinks`."""
    return f"{number or 'no'} {name}{'s' if number > 1 else ''}"


def _domain(gpu: Device) -> str:
    return "no NUMA domain" if gpu.numa_domain is None else f"NUMA domain {gpu.numa_domain}"


def _link_counts(topology: Topology, kind: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for link in topology.links:
        if link.kind == kind:
            counts.update({link.a: link.count, link.b: link.count})
    return counts


def _unlinked_pairs(topology: Topology, gpus: Sequence[Device], kind: str) -> list[tuple[str, str]]:
    """Returns the pairs without a direct bundle where nearly every pair has one."""
    linked = {frozenset((link.a, link.b)) for link in topology.links if link.kind == kind}
    names = [gpu.name for gpu in gpus]
    pairs = [pair for pair in combinations(names, 2) if frozenset(pair) not in linked]
    total = len(names) * (len(names) - 1) // 2
    return pairs if len(names) > 2 and len(pairs) < min(total, len(names) / 2) else []


def _memory(devices: Sequence[Device]) -> dict[str, str]:
    """Returns the sizes in words; sizes that hardly differ get the same word."""
    words: dict[int, str] = {}
    values: dict[str, str] = {}
    for device in devices:
        if size := device.memory_bytes:
            near = next((known for known in words if abs(known - size) <= SAME_MEMORY * known), None)
            values[device.name] = words.setdefault(
                size if near is None else near, f"{format_size(size)} of memory"
            )
    return values


def _differing(kind: str, devices: Sequence[Device], values: Mapping[str, str]) -> list[Outlier]:
    """Returns one entry for each value of few devices where most agree on another."""
    order: Callable[[str], int] = [device.name for device in devices].index
    by_value: dict[str, list[str]] = {}
    for name, value in values.items():
        by_value.setdefault(value, []).append(name)
    if len(by_value) < 2:
        return []
    usual = max(by_value, key=lambda value: len(by_value[value]))
    most = len(by_value[usual])
    if most < 2 or most < AGREEING * len(values):
        return []
    return [
        Outlier(kind, tuple(sorted(names, key=order)), value, usual, most)
        for value, names in by_value.items()
        if value != usual
    ]
