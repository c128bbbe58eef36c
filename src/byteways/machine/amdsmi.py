"""Discovery source: AMD's management library through its Python module, for data that KFD lacks.

Used only if importable, in a child process (vendor_query.py): its calls may never return. Its wheel without
the library fails in various ways, including a KeyError, so any exception means that it is unavailable.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from byteways.base.vendor_query import Calls, answer, query
from byteways.machine.sysfs_pcie import canonical_address

#: The library's Python module.
AMDSMI_MODULE = "amdsmi"


@dataclass(frozen=True)
class SmiDevice:
    """One GPU; None for values that the library does not provide."""

    pci_address: str
    name: str | None
    driver_version: str | None
    link_error: str | None  # state of the xGMI links if not good


@dataclass(frozen=True)
class Smi:
    """Devices and notes."""

    devices: tuple[SmiDevice, ...] = ()
    notes: tuple[str, ...] = ()


def read_devices() -> Smi:
    """Returns all AMD GPUs, or a note on why there are none. Never raises."""
    if importlib.util.find_spec(AMDSMI_MODULE) is None:
        return Smi()
    reply = query("byteways.machine.amdsmi")
    if reply.failure:
        return Smi(notes=(f"AMD SMI: {reply.failure}",))
    return Smi(tuple(SmiDevice(**device) for device in reply.answer["devices"]), tuple(reply.answer["notes"]))


def describe(calls: Calls) -> Smi:
    """Returns what the library says, read in this process.

    Args:
        calls: Receives the name of each of the library's calls before it.
    """
    calls(f"import {AMDSMI_MODULE}")
    try:
        module = importlib.import_module(AMDSMI_MODULE)
    except ModuleNotFoundError:
        return Smi()  # most machines lack it, and nothing important depends on it
    except Exception as error:
        return Smi(notes=(f"AMD SMI: its Python module does not load ({type(error).__name__}: {error})",))
    calls("amdsmi_init")
    try:
        module.amdsmi_init()
    except Exception as error:
        return Smi(notes=(f"AMD SMI: amdsmi_init: {type(error).__name__}: {error}",))
    calls("one of amdsmi_get_…, which describe the GPUs,")
    try:
        devices = tuple(_device(module, handle) for handle in module.amdsmi_get_processor_handles())
    except Exception as error:
        return Smi(notes=(f"AMD SMI: {type(error).__name__}: {error}",))
    finally:
        _ask(module.amdsmi_shut_down)
    faulty = [f"{one.pci_address}: xGMI links report {one.link_error}" for one in devices if one.link_error]
    versions = sorted({one.driver_version for one in devices if one.driver_version})
    driver = [f"amdgpu driver {', '.join(versions)} (AMD SMI)"] if versions else []
    return Smi(devices, (*driver, *faulty))


def _device(module: Any, handle: Any) -> SmiDevice:
    asic = _ask(lambda: module.amdsmi_get_gpu_asic_info(handle)) or {}
    driver = _ask(lambda: module.amdsmi_get_gpu_driver_info(handle)) or {}
    error = _ask(lambda: module.amdsmi_gpu_xgmi_error_status(handle))
    told = str(getattr(error, "name", error)) if error is not None else ""
    return SmiDevice(
        canonical_address(str(_ask(lambda: module.amdsmi_get_gpu_device_bdf(handle)) or "")),
        _text(asic.get("market_name")),
        _text(driver.get("driver_version")),
        told if told and "NO_ERROR" not in told and told != "0" else None,
    )


def _ask(call: Callable[[], Any]) -> Any:
    """Returns the answer; None for a query that this version or device does not support."""
    try:
        return call()
    except Exception:
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value not in ("", "N/A") else None


if __name__ == "__main__":
    answer(lambda calls: asdict(describe(calls)))
