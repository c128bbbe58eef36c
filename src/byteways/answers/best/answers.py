"""Answers "which method for this size from here to there?" from the results of a run.

The alternatives are ranked by compare.py, separately for each kind of pair and class of links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from byteways.answers.best.candidates import left_open
from byteways.answers.best.decisions import Constraints, Decision, Decisions, Place, decisions
from byteways.answers.best.interpolation import interpolated, neighbours
from byteways.answers.best.methods import method
from byteways.answers.best.no_answer import NoAnswer, joining, no_results, not_ranked, other_sizes
from byteways.answers.best.placement import Placement, placements
from byteways.answers.best.ranking import Ranking, Rival, rank
from byteways.answers.best.wording_answers import (
    ASSUMED,
    answer,
    certainty,
    doubt,
    doubts_of_data,
    many_at_once,
    next_best,
    own_kernels,
)
from byteways.answers.claims.claim import Claim, Operand, operand
from byteways.answers.claims.phrases import times_of
from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, by_nearest, label_order
from byteways.answers.results.summary import RecordedRun, ResultGroup
from byteways.base.units import format_size, short_time
from byteways.cases.block_list import BlockList, MixedBlocks, ranges
from byteways.cases.case import Case, PlannedCase
from byteways.cases.option_set import OptionSet
from byteways.cases.question import Question, is_host
from byteways.record.simulation_mark import MEASURED, SIMULATED, Voice, mark_of

#: Sizes of a collective in blocks are rounded down to a multiple of the ranks, by this share at most.
ROUNDED = 0.01


@dataclass(frozen=True, repr=False)
class Answer:
    """The best method between devices of one kind and link class, and its comparison with the others."""

    question: Question
    between: str  # `gpu0>gpu1`, or `Between GPUs, NVLink4 ×18, 12 paths`
    ranking: Ranking
    simulated: str  # the mark of a simulated run; '' if measured
    method: str  # as a programmer writes it: `cudaMemcpyAsync in a stream of gpu0 (copy, …)`
    not_measured: tuple[str, ...] = ()  # usual candidates that the run leaves open
    many: Ranking | None = None  # of the methods that submit many transfers together
    own: Ranking | None = None  # of byteways' own kernels, which a program cannot call
    interpolated: tuple[int, int] | None = None  # the measured sizes in bytes around the one asked for
    doubts: tuple[str, ...] = ()  # why the best is not sure to be the best of what was measured
    around: tuple[BlockList, ...] = ()  # of scattered blocks: what it is interpolated between
    call_ns: float | None = None  # of scattered blocks: the time of the call, with the lists that it needs

    @property
    def interface(self) -> str:
        return self.ranking.variant.interface

    @property
    def way(self) -> str:
        """The interface with its settings: `copy issued by the source`."""
        return self.ranking.variant.name

    @property
    def options(self) -> OptionSet:
        return self.ranking.variant.options

    @property
    def environment(self) -> OptionSet:
        """Variables that the method needs: `HSA_ENABLE_SDMA=0`."""
        return self.ranking.variant.environment

    @property
    def bandwidth_bytes_per_s(self) -> float:
        return self.ranking.group.value

    @property
    def interval(self) -> tuple[float, float]:
        """The repeatability interval of the bandwidth, in bytes/s."""
        return self.ranking.group.low, self.ranking.group.high

    @property
    def sure(self) -> bool:
        """Whether the usual candidates were measured, and it leads every other interface by a significant
        difference, without data warnings; nothing that cannot be ranked was faster, and no parameter of a
        model is assumed.
        """
        return not self.doubts and not self.not_measured

    @property
    def doubt(self) -> str:
        """Why it is not sure to be the best of what was measured; '' if it is."""
        return "; ".join(self.doubts)

    @property
    def runner_up(self) -> Operand | None:
        """The next best interface; without any other, the next best settings."""
        return _operand(next_best(self.ranking))

    @property
    def default(self) -> Operand | None:
        """The best without settings, where the best of all needs settings."""
        return _operand(self.ranking.default)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The comparison with each alternative, by descending bandwidth of the alternative."""
        return tuple(one.claim for one in self.ranking.rivals)

    def __str__(self) -> str:
        """One line: `gpu0>gpu1, 1 MiB: cudaMemcpyAsync in … (copy, …), 204 GB/s …; sure`."""
        record = self.ranking.group.cells[0].record
        asked = self.question
        plain = asked.pattern == "unidirectional" or asked.is_collective
        pattern = "" if plain else f"{asked.pattern}, "
        warm = ", warm caches" if record.cache == "warm" and not asked.is_collective else ""
        size = str(asked.blocks or format_size(asked.size_bytes))
        where = f"{pattern}{self.between}, {size}{warm}"
        parts = [
            f"{where}: {answer(self.ranking, self.method)}",
            many_at_once(self.many, self.ranking.group),
            own_kernels(self.own),
        ]
        if self.interpolated:
            low, high = map(format_size, self.interpolated)
            parts.append(f"interpolated in time between {low} and {high}")
        if self.call_ns:
            parts.append(f"its call takes {short_time(self.call_ns)}")
        if self.around:
            parts.append(f"interpolated in time between {ranges(self.around)}")
        voice = SIMULATED if self.simulated else MEASURED
        parts.append(certainty(self.doubts, self.not_measured, voice))
        return "; ".join(filter(None, parts))

    def __repr__(self) -> str:
        """What a prompt shows: the line, after the mark of a simulated run. The fields hold whole records."""
        return f"<byteways answer: {self}{f'; {self.simulated}' if self.simulated else ''}>"

    def _repr_html_(self) -> str:
        from html import escape

        mark = f"<strong>{escape(self.simulated)}</strong><br>" if self.simulated else ""
        return f"<p>{mark}{escape(str(self))}</p>"

    def to_json(self) -> dict[str, Any]:
        """Returns plain data in base units, with the claims."""
        same = self.ranking.variant
        runner_up, default = self.runner_up, self.default
        return {
            "between": self.between,
            "paths": sorted({cell.record.path for cell in self.ranking.group.cells}, key=label_order),
            "pattern": self.question.pattern,
            "within": self.question.within,
            "size_bytes": self.question.size_bytes,
            "method": self.method,
            "way": self.way,
            "interface": same.interface,
            "access": same.access,
            "source_memory": same.source,
            "destination_memory": same.destination,
            "cache": same.cache,
            "options": same.options.text(),
            "environment": same.environment.text(),
            **_speed(self.ranking.group),
            "interpolated": [*self.interpolated] if self.interpolated else None,
            "sure": self.sure,
            "doubt": self.doubt or None,
            "not_measured": [*self.not_measured],
            **self._of_blocks(),
            "runner_up": asdict(runner_up) if runner_up else None,
            "default": asdict(default) if default else None,
            "many_at_once": _of_ranking(self.many),
            "own_kernels": _of_ranking(self.own),
            "claims": [claim.to_json() for claim in self.claims],
            "simulated": bool(self.simulated),
            "sentence": str(self),
        }

    def _of_blocks(self) -> dict[str, Any]:
        """Returns what an answer on scattered blocks has besides."""
        if self.question.blocks is None:
            return {}
        return {
            "blocks": _block_list(self.question.blocks),
            "around": [*map(_block_list, self.around)],
            "call_ns": self.call_ns,
        }


