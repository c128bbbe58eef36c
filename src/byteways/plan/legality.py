"""What may run where: one table of interface × executor × memory, and every refusal in a sentence.

Pure: it judges from a Topology and from what the runtimes were found to offer, and opens nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from byteways.plan import memory_steps
from byteways.plan.case import Buffer, Case, Flow, is_managed, is_plain, needs_grant
from byteways.plan.footprint import footprint, managed_bytes
from byteways.plan.interfaces import INTERFACES, WORD_BYTES, counts_as_stream, is_memory_step
from byteways.plan.moving import moving_refusal
from byteways.plan.relays import (
    MOST_PIECES_IN_A_STREAM,
    PIECE_GRANULARITY_BYTES,
    paths_of,
    pieces_in_a_stream,
)
from byteways.plan.rows import moves_rows, rows_of
from byteways.plan.variables import gives_pageable_access, reader_of, runtime_of
from byteways.topology.model import HOST, Capabilities, Offer, Topology
from byteways.units import format_size


class Reach(Enum):
    """On what condition an executor gets at a kind of memory."""

    ALWAYS = "always"
    SHARED = "only where the GPU's memory is shared with the host"
    ON_HOST = "only where the pages are kept on the host: touching them elsewhere would move them"
    OWN_OR_PEER = "its own, or another GPU's with proved peer access"
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
}
#: Copies: pages that are kept on a GPU come to the core that touches them, on demand.
_BY_COPYING_CPU = {**_BY_CPU, "managed": Reach.ALWAYS, "managed-coarse": Reach.ALWAYS}
#: By whom pages may be touched first: those that are registered are touched before they are locked.
_TOUCHED_BY = {"cpu": _BY_CPU, "gpu": {**_BY_GPU, "registered": Reach.PAGEABLE_ACCESS}}
_BY_CALL = dict.fromkeys(_BY_GPU, Reach.ALWAYS)  # the runtime stages what its engines cannot reach
_BY_KIND = {"cpu": _BY_CPU, "gpu": _BY_GPU}

#: The table: (interface, kind of executor) -> memory -> condition. A pair that is missing is refused.
TABLE: Mapping[tuple[str, str], Mapping[str, Reach]] = {
    (name, kind): _BY_CALL
    if interface.by_call
    else _BY_COPYING_CPU
    if name.startswith("memcpy")
    else _BY_KIND[kind]
    for name, interface in INTERFACES.items()
    for kind in interface.kernels
}

#: Kinds of agent that own each memory.
OWNERS: Mapping[str, tuple[str, ...]] = {
    "pageable": ("cpu",),
    "hugepage": ("cpu",),
    "pinned": ("cpu",),
    "pinned-noncoherent": ("cpu",),
    "write-combined": ("cpu",),
    "registered": ("cpu",),
    "managed": ("cpu", "gpu"),
    "managed-coarse": ("cpu", "gpu"),
    "device": ("gpu",),
    "device-fine": ("gpu",),
    "device-uncached": ("gpu",),
    "pool": ("gpu",),
    "vmm": ("gpu",),
}

#: Memory whose pages are placed when they are first written; the rest is placed by its allocation.
PLACED_BY_TOUCH = ("pageable", "hugepage", "registered", "managed", "managed-coarse")

#: The least working set of a chase: a few lines of any agent, all in the first-level cache.
CHASE_LEAST_BYTES = 1024

#: What PyTorch allocates tensors in.
TORCH_MEMORIES = ("device", "pinned", "pageable")

#: Threads of one memcpy-mt where the machine does not tell its cores (native/movers/kernel_copy.cpp).
MOST_THREADS = 4096


def kind_of(agent: str) -> str:
    """'cpu' of 'cpu0': names say what kind of agent it is."""
    return agent.rstrip("0123456789")


def executes(interface: str, kind: str) -> bool:
    """Whether agents of this kind can execute the interface at all."""
    return INTERFACES[interface].executed_by(kind)


def refusal(case: Case, topology: Topology, capabilities: Capabilities) -> str | None:
    """Why the case cannot run on this machine, in a sentence; None when it can.

    Agents must exist in the topology (the expansion of sweeps sees to that).
    """
    if reason := (_size_refusal(case) or _company_refusal(case) or _environment_refusal(case, capabilities)):
        return reason
    if reason := _rows_refusal(case):
        return reason
    there = _in_environment(case.environment, capabilities)
    for flow in case.flows:
        if reason := _flow_refusal(case.interface_of(flow), flow, there):
            return reason
        if reason := moving_refusal(case, flow, topology, capabilities):
            return reason
    return (
        _torch_refusal(case)
        or _step_refusal(case, there)
        or _engine_refusal(case, there)
        or _pace_refusal(case)
        or _submit_refusal(case, there)
        or _core_refusal(case, topology)
        or _team_refusal(case, topology)
        or _route_refusal(case, topology, there)
        or _managed_refusal(case, capabilities)
        or _room_refusal(case, topology, capabilities)
    )


def _size_refusal(case: Case) -> str | None:
    for flow in case.flows:
        interface, size = case.interface_of(flow), case.size_of(flow)
        if size <= 0:
            return f"a size of {size} bytes moves nothing"
        if interface == "chase":
            if size & (size - 1) or size < CHASE_LEAST_BYTES:
                return f"a chase walks a power of two of bytes, at least {CHASE_LEAST_BYTES}; {size} is none"
            continue
        if is_memory_step(interface):
            if size % memory_steps.PAGE_BYTES:
                return (
                    f"memory is had in pages of {memory_steps.PAGE_BYTES} bytes; {size} is no number of them"
                )
            continue
        if INTERFACES[interface].figure == "time" and interface != "compute" and size != WORD_BYTES:
            return f"{interface} moves nothing: its buffer holds one word of {WORD_BYTES} bytes, not {size}"
        if INTERFACES[interface].partner and size != WORD_BYTES:
            return f"{interface} sends one word of {WORD_BYTES} bytes, not {size}"
        granularity = INTERFACES[interface].granularity_bytes
        if size % granularity:
            return f"{interface} moves multiples of {granularity} bytes; {size} is none"
    return None


def _company_refusal(case: Case) -> str | None:
    """What moves no bytes is measured alone or is what others disturb."""
    flow = case.flows[0]
    if case.interface == "compute" and flow.source.agent != flow.executor:
        return f"compute keeps its result in memory of {flow.executor}, and {flow.source} is another's"
    first, *others = (case.interface_of(flow) for flow in case.flows)
    if others and INTERFACES[first].alone and case.pattern != "interference":
        return f"{first} moves no bytes: it runs alone, or is what others disturb"
    if others and INTERFACES[first].partner:
        return f"{first} keeps two agents waiting for each other: it runs alone"
    for interface in others:
        if INTERFACES[interface].alone:
            return f"{interface} moves no bytes, so it is no load on what it would disturb"
    return None


def _environment_refusal(case: Case, capabilities: Capabilities) -> str | None:
    """Variables that nothing reads here would give figures that look like those of a setting."""
    touchers = [buffer.first_touch for flow in case.flows for buffer in flow.buffers if buffer.first_touch]
    agents = [name for name in (*case.agents, *touchers) if kind_of(name) == "gpu"] or list(case.executors)
    runtimes = {agent: runtime_of(agent, capabilities) for agent in agents}
    for variable in sorted(case.environment):
        reader = reader_of(variable)
        if reader is None or reader.runtime in runtimes.values() or None in runtimes.values():
            continue
        agent, runtime = next(iter(runtimes.items()))
        return f"{variable} is read by {reader.name}, and {agent} is driven by {runtime}"
    return None


def _in_environment(environment: Mapping[str, str], capabilities: Capabilities) -> Capabilities:
    """With what workers of this environment may have on top; whether they have it they find themselves."""
    runtimes = {
        reader.runtime
        for name, value in environment.items()
        if gives_pageable_access(name, value) and (reader := reader_of(name))
    }
    gained = {agent: True for agent in capabilities.agents if runtime_of(agent, capabilities) in runtimes}
    if not gained:
        return capabilities
    return replace(capabilities, pageable_access={**capabilities.pageable_access, **gained})


def interface_offer(interface: str, agent: str, capabilities: Capabilities) -> Offer:
    """Whether the agent can execute the interface here, whatever the memory."""
    if not executes(interface, kind_of(agent)):
        return Offer(False, _executor_refusal(interface, agent))
    offer = capabilities.interface.get(agent, {}).get(interface)
    if offer is None and interface == "kernel-bulk":
        return Offer(False, f"the runtime does not say that {agent} has bulk-copy instructions")
    if offer is None or offer.available:
        return Offer(True)
    return Offer(False, _because(f"{interface} is not available on {agent}", offer))


def memory_offer(memory: str, agent: str, capabilities: Capabilities) -> Offer:
    """Whether the agent can own memory of this kind here."""
    if kind_of(agent) not in OWNERS[memory]:
        of = "a GPU" if OWNERS[memory] == ("gpu",) else "a CPU"
        return Offer(False, f"{memory} memory belongs to {of}, and {agent} is none")
    offer = capabilities.memory.get(agent, {}).get(memory)
    if offer is None:
        return Offer(False, f"no runtime says that it offers {memory} memory for {agent}")
    if offer.available:
        return Offer(True)
    return Offer(False, _because(f"{agent} has no {memory} memory", offer))


def _flow_refusal(interface: str, flow: Flow, capabilities: Capabilities) -> str | None:
    executor = flow.executor
    offer = interface_offer(interface, executor, capabilities)
    if not offer.available:
        return offer.reason
    reaches = TABLE[interface, kind_of(executor)]
    for buffer in dict.fromkeys(flow.buffers):
        if reason := _buffer_refusal(buffer, capabilities):
            return reason
        if reason := _reach_refusal(reaches[buffer.memory], executor, buffer, capabilities):
            return reason
    return None if flow.partner is None else _partner_refusal(interface, flow, flow.partner, capabilities)


def _partner_refusal(interface: str, flow: Flow, partner: str, capabilities: Capabilities) -> str | None:
    """Both sides reach both words, and see each other's stores while they run."""
    offer = interface_offer(interface, partner, capabilities)
    if not offer.available:
        return offer.reason
    reaches = TABLE[interface, kind_of(partner)]
    for buffer in dict.fromkeys(flow.buffers):
        if reason := _reach_refusal(reaches[buffer.memory], partner, buffer, capabilities):
            return reason
        if is_managed(buffer.memory):
            return f"a word in {buffer.memory} memory would move to whoever looks at it"
        if buffer.memory == "pinned-noncoherent":
            return "a GPU that looks at pinned-noncoherent memory may go on seeing what it saw first"
    return None


