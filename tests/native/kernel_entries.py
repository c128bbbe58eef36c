"""Which kernels each device source holds, by the names they are launched by."""

from __future__ import annotations

ENTRIES = {
    "gate.cu": ["gate"],
    "pattern.cu": ["fill", "poison", "check"],
    "copy.cu": ["copy"],
    "copy_bulk.cu": ["copy_bulk"],  # empty for AMD, and for NVIDIA before compute capability 9.0
    "chase.cu": ["chase_build", "chase"],
    "occupy.cu": ["occupy"],
    "nothing.cu": ["nothing"],
    "stream.cu": ["stream_copy", "stream_scale", "stream_add", "stream_triad"],
    "rows.cu": ["copy_rows", "check_rows"],
    "stream_pattern.cu": ["stream_fill", "stream_check"],
    "ping_pong.cu": ["ping_pong"],
    "idle.cu": ["idle"],
    "compute.cu": ["compute"],
}
