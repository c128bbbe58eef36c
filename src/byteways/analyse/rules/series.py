"""What a repeated suite says: which figures moved over the time, and whether errors were counted."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.rules.facts import Facts, Finding, count
from byteways.analyse.topics.series import Change, changes
from byteways.analyse.words import describe
from byteways.units import format_bandwidth, format_duration, format_size, format_time

MOVED, STEADY = 640.0, 300.0
#: A change that matters to anybody, of all those that are settled.
NOTEWORTHY = 0.01
#: Cases named in one sentence.
NAMED = 3


def over_time(facts: Facts) -> Iterator[Finding]:
    """One finding on all series together."""
    series = changes(facts.run, facts.cells)
    if not series:
        return
    span_s = max(change.times_s[-1] for change in series)
    rounds = max(len(change.records) for change in series)
    over = f"over {format_duration(span_s)} and {count(rounds, 'round')}"
    moved = [change for change in series if change.settled and abs(change.relative) >= NOTEWORTHY]
    if not moved:
        widest = series[0]
        title = f"No settled change in {count(len(series), 'figure')} {over}"
        detail = (
            f"The largest difference between the last and the first third of the rounds: {_said(widest)}."
        )
        yield Finding(title, detail, STEADY)
        return
    title = f"{len(moved)} of {count(len(series), 'figure')} moved {over}"
    detail = "; ".join(_said(change) for change in moved[:NAMED])
    yield Finding(title, f"First against last third of the rounds: {detail}.", MOVED)


def _said(change: Change) -> str:
    record = change.cell.record
    formatted = format_bandwidth if record.latency_ns is None else format_time
    warm = ", warm" if record.cache == "warm" else ""
    return (
        f"{describe(record)}{warm} at {format_size(record.size_bytes)}, {100 * change.relative:+.1f} % "
        f"({formatted(change.first)} to {formatted(change.last)})"
    )
