"""Environment variables by what reads them, from variables.toml beside this file. Pure.

A case may request a process environment. If nothing that the case uses reads a variable, it has no effect,
and the result would be mistaken for the effect of a setting. A file may set only listed variables: others
could make workers run the code of whoever wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from shlex import quote
from typing import Any

from byteways.base.toml_files import read_toml
from byteways.machine.model import Capabilities

#: How the version text of Open MPI begins, and what that of Cray MPICH has.
_OPEN_MPI, _CRAY = "Open MPI", "CRAY MPICH"
#: Beginning of the variables that only Cray MPICH reads (HPE, intro_mpi(3)).
_OF_CRAY = ("MPICH_GPU_", "MPICH_SMP_", "MPICH_OFI_")
#: Variables of Cray MPICH, as sites document them: without the first it knows no memory of GPUs; 0 for the
#: second stages messages between GPUs in host memory.
GPU_SUPPORT, GPU_IPC = "MPICH_GPU_SUPPORT_ENABLED", "MPICH_GPU_IPC_ENABLED"
PATH_VARIABLES = frozenset((GPU_SUPPORT, GPU_IPC))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: The beginning of a path, also of one within a list: /opt, ./own, ../own, ~/own. 10.0.0.0/8 is none.
_PATH = re.compile(r"(?:^|[:;,= ])(?:~|\.{0,2}/)")


@dataclass(frozen=True)
class Reader:
    """What reads variables: a runtime, by the name that devices report, or a library between ranks."""

    runtime: str  # empty: a library
    library: str  # "mpi" or "xccl", as interfaces between ranks name theirs; empty: a runtime
    name: str  # that users know
    variables: tuple[str, ...]  # globs
    below: tuple[str, ...]  # those of them that UCX reads, below MPI or without it
    pageable_access: Mapping[str, str]  # settings with which kernels may access plain host memory
    moves_by_touch: Mapping[str, str]  # the setting required for kernels to migrate managed pages


@cache
def _table() -> Mapping[str, Any]:
    text = (resources.files("byteways.plan") / "variables.toml").read_text(encoding="utf-8")
    return read_toml(text, file="variables.toml")


def accepted_variables() -> tuple[str, ...]:
    """Returns globs of the variables that a file may set."""
    return tuple(_table()["accepted"]["variables"])


def words_of_code() -> tuple[str, ...]:
    """Returns words of names, in capitals, with which a variable is not accepted: it names code or a file."""
    return tuple(_table()["accepted"]["words_of_code"])


def refusal(variable: str, value: str) -> str | None:
    """Returns why a file may not set a variable to a value, None if it may; completes "NAME is …"."""
    if not _NAME.fullmatch(variable):
        return "not a valid name of an environment variable"
    if not any(fnmatchcase(variable, glob) for glob in accepted_variables()):
        return "not among the variables that a file may set"
    if words := {*variable.upper().split("_")} & {*words_of_code()}:
        return f"not accepted from a file: its {min(words)} would be code or a file that somebody else chose"
    if _PATH.search(value):
        return f"not accepted from a file with a path as its value: {value[:80]!r}"
    if not value.isprintable():
        return "not accepted with control characters"
    return None


def refusal_hint(variable: str, value: str) -> str | None:
    """Returns how a user who trusts a refused setting makes it."""
    if not _NAME.fullmatch(variable):
        return None
    return f"if you trust it, set it yourself, before the command: {variable}={quote(value)} byteways run …"


@cache
def readers() -> tuple[Reader, ...]:
    """Returns the table."""
    return tuple(
        Reader(
            entry.get("runtime", ""),
            entry.get("library", ""),
            entry["name"],
            tuple(entry["variables"]),
            tuple(entry.get("below", ())),
            entry.get("pageable_access", {}),
            entry.get("moves_by_touch", {}),
        )
        for entry in _table()["reader"]
    )


def runtimes() -> tuple[str, ...]:
    """Returns the names of the runtimes that read variables."""
    return tuple(reader.runtime for reader in readers() if reader.runtime)


def reader_of(variable: str) -> Reader | None:
    """Returns what reads the variable; None if unknown or not specific to one runtime or library."""
    for reader in readers():
        if any(fnmatchcase(variable, glob) for glob in reader.variables):
            return reader
    return None


def is_read_by(variable: str, reader: Reader, libraries: Container[str]) -> bool:
    """Whether one of the libraries between ranks reads the variable, which is one of the reader's."""
    below = any(fnmatchcase(variable, glob) for glob in reader.below)
    return reader.library in libraries or (below and "ucx" in libraries)


def unread_by(version: str, environment: Mapping[str, str]) -> str:
    """Returns which variables the MPI with this version text does not read, with the reason; empty if none.

    Open MPI's own are those of no other; all others have MPICH's, and Cray MPICH some that are its own.
    """
    here = version.partition(",")[0].partition("\n")[0].strip()

    def told(beginnings: tuple[str, ...], owner: str) -> str:
        names = [name for name in sorted(environment) if name.startswith(beginnings)]
        return f"{', '.join(names)}: read by {owner}, and this is {here}" if names else ""

    if _OPEN_MPI in version:
        return told(("MPIR_", "MPICH_"), "MPICH")
    foreign = told(("OMPI_",), _OPEN_MPI)
    return foreign or ("" if is_cray_mpich(version) else told(_OF_CRAY, "Cray MPICH"))


def is_cray_mpich(version: str) -> bool:
    """Whether the MPI with this version text is Cray MPICH."""
    return _CRAY in version.upper()


def gives_pageable_access(variable: str, value: str) -> bool:
    """Whether kernels may access plain host memory with this setting, if the hardware supports it."""
    reader = reader_of(variable)
    return reader is not None and reader.pageable_access.get(variable) == value


def moves_by_touch(runtime: str) -> tuple[str, str] | None:
    """Returns the variable and value needed for kernels to migrate managed pages; None if always."""
    for reader in readers():
        if reader.runtime == runtime and reader.moves_by_touch:
            return next(iter(reader.moves_by_touch.items()))
    return None


def runtime_of(device: str, capabilities: Capabilities) -> str | None:
    """Returns the name of the runtime that drives the device; None if not probed."""
    runtime = capabilities.devices.get(device, {}).get("runtime")
    return None if runtime is None else str(runtime)
