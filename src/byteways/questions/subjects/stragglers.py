"""Stragglers: ranks that keep the others waiting, named."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from byteways.answers.claims.finding import Finding, notice
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import percent
from byteways.answers.results.blamed_ranks import device_of, stragglers_of
from byteways.answers.results.case_names import describe
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.summary import group_by
from byteways.base.units import format_size, short_time
from byteways.cases.case import Case
from byteways.record.record import Record
from byteways.record.simulation_mark import Voice
from byteways.record.stragglers import Straggler

#: From so many ranks without a CPU on, their number is told instead of their names.
MANY = 4


def named(index: Index) -> Iterator[Finding]:
    """Reports each rank that begins late, and in how many of its measurements; then those without a CPU."""
    between = [record for record in index.records if record.ranks and record.time_ns]
    waits = [(straggler, record) for record in between for straggler in stragglers_of(record)]
    late = group_by((pair for pair in waits if pair[0].late_ns > 0), lambda pair: _who(pair[1], pair[0].rank))
    for who, members in late.items():
        worst, example = max(members, key=lambda pair: pair[0].late_ns)
        title = f"{_where(example, worst)} begins up to {short_time(worst.late_ns)} after the first rank"
        yield _finding(f"{title}, in {_share(members, between, {who}, index.voice)}", example, index.voice)
    waiting = [pair for pair in waits if pair[0].late_ns <= 0]
    if waiting:
        worst, example = max(waiting, key=lambda pair: pair[0].no_cpu)
        names = {_who(record, straggler.rank): _where(record, straggler) for straggler, record in waiting}
        have = "has" if len(names) == 1 else "have"
        title = f"{_named(names)} {have} no CPU for up to {percent(worst.no_cpu)} of the time"
        which = "" if len(names) == 1 else f"{_lowered(_where(example, worst))} in "
        yield _finding(
            f"{title} in {_share(waiting, between, names, index.voice)}", example, index.voice, which
        )


def _named(names: Mapping[str, str]) -> str:
    """`Rank 0 (cpu0) and rank 1 (cpu0)`, in their order; from MANY on `4 ranks`."""
    if len(names) >= MANY:
        return f"{len(names)} ranks"
    first, *others = (names[who] for who in sorted(names, key=_order))
    return listed([first, *map(_lowered, others)])


def _lowered(name: str) -> str:
    return name[0].lower() + name[1:]


def _order(who: str) -> tuple[object, ...]:
    """Sort key: by numbers in the name, as numbers."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", who))


def _share(
    waits: Sequence[tuple[Straggler, Record]],
    between: Sequence[Record],
    names: Collection[str],
    voice: Voice,
) -> str:
    """`3 of 12 measurements`: of those in which these ranks took part."""
    taken = [
        record
        for record in between
        if any(_who(record, rank["rank"]) in names for rank in record.ranks or ())
    ]
    return f"{len({id(record) for _, record in waits})} of {count(len(taken), voice.measurement)}"


def _where(record: Record, straggler: Straggler) -> str:
    return f"{_who(record, straggler.rank)} ({device_of(record, straggler.rank)})"


def _finding(title: str, example: Record, voice: Voice, which: str = "") -> Finding:
    advice = next(warning.advice for warning in example.warnings if warning.id == "straggler")
    return notice(
        title,
        f"For example {which}{describe(example)}, {format_size(example.size_bytes)}. {voice.quote(advice)}",
        Priority.STRAGGLER,
    )


def _who(record: Record, rank: int) -> str:
    """Returns `Rank 1`, or `Host node7`, with the rank if it has several."""
    hosts = Case.from_json(record.definition).hosts_of_ranks
    if not hosts:
        return f"Rank {rank}"
    alone = hosts.count(hosts[rank]) == 1
    return f"Host {hosts[rank]}" if alone else f"Rank {rank} (host {hosts[rank]})"
