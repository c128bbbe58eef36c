"""Which executor can access which memory under what condition, who can own it, and who can touch it first."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from byteways.cases.case import Buffer
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import OWNERS, needs_grant
from byteways.machine.model import Capabilities, Offer


class Reach(Enum):
    """The condition for an executor to access a memory kind."""

    ALWAYS = "always"
    SHARED = "only where the GPU's memory is shared with the host"
    ON_HOST = "only where the pages reside on the host: touching them elsewhere would migrate them"
    OWN_OR_PEER = "its own, or another GPU's with verified peer access"
    NEVER = "never"
    LIBRARY = "only for the library that allocates it"
    PAGEABLE_ACCESS = "only where kernels may touch plain host memory"


_BY_CPU = {
    "pageable": Reach.ALWAYS,
    "hugepage": Reach.ALWAYS,
    "pinned": Reach.ALWAYS,
    "pinned-noncoherent": Reach.ALWAYS,
    "write-combined": Reach.ALWAYS,
    "registered": Reach.ALWAYS,
    "managed": Reach.ON_HOST,
    "managed-coarse": Reach.ON_HOST,
    "device": Reach.SHARED,
    "device-fine": Reach.SHARED,
    "device-uncached": Reach.SHARED,
    "pool": Reach.SHARED,
    "vmm": Reach.SHARED,
    "ipc": Reach.NEVER,
    "xccl": Reach.LIBRARY,
}
_BY_GPU = {
    "pageable": Reach.PAGEABLE_ACCESS,
    "hugepage": Reach.PAGEABLE_ACCESS,
    "pinned": Reach.ALWAYS,
    "pinned-noncoherent": Reach.ALWAYS,
    "write-combined": Reach.ALWAYS,
    "registered": Reach.ALWAYS,
    "managed": Reach.OWN_OR_PEER,
    "managed-coarse": Reach.OWN_OR_PEER,
    "device": Reach.OWN_OR_PEER,
    "device-fine": Reach.OWN_OR_PEER,
    "device-uncached": Reach.OWN_OR_PEER,
    "pool": Reach.OWN_OR_PEER,
    "vmm": Reach.OWN_OR_PEER,
    "ipc": Reach.OWN_OR_PEER,
    "xccl": Reach.LIBRARY,
}
#: Copies by a CPU: pages kept on a GPU migrate to the core on demand.
_BY_COPYING_CPU = {**_BY_CPU, "managed": Reach.ALWAYS, "managed-coarse": Reach.ALWAYS}
#: Who may touch pages first: registered pages are touched before they are locked.
_TOUCHED_BY = {"cpu": _BY_CPU, "gpu": {**_BY_GPU, "registered": Reach.PAGEABLE_ACCESS}}
#: The runtime stages what its engines cannot access; another process's memory must be opened first.
_BY_CALL = {**dict.fromkeys(_BY_GPU, Reach.ALWAYS), "ipc": Reach.OWN_OR_PEER, "xccl": Reach.LIBRARY}
#: Kernels of NCCL and RCCL, which open memory of other GPUs for themselves.
_BY_LIBRARY = {
    **_BY_CALL,
    **dict.fromkeys(("pageable", "hugepage"), Reach.PAGEABLE_ACCESS),
    "xccl": Reach.ALWAYS,
}
#: By loads and stores of a kind of executor.
REACH_OF_KIND: Mapping[str, Mapping[str, Reach]] = {"cpu": _BY_CPU, "gpu": _BY_GPU}

#: (interface, kind of executor) -> memory -> condition. Missing pairs are refused.
REACH_TABLE: Mapping[tuple[str, str], Mapping[str, Reach]] = {
    (name, kind): _BY_LIBRARY
    if interface.library == "xccl"
    else _BY_CALL
    if interface.by_call
    else _BY_COPYING_CPU
    if kind == "cpu" and interface.copies
    else REACH_OF_KIND[kind]
    for name, interface in INTERFACES.items()
    for kind in interface.kernels
}

#: Memory placed on first write; all other memory is placed on allocation, and its first write only fills it.
PLACED_BY_TOUCH = ("pageable", "hugepage", "registered", "managed", "managed-coarse")
#: Memory that its owner fills, before it is opened or registered for others.
FILLED_BY_OWNER = {
    "ipc": "another process allocates and fills it, before this one opens it",
    "xccl": "NCCL or RCCL allocates it on one GPU, whose rank fills it",
}


def kind_of(device: str) -> str:
    """Returns 'cpu' for 'cpu0': the name contains the kind of device."""
    return device.rstrip("0123456789")


def because(what: str, offer: Offer) -> str:
    return f"{what}: {offer.reason}" if offer.reason else what


def memory_offer(memory: str, device: str, capabilities: Capabilities) -> Offer:
    """Whether the device can own memory of this kind here."""
    if kind_of(device) not in OWNERS[memory]:
        of = "a GPU" if OWNERS[memory] == ("gpu",) else "a CPU"
        return Offer(False, f"{memory} memory belongs to {of}, and {device} is not one")
    offer = capabilities.memory.get(device, {}).get(memory)
    if offer is None:
        return Offer(False, f"no runtime reports {memory} memory for {device}")
    if offer.available:
        return Offer(True)
    return Offer(False, because(f"{device} has no {memory} memory", offer))


def buffer_refusal(buffer: Buffer, capabilities: Capabilities) -> str | None:
    """Returns why this buffer is impossible here: its memory, or its first touch; None if possible."""
    offer = memory_offer(buffer.memory, buffer.device, capabilities)
    if not offer.available:
        return offer.reason
    toucher = buffer.first_touch
    if toucher is None or toucher == buffer.device:
        return None
    if buffer.memory in FILLED_BY_OWNER:
        return f"{toucher} cannot touch {buffer} first: {FILLED_BY_OWNER[buffer.memory]}"
    reach = _TOUCHED_BY[kind_of(toucher)][buffer.memory]
    reason = reach_refusal(reach, toucher, buffer, capabilities)
    return f"{toucher} cannot touch {buffer} first: {reason}" if reason else None


def reach_refusal(reach: Reach, executor: str, buffer: Buffer, capabilities: Capabilities) -> str | None:
    """Returns why the condition does not hold for this executor and buffer; None if it holds."""
    owner = buffer.device
    if reach is Reach.NEVER:
        return f"{buffer.memory} memory of {owner} is opened by a GPU, and {executor} is not one"
    if reach is Reach.LIBRARY:
        return f"{buffer.memory} memory is allocated and registered by NCCL or RCCL, for interface xccl alone"
    if reach is Reach.SHARED and not capabilities.host_access.get(owner, False):
        what = f"{buffer.memory} memory of {owner}"
        return f"{executor} cannot address {what}, which is not shared with the host"
    if reach is Reach.ON_HOST and kind_of(owner) != "cpu":
        return f"{buffer.memory} pages on {owner} would migrate when {executor} touches them"
    if reach is Reach.PAGEABLE_ACCESS and not capabilities.pageable_access.get(executor, False):
        return f"kernels of {executor} cannot touch {buffer.memory} memory: it has no pageable memory access"
    if reach is Reach.OWN_OR_PEER and owner != executor and kind_of(owner) == "gpu":
        offer = capabilities.peer.get(executor, {}).get(owner)
        if offer is None:
            return f"{executor} and {owner} have no verified peer access"
        if not offer.available:
            return because(f"{executor} and {owner} have no peer access", offer)
        if needs_grant(buffer.memory):
            return _grant_refusal(executor, buffer, capabilities)
    return None


def _grant_refusal(executor: str, buffer: Buffer, capabilities: Capabilities) -> str | None:
    offer = capabilities.granted.get(executor, {}).get(buffer.device, {}).get(buffer.memory)
    what = f"{buffer.memory} memory of {buffer.device}"
    if offer is None:
        return f"{executor} has no verified access to {what}"
    return None if offer.available else because(f"{executor} has no access to {what}", offer)
