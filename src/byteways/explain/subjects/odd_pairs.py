"""Outlier pairs: significantly slower than the same interface on links of the same class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from byteways.explain.claims.claim import Claim
from byteways.explain.claims.compare import compare
from byteways.explain.claims.finding import Finding, devices_of, finding
from byteways.explain.claims.importance import Priority
from byteways.explain.claims.phrases import rate, span, way
from byteways.explain.claims.wording import less
from byteways.explain.results.counting import count, listed
from byteways.explain.results.index import Index
from byteways.explain.results.selection import kind
from byteways.explain.results.summary import Result, ResultGroup, group_by, pool
from byteways.topology.routes import route
from byteways.units import format_size

#: Least relative lag of an outlier behind its class, beyond the intervals; equal links of a machine differ by
#: less.
LEAST_LAG = 0.02
#: … and its least distance from the median, in median absolute deviations of the class.
ODD_SCATTER = 5.0
#: … or its least relative lag behind pairs of other devices. A link at half rate slows both directions, and
#: all pairs of a GPU with a single link: up to half of a class, whose scatter then is meaningless.
GROSSLY_ODD = 0.25


def odd_pairs(index: Index) -> Iterator[Finding]:
    """Reports pairs significantly slower than others of the same link class."""
    across = [cell for cell in index.singles if cell.source.device != cell.destination.device]
    alike = group_by(
        across, lambda cell: (cell.variant, cell.record.size_bytes, kind(cell), index.link_class(cell))
    )
    odd = [
        (claim, cell, rest, link_class)
        for (_, _, _, link_class), members in alike.items()
        if len(members) >= 3
        for claim, cell, rest in odd_of(members)
    ]
    if not odd:
        return
    # The largest size tells most about the link. Among equal sizes take the shortest route: a slow link also
    # slows longer routes that cross it.
    largest = max(cell.record.size_bytes for _, cell, _, _ in odd)
    claim, cell, rest, link_class = min(
        (one for one in odd if one[1].record.size_bytes == largest),
        key=lambda one: (_hops(index, one[1]), -one[0].gain),
    )
    title = (
        f"{cell.record.path} is an outlier: {way(cell.variant)} gets {rate(cell)} GB/s where "
        f"{count(len(rest.cells), 'pair')} of {link_class} get {rate(rest)} ({less(claim)})"
    )
    detail = _detail([one[1] for one in odd], cell)
    yield finding(title, detail, Priority.ODD_PAIR, (cell, rest), [one[0] for one in odd])


def odd_of(members: Sequence[Result]) -> Iterator[tuple[Claim, Result, ResultGroup]]:
    """Yields the outliers of a class, each with its claim and the pairs it is compared with.

    An outlier is compared with those that are none, or 'where others get' would contain its own figure.
    """
    middle = median(cell.value for cell in members)
    scatter = median(abs(cell.value - middle) for cell in members)
    far = middle - max(ODD_SCATTER * scatter, LEAST_LAG * middle)
    gross = (1 - GROSSLY_ODD) * max(cell.value for cell in members)  # no group of pairs has a higher limit
    candidates = [cell for cell in members if cell.value < max(far, gross)]
    odd = [cell for cell in candidates if _is_outlier(cell, members, far)]
    for cell in odd:
        sound = [other for other in members if other not in odd and other.value >= cell.value]
        if claim := _trailing(cell, sound, len(members)):
            yield claim, cell, pool(sound)


def _is_outlier(cell: Result, members: Sequence[Result], far: float) -> bool:
    """Whether it is far below its class, and significantly below all that are not slower still.

    Args:
        cell: A pair.
        members: Its class.
        far: The rate below which a pair is far from the median of the class.
    """
    others = [other for other in members if other is not cell and other.value >= cell.value]
    if cell.value < far and _trailing(cell, others, len(members)):
        return True
    ends = {cell.source.device, cell.destination.device}
    apart = [other for other in others if {other.source.device, other.destination.device} != ends]
    gross = len(apart) >= 2 and cell.value < (1 - GROSSLY_ODD) * median(one.value for one in apart)
    return gross and _trailing(cell, apart, len(members)) is not None


def _trailing(cell: Result, others: Sequence[Result], ways: int) -> Claim | None:
    """Returns the claim that a pair is slower than the pooled others; None if not significant."""
    if not others:
        return None
    claim = compare(cell, pool(others), kind="odd", ways=ways, match=None)
    return claim if claim.trails and claim.effect < 1 - LEAST_LAG else None


def _hops(index: Index, cell: Result) -> int:
    """Returns the number of links between the two ends of a path."""
    return len(route(index.topology, cell.source.device, cell.destination.device))


def _detail(cells: list[Result], worst: Result) -> str:
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
