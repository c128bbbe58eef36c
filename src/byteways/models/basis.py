"""What a simulated value rests on: the kinds of the model's numbers behind its path and interface.

A number counts if changing it by CHANGE can move the value by more than MOVED. validation/assumed_numbers.py
does that to every number of every model and compares. So a rate counts wherever the simulator
uses it, and a fixed time where it is not negligible beside the bytes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from byteways.cases.applications import packed_by_core
from byteways.cases.block_layout import BlockLayout, moves_blocks
from byteways.cases.case import Buffer, Case, Flow
from byteways.cases.interface_rows import MEMORY_CATEGORY
from byteways.cases.interfaces import INTERFACES, counts_as_stream, metric_of, moves_pages
from byteways.cases.memory import is_managed, is_plain
from byteways.cases.options import CALL, CALLS_THAT_WAIT, LOADS
from byteways.cases.pieces import pieces_of
from byteways.models.model import ASSUMED_SOURCE, FITTED_SOURCE, NOMINAL, MachineModel

#: Kinds of links between hosts.
LINKS_BETWEEN_HOSTS = ("nic", "network")
#: A number counts if this change of it, relative to it, moves a value by more than that part.
CHANGE, MOVED = 0.2, 0.01
#: What the flags of direct collectives cost was never fitted to one, and UCX takes the numbers of MPI.
_NEVER_FITTED = ("direct", "ucx")
#: AMD's runtime copies up to this size between GPUs by kernels (ROC_P2P_SDMA_SIZE, in KiB).
BLIT_UP_TO_BYTES = 2**20
#: End of the keys that are times.
_TIME = "_ns"
#: Numbers of a bundle of links that decide a rate.
_OF_LINKS = ("peak_bytes_per_s", "duplex_bytes_per_s", "switch_blocking")
#: Numbers of the cores that MPI's messages need.
_OF_MESSAGES = (
    *("caches", "core_copy_bytes_per_s", "core_remote_bytes_per_s", "gpu_touched_part"),
    *("call_ns", "memory_latency_ns", "remote_latency_ns"),
)
#: Where a mechanism moves bytes, and from which side ([rates.kernel-peer-read]).
_WAYS = ("local", "peer-read", "peer-write", "host-read", "host-write")


def rests_on(case: Case, model: MachineModel) -> list[str]:
    """Returns which of `assumed`, `fitted`, `nominal` (published) the case's numbers are, in this order."""
    kinds = {model.facts[key].kind for key in numbers_behind(case, model)}
    if any(INTERFACES[case.interface_of(flow)].library in _NEVER_FITTED for flow in case.flows):
        kinds.add(ASSUMED_SOURCE)
    return [kind for kind in (ASSUMED_SOURCE, FITTED_SOURCE, NOMINAL) if kind in kinds]


def numbers_behind(case: Case, model: MachineModel) -> frozenset[str]:
    """Returns the keys of the sourced numbers that decide the case's value."""
    return frozenset(
        key
        for flow in case.flows
        for least_ns in (_least_ns(model, case, flow),)
        for prefix in {*_used(case, flow, model)}
        for key in model.keys_below(prefix)
        if not key.endswith(_TIME) or _counts(model, key, least_ns)
    )


def _counts(model: MachineModel, key: str, least_ns: float) -> bool:
    """Whether a change of this time moves an operation that takes at least that long."""
    return model.number(key) * CHANGE > MOVED * least_ns


def _step_ns(model: MachineModel, kind: str) -> float:
    """Returns what an operation on memory takes at least beside its pages."""
    return model.number("memory.call_ns") if kind == "gpu" else 0.0


def _least_ns(model: MachineModel, case: Case, flow: Flow) -> float:
    """Returns a time that an operation takes at least, by its bytes alone; 0: unknown.

    A load waits longer than in proportion to what others move.
    """
    interface = case.interface_of(flow)
    metrics = {metric_of(case.interface_of(each)) for each in case.flows}
    if metric_of(interface) != "bandwidth" or "latency" in metrics:
        return 0.0
    if INTERFACES[interface].between:  # each step of a collective takes its times again
        fastest = 2 * len(case.ranks) * max(model.fastest_links, model.fastest_core)
    elif flow.executor.startswith("gpu"):
        fastest = _fastest_of_gpu(model, case, flow)
    else:
        cores = model.number("cpu.cores") if INTERFACES[interface].team else 1
        fastest = cores * model.fastest_core
    return _call_bytes(case, flow) / fastest * 1e9 if fastest else 0.0


def _call_bytes(case: Case, flow: Flow) -> int:
    """Returns the bytes of a call or launch: one of a copy of blocks has its fixed times for each block."""
    pieces = pieces_of(case, flow)
    if isinstance(pieces, BlockLayout) and INTERFACES[case.interface_of(flow)].batched:
        return pieces.block_bytes
    return case.size_of(flow)


