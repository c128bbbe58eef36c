"""Rows of the table of interfaces that several interfaces share, as functions of what differs. Pure."""

from __future__ import annotations

from dataclasses import replace

from byteways.cases import options as opt
from byteways.cases.interface import READ_WRITE, Interface
from byteways.cases.options import Option

BARRIER = "barrier"
#: Patterns of messages between two ranks.
PAIRS = ("unidirectional", "bidirectional")
#: The transport below MPI, as a library of its own.
UCX = "ucx"
#: Category of allocation, release and opening of memory; the other categories are those of schieffer2025.
MEMORY_CATEGORY = "memory"

#: Message for interfaces that call a GPU runtime.
ASKED_OF_A_GPU = "is a call of a GPU runtime, and {executor} is a CPU"
ABOUT_QUEUES = "uses the queues of a GPU, and {executor} is a CPU"
CPU_REFUSAL = "moves memory of GPUs, and {executor} is a CPU"
OF_CALLS = dict.fromkeys(("cpu", "gpu"), ("calls", "rates.kernel-local"))


def stream(loop: str, kernel: str, sources: int = 1) -> Interface:
    """Returns the row of a STREAM loop over arrays of doubles; `size_bytes` is the size of one array."""
    data = ("stream_fill", "stream_check")
    return Interface(
        "direct access",
        f"{loop} over doubles, each array in any memory",
        {"cpu": (kernel, *data), "gpu": (kernel, f"{kernel}_resident", *data)},
        (opt.BLOCKS, opt.THREADS, opt.STREAM),
        gpu_options=(opt.BLOCKS,),
        counts=READ_WRITE,
        cpu_bytes_per_s=5e9,
        team=True,
        granularity_bytes=16,
        sources=sources,
        counted=sources + 1,
    )


def between_ranks(
    meaning: str,
    patterns: tuple[str, ...],
    *,
    options: tuple[Option, ...] = (),
    in_place: tuple[str, ...] = (),
    figure: str = "bandwidth",
    counts: str = "per-direction",
    alone: bool = False,
    library: str = "",
    one_sided: bool = False,
    kernels: tuple[str, ...] = (),
) -> Interface:
    """Returns the row of an interface of MPI or, with `library`, of another one: NCCL and RCCL, or our own
    kernels, need GPUs; UCX moves memory of both kinds of device.
    """
    moves = BARRIER not in patterns
    on_cpus = library in ("", UCX)
    return Interface(
        "message passing",
        meaning,
        {"cpu": (), "gpu": ()} if on_cpus else {"gpu": kernels},
        (*options, opt.RANK_ORDER),
        figure=figure,
        counts=counts,
        granularity_bytes=1,
        alone=alone,
        by_call=True,
        worker="ranks",
        library=library,
        one_sided=one_sided,
        between_ranks=patterns,
        in_place=in_place,
        cpu_bytes_per_s=4e9 if moves and on_cpus else 0,
        refused="" if on_cpus else CPU_REFUSAL,
    )


def one_sided(meaning: str, *options: Option, library: str = "") -> Interface:
    """Returns the row of one-sided transfers between two ranks. `window = 1`: one at a time, as a latency."""
    return between_ranks(meaning, PAIRS, options=(opt.WINDOW, *options), library=library, one_sided=True)


def application(meaning: str, kernels: tuple[str, ...], pattern: str, *options: Option) -> Interface:
    """Returns the row of an application pattern: compute and exchange between ranks."""
    needed = (*kernels, "lattice_fill", "lattice_check")
    return Interface(
        "application",
        meaning,
        {"cpu": needed, "gpu": needed},
        (opt.TRANSPORT, opt.TIMED, opt.GRID_COLUMNS, *options),
        figure="time",
        counts="iteration",
        alone=True,
        by_call=True,  # each rank reaches its own buffers: legality/applications.py
        worker="ranks",
        between_ranks=(pattern,),
    )


def one_way(
    meaning: str, kernel: str, *, sources: int, writes: bool, on_gpus: tuple[str, ...] | None = None
) -> Interface:
    """Returns the row of an interface that only loads or only stores one buffer.

    Args:
        on_gpus: The kernels that GPUs need, if they are not the CPUs' one.
    """
    return Interface(
        "direct access",
        meaning,
        {"cpu": (kernel,), "gpu": (kernel,) if on_gpus is None else on_gpus},
        (opt.BLOCKS, opt.THREADS, opt.STREAM),
        gpu_options=(opt.BLOCKS,),
        buffers="one",
        counts=READ_WRITE,
        granularity_bytes=16,
        sources=sources,
        writes=writes,
        cpu_bytes_per_s=10e9,
        team=True,
    )


def random(
    meaning: str, kernel: str, *, sources: int, writes: bool, pieces: tuple[int, ...] = (4, 8, 16)
) -> Interface:
    """Returns the row of random accesses to one buffer, all of which an operation covers once.

    Args:
        pieces: Bytes that a thread of a GPU moves at once; each has kernels of its own.
    """
    names = [f"{kernel}_{piece}" for piece in pieces]
    on_gpus = (*names, *(f"{name}_several" for name in names))
    return replace(
        one_way(meaning, kernel, sources=sources, writes=writes, on_gpus=on_gpus),
        options=(opt.ACCESS_BYTES, opt.BLOCKS, opt.THREADS, opt.STREAM),
        counted=sources + writes,
        power_of_two_from=1024,  # a few accesses of the largest size
        scattered=True,
        cpu_bytes_per_s=0.5e9,
    )


COPY_2D = (opt.WIDTH_BYTES, opt.PITCH_BYTES, opt.STRIDED)
BLOCK_COPY = (opt.BLOCK_BYTES, opt.LAYOUT, opt.PITCH_BYTES, opt.SCATTERED)
#: Of the interfaces that also move blocks of different sizes.
MIXED_BLOCKS = (*BLOCK_COPY, opt.BLOCK_SIZES)


#: The memory operation that needs memory of two devices.
COLD_LOAD = "cold-load"


def step(meaning: str, kinds: tuple[str, ...], *options: Option) -> Interface:
    """Returns the row of a memory operation on `size_bytes`, before any transfer."""
    return Interface(
        MEMORY_CATEGORY,
        meaning,
        dict.fromkeys(kinds, ()),
        options,
        buffers="one",
        figure="time",
        counts="call",
        granularity_bytes=4096,  # a multiple of the page size of every known machine
        by_call=True,
        alone=True,
        refused=ASKED_OF_A_GPU,
        rests_on=dict.fromkeys(("cpu", "gpu"), ("memory",)),
    )
