"""Requirements of application patterns: the grid of ranks, tiles and messages, and each rank's reach."""

from __future__ import annotations

from byteways.cases.applications import (
    GPU_TRANSPORTS,
    OF_CORES,
    OF_PEERS,
    bytes_of_ends,
    columns_of,
    packed_by_core,
)
from byteways.cases.memory import is_device, is_managed, is_plain
from byteways.machine.model import Capabilities
from byteways.plan.legality.context import LegalityContext
from byteways.plan.legality.executors import own_gpu_refusal
from byteways.plan.legality.reach import REACH_OF_KIND, because, kind_of, reach_refusal
from byteways.plan.variables import runtime_of


def grid_refusal(question: LegalityContext) -> str | None:
    """Ranks fill whole rows of the grid, and cells whole rows of a tile with a halo."""
    case = question.case
    try:
        columns_of(len(case.ranks), case.options)
        bytes_of_ends(case.interface, case.size_bytes, case.options)
    except ValueError as error:
        return str(error)
    return None


def reach_of_ranks_refusal(question: LegalityContext) -> str | None:
    """Kernels of every rank reach its own data and messages, and so does the core that packs."""
    flow, capabilities = question.flow, question.there
    kind = kind_of(flow.executor)
    by_core = packed_by_core(question.case.interface, question.case.options)
    for pair in flow.pairs:
        own = next((end.device for end in pair if kind_of(end.device) == kind), flow.executor)
        for number, buffer in enumerate(pair):
            if number == 0 or not by_core:  # kernels track the data, and pack where no core does
                reach = REACH_OF_KIND[kind][buffer.memory]
                if reason := reach_refusal(reach, own, buffer, capabilities):
                    return reason
            if by_core and kind != "cpu":
                reach = REACH_OF_KIND["cpu"][buffer.memory]
                if reason := reach_refusal(reach, "cpu0", buffer, capabilities):
                    return f"a core packs: {reason}"
    return None


def _reaches_managed(gpu: str, capabilities: Capabilities) -> bool:
    """Whether NCCL or RCCL takes managed memory: RCCL fails in its own code unless page faults are retried
    (Schieffer et al. 2025, section 7.2). HIP reports retries as access to pageable memory.

    Applications are not planned then: they ask for a time, and a failed process costs all others. Messages
    and collectives are: which memory a library takes is what a matrix of memories asks.
    """
    return runtime_of(gpu, capabilities) != "hip" or capabilities.pageable_access.get(gpu, False)


def transport_refusal(question: LegalityContext) -> str | None:
    """The transport exists here and takes the memory of messages."""
    case, flow, capabilities = question.case, question.flow, question.there
    transport, messages = case.transport, flow.destination
    if packed_by_core(case.interface, case.options) and transport not in OF_CORES:
        return f"a core packs into new memory, which {transport} does not send"
    if kind_of(flow.executor) == "cpu":
        if transport in GPU_TRANSPORTS:
            return f"transport {transport} needs a GPU, and {flow.executor} is not one"
        return None
    if transport == "mpi-staged" and not (is_device(messages.memory) or is_managed(messages.memory)):
        return f"{messages} is host memory: nothing to stage"
    if transport in OF_PEERS and messages.memory != "device":
        return f"{transport} open device memory of neighbours by IPC handles, and {messages} is another kind"
    if case.by_xccl:
        if reason := own_gpu_refusal(question):
            return reason
        if is_plain(messages.memory) and not capabilities.pageable_access.get(flow.executor, False):
            return f"NCCL and RCCL reach memory that the GPU reaches, and {messages} is pageable"
        if is_managed(messages.memory) and not _reaches_managed(flow.executor, capabilities):
            return f"RCCL takes managed memory with XNACK only (HSA_XNACK=1), and {messages} is managed"
        offer = capabilities.interface.get(flow.executor, {}).get("xccl")
        if offer is not None and not offer.available:
            return because("it needs NCCL or RCCL", offer)
    return None
