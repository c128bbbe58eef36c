"""Two copies of a GPU runtime in this process: neither knows the other's memory."""

from __future__ import annotations

from pathlib import Path

from byteways.cases.case import Case
from byteways.record import warnings
from byteways.record.warnings import Warning

#: Beginnings of the names of GPU runtimes that packages bring copies of: ROCm, PyTorch and AMD's wheels.
_RUNTIMES = ("libamdhip64.so",)


def mapped_files() -> str:
    """Returns /proc/self/maps."""
    return Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")


def second_runtime(case: Case, maps: str | None = None) -> list[Warning]:
    """Returns a warning if a case of a GPU ran in a process with two copies of a GPU runtime.

    Args:
        case: What was measured.
        maps: The process's mapped files; None: read them.
    """
    if not any(device.startswith("gpu") for device in case.devices):
        return []
    if maps is None:
        try:
            maps = mapped_files()
        except OSError:  # without /proc nothing is known, and no measurement is lost for it
            return []
    found = []
    for name in _RUNTIMES:
        files: dict[tuple[str, str], str] = {}  # by device and inode: a file may have several names
        for line in (line for line in maps.splitlines() if name in line):
            _, _, _, device, inode, *path = line.split(maxsplit=5)
            if path and Path(path[0]).name.startswith(name):
                files.setdefault((device, inode), path[0])
        if len(files) > 1:
            names = sorted(files.values())
            found.append(warnings.make("two-runtimes", ", ".join(names), "one file", {"files": names}))
    return found
