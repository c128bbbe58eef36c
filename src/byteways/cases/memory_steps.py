"""Allocation, release and opening of memory: which steps exist for which memory kind, and how much is held.

Pure. The steps themselves are in native/interfaces/allocation.
"""

from __future__ import annotations

from collections.abc import Mapping

from byteways.cases.case import Flow
from byteways.cases.interface_rows import COLD_LOAD
from byteways.cases.memory import is_device, is_managed, is_plain

#: Sizes are multiples of this, a multiple of the page size of every known machine.
PAGE_BYTES = 4096
#: Limits of one batch (the same in native/interfaces/allocation): number of blocks and bytes, or one larger
#: block.
MOST_BLOCKS = 64
MOST_HELD_BYTES = 256 * 2**20
#: Why no IPC handle exists for GPU memory of these kinds.
NO_HANDLE: Mapping[str, str] = {
    "pool": "comes from the device's default pool, which cannot be shared with other processes",
    "vmm": "has no IPC handle: other processes receive its file descriptor",
    "xccl": "is allocated by NCCL or RCCL",
    "ipc": "is another process's: only that process exports it",
}


def held_bytes(size_bytes: int) -> int:
    """Returns the bytes of the owner's memory that a case holds at once."""
    return size_bytes * min(max(MOST_HELD_BYTES // size_bytes, 1), MOST_BLOCKS)


def refusal(interface: str, flow: Flow, options: Mapping[str, int | str | bool]) -> str | None:
    """Returns why the step does not exist for this memory; None if it does."""
    memory, owner = flow.source.memory, flow.source.device
    if flow.source.first_touch not in (None, owner):
        return f"{interface} is timed before any device but {owner} touches the pages"
    if interface in ("allocate", "free"):
        return _own_refusal(interface, flow, memory, options)
    if interface in ("register", "unregister"):
        return _register_refusal(interface, memory)
    if interface == COLD_LOAD:
        return _load_refusal(memory)
    if not is_device(memory):
        return f"{memory} memory of {owner} is accessible from every GPU: nothing to {interface}"
    if interface == "map-peer" and flow.executor == owner:
        return f"{owner} reaches its own memory: map-peer is for another GPU"
    if interface == "open-ipc" and memory in NO_HANDLE:
        return f"{memory} memory {NO_HANDLE[memory]}"
    return None


def _own_refusal(
    interface: str, flow: Flow, memory: str, options: Mapping[str, int | str | bool]
) -> str | None:
    owner = flow.source.device
    if flow.executor != owner:
        return f"{interface} is executed by the device that owns the memory, {owner}, not {flow.executor}"
    if memory == "registered":
        return "registered memory is pageable memory after registration: allocate pageable, then register"
    if options.get("touched") == "yes" and not (is_plain(memory) or is_managed(memory)):
        return f"{memory} memory is populated on allocation, not on first touch"
    if "pool" in options and memory != "pool":
        return f"{memory} memory does not come from a pool"
    return None


def _load_refusal(memory: str) -> str | None:
    if is_device(memory):
        return f"{memory} memory is GPU memory: data are loaded through memory of the host"
    if is_managed(memory):
        return f"{memory} memory migrates between devices: no copy follows the reading"
    return None


def _register_refusal(interface: str, memory: str) -> str | None:
    if is_plain(memory):
        return None
    if is_device(memory):
        return f"{memory} memory is GPU memory: nothing to {interface}"
    if is_managed(memory):
        return f"{memory} memory migrates between devices and is never page-locked: nothing to {interface}"
    return f"{memory} memory is already page-locked: {interface} is for pageable and hugepage memory"
