"""Stragglers: ranks that keep the others waiting, named."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.finding import Finding
from byteways.analyse.phrases import count, percent
from byteways.analyse.results_index import Index
from byteways.analyse.summary import group_by
from byteways.analyse.words import describe
from byteways.plan.case import Case
from byteways.results.record import Record
from byteways.results.stragglers import Straggler, stragglers
from byteways.units import format_size

STRAGGLER = 640.0


def named(index: Index) -> Iterator[Finding]:
    """Reports each rank that others wait for, and in how many of its measurements."""
    between = [record for record in index.records if record.ranks and record.time_ns]
    found = [(one, record) for record in between for one in _stragglers(record)]
    for (who, is_late), some in group_by(
        found, lambda pair: (_who(pair[1], pair[0].rank), pair[0].late_ns > 0)
    ).items():
        taken = [
            record for record in between if who in {_who(record, one["rank"]) for one in record.ranks or ()}
        ]
        worst, example = max(some, key=lambda pair: (pair[0].late_ns, pair[0].no_cpu))
        many = f"{len(some)} of {count(len(taken), 'measurement')}"
        where = f"{who} ({_device(example, worst.rank)})"
        title = f"{where} begins up to {worst.late_ns / 1e3:.3g} µs after the first rank, in {many}"
        if not is_late:
            title = f"{where} has no CPU for up to {percent(worst.no_cpu)} of the time in {many}"
        advice = next(one.advice for one in example.warnings if one.id == "straggler")
        yield Finding(
            title,
            f"For example {describe(example)}, {format_size(example.size_bytes)}. {advice}",
            STRAGGLER,
        )


def _stragglers(record: Record) -> list[Straggler]:
    assert record.ranks is not None and record.time_ns is not None  # as the caller selected them
    if not any(warning.id == "straggler" for warning in record.warnings):
        return []
    return stragglers(record.ranks, (record.batch or 1) * record.time_ns.median)


def _who(record: Record, rank: int) -> str:
    """Returns `Rank 1`, or `Host node7`."""
    hosts = Case.from_json(vars(record)).hosts
    return f"Host {hosts[rank]}" if hosts else f"Rank {rank}"


def _device(record: Record, rank: int) -> str:
    case = Case.from_json(vars(record))
    return next(end.device for flow in case.flows for pair in flow.pairs for end in pair if end.rank == rank)
