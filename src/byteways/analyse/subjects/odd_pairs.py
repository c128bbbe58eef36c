"""The pair unlike the others: clearly slower than what the same way gets over links of the same class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from byteways.analyse.claim import Claim
from byteways.analyse.compare import compare
from byteways.analyse.finding import Finding, devices_of, finding
from byteways.analyse.phrases import count, listed, rate, span, way
from byteways.analyse.results_index import Index
from byteways.analyse.selection import kind
from byteways.analyse.summary import Cell, Group, group_by, pool
from byteways.analyse.wording import less
from byteways.topology.routes import route
from byteways.units import format_size

ODD_PAIR = 799.0

#: A pair is odd when it is this much slower than its class, beyond the intervals; less is what equal links of
#: a machine differ by.
ODD = 0.02
#: … and this many times farther from the median than the class itself scatters (median absolute deviation).
ODD_SCATTER = 5.0
#: … or by this much below all pairs of other devices. A link at half its rate slows both its directions, and
#: all pairs of its GPU where that has one link: up to half of a class, whose scatter then says nothing.
GROSSLY_ODD = 0.25


def odd_pairs(index: Index) -> Iterator[Finding]:
    """Pairs clearly slower than others whose links are of the same class."""
    across = [cell for cell in index.singles if cell.source.device != cell.destination.device]
    alike = group_by(
        across, lambda cell: (cell.variant, cell.record.size_bytes, kind(cell), index.link_class(cell))
    )
    odd = [
        (claim, cell, rest, wires)
        for (_, _, _, wires), members in alike.items()
        if len(members) >= 3
        for claim, cell, rest in odd_of(members)
    ]
    if not odd:
        return
    # The largest size tells most about the link; small sizes about latency. Of equal sizes the way over the
    # fewest links does: what it crosses slows the ways over several links too.
    largest = max(cell.record.size_bytes for _, cell, _, _ in odd)
    claim, cell, rest, wires = min(
        (one for one in odd if one[1].record.size_bytes == largest),
        key=lambda one: (_hops(index, one[1]), -one[0].gain),
    )
    title = (
        f"{cell.record.path} is an outlier: {way(cell.variant)} gets {rate(cell)} GB/s where "
        f"{count(len(rest.cells), 'pair')} of {wires} get {rate(rest)} ({less(claim)})"
    )
    detail = _detail([one[1] for one in odd], cell)
    yield finding(title, detail, ODD_PAIR, (cell, rest), [one[0] for one in odd])


def odd_of(members: Sequence[Cell]) -> Iterator[tuple[Claim, Cell, Group]]:
    """The odd ones of a class, each with the claim that it is and the others that it is compared with.

    What is slower still is no measure of the class.
    """
    middle = median(cell.value for cell in members)
    scatter = median(abs(cell.value - middle) for cell in members)
    for cell in members:
        others = [other for other in members if other is not cell and other.value >= cell.value]
        if middle - cell.value > max(ODD_SCATTER * scatter, ODD * middle) and (
            claim := _trailing(cell, others, len(members))
        ):
            yield claim, cell, pool(others)
            continue
        ends = {cell.source.device, cell.destination.device}
        apart = [other for other in others if {other.source.device, other.destination.device} != ends]
        gross = len(apart) >= 2 and cell.value < (1 - GROSSLY_ODD) * median(one.value for one in apart)
        if gross and (claim := _trailing(cell, apart, len(members))):
            yield claim, cell, pool(apart)


def _trailing(cell: Cell, others: Sequence[Cell], ways: int) -> Claim | None:
    """That a pair is slower than most of the others; None where the intervals do not say so."""
    if not others:
        return None
    claim = compare(cell, pool(others), kind="odd", ways=ways, match=None)
    return claim if claim.trails and claim.effect < 1 - ODD else None


def _hops(index: Index, cell: Cell) -> int:
    """Links between the two ends of a path."""
    return len(route(index.topology, cell.source.device, cell.destination.device))


def _detail(cells: list[Cell], worst: Cell) -> str:
    paths = list(dict.fromkeys(cell.record.path for cell in cells))
    text = f"{format_size(worst.record.size_bytes)}, interval {span(worst)} GB/s."
    if len(paths) > 1:
        shared = [
            device
            for device in devices_of(cells)
            if device.startswith("gpu")
            and all(device in (c.source.device, c.destination.device) for c in cells)
        ]
        text += f" Outliers: {listed(paths[:6])}{' and others' if len(paths) > 6 else ''}."
        if len(shared) > 1:
            text += (
                f" They are the two directions between {listed(shared)}: check the link between them first."
            )
        elif shared:
            text += f" All of them involve {shared[0]}: check its links and clocks first."
    return text
