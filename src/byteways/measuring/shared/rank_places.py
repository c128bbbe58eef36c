"""What a rank can use where its launcher put it: the GPUs that it sees, known by UUID, and its cores."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any


def own_place(devices: Mapping[str, str], cores: Sequence[int]) -> dict[str, Any]:
    """Returns what this rank can use, as JSON data.

    Args:
        devices: UUID of each GPU that it sees, by its own name.
        cores: Its cores in the plan; empty: it shares those of others.
    """
    place: dict[str, Any] = {"gpus": dict(devices)}
    allowed = os.sched_getaffinity(0)
    try:
        if cores:
            os.sched_setaffinity(0, cores[:1])
    except OSError:
        place["allowed"] = sorted(allowed)
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, allowed)
    return place


def local_name(gpu: str, uuid: str, here: Mapping[str, str]) -> str | None:
    """Returns what a process calls a GPU of the plan; None if it does not see it.

    A launcher may show each process some GPUs only, or in another order, so that the UUID tells. Where one
    side knows none, names are taken to be equal.

    Args:
        gpu: Its name in the plan.
        uuid: Its UUID; empty: unknown.
        here: UUID of each GPU of the process, by its own name.
    """
    known = {own: name for name, own in here.items() if own}
    if uuid and known:
        return known.get(uuid)
    return gpu if gpu in here else None
