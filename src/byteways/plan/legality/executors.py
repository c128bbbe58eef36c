"""Which device can execute what, with how many threads, on which cores, with which variables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import is_managed
from byteways.cases.options import MOST_BLOCK_THREADS, MOST_TEAM_THREADS
from byteways.machine.model import Capabilities, Offer
from byteways.plan.legality.context import LegalityContext
from byteways.plan.legality.reach import REACH_TABLE, because, buffer_refusal, kind_of, reach_refusal
from byteways.plan.legality.request import too_many_threads
from byteways.plan.variables import gives_pageable_access, is_read_by, reader_of, runtime_of


def executes(interface: str, kind: str) -> bool:
    """Whether devices of this kind can execute the interface at all."""
    return INTERFACES[interface].executed_by(kind)


def interface_offer(interface: str, device: str, capabilities: Capabilities) -> Offer:
    """Whether the device can execute the interface here, with any memory."""
    if not executes(interface, kind_of(device)):
        return Offer(False, INTERFACES[interface].refusal(interface, device))
    offer = capabilities.interface.get(device, {}).get(interface)
    if offer is None and (needed := INTERFACES[interface].needs):
        return Offer(False, f"the runtime does not report {needed} on {device}")
    if offer is None or offer.available:
        return Offer(True)
    return Offer(False, because(f"{interface} is not available on {device}", offer))


def flow_refusal(question: LegalityContext) -> str | None:
    """Checks the executor, then every buffer, then the partner. Between ranks each end executes."""
    interface, flow, capabilities = question.interface, question.flow, question.there
    ends = [buffer.device for buffer in flow.buffers] if INTERFACES[interface].between_ranks else []
    if INTERFACES[interface].library == "xccl":  # its kernels run on GPUs, and reach host memory from there
        ends = [device for device in ends if kind_of(device) == "gpu"]
    for device in dict.fromkeys([flow.executor, *ends, *([flow.partner] if flow.partner else [])]):
        if (other := question.topology.executor(device)) != device:
            return f"{device} has memory but no cores: {other} executes for it"
    for device in dict.fromkeys([flow.executor, *ends]):
        offer = interface_offer(interface, device, capabilities)
        if not offer.available:
            return offer.reason
    reaches = REACH_TABLE[interface, kind_of(flow.executor)]
    for buffer in dict.fromkeys(flow.buffers):
        if reason := buffer_refusal(buffer, capabilities):
            return reason
        if reason := reach_refusal(reaches[buffer.memory], flow.executor, buffer, capabilities):
            return reason
    return None if flow.partner is None else _partner_refusal(interface, flow, flow.partner, capabilities)


def _partner_refusal(interface: str, flow: Flow, partner: str, capabilities: Capabilities) -> str | None:
    """Both sides must access both words, and see each other's stores while running."""
    offer = interface_offer(interface, partner, capabilities)
    if not offer.available:
        return offer.reason
    reaches = REACH_TABLE[interface, kind_of(partner)]
    for buffer in dict.fromkeys(flow.buffers):
        if reason := reach_refusal(reaches[buffer.memory], partner, buffer, capabilities):
            return reason
        if is_managed(buffer.memory):
            return f"a word in {buffer.memory} memory would migrate to the device that polls it"
        if buffer.memory == "pinned-noncoherent":
            return "a GPU that polls pinned-noncoherent memory may see stale data"
    return None


def in_place_refusal(question: LegalityContext) -> str | None:
    flow = question.flow
    if question.options["in_place"] != "yes" or flow.source == flow.destination:
        return None
    return f"in place, each rank has one buffer, and {flow.source} and {flow.destination} are two"


def registration_refusal(question: LegalityContext) -> str | None:
    if question.options["registration"] != "window":
        return None
    return window_refusal(question)


def window_refusal(question: LegalityContext) -> str | None:
    if all(each.memory == "xccl" for each in question.flow.buffers):
        return None
    return "a window is of memory that NCCL or RCCL allocates, kind xccl"


def own_gpu_refusal(question: LegalityContext) -> str | None:
    """NCCL and RCCL refuse two ranks on one GPU ("Duplicate GPU detected", ncclInvalidUsage)."""
    flow = question.flow
    owners: dict[tuple[str | None, str], Buffer] = {}
    for buffer in (buffer for buffer in flow.buffers if kind_of(buffer.device) == "gpu"):
        other = owners.setdefault((buffer.host, buffer.device), buffer)
        if other.rank != buffer.rank:
            return f"NCCL and RCCL take one rank per GPU, and {other.place} and {buffer.place} share one"
    return None


