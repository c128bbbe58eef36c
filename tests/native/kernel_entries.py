"""Which kernels each device source holds, by the names they are launched by."""

from __future__ import annotations

ENTRIES = {
    "interfaces/service/gate.cu": ["gate"],
    "interfaces/service/pattern.cu": ["fill", "poison", "check"],
    "interfaces/kernel_copy/kernel.cu": ["copy"],
    "interfaces/kernel_copy/bulk.cu": [
        "copy_bulk"
    ],  # empty for AMD, and for NVIDIA before compute capability 9.0
    "interfaces/pointer_chase/kernel.cu": ["chase_build", "chase"],
    "interfaces/service/occupy.cu": ["occupy"],
    "interfaces/api_overhead/kernel.cu": ["nothing"],
    "interfaces/stream/kernel.cu": ["stream_copy", "stream_scale", "stream_add", "stream_triad"],
    "interfaces/copy_2d/kernel.cu": ["copy_rows", "check_rows"],
    "interfaces/stream/pattern.cu": ["stream_fill", "stream_check"],
    "interfaces/ping_pong/kernel.cu": ["ping_pong"],
    "interfaces/service/idle.cu": ["idle"],
    "interfaces/compute/kernel.cu": ["compute"],
}