def _block_list(blocks: BlockList | MixedBlocks) -> dict[str, Any]:
    if isinstance(blocks, MixedBlocks):
        sizes = [{"count": count, "block_bytes": size} for count, size in blocks.sizes]
        return {"count": blocks.count, "sizes": sizes}
    return {"count": blocks.count, "block_bytes": blocks.block_bytes}


def _speed(group: ResultGroup) -> dict[str, Any]:
    times = times_of(group)
    return {
        "time_ns": median(one.value for one in times) if times else None,
        "bandwidth_bytes_per_s": group.value,
        "bandwidth_bytes_per_s_interval": [group.low, group.high],
    }


def _of_ranking(ranking: Ranking | None) -> dict[str, Any] | None:
    if ranking is None:
        return None
    return {"way": ranking.variant.name, "options": ranking.variant.options.text(), **_speed(ranking.group)}


def answers(run: RecordedRun, asked: Question, name: str = "RUN") -> list[Answer | NoAnswer | Placement]:
    """Returns the best method for each kind of pair and class of links that the question covers.

    Where it names several NUMA domains, a comparison of them follows.

    Args:
        run: The results.
        asked: The question.
        name: The run's folder as the user writes it, for hints.

    Raises:
        BytewaysError: A device is unknown or ambiguous; nothing was measured between these devices, or
            neither they nor others over links of the same class at this size or at sizes around it.
    """
    index = Index.of(run)
    whole = decisions(index, Constraints(asked.pattern, asked.within, asked.memory))
    found = _asked_for(index, asked, whole)
    if not found.places:
        raise no_results(index, asked, name)
    known = {place: one for place in found.places if (one := _decision(found, place, asked))}
    stand_in = not known
    if stand_in:  # pairs of the same kind and class of links that were measured at this size
        known = {place: one for place in found.places if (one := _decision(whole, place, asked))}
    if not known:
        sizes = {size for place in found.places for size in found.sizes(place)}
        raise other_sizes(index, asked, sizes, name)
    decided = [one for place, one in known.items() if place.cold or replace(place, cold=True) not in known]
    if stand_in:
        return [_of_other_pairs(_answer(index, asked, whole, whole, decision)) for decision in decided]
    answered = [_answer(index, asked, found, whole, decision) for decision in decided]
    return [*answered, *placements(index, asked, decided)]


