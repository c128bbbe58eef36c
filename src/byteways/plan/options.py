"""The options that interfaces take: what each may be, and why no more. Pure data.

A row of interfaces.py names those that it takes. One that a single interface has may stand there.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Threads of a block that every GPU here takes: CUDA C++ Programming Guide, technical specifications per
#: compute capability; maxThreadsPerBlock of HIP's gfx9.
MOST_BLOCK_THREADS = 1024
#: Of a team on a CPU (native/interfaces/mover.hpp).
MOST_TEAM_THREADS = 4096


@dataclass(frozen=True)
class Span:
    """Whole numbers from `least` to `most`, multiples of `step`."""

    least: int
    most: int
    why: str  # what there is no more of
    step: int = 1

    def wrong(self, name: str, value: int) -> str | None:
        """Why the option cannot have this value, in a sentence."""
        if not self.least <= value <= self.most:
            return f"{name} must be from {self.least} to {self.most} ({self.why}), not {value}"
        if value % self.step:
            return f"{name} must be a multiple of {self.step}, not {value}"
        return None


@dataclass(frozen=True)
class Option:
    """A number within its span, one of some words, or names of GPUs; with none of these, true or false."""

    name: str
    span: Span | None = None
    words: tuple[str, ...] = ()
    #: The word that changes nothing: written or left out, the case is the same.
    default: str | None = None
    names_gpus: bool = False  # one or several: "gpu1,gpu2"

    @property
    def is_truth(self) -> bool:
        return self.span is None and not self.words and not self.names_gpus


# Most are limits of vendors' calls, some our own: beyond them nothing sensible is measured.

#: False starts operations as they are enqueued, launch overhead included.
GATE = Option("gate")
#: Fixes the operations of a sample.
BATCH = Option("batch", Span(1, 2**20, "operations in one sample"))
#: Messages in flight before the receiver acknowledges them all, as OSU's bandwidth tests have them.
WINDOW = Option("window", Span(1, 4096, "messages in flight"))
#: How operations of several ranks follow each other: back to back, or each from a common start.
TIMING = Option("timing", words=("pipelined", "isolated"), default="pipelined")
#: True sustains the operations after they were timed, to count the energy that they take.
ENERGY = Option("energy")
#: Of every interface.
COMMON = (GATE, BATCH, ENERGY)

BLOCKS = Option("blocks", Span(1, 2**31 - 1, "blocks in one launch"))  # gridDim.x of CUDA and HIP
THREADS = Option("threads", Span(1, MOST_TEAM_THREADS, "threads of a CPU team; fewer in a GPU block"))
STREAM = Option("stream", Span(0, 1023, "number of a queue"))
#: Bits of hsa_amd_sdma_engine_id_t.
COPY_ENGINE = Option("copy_engine", Span(0, 31, "vendor's number of a copy engine"))
PAUSE_NS = Option("pause_ns", Span(0, 10**9, "one second"))
WIDTH_BYTES = Option("width_bytes", Span(8, 2**31 - 1, "width of a row in bytes"))
#: The largest pitch of drivers: CU_DEVICE_ATTRIBUTE_MAX_PITCH, hipDeviceAttributeMaxPitch.
PITCH_BYTES = Option("pitch_bytes", Span(8, 2**31 - 1, "largest pitch of drivers, in bytes"))
#: Which side's rows lie a pitch apart.
STRIDED = Option("strided", words=("source", "destination", "both"))
RELAYS = Option("relays", Span(0, 63, "GPUs that are not an end of the transfer"))
VIA = Option("via", names_gpus=True)
#: Whole pages.
PIECE_BYTES = Option("piece_bytes", Span(4096, 2**40, "size of a piece in bytes", step=4096))
DEPTH = Option("depth", Span(1, 64, "pieces in flight, one stream each"))
#: Of the largest GPU (compute capability 9.0); 16 and 32 are of native/interfaces/kernel_copy.
CHUNK_BYTES = Option("chunk_bytes", Span(16, 227 * 1024, "bytes of shared memory of a block", step=16))
STAGES = Option("stages", Span(1, 32, "chunks in flight"))
CORE = Option("core", Span(0, 4095, "cores of a NUMA domain, by number"))
PARTNER_CORE = Option("partner_core", Span(0, 4095, "cores of a NUMA domain, by number"))
#: Whether operations are enqueued behind one another, or each is waited for before the next: then the host's
#: clock times the whole round trip.
PACE = Option("pace", words=("back-to-back", "one-at-a-time"), default="back-to-back")
#: Whether each page is written in the timed step, or was before it.
TOUCHED = Option("touched", words=("no", "yes"))
#: Whether the pool has given back what was freed to it, or keeps that for the next.
POOL = Option("pool", words=("empty", "kept"))
#: Of managed pages that an operation touches: they move, or are reached where they are.
MIGRATION = Option("migration", words=("on-demand", "off"))
#: How operations reach the device: a call each, recorded before and launched as one graph, or by the vendor's
#: batched copy call.
SUBMIT = Option("submit", words=("calls", "graph", "batch"))
