"""How much host memory may be used: physical memory, or the control group's limit when that is less.

MemAvailable is no answer: it counts what other jobs leave at this moment and knows nothing of the limit.
"""

from __future__ import annotations

import os
from pathlib import Path

#: A version 1 group without a limit says 2^63 rounded down to a page; anything near it is none.
_NO_LIMIT = 1 << 60


def host_memory_bytes(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes of host memory that this process may use."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *_limits(proc, groups)])


def _limits(proc: Path, groups: Path) -> list[int]:
    """Limits of the process's own memory control group and all above it, of either version."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    limits: list[int] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = groups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        folder = root / path.lstrip("/")
        # In a container the path may be the host's, which is not mounted here: the root then is the own
        # group.
        for place in (folder, *folder.parents):
            limits += _limit(place / name)
            if place == root:
                break
    return limits


def _limit(file: Path) -> list[int]:
    try:
        text = file.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdigit() and int(text) < _NO_LIMIT else []
