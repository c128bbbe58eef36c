"""Names a method of transfer as a programmer writes it: the call or the kernel, its queue, our word for it.

`byteways best`, the table of recommended interfaces and the page name methods by this function alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byteways.answers.claims.finding import cpu_threads
from byteways.answers.results.counting import count
from byteways.answers.results.summary import Result
from byteways.base.aliases import named_by
from byteways.cases.block_layout import moves_blocks
from byteways.cases.interfaces import COLLECTIVES, INTERFACES
from byteways.cases.options import CALL, CALLS_THAT_WAIT, SUBMIT
from byteways.machine.model import Topology, runtime_of

#: What a vendor's batched copy call is named.
_BATCHED: Mapping[str, str] = {"CUDA": "cudaMemcpyBatchAsync", "HIP": "hipMemcpyBatchAsync"}
#: What the calls of an interface are named, by its option `call`.
_CALLS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("copy", "blocking"): {"CUDA": "cudaMemcpy", "HIP": "hipMemcpy"},
    ("copy", "peer"): {"CUDA": "cudaMemcpyPeerAsync", "HIP": "hipMemcpyPeerAsync"},
    ("copy", "peer-blocking"): {"CUDA": "cudaMemcpyPeer", "HIP": "hipMemcpyPeer"},
    ("memset", "blocking"): {"CUDA": "cudaMemset", "HIP": "hipMemset"},
}
#: Calls that carry messages, by library.
_MESSAGES: Mapping[str, str] = {
    "mpi": "MPI_Isend and MPI_Irecv",
    "ucx": "ucp_tag_send_nbx and ucp_tag_recv_nbx",
    "xccl": "ncclSend and ncclRecv",
}
#: What the calls of each library begin with.
_PREFIX: Mapping[str, str] = {"mpi": "MPI_", "xccl": "nccl"}
#: What a kernel does, by the end that issues it.
_ACCESSES: Mapping[str, str] = {"read": "loads", "write": "stores"}
#: What a GPU is called that executes on several paths, by the end that issues it.
_EXECUTORS: Mapping[str, str] = {"read": "the destination", "write": "the source"}


def method(cells: Sequence[Result], topology: Topology) -> str:
    """Returns the name of a method: `cudaMemcpyAsync in a stream of gpu0 (copy, issued by the source)`.

    Args:
        cells: Its results, on one path or several.
        topology: The machine, which says whose runtime a GPU has.
    """
    record = cells[0].record
    between = INTERFACES[record.interface].between
    if between:
        return f"{_between_ranks(cells[0], between)}{_notes(cells[0])}"
    executors = {cell.record.executor for cell in cells}
    several = "each GPU" if record.executor.startswith("gpu") else "each NUMA domain"
    executor = record.executor if len(executors) == 1 else _EXECUTORS.get(record.access, several)
    if record.interface.startswith("memcpy"):
        return f"{_on_cores(cells, executor)}{_notes(cells[0])}"
    if record.interface.startswith("kernel"):
        return f"{_kernel(cells, executor)}{_notes(cells[0])}"
    return f"{_call(cells[0], executor, topology)}{_notes(cells[0], record.interface)}"


def _call(cell: Result, executor: str, topology: Topology) -> str:
    """`cudaMemcpyAsync in a stream of gpu0`, `hipMemcpy for gpu0`."""
    record = cell.record
    first = record.executor.partition(",")[0]
    runtime = runtime_of(topology.device(first)) if first in topology.names() else ""
    name = named_by("interface", record.interface, runtime) or record.interface
    call = str(record.options.get(CALL.name, CALL.default))
    name = _CALLS.get((record.interface, call), {}).get(runtime, name)
    if call in CALLS_THAT_WAIT:
        return f"{name} for {executor.replace(',', ', ')}"
    submit = record.options.get(SUBMIT.name)
    if submit == "batch":
        name = _BATCHED.get(runtime, name)
    recorded = ", recorded in a graph" if submit == "graph" else ""
    return f"{name} in a stream of {executor.replace(',', ', ')}{recorded}"


def _kernel(cells: Sequence[Result], executor: str) -> str:
    """`kernel of gpu0: 16-byte stores, grid of 132 thread blocks × 512 threads`."""
    record = cells[0].record
    grain = INTERFACES[record.interface].granularity_bytes
    what = f"{grain}-byte {_ACCESSES.get(record.access, 'loads and stores')}"
    if moves_blocks(record.interface):
        what = f"{_ACCESSES.get(record.access, 'loads and stores')} of listed blocks"
    if INTERFACES[record.interface].needs:
        what = INTERFACES[record.interface].needs
    launches = {tuple(sorted((cell.record.launch or {}).items())) for cell in cells}
    launch = record.launch or {}
    blocks, threads = launch.get("blocks"), launch.get("threads")
    grid = ""
    if len(launches) == 1 and blocks and threads:
        grid = f", grid of {count(blocks, 'thread block')} × {count(threads, 'thread')}"
    return f"{record.interface} of {executor.replace(',', ', ')}: {what}{grid}"


def _on_cores(cells: Sequence[Result], executor: str) -> str:
    """`memcpy by 16 threads of cpu0`."""
    record = cells[0].record
    threads = cpu_threads(record)
    team = count(threads, "thread") if threads else "all cores"
    return f"{record.interface} by {team if INTERFACES[record.interface].team else 'one core'} of {executor}"


def _between_ranks(cell: Result, library: str) -> str:
    """`ncclAllReduce`, `MPI_Isend and MPI_Irecv`."""
    pattern = cell.record.pattern
    if pattern in COLLECTIVES:
        return named_by("pattern", pattern, prefix=_PREFIX.get(library, "")) or cell.record.interface
    if INTERFACES[cell.record.interface].one_sided:
        return named_by("interface", cell.record.interface) or cell.record.interface
    return _MESSAGES.get(library, cell.record.interface)


def _notes(cell: Result, *words: str) -> str:
    """` (copy, issued by the source, pinned memory, blocks=8)`; '' without any."""
    variant, evidence = cell.variant, cell.record.evidence
    memory = f"{variant.host_memory} memory" if variant.host_memory else ""
    options = variant.options.without(SUBMIT.name).words()
    library = f"{evidence.library} {evidence.library_version}" if evidence and evidence.library else ""
    warm = "warm caches" if variant.cache == "warm" and not cell.between_ranks else ""
    chosen = _chosen(cell)
    parts = [*words, variant.issued, memory, library, *chosen, *options, variant.environment.text(), warm]
    named = [part for part in parts if part]
    return f" ({', '.join(named)})" if named else ""


def _chosen(cell: Result) -> list[str]:
    """Algorithm, protocol and channels that the library chose, as far as its log says."""
    choice = cell.record.library_choice or {}
    if choice.get("algorithm") is None:
        return []
    channels = choice.get("channels")
    counted = [] if channels is None else [count(int(channels), "channel")]
    return [*(str(choice[name]) for name in ("algorithm", "protocol") if choice.get(name)), *counted]
