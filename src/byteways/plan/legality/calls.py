"""Requirements of runtime calls: engines, graphs, batches, rows, routes, PyTorch, memory steps."""

from __future__ import annotations

import itertools

from byteways.base.units import format_size
from byteways.cases import memory_steps
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import is_device, is_managed, is_plain
from byteways.cases.options import CALL, LAUNCH, PEER_CALLS
from byteways.cases.relays import MOST_PIECES_IN_A_STREAM, paths_of, pieces_in_a_stream
from byteways.machine.model import ANY_DOMAIN, PLAIN_COPY, PLAIN_SET
from byteways.plan.legality.context import LegalityContext
from byteways.plan.legality.reach import Reach, because, kind_of, reach_refusal
from byteways.plan.managed_pages import lands_elsewhere, moving_refusal

#: Memory kinds in which PyTorch allocates tensors.
TORCH_MEMORIES = ("device", "pinned", "pageable")


def pages_refusal(question: LegalityContext) -> str | None:
    return moving_refusal(question.case, question.flow, question.topology, question.found)


def landing_refusal(question: LegalityContext) -> str | None:
    return lands_elsewhere(question.case, question.flow, question.topology, question.found)


def torch_refusal(question: LegalityContext) -> str | None:
    case, flow = question.case, question.flow
    if case.pattern != "unidirectional":
        return f"{case.interface} is measured one flow at a time"
    memories = [end.memory for end in (flow.source, flow.destination)]
    unknown = next((memory for memory in memories if memory not in TORCH_MEMORIES), None)
    return f"PyTorch has no {unknown} memory, only {', '.join(TORCH_MEMORIES)}" if unknown else None


def plain_copy_refusal(question: LegalityContext) -> str | None:
    """A runtime may refuse memory that it does not know, which others stage."""
    flow = question.flow
    plain = next((buffer for buffer in flow.buffers if is_plain(buffer.memory)), None)
    offer = question.there.calls.get(flow.executor, {}).get(PLAIN_COPY)
    if plain is None or offer is None or offer.available:
        return None
    what = f"copies of {plain.memory} memory, which the runtime neither allocated nor registered, are refused"
    return because(what, offer)


def plain_set_refusal(question: LegalityContext) -> str | None:
    """The same of setting its bytes, where kernels of the GPU reach it."""
    buffer, executor = question.flow.source, question.flow.executor
    offer = question.there.calls.get(executor, {}).get(PLAIN_SET)
    if not executor.startswith("gpu") or not is_plain(buffer.memory) or offer is None or offer.available:
        return None
    what = (
        f"{buffer.memory} memory, which the runtime neither allocated nor registered, is not set by its call"
    )
    return because(what, offer)


def call_refusal(question: LegalityContext) -> str | None:
    """A call may be missing, and one for peers names the GPUs that own both ends."""
    flow, call = question.flow, question.options[CALL.name]
    if call == CALL.default:
        return None
    if not flow.executor.startswith("gpu"):
        return f"{CALL.name} chooses among the calls of a GPU's runtime, and {flow.executor} is a CPU"
    if call in PEER_CALLS:
        for buffer in (flow.source, flow.destination):
            if not (kind_of(buffer.device) == "gpu" and is_device(buffer.memory)):
                return f"call {call} copies between memories of GPUs, and {buffer} is none"
    offer = question.there.calls.get(flow.executor, {}).get(f"{question.interface}-{call}")
    if offer is None or offer.available:
        return None
    return because(f"{flow.executor} has no such call", offer)


def step_refusal(question: LegalityContext) -> str | None:
    interface, flow = question.interface, question.flow
    if question.case.pattern != "unidirectional":
        return f"{interface} moves no bytes: it runs alone"
    if reason := memory_steps.refusal(interface, flow, question.options):
        return reason
    if interface == "map-peer":
        return reach_refusal(Reach.OWN_OR_PEER, flow.executor, flow.source, question.there)
    return None


