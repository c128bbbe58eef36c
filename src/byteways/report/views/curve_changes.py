"""Bandwidth over size in two runs: for each kind of pair and link class, the path that changed most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, WITH_OWN_TABLES, kind, unidirectional
from byteways.answers.results.summary import Result, group_by
from byteways.answers.results.variants import Variant
from byteways.questions.display.chart import (
    TRANSFER_SIZES,
    Axis,
    Chart,
    Panel,
    Point,
    ReferenceLine,
    Series,
    ratio_axis,
)
from byteways.questions.display.curves import result_point
from byteways.report.views.changed import SECOND_RUN, Changed, counted, details
from byteways.verdicts.two_runs.paired_cases import PairedCase, most_changed, moved

#: Ways in one chart: each has a line for either run.
MOST_WAYS = 3


def changes(first: Index, pairs: Sequence[PairedCase]) -> list[Changed]:
    """Returns the charts, the largest changes first.

    Args:
        first: The first run, whose topology names the link classes.
        pairs: The cases in both runs.
    """
    drawn = [(moved(most), chart) for most, chart in _charts(first, pairs)]
    return [chart for _, chart in sorted(drawn, key=lambda entry: -entry[0])]


def _charts(first: Index, pairs: Sequence[PairedCase]) -> Iterator[tuple[PairedCase, Changed]]:
    plain = {cell.record.case_id for cell in unidirectional(pair.first for pair in pairs)}
    shown = [
        pair
        for pair in pairs
        if pair.first.record.case_id in plain and pair.first.record.interface not in WITH_OWN_TABLES
    ]
    order = list(PAIR_KINDS)
    classes = group_by(
        shown, lambda pair: (order.index(kind(pair.first)), first.link_class(pair.first), _warm(pair))
    )
    for (place, link_class, warm), alike in sorted(classes.items()):
        ways = _curves(alike)
        if not ways:
            continue
        kept = _fastest(ways)
        most = most_changed(pair for variant in kept for group in ways[variant].values() for pair in group)
        path = most.first.record.path
        lines = {
            variant.name: ways[variant][path]
            for variant in [most.first.variant, *kept]
            if path in ways[variant]
        }
        between = link_class or PAIR_KINDS[order[place]]
        title = f"{path}, {between}{', warm caches' * warm}"
        own = [pair for members in lines.values() for pair in members]
        yield most, counted(both_runs(title, lines), own)


def _warm(pair: PairedCase) -> bool:
    return pair.first.record.cache == "warm"


def _curves(alike: Iterable[PairedCase]) -> dict[Variant, dict[str, list[PairedCase]]]:
    """Returns the cases by way and path in the order of size, of those with at least two sizes."""
    by_way: dict[Variant, dict[str, list[PairedCase]]] = {}
    for (variant, path), members in group_by(
        alike, lambda pair: (pair.first.variant, pair.first.record.path)
    ).items():
        by_size = {pair.first.size_bytes: pair for pair in members}
        if len(by_size) > 1:
            by_way.setdefault(variant, {})[path] = [by_size[size] for size in sorted(by_size)]
    return by_way


def _fastest(ways: Mapping[Variant, Mapping[str, Sequence[PairedCase]]]) -> list[Variant]:
    """Returns the ways that were fastest in the first run at their largest size."""

    def reach(variant: Variant) -> float:
        return max(group[-1].first.value for group in ways[variant].values())

    return sorted(ways, key=reach, reverse=True)[:MOST_WAYS]


def both_runs(title: str, lines: Mapping[str, Sequence[PairedCase]]) -> Chart:
    """Charts the first run, the second one dashed, and its speed relative to the first below.

    Args:
        title: Of the chart.
        lines: Cases in the order of size, by the label of their way.
    """
    above: list[Series] = []
    below: list[Series] = []
    for colour, (label, pairs) in enumerate(lines.items()):
        first, second = ((pair.first for pair in pairs), (pair.second for pair in pairs))
        above.append(Series(label, _points(pairs, first), "", colour, "solid"))
        again = _points(pairs, second, is_open=True)
        above.append(Series(SECOND_RUN, again, "", colour, "dashed", group=label))
        speeds = tuple(
            Point(pair.first.size_bytes, pair.speed, text=details(pair), open=not pair.claim.differ)
            for pair in pairs
        )
        below.append(Series("speed", speeds, "", colour, "dashed", group=label))
    speed = Panel(ratio_axis("speed", below), tuple(below), (ReferenceLine("", 1.0),))
    return Chart(title, "", TRANSFER_SIZES, Axis("GB/s", "log"), tuple(above), below=(speed,))


def _points(
    pairs: Sequence[PairedCase], cells: Iterable[Result], *, is_open: bool = False
) -> tuple[Point, ...]:
    return tuple(
        replace(result_point(cell.size_bytes, cell), text=details(pair), open=is_open)
        for pair, cell in zip(pairs, cells, strict=True)
    )
