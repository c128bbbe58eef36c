"""Contention at a glance: for each class of pattern, prediction and result, of one run or two."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.explain.bottlenecks.prediction import Together, predictions
from byteways.explain.claims.phrases import gb, percent
from byteways.explain.claims.wording import NO_DIFFERENCE, UNDECIDED
from byteways.explain.display.chart import INK, Axis, Chart, Point, Series, in_rows, of_rows
from byteways.explain.results.counting import count
from byteways.explain.results.index import Index
from byteways.explain.results.summary import group_by
from byteways.explain.subjects.contention import shortened
from byteways.explain.two_runs.paired_cases import PairedCase, most_changed
from byteways.plan.case import PATTERNS
from byteways.report.views.changed import FIRST_RUN, SECOND_RUN, Changed, counted, details, said
from byteways.units import format_size

CAPTION = (
    "What to see: bars that end before their tick. The bar is the sum over all flows with its interval, the "
    "tick the prediction from single-flow rates under fair sharing of links; of equal cases, the one "
    "farthest below its prediction. The percentage is reached of predicted."
)

#: … of two runs.
CAPTION_OF_TWO_RUNS = (
    "What to see: pairs of bars that differ in length. A percentage with a sign is the change of the sum, "
    f"“=” {NO_DIFFERENCE}, “?” {UNDECIDED}; “of predicted” is relative to the run's own single-flow rates: "
    "where it is equal in both runs, a link changed, not its sharing. Of equal cases, the one that changed "
    "most."
)


def charts(index: Index) -> list[Chart]:
    """Returns the chart at the largest size of each interface; none without predictions."""
    classes = _classes(index.once(predictions).cases)
    if not classes:
        return []
    worst = [(min(same, key=lambda case: case.kept), len(same)) for same in classes]
    rows = [_label(case, several) for case, several in worst]
    series = [
        Series("reached", of_rows([_measured(case) for case, _ in worst]), "bars"),
        Series("predicted", of_rows([_foreseen(case) for case, _ in worst]), "points", INK, symbol="tick"),
    ]
    sizes = sorted({case.cell.record.size_bytes for case, _ in worst})
    title = f"Predicted and reached sums, {', '.join(map(format_size, sizes))}"
    return [in_rows(title, CAPTION, Axis("GB/s in total"), rows, series)]


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
    for same in _classes(both):
        pair = most_changed(of_case[case.cell.record.case_id] for case in same)
        before = next(case for case in same if case.cell.record.case_id == pair.first.record.case_id)
        rows.append(_label(before, len(same)))
        sides.append(
            (_side(pair, before, FIRST_RUN), _side(pair, again[pair.first.record.case_id], SECOND_RUN))
        )
        shown.append(pair)
    if not rows:
        return []
    series = [
        Series(FIRST_RUN, of_rows([one for one, _ in sides]), "bars"),
        Series(SECOND_RUN, of_rows([two for _, two in sides]), "bars", dash="dashed"),
    ]
    sizes = sorted({pair.first.record.size_bytes for pair in shown})
    title = f"Sums of concurrent flows, {', '.join(map(format_size, sizes))}"
    return [counted(in_rows(title, CAPTION_OF_TWO_RUNS, Axis("GB/s in total"), rows, series), shown)]


def _side(pair: PairedCase, case: Together, run: str) -> Point:
    cell = case.cell
    told = f"{said(pair)}; " if run == SECOND_RUN else ""
    kept = f"{run}: {gb(cell.value)} of {gb(case.even)} GB/s predicted ({percent(case.kept)})"
    return Point(
        cell.value / 1e9,
        0,
        cell.low / 1e9,
        cell.high / 1e9,
        f"{kept}. {details(pair)}",
        f"{told}{percent(case.kept)} of predicted",
    )


def _classes(cases: Sequence[Together]) -> list[list[Together]]:
    """Returns the cases at the largest size of each interface by class of pattern."""
    largest = {
        interface: max(case.cell.record.size_bytes for case in same)
        for interface, same in group_by(cases, lambda case: case.cell.record.interface).items()
    }
    big = [case for case in cases if case.cell.record.size_bytes == largest[case.cell.record.interface]]
    return [same for _, same in sorted(group_by(big, _class).items())]


def _class(case: Together) -> tuple[int, str, str, int]:
    record = case.cell.record
    return PATTERNS.index(record.pattern), _between(case), record.interface, len(case.flows)


def _between(case: Together) -> str:
    ends = {(flow.source.device[:3], flow.destination.device[:3]) for flow in case.flows}
    kinds = {end for both in ends for end in both}
    if kinds == {"gpu"}:
        return "GPUs"
    return "host" if kinds == {"cpu"} else "host and GPUs"


def _label(case: Together, several: int) -> str:
    record = case.cell.record
    told = f"{record.pattern}, {_between(case)}, {count(len(case.flows), 'flow')}, {record.interface}"
    return f"{told} ({several} cases)" if several > 1 else told


def _measured(case: Together) -> Point:
    cell = case.cell
    details = (
        f"{shortened(cell.record.path)}: {gb(cell.value)} GB/s ({gb(cell.low)}–{gb(cell.high)}), "
        f"predicted {gb(case.even)}"
    )
    return Point(cell.value / 1e9, 0, cell.low / 1e9, cell.high / 1e9, details, percent(case.kept))


def _foreseen(case: Together) -> Point:
    text = f"{shortened(case.cell.record.path)}: {gb(case.even)} GB/s predicted"
    return Point(case.even / 1e9, 0, text=text)