def ipc_refusal(question: LegalityContext) -> str | None:
    """One GPU opens another process's memory, and its address is valid on that GPU only."""
    if all(buffer.memory != "ipc" for buffer in question.flow.buffers):
        return None
    interface = question.interface
    row = INTERFACES[interface]
    if row.worker != "native" or row.between_ranks:
        return f"{interface} allocates its own buffers, and ipc memory is another process's"
    if row.partner or interface == "route":
        return f"{interface} uses its buffers on several devices, and one GPU opens ipc memory"
    if "copy_engine" in question.options:
        return "an engine is chosen for memory of the same process, and ipc memory is another process's"
    return None


#: Memory that ranks open by each other's handles (native/interfaces/direct/communicator.cpp).
DIRECT_MEMORIES = ("device", "device-fine", "device-uncached")
#: The most ranks of a direct collective (native/interfaces/direct/arguments.hpp).
DIRECT_MOST_RANKS = 16
#: The longest message between two ranks by protocol LL (the same).
LL_MOST_BYTES = 512 * 1024


def peers_refusal(question: LegalityContext) -> str | None:
    """Every rank's GPU uses the memory of all others, of kinds that have handles."""
    case, flow = question.case, question.flow
    if len(case.ranks) > DIRECT_MOST_RANKS:
        return f"direct collectives support up to {DIRECT_MOST_RANKS} ranks, not {len(case.ranks)}"
    for buffer in flow.buffers:
        if buffer.memory not in DIRECT_MEMORIES:
            return f"ranks open each other's device memory, and no {buffer.memory} memory"
    message = case.size_bytes // (1 if case.pattern == "allreduce" else max(1, len(case.ranks)))
    if question.options.get("protocol") == "LL" and message > LL_MOST_BYTES:
        return f"protocol LL takes up to {format_size(LL_MOST_BYTES)} a message, not {format_size(message)}"
    return _through_host_refusal(question)


def _through_host_refusal(question: LegalityContext) -> str | None:
    """Ranks of one process whose GPUs have no peer access exchange words and flags through host memory."""
    ends = list(dict.fromkeys(buffer.device for buffer in question.flow.buffers))
    for executor, owner in itertools.permutations(ends, 2):
        offer = question.there.peer.get(executor, {}).get(owner)
        if offer is not None and offer.available:
            continue
        why = f"{executor} and {owner} have no peer access"
        why = because(why, offer) if offer is not None else why
        options = question.options
        if question.case.launch == LAUNCH.default:
            return f"{why} (ranks of one process exchange through host memory: launch = thread)"
        chosen = ("two-shot", "simple", "copy", "persistent")
        for name in ("algorithm", "protocol", "mechanism", "submit"):
            if options.get(name) in chosen:
                return f"{why}, which {name} = {options[name]} needs"
        return None
    return None


def engine_refusal(question: LegalityContext) -> str | None:
    """Copy engines need a GPU with a peer or the host, and must exist on the GPU that issues the copy."""
    flow, capabilities = question.flow, question.there
    engine = question.options["copy_engine"]
    for buffer in (flow.source, flow.destination):
        if is_plain(buffer.memory) or is_managed(buffer.memory):
            return f"choosing a copy engine needs page-locked memory, and {buffer.memory} is not"
    ends = [
        ANY_DOMAIN if kind_of(end.device) == "cpu" else end.device for end in (flow.source, flow.destination)
    ]
    if ends[0] == ends[1]:
        return "an engine can be chosen only for copies between two GPUs or between a GPU and the host"
    issuer = flow.source.device if ends[0] != ANY_DOMAIN else flow.destination.device
    if flow.executor != issuer:
        return f"the engine must belong to {issuer}, and the executor is {flow.executor}"
    offer = capabilities.copy_engines.get(ends[0], {}).get(ends[1])
    if offer is None:
        return f"no runtime reports which copy engines serve {ends[0]}>{ends[1]}"
    if not offer.engines:
        return f"no copy engine can be chosen for {ends[0]}>{ends[1]}: {offer.reason}"
    if engine not in offer.engines:
        known = ", ".join(str(number) for number in offer.engines)
        return f"copy engine {engine} does not serve {ends[0]}>{ends[1]}; valid: {known}"
    if ANY_DOMAIN not in ends:
        return reach_refusal(Reach.OWN_OR_PEER, issuer, flow.destination, capabilities)
    return None