def _executor_refusal(interface: str, executor: str) -> str:
    if interface == "copy":
        return f"copy is queued on a GPU, and {executor} is a CPU (a CPU executes memcpy)"
    if is_memory_step(interface):
        return f"{interface} is asked of a GPU's runtime, and {executor} is a CPU"
    if interface in ("synchronize", "event"):
        return f"{interface} is about the queues of a GPU, and {executor} is a CPU"
    if interface.startswith("memcpy"):
        return f"{interface} runs on CPU cores, and {executor} is a GPU (a GPU executes copy or kernel)"
    return f"{interface} runs on a GPU, and {executor} is a CPU (a CPU executes memcpy)"


def _buffer_refusal(buffer: Buffer, capabilities: Capabilities) -> str | None:
    offer = memory_offer(buffer.memory, buffer.agent, capabilities)
    if not offer.available:
        return offer.reason
    toucher = buffer.first_touch
    if toucher is None or toucher == buffer.agent:
        return None
    if buffer.memory not in PLACED_BY_TOUCH:
        return f"{buffer.memory} memory is placed when allocated: first touch by {toucher} changes nothing"
    reach = _TOUCHED_BY[kind_of(toucher)][buffer.memory]
    reason = _reach_refusal(reach, toucher, buffer, capabilities)
    return f"{toucher} cannot touch {buffer} first: {reason}" if reason else None


