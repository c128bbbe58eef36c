"""The latency hierarchy at a glance: the memories that an executor reaches, of one run or two."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.explain.claims.wording import NO_DIFFERENCE, UNDECIDED
from byteways.explain.display.chart import Axis, Chart, Point, Series, in_rows, of_rows
from byteways.explain.results.index import Index
from byteways.explain.results.summary import Result, ResultGroup
from byteways.explain.subjects.latency import levels_of_cpu, levels_of_gpus
from byteways.explain.two_runs.paired_cases import PairedCase, most_changed
from byteways.report.views.changed import FIRST_RUN, SECOND_RUN, Changed, counted, details, said
from byteways.units import short_time

TITLE = "Latency hierarchy"
LOAD_TIMES = Axis("time of a load", "log", "ns")
CAPTION = (
    "What to see: the factor from each level to the next, which is a distance on this axis. One dependent "
    "load along a random cycle; the whisker is the repeatability interval."
)
#: … of two runs.
CAPTION_OF_TWO_RUNS = (
    "What to see: rows whose marks lie apart. The percentage is the change of speed: a minus is more "
    f"latency; “=” is {NO_DIFFERENCE}, “?” {UNDECIDED}. Of equal cases, the one that changed most."
)


def charts(index: Index) -> list[Chart]:
    """Returns the chart of GPUs and of one NUMA domain; none with fewer than two levels."""
    executor, gpus, cpu = _levels(index)
    rows = gpus + cpu
    if len(rows) < 2:
        return []
    series = []
    if gpus:
        series.append(Series("by a GPU", of_rows([_dot(group) for _, group in gpus]), "points"))
    if cpu:
        places = [*(None for _ in gpus), *(_dot(group) for _, group in cpu)]
        series.append(Series(f"by {executor}", of_rows(places), "points"))
    return [in_rows(TITLE, CAPTION, LOAD_TIMES, [name for name, _ in rows], series)]


def changes(first: Index, pairs: Sequence[PairedCase]) -> list[Changed]:
    """Returns the chart of two runs, by the levels of the first; none without a level in both.

    Args:
        first: The first run.
        pairs: The cases in both.
    """
    of_case = {pair.first.record.case_id: pair for pair in pairs}
    _, gpus, cpu = _levels(first)
    told = [
        (name, [of_case[cell.record.case_id] for cell in group.cells if cell.record.case_id in of_case])
        for name, group in gpus + cpu
    ]
    rows = [(name, most_changed(some)) for name, some in told if some]
    if not rows:
        return []
    series = [
        Series(FIRST_RUN, of_rows([_mark(pair, pair.first, "") for _, pair in rows]), "points"),
        Series(SECOND_RUN, of_rows([_mark(pair, pair.second, said(pair)) for _, pair in rows]), "points"),
    ]
    chart = in_rows(TITLE, CAPTION_OF_TWO_RUNS, LOAD_TIMES, [name for name, _ in rows], series)
    return [counted(chart, [pair for _, pair in rows])]


def _levels(index: Index) -> tuple[str, list[tuple[str, ResultGroup]], list[tuple[str, ResultGroup]]]:
    """Returns a NUMA domain, and the levels of GPUs and of that domain, each with its name."""
    gpus = [(f"GPU: {name}", group) for name, group in levels_of_gpus(index)]
    executor, of_cpu = levels_of_cpu(index)
    return executor, gpus, [(f"{executor}: {name}", group) for name, group in of_cpu]


def _mark(pair: PairedCase, cell: Result, change: str) -> Point:
    text = f"{short_time(cell.value)}, {change}" if change else ""
    return Point(cell.value, 0, cell.low, cell.high, details(pair), text)


def _dot(group: ResultGroup) -> Point:
    told = short_time(group.value)
    details = f"{told} ({short_time(group.low)}–{short_time(group.high)}), median of {len(group.cells)}"
    return Point(group.value, 0, group.low, group.high, details, told)
