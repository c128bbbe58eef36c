"""The interfaces: one row for each, with all that the plan, the worker and the tables have to know of it.

A new interface is a row here, a mover in native/movers and, where it has kernels of its own, those. What may
be combined with what is the business of legality/, the time to plan with estimate.py's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Options of every interface: `gate` false starts operations as they are enqueued, launch cost included;
#: `batch` fixes the operations a sample; `energy` true sustains them afterwards, to count what they take.
OF_ALL = ("gate", "batch", "energy")
#: Options that are true or false.
TRUTHS = ("gate", "energy")
#: Options that are a word, with their words; all others but `gate` are whole numbers.
WORDS: Mapping[str, tuple[str, ...]] = {
    # Whether operations are enqueued behind one another, or each is waited for before the next: then the
    # host's clock times the whole round trip.
    "pace": ("back-to-back", "one-at-a-time"),
    # Whether each page is written in the timed step, or was before it.
    "touched": ("no", "yes"),
    # Whether the pool has given back what was freed to it, or keeps that for the next.
    "pool": ("empty", "kept"),
    # Of managed pages that an operation touches: they move, or are reached where they are.
    "migration": ("on-demand", "off"),
    # How operations reach the device: a call each, recorded before and launched as one graph, or by the
    # vendor's batched copy call.
    "submit": ("calls", "graph", "batch"),
    # Which side's rows lie a pitch apart.
    "strided": ("source", "destination", "both"),
}
#: Of these, the word that changes nothing: written or left out, the case is the same.
DEFAULTS: Mapping[str, str] = {"pace": "back-to-back"}
#: Options that name GPUs, one or several: "gpu1,gpu2".
NAMES = ("via",)

#: What the buffers of a flow are. `pair`: a source and a destination. `one`: a single buffer, written
#: `buffer` in a suite, which is source and destination. `moved`: one allocation whose pages go from the
#: source's agent to the destination's.
BUFFERS = ("pair", "one", "moved")
#: What a bandwidth counts that counts every array that is read or written, as STREAM does.
READ_WRITE = "read+write"
#: The category of steps that have memory, give it back or open it; the others are those of schieffer2025.
MEMORY = "memory"
#: What is reported: bytes per second, nanoseconds per dependent step, or nanoseconds per call.
FIGURES = ("bandwidth", "latency", "time")


@dataclass(frozen=True)
class Interface:
    """What moves the bytes, as the programmer sees it.

    `kernels` names, by kind of executor, the kernels it needs there: a kind that is missing does not execute
    it, and an empty tuple means that the runtime itself does.
    """

    category: str  # taxonomy of schieffer2025, section 3
    meaning: str  # one line, for `byteways list` and the documentation
    kernels: Mapping[str, tuple[str, ...]]
    options: tuple[str, ...] = ()
    buffers: str = "pair"
    figure: str = "bandwidth"
    counts: str = "per-direction"
    granularity_bytes: int = 8  # sizes are multiples of it
    by_call: bool = False  # the runtime reaches for it what the executor's own loads and stores cannot
    alone: bool = False  # moves no bytes: runs alone, or as what others disturb
    sources: int = 1  # arrays that are read; 2: the flow may name a second source
    counted: int = 1  # how often an operation's bandwidth counts its size: of "read+write", every array
    partner: bool = False  # a second agent takes part, written `partner` in a suite
    worker: str = (
        "native"  # which kind of worker measures it: those with other libraries have processes apart
    )

    @property
    def takes(self) -> tuple[str, ...]:
        """Options that a case of it may have."""
        return (*self.options, *OF_ALL)

    def executed_by(self, kind: str) -> bool:
        """Whether agents of this kind ('cpu', 'gpu') can execute it at all."""
        return kind in self.kernels


def _stream(loop: str, kernel: str, sources: int = 1) -> Interface:
    """One loop of STREAM over arrays of doubles; `size_bytes` is that of one array."""
    kernels = (kernel, "stream_fill", "stream_check")
    return Interface(
        "direct access",
        f"{loop} over doubles, each array in any memory",
        {"cpu": kernels, "gpu": kernels},
        ("blocks", "threads", "stream"),
        counts=READ_WRITE,
        granularity_bytes=16,
        sources=sources,
        counted=sources + 1,
    )


_ROWS = ("width_bytes", "pitch_bytes", "strided")


def _step(meaning: str, kinds: tuple[str, ...], *options: str) -> Interface:
    """What it costs to have memory of `size_bytes`, before anything is moved."""
    return Interface(
        MEMORY,
        meaning,
        dict.fromkeys(kinds, ()),
        options,
        buffers="one",
        figure="time",
        counts="call",
        granularity_bytes=4096,
        by_call=True,
        alone=True,
    )


INTERFACES: Mapping[str, Interface] = {
    "memcpy": Interface(
        "explicit", "one CPU core copies", {"cpu": ("memcpy",)}, ("pause_ns",), granularity_bytes=1
    ),
    "memcpy-mt": Interface(
        "explicit",
        "all cores of a NUMA domain copy together",
        {"cpu": ("memcpy",)},
        ("threads", "pause_ns"),
    ),
    "memcpy-stream": Interface(
        "explicit",
        "one CPU core copies with non-temporal stores, past the caches",
        {"cpu": ("memcpy_stream",)},
        ("pause_ns",),
    ),
    "copy": Interface(
        "explicit",
        "the vendor's asynchronous copy call, in a GPU's queue",
        {"gpu": ()},
        ("stream", "copy_engine", "pace", "pause_ns", "submit"),
        granularity_bytes=1,
        by_call=True,
    ),
    "copy-2d": Interface(
        "explicit",
        "the vendor's asynchronous copy call for pitched (2D) rows",
        {"gpu": ()},
        (*_ROWS, "stream"),
        by_call=True,
    ),
    "memcpy-2d": Interface(
        "explicit", "one CPU core copies pitched (2D) rows", {"cpu": ("memcpy_rows",)}, _ROWS
    ),
    "kernel-2d": Interface(
        "direct access",
        "a packing kernel: loads and stores of pitched (2D) rows",
        {"gpu": ("copy_rows",)},
        (*_ROWS, "blocks", "threads", "stream"),
    ),
    "route": Interface(
        "explicit",
        "one transfer split over several paths: the direct one, and pieces relayed by other GPUs",
        {"gpu": ()},
        ("relays", "via", "piece_bytes", "depth"),
        by_call=True,
    ),
    "prefetch": Interface(
        "explicit",
        "the vendor's prefetch call, which migrates managed pages from one device to another",
        {"gpu": ()},
        ("stream",),
        buffers="moved",
        by_call=True,
    ),
    "torch-copy": Interface(
        "explicit",
        "PyTorch's copy between tensors, in a separate process",
        {"gpu": ()},
        by_call=True,
        worker="torch",
    ),
    "kernel": Interface(
        "direct access",
        "loads and stores of a GPU kernel",
        {"gpu": ("copy",)},
        ("blocks", "threads", "stream", "pace", "migration", "pause_ns", "submit"),
        granularity_bytes=16,
    ),
    "kernel-bulk": Interface(
        "direct access",
        "bulk-copy instructions of a GPU kernel, which saturate a link with few multiprocessors",
        {"gpu": ("copy_bulk",)},
        ("blocks", "chunk_bytes", "stages", "stream", "pace", "migration", "pause_ns"),
        granularity_bytes=16,
    ),
    "pointer-chase": Interface(
        "direct access",
        "latency: dependent loads along a random cycle",
        {"cpu": ("chase_build", "chase"), "gpu": ("chase_build", "chase")},
        buffers="one",
        figure="latency",
        counts="dependent-load",
        alone=True,
    ),
    "ping-pong": Interface(
        "direct access",
        "latency: one word to a polling partner and back",
        {"cpu": ("ping_pong",), "gpu": ("ping_pong",)},
        ("core", "partner_core"),
        figure="latency",
        counts="round-trip",
        alone=True,
        partner=True,
    ),
    "launch": Interface(
        "direct access",
        "an empty kernel; on a CPU, an empty parallel region",
        {"cpu": ("nothing",), "gpu": ("nothing",)},
        ("blocks", "threads", "pace"),
        buffers="one",
        figure="time",
        counts="call",
        alone=True,
    ),
    "synchronize": Interface(
        "explicit",
        "waiting for an empty queue",
        {"gpu": ("nothing",)},
        buffers="one",
        figure="time",
        counts="call",
        alone=True,
    ),
    "event": Interface(
        "explicit",
        "event round trip between two queues of a GPU",
        {"gpu": ("nothing",)},
        ("pace",),
        buffers="one",
        figure="time",
        counts="round-trip",
        alone=True,
    ),
    "allocate": _step("allocation on the owning device", ("cpu", "gpu"), "touched", "pool"),
    "free": _step("release of the allocation", ("cpu", "gpu"), "touched", "pool"),
    "register": _step("page-locks plain host memory and maps it for a GPU", ("gpu",), "touched"),
    "unregister": _step("undoes register", ("gpu",), "touched"),
    "map-peer": _step("gives a GPU access to another GPU's memory", ("gpu",)),
    "open-ipc": _step("opens another process's GPU memory by its IPC handle", ("gpu",)),
    "stream-copy": _stream("c = a of STREAM", "stream_copy"),
    "stream-scale": _stream("b = 3 c of STREAM", "stream_scale"),
    "stream-add": _stream("c = a + b of STREAM", "stream_add", 2),
    "stream-triad": _stream("a = b + 3 c of STREAM", "stream_triad", 2),
    "compute": Interface(
        "direct access",
        "arithmetic in registers of all multiprocessors or cores",
        {"cpu": ("compute",), "gpu": ("compute",)},
        ("blocks", "threads"),
        buffers="one",
        figure="time",
        counts="kernel-time",
        alone=True,
    ),
}

#: What the one word of an interface that moves none but is timed takes: its size in bytes.
WORD_BYTES = 8


def counts_as_stream(interface: str) -> bool:
    """Whether its bandwidth counts every array read or written, not what one direction carries."""
    return INTERFACES[interface].counts == READ_WRITE


def is_memory_step(interface: str) -> bool:
    """Whether it is about having memory, not about moving bytes."""
    return INTERFACES[interface].category == MEMORY


def figure_of(interface: str) -> str:
    """One of FIGURES."""
    return INTERFACES[interface].figure


def one_buffer(interface: str) -> bool:
    """Whether source and destination of its flows are one allocation."""
    return INTERFACES[interface].buffers != "pair"


def moves_pages(interface: str) -> bool:
    """Whether its one allocation goes from one agent to another."""
    return INTERFACES[interface].buffers == "moved"