def _reach_refusal(reach: Reach, executor: str, buffer: Buffer, capabilities: Capabilities) -> str | None:
    owner = buffer.agent
    if reach is Reach.SHARED and not capabilities.host_access.get(owner, False):
        what = f"{buffer.memory} memory of {owner}"
        return f"{executor} has no address for {what}, which is not shared with the host"
    if reach is Reach.ON_HOST and kind_of(owner) != "cpu":
        return f"{buffer.memory} pages that are kept on {owner} would move when {executor} touches them"
    if reach is Reach.PAGEABLE_ACCESS and not capabilities.pageable_access.get(executor, False):
        return f"kernels of {executor} cannot touch {buffer.memory} memory: it has no pageable memory access"
    if reach is Reach.OWN_OR_PEER and owner != executor and kind_of(owner) == "gpu":
        offer = capabilities.peer.get(executor, {}).get(owner)
        if offer is None:
            return f"{executor} and {owner} have no proved peer access"
        if not offer.available:
            return _because(f"{executor} and {owner} have no peer access", offer)
        if needs_grant(buffer.memory):
            return _grant_refusal(executor, buffer, capabilities)
    return None


def _torch_refusal(case: Case) -> str | None:
    if case.worker != "torch":
        return None
    if case.pattern != "one-way":
        return f"{case.interface} is measured one flow at a time"
    memories = [end.memory for end in (case.flows[0].source, case.flows[0].destination)]
    unknown = next((memory for memory in memories if memory not in TORCH_MEMORIES), None)
    return f"PyTorch has no {unknown} memory, only {', '.join(TORCH_MEMORIES)}" if unknown else None


