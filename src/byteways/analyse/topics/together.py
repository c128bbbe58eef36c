"""Flows together: what each concurrent case should move, what it moved, and what holds it back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from byteways.analyse.bottlenecks import Explanation, explanations
from byteways.analyse.prediction import HELD_BACK, Predictions, Together, predictions
from byteways.analyse.rules.facts import Facts, count, gb, percent
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Table, Topic
from byteways.analyse.topics.together_plots import plots
from byteways.plan.case import PATTERNS
from byteways.units import format_size

LEAD = (
    "From what every flow gets alone, and from what the links carry, the largest sum follows (a maximum "
    "flow with fixed routes). Where flows share links evenly it may be less: the even share. A case that "
    "moves less than that meets something that no flow meets alone. Its name is the fewest shared resources "
    "whose load is the same wherever they hold flows back."
)
NOTHING = "nothing explains it"
#: Of the only such case of a run, which anything would explain.
ONCE = "one case alone does not tell"
#: Names of a bottleneck that the cases cannot tell apart, as far as a table has room for them.
MOST_NAMES = 3
#: Agents side by side that a path has room for.
MOST_AGENTS = 3


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """None without a concurrent case whose flows were measured alone too."""
    facts = Facts(run)
    predicted = predictions(facts)
    if not predicted.cases:
        return None
    explained = explanations(run.topology, predicted.cases)
    tables = [table for table in (_bottlenecks(explained), _cases(predicted, explained)) if table.rows]
    drawn = plots(run.topology, predicted.cases)
    return Topic("together", "Flows together", LEAD, tuple(tables), drawn)


def named(names: Sequence[str]) -> str:
    """`the link gpu0>gpu1`, or several that cannot be told apart: `… or …`."""
    more = len(names) - MOST_NAMES
    return " or ".join(names[:MOST_NAMES]) + (f" or {count(more, 'other')}" if more > 0 else "")


def shortened(path: str) -> str:
    """A path without the names of its agents where many stand side by side: `4 NUMA domains>8 GPUs`."""

    def counted(match: re.Match[str]) -> str:
        names = match[0].split(",")
        if len(names) <= MOST_AGENTS:
            return match[0]
        return count(len(names), "GPU" if names[0].startswith("gpu") else "NUMA domain")

    return re.sub(r"(?:[cg]pu\d+,)+[cg]pu\d+", counted, path)


def _bottlenecks(explained: Sequence[Explanation]) -> Table:
    rows = []
    for explanation in explained:
        for one in explanation.bottlenecks:
            example, record = one.example, one.example.cell.record
            rows.append(
                (
                    named(one.names),
                    gb(one.bytes_per_s),
                    f"{record.interface}, {format_size(record.size_bytes)}",
                    str(len(one.cases)),
                    f"{shortened(record.path)}: {gb(example.cell.value)} instead of {gb(example.even)}",
                )
            )
    headings = ("bottleneck", "carries, GB/s", "interface, size", "holds back, cases", "for example, GB/s")
    note = "“or” joins what the cases of this run cannot tell apart"
    if any(one.resource.hidden for each in explained for one in each.bottlenecks):
        note += ". What GPUs share on a way is such as a PCIe switch that the topology does not show"
    return Table("What holds flows back", headings, tuple(rows), (1, 3), note)


def _cases(predicted: Predictions, explained: Sequence[Explanation]) -> Table:
    """A row for equal cases on different agents, the one farthest below its prediction."""
    groups = group_by(
        predicted.cases,
        lambda case: (
            PATTERNS.index(case.cell.record.pattern),
            case.setting,
            case.cell.record.access,
            len(case.flows),
            tuple(sorted(flow.path[:3] + flow.path.rpartition(">")[2][:3] for flow in case.flows)),
        ),
    )
    sizes = sorted({case.cell.record.size_bytes for case in predicted.cases})
    rows = []
    for _, same in sorted(groups.items(), key=lambda item: _order(item[1][0])):
        worst = min(same, key=lambda case: case.kept)
        record = worst.cell.record
        size = f", {format_size(record.size_bytes)}" * (len(sizes) > 1)
        rows.append(
            (
                record.pattern,
                f"{record.interface}, {record.access}{size}",
                shortened(record.path),
                str(len(same)),
                gb(sum(worst.alone)),
                gb(worst.most),
                gb(worst.cell.value),
                percent(worst.cell.value / worst.most),
                "; ".join([*_reasons(worst, explained), *worst.cell.doubts]),
            )
        )
    headings = (
        *("pattern", "interface", "path", "cases", "alone", "predicted", "measured", "part"),
        "held back by",
    )
    note = (
        "GB/s in sum, of equal cases the one farthest below prediction. Held back is what stays below the "
        f"even share by {percent(1 - HELD_BACK)} and more"
    )
    if predicted.lacking:
        note += (
            f"; {count(predicted.lacking, 'case')} could not be predicted, as a flow was not measured alone"
        )
    one = f", {format_size(sizes[0])}" if len(sizes) == 1 else ""
    return Table(f"Predicted and measured{one}", headings, tuple(rows), (3, 4, 5, 6, 7), note)


def _order(case: Together) -> tuple[object, ...]:
    record = case.cell.record
    return PATTERNS.index(record.pattern), record.interface, -record.size_bytes, len(case.flows), record.path


def _reasons(case: Together, explained: Sequence[Explanation]) -> list[str]:
    """What keeps a case from moving as much as its flows alone, foreseen or not."""
    if case.held_back:
        names = [one.names[0] for each in explained for one in each.of(case)]
        alone = any(each.unexplained == (case,) and not each.bottlenecks for each in explained)
        return names or [ONCE if alone else NOTHING]
    if case.even < HELD_BACK * case.most:
        return [f"as predicted: links shared evenly give {gb(case.even)}"]
    if case.limits and case.most < HELD_BACK * sum(case.alone):
        kept = ", ".join(case.limits[:MOST_NAMES])
        return [f"as predicted: {kept}" + (", …" if len(case.limits) > MOST_NAMES else "")]
    return []
