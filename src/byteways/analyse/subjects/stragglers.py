"""Stragglers: ranks that keep the others waiting, named."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.blamed_ranks import device_of, stragglers_of
from byteways.analyse.finding import Finding
from byteways.analyse.phrases import count, percent
from byteways.analyse.results_index import Index
from byteways.analyse.summary import group_by
from byteways.analyse.words import describe
from byteways.plan.case import Case
from byteways.results.record import Record
from byteways.units import format_size, short_time

STRAGGLER = 640.0


def named(index: Index) -> Iterator[Finding]:
    """Reports each rank that others wait for, and in how many of its measurements."""
    between = [record for record in index.records if record.ranks and record.time_ns]
    found = [(one, record) for record in between for one in stragglers_of(record)]
    for (who, is_late), some in group_by(
        found, lambda pair: (_who(pair[1], pair[0].rank), pair[0].late_ns > 0)
    ).items():
        taken = [
            record for record in between if who in {_who(record, one["rank"]) for one in record.ranks or ()}
        ]
        worst, example = max(some, key=lambda pair: (pair[0].late_ns, pair[0].no_cpu))
        many = f"{len(some)} of {count(len(taken), 'measurement')}"
        where = f"{who} ({device_of(example, worst.rank)})"
        title = f"{where} begins up to {short_time(worst.late_ns)} after the first rank, in {many}"
        if not is_late:
            title = f"{where} has no CPU for up to {percent(worst.no_cpu)} of the time in {many}"
        advice = next(one.advice for one in example.warnings if one.id == "straggler")
        yield Finding(
            title,
            f"For example {describe(example)}, {format_size(example.size_bytes)}. {advice}",
            STRAGGLER,
        )


def _who(record: Record, rank: int) -> str:
    """Returns `Rank 1`, or `Host node7`, with the rank if it has several."""
    hosts = Case.from_json(vars(record)).hosts_of_ranks
    if not hosts:
        return f"Rank {rank}"
    alone = hosts.count(hosts[rank]) == 1
    return f"Host {hosts[rank]}" if alone else f"Rank {rank} (host {hosts[rank]})"
