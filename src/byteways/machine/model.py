"""The Topology that all discovery sources fill: devices, switches and links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from byteways.base.quantities import mistake_in_quantity
from byteways.machine.foreign_numbers import MOST_BUNDLE


@dataclass(frozen=True)
class Cache:
    """One cache level as seen by a core, or by a compute unit of a GPU."""

    level: int
    kind: str  # "data", "instruction", "unified"
    size_bytes: int
    line_bytes: int
    shared_by_cores: int  # of a GPU: by compute units


@dataclass(frozen=True)
class SharedCache:
    """A data or unified cache of a CPU with the cores that share it."""

    level: int
    cores: tuple[int, ...]  # logical CPUs usable by this process


@dataclass(frozen=True)
class CoreType:
    """Cores of one design in a CPU that has several ("Cortex-X925"), usable by this process."""

    name: str
    cores: tuple[int, ...]  # logical CPUs


@dataclass(frozen=True)
class Device:
    """`cpu0` (a NUMA domain) or `gpu3`, with its identity across hosts and ranks."""

    name: str
    kind: str  # "cpu", "gpu"
    model: str
    uuid: str | None = None
    pci_address: str | None = None
    numa_domain: int | None = None
    cores: tuple[int, ...] = ()  # logical CPUs of a NUMA domain usable by this process
    memory_bytes: int | None = None
    memory_peak_bytes_per_s: float | None = None  # nominal, shared by reads and writes
    memory_peak_source: str | None = None
    architecture: str | None = None
    multiprocessors: int | None = None
    caches: tuple[Cache, ...] = ()
    shares_memory_with: str | None = None  # of a GPU: the CPU device that shares its memory
    copy_engines: int | None = None  # for host and local copies
    peer_copy_engines: int | None = None  # for links to peers only
    partition: str | None = None  # partitioning mode: "compute CPX, memory NPS1"
    partition_modes: tuple[str, ...] = ()  # compute partitioning that the device offers; empty: unknown
    dies: int | None = None  # of a GPU: accelerator dies that compute
    clock_mhz: int | None = None  # highest of a GPU's processors
    power_limit_watts: float | None = None  # default limit of a GPU's package, told by one GPU of it
    page_faults: str | None = None  # whether kernels may fault on pages and retry, in the vendor's terms
    last_level_cache_bytes: int | None = None  # including a memory-side cache; of a CPU: total of its cores
    hidden_links: str | None = None  # why links to peers may be missing
    threads: tuple[tuple[int, ...], ...] = ()  # logical CPUs of each physical core; empty: unknown
    shared_caches: tuple[SharedCache, ...] = ()  # shared by at least two physical cores; empty: unknown
    core_types: tuple[CoreType, ...] = ()  # if its cores are of several designs
    #: Of a NUMA domain with memory but no cores (CXL, HBM): the CPU device whose cores execute for it.
    executed_by: str | None = None


def compute_units_name(device: Device) -> str:
    """Returns the vendor's plural for the processors of a GPU: SMs or CUs."""
    return "CUs" if runtime_of(device) == "HIP" else "SMs"


def runtime_of(device: Device) -> str:
    """Returns the runtime that programs call on a GPU: CUDA or HIP."""
    return "HIP" if (device.architecture or "").startswith("gfx") else "CUDA"


#: The speed or the width of a PCI Express link is missing or 0.
PCIE_UNREPORTED = "pcie-unreported"
#: The speed is one that only an emulated bridge or device of a virtual machine has.
PCIE_EMULATED = "pcie-emulated"
#: The source has a speed that is not the link's maximum.
PCIE_NOT_MAXIMUM = "pcie-not-maximum"


@dataclass(frozen=True)
class UnknownRate:
    """Why a link has no nominal peak: a code (PCIE_…), and what the source says, verbatim."""

    code: str
    speed: str = ""  # "2.5 GT/s PCIe"
    width: str = ""  # "0"


@dataclass(frozen=True)
class Link:
    """A bundle of equal links between two nodes (devices or switches), symmetric in both directions.

    `peak_bytes_per_s` is the vendor's nominal data rate per direction of the whole bundle;
    `signalling_bytes_per_s` is the raw rate on the wire. None means unknown, with the reason in `source`.
    """

    a: str
    b: str
    #: "nvlink", "c2c" (to a CPU), "pcie", "xgmi", "numa"; GPUs forward over "xgmi" only; NICs are on "pcie".
    kind: str
    count: int
    generation: str | None
    peak_bytes_per_s: float | None
    signalling_bytes_per_s: float | None
    source: str  # of the peak
    link_class: str  # links of equal kind and width: "NVLink4 ×18", "PCIe 5.0 ×16"
    unknown: UnknownRate | None = None  # why a PCI Express link has no peak