def _grant_refusal(executor: str, buffer: Buffer, capabilities: Capabilities) -> str | None:
    offer = capabilities.granted.get(executor, {}).get(buffer.agent, {}).get(buffer.memory)
    what = f"{buffer.memory} memory of {buffer.agent}"
    if offer is None:
        return f"{executor} has no proved access to {what}"
    return None if offer.available else _because(f"{executor} has no access to {what}", offer)


def _step_refusal(case: Case, capabilities: Capabilities) -> str | None:
    if not is_memory_step(case.interface):
        return None
    flow = case.flows[0]
    if case.pattern != "one-way":
        return f"{case.interface} moves no bytes: it runs alone"
    if reason := memory_steps.refusal(case.interface, flow, case.options):
        return reason
    if case.interface == "map-peer":
        return _reach_refusal(Reach.OWN_OR_PEER, flow.executor, flow.source, capabilities)
    return None


def _engine_refusal(case: Case, capabilities: Capabilities) -> str | None:
    """The call that takes an engine works below the runtime's streams: each copy is waited for."""
    engine = case.options.get("copy_engine")
    if engine is None:
        return None
    if case.pattern != "one-way":
        return f"a copy on a chosen engine is waited for: {case.pattern} flows would run one after the other"
    flow = case.flows[0]
    for buffer in (flow.source, flow.destination):
        if is_plain(buffer.memory) or is_managed(buffer.memory):
            return f"a copy engine that is chosen needs memory that stays locked, and {buffer.memory} is not"
    ends = [HOST if kind_of(end.agent) == "cpu" else end.agent for end in (flow.source, flow.destination)]
    if ends[0] == ends[1]:
        return "an engine can be chosen for copies between two GPUs, or between one and the host"
    issuer = flow.source.agent if ends[0] != HOST else flow.destination.agent
    if flow.executor != issuer:
        return f"the engines of {issuer} are the ones to choose from, and the executor is {flow.executor}"
    offer = capabilities.copy_engines.get(ends[0], {}).get(ends[1])
    if offer is None:
        return f"no runtime says which copy engines serve {ends[0]}>{ends[1]}"
    if not offer.engines:
        return f"no copy engine can be chosen for {ends[0]}>{ends[1]}: {offer.reason}"
    if engine not in offer.engines:
        known = ", ".join(str(number) for number in offer.engines)
        return f"copy engine {engine} does not serve {ends[0]}>{ends[1]}, which may choose of {known}"
    if HOST not in ends:
        return _reach_refusal(Reach.OWN_OR_PEER, issuer, flow.destination, capabilities)
    return None


