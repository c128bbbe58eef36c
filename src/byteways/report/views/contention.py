"""Contention at a glance: for each class of pattern, prediction and result, of two runs."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.answers.claims.phrases import gb, percent
from byteways.answers.claims.wording import NO_DIFFERENCE, UNDECIDED
from byteways.answers.results.index import Index
from byteways.base.units import format_size
from byteways.questions.bottlenecks.prediction import Together, predictions
from byteways.questions.display.chart import Axis, Point, Series, in_rows, of_rows
from byteways.questions.subjects.predicted_sums import classes_of, label_of
from byteways.report.views.changed import FIRST_RUN, SECOND_RUN, Changed, counted, details, said
from byteways.verdicts.two_runs.paired_cases import PairedCase, most_changed

CAPTION_OF_TWO_RUNS = (
    "What to see: pairs of bars that differ in length. A percentage with a sign is the change of the sum, "
    f"“=” {NO_DIFFERENCE}, “?” {UNDECIDED}; “of predicted” is relative to the run's own single-flow rates: "
    "if it is equal in both runs, a link changed, not its sharing. Of equivalent cases, the one that "
    "changed most is shown."
)


def changes(first: Index, second: Index, pairs: Sequence[PairedCase]) -> list[Changed]:
    """Returns the chart of two runs; none without predictions in both.

    Args:
        first: The first run.
        second: The second run.
        pairs: The cases in both.
    """
    of_case = {pair.first.record.case_id: pair for pair in pairs}
    again = {case.cell.record.case_id: case for case in second.once(predictions).cases}
    both = [
        case for case in first.once(predictions).cases if {case.cell.record.case_id} <= of_case.keys() & again
    ]
    rows, sides, shown = [], [], []
    for alike in classes_of(both):
        pair = most_changed(of_case[case.cell.record.case_id] for case in alike)
        before = next(case for case in alike if case.cell.record.case_id == pair.first.record.case_id)
        rows.append(label_of(before, len(alike)))
        sides.append(
            (_side(pair, before, FIRST_RUN), _side(pair, again[pair.first.record.case_id], SECOND_RUN))
        )
        shown.append(pair)
    if not rows:
        return []
    series = [
        Series(FIRST_RUN, of_rows([first_side for first_side, _ in sides]), "bars"),
        Series(SECOND_RUN, of_rows([two for _, two in sides]), "bars", dash="dashed"),
    ]
    sizes = sorted({pair.first.size_bytes for pair in shown})
    title = f"Sums of concurrent flows, {', '.join(map(format_size, sizes))}"
    return [counted(in_rows(title, CAPTION_OF_TWO_RUNS, Axis("GB/s in total"), rows, series), shown)]


def _side(pair: PairedCase, case: Together, run: str) -> Point:
    cell = case.cell
    text = f"{said(pair)}; " if run == SECOND_RUN else ""
    kept = f"{run}: {gb(cell.value)} of {gb(case.even)} GB/s predicted ({percent(case.kept)})"
    return Point(
        cell.value / 1e9,
        0,
        cell.low / 1e9,
        cell.high / 1e9,
        f"{kept}. {details(pair)}",
        f"{text}{percent(case.kept)} of predicted",
    )
