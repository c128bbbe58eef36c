"""The kinds of memory, and what sets them apart."""

from __future__ import annotations

from collections.abc import Mapping

#: Memory kinds; native/runtimes/runtime.hpp has the same names.
MEMORIES = (
    *("pageable", "hugepage", "pinned", "pinned-noncoherent", "write-combined", "registered"),
    *("managed", "managed-coarse", "device", "device-fine", "device-uncached", "pool", "vmm", "ipc", "xccl"),
)
#: Host memory kinds that are page-locked at allocation: workers keep them from round to round.
LOCKED = ("pinned", "pinned-noncoherent", "write-combined", "registered")
#: Device kinds that can own each memory kind.
OWNERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("pageable", "hugepage", "pinned", "pinned-noncoherent"), ("cpu",)),
    **dict.fromkeys(("write-combined", "registered"), ("cpu",)),
    **dict.fromkeys(("managed", "managed-coarse"), ("cpu", "gpu")),
    **dict.fromkeys(("device", "device-fine", "device-uncached", "pool", "vmm", "ipc", "xccl"), ("gpu",)),
}
#: Kinds that differ from another one by coherence or caching alone, which not every vendor lets users choose.
VARIANTS = {
    "pinned-noncoherent": "pinned",
    "managed-coarse": "managed",
    "device-fine": "device",
    "device-uncached": "device",
}
#: Kinds that a library between ranks allocates for itself alone.
OF_LIBRARIES = ("xccl",)


def is_device(memory: str) -> bool:
    """Whether the GPU itself owns memory of this kind."""
    return memory in ("device", "device-fine", "device-uncached", "pool", "vmm", "ipc", "xccl")


def needs_grant(memory: str) -> bool:
    """Whether this memory must be opened to each other GPU separately, as peer access does not cover it."""
    return memory in ("pool", "vmm")


def is_managed(memory: str) -> bool:
    """Whether its pages migrate between devices."""
    return memory in ("managed", "managed-coarse")


def is_plain(memory: str) -> bool:
    """Whether it consists of ordinary pages of the operating system, unknown to GPU runtimes."""
    return memory in ("pageable", "hugepage")
