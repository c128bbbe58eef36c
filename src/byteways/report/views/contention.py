"""Contention at a glance: for each class of pattern, what was predicted and what was reached."""

from __future__ import annotations

from byteways.analyse.phrases import count, gb, percent
from byteways.analyse.prediction import Together, predictions
from byteways.analyse.results_index import Index
from byteways.analyse.subjects.contention import shortened
from byteways.analyse.summary import group_by
from byteways.plan.case import PATTERNS
from byteways.report.charts import Chart
from byteways.report.views.bars import Bar, Bars, of_bars
from byteways.units import format_size

CAPTION = (
    "What to see: bars that end before their tick. The bar is the sum over all flows with its interval, the "
    "tick the prediction from single-flow rates under fair sharing of links; of equal cases, the one "
    "farthest below its prediction. The percentage is reached of predicted."
)


def charts(index: Index) -> list[Chart]:
    """Returns the chart at the largest size of each interface; none without predictions."""
    cases = index.once(predictions).cases
    largest = {
        interface: max(case.cell.record.size_bytes for case in same)
        for interface, same in group_by(cases, lambda case: case.cell.record.interface).items()
    }
    big = [case for case in cases if case.cell.record.size_bytes == largest[case.cell.record.interface]]
    classes = sorted(group_by(big, _class).items())
    if not classes:
        return []
    worst = [(min(same, key=lambda case: case.kept), len(same)) for _, same in classes]
    measured = tuple(_measured(case) for case, _ in worst)
    foreseen = tuple(_foreseen(case) for case, _ in worst)
    rows = [_label(case, several) for case, several in worst]
    series = [Bars("reached", measured), Bars("predicted", foreseen, foreseen=True)]
    sizes = sorted({case.cell.record.size_bytes for case, _ in worst})
    title = f"Predicted and reached sums, {', '.join(map(format_size, sizes))}"
    return [of_bars(title, CAPTION, "GB/s in total", rows, series)]


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


def _measured(case: Together) -> Bar:
    cell = case.cell
    details = (
        f"{shortened(cell.record.path)}: {gb(cell.value)} GB/s ({gb(cell.low)}–{gb(cell.high)}), "
        f"predicted {gb(case.even)}"
    )
    return Bar(cell.value / 1e9, cell.low / 1e9, cell.high / 1e9, percent(case.kept), details)


def _foreseen(case: Together) -> Bar:
    even = case.even / 1e9
    return Bar(even, even, even, "", f"{shortened(case.cell.record.path)}: {gb(case.even)} GB/s predicted")
