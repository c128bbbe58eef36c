"""Energy: the interface that moves a gigabyte for the least, as far as the intervals tell, and where nothing
could be measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
            best = [_least(some) for some in interfaces.values()]
            yield _ranked(sorted(best, key=lambda one: one.energy.joules_per_gb))


@dataclass(frozen=True)
class _Least:
    """The way of an interface that takes least, named by what all of its ways have alike that tie with it."""

    name: str
    energy: Energy
    low: float  # of the way whose interval reaches lowest

    @property
    def figure(self) -> str:
        """'copy 0.453 J (0.39 to 0.51)'."""
        one = self.energy
        interval = f"{three_digits(one.low)} to {three_digits(one.high)}"
        return f"{self.name} {three_digits(one.joules_per_gb)} J ({interval})"


def _least(ways: Sequence[Energy]) -> _Least:
    first = min(ways, key=lambda one: one.joules_per_gb)
    variants = [one.cell.variant for one in ways if one.low <= first.high]

    def common(part: str) -> str:
        found = {getattr(variant, part) for variant in variants}
        return str(found.pop()) if len(found) == 1 else ""

    parts = ("access", "options", "environment", "cache")
    name = way(replace(variants[0], **{part: common(part) for part in parts}))
    return _Least(name, first, min(one.low for one in ways))


def _ranked(best: Sequence[_Least]) -> Finding:
    """The best way of each interface, the least first; only what lies beyond both intervals is a lead."""
    first, rest = best[0].energy, best[1:]
    ties = [one for one in rest if one.low <= first.high]
    more = [one for one in rest if one.low > first.high]
    leads = [best[0], *ties]
    record = first.cell.record
    between = f"from {record.source} to {record.destination}"
    if more:
        said = [
            f"{one.name} takes {_more(one.energy, first, best[0].name if ties else '')} "
            f"({three_digits(one.energy.joules_per_gb)})"
            for one in more
        ]
        by = " or ".join(one.name for one in leads)
        by += ", which cannot be told apart" if ties else ""
        joules = listed([three_digits(one.energy.joules_per_gb) for one in leads])
        title = f"A gigabyte {between} takes least energy by {by}, {joules} J; {listed(said)}"
        detail = f"{listed([one.figure for one in leads])}. "
    else:
        title = f"Which interface moves a gigabyte {between} for the least energy cannot be told"
        detail = f"{listed([one.figure for one in best])}. "
    missing = f"; not counted: {listed(first.not_counted)}" if first.not_counted else ""
    detail += (
        f"{format_size(record.size_bytes)}; counters of {listed(first.counted)}{missing}; idle subtracted; "
        f"at least {min(one.energy.duration_s for one in best):.1f} s and "
        f"{min(one.energy.updates for one in best)} steps."
    )
    return Finding(title, detail, ENERGY if more else NOT_TOLD)


def _more(one: Energy, first: Energy, named: str) -> str:
    """'12 % more', '2.2 times as much as copy': `named` where more than one leads."""
    factor = one.joules_per_gb / first.joules_per_gb
    if factor < 2:
        return f"{percent(factor - 1)} more" + (f" than {named}" if named else "")
    return f"{times(factor)} as much" + (f" as {named}" if named else "")


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
