"""How sums grow with the number of GPUs that the host serves, a package at a time and spread over them."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.prediction import Together
from byteways.analyse.rules.facts import gb
from byteways.analyse.summary import group_by
from byteways.analyse.topic import Line, Plot, PlotPoint
from byteways.topology.model import Topology
from byteways.topology.packages import packed, spread
from byteways.units import format_size

TITLES = {
    "fan-out": "From the host to 2 … n GPUs at once",
    "fan-in": "From 2 … n GPUs to the host at once",
    "fan-bidirectional": "Between the host and 2 … n GPUs, both directions at once",
}
CAPTION = (
    "Sum over all flows. Packed fills a package and NUMA domain before the next, spread goes over all of "
    "them first; predicted is the even share of what each flow gets alone and the links carry."
)
#: Numbers of GPUs that make a line.
LEAST_POINTS = 2
#: Predictions that differ by less cannot be told apart on a plot.
ALIKE = 0.01


def plots(topology: Topology, cases: Sequence[Together]) -> tuple[Plot, ...]:
    """A plot for each direction, at the largest size of each interface."""
    found = []
    for pattern, title in TITLES.items():
        fans = [case for case in cases if case.cell.record.pattern == pattern and _gpus(case)]
        lines: list[Line] = []
        for interface, same in group_by(fans, lambda case: case.cell.record.interface).items():
            size = max(case.cell.record.size_bytes for case in same)
            of_size = [case for case in same if case.cell.record.size_bytes == size]
            lines += _lines(topology, f"{interface}, {format_size(size)}", of_size)
        if lines:
            found.append(Plot(title, CAPTION, "GPUs at once", "GB/s in sum", tuple(lines)))
    return tuple(found)


def _gpus(case: Together) -> frozenset[str]:
    """The GPUs that the host serves; empty where a flow is not between host and GPU."""
    ends = [{flow.source.agent, flow.destination.agent} for flow in case.flows]
    gpus = [{end for end in both if end.startswith("gpu")} for both in ends]
    if any(len(both) != 2 or len(one) != 1 for both, one in zip(ends, gpus, strict=True)):
        return frozenset()
    return frozenset().union(*gpus)


def _lines(topology: Topology, label: str, cases: Sequence[Together]) -> list[Line]:
    """Measured in both orders, which are one where no set of GPUs tells them apart, and predicted."""
    by_gpus = {_gpus(case): case for case in cases}
    orders = {"packed": packed(topology), "spread": spread(topology)}
    chosen = {
        name: [case for count in range(2, len(order) + 1) if (case := by_gpus.get(frozenset(order[:count])))]
        for name, order in orders.items()
    }
    if chosen["packed"] == chosen["spread"]:
        del chosen["spread"]
    lines = []
    foreseen: list[float] = []  # of the first order: where the other is the same, one line says both
    for name, same in chosen.items():
        if len(same) < LEAST_POINTS:
            continue
        order = f", {name}" if len(chosen) > 1 else ""
        lines.append(Line(f"{label}{order}", tuple(_measured(case) for case in same)))
        even = [case.even for case in same]
        if not foreseen or any(abs(a / b - 1) > ALIKE for a, b in zip(even, foreseen, strict=False)):
            lines.append(Line(f"{label}{order}, predicted", tuple(_predicted(case) for case in same)))
        foreseen = foreseen or even
    return lines


def _measured(case: Together) -> PlotPoint:
    cell = case.cell
    text = f"{cell.record.path}: {gb(cell.value)} GB/s"
    return PlotPoint(len(_gpus(case)), cell.value / 1e9, cell.low / 1e9, cell.high / 1e9, text)


def _predicted(case: Together) -> PlotPoint:
    even = case.even / 1e9
    text = f"{case.cell.record.path}: {gb(case.even)} GB/s predicted"
    return PlotPoint(len(_gpus(case)), even, even, even, text)
