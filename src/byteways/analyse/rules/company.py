"""What flows of different kinds do to each other: latency under load, and what a transfer costs others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byteways.analyse.interference import NOTEWORTHY, Slowdown, slowdowns
from byteways.analyse.loaded import LoadCurve, Walk, load_curves
from byteways.analyse.rules.facts import Facts, Finding, gb, listed, marked, times
from byteways.analyse.summary import Cell, above, group_by
from byteways.analyse.topics.interference import longer_by
from byteways.units import format_size, three_digits

LOADED, COSTS, UNTOLD = 690.0, 700.0, 300.0
#: Transfers that a title names; the table has all.
NAMED = 3


def loaded_latency(facts: Facts) -> Iterator[Finding]:
    """For each walk, the load under which it waits longest."""
    curves = [curve for curve in load_curves(facts.cells) if curve.idle is not None and curve.points]
    for walk, some in group_by(curves, lambda curve: curve.walk).items():
        if finding := _worst(walk, some):
            yield finding


def _worst(walk: Walk, curves: Sequence[LoadCurve]) -> Finding | None:
    found: list[tuple[float, LoadCurve, Cell, Cell, float]] = []
    for curve in curves:
        assert curve.idle is not None
        slowest = max(curve.points, key=lambda point: point.cell.value)
        factor = slowest.cell.value / curve.idle.value
        found.append((factor, curve, curve.idle, slowest.cell, slowest.load_bytes_per_s))
    factor, curve, idle, cell, load = max(found, key=lambda one: one[0])
    if not above(cell, idle) or factor < 1 + NOTEWORTHY:
        return None
    title = (
        f"{walk.walker} waits {three_digits(idle.value)} ns for {walk.memory} alone, "
        f"{three_digits(cell.value)} ns ({times(factor)}) beside {curve.load} at {gb(load)} GB/s"
    )
    detail = (
        f"One dependent load, random cycle over {format_size(walk.size_bytes)}; latency and load are of the "
        "same window."
    )
    if len(curves) > 1:
        detail += f" Of {len(curves)} kinds of load this costs most."
    return Finding(marked(title, idle, cell), detail, LOADED)


def transfer_costs(facts: Facts) -> Iterator[Finding]:
    """For each thing that was measured, what every transfer beside it costs."""
    pairs = slowdowns(facts.cells)
    for same in group_by(pairs, lambda pair: pair.alone.record.case_id).values():
        yield _cost(same)


def _cost(pairs: Sequence[Slowdown]) -> Finding:
    what = _named(pairs[0].alone)
    ranked = sorted((pair for pair in pairs if pair.together), key=lambda pair: -pair.own)
    costly = [pair for pair in ranked if pair.sure and pair.own >= 1 + NOTEWORTHY]
    spared = [pair for pair in ranked if pair.free]
    free = [pair.beside for pair in spared]
    unsure = [pair.beside for pair in ranked if pair not in costly and pair not in spared]
    named = costly or spared
    if costly:
        parts = [f"{pair.beside}: {longer_by(pair.own)}" for pair in costly]
        more = [f"{len(parts) - NAMED} more"] if len(parts) > NAMED else []
        title = f"{what} takes longer beside {listed([*parts[:NAMED], *more])}"
    elif free:
        title = f"{what} keeps its speed beside {listed(free)}"
        free = []
    else:
        title = f"Whether transfers slow {what[0].lower() + what[1:]} down cannot be told"
    detail = f"Next to nothing: {listed(free)}. " if free else ""
    if unsure and named:
        detail += f"Cannot be told, by the width of the intervals, beside {listed(unsure)}. "
    if apart := [pair.beside for pair in pairs if not pair.together]:
        detail += f"No window in which both ran beside {listed(apart)}, so no cost either. "
    own = [(pair, pair.others) for pair in ranked if pair.others is not None]
    paid = [f"{pair.beside}: {longer_by(factor)}" for pair, factor in own if factor >= 1 + NOTEWORTHY]
    if own:
        lost = f"take longer: {listed(paid)}" if paid else "lose nothing"
        detail += f"The transfers themselves, by their medians, {lost}."
    figures = (pairs[0].alone, *(pair.cell for pair in named or ranked))
    return Finding(marked(title, *figures), detail.strip(), COSTS if named else UNTOLD)


def _named(cell: Cell) -> str:
    """'Arithmetic on gpu0', 'A memory-bound kernel on gpu0'."""
    record = cell.record
    if record.interface == "compute":
        return f"Arithmetic on {record.executor}"
    if record.access == "local":
        return f"Memory-bound {record.interface} on {record.executor}"
    return f"{record.interface} {record.path} by {record.executor}"
