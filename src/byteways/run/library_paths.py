"""Folders where vendor libraries may lie beside those that the dynamic linker knows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

#: Library folders of Python packages: NVIDIA's, and those of ROCm (`rocm-sdk-core` and its libraries by GPU).
_PACKAGES = ("nvidia/*/lib", "_rocm_sdk_core/lib", "_rocm_sdk_libraries*/lib")
#: Where toolkits are installed: folder, name before the version, and the folder of libraries within.
_TOOLKITS = (("usr/local", "cuda", "lib64"), ("opt", "rocm", "lib"))


def library_directories(
    environment: Mapping[str, str] = os.environ,
    python_path: Iterable[str] = tuple(sys.path),
    root: Path = Path("/"),
) -> list[str]:
    """Existing folders, in the order in which they are searched.

    The vendors' Python packages come first: they belong to the environment that runs byteways. Then the
    toolkit the user named, then those at the usual places, the newest first. Last what PyTorch brings itself.

    Args:
        environment: Variables of the process.
        python_path: Folders of Python packages.
        root: Root of the file system.
    """
    packages = [Path(entry) for entry in python_path]
    packages = [place for place in packages if place.is_absolute()]
    folders = [folder for place in packages for glob in _PACKAGES for folder in sorted(place.glob(glob))]
    for variable in ("CUDA_HOME", "CUDA_PATH", "ROCM_PATH", "HIP_PATH"):
        if named := environment.get(variable):
            folders += [Path(named) / "lib64", Path(named) / "lib"]
    for place, name, library_folder in _TOOLKITS:
        toolkits = sorted(
            (root / place).glob(f"{name}*"), key=lambda path: _version(path, name), reverse=True
        )
        folders += [toolkit / library_folder for toolkit in toolkits]
    folders += [place / "torch" / "lib" for place in packages]
    # What is relative lies below the current directory, where anybody may have put a library.
    return list(dict.fromkeys(str(folder) for folder in folders if folder.is_absolute() and folder.is_dir()))


def _version(toolkit: Path, name: str) -> tuple[int, ...]:
    """(12, 8) of cuda-12.8; plain `cuda`, the one the administrator chose, counts as the newest."""
    numbers = toolkit.name.removeprefix(name).strip("-").split(".")
    if numbers == [""]:
        return (sys.maxsize,)
    return tuple(int(number) if number.isdigit() else 0 for number in numbers)
