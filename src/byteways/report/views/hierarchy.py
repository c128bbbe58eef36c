"""The latency hierarchy at a glance: the memories that an executor reaches, of two runs."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.answers.claims.wording import NO_DIFFERENCE, UNDECIDED
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result
from byteways.base.units import short_time
from byteways.questions.display.chart import Point, Series, in_rows, of_rows
from byteways.questions.subjects.latency import LOAD_TIMES, TITLE, levels
from byteways.report.views.changed import FIRST_RUN, SECOND_RUN, Changed, counted, details, said
from byteways.verdicts.two_runs.paired_cases import PairedCase, most_changed

CAPTION_OF_TWO_RUNS = (
    "What to see: rows whose marks differ. The percentage is the change of speed: negative means higher "
    f"latency; “=” is {NO_DIFFERENCE}, “?” {UNDECIDED}. Of equivalent cases, the one that changed most is "
    "shown."
)


def changes(first: Index, pairs: Sequence[PairedCase]) -> list[Changed]:
    """Returns the chart of two runs, by the levels of the first; none without a level in both.

    Args:
        first: The first run.
        pairs: The cases in both.
    """
    of_case = {pair.first.record.case_id: pair for pair in pairs}
    _, gpus, cpu = levels(first)
    levels_in_both = [
        (name, [of_case[cell.record.case_id] for cell in group.cells if cell.record.case_id in of_case])
        for name, group in gpus + cpu
    ]
    rows = [(name, most_changed(own)) for name, own in levels_in_both if own]
    if not rows:
        return []
    series = [
        Series(FIRST_RUN, of_rows([_mark(pair, pair.first, "") for _, pair in rows]), "points"),
        Series(SECOND_RUN, of_rows([_mark(pair, pair.second, said(pair)) for _, pair in rows]), "points"),
    ]
    chart = in_rows(TITLE, CAPTION_OF_TWO_RUNS, LOAD_TIMES, [name for name, _ in rows], series)
    return [counted(chart, [pair for _, pair in rows])]


def _mark(pair: PairedCase, cell: Result, change: str) -> Point:
    text = f"{short_time(cell.value)}, {change}" if change else ""
    return Point(cell.value, 0, cell.low, cell.high, details(pair), text)