def rows_refusal(question: LegalityContext) -> str | None:
    executor = question.flow.executor
    offer = question.there.calls.get(executor, {}).get("copy-2d")
    if offer is None or offer.available:
        return None
    return because(f"{executor} has no 2D copy", offer)


def packing_refusal(question: LegalityContext) -> str | None:
    """CPU threads pack or unpack in memory that stays theirs, and their operations are waited for."""
    case, flow = question.case, question.flow
    if case.pattern != "unidirectional":
        return f"{question.interface} is waited for: {case.pattern} flows would be serialised"
    ends = (flow.source, flow.destination)
    if {kind_of(end.device) for end in ends} != {"cpu", "gpu"}:
        return f"{question.interface} moves blocks between the host and a GPU, not on {flow.path}"
    if managed := next((end.memory for end in ends if is_managed(end.memory)), None):
        return f"pages of {managed} memory would migrate to the threads that pack them"
    host = next(end.device for end in ends if kind_of(end.device) == "cpu")
    threads, cores = int(question.options.get("threads", 1)), len(question.topology.device(host).cores)
    return f"{threads} threads exceed the {cores} cores of {host}" if 0 < cores < threads else None


def submit_refusal(question: LegalityContext) -> str | None:
    """Graphs and batches need memory that does not migrate, and support by the runtime."""
    how = question.options["submit"]
    if how in ("calls", "persistent"):
        return None
    for buffer in question.flow.buffers:
        if is_plain(buffer.memory) or is_managed(buffer.memory):
            return f"a {how} needs memory that does not migrate, and {buffer.memory} does"
    executor = question.flow.executor
    offer = question.there.calls.get(executor, {}).get(str(how))
    if offer is None or not offer.available:
        why = f"{executor} cannot submit a {how}"
        return why if offer is None else because(why, offer)
    return None


def route_refusal(question: LegalityContext) -> str | None:
    """A route needs locked memory, existing relays, and access from relays to the GPUs at its ends."""
    case, flow = question.case, question.flow
    ends = (flow.source, flow.destination)
    if ends[0].device == ends[1].device:
        return f"source and destination are both on {ends[0].device}: there is no second path"
    for buffer in ends:
        if is_plain(buffer.memory) or is_managed(buffer.memory):
            return (
                f"a route queues its pieces, which needs page-locked memory, and {buffer.memory} memory "
                "is not"
            )
    if flow.executor not in (ends[0].device, ends[1].device):
        return f"a route is issued by one of its ends, and {flow.executor} is not an end of {flow.path}"
    try:
        paths = paths_of(case, flow, question.topology.names("gpu"))
    except ValueError as error:
        return str(error)
    if case.size_of(flow) < 8 * (len(paths.relays) + 1):
        return f"{case.size_of(flow)} bytes cannot be split over {len(paths.relays) + 1} paths"
    pieces = pieces_in_a_stream(paths, case.size_of(flow))
    if pieces > MOST_PIECES_IN_A_STREAM:
        return (
            f"{pieces} pieces per stream of a relay exceed a queue's capacity of about "
            f"{MOST_PIECES_IN_A_STREAM}: use larger pieces"
        )
    for relay, end in itertools.product(paths.relays, ends):
        reason = reach_refusal(Reach.OWN_OR_PEER, relay, end, question.there)
        if reason and kind_of(end.device) == "gpu":
            return f"{relay} cannot relay: {reason}"
    return None
