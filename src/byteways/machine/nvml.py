"""Discovery source: NVML, for NVLink, PCIe, UUIDs and the state of the GPUs.

It is loaded in a child process (vendor_query.py): with a lost GPU its calls may never return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from byteways.base.settings import gpus_wanted, management_wanted
from byteways.base.vendor_query import Calls, Query, Reply, answer, query
from byteways.machine.sysfs_pcie import canonical_address

if TYPE_CHECKING:
    from byteways import _core

NVML_MODULE = "byteways.machine.nvml"
#: Name of the library in a report if the child that reads it fails.
_LIBRARY = "nvml"
_REPORT_FIELDS = ("library", "usable", "path", "found_by", "version", "searched", "reason", "hint")
_FUNCTION_FIELDS = ("name", "introduced_in", "required")


@dataclass(frozen=True)
class FabricLink:
    """Fields of `_core.FabricLink`."""

    index: int
    remote_kind: str  # "gpu", "switch", "cpu", "unknown"
    remote_pci_address: str
    signalling_bytes_per_s: int  # per direction; 0 if unknown
    version: int  # generation; 0 if unknown
    active: bool = True


@dataclass(frozen=True)
class ManagementDevice:
    """Fields of `_core.ManagementDevice`."""

    index: int
    name: str
    uuid: str
    pci_address: str
    memory_bytes: int
    memory_clock_mhz: int
    memory_bus_bits: int
    pcie_generation: int
    pcie_width: int
    pcie_generation_max: int
    pcie_width_max: int
    fabric_links: tuple[FabricLink, ...] = ()
    mig_enabled: bool = False
    compute_mode: str = "default"
    compute_processes: int = 0
    numa_domain: int = -1


@dataclass(frozen=True)
class ManagementProcess:
    """Fields of `_core.ManagementProcess`."""

    pid: int
    kind: str  # "compute", "graphics"
    memory_bytes: int  # -1 if unknown


@dataclass(frozen=True)
class ManagementUse:
    """Fields of `_core.ManagementUse`."""

    processes_known: bool
    processes: tuple[ManagementProcess, ...]
    utilisation_percent: int  # -1 if unknown


@dataclass(frozen=True)
class Nvml:
    """What NVML says of this machine at one time. `reason` says why there are no devices."""

    devices: tuple[ManagementDevice, ...] = ()  # all NVIDIA GPUs in PCI order
    uses: Mapping[str, ManagementUse] = field(default_factory=dict)  # by UUID; those that were answered
    report: Mapping[str, Any] = field(default_factory=dict)  # of the library; empty without native module
    reason: str = ""

    def use(self, uuid: str, with_utilisation: bool = True) -> ManagementUse:
        """Returns the use of a GPU. Raises KeyError if NVML did not answer for it."""
        return self.uses[uuid]


def read() -> Nvml:
    """Reads everything in a child process. Never raises: many machines lack NVIDIA's driver."""
    if not management_wanted():
        return Nvml(reason="NVML: left out, as BYTEWAYS_NVML is 0")
    return _read(query(NVML_MODULE))


def read_if_wanted() -> Nvml:
    """Returns read(), or nothing if no GPU is to be used: then its answer is not worth a wait."""
    return read() if gpus_wanted() else Nvml()


def begin_if_wanted() -> Query | None:
    """Asks NVML in a child process, for finish(); None if there is nothing to ask."""
    return Query(NVML_MODULE) if gpus_wanted() and management_wanted() else None


def finish(asked: Query | None) -> Nvml:
    """Waits for what begin_if_wanted() asked."""
    return read_if_wanted() if asked is None else _read(asked.reply())


