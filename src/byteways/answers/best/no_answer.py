"""Why a run has no answer to a question, and the command that gets one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.selection import (
    by_nearest,
    does_the_job,
    label_order,
    submits_many,
    within_a_process,
)
from byteways.answers.results.summary import Result, group_by
from byteways.base.errors import BytewaysError
from byteways.base.text import Sentence
from byteways.base.units import format_size
from byteways.cases.question import PROCESS, RANKS, Question, is_host
from byteways.machine.device_names import devices_named
from byteways.record.record import Record
from byteways.record.simulation_mark import model_of

#: Most measured paths that a hint names.
_NAMED = 6


@dataclass(frozen=True)
class NoAnswer:
    """Why nothing can be said of a kind of pair and link class."""

    between: str
    reason: Sentence
    hint: Sentence = ""  # a command that gets an answer

    def __str__(self) -> str:
        return f"{self.between}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        return {"between": self.between, "reason": self.reason}


def _ends(index: Index, asked: Question) -> tuple[Collection[str], Collection[str]]:
    topology = index.topology
    if asked.is_collective and not asked.source:
        return topology.names(), topology.names()
    return devices_named(topology, asked.source), devices_named(topology, asked.destination)


def _between(index: Index, asked: Question) -> list[Result]:
    """Returns the cells of records that joining() accepts, of a host by its nearest domain."""
    joins = joining(index, asked)
    near = is_host(asked.source) or is_host(asked.destination)
    return [
        cell for cell in index.cells if joins(cell.record) and (not near or by_nearest(cell, index.topology))
    ]


def joining(index: Index, asked: Question) -> Callable[[Record], bool]:
    """Returns whether all flows of a record run from source to destination; bidirectional ones either way."""
    sources, destinations = _ends(index, asked)

    def runs(flow: dict[str, Any], pattern: str) -> bool:
        source, destination = (_device(flow[end]) for end in ("source", "destination"))
        back = pattern == "bidirectional" and source in destinations and destination in sources
        return (source in sources and destination in destinations) or back

    if asked.is_collective:
        able = {*sources, *destinations}
        return lambda record: record.pattern == asked.pattern and _members(record) <= able
    return lambda record: all(runs(flow, record.pattern) for flow in record.flows)


def _members(record: Record) -> set[str]:
    """Returns the devices of all ranks of a collective."""
    ends = [
        (flow["source"], *(end for pair in flow.get("others", ()) for end in pair)) for flow in record.flows
    ]
    return {_device(end) for one in ends for end in one}


def _device(end: object) -> str:
    """`gpu0` of `gpu0:device`, and of `1/gpu0:device` of a rank."""
    return str(end).partition(":")[0].rpartition("/")[2]


def not_ranked(index: Index, asked: Question, named: str, members: Sequence[Result]) -> NoAnswer:
    now = measure_now(index, asked)
    if any("short-batch" in cell.warning_ids for cell in members):
        return NoAnswer(named, "not ranked: the batches were too short for the timer", now)
    if any("page-size" in cell.warning_ids for cell in members):
        return NoAnswer(named, "not ranked: the memory has pages of another size than requested", now)
    rounds = max(cell.rounds for cell in members)
    reason = f"not ranked: {index.voice.measured} in {count(rounds, 'round')}, and a ranking needs 3"
    return NoAnswer(named, reason, f"byteways run --rounds 3; or {now}")


def no_results(index: Index, asked: Question, name: str) -> BytewaysError:
    """Returns the error with the reason: voided, not measured, or other devices, patterns or memory."""
    restricted = "" if asked.pattern == "unidirectional" else f"{asked.pattern} "
    what = f"the run has no {restricted}results {asked.between}"
    if asked.within == RANKS and not asked.is_collective:
        what += " between ranks"
    if asked.memory is not None:
        what += f" with {asked.memory} memory"
    cells, measured = _between(index, asked), index.voice.measured
    if index.void and not cells:
        return BytewaysError(
            what,
            cause="some results are beyond a physical limit and void",
            hint=f"byteways show {shlex.quote(name)}",
        )
    if not cells:
        paths = _common([cell.record.path for cell in index.cells])
        there = f"{measured} paths: {paths}; or " if paths else ""
        return BytewaysError(what, cause=_failed(index, asked), hint=there + measure_now(index, asked))
    if asked.is_collective:
        several = _common(sorted({format_size(cell.size_bytes) for cell in cells}))
        return BytewaysError(what, cause=f"{measured} otherwise: {several}", hint=measure_now(index, asked))
    if all(submits_many(cell) for cell in cells):
        return BytewaysError(
            what,
            cause="all transfers there were submitted in batches or graphs",
            hint=measure_now(index, asked),
        )
    processes = [cell for cell in cells if within_a_process(cell) == (asked.within == PROCESS)]
    if not processes:
        other = RANKS if asked.within == PROCESS else PROCESS
        return BytewaysError(what, hint=f"there are some with --within {other}")
    patterns = _common([cell.record.pattern for cell in processes if does_the_job(cell)])
    memories = _common([end.memory for cell in processes for end in (cell.source, cell.destination)])
    return BytewaysError(what, hint=f"{measured} patterns: {patterns or 'none'}; memory: {memories}")


def _failed(index: Index, asked: Question) -> str | None:
    """Returns why the cases between these devices have no result; None if none was planned."""
    joins = joining(index, asked)
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


def measure_now(index: Index, asked: Question) -> str:
    """`measure it now: byteways best …`; a simulated run is of a model, which is simulated again."""
    model = model_of(index.manifest)
    machine = f" --machine {shlex.quote(model)}" if model else ""
    return f"{index.voice.measure} it now: {asked.command()}{machine}"


def other_sizes(index: Index, asked: Question, sizes: Collection[int], name: str) -> BytewaysError:
    nearest = min(sizes, key=lambda size: (abs(log2(size / asked.size_bytes)), -size))
    voice, known = index.voice, ", ".join(map(format_size, sorted(sizes)))
    return BytewaysError(
        f"the run has no result of {format_size(asked.size_bytes)} {asked.between}",
        cause=f"{voice.measured} sizes: {known}",
        hint=f"nearest: {asked.command(name, nearest)}; or {measure_now(index, asked)}",
    )
