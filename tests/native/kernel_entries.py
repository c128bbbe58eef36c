"""Which kernels each device source holds, by the names they are launched by."""

from __future__ import annotations

from byteways import _core

#: These sources are empty for AMD, and for NVIDIA before compute capability 9.0.
BULK = ("interfaces/kernel_copy/bulk.cu", "interfaces/blocks/bulk.cu")

ENTRIES: dict[str, list[str]] = {}
for _kernel, _source in _core.device_kernels().items():
    ENTRIES.setdefault(_source, []).append(_kernel)

#: Sources and kernels of resident grids that end by a fence of system scope where the host asks for one.
FENCING = (
    ("kernel_copy", "copy_resident"),
    ("store", "store_resident"),
    ("stream", "stream_triad_resident"),
    ("blocks", "copy_blocks_resident"),
    ("copy_2d", "copy_2d_resident"),
    ("random_access", "random_store_8_several"),
    ("random_access", "random_update_8_several"),
    ("halo", "halo_pack"),
    ("particles", "particles_pack"),
)
