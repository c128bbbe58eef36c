"""Single flows: the fastest interface per kind of pair, read against write, the pair unlike the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from byteways.analyse.best import best
from byteways.analyse.rules.facts import (
    WORTH_SAYING,
    Facts,
    Finding,
    agents_of,
    count,
    cpu_threads,
    faster,
    gb,
    listed,
    marked,
    of_peak,
    percent,
    span,
    told_apart,
    way,
    with_span,
)
from byteways.analyse.selection import (
    APART,
    KINDS,
    broadest_size,
    kind,
    largest_common_size,
    link_class,
    variant,
)
from byteways.analyse.summary import Cell, Group, Variant, above, group_by, pool
from byteways.topology.model import compute_units_name
from byteways.topology.routes import route
from byteways.units import format_size

ODD_PAIR = 800.0
#: Importance of the fastest interface, by kind of pair.
FASTEST = {"gpu-gpu": 600.0, "cpu-gpu": 590.0, "gpu-cpu": 580.0, "gpu": 400.0, "cpu": 395.0, "cpu-cpu": 390.0}
ASYMMETRY, SMALL_ASYMMETRY = 450.0, 405.0

#: Directions are compared of settings that reach this part of the best: a kernel of few blocks says nothing
#: about a link.
ABLE = 0.9
#: Below this size the cost of the call decides, so that bandwidth is not what a reader looks for first …
SMALL_BYTES = 2**20
#: … and what is said of it stands so much lower.
OF_SMALL = 250.0

#: A pair is odd when it is this much slower than its class, beyond the intervals; less is what equal links of
#: a machine differ by.
ODD = 0.02
#: … and this many times farther from the median than the class itself scatters (median absolute deviation).
ODD_SCATTER = 5.0
#: … or by this much below all pairs of other agents. A link at half its rate slows both its directions, and
#: all pairs of its GPU where that has one link: up to half of a class, whose scatter then says nothing.
GROSSLY_ODD = 0.25


def fastest(facts: Facts) -> Iterator[Finding]:
    for name, lead in KINDS.items():
        classes = group_by(
            [cell for cell in facts.of_kind(name) if cell.stays and cell.record.interface not in APART],
            lambda cell: link_class(facts.topology, cell),
        )
        for wires, members in classes.items():
            where = f"{lead} ({wires})" if len(classes) > 1 else lead
            finding = _fastest(facts, members, where, FASTEST[name])
            if finding:
                yield finding


def _fastest(facts: Facts, members: list[Cell], where: str, importance: float) -> Finding | None:
    size = largest_common_size(members)
    entry = best([cell for cell in members if cell.record.size_bytes == size])
    if size is None or entry is None:
        return None
    groups = group_by([cell for cell in members if cell.record.size_bytes == size], variant)
    rivals = _rivals({same: pool(some) for same, some in groups.items()}, entry.variant.interface)
    first = entry.group
    tied = {tie.interface for tie in entry.ties}
    near = {same.interface: group for same, group in rivals.items() if same.interface in tied}
    peak = of_peak(first) if size >= SMALL_BYTES else ""
    speed = f"{gb(first.value)} GB/s{peak}"
    best_way = entry.variant
    if any(tie.interface == best_way.interface for tie in entry.ties):
        best_way = replace(best_way, options="")  # others of its options cannot be told from it
    if not rivals:
        title = f"{where}, {way(best_way)} moves {speed} at {format_size(size)}"
    elif near:
        both = listed([entry.variant.interface, *near])
        figures = listed([with_span(group) for group in (first, *near.values())])
        title = f"{where}, {both} cannot be told apart at {format_size(size)}: {figures} GB/s"
        title += peak
    else:
        title = f"{where}, {way(best_way)} is fastest at {format_size(size)}: {speed}"
    slower = [(same, group) for same, group in rivals.items() if same.interface not in near]
    if slower:
        same, group = slower[0]
        title += f"; {same.interface} reaches {gb(group.value)}{_launched(facts, group)}"
    title = marked(title, first, *near.values(), *(group for _, group in slower[:1]))
    if size < SMALL_BYTES:
        importance -= OF_SMALL
    return Finding(title, _fastest_detail(facts, first, slower), importance)


def _rivals(groups: dict[Variant, Group], winner: str) -> dict[Variant, Group]:
    """The best variant of every other interface, the fastest first."""
    chosen: dict[str, tuple[Variant, Group]] = {}
    for same, group in sorted(groups.items(), key=lambda item: -item[1].value):
        if same.interface != winner:
            chosen.setdefault(same.interface, (same, group))
    return dict(chosen.values())


def _fastest_detail(facts: Facts, first: Group, slower: list[tuple[Variant, Group]]) -> str:
    pairs = (
        f"Median of {count(len(first.cells), 'path')}" if len(first.cells) > 1 else first.cells[0].record.path
    )
    text = f"{pairs}, interval {span(first)} GB/s."
    gaps = [
        f"{way(same)}{_shape(facts, same, group) if index else ''} is "
        f"{percent(1 - group.value / first.value)} slower"
        for index, (same, group) in enumerate(slower)  # the title says how the first was launched
    ]
    if gaps:
        sure = "; no intervals overlap" if all(above(first, group) for _, group in slower) else ""
        text += f" {listed(gaps)}{sure}."
    return text


def _shape(facts: Facts, same: Variant, group: Group) -> str:
    """' (8 of 132 SMs)', unless the options say it."""
    launched = _launched(facts, group).removeprefix(" with ")
    return f" ({launched})" if launched and not same.options else ""


def _launched(facts: Facts, group: Group) -> str:
    """' with all 132 SMs', ' with 8 of 110 CUs', ' with 2 threads', or nothing when it is not known."""
    record = group.cells[0].record
    launch = record.launch or {}
    executor = record.executor
    if executor not in facts.topology.names():
        return ""
    agent = facts.topology.agent(executor)
    if agent.kind == "cpu":
        used = cpu_threads(record)
        return f" with {count(used, 'thread')}" if used else ""
    blocks, total = launch.get("blocks"), agent.multiprocessors
    if not blocks or not total:
        return ""
    units = compute_units_name(agent)
    return f" with all {total} {units}" if blocks >= total else f" with {blocks} of {total} {units}"


def read_against_write(facts: Facts) -> Iterator[Finding]:
    """Who issues the transfer: read and write of the same interface, memory and size between equal agents."""
    differences = []
    between = facts.of_kind("gpu-gpu") + facts.of_kind("cpu-cpu")
    for name, members in group_by(between, lambda cell: (kind(cell), cell.record.interface)).items():
        size = broadest_size(members)
        groups = {
            same: pool(some)
            for same, some in group_by([c for c in members if c.record.size_bytes == size], variant).items()
        }
        top = max(group.value for group in groups.values())
        for same, read in groups.items():
            other = groups.get(replace(same, access="write"))
            if same.access == "read" and other and told_apart(read, other):
                fast, slow = (read, other) if read.value > other.value else (other, read)
                gap = fast.value / slow.value - 1
                if gap >= WORTH_SAYING and fast.value >= ABLE * top:
                    words = ("read", "write") if fast is read else ("write", "read")
                    differences.append((gap, name, words, fast, slow, size))
    if not differences:
        return
    differences.sort(key=lambda item: -item[0])
    gap, (where, interface), (better, worst), fast, slow, size = differences[0]
    worse = f"as a {worst}" if gap < 1 else f"a {worst}"  # '5 times as fast as a read'
    title = (
        f"{KINDS[where]}, {interface} as a {better} is {faster(1 + gap)} {worse}: "
        f"{gb(fast.value)} against {gb(slow.value)} GB/s at {format_size(size)}"
    )
    owner = "destination" if better == "read" else "source"
    detail = f"Let the owner of the {owner} issue it."
    others: dict[str, float] = {}  # the largest difference of each other interface: its options differ alike
    for item in differences[1:]:
        if item[1][1] != interface:
            said = f"{item[1][1]} as a {item[2][0]}"
            others[said] = max(item[0], others.get(said, 0.0))
    rest = [f"{said} by {percent(most)}" for said, most in others.items()]
    detail += f" Also faster: {listed(rest)}." if rest else ""
    yield Finding(marked(title, fast, slow), detail, _asymmetry(size))


def to_and_from_host(facts: Facts) -> Iterator[Finding]:
    """The two directions between host and GPU, same interface, memory and size."""
    differences = []
    tops: dict[tuple[str, str], float] = {}  # the best of each interface and memory
    back = {
        (way(_turned(cell)), cell.record.size_bytes, cell.destination.agent, cell.source.agent): cell
        for cell in facts.of_kind("gpu-cpu")
        if cell.stays
    }
    pairs = [
        (cell, back[key])
        for cell in facts.of_kind("cpu-gpu")
        if cell.stays
        and (key := (way(variant(cell)), cell.record.size_bytes, cell.source.agent, cell.destination.agent))
        in back
    ]
    for same, some in group_by(pairs, lambda pair: variant(pair[0])).items():
        size = max(cell.record.size_bytes for cell, _ in some)
        there = pool([cell for cell, _ in some if cell.record.size_bytes == size])
        home = pool([cell for _, cell in some if cell.record.size_bytes == size])
        best = max(there.value, home.value)
        tops[same.interface, same.source] = max(best, tops.get((same.interface, same.source), 0.0))
        if told_apart(there, home):
            differences.append((abs(there.value / home.value - 1), same, there, home, size))
    differences = [
        one
        for one in differences
        if max(one[2].value, one[3].value) >= ABLE * tops[one[1].interface, one[1].source]
    ]
    if not differences:
        return
    gap, same, there, home, size = max(differences, key=lambda item: item[0])
    if gap < WORTH_SAYING:
        return
    title = (
        f"Host to GPU and GPU to host differ with {same.source} memory: {same.interface} moves "
        f"{gb(there.value)} there and {gb(home.value)} GB/s back at {format_size(size)}"
    )
    detail = f"They differ by {percent(gap)}, beyond their intervals."
    if len(differences) > 1:
        detail += f" Of {len(differences)} pairings that do so, it is the most."
    yield Finding(marked(title, there, home), detail, _asymmetry(size) - 10)


def _asymmetry(size_bytes: int) -> float:
    """Of small transfers what latencies say comes first."""
    return ASYMMETRY if size_bytes >= SMALL_BYTES else SMALL_ASYMMETRY


def _turned(cell: Cell) -> Variant:
    """The variant of the opposite direction by the same executor: ends swapped, read for write."""
    same = variant(cell)
    access = {"read": "write", "write": "read"}.get(same.access, same.access)
    return replace(same, source=same.destination, destination=same.source, access=access)


def odd_pairs(facts: Facts) -> Iterator[Finding]:
    """Pairs clearly slower than others whose links are of the same class."""
    odd: list[tuple[float, Cell, Group, str]] = []
    across = [cell for cell in facts.singles if cell.source.agent != cell.destination.agent]
    alike = group_by(
        across,
        lambda cell: (variant(cell), cell.record.size_bytes, kind(cell), link_class(facts.topology, cell)),
    )
    for (_, _, _, wires), members in alike.items():
        if len(members) < 3:
            continue
        odd += [(gap, cell, rest, wires) for gap, cell, rest in _odd_of(members)]
    if not odd:
        return
    # The largest size tells most about the link; small sizes about latency. Of equal sizes the way over the
    # fewest links does: what it crosses slows the ways over several links too.
    largest = max(cell.record.size_bytes for _, cell, _, _ in odd)
    gap, cell, rest, wires = min(
        (item for item in odd if item[1].record.size_bytes == largest),
        key=lambda item: (_hops(facts, item[1]), -item[0]),
    )
    title = (
        f"{cell.record.path} is odd: {way(variant(cell))} gets {gb(cell.value)} GB/s where "
        f"{count(len(rest.cells), 'pair')} of {wires} get {gb(rest.value)} ({percent(gap)} less)"
    )
    yield Finding(marked(title, cell, rest), _odd_detail([item[1] for item in odd], cell), ODD_PAIR)


def _odd_of(members: list[Cell]) -> Iterator[tuple[float, Cell, Group]]:
    """The odd ones of a class: how much slower, and than which others."""
    middle = median(cell.value for cell in members)
    scatter = median(abs(cell.value - middle) for cell in members)
    for cell in members:
        rest = pool([other for other in members if other is not cell])
        gap = 1 - cell.value / rest.value
        if gap > ODD and above(rest, cell) and middle - cell.value > ODD_SCATTER * scatter:
            yield gap, cell, rest
            continue
        ends = {cell.source.agent, cell.destination.agent}
        others = [other for other in members if {other.source.agent, other.destination.agent} != ends]
        if len(others) < 2:
            continue
        rest = pool(others)
        gap = 1 - cell.value / rest.value
        if gap > GROSSLY_ODD and above(rest, cell):
            yield gap, cell, rest


def _hops(facts: Facts, cell: Cell) -> int:
    """Links between the two ends of a path."""
    return len(route(facts.topology, cell.source.agent, cell.destination.agent))


def _odd_detail(cells: list[Cell], worst: Cell) -> str:
    paths = list(dict.fromkeys(cell.record.path for cell in cells))
    text = f"{format_size(worst.record.size_bytes)}, interval {span(worst)} GB/s."
    if len(paths) > 1:
        shared = [
            agent
            for agent in agents_of(cells)
            if agent.startswith("gpu") and all(agent in (c.source.agent, c.destination.agent) for c in cells)
        ]
        text += f" Odd are {listed(paths[:6])}{' and others' if len(paths) > 6 else ''}."
        if len(shared) > 1:
            text += f" They are the two directions between {listed(shared)}: look at what joins these first."
        elif shared:
            text += f" All of them meet {shared[0]}: look at its links and its clocks first."
    return text