def _fastest_of_gpu(model: MachineModel, case: Case, flow: Flow) -> float:
    """Returns the bytes/s that a GPU moves at most: its memory's, or those of the links to the others."""
    row = INTERFACES[case.interface_of(flow)]
    others = {_memory_of(model, end.device) for end in case.buffers_of(flow)} - {flow.executor}
    if not others:
        return model.number("gpu.memory_bytes_per_s") / (2 if row.copies else 1)
    if moves_pages(case.interface_of(flow)) or "via" in row.takes:
        return model.fastest_links
    links = {key for other in others for key in _links(model, other, flow.executor)}
    return sum(model.number(key) for key in links if key.endswith(".peak_bytes_per_s")) or model.fastest_links


def _used(case: Case, flow: Flow, model: MachineModel) -> Iterator[str]:
    """Yields the model's keys and tables that determine a flow's value."""
    interface = case.interface_of(flow)
    if case.hosts:
        kinds_of_links = (model.text_of(f"links.{index}.kind") for index in range(model.count("links")))
        network = [index for index, kind in enumerate(kinds_of_links) if kind in LINKS_BETWEEN_HOSTS]
        yield from (f"links.{index}.peak_bytes_per_s" for index in network)
        yield from ("network_latency_ns", "network_efficiency")
        if any(end.startswith("gpu") for index, ends in model.bundles if index in network for end in ends):
            yield "gpu.routed_efficiency"  # a GPU forwards what others send to its NIC
    row = INTERFACES[interface]
    kind = "gpu" if flow.executor.startswith("gpu") else "cpu"
    if known := row.rests_on.get(kind):
        yield from known
        if row.category == MEMORY_CATEGORY and _counts(model, "calls.enqueue_ns", _step_ns(model, kind)):
            yield "calls.enqueue_ns"
    elif row.between:
        yield from _between_ranks(model, case, flow)
    elif metric_of(interface) == "latency":
        yield from _latency(model, case, flow)
    else:
        yield from _of_bytes(model, case, flow)
        yield from _calls(model, case, flow)


def _calls(model: MachineModel, case: Case, flow: Flow) -> Iterator[str]:
    """Yields the host's calls, where operations wait for them: behind a gate all are enqueued before the
    first begins, and the device waits only if it is faster than the calls.
    """
    options = case.options_of(flow)
    staged = INTERFACES[case.interface_of(flow)].by_call and any(
        is_plain(end.memory) for end in case.buffers_of(flow)
    )
    waits = "pace" in options or options.get(CALL.name) in CALLS_THAT_WAIT
    if staged or not options.get("gate", True) or waits:
        yield "calls"
    elif flow.executor.startswith("gpu"):
        fixed = [key for way in _rates_of(model, case, flow) for key in model.keys_below(f"{way}.fixed_ns")]
        least_ns = max(map(model.number, fixed), default=0.0) + _least_ns(model, case, flow)
        if least_ns < model.number("calls.enqueue_ns") * (1 + CHANGE):
            yield "calls.enqueue_ns"


def _of_bytes(model: MachineModel, case: Case, flow: Flow) -> Iterator[str]:
    interface = case.interface_of(flow)
    ends = list(case.buffers_of(flow))
    yield from _memories(model, ends)
    links = [
        key
        for end in ends
        for key in _links(model, *(_memory_of(model, device) for device in (end.device, flow.executor)))
    ]
    if moves_pages(interface):
        key = _prefetch_key(flow)
        yield from (key, "managed.prefetch_ns", "managed.prefetch_peer_ns")
        efficiencies = [key for way in _WAYS for key in model.keys_below(f"rates.engine-{way}.efficiency")]
        rates = [model.number(link) for link in links if link.endswith("_per_s") and model.number(link)]
        limit = min(rates, default=0.0) * min(map(model.number, efficiencies), default=1.0)
        if len(case.flows) * model.number(key) < limit * (1 - CHANGE):
            return  # the pages are far slower than the links
        yield from (*links, *efficiencies)
        return
    yield from links
    if flow.executor.startswith("cpu"):
        yield from _of_cores(model, case, flow)
    else:
        yield from _of_gpu(model, case, flow)


def _prefetch_key(flow: Flow) -> str:
    if flow.source.device.startswith("gpu") and flow.destination.device.startswith("gpu"):
        return "managed.prefetch_peer_bytes_per_s"
    to = "gpu" if flow.destination.device.startswith("gpu") else "host"
    return f"managed.prefetch_to_{to}_bytes_per_s"


