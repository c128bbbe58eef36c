"""What the options that are numbers may be: from, to, multiples of what, and why no more. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Threads of a block that every GPU here takes: CUDA C++ Programming Guide, technical specifications per
#: compute capability; maxThreadsPerBlock of HIP's gfx9.
MOST_BLOCK_THREADS = 1024
#: Of a team on a CPU (native/movers/kernel_copy.cpp).
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


#: Most are limits of vendors' calls, some our own: beyond them nothing sensible is measured.
SPANS: Mapping[str, Span] = {
    "batch": Span(1, 2**20, "operations in one sample"),
    "blocks": Span(1, 2**31 - 1, "blocks in one launch"),  # gridDim.x of CUDA and HIP
    "threads": Span(1, MOST_TEAM_THREADS, "threads of a CPU team; fewer in a GPU block"),
    "stream": Span(0, 1023, "number of a queue"),
    "copy_engine": Span(0, 31, "vendor's number of a copy engine"),  # bits of hsa_amd_sdma_engine_id_t
    "pause_ns": Span(0, 10**9, "one second"),
    "width_bytes": Span(8, 2**31 - 1, "width of a row in bytes"),
    # The largest pitch of drivers: CU_DEVICE_ATTRIBUTE_MAX_PITCH, hipDeviceAttributeMaxPitch.
    "pitch_bytes": Span(8, 2**31 - 1, "largest pitch of drivers, in bytes"),
    "relays": Span(0, 63, "GPUs that are not an end of the transfer"),
    "piece_bytes": Span(4096, 2**40, "size of a piece in bytes", step=4096),  # whole pages
    "depth": Span(1, 64, "pieces in flight, one stream each"),
    # Of the largest GPU (compute capability 9.0); 16 and 32 are of native/movers/kernel_copy.cpp.
    "chunk_bytes": Span(16, 227 * 1024, "bytes of shared memory of a block", step=16),
    "stages": Span(1, 32, "chunks in flight"),
    "core": Span(0, 4095, "cores of a NUMA domain, by number"),
    "partner_core": Span(0, 4095, "cores of a NUMA domain, by number"),
}
