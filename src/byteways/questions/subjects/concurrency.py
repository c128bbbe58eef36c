"""Concurrent flows (bidirectional, fans, all pairs, interference) compared with single flows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from byteways.answers.best.ranking import Ranking, rank
from byteways.answers.best.wording_rankings import moves_most, others_of
from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare, summed
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority, if_assumed, worth
from byteways.answers.claims.phrases import gb, of_peak, rate, sentence
from byteways.answers.claims.wording import largest, less, losing_most, no_loss, part_kept
from byteways.answers.results.case_names import describe
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import broadest_size
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.base.units import format_size
from byteways.cases.interfaces import one_buffer
from byteways.record.simulation_mark import Voice
from byteways.record.warnings import Warning

#: How sentences name the two ends of a bidirectional case.
BIDIRECTIONAL_ENDS = {
    "gpu-gpu": "Between GPUs",
    "cpu-gpu": "Between host and GPU",
    "gpu-cpu": "Between host and GPU",
    "cpu-cpu": "Between NUMA domains",
}
#: The fields in which a concurrent case differs from the sum of its single flows.
_SUM = ("pattern", "counts")


def _alone(index: Index, cell: Result) -> Result | None:
    """Returns the sum of the single-flow results; None unless all were measured."""
    parts = index.alone(cell)
    known = [part for part in parts if part is not None]
    return summed(known) if known and len(known) == len(parts) else None


def compare_with_alone(
    index: Index, members: Sequence[Result]
) -> tuple[Claim, ResultGroup, ResultGroup] | None:
    """Compares concurrent cases with the sums of their single flows, case by case; None if one is missing."""
    pairs = [(cell, alone) for cell in members if (alone := _alone(index, cell)) is not None]
    if not pairs or len(pairs) < len(members):
        return None
    partners = {id(cell): number for number, (cell, _) in enumerate(pairs)}
    partners |= {id(alone): number for number, (_, alone) in enumerate(pairs)}
    together, separate = pool([cell for cell, _ in pairs]), pool([alone for _, alone in pairs])
    names = "together", "alone"
    claim = compare(
        together,
        separate,
        kind="contention",
        across=_SUM,
        names=names,
        match=lambda cell: partners[id(cell)],
    )
    return claim, together, separate


def bidirectional(index: Index) -> Iterator[Finding]:
    """Reports the best bidirectional result at the largest size, for each kind of pair and link class."""
    cells = [
        cell
        for cell in index.ranked
        if cell.record.pattern == "bidirectional" and not one_buffer(cell.record.interface)
    ]
    places = group_by(
        cells, lambda cell: (BIDIRECTIONAL_ENDS.get(cell.kind, "Inside a domain"), index.link_class(cell))
    )
    several = Counter(where for where, _ in places)
    for (where, link_class), members in places.items():
        named = f"{where} ({link_class})" if several[where] > 1 and link_class else where
        yield from _bidirectional(index, named, members)


def _bidirectional(index: Index, where: str, cells: Sequence[Result]) -> Iterator[Finding]:
    judged = [cell for cell in cells if _alone(index, cell) is not None]
    if not judged:
        size = broadest_size(cells)
        if ranking := rank(cell for cell in cells if cell.size_bytes == size):
            yield _bidirectional_sum(where, size, ranking)
    for members in group_by(judged, lambda cell: cell.variant).values():
        size = broadest_size(members)
        compared = compare_with_alone(index, [cell for cell in members if cell.size_bytes == size])
        if compared and (lost := _bidirectional_lost(where, size, *compared, index.voice)):
            yield lost


def _bidirectional_sum(where: str, size: int, ranking: Ranking) -> Finding:
    """Reports the bidirectional sum if single directions were not measured."""
    best = ranking.group
    title = (
        f"{where}, bidirectional {ranking.variant.name} {moves_most(ranking)} {rate(best)} GB/s in total"
        f"{of_peak(best)}"
    )
    detail = f"{format_size(size)}, {count(len(best.cells), 'pair')}.{others_of(ranking)}"
    return finding(
        title, detail, Priority.BIDIRECTIONAL_SUM, (best,), [rival.claim for rival in ranking.rivals]
    )


def _bidirectional_lost(
    where: str, size: int, claim: Claim, both: ResultGroup, alone: ResultGroup, voice: Voice
) -> Finding | None:
    """Reports the loss of bidirectional transfers, or that it is negligible; None if inconclusive."""
    variant = both.cells[0].variant
    detail = f"{format_size(size)}, {variant.name}, {count(len(both.cells), 'pair')}."
    moves = f"bidirectional {variant.interface} reaches {rate(both)} GB/s in total"
    if claim.trails:
        title = f"{where}, {moves}, {less(claim)} than the two directions alone ({rate(alone)})"
        worst = min(
            zip(both.cells, alone.cells, strict=True), key=lambda pair: pair[0].value / pair[1].value
        )[0]
        verb = losing_most(worst.record.path) if len(both.cells) > 1 else worst.record.path
        return finding(
            title,
            f"{detail} {verb}: {_split(worst)}.",
            Priority.BIDIRECTIONAL_LOSS,
            (both, alone),
            [claim],
        )
    if claim.equal:
        title = f"{where}, running both directions at once has {no_loss(claim)}: {moves}"
        detail += f" {sentence(voice.measured)} alone, the directions add up to {rate(alone)} GB/s."
        return finding(
            title,
            detail,
            Priority.BIDIRECTIONAL_NO_LOSS,
            (both, alone),
            [claim],
            about=(where, variant.interface),
        )
    return None


def _split(cell: Result) -> str:
    parts = [f"{path} {gb(bandwidth)}" for path, bandwidth in cell.directions.items()]
    return listed(parts) + " GB/s" if parts else f"{rate(cell)} GB/s in total"


def fans(index: Index) -> Iterator[Finding]:
    """Reports fan-out and fan-in: the widest fan of each kind, compared with its single flows."""
    cells = [cell for cell in index.ranked if cell.record.pattern in ("fan-in", "fan-out")]
    alike = group_by(cells, lambda cell: (_fan(cell), frozenset(index.link_classes(cell))))
    several = Counter(fan for fan, _ in alike)
    for (fan, link_class), members in alike.items():
        width = max(len(cell.record.flows) for cell in members)
        widest = [cell for cell in members if len(cell.record.flows) == width]
        size = broadest_size(widest)
        whole = [cell for cell in widest if cell.size_bytes == size]
        # A sum of rates from different time intervals is not what the links carried: it is compared only if
        # there is nothing else.
        together = [cell for cell in whole if not cell.partial]
        if ranking := rank(together or whole):
            partial = [cell for cell in whole if cell.partial] if together else []
            links = f" ({'; '.join(sorted(filter(None, link_class)))})" if several[fan] > 1 else ""
            yield _fan_finding(index, ranking, members, partial, links)


def _fan_finding(
    index: Index, ranking: Ranking, members: list[Result], partial: list[Result], links: str
) -> Finding:
    """Reports the best way of a fan.

    Args:
        index: The run.
        ranking: Of the ways.
        members: All fans with such links.
        partial: Fans whose flows overlapped only partly, which the ranking does not compare.
        links: Names the links if there are such fans over other links, too.
    """
    best = ranking.group
    hub_is_cpu = not _hub(best.cells[0]).startswith("gpu")
    title = f"{_fan_words(best)}{links} at once: {ranking.variant.name} {moves_most(ranking)}"
    title += f" {rate(best)} GB/s in total{of_peak(best)}"
    compared = compare_with_alone(index, best.cells)
    results, claims = [best], [rival.claim for rival in ranking.rivals]
    if compared is not None:
        claim, _, alone = compared
        # Compare with the peak if the links allow less than the sum of single flows.
        if hub_is_cpu or best.peak is None or best.peak >= alone.value:
            width = len(best.cells[0].record.flows)
            title += f", {part_kept(claim)} of the {width} {index.voice.measured} alone ({rate(alone)})"
            results.append(alone)
            claims.insert(0, claim)
    detail = _fan_detail(index, best.cells[0], members) + others_of(ranking)
    ways = group_by(partial, lambda cell: cell.variant).items()
    unlike = [f"{variant.name} {rate(pool(cells))}" for variant, cells in ways if cells[0] not in best.cells]
    if unlike:
        detail += f" Only partly overlapped, so not compared: {listed(unlike)} GB/s."
    return finding(
        title, detail, Priority.SHARED_HOST if hub_is_cpu else Priority.SHARED_GPU, results, claims
    )


def _hub(cell: Result) -> str:
    """Returns the device common to all flows; NUMA domains keep their number if there are several."""
    into = cell.record.pattern == "fan-in"
    hubs = {(flow.destination if into else flow.source).place for flow in cell.case.flows}
    return hubs.pop() if len(hubs) == 1 else count(len(hubs), "NUMA domain")


def _fan(cell: Result) -> tuple[str, str, str]:
    """Groups fans by pattern, hub (GPUs are alike, NUMA domains are not) and kind of the other ends."""
    hub = _hub(cell)
    other = (cell.source if cell.record.pattern == "fan-in" else cell.destination).device
    return cell.record.pattern, hub.rstrip("0123456789") if hub.startswith("gpu") else hub, other[:3]


def _fan_words(best: ResultGroup) -> str:
    """`One GPU to 7 GPUs`, `4 GPUs to cpu0`, `8 GPUs in the memory of 4 NUMA domains`."""
    cell = best.cells[0]
    if cell.record.access == "remote":  # kernels of GPUs in memory of others: neither end is theirs
        by = {flow.executor for flow in cell.case.flows}
        return f"{count(len(by), 'GPU')} in the memory of {_hub(cell)}"
    into = cell.record.pattern == "fan-in"
    other = (cell.source if into else cell.destination).device
    others = count(len(cell.record.flows), "GPU" if other.startswith("gpu") else "NUMA domain")
    if len({_hub(member) for member in best.cells}) > 1:
        return f"{others} to another" if into else f"One GPU to {others}"
    return f"{others} to {_hub(cell)}" if into else f"{_hub(cell)} to {others}"


def _fan_detail(index: Index, widest: Result, members: list[Result]) -> str:
    text = f"{format_size(widest.size_bytes)}, {widest.variant.name}."
    alike = widest.variant, widest.size_bytes, _hub(widest)
    equal = [cell for cell in members if (cell.variant, cell.size_bytes, _hub(cell)) == alike]
    widths = group_by(equal, lambda cell: len(cell.record.flows))
    # For equal numbers of flows take the slowest: only some GPUs may share a resource.
    steps = [min(cells, key=lambda cell: cell.value) for _, cells in sorted(widths.items())]
    if len(steps) > 1:
        sums = ", ".join(f"{len(step.record.flows)}: {rate(step)}" for step in steps)
        text += f" By number of flows: {sums} GB/s."
        free = [step for step in steps if (claim := compare_with_alone(index, [step])) and claim[0].equal]
        if free and free[-1] is not widest:
            text += f" Up to {len(free[-1].record.flows)} flows do not slow each other down."
    rates = list(widest.directions.values())
    if rates and max(rates) > 1.05 * min(rates):
        text += _each(rates)
    return text


def _each(rates: Sequence[float]) -> str:
    """' Flows get 8.5 to 34 GB/s each.'."""
    least, most = gb(min(rates)), gb(max(rates))
    return f" Flows get {least if least == most else f'{least} to {most}'} GB/s each."


def all_pairs(index: Index) -> Iterator[Finding]:
    """Reports all pairs at once: the best interface at the largest size, with all flows."""
    cells = [cell for cell in index.ranked if cell.record.pattern == "all-pairs"]
    if not cells:
        return
    flows = max(len(cell.record.flows) for cell in cells)
    widest = [cell for cell in cells if len(cell.record.flows) == flows]
    size = max(cell.size_bytes for cell in widest)
    ranking = rank(cell for cell in widest if cell.size_bytes == size)
    if ranking is None:
        return
    best = ranking.group
    title = (
        f"All pairs at once: {ranking.variant.name} {moves_most(ranking)} {rate(best)} GB/s in total"
        f"{of_peak(best)}"
    )
    detail = f"{format_size(size)}, {ranking.variant.name}, {count(flows, 'flow')}."
    rates = list(best.cells[0].directions.values())
    if rates:
        detail += _each(rates)
    claims = [rival.claim for rival in ranking.rivals]
    yield finding(title, detail + others_of(ranking), Priority.ALL_PAIRS, (best,), claims)


def interference(index: Index) -> Iterator[Finding]:
    """Reports the flow that loses most bandwidth to concurrent flows of the same interface."""
    slowed: list[tuple[Claim, Result, Result]] = []
    for cell in index.ranked:
        if cell.record.pattern != "interference" or cell.case.flows[1].interface:
            continue
        alone = index.alone(cell)[0]
        # Serialised flows did not interfere: their rates are time slices.
        if alone is None or "serialised" in cell.warning_ids:
            continue
        names = "with others running", "alone"
        claim = compare(cell, alone, kind="interference", across=_SUM, names=names, match=None)
        if claim.trails:
            slowed.append((claim, cell, alone))
    if not slowed:
        return
    claim, cell, alone = min(slowed, key=lambda entry: entry[0].effect)
    path, _, others = cell.record.path.partition(" beside ")
    title = (
        f"{path} keeps {part_kept(claim)} of its bandwidth with {others} running: {rate(cell)} of "
        f"{rate(alone)} GB/s"
    )
    detail = f"{format_size(cell.size_bytes)}, {cell.variant.name}."
    if len(slowed) > 1:
        detail += f" {largest(f'loss of {len(slowed)} disturbed flows')}"
    yield finding(title, detail, Priority.DISTURBED_FLOW, (cell, alone), [entry[0] for entry in slowed])


def in_turns(index: Index) -> Iterator[Finding]:
    """Reports flows that were asked to run concurrently but were serialised."""
    for interface, cells in group_by(
        [cell for cell in index.cells if "serialised" in cell.warning_ids],
        lambda cell: cell.record.interface,
    ).items():
        patterns = Counter(cell.record.pattern for cell in cells)
        kinds = listed([f"{pattern} ({number})" for pattern, number in patterns.most_common()])
        title = f"Concurrent {interface} flows were serialised: {kinds}"
        priority = Priority.IN_TURNS
        importance = worth(priority.weight, max(map(_lost_in_turns, cells)))
        rests_on = tuple(dict.fromkeys(what for cell in cells for what in cell.rests_on))
        importance = if_assumed(importance) if "assumed" in rests_on else importance
        yield Finding(
            title, _in_turns_detail(index, interface, cells), priority, importance, rests_on=rests_on
        )


def _lost_in_turns(cell: Result) -> float:
    """Returns 1 - combined rate / sum of the flows' own rates; 0 if unknown."""
    warnings = [warning for warning in cell.record.warnings if warning.id == "serialised"]
    for together, separate in ((warning.observed, warning.required) for warning in warnings):
        if isinstance(together, (int, float)) and isinstance(separate, (int, float)) and together > 0:
            return max(separate / together - 1, 0.0)
    return 0.0