def _latency(model: MachineModel, case: Case, flow: Flow) -> Iterator[str]:
    """Yields the numbers of a chase or a ping-pong; of others beside it, what they wait for each other."""
    owners = {end.device for end in case.buffers_of(flow)}
    if case.options_of(flow).get(LOADS.name) == "ordinary" and flow.executor.startswith("gpu"):
        yield from ("gpu.l1_bytes", "gpu.l1_latency_ns")
    for executor in (flow.executor, flow.partner):
        if executor:
            for owner in owners:
                yield from _loads(model, executor, owner)
    if len(case.flows) > 1:
        yield from ("gpu.memory_wait_ns", "cpu.memory_wait_ns", "gpu.memory_bytes_per_s")
        yield from ("cpu.read_bytes_per_s", "cpu.write_bytes_per_s")


def _loads(model: MachineModel, executor: str, owner: str) -> Iterator[str]:
    """Yields the numbers of one dependent load."""
    memory = _memory_of(model, owner)
    if executor.startswith("cpu"):
        near = memory == _memory_of(model, executor)
        yield from ("cpu.caches", "cpu.memory_latency_ns" if near else "cpu.remote_latency_ns")
    elif memory == executor:
        yield from ("gpu.l2_latency_ns", "gpu.l2_bytes", "gpu.cache_latency_ns", "gpu.memory_latency_ns")
    elif memory.startswith("cpu"):
        yield from ("gpu.host_latency_ns", "gpu.hop_latency_ns")
    else:
        yield from ("gpu.peer_latency_ns", "gpu.peer_far_latency_ns")
        if not _joining(model, executor, memory):
            yield "gpu.hop_latency_ns"


def _memory_of(model: MachineModel, device: str) -> str:
    """Returns the device that has the memory: on an APU, the GPU of the domain's package."""
    shared = f"gpu{device[3:]}"
    return shared if model.truth("features.host_access") and shared in model.devices else device


def _memories(model: MachineModel, ends: Iterable[Buffer]) -> Iterator[str]:
    for end in ends:
        if _memory_of(model, end.device).startswith("gpu"):
            yield "gpu.memory_bytes_per_s"
        else:
            yield from ("cpu.read_bytes_per_s", "cpu.write_bytes_per_s")


def _of_cores(model: MachineModel, case: Case, flow: Flow) -> Iterator[str]:
    interface, ends = case.interface_of(flow), case.buffers_of(flow)
    yield "cpu.call_ns"
    if INTERFACES[interface].team:
        yield from ("cpu.team_ns", "cpu.cores")
    if any(end.device != flow.executor for end in ends):
        yield from ("cpu.core_remote_bytes_per_s", "cpu.gpu_touched_part")
    else:
        yield f"cpu.{INTERFACES[interface].core_rate}_bytes_per_s"
    if case.cache_of(flow) == "warm" and INTERFACES[interface].core_rate != "core_stream":
        yield "cpu.caches"
    if INTERFACES[interface].scattered:
        yield from ("cpu.memory_latency_ns", "cpu.remote_latency_ns")
    if model.truth("features.host_access"):
        yield from ("cpu.read_bytes_per_s", "cpu.write_bytes_per_s")
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
    if any(is_managed(end.memory) for end in ends):
        yield from _of_pages(model, rate)
    yield from _rates_of(model, case, flow)
    if not by_copy:
        yield from _of_kernel(model, case, flow, rate)
        if moves_blocks(case.interface_of(flow)):  # reads its list in memory of the host
            yield from ("gpu.host_latency_ns", "gpu.hop_latency_ns")
    elif len(case.flows) > 1:
        yield from ("gpu.copy_engines", "gpu.peer_copy_engines")
    elif case.options_of(flow).get("submit") == "batch":
        if any(end.device.startswith("cpu") for end in ends):
            yield "calls.batch_host_ns"
        elif moves_blocks(case.interface_of(flow)) and len({end.device for end in ends}) > 1:
            yield "calls.batch_peer_ns"
    own = sum(other.executor == flow.executor for other in case.flows)
    if own > model.number("gpu.hardware_queues") * (1 - CHANGE):
        yield "gpu.hardware_queues"


def _rates_of(model: MachineModel, case: Case, flow: Flow) -> Iterator[str]:
    """Yields the tables of rates of a flow that a GPU executes."""
    interface = case.interface_of(flow)
    rate = INTERFACES[interface].gpu_rate
    by_copy = rate == "engine"
    sources, destinations = case.arrays_of(flow)
    reads = [(_memory_of(model, end.device), "read") for end in sources]
    writes = [(_memory_of(model, end.device), "write") for end in destinations]
    away = [(memory, access) for memory, access in (*reads, *writes) if memory != flow.executor]
    if by_copy and not away and any(end.device != flow.executor for end in (*sources, *destinations)):
        # Of an APU: between its GPU and its CPU.
        yield f"rates.{rate}-host-{'read' if sources[0].device != flow.executor else 'write'}"
    elif not away or counts_as_stream(interface):
        yield "rates.blit-local" if by_copy else f"rates.{rate}-local"
    for memory, access in away:
        place = "host" if memory.startswith("cpu") else "peer"
        yield f"rates.{rate}-{place}-{access}"
        if by_copy and _may_blit(model, case, flow, place):
            yield f"rates.blit-{place}-{access}"


