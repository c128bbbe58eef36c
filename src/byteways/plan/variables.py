"""Environment variables that runtimes read, by what reads them: variables.toml beside this file. Pure.

A case may ask for a process environment. A variable that no runtime of the case reads changes nothing, and
its figures would be taken for those of a setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

from byteways.plan.toml_files import read_toml
from byteways.topology.model import Capabilities


@dataclass(frozen=True)
class Reader:
    """What reads some variables: a runtime, by the name that devices give it, and by the name users know."""

    runtime: str
    name: str
    variables: tuple[str, ...]  # globs
    pageable_access: Mapping[str, str]  # settings by which kernels may come to touch plain host memory
    moves_by_touch: Mapping[str, str]  # the setting without which kernels move no managed page


@cache
def readers() -> tuple[Reader, ...]:
    """The table."""
    text = (resources.files("byteways.plan") / "variables.toml").read_text(encoding="utf-8")
    return tuple(
        Reader(
            entry["runtime"],
            entry["name"],
            tuple(entry["variables"]),
            entry.get("pageable_access", {}),
            entry.get("moves_by_touch", {}),
        )
        for entry in read_toml(text, file="variables.toml")["reader"]
    )


def reader_of(variable: str) -> Reader | None:
    """What reads the variable; None when that is not known, or not one runtime's affair."""
    for reader in readers():
        if any(fnmatchcase(variable, glob) for glob in reader.variables):
            return reader
    return None


def gives_pageable_access(variable: str, value: str) -> bool:
    """Whether kernels may touch plain host memory in processes with this setting, if the hardware can."""
    reader = reader_of(variable)
    return reader is not None and reader.pageable_access.get(variable) == value


def moves_by_touch(runtime: str) -> tuple[str, str] | None:
    """Variable and value without which kernels of this runtime move no managed page; None: they always do."""
    for reader in readers():
        if reader.runtime == runtime and reader.moves_by_touch:
            return next(iter(reader.moves_by_touch.items()))
    return None


def runtime_of(device: str, capabilities: Capabilities) -> str | None:
    """Name of the runtime that drives the device; None when the probe does not say."""
    runtime = capabilities.devices.get(device, {}).get("runtime")
    return None if runtime is None else str(runtime)
