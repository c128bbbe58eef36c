"""Names used by other tools: the table behind options, `list` and the vocabulary page.

A name with one equivalent is accepted in place of our word, with a note. A name with several possible
meanings is an error that lists them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

#: Notes about accepted names; the command line prints each once on standard error.
NOTES = logging.getLogger("byteways.notes")


@dataclass(frozen=True)
class Alias:
    """Names of other tools for one of our words.

    Attributes:
        ours: Our word; several if the names are ambiguous.
        theirs: Their names, the best known first.
        used_by: The tools or interfaces that use them.
        difference: How several of our words differ, if not obvious.
    """

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    used_by: str
    difference: str = ""


def _row(ours: str, theirs: str, used_by: str, difference: str = "") -> Alias:
    return Alias(tuple(ours.split("|")), tuple(theirs.split()), used_by, difference)


CUDA, DRIVER, HIP = "CUDA", "CUDA driver", "HIP"
NVBANDWIDTH, TRANSFERBENCH, COMM_SCOPE, OSU_BENCHMARKS = "nvbandwidth", "TransferBench", "Comm|Scope", "OSU"
COMMON_USAGE, C_LIBRARY = "common usage", "C library"
MESSAGES = "MPI, NCCL"

#: By kind of word: unambiguous names and ambiguous ones.
ALIASES: Mapping[str, tuple[Alias, ...]] = {
    "interface": (
        _row("copy", "cudaMemcpyAsync cudaMemcpyPeerAsync cudaMemcpy cudaMemcpyPeer", CUDA),
        _row(
            "copy",
            "cuMemcpyAsync cuMemcpyPeerAsync cuMemcpyDtoDAsync cuMemcpyHtoDAsync cuMemcpyDtoHAsync cuMemcpy",
            DRIVER,
        ),
        _row("copy", "hipMemcpyAsync hipMemcpyPeerAsync hipMemcpy hipMemcpyPeer", HIP),
        _row("copy", "CE", NVBANDWIDTH),
        _row("copy", "DMA SDMA", TRANSFERBENCH),
        _row("copy", "memcpyAsync", COMMON_USAGE),
        _row("copy-2d", "cudaMemcpy2DAsync cudaMemcpy2D", CUDA),
        _row("copy-2d", "cuMemcpy2DAsync", DRIVER),
        _row("copy-2d", "hipMemcpy2DAsync hipMemcpy2D", HIP),
        _row("prefetch", "cudaMemPrefetchAsync", CUDA),
        _row("prefetch", "cuMemPrefetchAsync", DRIVER),
        _row("prefetch", "hipMemPrefetchAsync", HIP),
        _row("kernel", "SM", NVBANDWIDTH),
        _row("kernel", "GFX", TRANSFERBENCH),
        _row("kernel-bulk", "cp.async.bulk TMA", CUDA),
        _row("memcpy-stream", "non-temporal nontemporal", COMMON_USAGE),
        _row("torch-copy", "tensor.copy_ torch", "PyTorch"),
        _row("mpi", "MPI_Send MPI_Isend", "MPI"),
        _row("mpi-put", "MPI_Put", "MPI"),
        _row("mpi-get", "MPI_Get", "MPI"),
        _row("ucx", "ucp_tag_send_nbx ucp_tag_recv_nbx", "UCX"),
        _row("ucx-put", "ucp_put_nbx", "UCX"),
        _row("ucx-get", "ucp_get_nbx", "UCX"),
        _row("xccl", "NCCL RCCL ncclSend ncclRecv", "NCCL, RCCL"),
        _row("xccl-put", "ncclPutSignal", "NCCL"),
        _row("pointer-chase", "chase multichase lat_mem_rd", "multichase, lmbench"),
        _row("ping-pong", "pingpong", COMMON_USAGE),
        _row("launch", "cudaLaunchKernel", CUDA),
        _row("launch", "cuLaunchKernel", DRIVER),
        _row("launch", "hipLaunchKernel", HIP),
        _row("synchronize", "cudaStreamSynchronize", CUDA),
        _row("synchronize", "cuStreamSynchronize", DRIVER),
        _row("synchronize", "hipStreamSynchronize", HIP),
        _row("event", "cudaStreamWaitEvent", CUDA),
        _row("event", "cuStreamWaitEvent", DRIVER),
        _row("event", "hipStreamWaitEvent", HIP),
        _row("allocate", "cudaMalloc cudaMallocHost cudaHostAlloc cudaMallocManaged", CUDA),
        _row("allocate", "cuMemAlloc cuMemHostAlloc cuMemAllocManaged", DRIVER),
        _row("allocate", "hipMalloc hipHostMalloc hipMallocManaged", HIP),
        _row("allocate", "malloc mmap", C_LIBRARY),
        _row("free", "cudaFree cudaFreeHost", CUDA),
        _row("free", "cuMemFree cuMemFreeHost", DRIVER),
        _row("free", "hipFree hipHostFree", HIP),
        _row("free", "munmap", C_LIBRARY),
        _row("register", "cudaHostRegister", CUDA),
        _row("register", "cuMemHostRegister", DRIVER),
        _row("register", "hipHostRegister", HIP),
        _row("unregister", "cudaHostUnregister", CUDA),
        _row("unregister", "cuMemHostUnregister", DRIVER),
        _row("unregister", "hipHostUnregister", HIP),
        _row("map-peer", "cudaDeviceEnablePeerAccess", CUDA),
        _row("map-peer", "cuMemSetAccess cuCtxEnablePeerAccess", DRIVER),
        _row("map-peer", "hipDeviceEnablePeerAccess", HIP),
        _row("open-ipc", "cudaIpcOpenMemHandle", CUDA),
        _row("open-ipc", "cuIpcOpenMemHandle", DRIVER),
        _row("open-ipc", "hipIpcOpenMemHandle", HIP),
        _row("stream-copy", "STREAM_Copy", "STREAM"),
        _row("stream-scale", "STREAM_Scale scale", "STREAM"),
        _row("stream-add", "STREAM_Add add", "STREAM"),
        _row("stream-triad", "STREAM_Triad triad", "STREAM"),
        _row("stream-copy|stream-scale|stream-add|stream-triad", "STREAM BabelStream", "STREAM"),
        _row("memset", "cudaMemsetAsync cudaMemset", CUDA),
        _row("memset", "cuMemsetD8Async cuMemsetD8", DRIVER),
        _row("memset", "hipMemsetAsync hipMemset", HIP),
        _row("allocate|free", "cudaMallocAsync cudaFreeAsync", CUDA),
        _row("allocate|free", "hipMallocAsync hipFreeAsync", HIP),
        _row("pointer-chase|ping-pong", "latency", COMMON_USAGE),
        _row("copy|kernel|memcpy", "bandwidth", COMMON_USAGE),
    ),
    "memory": (
        _row("pageable", "malloc aligned_alloc", C_LIBRARY),
        _row("pageable", "system unpinned", COMMON_USAGE),
        _row("hugepage", "MAP_HUGETLB MADV_HUGEPAGE", "Linux"),
        _row("pinned", "cudaHostAlloc cudaMallocHost", CUDA),
        _row("pinned", "cuMemHostAlloc cuMemAllocHost", DRIVER),
        _row("pinned", "hipHostMalloc hipHostMallocCoherent", HIP),
        _row("pinned", "page-locked", COMMON_USAGE),
        _row("pinned-noncoherent", "hipHostMallocNonCoherent", HIP),
        _row("write-combined", "cudaHostAllocWriteCombined", CUDA),
        _row("write-combined", "hipHostMallocWriteCombined", HIP),
        _row("registered", "cudaHostRegister", CUDA),
        _row("registered", "cuMemHostRegister", DRIVER),
        _row("registered", "hipHostRegister", HIP),
        _row("managed", "cudaMallocManaged", CUDA),
        _row("managed", "cuMemAllocManaged", DRIVER),
        _row("managed", "hipMallocManaged", HIP),
        _row("managed", "unified UVM", COMMON_USAGE),
        _row("managed-coarse", "hipMemAdviseSetCoarseGrain", HIP),
        _row("device", "cudaMalloc", CUDA),
        _row("device", "cuMemAlloc", DRIVER),
        _row("device", "hipMalloc", HIP),
        _row("device", "HBM VRAM global", COMMON_USAGE),
        _row("device-fine", "hipDeviceMallocFinegrained", HIP),
        _row("device-uncached", "hipDeviceMallocUncached", HIP),
        _row("device-fine|device-uncached", "hipExtMallocWithFlags", HIP),
        _row("pool", "cudaMallocAsync cudaMallocFromPoolAsync", CUDA),
        _row("pool", "cuMemAllocAsync cuMemAllocFromPoolAsync", DRIVER),
        _row("pool", "hipMallocAsync hipMallocFromPoolAsync", HIP),
        _row("vmm", "cuMemCreate", DRIVER),
        _row("vmm", "hipMemCreate", HIP),
        _row("ipc", "cudaIpcGetMemHandle", CUDA),
        _row("ipc", "cuIpcGetMemHandle", DRIVER),
        _row("ipc", "hipIpcGetMemHandle", HIP),
        _row("xccl", "ncclMemAlloc ncclCommRegister", "NCCL"),
        _row("pageable|pinned|hugepage", "host", COMMON_USAGE),
        _row("pinned|device-fine", "fine-grained finegrained", HIP),
        _row("pinned-noncoherent|device", "coarse-grained coarsegrained", HIP),
    ),
    "pattern": (
        _row("unidirectional", "unidir uni one-way simplex", COMMON_USAGE),
        _row("bidirectional", "bidir bidi bi-directional two-way", COMMON_USAGE),
        _row("bidirectional", "duplex", COMM_SCOPE),
        _row("fan-out", "one-to-all", COMMON_USAGE),
        _row("fan-in", "all-to-one", COMMON_USAGE),
        _row("all-pairs", "all-to-all a2a", "TransferBench, nccl-tests"),
        _row("allreduce", "all-reduce ncclAllReduce MPI_Allreduce", MESSAGES),
        _row("allgather", "all-gather ncclAllGather MPI_Allgather", MESSAGES),
        _row("reduce-scatter", "ncclReduceScatter MPI_Reduce_scatter", MESSAGES),
        _row("alltoall", "ncclAlltoAll MPI_Alltoall", MESSAGES),
        _row("broadcast", "bcast ncclBroadcast MPI_Bcast", MESSAGES),
        _row("reduce", "ncclReduce MPI_Reduce", MESSAGES),
        _row("gather", "MPI_Gather", "MPI"),
        _row("scatter", "MPI_Scatter", "MPI"),
        _row("barrier", "MPI_Barrier", "MPI"),
        _row(
            *("bidirectional|ring", "sendrecv send-recv MPI_Sendrecv", MESSAGES),
            "the first is between two devices, the second along all",
        ),
    ),
    "path": (
        _row("cpu*>gpu*", "h2d HtoD host_to_device", "CUDA, HIP, nvbandwidth"),
        _row("gpu*>cpu*", "d2h DtoH device_to_host", "CUDA, HIP, nvbandwidth"),
        _row("cpu*>cpu*", "h2h HtoH", "CUDA, HIP"),
        _row("gpu*>peer", "p2p peer-to-peer device_to_device", "nvbandwidth, TransferBench"),
        _row(
            *("gpu*>peer|gpu*>gpu*", "d2d DtoD", "CUDA, HIP"),
            "the first is between GPUs, the second also inside one GPU",
        ),
    ),
    "device": (
        _row("cpu*", "host numa", COMMON_USAGE),
        _row("gpu*", "device", COMMON_USAGE),
    ),
    "access": (
        _row("read", "pull get", COMMON_USAGE),
        _row("write", "push put", COMMON_USAGE),
    ),
    "key": (
        _row("interface", "api method", COMMON_USAGE),
        _row("source", "src", COMMON_USAGE),
        _row("destination", "dst dest", COMMON_USAGE),
        _row("memory", "mem allocator", COMMON_USAGE),
        _row("size", "bytes message-size msgsize", COMMON_USAGE),
        _row("executor", "exe issuer", TRANSFERBENCH),
        _row("pattern|executor|path|access", "direction", COMMON_USAGE),
    ),
}

#: Source and destination in a suite file for each word of ALIASES["path"].
_ENDS: Mapping[str, str] = {
    "cpu*>gpu*": 'source = "cpu*:pinned", destination = "gpu*:device"',
    "gpu*>cpu*": 'source = "gpu*:device", destination = "cpu*:pinned"',
    "cpu*>cpu*": 'source = "cpu*:pageable", destination = "cpu*:pageable"',
    "gpu*>peer": 'source = "gpu*:device", destination = "gpu*:device", same_device = "never"',
    "gpu*>gpu*": 'source = "gpu*:device", destination = "gpu*:device"',
}


@dataclass(frozen=True)
class Nearest:
    """A name of another tool without an exact equivalent."""

    theirs: str
    used_by: str
    nearest: str
    difference: str


#: Names that are not accepted, because byteways measures something different or nothing comparable.
NEAREST: tuple[Nearest, ...] = (
    Nearest(
        "device_to_device_memcpy_read_ce, …_write_ce",
        NVBANDWIDTH,
        "copy",
        "…_read: the destination's GPU is the executor; …_write: the source's",
    ),
    Nearest(
        "…_bidirectional_memcpy_…_ce", NVBANDWIDTH, "bidirectional", "theirs is one direction, not the sum"
    ),
    Nearest(
        "all_to_host, host_to_all", NVBANDWIDTH, "fan-in, fan-out", "theirs adds up separate measurements"
    ),
    Nearest(
        "osu_bw, osu_bibw",
        OSU_BENCHMARKS,
        "mpi, unidirectional or bidirectional",
        "in host or device memory; `xccl` by NCCL",
    ),
    Nearest("osu_mbw_mr", OSU_BENCHMARKS, "mpi, multi-pair", "ours takes the slowest pair of each sample"),
    Nearest(
        "osu_latency", OSU_BENCHMARKS, "mpi-ping-pong", "in host or device memory; `xccl-ping-pong` by NCCL"
    ),
    Nearest(
        "osu_put_bw, osu_put_latency",
        OSU_BENCHMARKS,
        "mpi-put; window = 1 for the latency",
        "completed by a flush in an epoch of `MPI_Win_lock_all`, or sync = fence; `osu_get_…`: `mpi-get`",
    ),
    Nearest("sendrecv_perf", "nccl-tests", "xccl, bidirectional", "ours is the sum of both directions"),
    Nearest(
        "all_reduce_perf, busbw", "nccl-tests", "xccl, allreduce", "ours sums 64-bit integers, slowest rank"
    ),
    Nearest("subexecutors (SEs)", TRANSFERBENCH, "option blocks; option threads on CPUs", ""),
    Nearest("(G0->G1->G2)", TRANSFERBENCH, "gpu0>gpu2 with executor gpu1, access remote", ""),
    Nearest("rocm-bandwidth-test -a, -A", "rocm-bandwidth-test", "copy, uni- and bidirectional", ""),
    Nearest("implicit_managed_…", COMM_SCOPE, "kernel on managed memory", "option migration"),
)


#: Suites that come nearest to what other tools measure, by the tools' names.
SUITES: Mapping[str, str] = {
    **dict.fromkeys(("nvbandwidth", "bandwidthtest", "transferbench", "rocm-bandwidth-test", "p2p"), "quick"),
    **dict.fromkeys(("osu-bw", "osu-bibw", "osu-latency", "osu-mbw-mr", "osu-allreduce"), "osu"),
    **dict.fromkeys(("nccl-tests", "rccl-tests", "nccl", "rccl", "collective"), "collectives"),
    **dict.fromkeys(("all-reduce-perf", "all-gather-perf", "alltoall-perf", "broadcast-perf"), "collectives"),
    **dict.fromkeys(("sendrecv-perf", "pt2pt", "point-to-point"), "mpi"),
    **dict.fromkeys(("osu-put-bw", "osu-put-latency", "osu-get-bw", "osu-get-latency"), "mpi"),
    **dict.fromkeys(("babelstream", "stream-triad"), "stream"),
    **dict.fromkeys(("gups", "randomaccess"), "random-access"),
}


#: How other tools number GPUs and NUMA domains.
_GPU_NUMBER = re.compile(r"(?:(?:gpu|gcd|cuda|hip|rocm|device|dev)\W?)?([0-9]{1,4})", re.IGNORECASE)
_DOMAIN_NUMBER = re.compile(r"(?:cpu|numa|node|socket)\W?([0-9]{1,4})", re.IGNORECASE)


class AmbiguousError(ValueError):
    """Another tool's name with several possible meanings, in `ours`."""

    def __init__(self, word: str, ours: Sequence[str], difference: str = "") -> None:
        self.ours = tuple(ours)
        super().__init__(f"'{word}' could mean {', '.join(ours[:-1])} or {ours[-1]}")
        self.hint = f"write the one you mean{': ' * bool(difference)}{difference}"


