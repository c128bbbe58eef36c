"""Buffer sizes of a case: they decide what fits into memory, which buffers can be reused, and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from byteways.cases.applications import bytes_of_ends
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interface_rows import COLD_LOAD
from byteways.cases.interfaces import (
    APPLICATIONS,
    WORD_BYTES,
    is_memory_step,
    metric_of,
    moves_pages,
    one_buffer,
)
from byteways.cases.memory import is_managed
from byteways.cases.memory_steps import PAGE_BYTES, held_bytes
from byteways.cases.pieces import pieces_of
from byteways.cases.relays import paths_there
from byteways.machine.model import Capabilities

#: Rotations are rounded up to this size, so that cases of most sizes can share buffers.
ROTATION_UNIT_BYTES = 64 * 2**20
#: Drivers track page residency in blocks of this size, so each prefetch has its own region
#: (native/interfaces/prefetch has the same number), and there are enough regions for a measurable batch.
REGION_BYTES = 2 * 2**20
MOVED_BYTES = 128 * 2**20

#: Cold buffers are larger than this many times the last-level cache. If it replaces the least recently used
#: line, one cache would do; if a random one, a line is still cached at its next turn with probability
#: p = exp(-(1 - p) × buffer / cache): 20 % at twice the cache, 2 % at four times.
ROTATED_CACHES = 4
#: Of a small memory, cold buffers may take this part each, but are larger than half as many caches.
ROTATED_PART = 8

#: Alignment of slots in a rotation (native/interfaces).
_SLOT_ALIGNMENT_BYTES = 256


def last_level_cache_bytes(device: str, capabilities: Capabilities) -> int:
    """Returns the bytes of the device's last-level cache that rotations leave behind; 0 if it is unknown."""
    fields = capabilities.devices.get(device, {})
    memory_bytes = int(fields.get("memory_bytes") or 0)
    if device.startswith("cpu") and capabilities.host_memory_bytes:
        memory_bytes = min(memory_bytes or capabilities.host_memory_bytes, capabilities.host_memory_bytes)
    return rotated_cache(int(fields.get("last_level_cache_bytes") or 0), memory_bytes)


