"""How operations are handed to a device: up to which size a graph or a batched call beats single calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byteways.analyse.rules.facts import Facts, Finding, faster, gb, listed, marked, percent
from byteways.analyse.selection import KINDS, kind
from byteways.analyse.submission import Submission, host_ns, submissions
from byteways.analyse.summary import Cell, above, alike, group_by
from byteways.units import format_size, format_time

SUBMISSION, EVEN = 480.0, 370.0
#: A gain that anybody would act on, however sure a smaller one is.
NOTEWORTHY = 0.01
#: How a sentence calls each way.
NAMES = {"graph": "by one graph", "batch": "by one batched call"}


def submitting(facts: Facts) -> Iterator[Finding]:
    """For each interface and kind of pair, the first pair: where it is worth not to make a call each."""
    told = [one for one in submissions(facts.cells) if any(one.beside_calls(way) for way in NAMES)]
    even = []
    for (name, _), some in group_by(told, lambda one: (kind(one.first), one.first.record.interface)).items():
        if finding := _finding(name, some[0]):
            yield finding
        else:
            even.append(some[0])
    if same := [one for one in even if _as_fast(one)]:
        yield _no_gain("Operations run as fast by calls as {ways}", same)
    if unsure := [one for one in even if one not in same]:
        yield _no_gain("Whether operations run faster {ways} than by calls cannot be told", unsure)


def _as_fast(one: Submission) -> bool:
    pairs = [pair for way in NAMES for pair in one.beside_calls(way)]
    return all(alike(calls, other) for _, calls, other in pairs)


def _no_gain(title: str, some: Sequence[Submission]) -> Finding:
    ways = [NAMES[way] for way in NAMES if any(one.beside_calls(way) for one in some)]
    named = [f"{one.first.record.interface} {one.first.record.path}" for one in some]
    figures = [cell for one in some for way in NAMES for _, *both in one.beside_calls(way) for cell in both]
    title = f"{title.format(ways=' or '.join(ways))}: {listed(named)}"
    detail = f"Rates behind the gate, where the host is ahead. {_host(some[0])}"
    return Finding(marked(title, *figures), detail.strip(), EVEN)


def _finding(name: str, one: Submission) -> Finding | None:
    """None where no way differs from calls at any size."""
    interface = one.first.record.interface
    won = {way: _gains(one, way) for way in NAMES if way in one.ways}
    lost = {way: _gains(one, way, lost=True) for way in NAMES if way in one.ways}
    figures: list[Cell] = []
    said = []
    for way, gains in won.items():
        if gains:
            size, calls, other = max(gains, key=lambda gain: gain[2].value / gain[1].value)
            factor = other.value / calls.value
            said.append(
                f"{NAMES[way]} is {faster(factor)} by calls at {format_size(size)} "
                f"({gb(other.value)} against {gb(calls.value)} GB/s){_until(one, way, gains)}"
            )
            figures += [calls, other]
    slower = []
    for way, losses in lost.items():
        if losses:
            size, calls, other = max(losses, key=lambda loss: loss[1].value / loss[2].value)
            gap = percent(1 - other.value / calls.value)
            slower.append(f"{NAMES[way]} it is {gap} slower at {format_size(size)}")
    if said:
        title = f"{KINDS[name]}, {interface} {listed(said)}"
    elif slower:
        title = f"{KINDS[name]}, {interface} is fastest by calls: {listed(slower)}"
        slower = []
    else:
        return None
    detail = f"{one.first.record.path}, rates behind the gate, where the host is ahead. {_host(one)}"
    if slower:
        detail += f" But {listed(slower)}."
    return Finding(marked(title, *figures), detail.strip(), SUBMISSION if said else EVEN)


def _gains(one: Submission, way: str, *, lost: bool = False) -> list[tuple[int, Cell, Cell]]:
    """Sizes at which this way is faster than calls (or slower) beyond both intervals and worth saying."""
    found = []
    for size, calls, other in one.beside_calls(way):
        high, low = (calls, other) if lost else (other, calls)
        if above(high, low) and high.value >= (1 + NOTEWORTHY) * low.value:
            found.append((size, calls, other))
    return found


def _until(one: Submission, way: str, gains: list[tuple[int, Cell, Cell]]) -> str:
    """', no longer from 1 MiB on': the smallest size from which on nothing is gained any more."""
    rest = [size for size, *_ in one.beside_calls(way) if size > max(size for size, _, _ in gains)]
    return f", no longer from {format_size(rest[0])} on" if rest else ""


def _host(one: Submission) -> str:
    """What enqueueing takes the host at the smallest size, by each way."""
    size, at = one.sizes[0]
    told = {way: time for way in one.ways if way in at and (time := host_ns(at[way])) is not None}
    if len(told) < 2:
        return ""
    parts = [
        f"{format_time(time)} {'by calls' if way == 'calls' else NAMES[way]}" for way, time in told.items()
    ]
    return f"To enqueue one of {format_size(size)} takes the host {listed(parts)}."
