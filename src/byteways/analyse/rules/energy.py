"""Energy: the interface that moves a gigabyte for the least, as far as the intervals tell, and where nothing
could be measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byteways.analyse.energy import Energy, energies, unmeasured
from byteways.analyse.rules.facts import Facts, Finding, count, listed, percent, times, way
from byteways.analyse.summary import group_by
from byteways.units import format_size, three_digits

#: Before bandwidth: only runs that ask for energy have it.
ENERGY = 640.0
#: Intervals that overlap.
NOT_TOLD = 385.0
#: Of a run that has some figures; without any it is the answer to what was asked.
NO_ENERGY = 90.0


def energy(facts: Facts) -> Iterator[Finding]:
    """For each path, at its largest size, which interface moves a gigabyte for the least energy."""
    by_path = group_by(
        energies(facts.cells),
        # A gigabyte that is read or written, as STREAM counts, is not one that arrives.
        lambda one: (one.cell.record.source, one.cell.record.destination, one.cell.record.counts),
    )
    for of_path in by_path.values():
        size = max(one.cell.record.size_bytes for one in of_path)
        same = [one for one in of_path if one.cell.record.size_bytes == size]
        interfaces = group_by(same, lambda one: one.cell.record.interface)
        if len(interfaces) > 1:
            best = [min(some, key=lambda one: one.joules_per_gb) for some in interfaces.values()]
            yield _ranked(sorted(best, key=lambda one: one.joules_per_gb))


def _ranked(best: Sequence[Energy]) -> Finding:
    """The best way of each interface, the least first; only what lies beyond both intervals is a lead."""
    first, rest = best[0], best[1:]
    ties = [one for one in rest if one.low <= first.high]
    more = [one for one in rest if one.low > first.high]
    record = first.cell.record
    between = f"from {record.source} to {record.destination}"
    if more:
        said = [
            f"{_named(one)} takes {_more(one, first)} ({three_digits(one.joules_per_gb)})" for one in more
        ]
        title = (
            f"A gigabyte {between} takes least energy by {_named(first)}, "
            f"{three_digits(first.joules_per_gb)} J; {listed(said)}"
        )
        tied = f"{listed([_figure(one) for one in ties])} cannot be told from it. " if ties else ""
        detail = f"{_figure(first)}. {tied}"
    else:
        title = f"Which interface moves a gigabyte {between} for the least energy cannot be told"
        detail = f"{listed([_figure(one) for one in best])}. "
    missing = f"; not counted: {listed(first.not_counted)}" if first.not_counted else ""
    detail += (
        f"{format_size(record.size_bytes)}; counters of {listed(first.counted)}{missing}; idle subtracted; "
        f"at least {min(one.duration_s for one in best):.1f} s and {min(one.updates for one in best)} steps."
    )
    return Finding(title, detail, ENERGY if more else NOT_TOLD)


def _named(one: Energy) -> str:
    return way(one.cell.variant)


def _figure(one: Energy) -> str:
    """'copy 0.453 J (0.39 to 0.51)'."""
    interval = f"{three_digits(one.low)} to {three_digits(one.high)}"
    return f"{_named(one)} {three_digits(one.joules_per_gb)} J ({interval})"


def _more(one: Energy, first: Energy) -> str:
    factor = one.joules_per_gb / first.joules_per_gb
    return f"{percent(factor - 1)} more" if factor < 2 else f"{times(factor)} as much"


def no_energy(facts: Facts) -> Iterator[Finding]:
    """One sentence on all cases whose energy was asked for and could not be had."""
    reasons = unmeasured(facts.cells)
    if not reasons:
        return
    cases = count(sum(len(each.cells) for each in reasons), "case")
    measured = energies(facts.cells)
    title = f"No energy of {cases}: {reasons[0].reason}" if len(reasons) == 1 else f"No energy of {cases}"
    told = [f"{each.reason} ({count(len(each.cells), 'case')})" for each in reasons]
    detail = "" if len(reasons) == 1 else f"{'; '.join(told)}. "
    detail += (
        "Their other figures stand." if measured else "Nothing in this run says what moving bytes takes."
    )
    yield Finding(title, detail, NO_ENERGY if measured else ENERGY)
