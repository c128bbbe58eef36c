"""The names that profilers give to copies and their memories, as kinds of byteways.

CUPTI and those who print its records name a memory by a word (`Pinned`, `Device Static`), rocprofiler a copy
by a direction (`MEMORY_COPY_HOST_TO_DEVICE`). A memory of the host whose kind is not named stays unknown.
"""

from __future__ import annotations

import re
from functools import lru_cache

from byteways.ext.watch.bins import End, What

#: By the word in lower case; arrays are memory of the device that textures read.
MEMORY_OF_WORD = {
    "pageable": "pageable",
    "pinned": "pinned",
    "device": "device",
    "array": "device",
    "managed": "managed",
    "device static": "device",
    "managed static": "managed",
}
#: `Host-to-Device`, `HOST_TO_DEVICE`, `HtoD`, `UVM_DTOH`, `Peer-to-Peer`: first letters of the ends.
_DIRECTION = re.compile(r"(?<![A-Za-z])([HDAP])(?:ost|evice|rray|eer)?[-_ ]?to[-_ ]?([HDAP])", re.IGNORECASE)
#: Calls of the CUDA and HIP runtimes and drivers, without what distinguishes their variants.
_ALLOCATIONS: tuple[tuple[re.Pattern[str], What, str | None], ...] = (
    (
        re.compile(r"(cuda|hip)(MallocHost|HostAlloc|HostMalloc)|(cu|hip)MemHostAlloc|(cu|hip)MemAllocHost"),
        "allocation",
        "pinned",
    ),
    (re.compile(r"(cuda|hip)MallocManaged|(cu|hip)MemAllocManaged"), "allocation", "managed"),
    (re.compile(r"(cuda|hip)Malloc(Async|Pitch|FromPoolAsync)?$|(cu|hip)MemAlloc"), "allocation", "device"),
    (re.compile(r"(cuda|hip)(FreeHost|HostFree)|(cu|hip)MemFreeHost"), "release", "pinned"),
    (re.compile(r"(cuda|hip)Free(Async)?$|(cu|hip)MemFree(Async)?$"), "release", None),
)
#: Answers about names: a trace has millions of events, and tens of names.
_KEPT = 1024
_WAITS = re.compile(r"(cuda|hip|cu)\w*Synchronize")
_VERSION = re.compile(r"_v\d+$|_ptsz$|_ptds$")


@lru_cache(_KEPT)
def memory_of(word: object) -> str | None:
    """Returns the memory kind that a profiler's word names."""
    return MEMORY_OF_WORD.get(word.strip().lower()) if isinstance(word, str) else None


@lru_cache(_KEPT)
def direction_of(name: str) -> tuple[str, str] | None:
    """Returns letters of what a copy goes between (H, D, A, P), from any of its spellings."""
    found = _DIRECTION.search(name)
    return (found[1].upper(), found[2].upper()) if found else None


@lru_cache(_KEPT)
def copy_ends(
    direction: tuple[str, str] | None,
    memories: tuple[str | None, str | None],
    devices: tuple[str | None, str | None],
) -> tuple[End, End]:
    """Returns source and destination of a copy.

    Args:
        direction: As of direction_of(); decides which ends are a device's.
        memories: Kinds of the ends; None where the profiler does not say: device memory on a device's end.
        devices: Devices whose memory the ends would be.
    """
    ends = []
    for end in (0, 1):
        on_device = direction is None or direction[end] != "H"
        memory = memories[end]
        if memory is None and direction is not None and on_device:
            memory = "device"
        ends.append(End(memory, devices[end] if on_device and memory not in ("pageable", "pinned") else None))
    return ends[0], ends[1]


@lru_cache(_KEPT)
def plain_call(name: str) -> str:
    """Returns the name of a call without the suffixes of its versions."""
    while (shorter := _VERSION.sub("", name)) != name:
        name = shorter
    return name


@lru_cache(_KEPT)
def moves_memory(call: str) -> bool:
    """Whether a call of a runtime copies or sets memory, so that its time is that of one operation."""
    lower = call.lower()
    return "memcpy" in lower or "memset" in lower or "memprefetch" in lower


@lru_cache(_KEPT)
def other_call(call: str) -> tuple[What, str | None] | None:
    """Returns what a call is that moves no memory, and of which memory; None: nothing that is counted."""
    if _WAITS.match(call):
        return "synchronisation", None
    for pattern, what, memory in _ALLOCATIONS:
        if pattern.match(call):
            return what, memory
    return None
