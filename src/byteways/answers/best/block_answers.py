"""Answers "which method for N scattered blocks of S bytes from here to there?" from the results of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from byteways.answers.best.answers import Answer, answers, doubts_of, pairs_in_words
from byteways.answers.best.block_copies import BlockDecision, BlockGrid, block_grids, mixed_decisions
from byteways.answers.best.candidates import left_open
from byteways.answers.best.decisions import Constraints, Decision, Place
from byteways.answers.best.load import LoadAnswer, load_answer
from byteways.answers.best.methods import method
from byteways.answers.best.no_answer import NoAnswer, joining, measure_now, not_ranked
from byteways.answers.best.placement import Placement
from byteways.answers.best.ranking import Ranking
from byteways.answers.claims.phrases import rate, time_of_one
from byteways.answers.claims.wording import difference_text
from byteways.answers.results.index import Index
from byteways.answers.results.selection import by_nearest
from byteways.answers.results.summary import RecordedRun, Result, ResultGroup
from byteways.base.errors import BytewaysError
from byteways.base.units import format_size, short_time
from byteways.cases.block_list import BlockList, MixedBlocks
from byteways.cases.question import Question, is_host
from byteways.record.simulation_mark import mark_of


@dataclass(frozen=True)
class CandidateRow:
    """A method of a block copy beside the best one, in words."""

    method: str
    time: str
    rate: str
    call: str
    beside: str  # compared to best


def all_answers(
    run: RecordedRun, asked: Question, name: str = "RUN"
) -> Sequence[Answer | NoAnswer | Placement | LoadAnswer]:
    """Returns the answers to any question. Arguments and errors as of answers()."""
    index = Index.of(run)
    if asked.load:
        return [load_answer(index, asked, name)]
    return block_answers(index, asked, name) if asked.blocks else answers(index, asked, name)


def block_answers(index: Index, asked: Question, name: str = "RUN") -> list[Answer | NoAnswer]:
    """Returns the best method for each kind of pair and class of links that the question covers.

    Raises:
        BytewaysError: A device is unknown or ambiguous, or no block copies were measured there, or none near
            these blocks.
    """
    assert asked.blocks is not None
    if isinstance(asked.blocks, MixedBlocks):
        return _mixed_answers(index, asked, asked.blocks)
    grids = block_grids(index, _constraints(asked))
    accepts = _accepts(index, asked)
    for job, whole in grids.items():
        if not job.is_usual:
            continue
        found = whole.part(accepts)
        if not found.places:
            break
        known = {place: one for place in found.places if (one := found.at(place, asked.blocks))}
        if not known:
            raise _other_blocks(index, asked, found, name)
        return [
            _answer(
                index,
                asked,
                one,
                [found.exactly(place, blocks) for blocks in one.around],
                _all_pairs(whole, place, one),
            )
            for place, one in known.items()
            if place.cold or replace(place, cold=True) not in known
        ]
    layouts = ", ".join(str(job) for job in grids if not job.is_usual)
    raise BytewaysError(
        f"the run has no copies of scattered blocks {asked.between}",
        cause=f"{index.voice.measured} are blocks {layouts}" if layouts else None,
        hint=f"byteways run blocks; or {measure_now(index, asked)}",
    )


def _constraints(asked: Question) -> Constraints:
    return Constraints(asked.pattern, asked.within, asked.memory, blocks=True)


def _accepts(index: Index, asked: Question) -> Callable[[Result], bool]:
    """Returns whether a result is on a path that the question means."""
    joins = joining(index, asked)
    near = is_host(asked.source) or is_host(asked.destination)
    return lambda cell: joins(cell.record) and (not near or by_nearest(cell, index.topology))


def _mixed_answers(index: Index, asked: Question, blocks: MixedBlocks) -> list[Answer | NoAnswer]:
    """Returns the answers for blocks of several sizes, which are not interpolated."""
    whole = mixed_decisions(index, _constraints(asked), blocks)
    found = whole.part(_accepts(index, asked))
    known = {place: one for place in found.places if (one := found.at(place, blocks.size_bytes))}
    if not known:
        raise BytewaysError(
            f"the run has no copies of {blocks} {asked.between}",
            cause="the time of blocks of several sizes does not follow from those of one size",
            hint=measure_now(index, asked),
        )
    pairs = {place: whole.at(place, blocks.size_bytes) for place in known}
    return [
        _answer(index, asked, BlockDecision(one), [], [*filter(None, [pairs[place]])])
        for place, one in known.items()
        if place.cold or replace(place, cold=True) not in known
    ]


def _answer(
    index: Index,
    asked: Question,
    one: BlockDecision,
    sides: Sequence[Decision | None],
    others: Sequence[Decision],
) -> Answer | NoAnswer:
    """Returns the answer of a decision.

    Args:
        index: The run.
        asked: The question.
        one: The decision.
        sides: Those on measured blocks that it is interpolated between.
        others: Those on all pairs of the class.
    """
    decision = one.decision
    pairs, ranking = pairs_in_words(decision), decision.ranking
    if ranking is None:
        return not_ranked(index, asked, pairs, decision.cells)
    ranking = replace(ranking, default=None)  # a batched call is no setting but another call
    missing = left_open(index, asked, decision, [*others, *filter(None, sides)])
    doubts = [
        *doubts_of(index.voice, ranking, sides, alone=not (ranking.rivals or missing)),
        *([f"beyond the {one.beyond:,} blocks that were {index.voice.measured}"] if one.beyond else []),
    ]
    return Answer(
        asked,
        pairs,
        ranking,
        mark_of(index.manifest),
        method(ranking.group.cells, index.topology),
        missing,
        doubts=tuple(doubts),
        around=one.around,
        call_ns=call_ns(ranking.group),
    )


def _all_pairs(whole: BlockGrid, place: Place, one: BlockDecision) -> list[Decision]:
    """Returns the decisions on all pairs of the class, for the same blocks or those around them."""
    asked = one.around or tuple(
        blocks
        for blocks in whole.measured(place)
        if blocks.size_bytes == one.decision.size_bytes or blocks.count == one.beyond
    )
    return [known for blocks in asked if (known := whole.exactly(place, blocks))]


def call_ns(group: ResultGroup) -> float | None:
    """Returns the median time in ns until the call of one operation returns; None if it was not recorded.

    A call that does all of the work itself has the time of the host alone. Cores call nobody.
    """
    records = [record for cell in group.cells for record in cell.records if record.executor.startswith("gpu")]
    times = [time for record in records if (time := record.submit_ns or record.host_ns)]
    return median(times) if times else None


def candidate_rows(ranking: Ranking) -> list[CandidateRow]:
    """Returns a row for each method, the best first: its time, rate and call, and compared to best."""
    rivals = [(one.variant, one.group, difference_text(one.claim)) for one in ranking.rivals]
    return [
        CandidateRow(
            variant.name,
            time_of_one(group),
            f"{rate(group)} GB/s",
            short_time(call) if (call := call_ns(group)) else "",
            beside,
        )
        for variant, group, beside in ((ranking.variant, ranking.group, "best"), *rivals)
    ]


def _other_blocks(index: Index, asked: Question, found: BlockGrid, name: str) -> BytewaysError:
    """Returns the error for blocks that are not between measured ones, with those that are."""
    measured = {blocks for place in found.places for blocks in found.measured(place)}
    sizes = sorted({blocks.block_bytes for blocks in measured})
    counts = sorted({blocks.count for blocks in measured})
    wanted = asked.blocks.block_bytes if isinstance(asked.blocks, BlockList) else 0
    nearest = min(measured, key=lambda one: (abs(one.block_bytes - wanted), -one.count))
    known = f"{index.voice.measured}: {counts[0]:,} to {counts[-1]:,} blocks of {format_size(sizes[0])}"
    return BytewaysError(
        f"the run has no copies of {asked.blocks} {asked.between}, nor of blocks around them",
        cause=f"{known} to {format_size(sizes[-1])}",
        hint=f"nearest: {replace(asked, blocks=nearest).command(name)}; or {measure_now(index, asked)}",
    )
