"""Architectures of GPUs by model: for sources that give the vendor's name of a GPU and nothing else.

NVIDIA: compute capability, https://developer.nvidia.com/cuda-gpus. AMD: LLVM target, ROCm's table
"Accelerator and GPU hardware specifications".
"""

from __future__ import annotations

import re

#: Model of a GPU whose source does not name it.
UNKNOWN_GPU = "unknown GPU"
_ARCHITECTURES = {
    "P100": "sm_60",
    "V100": "sm_70",
    "T4": "sm_75",
    "A100": "sm_80",
    "A800": "sm_80",
    "A30": "sm_80",
    "A40": "sm_86",
    "A10": "sm_86",
    "L4": "sm_89",
    "L40": "sm_89",
    "L40S": "sm_89",
    "H100": "sm_90",
    "H800": "sm_90",
    "H20": "sm_90",
    "H200": "sm_90",
    "GH200": "sm_90",
    "B200": "sm_100",
    "GB200": "sm_100",
    "B300": "sm_103",
    "GB300": "sm_103",
    "MI50": "gfx906",
    "MI60": "gfx906",
    "MI100": "gfx908",
    "MI210": "gfx90a",
    "MI250": "gfx90a",
    "MI250X": "gfx90a",
    "MI300A": "gfx942",
    "MI300X": "gfx942",
    "MI308X": "gfx942",
    "MI325X": "gfx942",
    "MI350X": "gfx950",
    "MI355X": "gfx950",
}


def architecture_of(model: str) -> str | None:
    """Returns `sm_90` for `NVIDIA H100 80GB HBM3`; None for a name without a model that is known."""
    found = {
        _ARCHITECTURES[word] for word in re.findall(r"[A-Z0-9]+", model.upper()) if word in _ARCHITECTURES
    }
    return found.pop() if len(found) == 1 else None
