"""Which kernels each device source holds, by the names they are launched by."""

from __future__ import annotations

from byteways import _core

#: `interfaces/kernel_copy/bulk.cu` is empty for AMD, and for NVIDIA before compute capability 9.0.
ENTRIES: dict[str, list[str]] = {}
for _kernel, _source in _core.device_kernels().items():
    ENTRIES.setdefault(_source, []).append(_kernel)
