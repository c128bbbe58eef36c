"""Usable host memory: physical memory, or the control group's limit if that is lower.

MemAvailable is unsuitable: it depends on other jobs at this moment and ignores the limit.
"""

from __future__ import annotations

import os
from pathlib import Path

#: Version 1 control groups without a limit report 2^63 rounded down to a page; larger values mean no limit.
_NO_LIMIT = 1 << 60


def host_memory_bytes(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes of host memory that this process may use."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *_limits(proc, groups)])


def _limits(proc: Path, groups: Path) -> list[int]:
    """Returns the limits in bytes of the process's memory control group and its ancestors (v1 and v2)."""
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
        # In a container the path may be the host's, which is not mounted; its root is then this process's
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
