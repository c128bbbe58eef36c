"""Rules for managed pages: which can be prefetched where, and when they can stay. Pure."""

from __future__ import annotations

from byteways.cases.case import Case, Flow
from byteways.cases.interfaces import moves_pages
from byteways.cases.memory import is_managed
from byteways.machine.model import Capabilities, Offer, Topology
from byteways.plan.variables import moves_by_touch, runtime_of


def moving_refusal(case: Case, flow: Flow, topology: Topology, capabilities: Capabilities) -> str | None:
    """Returns why the flow's pages cannot migrate, or stay, as requested; None if they can."""
    if moves_pages(case.interface_of(flow)):
        return _prefetch_refusal(case, flow, topology) or _back_refusal(flow, topology, capabilities)
    wanted = case.options_of(flow).get("migration")
    return None if wanted is None else _migration_refusal(case, flow, str(wanted), capabilities)


def _prefetch_refusal(case: Case, flow: Flow, topology: Topology) -> str | None:
    source, destination = flow.source, flow.destination
    interface = case.interface_of(flow)
    for end in (source, destination):
        if not is_managed(end.memory):
            return f"{interface} migrates managed pages; {end.memory} memory does not migrate"
    if source.memory != destination.memory:
        return (
            f"{interface} migrates the pages of one allocation, which cannot be both {source} and "
            f"{destination}"
        )
    if source.device == destination.device:
        return f"{interface} from {source.device} to itself moves nothing"
    ends = [topology.device(end.device) for end in (source, destination)]
    if all(end.kind == "cpu" for end in ends):
        return f"{interface} migrates pages to and from GPUs; {flow.path} is within the host"
    if ends[0].shares_memory_with == destination.device or ends[1].shares_memory_with == source.device:
        return f"{source.device} and {destination.device} share one memory: pages cannot migrate"
    if case.cache_of(flow) == "warm":
        return f"{interface} migrates each region once, so the cache is always cold"
    return None


def _unnamed_domains(flow: Flow, topology: Topology, capabilities: Capabilities) -> Offer | None:
    """Returns why the call cannot name one of several domains; None if it can, or has no choice."""
    offer = capabilities.calls.get(flow.executor, {}).get("prefetch-to-domain")
    several = len([device for device in topology.devices if device.kind == "cpu"]) > 1
    return offer if several and offer is not None and not offer.available else None


def _back_refusal(flow: Flow, topology: Topology, capabilities: Capabilities) -> str | None:
    """If the call cannot name a domain, the pages go to the domain of the GPU whose stream executes it."""
    offer = _unnamed_domains(flow, topology, capabilities)
    if offer is None:
        return None
    near = {device.numa_domain for device in topology.devices if device.kind == "gpu"}
    source = topology.device(flow.source.device)
    if source.kind == "cpu" and source.numa_domain not in near:
        return f"no GPU is near {source.name}, and {offer.reason}: its pages cannot be migrated back"
    return None


def lands_elsewhere(case: Case, flow: Flow, topology: Topology, capabilities: Capabilities) -> str | None:
    """Returns why prefetched pages land on another domain than the destination; None if they do not."""
    offer = _unnamed_domains(flow, topology, capabilities) if moves_pages(case.interface_of(flow)) else None
    if offer is None:
        return None
    domain = topology.device(flow.executor).numa_domain
    destination = topology.device(flow.destination.device)
    if destination.kind != "cpu" or destination.numa_domain == domain:
        return None
    domains = [device for device in topology.devices if device.kind == "cpu"]
    lands = next((device.name for device in domains if device.numa_domain == domain), "another domain")
    return (
        f"the pages would land on {lands}, the NUMA domain of {flow.executor}, and not on "
        f"{destination.name}: {offer.reason}"
    )


def _migration_refusal(case: Case, flow: Flow, wanted: str, capabilities: Capabilities) -> str | None:
    """Rejects an ineffective `migration` option: its result would look like the effect of a setting."""
    if not any(is_managed(buffer.memory) for buffer in flow.buffers):
        return f"option migration needs managed memory, and {flow.path} has none"
    runtime = runtime_of(flow.executor, capabilities)
    setting = None if runtime is None else moves_by_touch(runtime)
    if setting is None:
        return None
    variable, value = setting
    on = case.environment.get(variable) == value
    if wanted == "on-demand" and not on:
        return f"kernels of {flow.executor} migrate the pages they touch only with {variable}={value}"
    if wanted == "off" and on:
        return f"with {variable}={value} kernels of {flow.executor} migrate the pages they touch"
    return None
