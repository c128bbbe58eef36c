"""Folders that may contain vendor libraries, besides those of the dynamic linker."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

#: Library folders of Python packages: NVIDIA's, those of ROCm (`rocm-sdk-core` and its libraries by GPU), and
#: UCX's (`libucx-cu13`).
_PACKAGES = ("nvidia/*/lib", "_rocm_sdk_core/lib", "_rocm_sdk_libraries*/lib", "libucx/lib")
#: Where toolkits are installed: parent folder, name before the version, subfolder of libraries.
_TOOLKITS = (("usr/local", "cuda", "lib64"), ("opt", "rocm", "lib"))


def library_directories(
    environment: Mapping[str, str] = os.environ,
    python_path: Iterable[str] = tuple(sys.path),
    root: Path = Path("/"),
) -> list[str]:
    """Returns existing folders in search order.

    The vendors' Python packages come first, as they belong to the environment that runs byteways; then the
    toolkit named by the user, toolkits at the usual places (newest first), and the libraries bundled with
    PyTorch.

    Args:
        environment: Variables of the process.
        python_path: Folders of Python packages.
        root: Root of the file system.
    """
    packages = [Path(entry) for entry in python_path]
    packages = [place for place in packages if place.is_absolute()]
    folders = [folder for place in packages for glob in _PACKAGES for folder in sorted(place.glob(glob))]
    for variable in ("CUDA_HOME", "CUDA_PATH", "ROCM_PATH", "HIP_PATH", "HPCX_UCX_DIR", "UCX_HOME"):
        if named := environment.get(variable):
            folders += [Path(named) / "lib64", Path(named) / "lib"]
    for place, name, library_folder in _TOOLKITS:
        toolkits = sorted(
            (root / place).glob(f"{name}*"), key=lambda path: _version(path, name), reverse=True
        )
        folders += [toolkit / library_folder for toolkit in toolkits]
    folders += [place / "torch" / "lib" for place in packages]
    # Skip relative paths: anybody may have put a library below the current directory.
    return list(dict.fromkeys(str(folder) for folder in folders if folder.is_absolute() and folder.is_dir()))


def _version(toolkit: Path, name: str) -> tuple[int, ...]:
    """Returns (12, 8) for cuda-12.8; plain `cuda`, the administrator's choice, counts as newest."""
    numbers = toolkit.name.removeprefix(name).strip("-").split(".")
    if numbers == [""]:
        return (sys.maxsize,)
    return tuple(int(number) if number.isdigit() else 0 for number in numbers)