@dataclass(frozen=True)
class Nic:
    """`nic0`: a network interface of this host, with its identity across hosts.

    `peak_bytes_per_s` is the data rate of its ports per direction, with its source; None: unknown, with the
    reason.
    """

    name: str
    pci_address: str | None  # None: the file that describes the machine leaves it out
    interfaces: tuple[str, ...] = ()  # the kernel's names: "eth0", "hsn0"
    port: str | None = None  # its name among RDMA devices: "mlx5_0"
    guid: str | None = None  # of the RDMA device, as the kernel writes it
    numa_domain: int | None = None
    home: str | None = None  # CPU device of its PCIe root
    nearest_gpus: tuple[str, ...] = ()
    up: bool | None = True  # None: the file that describes the machine leaves it out
    peak_bytes_per_s: float | None = None
    peak_source: str = ""


#: Why a property is null: no file of the format has it, or this file lacks it where others have it.
FORMAT_LACKS, FILE_LACKS = "format-lacks", "file-lacks"
#: … or no data sheet of the vendor has it: the builder of a node decides.
NOT_STATED = "not-stated"


@dataclass(frozen=True)
class LeftOut:
    """A property that is null since what describes the machine leaves it out."""

    what: str  # "gpu.memory_bytes", "pcie.peak_bytes_per_s"; "nics": all of them
    code: str  # FORMAT_LACKS, FILE_LACKS, NOT_STATED; of a PCI Express link one of PCIE_…
    of: tuple[str, ...] = ()  # devices, or links "gpu0<>cpu0"


@dataclass(frozen=True)
class Topology:
    """Devices, switches (names only, such as `nvswitch` or `pcie-root0`) and links, of one host."""

    host: str
    devices: tuple[Device, ...]
    switches: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()  # missing information with reasons
    host_memory_limit_bytes_per_s: float | None = None  # of all memory modules, shared by reads and writes
    host_memory_limit_source: str = "the speed of its modules is not reported"
    nics: tuple[Nic, ...] = ()  # not devices: no buffer is on one
    hosts: tuple[str, ...] = ()  # of a simulated machine of several equal hosts; the devices are those of one
    read_from: str | None = None  # format of the file that it was read from; None: discovered
    left_out: tuple[LeftOut, ...] = ()  # what that file lacks

    @cached_property
    def derived(self) -> dict[Callable[..., Any], dict[tuple[Any, ...], Any]]:
        """Cached results of functions of this topology by arguments (machine/cached.py)."""
        return {}

    @cached_property
    def _by_name(self) -> dict[str, Device]:
        return {device.name: device for device in self.devices}

    def device(self, name: str) -> Device:
        """Returns the device. Raises KeyError if it does not exist."""
        return self._by_name[name]

    def names(self, kind: str | None = None) -> list[str]:
        return [device.name for device in self.devices if kind is None or device.kind == kind]

    def with_cores(self) -> list[str]:
        """Returns the names of the CPU devices that execute: all but NUMA domains with memory only."""
        return [one.name for one in self.devices if one.kind == "cpu" and one.executed_by is None]

    def executor(self, name: str) -> str:
        """Returns the device that executes at this end: itself, or the one whose cores serve its memory."""
        return self.device(name).executed_by or name

    def nearest_cpu(self, gpu: str) -> str:
        """Returns the NUMA domain nearest to a GPU; the first one if unknown."""
        domain = self.device(gpu).numa_domain
        cpus = [device for device in self.devices if device.kind == "cpu" and device.executed_by is None]
        near = (cpu for cpu in cpus if domain is not None and cpu.numa_domain == domain)
        return next(near, cpus[0]).name

    def to_json(self) -> dict[str, Any]:
        """Returns JSON data; a machine that was discovered has no `read_from` and `left_out`."""
        data = asdict(self)
        if self.read_from is None:
            del data["read_from"], data["left_out"]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Topology:
        """Parses JSON data. Raises ValueError if invalid; unknown fields of newer versions are ignored."""
        from byteways.base.decoding import converted  # not loaded by workers

        found = converted(data, cls)
        if wrong := found.contradiction():
            raise ValueError(wrong)
        return found

    def contradiction(self) -> str:
        """Returns a property that no real machine has; empty if there is none."""
        names = self.names()
        for device in self.devices:
            if device.kind not in ("cpu", "gpu") or not re.fullmatch(
                rf"{device.kind}[0-9]{{1,4}}", device.name
            ):
                return f"'{device.name}' of kind '{device.kind}' is not a device"
        if doubled := {name for name, times in Counter(names).items() if times > 1}:
            return f"{min(doubled)} is there twice"
        for device in self.devices:
            if device.executed_by is not None and device.executed_by not in self.with_cores():
                return f"'{device.name}' is executed by '{device.executed_by}', which has no cores"
        nodes = {*names, *self.switches, *(nic.name for nic in self.nics)}
        for link in self.links:
            if link.a not in nodes or link.b not in nodes or link.a == link.b:
                return f"a link of {link.a} and {link.b} does not connect two nodes"
            if not 1 <= link.count <= MOST_BUNDLE:
                return f"the link of {link.a} and {link.b} has a count of {link.count:.4g}"
            for rate in (link.peak_bytes_per_s, link.signalling_bytes_per_s):
                if rate is not None and (not rate or mistake_in_quantity(rate, "bandwidth")):
                    return f"the link of {link.a} and {link.b} has a rate of {rate:.4g} bytes/s"
        return ""


