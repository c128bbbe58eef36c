"""The libraries that a run used, as its manifest lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: Libraries that carry messages and collectives between ranks, as manifests and as people name them.
RANK_LIBRARIES = {"mpi": "MPI", "ucx": "UCX", "nccl": "NCCL", "rccl": "RCCL"}


def uses(library: str, libraries: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a manifest's list has a library that could be used."""
    return any(one.get("library") == library and one.get("usable") for one in libraries)


def version_of(library: str, libraries: Iterable[Mapping[str, Any]]) -> str | None:
    """Returns the version of a library in a manifest's list; None if the run did not use or record it."""
    usable = (one for one in libraries if uses(library, (one,)))
    return next((str(one["version"]) for one in usable if one.get("version")), None)
