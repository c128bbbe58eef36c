"""The table of interfaces: everything that planning, workers and generated tables need to know about each.

To add an interface, add a row here and a folder in native/interfaces; no other list exists. Rules for valid
combinations are in legality/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from byteways.cases import options as opt
from byteways.cases.interface import READ_WRITE, Interface
from byteways.cases.interface_rows import (
    ABOUT_QUEUES,
    BARRIER,
    BLOCK_COPY,
    COLD_LOAD,
    COPY_2D,
    MEMORY_CATEGORY,
    MIXED_BLOCKS,
    OF_CALLS,
    PAIRS,
    UCX,
    application,
    between_ranks,
    one_sided,
    one_way,
    random,
    step,
    stream,
)
from byteways.cases.options import COMMON_OPTIONS, Option

#: Names of the options that every interface accepts.
OF_ALL = tuple(option.name for option in COMMON_OPTIONS)

#: Collectives that move data, named as in MPI and NCCL.
COLLECTIVES = (
    *("allreduce", "allgather", "reduce-scatter", "alltoall", "broadcast", "reduce", "gather", "scatter"),
)
#: Those of NCCL and RCCL that a group of sends and receives carries out as well.
SENT_AS_MESSAGES = ("alltoall", "gather", "scatter")
#: Those that direct kernels and copies carry out.
DIRECT_COLLECTIVES = ("allreduce", "allgather", "reduce-scatter", "alltoall")
#: Patterns of applications, each carried out by the interface of its name (applications.py).
APPLICATIONS = ("halo", "particles")
#: The first half of the ranks sends to the second half at once, each rank to one other, as osu_mbw_mr does.
MULTI_PAIR = "multi-pair"

INTERFACES: Mapping[str, Interface] = {
    "memcpy": Interface(
        "explicit",
        "one CPU core copies",
        {"cpu": ("memcpy",)},
        (opt.PAUSE_NS,),
        granularity_bytes=1,
        cpu_bytes_per_s=7e9,
    ),
    "memcpy-mt": Interface(
        "explicit",
        "all cores of a NUMA domain copy together",
        {"cpu": ("memcpy",)},
        (opt.THREADS, opt.PAUSE_NS),
        cpu_bytes_per_s=6e9,
        team=True,
    ),
    "memcpy-stream": Interface(
        "explicit",
        "one CPU core copies with non-temporal stores, past the caches",
        {"cpu": ("memcpy_stream",)},
        (opt.PAUSE_NS,),
        cpu_bytes_per_s=7e9,
        core_rate="core_stream",
    ),
    "copy": Interface(
        "explicit",
        "the vendor's copy call: asynchronous, in a GPU's queue, unless `call` says otherwise",
        {"gpu": ()},
        (opt.CALL, opt.STREAM, opt.COPY_ENGINE, opt.PACE, opt.PAUSE_NS, opt.SUBMIT),
        granularity_bytes=1,
        by_call=True,
        batched=True,
        refused="is queued on a GPU, and {executor} is a CPU (a CPU executes memcpy)",
        gpu_rate="engine",
    ),
    "copy-2d": Interface(
        "explicit",
        "the vendor's asynchronous copy call for pitched (2D) rows",
        {"gpu": ()},
        (*COPY_2D, opt.STREAM),
        by_call=True,
        gpu_rate="engine",
    ),
    "memcpy-2d": Interface(
        "explicit",
        "one CPU core copies pitched (2D) rows",
        {"cpu": ("memcpy_2d",)},
        COPY_2D,
        cpu_bytes_per_s=4e9,
    ),
    "kernel-2d": Interface(
        "direct access",
        "a packing kernel: loads and stores of pitched (2D) rows",
        {"gpu": ("copy_2d", "copy_2d_tiled", "copy_2d_resident")},
        (*COPY_2D, opt.BLOCKS, opt.THREADS, opt.STREAM),
    ),
    "copy-blocks": Interface(
        "explicit",
        "the vendor's copy call for each of many scattered blocks, or one for all",
        {"gpu": ()},
        (*MIXED_BLOCKS, opt.STREAM, opt.PACE, opt.SUBMIT),
        by_call=True,
        batched=True,
        refused="is queued on a GPU, and {executor} is a CPU (a CPU executes memcpy-blocks)",
        gpu_rate="engine",
    ),
    "kernel-blocks": Interface(
        "direct access",
        "loads and stores of a GPU kernel, of a list of scattered blocks",
        {"gpu": ("copy_blocks", "copy_blocks_resident")},
        (*MIXED_BLOCKS, opt.BLOCKS, opt.THREADS, opt.STREAM, opt.PACE),
        refused="runs on a GPU, and {executor} is a CPU (a CPU executes memcpy-blocks)",
    ),
    "bulk-blocks": Interface(
        "direct access",
        "bulk-copy instructions of a GPU kernel, of a list of scattered blocks",
        {"gpu": ("copy_blocks_bulk",)},
        (*MIXED_BLOCKS, opt.BLOCKS, opt.CHUNK_BYTES, opt.STAGES, opt.STREAM, opt.PACE),
        granularity_bytes=16,
        needs="bulk-copy instructions",
        refused="runs on a GPU, and {executor} is a CPU (a CPU executes memcpy-blocks)",
        gpu_rate="bulk",
    ),
    "pack-blocks": Interface(
        "explicit",
        "CPU threads pack blocks, one copy moves them, a kernel scatters them; or back",
        {"gpu": ("copy_blocks", "copy_blocks_resident")},
        (*BLOCK_COPY, opt.THREADS),
        by_call=True,
        refused="is waited for by the host and executed by a GPU, and {executor} is a CPU",
        gpu_rate="engine",
    ),
    "memcpy-blocks": Interface(
        "explicit",
        "CPU cores copy scattered blocks",
        {"cpu": ("memcpy_blocks",)},
        (*BLOCK_COPY, opt.THREADS),
        cpu_bytes_per_s=4e9,
    ),
    "route": Interface(
        "explicit",
        "one transfer split over several paths: the direct one, and pieces relayed by other GPUs",
        {"gpu": ()},
        (opt.RELAYS, opt.VIA, opt.PIECE_BYTES, opt.DEPTH),
        by_call=True,
        gpu_rate="engine",
    ),
    "prefetch": Interface(
        "explicit",
        "the vendor's prefetch call, which migrates managed pages from one device to another",
        {"gpu": ()},
        (opt.STREAM,),
        buffers="moved",
        by_call=True,
    ),
    "torch-copy": Interface(
        "explicit",
        "PyTorch's copy between tensors, in a separate process",
        {"gpu": ()},
        by_call=True,
        worker="torch",
        front_end_of="copy",
        gpu_rate="engine",
    ),
    "kernel": Interface(
        "direct access",
        "loads and stores of a GPU kernel",
        {"gpu": ("copy", "copy_tiled", "copy_resident")},
        (opt.BLOCKS, opt.THREADS, opt.STREAM, opt.PACE, opt.MIGRATION, opt.PAUSE_NS, opt.SUBMIT),
        granularity_bytes=16,
    ),
    "kernel-bulk": Interface(
        "direct access",
        "bulk-copy instructions of a GPU kernel, which saturate a link with few multiprocessors",
        {"gpu": ("copy_bulk",)},
        (opt.BLOCKS, opt.CHUNK_BYTES, opt.STAGES, opt.STREAM, opt.PACE, opt.MIGRATION, opt.PAUSE_NS),
        granularity_bytes=16,
        needs="bulk-copy instructions",
        gpu_rate="bulk",
    ),
    "pointer-chase": Interface(
        "direct access",
        "latency: dependent loads along a random cycle",
        {"cpu": ("chase_build", "chase"), "gpu": ("chase_build", "chase", "chase_ordinary")},
        (opt.LOADS,),
        buffers="one",
        figure="latency",
        counts="dependent-load",
        power_of_two_from=1024,  # a few cache lines, within any first-level cache
        alone=True,
    ),
    "ping-pong": Interface(
        "direct access",
        "latency: one word to a polling partner and back",
        {"cpu": ("ping_pong",), "gpu": ("ping_pong",)},
        (opt.CORE, opt.PARTNER_CORE),
        figure="latency",
        counts="round-trip",
        alone=True,
        partner=True,
        one_word=True,
    ),
    "mpi": between_ranks(
        "MPI: messages in windows between two ranks, or a collective of several",
        ("unidirectional", "bidirectional", MULTI_PAIR, *COLLECTIVES),
        options=(opt.WINDOW, opt.TIMING, opt.IN_PLACE, opt.STAGING),
        in_place=("allreduce", "allgather"),
    ),
    "mpi-ping-pong": between_ranks(
        "latency: an MPI message to another rank and back",
        ("unidirectional",),
        options=(opt.TIMING, opt.STAGING),
        figure="latency",
        counts="round-trip",
        alone=True,
    ),
    "mpi-put": one_sided("MPI_Put: the sender stores into memory that the receiver has exposed", opt.SYNC),
    "mpi-get": one_sided("MPI_Get: the receiver loads from memory that the sender has exposed", opt.SYNC),
    "mpi-barrier": between_ranks(
        "MPI's barrier", (BARRIER,), options=(opt.TIMING,), figure="time", counts="call", alone=True
    ),
    "ucx": between_ranks(
        "UCX, the transport below MPI: tagged messages in windows between two ranks",
        PAIRS,
        options=(opt.WINDOW,),
        library=UCX,
    ),
    "ucx-ping-pong": between_ranks(
        "latency: a tagged message of UCX to another rank and back",
        ("unidirectional",),
        library=UCX,
        figure="latency",
        counts="round-trip",
        alone=True,
    ),
    "ucx-put": one_sided("ucp_put_nbx: the sender stores into memory that the receiver maps", library=UCX),
    "ucx-get": one_sided("ucp_get_nbx: the receiver loads from memory that the sender maps", library=UCX),
    "xccl": between_ranks(
        "NCCL or RCCL: messages between two ranks or several pairs, or a collective, one GPU each",
        ("unidirectional", "bidirectional", MULTI_PAIR, *COLLECTIVES),
        options=(
            opt.TIMING,
            opt.IN_PLACE,
            opt.LAUNCH,
            opt.SUBMIT,
            opt.CALLS_OF_A_COLLECTIVE,
            opt.REGISTRATION,
        ),
        in_place=("allreduce", "allgather", "reduce-scatter"),
        library="xccl",
    ),
    "xccl-put": between_ranks(
        "ncclPutSignal: the sender stores into a window of the receiver, and signals it",
        PAIRS,
        library="xccl",
        one_sided=True,
    ),
    "xccl-ping-pong": between_ranks(
        "latency: a message of NCCL or RCCL to another rank's GPU and back",
        ("unidirectional",),
        options=(opt.TIMING, opt.LAUNCH, opt.SUBMIT),
        library="xccl",
        figure="latency",
        counts="round-trip",
        alone=True,
    ),
    "halo": application(
        "CloverLeaf's pattern: a stencil over tiles of a grid, and the exchange of their halos",
        ("halo_stencil", "halo_pack", "halo_unpack", "halo_boundary"),
        "halo",
        *(opt.FIELDS, opt.DEPTH_CELLS, opt.WIDTH_CELLS, opt.PACKING),
    ),
    "particles": application(
        "Quicksilver's pattern: a pass over all particles, and many small messages of those that cross",
        ("particles_track", "particles_pack", "particles_unpack"),
        "particles",
        *(opt.CROSSING, opt.MESSAGE_BYTES, opt.BATCHES, opt.PACKING),
    ),
    "direct": between_ranks(
        "collectives over peer memory: by our kernels, or by the vendor's copies",
        DIRECT_COLLECTIVES,
        options=(
            *(opt.TIMING, opt.IN_PLACE, opt.LAUNCH, opt.SUBMIT),
            *(opt.ALGORITHM, opt.PROTOCOL, opt.MECHANISM, opt.BLOCKS, opt.THREADS),
        ),
        in_place=("allreduce", "allgather", "reduce-scatter"),
        library="direct",
        kernels=(
            "direct_flagged",
            "direct_pull",
            "direct_pull_in_place",
            "direct_two_shot",
            "direct_barrier",
        ),
    ),
    "launch": Interface(
        "direct access",
        "an empty kernel; on a CPU, an empty parallel region",
        {"cpu": ("empty",), "gpu": ("empty",)},
        (opt.BLOCKS, opt.THREADS, opt.PACE),
        buffers="one",
        one_word=True,
        rests_on=OF_CALLS,
        figure="time",
        counts="call",
        alone=True,
    ),
    "synchronize": Interface(
        "explicit",
        "waiting for an empty queue",
        {"gpu": ("empty",)},
        one_word=True,
        refused=ABOUT_QUEUES,
        rests_on=OF_CALLS,
        buffers="one",
        figure="time",
        counts="call",
        alone=True,
    ),
    "event": Interface(
        "explicit",
        "event round trip between two queues of a GPU",
        {"gpu": ("empty",)},
        (opt.PACE,),
        one_word=True,
        refused=ABOUT_QUEUES,
        rests_on=OF_CALLS,
        buffers="one",
        figure="time",
        counts="round-trip",
        alone=True,
    ),
    "allocate": step("allocation on the owning device", ("cpu", "gpu"), opt.TOUCHED, opt.POOL),
    "free": step("release of the allocation", ("cpu", "gpu"), opt.TOUCHED, opt.POOL),
    "register": step("page-locks plain host memory and maps it for a GPU", ("gpu",), opt.TOUCHED),
    "unregister": step("undoes register", ("gpu",), opt.TOUCHED),
    "map-peer": step("gives a GPU access to another GPU's memory", ("gpu",)),
    "open-ipc": step("opens another process's GPU memory by its IPC handle", ("gpu",)),
    COLD_LOAD: replace(
        step("a whole load: allocates memory, reads data into it, copies them to a GPU", ("gpu",)),
        rests_on={
            "gpu": (
                "memory",
                "calls",
                "rates.engine-host-read",
                "rates.engine-peer-read",
                "staging",
                "links",
                "cpu",
            )
        },
    ),
    "stream-copy": stream("c = a of STREAM", "stream_copy"),
    "stream-scale": stream("b = 3 c of STREAM", "stream_scale"),
    "stream-add": stream("c = a + b of STREAM", "stream_add", 2),
    "stream-triad": stream("a = b + 3 c of STREAM", "stream_triad", 2),
    "store": one_way(
        "stores alone: one buffer is written",
        "store",
        sources=0,
        writes=True,
        on_gpus=("store", "store_tiled", "store_resident"),
    ),
    "memset": replace(
        one_way(
            "the vendor's call that sets bytes, asynchronous or waiting; on a CPU, memset of all cores",
            "memset",
            sources=0,
            writes=True,
            on_gpus=(),
        ),
        category="explicit",
        options=(opt.CALL, opt.THREADS, opt.STREAM),
        gpu_options=(),
    ),
    "load": one_way(
        "loads alone: one buffer is read", "load", sources=1, writes=False, on_gpus=("load", "load_resident")
    ),
    "random-load": random("independent loads at random places", "random_load", sources=1, writes=False),
    "random-store": random("independent stores at random places", "random_store", sources=0, writes=True),
    "random-update": random(
        "independent updates at random places: load, change and store, as in GUPS",
        "random_update",
        sources=1,
        writes=True,
        pieces=(8, 16),
    ),
    "compute": Interface(
        "direct access",
        "arithmetic in registers of all multiprocessors or cores",
        {"cpu": ("compute",), "gpu": ("compute",)},
        (opt.BLOCKS, opt.THREADS),
        gpu_options=(opt.BLOCKS,),
        buffers="one",
        own_buffer=True,
        call_s={"cpu": 1e-4, "gpu": 4e-4},
        rests_on={
            "cpu": ("cpu.core_multiply_adds_per_s", "cpu.cores"),
            "gpu": ("gpu.multiply_adds_per_s", "gpu.multiprocessors"),
        },
        figure="time",
        counts="kernel-time",
        alone=True,
    ),
}

#: All options, by name.
OPTIONS: Mapping[str, Option] = {
    option.name: option for row in INTERFACES.values() for option in (*COMMON_OPTIONS, *row.options)
}

#: Size in bytes of the word of interfaces that are timed without moving data.
WORD_BYTES = 8


def counts_as_stream(interface: str) -> bool:
    """Whether its bandwidth counts every array read or written, not what one direction carries."""
    return INTERFACES[interface].counts == READ_WRITE


def is_scattered(interface: str) -> bool:
    """Whether it accesses a few bytes at a time, at random places."""
    return INTERFACES[interface].scattered


def is_memory_step(interface: str) -> bool:
    """Whether it allocates, releases or opens memory instead of moving bytes."""
    return INTERFACES[interface].category == MEMORY_CATEGORY


def metric_of(interface: str) -> str:
    """Returns its metric, one of interface.FIGURES."""
    return INTERFACES[interface].figure


def one_buffer(interface: str) -> bool:
    """Whether source and destination of its flows are one allocation."""
    return INTERFACES[interface].buffers != "pair"


def goes_both_ways(interface: str) -> bool:
    """Whether two devices can load from, or store to, each other's single buffer at once."""
    row = INTERFACES[interface]
    return row.buffers == "one" and row.figure == "bandwidth"


def moves_pages(interface: str) -> bool:
    """Whether its single allocation migrates from one device to another."""
    return INTERFACES[interface].buffers == "moved"
