"""Where CUPTI may lie for a program: its own environment first, then that of byteways, then toolkits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

#: Below the prefix of an environment (venv, conda): wheels of NVIDIA, and packages of conda.
_BELOW_PREFIX = ("lib/python3*/site-packages/nvidia/*/lib", "lib")
#: Beside the libraries of a toolkit.
_OF_TOOLKIT = "../extras/CUPTI/lib64"
#: Versions with the records that are read, the newest first.
_NAMES = ("libcupti.so.13", "libcupti.so.12")


def cupti_files(program: Path, folders: Iterable[str], environment: Mapping[str, str]) -> list[Path]:
    """Returns files of CUPTI in the order in which they are tried.

    Args:
        program: The file that is run; that of an interpreter lies in its environment.
        folders: Of libraries, as byteways searches them.
        environment: Variables of the program.
    """
    found: dict[Path, None] = {}
    for folder in (*_of_environments(program, environment), *_with_extras(folders)):
        for name in _NAMES:
            file = folder / name
            if ":" not in str(file) and file.is_file():
                found[file.resolve()] = None
    return [*found]


def _of_environments(program: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    prefixes = [program.absolute().parent.parent]
    prefixes += [Path(value) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if (value := environment.get(name))]
    for prefix in prefixes:
        if prefix.is_absolute() and prefix != Path("/"):
            yield from (folder for glob in _BELOW_PREFIX for folder in sorted(prefix.glob(glob)))


def _with_extras(folders: Iterable[str]) -> Iterator[Path]:
    for folder in map(Path, folders):
        yield folder
        yield folder / _OF_TOOLKIT