@dataclass(frozen=True)
class Offer:
    """Whether something is available here, with the reason if not."""

    available: bool
    reason: str = ""


@dataclass(frozen=True)
class CopyEngines:
    """The copy engines that a copy may select, by vendor's numbers; if none, the reason."""

    engines: tuple[int, ...]
    reason: str = ""


#: Name of the host (any NUMA domain) as an end of copies with selectable engines.
ANY_DOMAIN = "host"

#: Whether copies of memory that the runtime neither allocated nor registered work; found by trial.
PLAIN_COPY = "copy-of-plain-memory"
#: The same of setting its bytes; tried where kernels reach such memory.
PLAIN_SET = "memset-of-plain-memory"
#: Optional calls of a runtime besides asynchronous copies and launches: recorded graphs, batched copies, 2D
#: copies, prefetch to a NUMA domain, and each value of the option `call` of an interface.
OPTIONAL_CALLS = (
    *("graph", "batch", "copy-2d", "prefetch-to-domain"),
    *("copy-blocking", "copy-peer", "copy-peer-blocking", "memset-blocking"),
)


@dataclass(frozen=True)
class HostLoops:
    """How the loops of a host were compiled, on which its figures may depend."""

    isa: str  # instruction set: "avx2"
    compiler: str  # "gcc 12.2.0"


@dataclass(frozen=True)
class Capabilities:
    """What this machine's runtimes offer, found by a probing worker. Keys are device names.

    `memory["gpu0"]["managed"]`; `interface["gpu0"]["kernel-bulk"]` by executor; `peer["gpu0"]["gpu1"]`: gpu0
    can read and write gpu1's memory, tested by a verified write; `granted["gpu0"]["gpu1"]["pool"]`: the same
    for memory that is opened to each GPU separately; `copy_engines["gpu0"]["host"]` by source and
    destination, where all host memory is "host".
    """

    devices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # DeviceInfo fields by device
    memory: Mapping[str, Mapping[str, Offer]] = field(default_factory=dict)
    interface: Mapping[str, Mapping[str, Offer]] = field(default_factory=dict)
    peer: Mapping[str, Mapping[str, Offer]] = field(default_factory=dict)
    granted: Mapping[str, Mapping[str, Mapping[str, Offer]]] = field(default_factory=dict)
    pageable_access: Mapping[str, bool] = field(default_factory=dict)
    host_access: Mapping[str, bool] = field(default_factory=dict)  # by GPU: CPUs can access its memory
    copy_engines: Mapping[str, Mapping[str, CopyEngines]] = field(default_factory=dict)
    calls: Mapping[str, Mapping[str, Offer]] = field(
        default_factory=dict
    )  # by GPU: OPTIONAL_CALLS, PLAIN_COPY, PLAIN_SET
    host_loops: HostLoops | None = None  # None: simulated, or measured by an earlier version
    host_memory_bytes: int = 0  # control group limit or physical memory, whichever is less

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Capabilities:
        """Parses JSON data. Raises ValueError if invalid; data that older runs lack are empty."""
        from byteways.base.decoding import converted  # not loaded by workers

        return converted(data, cls)