def gpu_per_rank_refusal(question: LegalityContext) -> str | None:
    """Kernels of each rank run on its own GPU, also where all buffers are in host memory."""
    flow = question.flow
    if kind_of(flow.executor) != "gpu":
        return None
    gpus, ranks = len(question.topology.names("gpu")), {(one.host, one.rank) for one in flow.buffers}
    most = max(Counter(host for host, _ in ranks).values())
    return f"each rank executes kernels on a GPU, and {most} ranks have {gpus} GPUs" if most > gpus else None


def staging_refusal(question: LegalityContext) -> str | None:
    flow = question.flow
    on_gpu = any(kind_of(buffer.device) == "gpu" for buffer in flow.buffers)
    if question.options["staging"] != "pinned" or on_gpu:
        return None
    return f"{flow.source} and {flow.destination} are host memory: nothing to stage"


def result_refusal(question: LegalityContext) -> str | None:
    flow = question.flow
    if flow.source.device == flow.executor:
        return None
    return f"{question.interface} writes its result to memory of {flow.executor}, and {flow.source} is not"


def threads_refusal(question: LegalityContext) -> str | None:
    """Threads must not share a core: they would wait for each other and measure the scheduler."""
    executor, options, interface = question.flow.executor, question.options, question.interface
    threads = int(options.get("threads", 1))
    if kind_of(executor) != "cpu":
        if not INTERFACES[interface].kernels["gpu"]:
            return f"{interface} on {executor} is a call of its runtime, which takes no threads"
        return too_many_threads(threads) if threads > MOST_BLOCK_THREADS else None
    if any(option.name in options for option in INTERFACES[interface].gpu_options):
        return f"{executor} has no blocks: on a CPU, {interface} takes only the option threads"
    cores = len(question.topology.device(executor).cores) or MOST_TEAM_THREADS
    if threads > cores:
        return f"{threads} threads of {interface} exceed the {cores} cores of {executor}"
    return None


def cores_refusal(question: LegalityContext) -> str | None:
    """Core indices count the usable cores of the device's domain."""
    flow, options = question.flow, question.options
    for option, device in (("core", flow.executor), ("partner_core", flow.partner)):
        if option not in options or device is None:
            continue
        if kind_of(device) != "cpu":
            return f"'{option}' selects a CPU core, and {device} is a GPU"
        core, cores = int(options[option]), len(question.topology.device(device).cores)
        if cores and core >= cores:
            return f"{device} has {cores} usable cores, numbered from 0; core {core} does not exist"
    if flow.partner == flow.executor and options.get("core", -1) == options.get("partner_core", -2):
        return f"core {options['core']} of {flow.executor} would poll itself"
    return None


def environment_refusal(question: LegalityContext) -> str | None:
    """The case must use what reads each variable: otherwise the result looks like the effect of a setting."""
    case, capabilities = question.case, question.found
    if not case.environment:
        return None
    touchers = [buffer.first_touch for flow in case.flows for buffer in flow.buffers if buffer.first_touch]
    devices = [name for name in (*case.devices, *touchers) if kind_of(name) == "gpu"] or list(case.executors)
    runtimes = {device: runtime_of(device, capabilities) for device in devices}
    for variable in sorted(case.environment):
        reader = reader_of(variable)
        if reader is not None and reader.library:
            if not is_read_by(variable, reader, libraries_of(case)):
                return f"{variable} is read by {reader.name}, which {case.interface} does not use"
            continue
        if reader is None or reader.runtime in runtimes.values() or None in runtimes.values():
            continue
        if "mpi" in libraries_of(case) and _drives_some(reader.runtime, capabilities):
            continue  # an MPI that takes memory of GPUs opens their runtime, whatever the messages are
        device, runtime = next(iter(runtimes.items()))
        return f"{variable} is read by {reader.name}, and {device} is driven by {runtime}"
    return None


def _drives_some(runtime: str, capabilities: Capabilities) -> bool:
    """Whether the runtime drives a GPU of this machine."""
    return any(runtime_of(name, capabilities) == runtime for name in capabilities.devices)


def libraries_of(case: Case) -> set[str]:
    """Returns the libraries that carry the case between ranks: "mpi", "xccl", "ucx"."""
    carrier = {INTERFACES[case.interface].between} - {""}
    return carrier | ({"xccl"} if case.by_xccl else set())


def in_environment(case: Case, capabilities: Capabilities) -> Capabilities:
    """Returns the capabilities plus what this environment may add; the worker verifies the addition."""
    runtimes = {
        reader.runtime
        for name, value in case.environment.items()
        if gives_pageable_access(name, value) and (reader := reader_of(name))
    }
    if not runtimes:
        return capabilities
    gained = {device: True for device in capabilities.devices if runtime_of(device, capabilities) in runtimes}
    return replace(capabilities, pageable_access={**capabilities.pageable_access, **gained})