def rotated_cache(cache_bytes: int, memory_bytes: int) -> int:
    """Returns the part of a cache of which rotations are a multiple: all, or less where memory is small.

    Args:
        cache_bytes: Of the last-level cache.
        memory_bytes: Of the device's memory, or of what the process may use; 0 if unknown.
    """
    if not memory_bytes:
        return cache_bytes
    return min(cache_bytes, max(cache_bytes // 2, memory_bytes // (ROTATED_PART * ROTATED_CACHES)))


def buffer_bytes(size_bytes: int, cache: str, last_level_cache: int) -> int:
    """Returns the bytes of one buffer: one operation if `warm`, more than ROTATED_CACHES caches if `cold`.

    A rotation is a whole number of operations.
    """
    if cache != "cold":
        return size_bytes
    unit = size_bytes if ROTATION_UNIT_BYTES % size_bytes else ROTATION_UNIT_BYTES
    return (ROTATED_CACHES * last_level_cache // unit + 1) * unit


def flow_buffer_bytes(case: Case, flow: Flow, cache_bytes: Callable[[str], int]) -> int:
    """Returns the bytes of each buffer of one flow, as workers allocate them.

    Source and destination rotate together, so the larger last-level cache of their devices decides.
    Concurrent flows fill a cache together, so each rotates over its share of that; in an
    interference case each rotates over all of it. Warm and cold cases share buffers, so that pages and
    placement are equal. Rotations are rounded up, so that most operation sizes use equal buffers.

    Args:
        case: The case.
        flow: One of its flows.
        cache_bytes: Returns a device's last-level cache in bytes; 0 if unknown.
    """
    if moves_pages(case.interface_of(flow)):
        region = -(-case.size_of(flow) // REGION_BYTES) * REGION_BYTES
        return region * max(1, MOVED_BYTES // region)
    interface = case.interface_of(flow)
    if is_memory_step(interface) and interface != "map-peer":  # the step allocates its own memory
        return PAGE_BYTES
    if metric_of(interface) != "bandwidth":  # only bandwidth measurements rotate
        return _whole_words(case.size_of(flow))
    cache = max(_cache_part(case, end.device, cache_bytes) for end in (flow.source, flow.destination))
    size = case.size_of(flow)
    rotated = buffer_bytes(size, "cold", cache)
    if pieces := pieces_of(case, flow):
        # As many operations as without gaps; of the gaps, only the parts within a piece's cache lines are
        # touched.
        span = -(-pieces.span_bytes // _SLOT_ALIGNMENT_BYTES) * _SLOT_ALIGNMENT_BYTES
        return max(1, -(-rotated // max(size, pieces.lines_bytes))) * span
    return _whole_words(size) if rotated == size else max(_whole_words(size), _rounded_up(rotated))


def bytes_of_buffers(case: Case, flow: Flow, cache_bytes: Callable[[str], int]) -> list[int]:
    """Returns the bytes of each buffer of one flow (Case.buffers_of): equal ones, but for application
    patterns, whose data and messages differ.
    """
    ends = case.buffers_of(flow)
    if case.interface_of(flow) not in APPLICATIONS:
        return [flow_buffer_bytes(case, flow, cache_bytes)] * len(ends)
    try:
        data, messages = bytes_of_ends(case.interface, case.size_bytes, case.options)
    except ValueError:  # legality/applications.py gives the reason
        data, messages = case.size_bytes, 0
    return [data, messages] * (len(ends) // 2)


def _whole_words(size_bytes: int) -> int:
    return -(-size_bytes // WORD_BYTES) * WORD_BYTES


def _cache_part(case: Case, device: str, cache_bytes: Callable[[str], int]) -> int:
    """Returns the device's last-level cache divided by the number of concurrent flows that fill it."""
    if case.pattern == "interference":
        return cache_bytes(device)
    sharing = sum(device in (flow.source.device, flow.destination.device) for flow in case.flows)
    return -(-cache_bytes(device) // max(1, sharing))


def _rounded_up(size_bytes: int) -> int:
    """Rounds up to 4, 5, 6 or 7 eighths of a power of two: at most a quarter more, as locking is slow."""
    step = max(1, 1 << (size_bytes.bit_length() - 3))
    return -(-size_bytes // step) * step


def buffers(case: Case, capabilities: Capabilities) -> list[tuple[Buffer, int]]:
    """Returns every buffer of every flow with its bytes; a chase has one per flow."""
    needed: list[tuple[Buffer, int]] = []
    for flow in case.flows:
        sizes = bytes_of_buffers(case, flow, lambda device: last_level_cache_bytes(device, capabilities))
        ends = case.buffers_of(flow)
        if is_memory_step(case.interface_of(flow)):
            sizes = [held_bytes(case.size_of(flow))] * len(ends)
        if one_buffer(case.interface_of(flow)):
            ends = (flow.source,)
        needed += zip(ends, sizes, strict=False)
    return needed


def footprint(case: Case, capabilities: Capabilities) -> dict[str, int]:
    """Returns the bytes per owning device that the case uses at once; flows share no buffers.

    Hosts have devices of the same names: of each, that of the host that needs most.
    """
    needed: Counter[tuple[str | None, str]] = Counter()  # by host and device
    gpus = [device for device in capabilities.devices if device.startswith("gpu")]
    for flow in case.flows:
        if case.interface_of(flow) == "route":
            paths = paths_there(case, flow, gpus)
            for relay in paths.relays:
                needed[flow.source.host, relay] += paths.staging_bytes
    for buffer, size in buffers(case, capabilities):
        needed[buffer.host, buffer.device] += size
    for flow in case.flows:
        if case.interface_of(flow) == COLD_LOAD:  # the data beside their copy, and the GPU's memory
            held = held_bytes(case.size_of(flow))
            needed[flow.source.host, flow.source.device] += case.size_of(flow)
            needed[flow.source.host, flow.executor] += held
        if moves_pages(case.interface_of(flow)):  # the destination needs room for the pages, too
            size = flow_buffer_bytes(case, flow, lambda _: 0)
            needed[flow.destination.host, flow.destination.device] += size
    most: dict[str, int] = {}
    for (_, device), size in needed.items():
        most[device] = max(most.get(device, 0), size)
    return most


def managed_bytes(case: Case, capabilities: Capabilities) -> int:
    """Returns the bytes of managed memory that one process of the case requests, wherever its pages are at
    first: the most that any of its GPUs may get. Each rank uses its own alone.
    """
    if not any(is_managed(end.memory) for flow in case.flows for end in case.buffers_of(flow)):
        return 0  # most cases; their sizes take time
    needed: dict[int | None, int] = {}
    for buffer, size in buffers(case, capabilities):
        if is_managed(buffer.memory):
            needed[buffer.rank] = needed.get(buffer.rank, 0) + size
    return max(needed.values(), default=0)


def usable(memory_bytes: int) -> int:
    """Returns the usable part; the rest is for the program, its runtimes and other processes."""
    return memory_bytes * 4 // 5
