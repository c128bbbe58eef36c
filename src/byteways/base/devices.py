"""What the name of a device says: `gpu0`, `cpu1` (a NUMA domain). Texts that begin with one are read alike:
`gpu0:device` is a place, `gpu0>gpu1` a path, `gpu*` a glob.
"""

from __future__ import annotations


def is_gpu(name: str) -> bool:
    """Whether a name is that of a GPU, or a text begins with one."""
    return name.startswith("gpu")


def is_cpu(name: str) -> bool:
    """Whether a name is that of a NUMA domain of CPUs, or a text begins with one."""
    return name.startswith("cpu")


def device_number(name: str) -> int:
    """Returns the number of a device within its kind: 3 of `gpu3` and `nic3`. Raises ValueError."""
    return int(name[3:])
