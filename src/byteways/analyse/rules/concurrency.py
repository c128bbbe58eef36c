"""Several flows at once: what both directions, many agents, or a neighbour cost against each flow alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from byteways.analyse.rules.facts import (
    WORTH_SAYING,
    Facts,
    Finding,
    count,
    gb,
    listed,
    marked,
    of_peak,
    percent,
    way,
)
from byteways.analyse.selection import broadest_size, kind_of_pair, variant
from byteways.analyse.summary import PARTIAL, Cell, Group, Variant, above, group_by, pool
from byteways.analyse.words import describe
from byteways.results.record import Warning
from byteways.units import format_size

SHARED, TWO_WAY, FAN, IN_TURNS, ALL_PAIRS, DISTURBED = 500.0, 480.0, 470.0, 465.0, 460.0, 440.0

#: How sentences name both ends of a bidirectional case.
BOTH = {
    "gpu-gpu": "Between GPUs",
    "cpu-gpu": "Between host and GPU",
    "gpu-cpu": "Between host and GPU",
    "cpu-cpu": "Between NUMA domains",
}


def _alone(facts: Facts, cell: Cell) -> tuple[float, float, float] | None:
    """Sum of the flows alone, in bytes/s: value, low, high; None when one was not measured alone."""
    parts = facts.alone(cell)
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return (
        sum(part.value for part in known),
        sum(part.low for part in known),
        sum(part.high for part in known),
    )


def _ranked(cells: Sequence[Cell]) -> list[tuple[Variant, Group]]:
    """Ways of doing the same, the fastest first, but those whose flows overlapped in part only last: a sum of
    rates from different times is not what the links carried.
    """
    pooled = [(same, pool(some)) for same, some in group_by(cells, variant).items()]
    return sorted(pooled, key=lambda item: (PARTIAL in item[1].cells[0].doubts, -item[1].value))


def _moves(ranked: Sequence[tuple[Variant, Group]]) -> str:
    """'moves', or 'moves most,' where the first is faster than all others beyond the intervals."""
    others = [group for _, group in ranked[1:]]
    return "moves most," if others and all(above(ranked[0][1], group) for group in others) else "moves"


def _others(ranked: Sequence[tuple[Variant, Group]]) -> str:
    """' Others: kernel as a read 883, copy as a read 799 GB/s.', empty without others."""
    parts = [marked(f"{way(same)} {gb(group.value)}", group) for same, group in ranked[1:]]
    return f" Others: {', '.join(parts)} GB/s." if parts else ""


def bidirectional(facts: Facts) -> Iterator[Finding]:
    cells = [cell for cell in facts.cells if cell.record.pattern == "bidirectional"]
    for where, some in group_by(cells, lambda cell: BOTH.get(_ends(cell), "Inside a domain")).items():
        judged = [(cell, alone) for cell in some if (alone := _alone(facts, cell))]
        if not judged:
            yield _bidirectional_sum(where, some)
        for same, members in group_by(judged, lambda item: variant(item[0])).items():
            size = broadest_size([cell for cell, _ in members])
            of_size = [(cell, alone) for cell, alone in members if cell.record.size_bytes == size]
            finding = _bidirectional_lost(where, same, size, of_size)
            if finding:
                yield finding


def _bidirectional_sum(where: str, some: Sequence[Cell]) -> Finding:
    """What both directions move, where they were not measured alone."""
    size = broadest_size(some)
    ranked = _ranked([cell for cell in some if cell.record.size_bytes == size])
    same, best = ranked[0]
    title = f"{where}, bidirectional {way(same)} {_moves(ranked)} {gb(best.value)} GB/s in sum{of_peak(best)}"
    detail = f"{format_size(size)}, {count(len(best.cells), 'pair')}.{_others(ranked)}"
    return Finding(marked(title, best), detail, TWO_WAY)


def _bidirectional_lost(
    where: str,
    same: Variant,
    size: int,
    members: Sequence[tuple[Cell, tuple[float, float, float]]],
) -> Finding | None:
    """What both directions at once lose, or that they lose nothing; None when the intervals do not tell."""
    both = median(cell.value for cell, _ in members)
    singles = median(alone[0] for _, alone in members)
    lost = 1 - both / singles
    detail = f"{format_size(size)}, {way(same)}, {count(len(members), 'pair')}."
    if all(cell.high < alone[1] for cell, alone in members) and lost >= WORTH_SAYING:
        cell = max(members, key=lambda item: item[1][0] - item[0].value)[0]
        title = (
            f"{where}, bidirectional {same.interface} moves {gb(both)} GB/s in sum, {percent(lost)} less "
            f"than both directions alone ({gb(singles)})"
        )
        verb = f"{cell.record.path} loses most" if len(members) > 1 else cell.record.path
        title = marked(title, *(cell for cell, _ in members))
        return Finding(title, f"{detail} {verb}: {_split(cell)}.", TWO_WAY + 100 * min(lost, 0.19))
    # That nothing is lost hangs on the intervals alone, so an unsure figure cannot show it.
    unsure = any(cell.doubts for cell, _ in members)
    if not unsure and all(cell.high >= alone[1] for cell, alone in members):
        title = (
            f"{where}, both directions run at full speed: "
            f"bidirectional {same.interface} moves {gb(both)} GB/s in sum"
        )
        detail += f" Alone, the directions add up to {gb(singles)} GB/s."
        return Finding(title, detail, TWO_WAY - 200)
    return None


def _ends(cell: Cell) -> str:
    return kind_of_pair(cell.source.agent, cell.destination.agent)


def _split(cell: Cell) -> str:
    parts = [f"{path} {gb(rate)}" for path, rate in (cell.record.directions or {}).items()]
    return listed(parts) + " GB/s" if parts else f"{gb(cell.value)} GB/s in sum"


def fans(facts: Facts) -> Iterator[Finding]:
    """All agents at once to or from one: the widest fan of each kind, against its flows alone."""
    cells = [cell for cell in facts.cells if cell.record.pattern in ("fan-in", "fan-out")]
    for members in group_by(cells, _fan).values():
        width = max(len(cell.record.flows) for cell in members)
        widest = [cell for cell in members if len(cell.record.flows) == width]
        size = broadest_size(widest)
        ranked = _ranked([cell for cell in widest if cell.record.size_bytes == size])
        yield _fan_finding(facts, ranked, members)


def _fan_finding(facts: Facts, ranked: list[tuple[Variant, Group]], members: list[Cell]) -> Finding:
    same, best = ranked[0]
    cell = best.cells[0]
    hub_is_cpu = _hub(cell).startswith("cpu")
    importance = SHARED if hub_is_cpu else FAN
    title = f"{_fan_words(best)} at once: {same.interface}"
    moves = f"{_moves(ranked)} {gb(best.value)} GB/s"
    sums = [total for one in best.cells if (total := _alone(facts, one))]
    if len(sums) < len(best.cells):
        title += f" {moves} in sum{of_peak(best)}"
    else:
        alone, low = median(one[0] for one in sums), median(one[1] for one in sums)
        lost = 1 - best.value / alone
        width = len(cell.record.flows)
        # Where the links in the way allow less than the flows alone, the peak is the measure.
        limited = not hub_is_cpu and best.peak is not None and best.peak < alone
        unsure = any(one.doubts for one in best.cells)
        if best.high >= low and lost >= WORTH_SAYING and unsure:
            title += f" {moves} in sum, which cannot be told from the {width} alone ({gb(alone)})"
            importance -= 200
        elif best.high >= low or lost < WORTH_SAYING:
            title += f" {moves}, the sum of the {width} alone"
            importance -= 200
        elif limited:
            title += f" {moves} in sum{of_peak(best)}"
        else:
            title += f" {moves} in sum, {percent(1 - lost)} of the {width} alone ({gb(alone)})"
    share = "" if of_peak(best) in title else of_peak(best)
    return Finding(
        marked(title, best), _fan_detail(facts, cell, members, share) + _others(ranked), importance
    )


def _hub(cell: Cell) -> str:
    return (cell.destination if cell.record.pattern == "fan-in" else cell.source).agent


def _fan(cell: Cell) -> tuple[str, str, str]:
    """What fans of one kind share: pattern, hub (GPUs are alike, NUMA domains are not), kind of the ends."""
    hub = _hub(cell)
    other = (cell.source if cell.record.pattern == "fan-in" else cell.destination).agent
    return cell.record.pattern, hub.rstrip("0123456789") if hub.startswith("gpu") else hub, other[:3]


def _fan_words(best: Group) -> str:
    cell = best.cells[0]
    into = cell.record.pattern == "fan-in"
    other = (cell.source if into else cell.destination).agent
    others = count(len(cell.record.flows), "GPU" if other.startswith("gpu") else "NUMA domain")
    hubs = {_hub(one) for one in best.cells}
    if len(hubs) > 1:
        return f"{others} to another" if into else f"One GPU to {others}"
    return f"{others} to {_hub(cell)}" if into else f"{_hub(cell)} to {others}"


def _fan_detail(facts: Facts, widest: Cell, members: list[Cell], share: str) -> str:
    text = f"{format_size(widest.record.size_bytes)}, {way(variant(widest))}{share}."
    alike = variant(widest), widest.record.size_bytes, _hub(widest)
    same = [cell for cell in members if (variant(cell), cell.record.size_bytes, _hub(cell)) == alike]
    widths = group_by(same, lambda cell: len(cell.record.flows))
    # Of equal numbers of flows the slowest: some GPUs may share what others do not.
    steps = [min(some, key=lambda cell: cell.value) for _, some in sorted(widths.items())]
    if len(steps) > 1:
        text += (
            " By number of flows: "
            + ", ".join(f"{len(c.record.flows)}: {gb(c.value)}" for c in steps)
            + " GB/s."
        )
        full = [c for c in steps if (sums := _alone(facts, c)) and c.high >= sums[1]]
        if full and full[-1] is not widest:
            text += (
                f" Up to {len(full[-1].record.flows)} run at full speed; beyond that they share a bottleneck."
            )
    rates = list((widest.record.directions or {}).values())
    if rates and max(rates) > 1.05 * min(rates):
        text += f" Flows get {gb(min(rates))} to {gb(max(rates))} GB/s each."
    return text


def all_pairs(facts: Facts) -> Iterator[Finding]:
    cells = [cell for cell in facts.cells if cell.record.pattern == "all-pairs"]
    if not cells:
        return
    size = max(cell.record.size_bytes for cell in cells)
    flows = max(len(cell.record.flows) for cell in cells)
    ranked = _ranked(
        [cell for cell in cells if (cell.record.size_bytes, len(cell.record.flows)) == (size, flows)] or cells
    )
    same, best = ranked[0]
    title = (
        f"All pairs at once: {same.interface} {_moves(ranked)} {gb(best.value)} GB/s in sum{of_peak(best)}"
    )
    detail = f"{format_size(size)}, {way(same)}, {count(flows, 'flow')}."
    rates = list((best.cells[0].record.directions or {}).values())
    if rates:
        detail += f" The slowest gets {gb(min(rates))}, the fastest {gb(max(rates))} GB/s."
    yield Finding(marked(title, best), detail + _others(ranked), ALL_PAIRS)


def interference(facts: Facts) -> Iterator[Finding]:
    """The flow that keeps least of its speed beside others of its own kind."""
    worst: tuple[float, Cell, Cell] | None = None
    for cell in facts.cells:
        alike = cell.record.pattern == "interference" and not cell.record.flows[1].get("interface")
        alone = facts.alone(cell)[0] if alike else None
        # Flows that took turns did not disturb each other: their rates are shares of the time.
        if alone is None or not above(alone, cell) or "serialised" in cell.warning_ids:
            continue
        kept = cell.value / alone.value
        if 1 - kept >= WORTH_SAYING and (worst is None or kept < worst[0]):
            worst = kept, cell, alone
    if worst is None:
        return
    kept, cell, alone = worst
    path, _, others = cell.record.path.partition(" beside ")
    speeds = f"{gb(cell.value)} of {gb(alone.value)} GB/s"
    title = f"{path} keeps {percent(kept)} of its speed beside {others}: {speeds}"
    size = format_size(cell.record.size_bytes)
    detail = f"{size}, {way(variant(cell))}; of all disturbed flows this loses most."
    yield Finding(marked(title, cell, alone), detail, DISTURBED)


def in_turns(facts: Facts) -> Iterator[Finding]:
    """Flows that were asked to run at once and ran one after another."""
    for interface, cells in group_by(
        [cell for cell in facts.cells if "serialised" in cell.warning_ids],
        lambda cell: cell.record.interface,
    ).items():
        patterns = Counter(cell.record.pattern for cell in cells)
        kinds = listed([f"{pattern} ({number})" for pattern, number in patterns.most_common()])
        title = f"{interface} took flows in turns that were asked to run at once: {kinds}"
        yield Finding(title, _in_turns_detail(facts, interface, cells), IN_TURNS)


def _in_turns_detail(facts: Facts, interface: str, cells: list[Cell]) -> str:
    example = max(cells, key=lambda cell: cell.record.size_bytes)
    text = f"For example {describe(example.record)}, {format_size(example.record.size_bytes)}"
    warning = next((one for one in example.record.warnings if one.id == "serialised"), None)
    if warning:
        text += f": {_together(warning)}"
    text += ". Their rates are shares of the time, not of a link."
    if {cell.record.engine for cell in cells} == {"copy-engine"}:
        text += " The GPUs' copy engines serve such copies one after another."
    shapes = {(cell.record.pattern, cell.record.path) for cell in cells}
    there = [
        cell
        for cell in facts.cells
        if (cell.record.pattern, cell.record.path) in shapes and cell.record.interface != interface
    ]
    turning = {cell.record.interface for cell in there if "serialised" in cell.warning_ids}
    overlapping = {cell.record.interface for cell in there} - turning
    return text + (f" {listed(sorted(overlapping))} overlapped there." if overlapping else "")


def _together(warning: Warning) -> str:
    """Both figures of a `serialised` warning, in bytes/s."""
    if isinstance(warning.observed, str) or isinstance(warning.required, str):
        return f"{warning.observed} together, {warning.required} wanted"
    return (
        f"{gb(warning.observed or 0)} GB/s together, where the flows' speeds while each ran "
        f"add up to {gb(warning.required or 0)} GB/s"
    )
