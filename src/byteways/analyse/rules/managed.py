"""Pages that move: what a prefetch costs beside a copy, and from which size on which way is fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byteways.analyse.pages import ON_DEMAND, PREFETCH, WAYS, ZERO_COPY, Compared, compared
from byteways.analyse.rules.facts import Facts, Finding, gb, listed, marked, times, way
from byteways.analyse.selection import KINDS, variant
from byteways.analyse.summary import above, group_by
from byteways.units import format_size

PREFETCHING, CROSSOVER = 565.0, 455.0

#: How a sentence calls each way when it is the fastest.
_NAMES = {
    PREFETCH: "prefetching",
    ON_DEMAND: "migration on demand",
    ZERO_COPY: "reaching the pages where they are (zero-copy)",
}


def _by_place(facts: Facts) -> list[list[Compared]]:
    found = compared(facts.topology, facts.cells)
    return list(group_by(found, lambda one: (one.kind, one.wires)).values())


def _where(one: Compared, several: bool) -> str:
    lead = KINDS[one.kind]
    return f"{lead} ({one.wires})" if several and one.wires else lead


def prefetching(facts: Facts) -> Iterator[Finding]:
    """How many times as long the prefetch call takes as the fastest interface between settled memories."""
    worst: tuple[float, Finding] | None = None
    for sizes in _by_place(facts):
        slow = [one for one in sizes if one.slow_down is not None]
        if not slow:
            continue
        last = slow[-1]
        first, pages = last.explicit, last.ways[PREFETCH]
        if first is None or last.slow_down is None or not above(first, pages):
            continue
        peak = max(slow, key=lambda one: one.slow_down or 0.0)
        title = (
            f"Prefetching {pages.cells[0].record.path} takes {times(last.slow_down)} as long as "
            f"{way(variant(first.cells[0]))}: {gb(pages.value)} against {gb(first.value)} GB/s at "
            f"{format_size(last.size_bytes)}"
        )
        if peak is not last and peak.slow_down is not None and peak.slow_down > 1.1 * last.slow_down:
            title += f", and {times(peak.slow_down)} at {format_size(peak.size_bytes)}"
        detail = (
            "The prefetch moves the pages of one allocation, the other fills a second one; where the pages "
            "went was asked for after every timed batch."
        )
        finding = Finding(marked(title, pages, first), detail, PREFETCHING)
        if worst is None or last.slow_down > worst[0]:
            worst = last.slow_down, finding
    if worst is not None:
        yield worst[1]


def crossover(facts: Facts) -> Iterator[Finding]:
    """Which way is fastest at which sizes, for each kind of pair; over the class of links that came first."""
    places = _by_place(facts)
    kinds = [sizes[0].kind for sizes in places]
    for index, sizes in enumerate(places):
        if sizes[0].kind in kinds[:index]:
            continue  # the report has the other classes
        spans = _spans([one for one in sizes if len(one.ways) > 1])
        if not spans:
            continue
        parts = [f"{_NAMES[name]} {_between(least, most)}" for name, least, most, _ in spans]
        lead = _where(sizes[0], kinds.count(sizes[0].kind) > 1)
        title = f"{lead}, of what managed pages can do, fastest is {listed(parts)}"
        at = spans[-1][3]
        detail = f"At {format_size(at.size_bytes)}: " + listed(
            [f"{name} {gb(at.ways[name].value)} GB/s" for name in WAYS if name in at.ways]
        )
        yield Finding(marked(title, *at.ways.values()), detail + ".", CROSSOVER)


def _spans(sizes: Sequence[Compared]) -> list[tuple[str, int, int, Compared]]:
    """Runs of neighbouring sizes at which one way is fastest; sizes without a fastest end a run."""
    spans: list[tuple[str, int, int, Compared]] = []
    before: str | None = None
    for one in sizes:
        name = one.fastest
        if name is not None and name == before:
            spans[-1] = (name, spans[-1][1], one.size_bytes, one)
        elif name is not None:
            spans.append((name, one.size_bytes, one.size_bytes, one))
        before = name
    return spans


def _between(least: int, most: int) -> str:
    if least == most:
        return f"at {format_size(least)}"
    return f"from {format_size(least)} to {format_size(most)}"