def _read(reply: Reply) -> Nvml:
    if reply.failure:
        hint = "dmesg (administrator) lists errors of the driver (Xid); BYTEWAYS_NVML=0 leaves NVML out"
        empty = {**dict.fromkeys(_REPORT_FIELDS, ""), "library": _LIBRARY, "usable": False, "searched": []}
        report = {**empty, "reason": reply.failure, "hint": hint, "missing": []}
        return Nvml(report=report, reason=f"NVML: {reply.failure}")
    told = reply.answer
    return Nvml(
        tuple(
            ManagementDevice(
                **{**device, "fabric_links": tuple(FabricLink(**link) for link in device["fabric_links"])}
            )
            for device in told["devices"]
        ),
        {
            uuid: ManagementUse(
                use["processes_known"],
                tuple(ManagementProcess(**process) for process in use["processes"]),
                use["utilisation_percent"],
            )
            for uuid, use in told["uses"].items()
        },
        told["report"],
        told["reason"],
    )


def describe(calls: Calls) -> dict[str, Any]:
    """Returns the fields of Nvml as JSON data, read in this process.

    Args:
        calls: Receives the name of each of NVML's calls before it.
    """
    nothing: dict[str, Any] = {"devices": [], "uses": {}, "report": {}}
    try:
        from byteways import _core

        management = _core.Management
    except ImportError as error:
        return {**nothing, "reason": f"NVML unavailable: byteways' native module does not load ({error})"}
    try:
        calls("loading NVML")
        _core.announce_management_calls(calls.channel)
        library = management()
        report = _fields(library.report, _REPORT_FIELDS)
        report["missing"] = [_fields(function, _FUNCTION_FIELDS) for function in library.report.missing]
        if not library.report.usable:
            return {**nothing, "report": report, "reason": f"NVML: {library.report.reason}"}
        devices = library.devices()
        uses = {device.uuid: use for device in devices if (use := _use(library, device.uuid, _core.Error))}
        return {"devices": [_device(one) for one in devices], "uses": uses, "report": report, "reason": ""}
    except RuntimeError as error:  # _core.Error: a call that failed, with call and code in its text
        return {**nothing, "reason": f"NVML: {error}"}


def _fields(thing: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def _device(device: _core.ManagementDevice) -> dict[str, Any]:
    links = [_fields(link, tuple(FabricLink.__dataclass_fields__)) for link in device.fabric_links]
    return {**_fields(device, tuple(ManagementDevice.__dataclass_fields__)), "fabric_links": links}


def _use(library: _core.Management, uuid: str, refusal: type[Exception]) -> dict[str, Any] | None:
    try:
        use = library.use(uuid)
    except refusal:
        return None
    processes = [_fields(one, tuple(ManagementProcess.__dataclass_fields__)) for one in use.processes]
    return {**_fields(use, ("processes_known", "utilisation_percent")), "processes": processes}


def visible(devices: Sequence[ManagementDevice], environment: Mapping[str, str]) -> list[ManagementDevice]:
    """Returns the devices that CUDA_VISIBLE_DEVICES selects, in CUDA's numbering.

    As in the CUDA programming guide: indices (in PCI order, as byteways sets CUDA_DEVICE_ORDER) or UUID
    prefixes; everything from the first invalid entry on is ignored.
    """
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return list(devices)
    chosen: list[ManagementDevice] = []
    for entry in (part.strip() for part in wanted.split(",")):
        if entry.isdigit():
            matches = [devices[int(entry)]] if int(entry) < len(devices) else []
        else:
            matches = [device for device in devices if entry and device.uuid.startswith(entry)]
        if len(matches) != 1 or matches[0] in chosen:
            break
        chosen.append(matches[0])
    return chosen


def match(fields: Mapping[str, Any], devices: Sequence[ManagementDevice]) -> ManagementDevice | None:
    """Returns the device of a runtime's GPU: by UUID, then by PCI address (a MIG instance has its own UUID).

    Args:
        fields: Of `_core.Device`.
        devices: From read_devices().
    """
    for device in devices:
        if fields.get("uuid") and device.uuid == fields["uuid"]:
            return device
    address = canonical_address(fields.get("pci_address") or "")
    return next((one for one in devices if address and canonical_address(one.pci_address) == address), None)


def memory_peak(device: ManagementDevice) -> float | None:
    """Returns nominal memory bandwidth in bytes/s, shared by reads and writes: clock × bus width × 2."""
    rate = device.memory_clock_mhz * 1e6 * device.memory_bus_bits / 8 * 2
    return rate or None


if __name__ == "__main__":
    answer(describe)