def _in_turns_detail(index: Index, interface: str, cells: list[Result]) -> str:
    example = max(cells, key=lambda cell: cell.size_bytes)
    text = f"For example {describe(example.record)}, {format_size(example.size_bytes)}"
    # Of the round that the value comes from, so that the rate is that of the tables.
    rounds = (*example.middle, *example.records)
    warning = next(
        (warned for record in rounds for warned in record.warnings if warned.id == "serialised"), None
    )
    if warning:
        text += f": {_together(warning)}"
    text += ". Their rates are time slices, not shares of a link."
    if {cell.record.engine for cell in cells} == {"copy-engine"}:
        text += " The GPUs' copy engines process such copies one after another."
    shapes = {(cell.record.pattern, cell.record.path) for cell in cells}
    there = [
        cell
        for cell in index.cells
        if (cell.record.pattern, cell.record.path) in shapes and cell.record.interface != interface
    ]
    turning = {cell.record.interface for cell in there if "serialised" in cell.warning_ids}
    overlapping = {cell.record.interface for cell in there} - turning
    return text + (f" {listed(sorted(overlapping))} overlapped there." if overlapping else "")


def _together(warning: Warning) -> str:
    """Formats both rates of a `serialised` warning (bytes/s)."""
    if isinstance(warning.observed, str) or isinstance(warning.required, str):
        return f"{warning.observed} together, {warning.required} required"
    return (
        f"{gb(warning.observed or 0)} GB/s together; the rates of the flows while each ran "
        f"add up to {gb(warning.required or 0)} GB/s"
    )
