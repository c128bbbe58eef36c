"""A buffer pool: allocating, touching and registering a GiB takes longer than measuring with it."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from byteways import _core
from byteways.cases.case import Buffer as PlannedBuffer
from byteways.cases.case import Case, Flow
from byteways.cases.interfaces import INTERFACES, moves_pages, one_buffer
from byteways.cases.memory import LOCKED
from byteways.measuring.work.exporter import Exports
from byteways.plan.footprint import bytes_of_buffers

if TYPE_CHECKING:
    from byteways._core import Buffer, Session

#: Interfaces whose operations rotate over the smaller of source and destination.
ANY_SIZE = ("copy", "kernel", "kernel-bulk")
#: Fraction of a device's memory that pooled buffers may occupy.
KEPT_PART = 0.5

#: Buffer, role, index among the buffers of that role, size in bytes (if several sizes are kept), and the GPU
#: whose runtime allocates (if there are several runtimes) or which opens another process's memory.
PoolKey = tuple[PlannedBuffer, str, int, int, str]


def _sides(case: Case, flow: Flow) -> list[tuple[str, PlannedBuffer]]:
    """Returns the buffers of a flow with their roles; a buffer keeps its role in all cases.

    Page-locked host memory may take any role: locking takes longer than refilling it for each case, which the
    native core does.
    """
    return [("any" if buffer.memory in LOCKED else role, buffer) for role, buffer in _roles(case, flow)]


def _roles(case: Case, flow: Flow) -> list[tuple[str, PlannedBuffer]]:
    if moves_pages(case.interface_of(flow)):
        return [("moved", flow.source)]
    if one_buffer(case.interface_of(flow)):
        return [("walked", flow.source)]
    *sources, destination = case.buffers_of(flow)
    named = zip(("source", "second source"), sources, strict=False)
    return [*named, ("destination", destination)]


def _any_size_is_enough(case: Case, flow: Flow) -> bool:
    """Whether a page-locked buffer of the flow may be larger than it has to be.

    Operations rotate over as many slots as the smaller buffer has: the other end, of just the right size,
    decides. A chase walks over the size of its case.
    """
    interface = case.interface_of(flow)
    if one_buffer(interface):
        return INTERFACES[interface].walks
    exact = [buffer for buffer in case.buffers_of(flow) if buffer.memory not in LOCKED]
    return interface in ANY_SIZE and bool(exact)


class BufferPool:
    """Allocates buffers and reuses them while their size matches.

    Args:
        session: Allocates the buffers.
        memory_bytes: Memory of each device; 0 or missing means that only the allocator limits.
        first_gpus: First GPU of each GPU's runtime; empty if a single runtime serves all.
        exports: Allocates `ipc` memory; None where no case has any.
        xccl: Allocates `xccl` memory of a device, of so many bytes; None where no case has any.
    """

    def __init__(
        self,
        session: Session,
        memory_bytes: Mapping[str, int],
        first_gpus: Mapping[str, str] | None = None,
        exports: Exports | None = None,
        xccl: Callable[[str, int], Buffer] | None = None,
    ) -> None:
        self._first_gpus = first_gpus or {}
        self._exports = exports
        self._xccl = xccl
        self._exported: dict[PoolKey, int] = {}  # numbers of exported allocations
        self._session = session
        self._memory_bytes = memory_bytes
        self._buffers: OrderedDict[PoolKey, Buffer] = OrderedDict()  # least recently used first
        self._made = 0  # allocations so far
        #: Whether all buffers that were taken last had been allocated for that.
        self.all_new = False

    @property
    def has_exported(self) -> bool:
        """Whether a buffer is another process's."""
        return bool(self._exported)

    def clear(self) -> None:
        for key in list(self._buffers):
            self._drop(key)

    def renew(self) -> None:
        """Drops the buffers that a new round must allocate anew.

        Page-locked host memory is kept and refilled: locking 1 GiB took 0.4 s, a round measures for 10 s
        (virtual machine with H200, 2026-11-22).
        """
        for key in [key for key in self._buffers if key[0].memory not in LOCKED]:
            self._drop(key)

    def take(self, case: Case, cache_bytes: Callable[[str], int]) -> list[tuple[Buffer, ...]]:
        """Returns the buffers of every flow: sources, then destination; a single buffer may serve as both.

        Flows never share a buffer, so none finds another's data in a cache.

        Args:
            cache_bytes: Returns a device's last-level cache size in bytes.

        Raises:
            OutOfMemoryError: The buffers do not fit even with an empty pool.
        """
        keys = self._keys(case, cache_bytes)
        made = self._made
        taken = self._all(keys)
        if taken is None:
            # Outside the except block: inside, the traceback would keep the buffers taken so far alive.
            self.clear()
            keys = self._keys(case, cache_bytes)
            taken = [self._take(key, wanted, keys) for key, wanted in keys]
        self.all_new = self._made - made >= len(keys)
        left = iter(taken)
        flows = [tuple(itertools.islice(left, len(_sides(case, flow)))) for flow in case.flows]
        return [held if len(held) > 1 else held * 2 for held in flows]

    def _keys(self, case: Case, cache_bytes: Callable[[str], int]) -> list[tuple[PoolKey, int]]:
        """Returns a key for each buffer of the case, none twice, and the bytes of the buffer."""
        keys: list[tuple[PoolKey, int]] = []
        for flow in case.flows:
            sides = _sides(case, flow)
            sizes = bytes_of_buffers(case, flow, cache_bytes)
            any_size = _any_size_is_enough(case, flow)
            for (role, buffer), wanted in zip(sides, sizes, strict=False):
                size = wanted if buffer.memory in LOCKED else 0
                opened = buffer.memory == "ipc"
                user = flow.executor if opened else self._first_gpus.get(flow.executor, "")
                taken = {key for key, _ in keys}
                numbered = ((buffer, role, number, size, user) for number in itertools.count())
                key = next(key for key in numbered if key not in taken)
                larger = self._larger(key, wanted, taken) if size and any_size else None
                keys.append(larger or (key, wanted))
        return keys

    def _larger(self, key: PoolKey, wanted: int, taken: set[PoolKey]) -> tuple[PoolKey, int] | None:
        """Returns the smallest kept buffer that the case has not taken and that has room; None if none."""
        able = [
            (held.bytes, other)
            for other, held in self._buffers.items()
            if (other[0], other[1], other[4]) == (key[0], key[1], key[4])
            and other not in taken
            and held.bytes >= wanted
        ]
        if not able:
            return None
        size, found = min(able, key=lambda one: one[0])
        return found, size

    def _all(self, keys: list[tuple[PoolKey, int]]) -> list[Buffer] | None:
        """Returns all buffers; None if memory runs out."""
        try:
            return [self._take(key, wanted, keys) for key, wanted in keys]
        except _core.OutOfMemoryError:
            return None

    def _take(self, key: PoolKey, wanted: int, needed: list[tuple[PoolKey, int]]) -> Buffer:
        """Returns a pooled buffer of exactly this size (a larger one would rotate further), or a new one."""
        kept = self._buffers.get(key)
        if kept is not None and kept.bytes == wanted:
            self._buffers.move_to_end(key)
            return kept
        kept = None  # or it would still be held while the new one is allocated
        self._drop(key)
        planned, user = key[0], key[-1]
        self._make_room(planned.device, wanted, {key for key, _ in needed})
        if planned.memory == "ipc":
            made = self._open(key, wanted)
        elif planned.memory == "xccl" and self._xccl is not None:
            made = self._xccl(planned.device, wanted)
        else:
            made = self._session.allocate(
                planned.device, planned.memory, wanted, planned.first_touch or planned.device, user=user
            )
        self._buffers[key] = made
        self._made += 1
        return made

    def _open(self, key: PoolKey, wanted: int) -> Buffer:
        """Returns new memory of another process."""
        assert self._exports is not None
        device, opener = key[0].device, key[-1]
        number, handle = self._exports.allocate(device, "device", wanted)
        try:
            made = self._session.open_exported(device, wanted, opener, handle)
        except _core.Error:
            self._exports.free(number)
            raise
        self._exported[key] = number
        return made

    def _drop(self, key: PoolKey) -> None:
        """Closes another process's memory before that process frees it."""
        self._buffers.pop(key, None)
        number = self._exported.pop(key, None)
        if number is not None and self._exports is not None:
            self._exports.free(number)

    def _make_room(self, device: str, wanted: int, needed: set[PoolKey]) -> None:
        """Drops least recently used buffers until the new one fits the device's share."""
        limit = self._memory_bytes.get(device) or 0
        if limit <= 0:
            return
        for key in list(self._buffers):
            held = sum(buffer.bytes for kept, buffer in self._buffers.items() if kept[0].device == device)
            if held + wanted <= KEPT_PART * limit:
                return
            if key[0].device == device and key not in needed:
                self._drop(key)
