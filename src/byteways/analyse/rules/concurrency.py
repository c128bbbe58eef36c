"""Several flows at once: what both directions, many agents, or a neighbour cost against each flow alone."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from byteways.analyse.rules.facts import (
    WORTH_SAYING,
    Facts,
    Finding,
    count,
    gb,
    listed,
    of_peak,
    percent,
    way,
)
from byteways.analyse.summary import Cell, Variant, above, group_by, kind_of_pair, variant
from byteways.units import format_size

SHARED, TWO_WAY, FAN, ALL_PAIRS, DISTURBED = 500.0, 480.0, 470.0, 460.0, 440.0

#: How sentences name both ends of a two-way case.
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


def two_way(facts: Facts) -> Iterator[Finding]:
    cells = [cell for cell in facts.cells if cell.record.pattern == "two-way"]
    judged = [(cell, alone) for cell in cells if (alone := _alone(facts, cell))]
    by_way = group_by(judged, lambda item: (BOTH.get(_ends(item[0]), "Inside a domain"), variant(item[0])))
    for (where, same), members in by_way.items():
        size = max(cell.record.size_bytes for cell, _ in members)
        largest = [(cell, alone) for cell, alone in members if cell.record.size_bytes == size]
        both = median(cell.value for cell, _ in largest)
        singles = median(alone[0] for _, alone in largest)
        lost = 1 - both / singles
        sure = all(cell.high < alone[1] for cell, alone in largest)
        cell = max(largest, key=lambda item: item[1][0] - item[0].value)[0]
        detail = f"{format_size(size)}, {way(same)}, {count(len(largest), 'pair')}."
        if sure and lost >= WORTH_SAYING:
            title = (
                f"{where}, two-way {same.interface} moves {gb(both)} GB/s in sum, {percent(lost)} less "
                f"than both directions alone ({gb(singles)})"
            )
            detail += f" {cell.record.path} loses most, {_split(cell)}."
            yield Finding(title, detail, TWO_WAY + 100 * min(lost, 0.19))
        elif all(cell.high >= alone[1] for cell, alone in largest):
            title = (
                f"{where}, both directions run at full speed: "
                f"two-way {same.interface} moves {gb(both)} GB/s in sum"
            )
            yield Finding(
                title, f"{detail} Alone, the directions add up to {gb(singles)} GB/s.", TWO_WAY - 200
            )


def _ends(cell: Cell) -> str:
    return kind_of_pair(cell.source.agent, cell.destination.agent)


def _split(cell: Cell) -> str:
    parts = [f"{path} {gb(rate)}" for path, rate in (cell.record.directions or {}).items()]
    return listed(parts) + " GB/s" if parts else f"{gb(cell.value)} GB/s in sum"


def fans(facts: Facts) -> Iterator[Finding]:
    """All agents at once to or from one: the widest fan of each kind, against its flows alone."""
    cells = [cell for cell in facts.cells if cell.record.pattern in ("fan-in", "fan-out")]
    for same, members in group_by(cells, _fan).items():
        widest = max(members, key=lambda cell: (cell.record.size_bytes, len(cell.record.flows)))
        alone = _alone(facts, widest)
        if alone is None:
            continue
        hub_is_cpu = same[1].startswith("cpu")
        total = len(widest.record.flows)
        ends = _fan_words(widest, same[1])
        lost = 1 - widest.value / alone[0]
        if widest.high < alone[1] and lost >= WORTH_SAYING:
            title = f"{ends} at once: {widest.record.interface} moves {gb(widest.value)} GB/s in sum"
            # Where the links in the way allow less than the flows alone, the peak is the measure.
            limited = not hub_is_cpu and widest.peak is not None and widest.peak < alone[0]
            title += (
                of_peak(widest) if limited else f", {percent(1 - lost)} of the {total} alone ({gb(alone[0])})"
            )
            importance = SHARED if hub_is_cpu else FAN
        else:
            title = (
                f"{ends} at once: {widest.record.interface} moves {gb(widest.value)} GB/s, "
                f"the sum of the {total} alone"
            )
            importance = FAN - 200
        share = "" if of_peak(widest) in title else of_peak(widest)
        yield Finding(title, _fan_detail(facts, widest, members, share), importance)


def _fan(cell: Cell) -> tuple[str, str, str, Variant]:
    """What fans of growing width share: pattern, hub, the kind of the other ends, and how."""
    hub, other = cell.destination.agent, cell.source.agent
    if cell.record.pattern == "fan-out":
        hub, other = other, hub
    return cell.record.pattern, hub, other.rstrip("0123456789"), variant(cell)


def _fan_words(cell: Cell, hub: str) -> str:
    into = cell.record.pattern == "fan-in"
    other = (cell.source if into else cell.destination).agent.rstrip("0123456789")
    others = count(len(cell.record.flows), "GPU" if other == "gpu" else "NUMA domain")
    return f"{others} to {hub}" if into else f"{hub} to {others}"


def _fan_detail(facts: Facts, widest: Cell, members: list[Cell], share: str) -> str:
    text = f"{format_size(widest.record.size_bytes)}, {way(variant(widest))}{share}."
    steps = sorted(
        (cell for cell in members if cell.record.size_bytes == widest.record.size_bytes),
        key=lambda cell: len(cell.record.flows),
    )
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
    for same, members in group_by(cells, variant).items():
        cell = max(members, key=lambda item: (item.record.size_bytes, len(item.record.flows)))
        rates = list((cell.record.directions or {}).values())
        title = f"All pairs at once: {same.interface} moves {gb(cell.value)} GB/s in sum{of_peak(cell)}"
        detail = (
            f"{format_size(cell.record.size_bytes)}, {way(same)}, {count(len(cell.record.flows), 'flow')}."
        )
        if rates:
            detail += f" The slowest gets {gb(min(rates))}, the fastest {gb(max(rates))} GB/s."
        yield Finding(title, detail, ALL_PAIRS)


def interference(facts: Facts) -> Iterator[Finding]:
    """The flow that keeps least of its speed beside others."""
    worst: tuple[float, Cell, Cell] | None = None
    for cell in facts.cells:
        alone = facts.alone(cell)[0] if cell.record.pattern == "interference" else None
        if alone is None or not above(alone, cell):
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
    yield Finding(title, detail, DISTURBED)
