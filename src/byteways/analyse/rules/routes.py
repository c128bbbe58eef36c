"""One transfer over several paths: what it gains over the straight path, and from which size on."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.relays import Gain, gains
from byteways.analyse.rules.facts import Facts, Finding, faster, gb, marked, of_peak, percent, span
from byteways.analyse.selection import kind
from byteways.analyse.summary import above, group_by
from byteways.units import format_size

#: Above the fastest interface of a kind of pair: nobody expects that a transfer may be split.
ROUTE = 610.0


def routes(facts: Facts) -> Iterator[Finding]:
    """The largest gain of each kind of pair; one of those where relays only cost, when nothing gains."""
    for some in group_by(gains(facts.cells), lambda gain: kind(gain.best)).values():
        best = max(some, key=lambda gain: gain.factor)
        if above(best.best, best.straight):
            yield _gained(best, some)
        elif above(best.straight, best.best):
            yield _lost(best)


def _gained(gain: Gain, others: list[Gain]) -> Finding:
    size = format_size(gain.best.record.size_bytes)
    title = (
        f"{gain.path} over {_paths(gain)} moves {gb(gain.best.value)} GB/s{of_peak(gain.best)} at {size}, "
        f"{faster(gain.factor)} the straight path ({gb(gain.straight.value)})"
    )
    parts = gain.best.record.parts or {}
    shares = ", ".join(f"{path} {percent(part)}" for path, part in parts.items())
    detail = f"Interval {span(gain.best)} GB/s. The bytes were split by when the paths end: {shares}."
    if gain.pays_from is not None and gain.pays_from != gain.best.record.size_bytes:
        detail += f" It pays from {format_size(gain.pays_from)} up."
    if gain.loses_at is not None:
        detail += f" At {format_size(gain.loses_at)} and below the straight path is faster."
    if len(others) > 1:
        least = min(others, key=lambda other: other.factor)
        detail += f" Least of {len(others)} ways: {least.path}, {least.factor:.2g} times the straight path."
    return Finding(marked(title, gain.best, gain.straight), detail, ROUTE)


def _lost(gain: Gain) -> Finding:
    size = format_size(gain.best.record.size_bytes)
    title = (
        f"Relays only cost on {gain.path}: {_paths(gain)} move {gb(gain.best.value)} GB/s at {size}, "
        f"{percent(1 - gain.factor)} less than the straight path ({gb(gain.straight.value)})"
    )
    detail = (
        f"The links that the paths share carry no more than the straight path alone does: "
        f"{gain.best.record.peak_source or 'their peak is not known'}."
    )
    return Finding(marked(title, gain.best, gain.straight), detail, ROUTE - 200)


def _paths(gain: Gain) -> str:
    return f"{gain.paths} paths ({gain.via})" if gain.via.startswith("via") else f"{gain.paths} paths"
