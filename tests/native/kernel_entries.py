"""Which kernels each device source holds, by the names they are launched by."""

from __future__ import annotations

from byteways import _core

#: These sources are empty for AMD, and for NVIDIA before compute capability 9.0.
BULK = ("interfaces/kernel_copy/bulk.cu", "interfaces/blocks/bulk.cu")

ENTRIES: dict[str, list[str]] = {}
for _kernel, _source in _core.device_kernels().items():
    ENTRIES.setdefault(_source, []).append(_kernel)