def translated(kind: str, word: str, valid: Iterable[str] = ()) -> str:
    """Returns our word for the given one; our own words, globs and unknown words are returned unchanged.

    Args:
        kind: A key of ALIASES.
        word: The given word.
        valid: Our own words; they have priority and are recognised in other spelling: `Fan_Out`.

    Raises:
        AmbiguousError: The word has several meanings.
    """
    own = [*valid]
    if word in own or set(word) & set("*?["):
        return word
    same = called(kind, word, own)
    if same is None:
        return word
    NOTES.info("'%s' is called '%s' here", word, same)
    return same


def called(kind: str, word: str, valid: Iterable[str] = ()) -> str | None:
    """Returns our word for the given one, without a note; None if it is unknown. Arguments and errors as
    of translated().
    """
    same = next((name for name in valid if _spelling(name) == _spelling(word)), None)
    if same is not None:
        return same
    if kind == "device" and (numbered := _numbered_device(word)):
        return numbered
    alias = _alias(kind, word)
    if alias is None:
        return None
    if len(alias.ours) > 1:
        raise AmbiguousError(word, alias.ours, alias.difference)
    return alias.ours[0]


def _numbered_device(word: str) -> str:
    """Returns `gpu0` for `0`, `GPU0`, `cuda:0` and the like, `cpu1` for `numa1`; '' for other words."""
    if gpu := _GPU_NUMBER.fullmatch(word):
        name = f"gpu{int(gpu[1])}"
    elif domain := _DOMAIN_NUMBER.fullmatch(word):
        name = f"cpu{int(domain[1])}"
    else:
        return ""
    return name if name != word else ""


