"""What several messages in flight gain over one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from byteways.answers.claims.claim import TIE
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate, sentence
from byteways.answers.claims.wording import difference, tie
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.base.units import format_size
from byteways.questions.subjects.messages import (
    lead_of,
    of_size,
    paths_of,
    setting_of,
    single_direction,
    window,
)
from byteways.questions.subjects.ranks import library, memory, where


def window_gain(index: Index) -> Iterator[Finding]:
    """Compares many messages in flight with one, at the size with the largest difference."""
    places = group_by(
        single_direction(index), lambda cell: (library(cell), where(index, cell), *setting_of(cell))
    )
    for members in places.values():
        alike = group_by(members, lambda cell: (cell.size_bytes, window(cell)))
        sizes = dict.fromkeys(size for size, _ in alike)
        pairs = {size: sides for size in sizes if (sides := _windows(alike, size)) is not None}
        if pairs:
            yield from _gain(lead_of(index, members[0], single_direction(index)), pairs)


def _windows(
    alike: Mapping[tuple[int, int | None], Sequence[Result]], size: int
) -> tuple[int, ResultGroup, ResultGroup] | None:
    """Returns the widest window at a size, and the results with it and with one message; else None."""
    widest = max((windows for at, windows in alike if at == size and windows is not None), default=1)
    if widest == 1 or (size, 1) not in alike:
        return None
    return widest, pool(alike[size, widest]), pool(alike[size, 1])


def _gain(place: str, pairs: Mapping[int, tuple[int, ResultGroup, ResultGroup]]) -> Iterator[Finding]:
    claims = {
        size: compare(
            many,
            single,
            kind="window",
            ways=len(pairs) + 1,
            names=(f"a window of {widest} messages", "a window of 1"),
        )
        for size, (widest, many, single) in pairs.items()
    }
    size = max(claims, key=lambda size: (claims[size].gain, size))
    _, many, single = pairs[size]
    claim, first = claims[size], many.cells[0]
    lead = f"{place}, {of_size(first, size)}"
    if claim.differ:
        title = f"{lead}: {difference(claim)}"
    elif claim.verdict == TIE:
        names = (claim.first.name, claim.second.name)
        title = f"{lead}: {tie(claim, names)}, {rate(many)} and {rate(single)} GB/s"
    else:  # some paths gain, others lose
        return
    sizes = [format_size(each) for each in claims]
    detail = f"{sentence(paths_of(many))}, {memory(first)}; compared at {', '.join(sizes)}."
    yield finding(title, detail, Priority.MESSAGE_WINDOW, (many, single), claims.values())
