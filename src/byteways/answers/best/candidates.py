"""The usual candidates of a question, and which of them a run leaves open.

An answer is sure only if the methods were measured that most programs would choose between. A method that
this machine cannot run is no candidate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase

from byteways.answers.best.block_copies import OF_THE_BLOCKS
from byteways.answers.best.decisions import Decision
from byteways.answers.best.usual import Candidate, usual_candidates
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result, kind_of_pair
from byteways.cases.block_layout import moves_blocks
from byteways.cases.case import Buffer
from byteways.cases.interfaces import OF_ALL
from byteways.cases.memory import MEMORIES, is_managed, is_plain
from byteways.cases.option_set import OptionSet
from byteways.cases.question import PROCESS, Question
from byteways.cases.reasons import LIBRARY_MEMORY, UNAVAILABLE
from byteways.plan.legality.rules import RULES
from byteways.record.record import Record

#: Codes of reasons for which a case can never run on the machine.
IMPOSSIBLE = {*(rule.code for rule in RULES), UNAVAILABLE, LIBRARY_MEMORY}


def usual(asked: Question, kind: str) -> tuple[Candidate, ...]:
    """Returns the usual candidates of a question on pairs of this kind (selection.PAIR_KINDS)."""
    return usual_candidates(
        kind,
        asked.pattern,
        in_process=asked.within == PROCESS,
        blocks=asked.blocks is not None,
        memories=[one for one in MEMORIES if asked.memory is not None and fnmatchcase(one, asked.memory)],
    )


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
        and not any(one.matches(record.interface, record.access, _options(record)) for record in impossible)
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
            one.matches(cell.record.interface, cell.record.access, cell.variant.options)
            or (cell.variant.managed and one.matches(cell.record.interface, cell.record.access, one.options))
        )
        and (cell.variant.managed or not cell.variant.environment)
        for cell in cells
    )


def _options(record: Record) -> OptionSet:
    """Returns the options of a record as a variant has them, without those that say which blocks it has."""
    return OptionSet(record.options).without(*OF_THE_BLOCKS, *OF_ALL)


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
