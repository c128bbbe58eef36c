"""What a simulated value rests on: the kinds of the model's numbers behind its path and interface.

Counts links, engines, memories and latencies. The cost of a call, part of every operation, counts only if
calls are measured. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from byteways.plan.case import Buffer, Case, Flow
from byteways.plan.interfaces import INTERFACES, metric_of, moves_pages
from byteways.plan.memory import is_managed, is_plain
from byteways.simulate.model import ASSUMED_SOURCE, FITTED_SOURCE, NOMINAL, MachineModel

#: Kinds of links between hosts.
LINKS_BETWEEN_HOSTS = ("nic", "network")


def rests_on(case: Case, model: MachineModel) -> list[str]:
    """Returns which of `assumed`, `fitted`, `nominal` (published) the case's numbers are, in this order."""
    used = {prefix for flow in case.flows for prefix in _used(case, flow, model)}
    used |= {library for flow in case.flows if (library := INTERFACES[case.interface_of(flow)].between)}
    if case.hosts:
        kinds_of_links = (model.text_of(f"links.{index}.kind") for index in range(model.count("links")))
        network = [index for index, kind in enumerate(kinds_of_links) if kind in LINKS_BETWEEN_HOSTS]
        used |= {f"links.{index}.peak_bytes_per_s" for index in network}
        used |= {"network_latency_ns", "network_efficiency"}
    # What a model leaves out says nothing.
    kinds = {kind for prefix in used for kind in model.kinds.get(prefix, ())}
    if any(INTERFACES[case.interface_of(flow)].library == "direct" for flow in case.flows):
        kinds.add(ASSUMED_SOURCE)  # what its flags cost was never fitted to such a collective
    return [kind for kind in (ASSUMED_SOURCE, FITTED_SOURCE, NOMINAL) if kind in kinds]


def _used(case: Case, flow: Flow, model: MachineModel) -> Iterator[str]:
    """Yields the model's keys and tables that determine a flow's value."""
    interface = case.interface_of(flow)
    kind = "gpu" if flow.executor.startswith("gpu") else "cpu"
    if known := INTERFACES[interface].rests_on.get(kind):
        yield from known
        return
    ends = list(case.buffers_of(flow))
    if metric_of(interface) == "latency":
        yield from _latencies(model, flow.executor, ends[0].device)
        if flow.partner:
            yield from _latencies(model, flow.partner, ends[0].device)
        return
    yield from _memories(ends)
    for end in ends:
        yield from _links(model, end.device, flow.executor)
    if moves_pages(interface):
        peers = all(end.device.startswith("gpu") for end in ends)
        yield from (
            "managed.prefetch_peer_bytes_per_s" if peers else _prefetch_key(flow),
            "managed.prefetch_ns",
        )
    elif flow.executor.startswith("cpu"):
        yield from _of_cores(interface, ends, flow.executor)
    else:
        yield from _of_gpu(model, case, flow)


def _prefetch_key(flow: Flow) -> str:
    to = "gpu" if flow.destination.device.startswith("gpu") else "host"
    return f"managed.prefetch_to_{to}_bytes_per_s"


def _latencies(model: MachineModel, executor: str, owner: str) -> Iterator[str]:
    if executor.startswith("cpu"):
        yield from ("cpu.caches", "cpu.memory_latency_ns" if owner == executor else "cpu.remote_latency_ns")
    elif owner == executor:
        yield from ("gpu.l2_latency_ns", "gpu.cache_latency_ns", "gpu.memory_latency_ns")
    elif owner.startswith("cpu"):
        yield "gpu.host_latency_ns"
    else:
        yield from ("gpu.peer_latency_ns", "gpu.peer_far_latency_ns")
        if not _joining(model, executor, owner):
            yield "gpu.hop_latency_ns"


def _memories(ends: Iterable[Buffer]) -> Iterator[str]:
    for end in ends:
        if end.device.startswith("gpu"):
            yield "gpu.memory_bytes_per_s"
        else:
            yield from ("cpu.read_bytes_per_s", "cpu.write_bytes_per_s")


def _of_cores(interface: str, ends: list[Buffer], executor: str) -> Iterator[str]:
    if any(end.device != executor for end in ends):
        yield "cpu.core_remote_bytes_per_s"
    else:
        yield f"cpu.{INTERFACES[interface].core_rate}_bytes_per_s"
    if any(is_managed(end.memory) for end in ends):
        yield from ("managed.fault_ns", "managed.to_host_bytes_per_s")


def _of_gpu(model: MachineModel, case: Case, flow: Flow) -> Iterator[str]:
    rate = INTERFACES[case.interface_of(flow)].gpu_rate
    by_copy = rate == "engine"
    sources, destinations = case.arrays_of(flow)
    ends = (*sources, *destinations)
    if by_copy and any(is_plain(end.memory) for end in ends):
        yield "staging.to" if is_plain(sources[0].memory) else "staging.from"
        return
    if any(is_managed(end.memory) and end.device != flow.executor for end in ends) and model.truth(
        "managed.kernels_migrate"
    ):
        yield from ("managed.fault_ns", "managed.to_gpu_bytes_per_s", "managed.peer_bytes_per_s")
    away = [(end.device, "read") for end in sources if end.device != flow.executor]
    away += [(end.device, "write") for end in destinations if end.device != flow.executor]
    if not away:
        yield "rates.blit-local" if by_copy else f"rates.{rate}-local"
    for device, access in away:
        yield f"rates.{rate}-{'host' if device.startswith('cpu') else 'peer'}-{access}"


def _joining(model: MachineModel, a: str, b: str) -> set[int]:
    """Returns the bundles that connect two devices directly or through one switch; empty if GPUs forward."""
    direct = {index for index, ends in model.bundles if ends == {a, b}}
    if direct:
        return direct
    at_a, at_b = ({*(end for _, ends in model.bundles if one in ends for end in ends)} for one in (a, b))
    switches = {node for node in at_a & at_b if not node.startswith(("cpu", "gpu"))}
    return {index for index, ends in model.bundles if ends & switches and ends & {a, b}}


def _links(model: MachineModel, a: str, b: str) -> Iterator[str]:
    """Yields the bundles between two devices: connecting ones, otherwise all that start at either."""
    if a == b:
        return
    joining = _joining(model, a, b)
    for index in sorted(joining or {index for index, ends in model.bundles if ends & {a, b}}):
        yield f"links.{index}.peak_bytes_per_s"
    if not joining and a.startswith("gpu") and b.startswith("gpu"):
        yield "gpu.routed_efficiency"
