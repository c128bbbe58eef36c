"""Buffers kept from case to case: allocating, touching and registering a GiB takes longer than measuring with
it.
"""

from __future__ import annotations

import itertools
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from byteways.plan.case import Buffer as PlannedBuffer
from byteways.plan.case import Case, Flow
from byteways.plan.footprint import flow_buffer_bytes
from byteways.plan.interfaces import moves_pages, one_buffer

if TYPE_CHECKING:
    from byteways._core import Buffer, Session

#: Host memory whose pages are locked when it is allocated.
LOCKED = ("pinned", "pinned-noncoherent", "write-combined", "registered")
#: Part of a device's memory that kept buffers may take together.
KEPT_PART = 0.5

#: Buffer, role, number among the buffers of that role, bytes where buffers of several sizes are kept, and the
#: GPU whose runtime gives it where there are several runtimes.
Key = tuple[PlannedBuffer, str, int, int, str]


def _sides(case: Case, flow: Flow) -> list[tuple[str, PlannedBuffer]]:
    """What a flow needs, each with its role: one buffer serves one role, in a case and over all of them.

    Locked host memory serves any role: locking takes longer than filling it anew for every case, which the
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


class Arena:
    """Allocates buffers and hands them out again while their size is right.

    Args:
        core: The native module, for its exceptions.
        session: Allocates.
        memory_bytes: Memory of each device; 0 or missing: no limit but the allocator's own.
        first_gpus: By GPU, the first one of its runtime; empty where there is one runtime, which gives all.
    """

    def __init__(
        self,
        core: ModuleType,
        session: Session,
        memory_bytes: Mapping[str, int],
        first_gpus: Mapping[str, str] | None = None,
    ) -> None:
        self._first_gpus = first_gpus or {}
        self._core = core
        self._session = session
        self._memory_bytes = memory_bytes
        self._buffers: OrderedDict[Key, Buffer] = OrderedDict()  # least recently used first

    def clear(self) -> None:
        self._buffers.clear()

    def renew(self) -> None:
        """Drops what a new round is to allocate anew. Locked host memory stays and is filled again: to lock
        1 GiB took 0.4 s where a round measures for 10 (virtual machine with H200, 2026-11-22).
        """
        for key in [key for key in self._buffers if key[0].memory not in LOCKED]:
            del self._buffers[key]

    def take(self, case: Case, cache_bytes: Callable[[str], int]) -> list[tuple[Buffer, ...]]:
        """Buffers of every flow: sources, then the destination; one that is walked or moves stands for both.

        No two flows share a buffer, so that none finds the other's data in a cache.

        Args:
            cache_bytes: Last-level cache of a device, in bytes.

        Raises:
            OutOfMemoryError: Not even with nothing else kept.
        """
        used: Counter[tuple[PlannedBuffer, str]] = Counter()
        keys: list[tuple[Key, int]] = []
        for flow in case.flows:
            sides = _sides(case, flow)
            wanted = flow_buffer_bytes(case, flow, cache_bytes)
            for role, buffer in sides:
                size = wanted if buffer.memory in LOCKED else 0
                user = self._first_gpus.get(flow.executor, "")
                keys.append(((buffer, role, used[buffer, role], size, user), wanted))
                used[buffer, role] += 1
        taken = self._all(keys)
        if taken is None:
            # Not inside the except block: there the traceback would still hold what was taken so far.
            self.clear()
            taken = [self._take(key, wanted, keys) for key, wanted in keys]
        left = iter(taken)
        flows = [tuple(itertools.islice(left, len(_sides(case, flow)))) for flow in case.flows]
        return [held if len(held) > 1 else held * 2 for held in flows]

    def _all(self, keys: list[tuple[Key, int]]) -> list[Buffer] | None:
        """Every buffer, None when memory ran out."""
        try:
            return [self._take(key, wanted, keys) for key, wanted in keys]
        except self._core.OutOfMemoryError:
            return None

    def _take(self, key: Key, wanted: int, needed: list[tuple[Key, int]]) -> Buffer:
        """The kept buffer when it has just this size (a larger one would rotate over more), else a new
        one.
        """
        kept = self._buffers.get(key)
        if kept is not None and kept.bytes == wanted:
            self._buffers.move_to_end(key)
            return kept
        self._buffers.pop(key, None)
        planned, user = key[0], key[-1]
        self._make_room(planned.device, wanted, {key for key, _ in needed})
        made = self._session.allocate(
            planned.device, planned.memory, wanted, planned.first_touch or planned.device, user=user
        )
        self._buffers[key] = made
        return made

    def _make_room(self, device: str, wanted: int, needed: set[Key]) -> None:
        """Drops what was not used for longest until the new buffer fits the device's share."""
        limit = self._memory_bytes.get(device) or 0
        if limit <= 0:
            return
        for key in list(self._buffers):
            held = sum(buffer.bytes for kept, buffer in self._buffers.items() if kept[0].device == device)
            if held + wanted <= KEPT_PART * limit:
                return
            if key[0].device == device and key not in needed:
                del self._buffers[key]
