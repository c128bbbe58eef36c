"""The options of interfaces with their valid values and the reasons for limits. Pure data.

A row of interfaces.py lists the options it accepts. An option of a single interface may be defined there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Threads per block that every supported GPU accepts: CUDA C++ Programming Guide, technical specifications
#: per compute capability; maxThreadsPerBlock of HIP's gfx9.
MOST_BLOCK_THREADS = 1024
#: Threads of a CPU team (native/interfaces/mover.hpp).
MOST_TEAM_THREADS = 4096
#: Random accesses of an operation (native/interfaces/random_access/arguments.hpp).
MOST_ACCESSES = 2**32


@dataclass(frozen=True)
class Span:
    """Integers from `least` to `most` that are multiples of `step`."""

    least: int
    most: int
    why: str  # what the upper limit refers to
    step: int = 1

    def wrong(self, name: str, value: int) -> str | None:
        """Returns why the option cannot have this value; None if it can."""
        if not self.least <= value <= self.most:
            return f"{name} must be from {self.least} to {self.most} ({self.why}), not {value}"
        if value % self.step:
            return f"{name} must be a multiple of {self.step}, not {value}"
        return None


@dataclass(frozen=True)
class Option:
    """A number within its span, one of some words, or GPU names; without any of these, true or false."""

    name: str
    span: Span | None = None
    words: tuple[str, ...] = ()
    #: The default word: writing it gives the same case as leaving it out.
    default: str | None = None
    names_gpus: bool = False  # one or more GPUs: "gpu1,gpu2"
    usual: int = 0  # of a number: its value where a case leaves it out
    numbers: bool = False  # beside its words also a list of numbers: "2,3,0,1"
    counts_sizes: bool = False  # counts of sizes: "48x16KiB,2x64KiB" (cases/block_layout.py)
    usual_word: str = ""  # of words and truths without a default: what a case has that leaves it out

    @property
    def is_truth(self) -> bool:
        return not (self.span or self.words or self.names_gpus or self.counts_sizes)

    @property
    def left_out(self) -> str:
        """The value of a case that leaves it out, as text; empty if nothing fixed."""
        return self.default or self.usual_word or (str(self.usual) if self.usual else "")


# Most limits are those of vendors' calls, some are ours: larger values measure nothing useful.

#: False starts operations as they are enqueued, so results include launch overhead.
GATE = Option("gate", usual_word="true")
#: Fixes the number of operations in a sample.
BATCH = Option("batch", Span(1, 2**20, "operations in one sample"))
#: Each sample is one operation on an idle queue, with its call: what a program sees that waits for each.
#: Copies that follow each other hide their calls: a plan made from samples of many chose batched calls for 32
#: blocks of 24 KiB, which took 1.5 times as long as the kernel (two H200, 2026-11-27).
AS_CALLED: Mapping[str, object] = {GATE.name: False, BATCH.name: 1}
#: Messages in flight before the receiver acknowledges them all, as in OSU's bandwidth tests.
WINDOW = Option("window", Span(1, 4096, "messages in flight"))
#: What completes one-sided transfers of MPI: a flush of the rank that calls (passive target), or a fence of
#: both ranks.
SYNC = Option("sync", words=("flush", "fence"), default="flush")
#: How operations of several ranks follow each other: back to back, each from a common start, or as in the
#: loops of OSU's programs (osu.py).
TIMING = Option("timing", words=("pipelined", "isolated", "osu"), default="pipelined")
#: What calls the library for the ranks of a host's GPUs: a process for each, a thread for each, or one
#: thread for all.
LAUNCH = Option("launch", words=("process", "thread", "single"), default="process")
#: How NCCL or RCCL is asked for an alltoall, gather or scatter: by its own call, where it has one (NCCL
#: 2.28), or by a group of sends and receives.
CALLS_OF_A_COLLECTIVE = Option("calls", words=("collective", "messages"), default="collective")
#: How memory of NCCL or RCCL (`xccl`) is registered with the communicator: each buffer by itself, or as a
#: symmetric window of all ranks, which NCCL's symmetric kernels and copy-engine collectives need.
REGISTRATION = Option("registration", words=("buffer", "window"), default="buffer")
#: Whether a collective reads its input where it writes its result, as nccl-tests defines it.
IN_PLACE = Option("in_place", words=("no", "yes"), default="no")
#: How direct collectives exchange: each rank gets all it needs in one step, or, in allreduce, each sums one
#: block and stores it to all ranks (as vLLM, TensorRT-LLM and PyTorch name them).
ALGORITHM = Option("algorithm", words=("auto", "one-shot", "two-shot"), default="auto")
#: The protocol of their kernels, as NCCL names it: a flag with every word, or data between two barriers.
PROTOCOL = Option("protocol", words=("auto", "LL", "simple"), default="auto")
#: What moves their bytes: a kernel, or the vendor's copy call.
MECHANISM = Option("mechanism", words=("kernel", "copy"), default="kernel")
#: How device memory gets to MPI: as it is, or by our copies through page-locked host memory.
STAGING = Option("staging", words=("library", "pinned"), default="library")
#: How the messages of an application pattern get from rank to rank: by MPI as they are, or through
#: page-locked host memory; by NCCL or RCCL, or with MPI for the small ones; by copies into the neighbours'
#: memory, or by the kernels that pack them.
TRANSPORT = Option(
    "transport", words=("mpi", "mpi-staged", "xccl", "hybrid", "copies", "kernels"), default="mpi"
)
#: What an operation of an application pattern is: compute, exchange and a sum, or the exchange alone.
TIMED = Option("timed", words=("iteration", "exchange"), default="iteration")
#: Ranks in a row of the grid of ranks; left out: as square as possible (cases/applications.py).
GRID_COLUMNS = Option("columns", Span(1, 256, "ranks in a row of the grid"))
#: Fields whose halos are exchanged together; CloverLeaf exchanges between one and fifteen.
FIELDS = Option("fields", Span(1, 64, "fields of a tile"), usual=4)
#: CloverLeaf's deeper halo; its other one is 1.
DEPTH_CELLS = Option("depth_cells", Span(1, 16, "cells of a halo"), usual=2)
WIDTH_CELLS = Option("width_cells", Span(1, 2**24, "cells in a row of a tile"))
#: Of a rank's particles, those that cross to others in a trip.
CROSSING = Option("crossing", Span(1, 250, "of a thousand particles"), usual=10)
MESSAGE_BYTES = Option("message_bytes", Span(128, 2**24, "bytes of a message", step=128), usual=65536)
#: Parts of the particles that a code tracks one after another, each with its own message to every
#: neighbour: in place of message_bytes, so that messages grow with the problem. Quicksilver has ten
#: (nBatches).
BATCHES = Option("batches", Span(1, 1000, "parts of the particles"))
#: How messages are packed: by one kernel for all fields of a face or all messages to a neighbour, or as the
#: code does that the pattern stands for. CloverLeaf has a kernel for each field and waits before each
#: message; in Quicksilver a core packs particle by particle into memory that is new for each message.
PACKING = Option("packing", words=("fused", "original"), default="fused")
#: Which rank has which GPU; without GPUs, which NUMA domain: in the machine's order, filling a package and
#: domain before the next, spread over them, or backwards.
RANK_ORDERS = ("devices", "packed", "spread", "reversed")
RANK_ORDER = Option("rank_order", words=RANK_ORDERS, default=RANK_ORDERS[0], numbers=True)
#: True sustains the operations after timing, to measure their energy.
ENERGY = Option("energy", usual_word="false")
#: Options of every interface.
COMMON_OPTIONS = (GATE, BATCH, ENERGY)

BLOCKS = Option("blocks", Span(1, 2**31 - 1, "blocks in one launch"))  # gridDim.x of CUDA and HIP
THREADS = Option("threads", Span(1, MOST_TEAM_THREADS, "threads of a CPU team; fewer in a GPU block"))
STREAM = Option("stream", Span(0, 1023, "number of a queue"))
#: Bit numbers of hsa_amd_sdma_engine_id_t.
COPY_ENGINE = Option("copy_engine", Span(0, 31, "vendor's number of a copy engine"))
PAUSE_NS = Option("pause_ns", Span(0, 10**9, "one second"))
WIDTH_BYTES = Option("width_bytes", Span(8, 2**31 - 1, "width of a row in bytes"))
#: Largest pitch of the drivers: CU_DEVICE_ATTRIBUTE_MAX_PITCH, hipDeviceAttributeMaxPitch.
PITCH_BYTES = Option("pitch_bytes", Span(8, 2**31 - 1, "largest pitch of drivers, in bytes"))
#: The side whose rows are pitched.
STRIDED = Option("strided", words=("source", "destination", "both"), usual_word="source")
#: Scattered blocks (cases/block_layout.py): the bytes of each, where they are, and on which sides.
BLOCK_BYTES = Option("block_bytes", Span(8, 2**31 - 8, "bytes of a block", step=8), usual=16384)
#: In place of block_bytes: how many blocks have which size.
BLOCK_SIZES = Option("block_sizes", counts_sizes=True)
LAYOUT = Option("layout", words=("random", "strided"), default="random")
SCATTERED = Option("scattered", words=("both", "source", "destination"), default="both")
#: A power of two: what one thread, or the threads of one transaction, access at a random place.
ACCESS_BYTES = Option("access_bytes", Span(4, 128, "a cache line"), usual=8)
RELAYS = Option("relays", Span(0, 63, "GPUs that are not an end of the transfer"))
VIA = Option("via", names_gpus=True)
#: A multiple of whole pages.
PIECE_BYTES = Option("piece_bytes", Span(4096, 2**40, "size of a piece in bytes", step=4096))
DEPTH = Option("depth", Span(1, 64, "pieces in flight, one stream each"))
#: Shared memory limit of compute capability 9.0, the largest; 16 and 32 are in native/interfaces/kernel_copy.
CHUNK_BYTES = Option("chunk_bytes", Span(16, 227 * 1024, "bytes of shared memory of a block", step=16))
STAGES = Option("stages", Span(1, 32, "chunks in flight"))
CORE = Option("core", Span(0, 4095, "cores of a NUMA domain, by number"))
PARTNER_CORE = Option("partner_core", Span(0, 4095, "cores of a NUMA domain, by number"))
#: Whether operations are enqueued back to back, or each is waited for; then the host's clock times the whole
#: round trip.
PACE = Option("pace", words=("back-to-back", "one-at-a-time"), default="back-to-back")
#: Loads of a chase: of system scope, which go to the owner of the memory; or ordinary ones, as `*p` in a
#: program, which a GPU's own caches may serve. A CPU has one kind, whose caches are coherent.
LOADS = Option("loads", words=("system", "ordinary"), default="system")
#: Which call of the vendor asks for a copy or sets bytes: the asynchronous one; one that waits (cudaMemcpy,
#: hipMemset); one that names both GPUs (hipMemcpyPeerAsync), and the one that also waits (hipMemcpyPeer).
CALL = Option("call", words=("async", "blocking", "peer", "peer-blocking"), default="async")
#: Those that wait for their operation, which the host's clock then times.
CALLS_THAT_WAIT = ("blocking", "peer-blocking")
#: Those that name both GPUs.
PEER_CALLS = ("peer", "peer-blocking")
#: Whether the timed step writes each page, or pages were written before.
TOUCHED = Option("touched", words=("no", "yes"))
#: Whether the pool has released its freed memory, or keeps it for the next allocation.
POOL = Option("pool", words=("empty", "kept"))
#: Managed pages that an operation touches: they migrate, or are accessed remotely.
MIGRATION = Option("migration", words=("on-demand", "off"))
#: How operations are submitted: one call each, recorded as one graph that is launched, by the vendor's
#: batched copy call, or all operations of a batch by one launch of a resident kernel.
SUBMIT = Option("submit", words=("calls", "graph", "batch", "persistent"), usual_word="calls")