def _of_other_pairs(known: Answer | NoAnswer) -> Answer | NoAnswer:
    """Returns the answer of other pairs as one for those that the question names."""
    if isinstance(known, NoAnswer):
        return known
    named = f"{known.question.source}>{known.question.destination}"
    voice = SIMULATED if known.simulated else MEASURED
    why = f"{voice.measured} on {known.between}, over links of the same class"
    return replace(known, between=named, doubts=(why, *known.doubts))


def _asked_for(index: Index, asked: Question, whole: Decisions) -> Decisions:
    """Returns the decisions on the pairs that the question names, of a host by its nearest domain."""
    if asked.is_collective and not asked.source:
        return whole
    joins = joining(index, asked)
    near = is_host(asked.source) or is_host(asked.destination)
    return whole.part(lambda cell: joins(cell.record) and (not near or by_nearest(cell, index.topology)))


def _decision(found: Decisions, place: Place, asked: Question) -> Decision | None:
    """Returns the decision at the size asked for: measured, or interpolated between measured sizes."""
    for size in found.sizes(place):
        near = place.ranks and asked.size_bytes * (1 - ROUNDED) < size < asked.size_bytes
        if (size == asked.size_bytes or near) and (decision := found.at(place, size)):
            return decision
    return interpolated(found, place, asked.size_bytes)


def _answer(
    index: Index, asked: Question, found: Decisions, whole: Decisions, decision: Decision
) -> Answer | NoAnswer:
    pairs, ranking = pairs_in_words(decision), decision.ranking
    if ranking is None:
        return not_ranked(index, asked, pairs, decision.cells)
    same = whole.at(decision.place, decision.size_bytes)
    between = neighbours(decision) if any(cell.between for cell in decision.cells) else None
    around = [whole.at(decision.place, size) for size in between or ()]
    missing = left_open(index, asked, decision, [one for one in (same, *around) if one])
    sides = [found.at(decision.place, size) for size in between or ()]
    return Answer(
        asked,
        pairs,
        ranking,
        mark_of(index.manifest),
        method(ranking.group.cells, index.topology),
        missing,
        decision.many,
        rank(decision.own),
        between,
        tuple(doubts_of(index.voice, ranking, sides, alone=not (ranking.rivals or missing))),
    )


def doubts_of(
    voice: Voice, ranking: Ranking, around: Iterable[Decision | None], *, alone: bool
) -> Iterator[str]:
    """Yields why the best is not sure to be the best of what was measured.

    Args:
        voice: What the answer says of measuring.
        ranking: Its best is the answer.
        around: The decisions at the sizes between which it is interpolated.
        alone: Whether no other method is known that could be better.
    """
    compared = ranking.rivals or ranking.unranked or ranking.elsewhere or alone
    if why := doubt(ranking, voice) if compared else doubts_of_data(ranking):
        yield why
    if any(one and one.ranking and one.variant.interface != ranking.variant.interface for one in around):
        yield "another method is best at one of these sizes"
    rivals = [ranking.group, *(one.group for one in ranking.rivals[:1])]
    if any("assumed" in cell.rests_on for group in rivals for cell in group.cells):
        yield ASSUMED


def left_out(run: RecordedRun, planned: Iterable[PlannedCase]) -> list[str]:
    """Returns the ways of a plan that lack rounds for want of time: `copy (submit=batch)`, once each.

    Args:
        run: What was measured of the plan.
        planned: All cases and rounds, also those that were planned out of the time.
    """
    tried = {(one.case_id, one.round) for one in run.records if one.display_status != "left out"}
    able = (one for one in planned if one.reason is None or one.spare)
    missing = (one.case for one in able if one.key not in tried)
    return list(dict.fromkeys(map(_setting, missing)))


def _setting(case: Case) -> str:
    """`copy with pageable memory (submit=batch)`, `memcpy`."""
    ends = case.flows[0].source.memory, case.flows[0].destination.memory
    memory = " > ".join(dict.fromkeys(one for one in ends if one != "device"))
    told = [f"{name}={value}" for name, value in (*case.options.items(), *case.environment.items())]
    held = f" with {memory} memory" if memory else ""
    options = f" ({', '.join(told)})" if told else ""
    return f"{case.interface}{held}{options}"


def pairs_in_words(decision: Decision) -> str:
    """`gpu0>gpu1`, `Between GPUs, NVLink4 ×18, 12 paths`, or `allreduce of 4 ranks with a GPU each`."""
    if ranks := decision.place.ranks:
        where = "with a GPU each" if decision.place.kind.startswith("gpu") else "in host memory"
        return f"{decision.place.pattern} of {count(ranks, 'rank')} {where}"
    paths = sorted({cell.record.path for cell in decision.cells}, key=label_order)
    if len(paths) == 1:
        return paths[0]
    place = decision.place
    return ", ".join(filter(None, (PAIR_KINDS[place.kind], place.link_class, count(len(paths), "path"))))


def _operand(rival: Rival | None) -> Operand | None:
    return operand(rival.group) if rival is not None else None
