"""Bandwidth over size in two runs: for each kind of pair and link class, the path that changed most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from byteways.explain.results.index import Index
from byteways.explain.results.selection import PAIR_KINDS, WITH_OWN_TABLES, kind, unidirectional
from byteways.explain.results.summary import group_by
from byteways.explain.results.variants import Variant
from byteways.explain.two_runs.paired_cases import PairedCase, most_changed, moved
from byteways.report.charts import Chart, short
from byteways.report.views.changed import Changed, counted, details, said
from byteways.units import format_size

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
        most = most_changed(pair for variant in kept for some in ways[variant].values() for pair in some)
        path = most.first.record.path
        lines = {
            variant.label(): ways[variant][path]
            for variant in [most.first.variant, *kept]
            if path in ways[variant]
        }
        between = link_class or PAIR_KINDS[order[place]]
        title = f"{path}, {between}{', warm caches' * warm}"
        own = [pair for some in lines.values() for pair in some]
        yield most, counted(Chart(title, "", figure(lines)), own)


def _warm(pair: PairedCase) -> bool:
    return pair.first.record.cache == "warm"


def _curves(alike: Iterable[PairedCase]) -> dict[Variant, dict[str, list[PairedCase]]]:
    """Returns the cases by way and path in the order of size, of those with at least two sizes."""
    by_way: dict[Variant, dict[str, list[PairedCase]]] = {}
    for (variant, path), some in group_by(
        alike, lambda pair: (pair.first.variant, pair.first.record.path)
    ).items():
        by_size = {pair.first.record.size_bytes: pair for pair in some}
        if len(by_size) > 1:
            by_way.setdefault(variant, {})[path] = [by_size[size] for size in sorted(by_size)]
    return by_way


def _fastest(ways: Mapping[Variant, Mapping[str, Sequence[PairedCase]]]) -> list[Variant]:
    """Returns the ways that were fastest in the first run at their largest size."""

    def reach(variant: Variant) -> float:
        return max(some[-1].first.value for some in ways[variant].values())

    return sorted(ways, key=reach, reverse=True)[:MOST_WAYS]


def figure(lines: Mapping[str, Sequence[PairedCase]]) -> dict[str, Any]:
    """Returns the data of a chart that the page draws itself (two_runs.js), rates in GB/s.

    Args:
        lines: Cases in the order of size, by the label of their way.
    """
    sizes = sorted({pair.first.record.size_bytes for some in lines.values() for pair in some})
    return {
        "lines": [_line(label, some) for label, some in lines.items()],
        "sizes": sizes,
        "names": [format_size(size) for size in sizes],
    }


def _line(label: str, pairs: Sequence[PairedCase]) -> dict[str, Any]:
    firsts, seconds = [pair.first for pair in pairs], [pair.second for pair in pairs]
    return {
        "label": label,
        "x": [pair.first.record.size_bytes for pair in pairs],
        "y": [short(cell.value / 1e9) for cell in firsts],
        "low": [short(cell.low / 1e9) for cell in firsts],
        "high": [short(cell.high / 1e9) for cell in firsts],
        "second": {
            "y": [short(cell.value / 1e9) for cell in seconds],
            "low": [short(cell.low / 1e9) for cell in seconds],
            "high": [short(cell.high / 1e9) for cell in seconds],
        },
        "speed": [short(pair.speed) for pair in pairs],
        "said": [said(pair) for pair in pairs],
        "told": [details(pair) for pair in pairs],
        "differ": [int(pair.claim.differ) for pair in pairs],
    }
