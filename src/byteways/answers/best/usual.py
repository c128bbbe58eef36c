"""The usual candidates of a question: the methods and kinds of memory that most programs choose between.

Two things follow from the tables: which methods must be measured before an answer is sure (candidates.py),
and which of several methods that tie is named (ranking.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from byteways.answers.results.summary import Result
from byteways.answers.results.variants import Variant, interface_name, issued_by
from byteways.cases.block_layout import moves_blocks
from byteways.cases.interfaces import COLLECTIVES
from byteways.cases.memory import is_managed, is_plain
from byteways.cases.option_set import NO_OPTIONS, OptionSet
from byteways.cases.options import SUBMIT


@dataclass(frozen=True)
class Candidate:
    """An interface, with its default settings unless `options` has others, issued by either end unless
    `access` says which.
    """

    interface: str
    access: str = ""
    options: OptionSet = NO_OPTIONS  # as in a variant

    @property
    def name(self) -> str:
        """`copy issued by the destination`, `copy-blocks (submit=batch)`, `MPI`."""
        said = f"{interface_name(self.interface)} {issued_by(self.access)}".strip()
        return f"{said} ({self.options})" if self.options else said

    def matches(self, interface: str, access: str, options: OptionSet) -> bool:
        return (interface, options) == (self.interface, self.options) and self.access in ("", access)


_COPIES, _KERNELS = Candidate("copy"), Candidate("kernel")
_ON_GPUS = (_COPIES, _KERNELS)
_BY_EITHER_END = tuple(
    Candidate(interface, access) for interface in ("copy", "kernel") for access in ("write", "read")
)
_ON_CORES = tuple(map(Candidate, ("memcpy", "memcpy-mt", "memcpy-stream")))
#: By kind of pair, of one flow within a process. Device memory, page-locked host memory.
_OF_ONE_FLOW: Mapping[str, tuple[Candidate, ...]] = {
    "gpu-gpu": _BY_EITHER_END,
    **dict.fromkeys(("cpu-gpu", "gpu-cpu", "gpu"), _ON_GPUS),
    **dict.fromkeys(("cpu", "cpu-cpu"), _ON_CORES),
}
#: Kernels cannot reach plain host memory on most machines.
_OF_PLAIN_HOST_MEMORY = (_COPIES,)
#: Managed pages are prefetched, or migrate as a kernel touches them.
_OF_MANAGED_MEMORY = (Candidate("prefetch"), _KERNELS)
#: Of scattered blocks: a call for each, one for all, and a kernel that reads the list.
_OF_BLOCKS = (
    Candidate("copy-blocks"),
    Candidate("copy-blocks", options=OptionSet({SUBMIT.name: "batch"})),
    Candidate("kernel-blocks"),
)
#: A batched call needs memory that stays locked, and kernels cannot reach plain host memory on most machines.
_OF_MANAGED_BLOCKS, _OF_PLAIN_BLOCKS = (_OF_BLOCKS[0], _OF_BLOCKS[2]), _OF_BLOCKS[:1]
_OF_BLOCKS_ON_CORES = (Candidate("memcpy-blocks"),)
#: Between ranks, messages and collectives alike.
_BETWEEN_GPU_RANKS, _BETWEEN_HOST_RANKS = (Candidate("mpi"), Candidate("xccl")), (Candidate("mpi"),)


def usual_candidates(
    kind: str, pattern: str, *, in_process: bool, blocks: bool, memories: Collection[str] = ()
) -> tuple[Candidate, ...]:
    """Returns the usual candidates, the most usual one first.

    Args:
        kind: Of the pairs (selection.PAIR_KINDS).
        pattern: Of the transfers.
        in_process: Whether they stay within a process.
        blocks: Whether scattered blocks are copied.
        memories: The kinds of memory that an end must have; empty: any.
    """
    if not in_process or pattern in COLLECTIVES:
        return _BETWEEN_GPU_RANKS if kind.startswith("gpu") and kind.endswith("gpu") else _BETWEEN_HOST_RANKS
    with_gpu = "gpu" in kind
    if with_gpu and memories:
        if all(map(is_managed, memories)):
            return _OF_MANAGED_BLOCKS if blocks else _OF_MANAGED_MEMORY
        if all(map(is_plain, memories)):
            return _OF_PLAIN_BLOCKS if blocks else _OF_PLAIN_HOST_MEMORY
    if blocks:
        return _OF_BLOCKS if with_gpu else _OF_BLOCKS_ON_CORES
    if pattern != "unidirectional":
        return _ON_GPUS if with_gpu else _ON_CORES
    return _OF_ONE_FLOW[kind]


def unusual_ends(variant: Variant, kind: str) -> int:
    """Returns at how many ends the memory is not what programs have by default."""
    usual = {"device", "pinned" if "gpu" in kind else "pageable"}
    return sum(memory not in usual for memory in (variant.source, variant.destination))


def how_unusual(variant: Variant, cell: Result) -> tuple[int, int, bool]:
    """Returns a key that is the least for the method and memory that most programs have.

    Args:
        variant: The method.
        cell: One of its results.
    """
    record = cell.record
    candidates = usual_candidates(
        cell.kind,
        record.pattern,
        in_process=cell.within_a_process,
        blocks=moves_blocks(record.interface),
        memories=[memory for memory in (variant.source, variant.destination) if is_managed(memory)],
    )
    place = next(
        (
            number
            for number, one in enumerate(candidates)
            if one.matches(variant.interface, variant.access, variant.options)
        ),
        len(candidates),
    )
    return unusual_ends(variant, cell.kind), place, bool(variant.options or variant.environment)
