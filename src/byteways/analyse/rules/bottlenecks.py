"""What holds flows back that run together, by name; or that nothing does, or that nothing explains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byteways.analyse.bottlenecks import Bottleneck, explanations
from byteways.analyse.prediction import Together, predictions
from byteways.analyse.rules.facts import Facts, Finding, count, gb, listed, marked, percent
from byteways.analyse.summary import group_by
from byteways.analyse.topics.together import named, shortened
from byteways.units import format_size

NAMED, UNEXPLAINED, AS_PREDICTED = 505.0, 455.0, 300.0
#: Cases from which on it is worth a sentence that all are as predicted.
LEAST_PREDICTED = 4
#: Hidden resources are news, what a link carries both ways is less so.
HIDDEN = 20.0


def bottlenecks(facts: Facts) -> Iterator[Finding]:
    predicted = predictions(facts)
    explained = explanations(facts.topology, predicted.cases)
    same = group_by(
        [one for each in explained for one in each.bottlenecks],
        lambda one: one.resource.hidden or one.resource.name,
    )
    yield from map(_named, same.values())
    unexplained = [case for each in explained for case in each.unexplained]
    if unexplained:
        yield _unexplained(unexplained)
    if not predicted.held_back and len(predicted.cases) >= LEAST_PREDICTED:
        yield _as_predicted(predicted.cases)


def _named(same: Sequence[Bottleneck]) -> Finding:
    """One resource, with what it carries by each interface, or in each direction where it is hidden."""
    most = min(same, key=lambda one: (-len(one.cases), one.example.kept))
    example, record = most.example, most.example.cell.record
    title = (
        f"Shared bottleneck: {most.names[0]} carries {gb(most.bytes_per_s)} GB/s in sum; "
        f"{record.interface} {shortened(record.path)} moves {gb(example.cell.value)} "
        f"where its flows alone allow {gb(example.even)}"
    )
    detail = f"{format_size(record.size_bytes)}."
    if len(most.names) > 1:
        detail += f" It cannot be told from {named(most.names[1:])}."
    if most.resource.hidden:
        detail += " A PCIe switch is such a thing; the topology shows none there."
    cases = len({case.cell.record.case_id for one in same for case in one.cases})
    detail += f" It explains {count(cases, 'case')} below prediction."
    others = [
        f"{gb(one.bytes_per_s)} by {one.example.cell.record.interface}"
        + (
            f" at {format_size(size)}"
            if (size := one.example.cell.record.size_bytes) != record.size_bytes
            else ""
        )
        + (f" ({one.resource.name.rpartition(' share ')[2]})" if one.resource.hidden else "")
        for one in same
        if one is not most
    ]
    if others:
        detail += f" It carries {listed(others)}."
    importance = NAMED + (HIDDEN if most.resource.hidden else 0.0) + 10 * (1 - example.kept)
    return Finding(marked(title, example.cell), detail, importance)


def _unexplained(cases: Sequence[Together]) -> Finding:
    worst = min(cases, key=lambda case: (bool(case.cell.doubts), case.kept))
    record = worst.cell.record
    title = (
        f"{record.pattern} {record.interface} moves {gb(worst.cell.value)} where its flows alone and the "
        f"links allow {gb(worst.even)} GB/s, "
        + ("and no shared resource explains it" if len(cases) > 1 else "and one case alone does not tell why")
    )
    detail = f"{shortened(record.path)}, {format_size(record.size_bytes)}."
    if len(cases) > 1:
        detail += f" So it is with {count(len(cases), 'case')} of this run."
    return Finding(marked(title, worst.cell), detail, UNEXPLAINED)


def _as_predicted(cases: Sequence[Together]) -> Finding:
    ratios = sorted(case.kept for case in cases)
    title = f"All {len(cases)} concurrent cases move what their flows alone and the links predict"
    detail = f"From {percent(ratios[0])} to {percent(ratios[-1])} of that."
    return Finding(title, detail, AS_PREDICTED)
