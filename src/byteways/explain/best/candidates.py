"""The usual candidates of a question, and which of them a run leaves open.

An answer is sure only if the methods were measured that most programs would choose between. A method that
this machine cannot run is no candidate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from byteways.explain.best.block_copies import OF_THE_BLOCKS
from byteways.explain.best.decisions import Decision
from byteways.explain.results.index import Index
from byteways.explain.results.summary import Result, kind_of_pair
from byteways.explain.results.variants import interface_name, issued_by
from byteways.plan.block_layout import moves_blocks
from byteways.plan.case import Buffer
from byteways.plan.interfaces import COLLECTIVES, OF_ALL
from byteways.plan.legality.rules import RULES
from byteways.plan.memory import MEMORIES, is_managed, is_plain
from byteways.plan.options import SUBMIT
from byteways.plan.question import PROCESS, Question
from byteways.plan.reasons import LIBRARY_MEMORY, UNAVAILABLE
from byteways.record.record import Record


@dataclass(frozen=True)
class Candidate:
    """An interface, with its default settings unless `options` has others, issued by either end unless
    `access` says which.
    """

    interface: str
    access: str = ""
    options: str = ""  # as in a variant: `submit=batch`

    @property
    def name(self) -> str:
        """`copy issued by the destination`, `copy-blocks (submit=batch)`, `MPI`."""
        said = f"{interface_name(self.interface)} {issued_by(self.access)}".strip()
        return f"{said} ({self.options})" if self.options else said


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
    Candidate("copy-blocks", options=f"{SUBMIT.name}=batch"),
    Candidate("kernel-blocks"),
)
_OF_BLOCKS_ON_CORES = (Candidate("memcpy-blocks"),)
#: Between ranks, messages and collectives alike.
_BETWEEN_GPU_RANKS, _BETWEEN_HOST_RANKS = (Candidate("mpi"), Candidate("xccl")), (Candidate("mpi"),)
#: Codes of reasons for which a case can never run on the machine.
IMPOSSIBLE = {*(rule.code for rule in RULES), UNAVAILABLE, LIBRARY_MEMORY}


def usual(asked: Question, kind: str) -> tuple[Candidate, ...]:
    """Returns the usual candidates of a question on pairs of this kind (selection.PAIR_KINDS)."""
    if asked.within != PROCESS or asked.pattern in COLLECTIVES:
        return _BETWEEN_GPU_RANKS if kind.startswith("gpu") and kind.endswith("gpu") else _BETWEEN_HOST_RANKS
    with_gpu = "gpu" in kind
    if asked.blocks:
        return _OF_BLOCKS if with_gpu else _OF_BLOCKS_ON_CORES
    memories = [one for one in MEMORIES if asked.memory is not None and fnmatchcase(one, asked.memory)]
    if with_gpu and memories:
        if all(map(is_managed, memories)):
            return _OF_MANAGED_MEMORY
        if all(map(is_plain, memories)):
            return _OF_PLAIN_HOST_MEMORY
    if asked.pattern != "unidirectional":
        return _ON_GPUS if with_gpu else _ON_CORES
    return _OF_ONE_FLOW[kind]


def left_open(
    index: Index, asked: Question, decision: Decision, whole: Iterable[Decision]
) -> tuple[str, ...]:
    """Returns the names of usual candidates that the run neither ranks nor shows to be impossible.

    Args:
        index: The run.
        asked: The question.
        decision: On the pairs that the question names.
        whole: On all pairs of the same kind and link class, at this size or at both sizes around it: one pair
            of a class speaks for the others.
    """
    cells = [cell for one in (decision, *whole) for cell in one.cells]
    kind = decision.place.kind
    locked = asked.memory is None and asked.within == PROCESS and "gpu" in kind
    impossible = [*_impossible(index, asked, kind)]
    return tuple(
        one.name
        for one in usual(asked, kind)
        if not _ranked(one, cells, locked)
        and not any(_is(one, record.interface, record.access, _options(record)) for record in impossible)
    )


def _ranked(one: Candidate, cells: Collection[Result], locked: bool) -> bool:
    """Whether it was ranked with its defaults; of managed pages an option says how they move.

    Args:
        one: The candidate.
        cells: The results.
        locked: Whether plain host memory does not count.
    """
    return any(
        cell.ranked
        and not (locked and (is_plain(cell.source.memory) or is_plain(cell.destination.memory)))
        and (
            _is(one, cell.record.interface, cell.record.access, cell.variant.options)
            or (cell.variant.managed and _is(one, cell.record.interface, cell.record.access, one.options))
        )
        and (cell.variant.managed or not cell.variant.environment)
        for cell in cells
    )


def _is(one: Candidate, interface: str, access: str, options: str) -> bool:
    return (interface, options) == (one.interface, one.options) and one.access in ("", access)


def _options(record: Record) -> str:
    """Returns the options of a record as a variant has them, without those that say which blocks it has."""
    left_out = {*OF_THE_BLOCKS, *OF_ALL}
    options = {name: value for name, value in record.options.items() if name not in left_out}
    return " ".join(f"{name}={value}" for name, value in sorted(options.items()))


def _impossible(index: Index, asked: Question, kind: str) -> Iterator[Record]:
    """Yields the records of cases of this kind of pair and pattern that the machine cannot run."""
    for record in index.records:
        if record.status != "skipped" or record.reason_code not in IMPOSSIBLE:
            continue
        if record.environment or not fnmatchcase(record.pattern, asked.pattern):
            continue
        if moves_blocks(record.interface) != bool(asked.blocks):
            continue
        source, destination = Buffer.parse(record.source), Buffer.parse(record.destination)
        memories = source.memory, destination.memory
        fits = asked.memory is None or any(fnmatchcase(memory, asked.memory) for memory in memories)
        usual_memory = asked.memory is not None or not any(is_managed(memory) for memory in memories)
        if fits and usual_memory and kind_of_pair(source.device, destination.device) == kind:
            yield record
