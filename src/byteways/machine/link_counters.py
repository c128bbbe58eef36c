"""Counters of the links of this machine's GPUs, from NVML in a child process (vendor_query.py).

They count the bytes of whoever moves them: kernels, copy engines, other programs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byteways.base.settings import management_wanted
from byteways.base.vendor_query import Calls, Query, answer

_MODULE = "byteways.machine.link_counters"
#: There while the driver is loaded.
_DRIVER = Path("/proc/driver/nvidia")
#: Counters by kind of link: names in `_core.ManagementLinkBytes` of what was sent and received.
_COUNTERS = {"nvlink": ("fabric_tx_bytes", "fabric_rx_bytes"), "pcie": ("pcie_tx_bytes", "pcie_rx_bytes")}


@dataclass(frozen=True)
class LinkReading:
    """Counters at one time: bytes sent and received since the driver was loaded, None where there is none."""

    at_ns: int  # of the monotonic clock
    counters: Mapping[tuple[str, str], tuple[int | None, int | None]]  # by device and kind of link


def begin_reading() -> Query | None:
    """Asks for the counters, for finish_reading(); None on a machine without them."""
    there = _DRIVER.exists() or bool(os.environ.get("BYTEWAYS_LIBNVML"))
    wanted = os.environ.get("BYTEWAYS_GPUS") != "0" and management_wanted()
    return Query(_MODULE) if there and wanted else None


def finish_reading(asked: Query | None) -> LinkReading | None:
    """Waits for what begin_reading() asked; None: there was no answer."""
    reply = asked.reply() if asked else None
    if reply is None or reply.failure or not reply.answer["gpus"]:
        return None
    counters = {
        (gpu, kind): (values[kind][0], values[kind][1])
        for gpu, values in reply.answer["gpus"].items()
        for kind in _COUNTERS
    }
    return LinkReading(reply.answer["at_ns"], counters)


def _describe(calls: Calls) -> dict[str, Any]:
    """Returns the fields of LinkReading as JSON data, read in this process."""
    nothing: dict[str, Any] = {"at_ns": 0, "gpus": {}}
    try:
        from byteways import _core

        calls("loading NVML")
        _core.announce_management_calls(calls.channel)
        library = _core.Management()
        if not library.report.usable:
            return nothing
        devices = library.devices()
        at_ns = time.monotonic_ns()
        return {
            "at_ns": at_ns,
            "gpus": {f"gpu{one.index}": _of(library.link_bytes(one.uuid)) for one in devices},
        }
    except (ImportError, RuntimeError):  # _core.Error is one
        return nothing


def _of(found: Any) -> dict[str, list[int | None]]:
    return {kind: [getattr(found, name) for name in names] for kind, names in _COUNTERS.items()}


if __name__ == "__main__":
    answer(_describe)
