"""The one Topology that every discovery source adds to: devices, switches and the links between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Cache:
    """One level of a CPU cache as one core sees it."""

    level: int
    kind: str  # "data", "instruction", "unified"
    size_bytes: int
    line_bytes: int
    shared_by_cores: int


@dataclass(frozen=True)
class SharedCache:
    """One data or unified cache of a CPU, and who shares it."""

    level: int
    cores: tuple[int, ...]  # logical CPUs, of those that this process may use


@dataclass(frozen=True)
class Device:
    """`cpu0` (a NUMA domain) or `gpu3`, with what identifies it across hosts and ranks."""

    name: str
    kind: str  # "cpu", "gpu"
    model: str
    uuid: str | None = None
    pci_address: str | None = None
    numa_domain: int | None = None
    cores: tuple[int, ...] = ()  # logical CPUs of a NUMA domain that this process may use
    memory_bytes: int | None = None
    memory_peak_bytes_per_s: float | None = None  # nominal, read + write shared
    memory_peak_source: str | None = None
    architecture: str | None = None
    multiprocessors: int | None = None
    caches: tuple[Cache, ...] = ()
    shares_memory_with: str | None = None  # of a GPU: the CPU device whose memory is also its own
    copy_engines: int | None = None  # that serve the host and local copies
    peer_copy_engines: int | None = None  # that serve links to peers alone
    partition: str | None = None  # how the device is divided: "compute CPX, memory NPS1"
    page_faults: str | None = None  # whether kernels may fault on pages and retry, in the vendor's words
    last_level_cache_bytes: int | None = None  # with a memory-side cache; of a CPU all that its cores use
    hidden_links: str | None = None  # why links to peers may be missing here
    threads: tuple[tuple[int, ...], ...] = ()  # logical CPUs of each physical core; none: not told
    shared_caches: tuple[SharedCache, ...] = ()  # that two physical cores or more share; none: not told


def compute_units_name(device: Device) -> str:
    """What the vendor calls the processors of a GPU, in the plural: SMs or CUs."""
    return "CUs" if (device.architecture or "").startswith("gfx") else "SMs"


@dataclass(frozen=True)
class Link:
    """A bundle of equal links between two nodes of the graph (devices or switches), both directions alike.

    `peak_bytes_per_s` is the vendor's nominal data rate per direction of the whole bundle;
    `signalling_bytes_per_s` the raw rate on the wire. None means unknown, with the reason in `source`.
    """

    a: str
    b: str
    kind: str  # "nvlink", "pcie", "xgmi", "numa"; GPUs forward on "xgmi" alone
    count: int
    generation: str | None
    peak_bytes_per_s: float | None
    signalling_bytes_per_s: float | None
    source: str  # where the peak comes from
    link_class: str  # links of equal kind and width: "NVLink4 ×18", "PCIe 5.0 ×16"


@dataclass(frozen=True)
class Topology:
    """Devices, switches (names only, such as `nvswitch` or `pcie-root0`) and links, of one host."""

    host: str
    devices: tuple[Device, ...]
    switches: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be found out, and why
    host_memory_limit_bytes_per_s: float | None = None  # of all memory modules together, read + write shared
    host_memory_limit_source: str = "the speed of its modules is not reported"

    @cached_property
    def derived(self) -> dict[Callable[..., Any], dict[tuple[Any, ...], Any]]:
        """Results of functions of this topology by their arguments (topology/cached.py)."""
        return {}

    @cached_property
    def _by_name(self) -> dict[str, Device]:
        return {device.name: device for device in self.devices}

    def device(self, name: str) -> Device:
        """Raises KeyError when there is no such device."""
        return self._by_name[name]

    def names(self, kind: str | None = None) -> list[str]:
        return [device.name for device in self.devices if kind is None or device.kind == kind]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Topology:
        """Raises ValueError when it is no topology; fields of newer versions are read over."""
        from byteways.decoding import converted  # not for workers

        found = converted(data, cls)
        if wrong := found.contradiction():
            raise ValueError(wrong)
        return found

    def contradiction(self) -> str:
        """What no machine has, in a sentence; empty: nothing."""
        names = self.names()
        for device in self.devices:
            if device.kind not in ("cpu", "gpu") or not re.fullmatch(
                rf"{device.kind}[0-9]{{1,4}}", device.name
            ):
                return f"'{device.name}' of kind '{device.kind}' is not a device"
        if doubled := {name for name in names if names.count(name) > 1}:
            return f"{min(doubled)} is there twice"
        nodes = {*names, *self.switches}
        for link in self.links:
            if link.a not in nodes or link.b not in nodes or link.a == link.b:
                return f"a link of {link.a} and {link.b} does not connect two nodes"
        return ""


@dataclass(frozen=True)
class Offer:
    """Whether something can be had here, and in one sentence why not."""

    available: bool
    reason: str = ""


@dataclass(frozen=True)
class CopyEngines:
    """The copy engines that a copy may ask for, by the vendor's numbers; none: in one sentence why."""

    engines: tuple[int, ...]
    reason: str = ""


#: Stands for host memory of any domain where copy engines are told by their two ends.
HOST = "host"

#: What a runtime may have beside single copies and launches: recorded queues, batched copies, copies of rows,
#: prefetches that name a NUMA domain.
CALLS = ("graph", "batch", "copy-2d", "prefetch-to-domain")


@dataclass(frozen=True)
class Capabilities:
    """What the runtimes of this machine offer, as a probing worker found by trying. Keys are device names.

    `memory["gpu0"]["managed"]`; `interface["gpu0"]["kernel-bulk"]` by executor; `peer["gpu0"]["gpu1"]`: gpu0
    may read and write gpu1's memory, proved by a verified write; `granted["gpu0"]["gpu1"]["pool"]`: the
    same of memory that is opened to each GPU apart; `copy_engines["gpu0"]["host"]` by source and
    destination, the host one of them for all of its memory.
    """

    devices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # DeviceInfo fields by device
    memory: Mapping[str, Mapping[str, Offer]] = field(default_factory=dict)
    interface: Mapping[str, Mapping[str, Offer]] = field(default_factory=dict)
    peer: Mapping[str, Mapping[str, Offer]] = field(default_factory=dict)
    granted: Mapping[str, Mapping[str, Mapping[str, Offer]]] = field(default_factory=dict)
    pageable_access: Mapping[str, bool] = field(default_factory=dict)
    host_access: Mapping[str, bool] = field(default_factory=dict)  # of GPUs: CPUs may touch its memory
    copy_engines: Mapping[str, Mapping[str, CopyEngines]] = field(default_factory=dict)
    calls: Mapping[str, Mapping[str, Offer]] = field(default_factory=dict)  # of GPUs: CALLS
    host_memory_bytes: int = 0  # cgroup limit or physical memory, whichever is less

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Capabilities:
        """Raises ValueError when they are none; what older runs did not ask for is empty."""
        from byteways.decoding import converted  # not for workers

        return converted(data, cls)