def _may_blit(model: MachineModel, case: Case, flow: Flow, place: str) -> bool:
    """Whether kernels of the runtime may copy: as a variable says, or short copies between GPUs of AMD."""
    is_short = _call_bytes(case, flow) <= BLIT_UP_TO_BYTES
    return bool(case.environment) or (model.vendor == "amd" and place == "peer" and is_short)


def _of_pages(model: MachineModel, rate: str) -> Iterator[str]:
    """Yields the numbers of managed pages: they migrate and are then copied, or are reached in place."""
    by_copy = rate == "engine"
    if model.truth("managed.kernels_migrate"):
        yield "rates.blit-local" if by_copy else f"rates.{rate}-local"
        yield from ("managed.fault_ns", "managed.fault_peer_ns")
        yield from ("managed.to_gpu_bytes_per_s", "managed.peer_bytes_per_s")
    elif not by_copy:
        yield "managed.remote_efficiency"


def _of_kernel(model: MachineModel, case: Case, flow: Flow, rate: str) -> Iterator[str]:
    """Yields what limits a kernel: bytes in flight of its threads, and other kernels."""
    few = any(name in case.options_of(flow) for name in ("blocks", "threads"))
    if rate == "bulk":  # a few blocks by default
        yield "gpu.bulk_block_bytes_per_s"
    elif few:
        yield "gpu.thread_bytes_per_s"
        if not model.number("gpu.thread_bytes_per_s"):
            for end in case.arrays_of(flow)[0]:
                yield from _loads(model, flow.executor, end.device)
    if len(case.flows) > 1:
        yield from ("gpu.kernel_overlap", "gpu.resident_threads")


def _rates(*mechanisms: str) -> Iterator[str]:
    for mechanism in mechanisms:
        yield from (f"rates.{mechanism}-{way}" for way in _WAYS)


def _between_ranks(model: MachineModel, case: Case, flow: Flow) -> Iterator[str]:
    """Yields the numbers of a library between ranks: its own, and those of what it is made of."""
    ends = [end for pair in flow.pairs for end in pair]
    devices = [end.device for end in ends]
    yield from _memories(model, ends)
    for one in dict.fromkeys(devices):
        for other in dict.fromkeys(devices):
            yield from _links(model, one, other)
    interface = INTERFACES[case.interface_of(flow)]
    if case.by_xccl or interface.between == "xccl":
        yield from ("xccl", "rates.kernel-peer-write", "rates.kernel-local", "gpu.kernel_overlap")
    yield "calls"
    if interface.between == "xccl":
        if interface.one_sided:  # by copy engines
            yield from _rates("engine")
        return
    yield from ("mpi", "gpu.peer_latency_ns", "gpu.host_latency_ns")
    yield from (f"cpu.{key}" for key in _OF_MESSAGES)
    if any(device.startswith("gpu") for device in devices):
        yield from _rates("engine", "blit", "kernel")
    elif interface.category == "application":
        yield from ("cpu", "rates.kernel-local")
    if packed_by_core(case.interface, case.options):  # into memory that it allocates
        yield from ("cpu", "memory")


def _joining(model: MachineModel, a: str, b: str) -> set[int]:
    """Returns the bundles that connect two devices directly or through one switch; empty if GPUs forward."""
    direct = {index for index, ends in model.bundles if ends == {a, b}}
    if direct or b in model.forwarding_with(a):
        return direct
    at_a, at_b = ({*(end for _, ends in model.bundles if one in ends for end in ends)} for one in (a, b))
    switches = {node for node in at_a & at_b if not node.startswith(("cpu", "gpu"))}
    return {index for index, ends in model.bundles if ends & switches and ends & {a, b}}


def _links(model: MachineModel, a: str, b: str) -> Iterator[str]:
    """Yields the bundles between two devices: connecting ones, otherwise all that start at either, or all
    between GPUs that forward, as the widest are taken.
    """
    if a == b:
        return
    group = model.forwarding_with(a)
    away = {index for index, ends in model.bundles if (ends <= group if b in group else ends & {a, b})}
    joining = _joining(model, a, b)
    for index in sorted(joining or away):
        yield from (f"links.{index}.{key}" for key in _OF_LINKS)
    if not joining and a.startswith("gpu") and b.startswith("gpu"):
        yield "gpu.routed_efficiency"
