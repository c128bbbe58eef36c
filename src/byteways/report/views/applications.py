"""Application patterns at a glance: the time of an iteration and of its exchange by transport and memory."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.explain.display.chart import Axis, Chart, Point, Series, in_rows, of_rows
from byteways.explain.results.index import Index
from byteways.explain.results.summary import Result, group_by
from byteways.explain.subjects.applications import (
    EXCHANGE,
    ITERATION,
    applications,
    choice_of,
    problem,
    timed_of,
    title_of,
)
from byteways.units import short_time

CAPTION = (
    "What to see: how much of an iteration is exchange, and which transport makes it short. A row is the "
    "transport, the memory of the data and of the messages; less is better."
)
#: Ways of one problem that are drawn, the fastest first; the table has all.
MOST_DRAWN = 12


def charts(index: Index) -> list[Chart]:
    """Returns a chart for each problem."""
    return [_chart(members) for members in group_by(applications(index.cells), problem).values()]


def _chart(members: Sequence[Result]) -> Chart:
    ways = group_by(members, lambda cell: (choice_of(cell), cell.variant.environment))
    timed = {way: {timed_of(cell): cell for cell in some} for way, some in ways.items()}
    order = sorted(timed, key=lambda way: min(cell.value for cell in timed[way].values()))[:MOST_DRAWN]
    series = [
        Series(name, of_rows([_bar(timed[way].get(name)) for way in order]), "bars")
        for name in (ITERATION, EXCHANGE)
        if any(name in timed[way] for way in order)
    ]
    rows = [
        ", ".join(part for part in (choice.transport, choice.data, choice.messages, environment) if part)
        for choice, environment in order
    ]
    return in_rows(title_of(members[0]), CAPTION, Axis("time", unit="ns"), rows, series)


def _bar(cell: Result | None) -> Point | None:
    if cell is None:
        return None
    details = f"{short_time(cell.value)} ({short_time(cell.low)}–{short_time(cell.high)})"
    return Point(cell.value, 0, cell.low, cell.high, details, short_time(cell.value))
