"""Folders where vendor libraries may lie beside those that the dynamic linker knows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path


def library_directories(
    environment: Mapping[str, str] = os.environ, python_path: Iterable[str] = tuple(sys.path)
) -> list[str]:
    """Existing folders, in the order in which they are searched.

    NVIDIA's Python packages come first: they belong to the environment that runs byteways. Then the toolkit
    the user named, then those at the usual places, the newest first.
    """
    folders: list[Path] = []
    for entry in python_path:
        if entry:
            folders += sorted(Path(entry).glob("nvidia/*/lib"))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := environment.get(variable):
            folders += [Path(root) / "lib64", Path(root) / "lib"]
    toolkits = sorted(Path("/usr/local").glob("cuda*"), key=_version, reverse=True)
    folders += [toolkit / "lib64" for toolkit in toolkits]
    return list(dict.fromkeys(str(folder) for folder in folders if folder.is_dir()))


def _version(toolkit: Path) -> tuple[int, ...]:
    """(12, 8) of cuda-12.8; plain `cuda`, the one the administrator chose, counts as the newest."""
    numbers = toolkit.name.removeprefix("cuda").strip("-").split(".")
    if numbers == [""]:
        return (sys.maxsize,)
    return tuple(int(number) if number.isdigit() else 0 for number in numbers)