def _pace_refusal(case: Case) -> str | None:
    """Operations that are waited for one by one have nothing beside them."""
    if case.options.get("pace") != "one-at-a-time":
        return None
    if case.pattern != "one-way":
        return f"what is waited for one at a time runs alone: {case.pattern} flows would take turns"
    if case.options.get("copy_engine") is not None:
        return "a copy on a chosen engine is waited for anyhow: leave 'pace' out"
    return None


def _core_refusal(case: Case, topology: Topology) -> str | None:
    """Cores are counted within what this process may use of the agent's domain."""
    flow = case.flows[0]
    for option, agent in (("core", flow.executor), ("partner_core", flow.partner)):
        if option not in case.options or agent is None:
            continue
        if kind_of(agent) != "cpu":
            return f"'{option}' chooses a core of a CPU, and {agent} is a GPU"
        core, cores = int(case.options[option]), len(topology.agent(agent).cores)
        if cores and core >= cores:
            return (
                f"{agent} has {cores} cores that may be used, counted from 0, and core {core} is none of them"
            )
    if flow.partner == flow.executor and case.options.get("core", -1) == case.options.get("partner_core", -2):
        return f"core {case.options['core']} of {flow.executor} would wait for itself"
    return None


def _managed_refusal(case: Case, capabilities: Capabilities) -> str | None:
    """Managed memory beyond what a GPU has free makes it move pages to and fro, and can hang it."""
    needed = managed_bytes(case, capabilities)
    if needed == 0:
        return None
    for agent in case.agents:
        told = capabilities.agents.get(agent, {})
        free = int(told.get("free_bytes") or told.get("memory_bytes") or 0)
        if kind_of(agent) == "gpu" and free and needed > _usable(free):
            return (
                f"it needs {format_size(needed)} of managed memory, and of what {agent} has free "
                f"{format_size(_usable(free))} may be used"
            )
    return None


def _team_refusal(case: Case, topology: Topology) -> str | None:
    """Threads that share a core wait for each other, so the figure would be the scheduler's."""
    for flow in case.flows:
        executor, options = flow.executor, case.options_of(flow)
        interface = case.interface_of(flow)
        if kind_of(executor) != "cpu" or "threads" not in INTERFACES[interface].options:
            continue
        if "blocks" in options and (counts_as_stream(interface) or interface == "compute"):
            return f"{executor} has no blocks: {interface} on a CPU has the option threads alone"
        threads = int(options.get("threads", 1))
        cores = len(topology.agent(executor).cores) or MOST_THREADS
        if threads > cores:
            return f"{threads} threads of {interface} are more than {executor} has cores: {cores}"
    return None


def _route_refusal(case: Case, topology: Topology, capabilities: Capabilities) -> str | None:
    """A route needs locked memory, relays that are here, and their access to the GPUs at its ends."""
    for flow in case.flows:
        if case.interface_of(flow) != "route":
            continue
        ends = (flow.source, flow.destination)
        if ends[0].agent == ends[1].agent:
            return f"source and destination are both of {ends[0].agent}: there is no second path"
        for buffer in ends:
            if is_plain(buffer.memory) or is_managed(buffer.memory):
                return (
                    f"the pieces of a route are queued, which takes memory that stays locked, "
                    f"and {buffer.memory} is not"
                )
        if flow.executor not in (ends[0].agent, ends[1].agent):
            return f"a route is issued by an end of it, and {flow.executor} is none of {flow.path}"
        try:
            paths = paths_of(case, flow, topology.names("gpu"))
        except ValueError as error:
            return str(error)
        if paths.piece_bytes % PIECE_GRANULARITY_BYTES:
            return f"pieces are multiples of {PIECE_GRANULARITY_BYTES} bytes; {paths.piece_bytes} is none"
        if case.size_of(flow) < 8 * (len(paths.relays) + 1):
            return f"{case.size_of(flow)} bytes cannot be split over {len(paths.relays) + 1} paths"
        pieces = pieces_in_a_stream(paths, case.size_of(flow))
        if pieces > MOST_PIECES_IN_A_STREAM:
            return (
                f"{pieces} pieces would wait in each stream of a relay, and a queue takes about "
                f"{MOST_PIECES_IN_A_STREAM}: ask for larger pieces"
            )
        for relay, end in itertools.product(paths.relays, ends):
            reason = _reach_refusal(Reach.OWN_OR_PEER, relay, end, capabilities)
            if reason and kind_of(end.agent) == "gpu":
                return f"the relay {relay} cannot pass on: {reason}"
    return None


