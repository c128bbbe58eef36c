"""Whether a case's buffers fit their owners' memory, all at once."""

from __future__ import annotations

from collections.abc import Mapping

from byteways.base.units import format_size
from byteways.machine.model import Capabilities, Topology
from byteways.plan.footprint import footprint, managed_bytes, usable
from byteways.plan.legality.context import LegalityContext
from byteways.plan.legality.reach import kind_of


def managed_refusal(question: LegalityContext) -> str | None:
    """Checks managed memory against the GPU's size: beyond it, pages thrash and the GPU can hang.

    Uses total memory, because free memory changes and a plan must not; the worker checks free memory before
    each case.
    """
    case, capabilities = question.case, question.found
    needed = managed_bytes(case, capabilities)
    if needed == 0:
        return None
    for device in case.devices:
        limit = _room(device, question.topology, capabilities)
        if kind_of(device) == "gpu" and limit is not None and needed > limit:
            return (
                f"it needs {format_size(needed)} of managed memory, and {device} has {format_size(limit)} "
                "available"
            )
    return None


def room_refusal(question: LegalityContext) -> str | None:
    topology, capabilities = question.topology, question.found
    needed = footprint(question.case, capabilities)
    limits = {device: _room(device, topology, capabilities) for device in needed}
    for device, size in needed.items():
        limit = limits[device]
        if limit is not None and size > limit:
            return _too_large(size, device, limit)
    on_host = 0
    for owner, size in _on_hosts(needed, topology).items():
        limit = _room(owner, topology, capabilities)
        if limit is not None and size > limit:
            return _too_large(size, f"{owner}, shared with its GPUs", limit)
        on_host += size
    host_limit = usable(capabilities.host_memory_bytes)
    if host_limit and on_host > host_limit:
        return _too_large(on_host, "host memory", host_limit)
    return None


def _on_hosts(needed: Mapping[str, int], topology: Topology) -> dict[str, int]:
    """Returns the bytes per CPU device: its own buffers, and those of GPUs that share its memory."""
    total: dict[str, int] = {}
    for device, size in needed.items():
        owner = device if kind_of(device) == "cpu" else topology.device(device).shares_memory_with
        if owner is not None:
            total[owner] = total.get(owner, 0) + size
    return total


def _too_large(needed: int, where: str, limit: int) -> str:
    return f"its buffers need {format_size(needed)} of {where}, and {format_size(limit)} is available"


def _room(device: str, topology: Topology, capabilities: Capabilities) -> int | None:
    """Returns the bytes of a device's memory that a case may use; None if its size is unknown."""
    told = capabilities.devices.get(device, {}).get("memory_bytes") or topology.device(device).memory_bytes
    return usable(int(told)) if told else None
