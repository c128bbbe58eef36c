"""Contention: how total bandwidth grows with the number of GPUs, filled package by package or spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import gb, percent, rate, supported
from byteways.answers.claims.wording import all_as_predicted
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.summary import group_by
from byteways.base.units import format_size
from byteways.cases.case import PATTERNS
from byteways.machine.model import Topology
from byteways.machine.packages import packed, spread
from byteways.questions.bottlenecks.bottlenecks import Bottleneck, Explanation, explanations
from byteways.questions.bottlenecks.prediction import HELD_BACK, Predictions, Together, predictions
from byteways.questions.display.chart import Axis, Chart, Point, Series
from byteways.questions.display.table import Columns, Table, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.questions.subjects.predicted_sums import predicted_sums, shortened
from byteways.record.record import Record
from byteways.record.simulation_mark import Voice

INTRODUCTION = (
    "Each concurrent case is predicted from its flows {measured} alone and from the links (maximum flow "
    "with fixed routes); under fair sharing of links the prediction can be lower. A case that stays below"
    " it has a bottleneck: the smallest set of shared resources whose load is the same wherever they "
    "limit the flows."
)
NOTHING = "unexplained"
#: Label of a gap seen in one case only: many bottlenecks could explain it.
ONCE = "undetermined (one case)"
#: Maximum number of equally likely bottlenecks that a table cell lists.
MOST_NAMES = 3


def topic(index: Index) -> Topic | None:
    """Returns the topic; None without a concurrent case whose flows were also measured alone."""
    predicted = index.once(predictions)
    if not predicted.cases:
        return None
    explained = index.once(_explanations)
    both = _bottlenecks(explained, index.voice), _cases(index, predicted, explained)
    tables = [table for table in both if table.rows]
    drawn = charts(index.topology, predicted.cases)
    lead = INTRODUCTION.format(measured=index.voice.measured)
    overview = tuple(predicted_sums(predicted.cases))
    return Topic("together", "Contention", lead, tuple(tables), drawn, overview=overview)


def _explanations(index: Index) -> list[Explanation]:
    return explanations(index.topology, index.once(predictions))


def named(names: Sequence[str]) -> str:
    """`the link gpu0>gpu1`, or several equally likely ones: `… or …`."""
    more = len(names) - MOST_NAMES
    return " or ".join(names[:MOST_NAMES]) + (f" or {count(more, 'other')}" if more > 0 else "")


def _bottlenecks(explained: Sequence[Explanation], voice: Voice) -> Table:
    columns: Columns[Bottleneck] = (
        words("bottleneck", lambda one: named(one.names)),
        figures(f"{voice.measured} limit, GB/s", lambda one: gb(one.bytes_per_s)),
        words("interface, size", lambda one: _interface_and_size(one.example.cell.record)),
        figures("cases", lambda one: str(len(one.cases))),
        words("example, GB/s", lambda one: _instead(one.example)),
    )
    found = [bottleneck for explanation in explained for bottleneck in explanation.bottlenecks]
    note = "“or” joins resources that this run cannot distinguish"
    if any(bottleneck.resource.hidden for bottleneck in found):
        note += ". A shared resource without a name may be a PCIe switch that the topology does not show"
    return tabulated("Bottlenecks", columns, found, note)


def _interface_and_size(record: Record) -> str:
    return f"{record.interface}, {format_size(record.size_bytes)}"


def _instead(example: Together) -> str:
    return f"{shortened(example.cell.record.path)}: {gb(example.cell.value)} instead of {gb(example.even)}"


def _cases(index: Index, predicted: Predictions, explained: Sequence[Explanation]) -> Table:
    """Builds the table of cases; equal cases share a row with the one farthest below its prediction."""
    groups = group_by(
        predicted.cases,
        lambda case: (
            PATTERNS.index(case.cell.record.pattern),
            case.setting,
            case.cell.record.access,
            len(case.flows),
            tuple(sorted(flow.path[:3] + flow.path.rpartition(">")[2][:3] for flow in case.flows)),
            index.link_classes(case.cell),
        ),
    )
    measured = index.voice.measured
    sizes = sorted({case.cell.size_bytes for case in predicted.cases})
    rows = [
        (min(members, key=lambda case: case.kept), len(members))
        for _, members in sorted(groups.items(), key=lambda item: _order(item[1][0]))
    ]

    def interface(case: Together) -> str:
        size = f", {format_size(case.cell.size_bytes)}" * (len(sizes) > 1)
        return f"{case.cell.variant.name}{size}"

    def remarks(case: Together) -> str:
        return "; ".join([*_reasons(case, explained), *case.cell.doubts])

    columns: Columns[tuple[Together, int]] = (
        words("pattern", lambda row: row[0].cell.record.pattern),
        words("interface", lambda row: interface(row[0])),
        words("path", lambda row: shortened(row[0].cell.record.path)),
        figures("cases", lambda row: str(row[1])),
        figures("alone", lambda row: gb(sum(row[0].alone))),
        figures("predicted", lambda row: gb(row[0].most)),
        figures(measured, lambda row: gb(row[0].cell.value)),
        figures("ratio", lambda row: percent(row[0].cell.value / row[0].most)),
        words("limited by, remarks", lambda row: remarks(row[0])),
    )
    note = (
        "GB/s in total. Of equivalent cases, the one farthest below its prediction is shown. ‘Limited by’ "
        f"names the bottleneck of a case at least {percent(1 - HELD_BACK)} below fair sharing, if it is "
        "identified"
    )
    if predicted.lacking:
        lacking = count(predicted.lacking, "case")
        note += f"; {lacking} could not be predicted, as a flow was not {measured} alone"
    size_said = f", {format_size(sizes[0])}" if len(sizes) == 1 else ""
    return tabulated(f"Predicted vs {measured}{size_said}", columns, rows, note)


def _order(case: Together) -> tuple[object, ...]:
    record = case.cell.record
    return PATTERNS.index(record.pattern), record.interface, -record.size_bytes, len(case.flows), record.path


def _reasons(case: Together, explained: Sequence[Explanation]) -> list[str]:
    """Returns the reasons why a case stays below the sum of its single flows, predicted or not."""
    if case.held_back:
        names = [bottleneck.names[0] for each in explained for bottleneck in each.of(case)]
        alone = any(each.unexplained == (case,) and not each.bottlenecks for each in explained)
        return names or [ONCE if alone else NOTHING]
    if case.even < HELD_BACK * case.most:
        return [f"as predicted: fair sharing of links gives {gb(case.even)}"]
    if case.limits and case.most < HELD_BACK * sum(case.alone):
        kept = ", ".join(case.limits[:MOST_NAMES])
        return [f"as predicted: {kept}" + (", …" if len(case.limits) > MOST_NAMES else "")]
    return []


TITLES = {
    "fan-out": "From the host to 2 … n GPUs concurrently",
    "fan-in": "From 2 … n GPUs to the host concurrently",
    "fan-bidirectional": "Between the host and 2 … n GPUs, both directions concurrently",
}
CAPTION = (
    "Sum over all flows. Packed: fill one package and NUMA domain before the next. Spread: use all of "
    "them first. Predicted: fair sharing, from single-flow rates and links."
)
#: Minimum number of GPU counts for a line.
LEAST_POINTS = 2
#: Predictions within this relative difference are drawn as one line.
PREDICTIONS_EQUAL_WITHIN = 0.01


def charts(topology: Topology, cases: Sequence[Together]) -> tuple[Chart, ...]:
    """Returns a chart per direction, at the largest size of each interface."""
    drawn = []
    for pattern, title in TITLES.items():
        fans = [case for case in cases if case.cell.record.pattern == pattern and _gpus(case)]
        lines: list[Series] = []
        for interface, members in group_by(fans, lambda case: case.cell.record.interface).items():
            size = max(case.cell.size_bytes for case in members)
            of_size = [case for case in members if case.cell.size_bytes == size]
            lines += _lines(topology, f"{interface}, {format_size(size)}", of_size)
        if lines:
            drawn.append(
                Chart(
                    title, CAPTION, Axis("concurrent GPUs", unit="count"), Axis("GB/s in total"), tuple(lines)
                )
            )
    return tuple(drawn)


def _gpus(case: Together) -> frozenset[str]:
    """Returns the GPUs of a host-GPU case; empty if a flow is not between host and GPU."""
    ends = [{flow.source.device, flow.destination.device} for flow in case.flows]
    gpus = [{end for end in both if end.startswith("gpu")} for both in ends]
    if any(len(both) != 2 or len(near) != 1 for both, near in zip(ends, gpus, strict=True)):
        return frozenset()
    return frozenset().union(*gpus)


def _lines(topology: Topology, label: str, cases: Sequence[Together]) -> list[Series]:
    """Returns measured lines in both orders of GPUs (merged if they select the same GPUs) and predictions."""
    by_gpus = {_gpus(case): case for case in cases}
    orders = {"packed": packed(topology), "spread": spread(topology)}
    chosen = {
        name: [case for count in range(2, len(order) + 1) if (case := by_gpus.get(frozenset(order[:count])))]
        for name, order in orders.items()
    }
    if chosen["packed"] == chosen["spread"]:
        del chosen["spread"]
    lines = []
    foreseen: list[float] = []  # of the first order; an equal prediction of the other is not drawn
    for name, members in chosen.items():
        if len(members) < LEAST_POINTS:
            continue
        order = f", {name}" if len(chosen) > 1 else ""
        lines.append(Series(f"{label}{order}", tuple(_measured(case) for case in members)))
        even = [case.even for case in members]
        if not foreseen or any(
            abs(a / b - 1) > PREDICTIONS_EQUAL_WITHIN for a, b in zip(even, foreseen, strict=False)
        ):
            lines.append(Series(f"{label}{order}, predicted", tuple(_predicted(case) for case in members)))
        foreseen = foreseen or even
    return lines


def _measured(case: Together) -> Point:
    cell = case.cell
    text = f"{cell.record.path}: {gb(cell.value)} GB/s"
    return Point(len(_gpus(case)), cell.value / 1e9, cell.low / 1e9, cell.high / 1e9, text)


def _predicted(case: Together) -> Point:
    even = case.even / 1e9
    text = f"{case.cell.record.path}: {gb(case.even)} GB/s predicted"
    return Point(len(_gpus(case)), even, text=text)


#: Minimum number of cases for the finding that all match their predictions.
LEAST_PREDICTED = 4
#: Added to the weight of a bottleneck where flows lose everything: it orders several of them.
MOST_LOST = 10.0


def bottlenecks(index: Index) -> Iterator[Finding]:
    predicted, explained = index.once(predictions), index.once(_explanations)
    groups = group_by(
        [bottleneck for each in explained for bottleneck in each.bottlenecks],
        lambda one: one.resource.hidden or one.resource.name,
    )
    yield from map(_named, groups.values())
    unexplained = [case for each in explained for case in each.unexplained]
    if unexplained:
        yield _unexplained(unexplained)
    if not predicted.held_back and len(predicted.cases) >= LEAST_PREDICTED:
        yield from _as_predicted(predicted, index.voice)


def _named(alike: Sequence[Bottleneck]) -> Finding:
    """Reports one shared resource, with its limit by interface, or by direction if it is hidden."""
    most = min(alike, key=lambda bottleneck: (-len(bottleneck.cases), bottleneck.example.kept))
    example, record = most.example, most.example.cell.record
    total = most.bytes_per_s / 1e9
    low, high = (end / example.cell.value for end in (example.cell.low, example.cell.high))
    title = (
        f"Shared bottleneck: {most.names[0]} ({supported(total, total * low, total * high)} GB/s in total); "
        f"{record.interface} {shortened(record.path)} reaches {rate(example.cell)}; "
        f"single-flow rates predict {gb(example.even)}"
    )
    detail = f"{format_size(record.size_bytes)}."
    if len(most.names) > 1:
        detail += f" Could equally be {named(most.names[1:])}."
    if most.resource.hidden:
        detail += " It may be a PCIe switch: the topology shows none there."
    cases = len({case.cell.record.case_id for bottleneck in alike for case in bottleneck.cases})
    detail += f" Explains {count(cases, 'case')} below prediction."
    others = [
        f"{gb(bottleneck.bytes_per_s)} by {bottleneck.example.cell.record.interface}"
        + (
            f" at {format_size(size)}"
            if (size := bottleneck.example.cell.size_bytes) != record.size_bytes
            else ""
        )
        + (f" ({bottleneck.resource.towards})" if bottleneck.resource.hidden else "")
        for bottleneck in alike
        if bottleneck is not most and gb(bottleneck.bytes_per_s) != gb(most.bytes_per_s)
    ]
    if others:
        detail += f" Other limits: {listed(others)}."
    priority = Priority.HIDDEN_BOTTLENECK if most.resource.hidden else Priority.BOTTLENECK
    claims = [case.claim for bottleneck in alike for case in bottleneck.cases]
    return finding(title, detail, priority, (example.cell,), claims, more=MOST_LOST * (1 - example.kept))


def _unexplained(cases: Sequence[Together]) -> Finding:
    worst = min(cases, key=lambda case: (bool(case.cell.doubts), case.kept))
    record = worst.cell.record
    title = (
        f"{record.pattern} {record.interface} reaches {rate(worst.cell)}; single-flow rates and links "
        f"predict {gb(worst.even)} GB/s; "
        + (
            "the bottleneck is not identified"
            if len(cases) > 1
            else "one case is not enough to find the bottleneck"
        )
    )
    detail = f"{shortened(record.path)}, {format_size(record.size_bytes)}."
    if len(cases) > 1:
        detail += f" Seen in {count(len(cases), 'case')} of this run."
    return finding(title, detail, Priority.UNEXPLAINED_LOSS, (worst.cell,), [case.claim for case in cases])


def _as_predicted(predicted: Predictions, voice: Voice) -> Iterator[Finding]:
    """Reports that all cases reach their predictions; nothing if one does not, although not significantly."""
    cases = predicted.cases
    ratios = sorted(case.kept for case in cases)
    if ratios[0] < HELD_BACK:
        return
    all_cases = all_as_predicted(len(cases), predicted.lacking, voice)
    title = f"{all_cases} perform as predicted from single-flow rates"
    least, most = (f"{100 * ratio:.0f}" for ratio in (ratios[0], ratios[-1]))
    share = f"{least} %" if least == most else f"Between {least} and {most} %"
    detail = f"{share} of the prediction from single-flow rates and links."
    yield finding(title + " and links", detail, Priority.AS_PREDICTED, (), [case.claim for case in cases])