def _submit_refusal(case: Case, capabilities: Capabilities) -> str | None:
    """Graphs and batches are made ready for one flow alone, and only of memory that stays where it is."""
    for flow in case.flows:
        if case.interface_of(flow) == "copy-2d":
            offer = capabilities.calls.get(flow.executor, {}).get("copy-2d")
            if offer is not None and not offer.available:
                return _because(f"{flow.executor} has no copy of rows", offer)
        options = case.options_of(flow)
        how = options.get("submit", "calls")
        if how == "calls":
            continue
        if case.pattern != "one-way":
            return f"a {how} is made ready for one flow: {case.pattern} flows are enqueued mark by mark"
        for name in ("copy_engine", "pause_ns"):
            if name in options:
                return f"what is submitted as a {how} has no {name}"
        if options.get("pace") == "one-at-a-time":
            return f"a {how} of one operation at a time is a call each"
        for buffer in flow.buffers:
            if is_plain(buffer.memory) or is_managed(buffer.memory):
                return f"a {how} needs memory that stays where it is, and {buffer.memory} does not"
        if how == "batch" and case.interface_of(flow) != "copy":
            return "a batched call is of copies, not of kernels"
        if how == "batch" and case.cache_of(flow) == "warm":
            return "copies of a batch have no order, and warm ones would write the same bytes at once"
        offer = capabilities.calls.get(flow.executor, {}).get(str(how))
        if offer is None or not offer.available:
            why = f"{flow.executor} submits nothing as a {how}"
            return why if offer is None else _because(why, offer)
    return None


def _rows_refusal(case: Case) -> str | None:
    for flow in case.flows:
        if moves_rows(case.interface_of(flow)) and (reason := rows_of(case, flow).refusal()):
            return reason
    return None


def _room_refusal(case: Case, topology: Topology, capabilities: Capabilities) -> str | None:
    needed = footprint(case, capabilities)
    limits = {agent: _room(agent, topology, capabilities) for agent in needed}
    for agent, size in needed.items():
        limit = limits[agent]
        if limit is not None and size > limit:
            return _too_large(size, agent, limit)
    on_host = 0
    for owner, size in _on_hosts(needed, topology).items():
        limit = _room(owner, topology, capabilities)
        if limit is not None and size > limit:
            return _too_large(size, f"{owner}, shared with its GPUs", limit)
        on_host += size
    host_limit = _usable(capabilities.host_memory_bytes)
    if host_limit and on_host > host_limit:
        return _too_large(on_host, "host memory", host_limit)
    return None


def _on_hosts(needed: Mapping[str, int], topology: Topology) -> dict[str, int]:
    """Bytes by CPU agent: its own buffers, and those of GPUs whose memory is the same."""
    total: dict[str, int] = {}
    for agent, size in needed.items():
        owner = agent if kind_of(agent) == "cpu" else topology.agent(agent).shares_memory_with
        if owner is not None:
            total[owner] = total.get(owner, 0) + size
    return total


def _too_large(needed: int, where: str, limit: int) -> str:
    return f"its buffers need {format_size(needed)} of {where}, where {format_size(limit)} may be used"


def _room(agent: str, topology: Topology, capabilities: Capabilities) -> int | None:
    """Bytes of an agent's memory that a case may use; None when its size is not known."""
    told = capabilities.agents.get(agent, {}).get("memory_bytes") or topology.agent(agent).memory_bytes
    return _usable(int(told)) if told else None


def _usable(memory_bytes: int) -> int:
    """The rest is for the program, its runtimes, and whoever else lives here."""
    return memory_bytes * 4 // 5


def _because(what: str, offer: Offer) -> str:
    return f"{what}: {offer.reason}" if offer.reason else what
