"""Predictions and results of concurrent flows at a glance: for each class of pattern, the worst case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from byteways.answers.claims.phrases import gb, percent
from byteways.answers.results.counting import count
from byteways.answers.results.summary import group_by
from byteways.base.units import format_size
from byteways.cases.case import PATTERNS
from byteways.questions.bottlenecks.prediction import Together
from byteways.questions.display.chart import INK, Axis, Chart, Point, Series, in_rows, of_rows

CAPTION = (
    "What to see: bars that end before their tick. The bar is the sum over all flows with its interval, the "
    "tick the prediction from single-flow rates under fair sharing of links; of equivalent cases, the one "
    "farthest below its prediction is shown. The percentage is the sum relative to the prediction."
)
#: Maximum number of devices that a path lists before they are counted instead.
MOST_LISTED_DEVICES = 3


def predicted_sums(cases: Sequence[Together]) -> Iterator[Chart]:
    """Yields the chart at the largest size of each interface; none without predictions."""
    classes = classes_of(cases)
    if not classes:
        return
    worst = [(min(alike, key=lambda case: case.kept), len(alike)) for alike in classes]
    rows = [label_of(case, several) for case, several in worst]
    series = [
        Series("reached", of_rows([_measured(case) for case, _ in worst]), "bars"),
        Series("predicted", of_rows([_foreseen(case) for case, _ in worst]), "points", INK, symbol="tick"),
    ]
    sizes = sorted({case.cell.size_bytes for case, _ in worst})
    title = f"Predicted and reached sums, {', '.join(map(format_size, sizes))}"
    yield in_rows(title, CAPTION, Axis("GB/s in total"), rows, series)


def classes_of(cases: Sequence[Together]) -> list[list[Together]]:
    """Returns the cases at the largest size of each interface by class of pattern."""
    largest = {
        interface: max(case.cell.size_bytes for case in members)
        for interface, members in group_by(cases, lambda case: case.cell.record.interface).items()
    }
    big = [case for case in cases if case.cell.size_bytes == largest[case.cell.record.interface]]
    return [members for _, members in sorted(group_by(big, _class).items())]


def _class(case: Together) -> tuple[int, str, str, int]:
    record = case.cell.record
    return PATTERNS.index(record.pattern), _between(case), record.interface, len(case.flows)


def _between(case: Together) -> str:
    ends = {(flow.source.device[:3], flow.destination.device[:3]) for flow in case.flows}
    kinds = {end for both in ends for end in both}
    if kinds == {"gpu"}:
        return "GPUs"
    return "host" if kinds == {"cpu"} else "host and GPUs"


def label_of(case: Together, several: int) -> str:
    record = case.cell.record
    text = f"{record.pattern}, {_between(case)}, {count(len(case.flows), 'flow')}, {record.interface}"
    return f"{text} ({several} cases)" if several > 1 else text


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


def shortened(path: str) -> str:
    """Replaces long device lists in a path by counts: `4 NUMA domains>8 GPUs`."""

    def counted(match: re.Match[str]) -> str:
        names = match[0].split(",")
        if len(names) <= MOST_LISTED_DEVICES:
            return match[0]
        return count(len(names), "GPU" if names[0].startswith("gpu") else "NUMA domain")

    return re.sub(r"(?:[cg]pu\d+,)+[cg]pu\d+", counted, path)
