"""Answers "which way for this size from here to there?" from the results of a run.

The alternatives are ranked by compare.py, separately for each kind of pair and class of links.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import log2
from typing import Any

from byteways.errors import BytewaysError
from byteways.explain.best.decisions import Constraints, Decision, Decisions, decisions
from byteways.explain.best.ranking import Ranking, Rival
from byteways.explain.best.wording_answers import answer, doubt, next_best
from byteways.explain.claims.claim import Claim, Operand, operand
from byteways.explain.claims.phrases import way
from byteways.explain.results.counting import count
from byteways.explain.results.index import Index
from byteways.explain.results.selection import (
    PAIR_KINDS,
    by_nearest,
    does_the_job,
    label_order,
    within_a_process,
)
from byteways.explain.results.summary import RecordedRun, Result, group_by
from byteways.plan.case import Case, PlannedCase
from byteways.plan.question import PROCESS, RANKS, Question, is_host
from byteways.record.record import Record
from byteways.record.simulation_mark import MEASURED, SIMULATED, Voice, mark_of, model_of
from byteways.topology.device_names import devices_named
from byteways.units import format_size

#: Most measured paths that a hint names.
_NAMED = 6


@dataclass(frozen=True, repr=False)
class Answer:
    """The best way between devices of one kind and link class, and its comparison with the others."""

    question: Question
    between: str  # `gpu0>gpu1`, or `Between GPUs, NVLink4 ×18, 12 paths`
    ranking: Ranking
    simulated: str  # the mark of a simulated run; '' if measured

    @property
    def interface(self) -> str:
        return self.ranking.variant.interface

    @property
    def way(self) -> str:
        """The interface with its settings: `copy issued by the source`."""
        return way(self.ranking.variant)

    @property
    def options(self) -> str:
        return self.ranking.variant.options

    @property
    def environment(self) -> str:
        """Variables that the way needs: `HSA_ENABLE_SDMA=0`."""
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
        """Whether it leads every other interface by a significant difference, without data warnings, and
        nothing that cannot be ranked was faster.
        """
        return not self.doubt

    @property
    def doubt(self) -> str:
        """Why it is not sure; '' if it is."""
        return doubt(self.ranking, self._voice)

    @property
    def _voice(self) -> Voice:
        return SIMULATED if self.simulated else MEASURED

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
        """One line: `gpu0>gpu1, 1 MiB: copy issued by the source: 96 GB/s …; sure`."""
        cell = self.ranking.group.cells[0]
        pattern = "" if self.question.pattern == "unidirectional" else f"{self.question.pattern}, "
        warm = ", warm caches" if cell.record.cache == "warm" else ""
        said = f"{pattern}{self.between}, {format_size(self.question.size_bytes)}{warm}: "
        said += answer(self.ranking, self._voice)
        if any("assumed" in one.rests_on for one in self.ranking.group.cells):
            said += "; based on assumed parameters of the model"
        return said

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
            "way": self.way,
            "interface": same.interface,
            "access": same.access,
            "source_memory": same.source,
            "destination_memory": same.destination,
            "cache": same.cache,
            "options": same.options,
            "environment": same.environment,
            "bandwidth_bytes_per_s": self.bandwidth_bytes_per_s,
            "bandwidth_bytes_per_s_interval": [*self.interval],
            "sure": self.sure,
            "doubt": self.doubt or None,
            "runner_up": asdict(runner_up) if runner_up else None,
            "default": asdict(default) if default else None,
            "claims": [claim.to_json() for claim in self.claims],
            "simulated": bool(self.simulated),
            "sentence": str(self),
        }


@dataclass(frozen=True)
class NoAnswer:
    """Why nothing can be said of a kind of pair and link class."""

    between: str
    reason: str
    hint: str = ""  # a command that gets an answer

    def __str__(self) -> str:
        return f"{self.between}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        return {"between": self.between, "reason": self.reason}


def answers(run: RecordedRun, asked: Question, name: str = "RUN") -> list[Answer | NoAnswer]:
    """Returns the best way for each kind of pair and class of links that the question covers.

    Args:
        run: The results.
        asked: The question.
        name: The run's folder as the user writes it, for hints.

    Raises:
        BytewaysError: A device is unknown or ambiguous; nothing was measured between these devices, or not
            at this size.
    """
    index = Index.of(run)
    found = _decisions(index, asked)
    if not found.places:
        raise _no_results(index, asked, name)
    sizes = {size for place in found.places for size in found.sizes(place)}
    if asked.size_bytes not in sizes:
        raise _other_sizes(index, asked, sizes, name)
    answered: list[Answer | NoAnswer] = []
    for place in found.places:
        decision = found.at(place, asked.size_bytes)
        cold = replace(place, cold=True)
        if decision is None or (not place.cold and found.at(cold, asked.size_bytes)):
            continue
        named = _named(decision)
        if ranking := decision.ranking:
            answered.append(Answer(asked, named, ranking, mark_of(index.manifest)))
        else:
            answered.append(_not_ranked(index, asked, named, decision.cells))
    return answered


def _decisions(index: Index, asked: Question) -> Decisions:
    """Returns the decisions on the pairs that the question names, of a host by its nearest domain."""
    joins = _joining(index, asked)
    near = is_host(asked.source) or is_host(asked.destination)
    constraints = Constraints(asked.pattern, asked.within, asked.memory)
    return decisions(index, constraints).part(
        lambda cell: joins(cell.record) and (not near or by_nearest(cell, index.topology))
    )


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


def _ends(index: Index, asked: Question) -> tuple[Collection[str], Collection[str]]:
    topology = index.topology
    return devices_named(topology, asked.source), devices_named(topology, asked.destination)


def _between(index: Index, asked: Question) -> list[Result]:
    """Returns the cells of records that _joining() accepts, of a host by its nearest domain."""
    joins = _joining(index, asked)
    near = is_host(asked.source) or is_host(asked.destination)
    return [
        cell for cell in index.cells if joins(cell.record) and (not near or by_nearest(cell, index.topology))
    ]


def _joining(index: Index, asked: Question) -> Callable[[Record], bool]:
    """Returns whether all flows of a record run from source to destination; bidirectional ones either way."""
    sources, destinations = _ends(index, asked)

    def runs(flow: dict[str, Any], pattern: str) -> bool:
        source, destination = (_device(flow[end]) for end in ("source", "destination"))
        back = pattern == "bidirectional" and source in destinations and destination in sources
        return (source in sources and destination in destinations) or back

    return lambda record: all(runs(flow, record.pattern) for flow in record.flows)


def _device(end: object) -> str:
    """`gpu0` of `gpu0:device`, and of `1/gpu0:device` of a rank."""
    return str(end).partition(":")[0].rpartition("/")[2]


def _named(decision: Decision) -> str:
    """`gpu0>gpu1`, or `Between GPUs, NVLink4 ×18, 12 paths`."""
    paths = sorted({cell.record.path for cell in decision.cells}, key=label_order)
    if len(paths) == 1:
        return paths[0]
    place = decision.place
    return ", ".join(filter(None, (PAIR_KINDS[place.kind], place.link_class, count(len(paths), "path"))))


def _not_ranked(index: Index, asked: Question, named: str, members: Sequence[Result]) -> NoAnswer:
    now = _now(index, asked)
    if any("short-batch" in cell.warning_ids for cell in members):
        return NoAnswer(named, "not ranked: the batches were too short for the timer", now)
    if any("page-size" in cell.warning_ids for cell in members):
        return NoAnswer(named, "not ranked: the memory is on pages of another size than asked for", now)
    rounds = max(cell.rounds for cell in members)
    reason = f"not ranked: measured in {count(rounds, 'round')}, and a ranking needs 3"
    return NoAnswer(named, reason, f"byteways run --rounds 3; or {now}")


def _operand(rival: Rival | None) -> Operand | None:
    return operand(rival.group) if rival is not None else None


def _no_results(index: Index, asked: Question, name: str) -> BytewaysError:
    """Returns the error with the reason: voided, not measured, or other devices, patterns or memory."""
    restricted = "" if asked.pattern == "unidirectional" else f"{asked.pattern} "
    what = f"the run has no {restricted}results {asked.between}"
    if asked.within == RANKS:
        what += " between ranks"
    if asked.memory is not None:
        what += f" with {asked.memory} memory"
    cells = _between(index, asked)
    if index.void and not cells:
        return BytewaysError(
            what,
            cause="some results are beyond a physical limit and void",
            hint=f"byteways show {shlex.quote(name)}",
        )
    if not cells:
        paths = _common([cell.record.path for cell in index.cells])
        there = f"measured paths: {paths}; or " if paths else ""
        return BytewaysError(what, cause=_failed(index, asked), hint=there + _now(index, asked))
    processes = [cell for cell in cells if within_a_process(cell) == (asked.within == PROCESS)]
    if not processes:
        other = RANKS if asked.within == PROCESS else PROCESS
        return BytewaysError(what, hint=f"there are some with --within {other}")
    patterns = _common([cell.record.pattern for cell in processes if does_the_job(cell)])
    memories = _common([end.memory for cell in processes for end in (cell.source, cell.destination)])
    return BytewaysError(what, hint=f"measured patterns: {patterns or 'none'}; memory: {memories}")


def _failed(index: Index, asked: Question) -> str | None:
    """Returns why the cases between these devices have no result; None if none was planned."""
    joins = _joining(index, asked)
    tried = [one for one in index.records if one.status != "measured" and joins(one)]
    tried.sort(key=lambda one: one.status == "skipped")  # what was given up says less than what failed
    if not tried:
        return None
    first = tried[0]
    number = len({one.case_id for one in tried})
    told = f"{first.interface} {first.path}: {first.display_status}, {first.reason or 'without a reason'}"
    return f"{count(number, 'case')} there {'has' if number == 1 else 'have'} no result: {told}"


def _common(values: Sequence[Hashable]) -> str:
    """The most frequent values, at most _NAMED."""
    sizes = {value: len(same) for value, same in group_by(values, lambda value: value).items()}
    named = sorted(sizes, key=lambda value: (-sizes[value], label_order(str(value))))
    return ", ".join(map(str, named[:_NAMED])) + (", …" if len(named) > _NAMED else "")


def _now(index: Index, asked: Question) -> str:
    """`measure it now: byteways best …`; a simulated run is of a model, which is simulated again."""
    model = model_of(index.manifest)
    verb, machine = ("simulate", f" --machine {shlex.quote(model)}") if model else ("measure", "")
    return f"{verb} it now: {asked.command()}{machine}"


def _other_sizes(index: Index, asked: Question, sizes: Collection[int], name: str) -> BytewaysError:
    nearest = min(sizes, key=lambda size: (abs(log2(size / asked.size_bytes)), -size))
    told = ", ".join(format_size(size) for size in sorted(sizes))
    return BytewaysError(
        f"{format_size(asked.size_bytes)} was not measured {asked.between}",
        cause=f"measured sizes: {told}",
        hint=f"nearest: {asked.command(name, nearest)}; or {_now(index, asked)}",
    )
