"""What a probe has to try before a suite can be planned (pure).

To try a GPU opens it, which takes up to a second, and to try an interface may compile its kernels. A suite
that names its GPUs, as a question between two of eight, needs neither the others nor further interfaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import MEMORIES, needs_grant
from byteways.plan.suite_types import Suite, Sweep
from byteways.plan.suite_values import BufferGlob

_GLOB = frozenset("*?[")


@dataclass(frozen=True)
class ProbeScope:
    """Names of what is tried; `gpus` is None if any GPU may be used."""

    gpus: tuple[str, ...] | None
    interfaces: tuple[str, ...]
    granted: tuple[str, ...]  # memory kinds that are opened to each GPU separately


def scope_of(suite: Suite) -> ProbeScope:
    """Returns what a suite may use on any machine."""
    words = {word for sweep in suite.sweeps for word in (*sweep.interfaces, *sweep.beside_interfaces)}
    if any(INTERFACES[word].between_ranks for word in words):  # a job of ranks asks for both libraries
        words |= {name for name, row in INTERFACES.items() if row.between_ranks}
    kinds = [kind for kind in MEMORIES if needs_grant(kind)]
    memories = {buffer.memory for sweep in suite.sweeps for buffer in _buffers(sweep)}
    granted = [kind for kind in kinds if any(fnmatchcase(kind, memory) for memory in memories)]
    named = [_named_gpus(sweep) for sweep in suite.sweeps]
    gpus = None if None in named else tuple(sorted({gpu for each in named for gpu in each or ()}))
    return ProbeScope(gpus, tuple(name for name in INTERFACES if name in words), tuple(granted))


def _buffers(sweep: Sweep) -> Iterator[BufferGlob]:
    yield from (*sweep.sources, *sweep.destinations, *sweep.second_sources)
    yield from (*sweep.beside_sources, *sweep.beside_destinations)


def _named_gpus(sweep: Sweep) -> set[str] | None:
    """Returns the GPUs that a sweep names; None if it may use others."""
    interfaces: Sequence[str] = (*sweep.interfaces, *sweep.beside_interfaces)
    if sweep.transfers or any(INTERFACES[name].between_ranks or name == "route" for name in interfaces):
        return None
    ends = [word for buffer in _buffers(sweep) for word in (buffer.device, buffer.first_touch or "")]
    devices = {*ends, *sweep.executors, *sweep.partners, sweep.beside_executor}
    if any(_GLOB & set(word) and _may_be_gpu(word) for word in devices):
        return None
    return {word for word in devices if word.startswith("gpu")}


def _may_be_gpu(glob: str) -> bool:
    return not glob.startswith("cpu")
