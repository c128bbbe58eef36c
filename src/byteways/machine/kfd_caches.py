"""Discovery source: caches of an AMD GPU, from the KFD topology in Linux sysfs.

Field names and meanings are those of the kernel: drivers/gpu/drm/amd/amdkfd, kfd_topology.c and kfd_crat.h.
"""

from __future__ import annotations

from pathlib import Path

from byteways.machine.model import Cache
from byteways.machine.sysfs_cpu import read_text

#: Bits of `type` (`CRAT_CACHE_FLAGS_*` as HSA_CACHE_TYPE_*): a cache of both has both.
_DATA, _INSTRUCTION = 1, 2
_KINDS = {_DATA: "data", _INSTRUCTION: "instruction", _DATA | _INSTRUCTION: "unified"}


def read_caches(folder: Path) -> tuple[Cache, ...]:
    """Returns one cache of each level and kind, in that order; empty if this kernel lists none.

    The driver lists every cache of a GPU. `shared_by_cores` counts compute units.
    """
    found: dict[tuple[int, str], Cache] = {}
    for place in sorted(folder.glob("*"), key=lambda place: (len(place.name), place.name)):
        values = dict(
            line.strip().split(" ", 1)
            for line in (read_text(place / "properties") or "").splitlines()
            if " " in line.strip()
        )
        level, kib = _number(values.get("level")), _number(values.get("size"))
        kind = _KINDS.get(_number(values.get("type")) & (_DATA | _INSTRUCTION), "unified")
        if level and kib and (level, kind) not in found:
            line, shared = _number(values.get("cache_line_size")), _units(values.get("sibling_map", ""))
            found[level, kind] = Cache(level, kind, kib * 1024, line, shared)
    return tuple(found[key] for key in sorted(found))


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def _units(siblings: str) -> int:
    """Returns how many compute units share a cache: those marked 1 in `1,1,0,0,`; one if none is."""
    return max(1, siblings.split(",").count("1"))