def elsewhere(kind: str, word: str) -> tuple[str, ...]:
    """Returns other tools' names for one of our words, the best known first."""
    return tuple(name for alias in ALIASES[kind] if alias.ours == (word,) for name in alias.theirs)


def named_by(kind: str, word: str, used_by: str = "", prefix: str = "") -> str:
    """Returns what a tool or runtime calls one of our words; empty if it has no name there.

    Args:
        kind: A key of ALIASES.
        word: Our word.
        used_by: Whose name; empty: anyone's.
        prefix: What the name begins with.
    """
    rows = (alias for alias in ALIASES[kind] if alias.ours == (word,) and used_by in ("", alias.used_by))
    return next((name for alias in rows for name in alias.theirs if name.startswith(prefix)), "")


def ends(word: str) -> str | None:
    """Returns the suite-file form of h2d, d2d etc.; None if the word is not a path."""
    written = [_ENDS[path] for path in meanings("path", word)]
    return f"write {' or '.join(written)}" if written else None


def meanings(kind: str, word: str) -> tuple[str, ...]:
    """Returns our words for another tool's word; empty if unknown."""
    alias = _alias(kind, word)
    return alias.ours if alias else ()


def _alias(kind: str, word: str) -> Alias | None:
    spelled = _spelling(word)
    return next((alias for alias in ALIASES[kind] if spelled in map(_spelling, alias.theirs)), None)


def _spelling(word: str) -> str:
    """Normalises spelling: case and separators."""
    return word.casefold().replace("_", "-").replace(" ", "-")
