"""MPI messages between two ranks: latency and bandwidth over size, gain from windows, plain copies."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from byteways.analyse.claim import TIE
from byteways.analyse.compare import compare
from byteways.analyse.finding import Finding, finding
from byteways.analyse.phrases import count, rate, sentence, span
from byteways.analyse.results_index import Index
from byteways.analyse.selection import between_ranks, label_order, unidirectional
from byteways.analyse.subjects.ranks import (
    gb_figure,
    is_wide,
    memory,
    note_of,
    point,
    settings,
    time_said,
    us_figure,
    where,
)
from byteways.analyse.summary import Cell, Group, Part, Run, group_by, pool
from byteways.analyse.topic import Line, Plot, Table, Topic
from byteways.analyse.wording import difference, tie
from byteways.plan.case import OF_ALL_RANKS
from byteways.plan.interfaces import figure_of
from byteways.units import format_size

LEAD = (
    "Messages of MPI from one rank to another. Latency is half of a round trip, one message at a time. "
    "Bandwidth is of messages in windows: the receiver acknowledges a window before the sender starts the "
    "next. Bidirectional is the sum of both directions."
)
#: From this number of paths of one class on, they share a table with their median.
MOST_PATHS = 3
#: The window in the evidence text of a record (native/interfaces/mpi/messages.cpp).
_WINDOW = re.compile(r"windows of (\d+) message")
#: Interfaces that move the same bytes within one process by one call.
PLAIN = ("memcpy", "copy")

MESSAGE_LATENCY, MESSAGE_BANDWIDTH, BESIDE_COPY, WINDOW_GAIN = 424.0, 423.0, 462.0, 380.0


def messages(found: Iterable[Cell]) -> list[Cell]:
    """Returns the cells of messages between two ranks, bandwidth and ping-pong."""
    return [cell for cell in found if between_ranks(cell) and cell.record.pattern not in OF_ALL_RANKS]


def is_latency(cell: Cell) -> bool:
    """Whether the value is the round trip of one message."""
    return figure_of(cell.record.interface) == "latency"


def half(result: Cell | Group) -> Part:
    """Returns half of a round trip in ns, with its interval."""
    return Part(result.value / 2, result.low / 2, result.high / 2)


def window(cell: Cell) -> int | None:
    """Returns the number of messages in flight from the case or its evidence; None if unknown."""
    asked = cell.record.options.get("window")
    told = _WINDOW.search(cell.record.engine_evidence or "")
    return int(asked) if asked is not None else int(told[1]) if told else None


def _one_way(cell: Cell) -> str:
    """Returns the path of the first flow: the same for bandwidth and ping-pong."""
    return cell.record.path.replace("<>", ">")


def _setting(cell: Cell) -> tuple[str, str]:
    """Returns the grouping key of a table: the settings except the window."""
    return memory(cell), settings(cell, "window")


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Returns the topic of messages between ranks; None if the run has none."""
    index = Index.of(run)
    cells = messages(found)
    if not cells:
        return None
    tables: list[Table] = []
    plots: list[Plot] = []
    for members in _places(index, cells):
        title = ", ".join(part for part in (_ends(index, members), *_setting(members[0])) if part)
        tables += _tables(title, members)
        plots += _plot(title, members, _plain(found, members))
    return Topic("messages", "Messages between ranks", LEAD, tuple(tables), tuple(plots))


def _places(index: Index, cells: Sequence[Cell]) -> list[list[Cell]]:
    """Groups messages by path, or by link class if it has many paths."""
    places = []
    # Ignore the cache state: latency has none and must join bandwidth of any cache state.
    for members in group_by(cells, lambda cell: (where(index, cell), _memories(cell))).values():
        by_path = group_by(members, _one_way)
        many = len(by_path) > MOST_PATHS
        for some in [members] if many else [by_path[path] for path in sorted(by_path, key=label_order)]:
            latencies = [cell for cell in some if is_latency(cell)]
            rates = group_by([cell for cell in some if not is_latency(cell)], _setting)
            places += [[*same, *latencies] for same in rates.values()] or [latencies]
    return places


def _memories(cell: Cell) -> tuple[str, str]:
    return cell.variant.source, cell.variant.destination


def _ends(index: Index, members: Sequence[Cell]) -> str:
    """`0/cpu0>1/cpu0`, or the kind of pair if there are many paths."""
    paths = dict.fromkeys(map(_one_way, members))
    if len(paths) <= MOST_PATHS:
        return next(iter(paths))
    return f"{where(index, members[0])}, median of {count(len(paths), 'path')}"


def _tables(title: str, members: Sequence[Cell]) -> Iterator[Table]:
    """Yields a table for each window; each includes the latency, which has no window."""
    rates = [cell for cell in members if not is_latency(cell)]
    latency = [cell for cell in members if is_latency(cell)]
    windows = group_by(rates, lambda cell: cell.record.options.get("window"))
    default = windows.pop(None, [])
    if default or not rates:
        sizes = {cell.record.size_bytes for cell in (*default, *latency)}
        yield _table(f"{title}, default window" if default else title, sizes, (*default, *latency))
    for asked, some in sorted(windows.items(), key=lambda item: int(item[0] or 0)):
        sizes = {cell.record.size_bytes for cell in some}
        yield _table(f"{title}, window of {asked}", sizes, (*some, *latency))


def _table(title: str, sizes: Iterable[int], members: Sequence[Cell]) -> Table:
    rows = []
    by_size = group_by(members, lambda cell: cell.record.size_bytes)
    for size in sorted(sizes):
        of = group_by(by_size[size], lambda cell: (is_latency(cell), cell.record.pattern))
        trips, there, both = (
            pool(of[key]) if key in of else None
            for key in ((True, "unidirectional"), (False, "unidirectional"), (False, "bidirectional"))
        )
        rates = [cell for cell in by_size[size] if not is_latency(cell)]
        in_flight = dict.fromkeys(str(told) for cell in rates if (told := window(cell)) is not None)
        rows.append(
            (
                format_size(size),
                us_figure(half(trips), trips) if trips else "",
                gb_figure(there) if there else "",
                gb_figure(both) if both else "",
                ", ".join(in_flight),
            )
        )
    headings = ("size", "latency, µs", "unidirectional, GB/s", "bidirectional, GB/s", "messages in a window")
    return Table(title, headings, tuple(rows), (0, 1, 2, 3, 4), note_of(rows))


def _plot(title: str, members: Sequence[Cell], plain: Sequence[Cell]) -> list[Plot]:
    """Plots bandwidth over size of messages and of copies within one process."""
    rates = [cell for cell in members if not is_latency(cell)]
    lines = []
    rates.sort(key=lambda cell: (cell.record.pattern != "unidirectional", "window" in cell.record.options))
    for label, some in group_by([*rates, *plain], _label).items():
        sizes = group_by(some, lambda cell: cell.record.size_bytes)
        points = tuple(point(pool(same), size) for size, same in sorted(sizes.items()))
        lines += [Line(label, points)] if len(points) > 1 else []
    if not any(between_ranks(cell) for cell in members) or not lines:
        return []
    caption = "Medians with their 95 % intervals."
    if plain:
        caption += " Interfaces without MPI move the same bytes within one process."
    wide = is_wide(each for line in lines for each in line.points)
    return [Plot(title, caption, "size", "GB/s", tuple(lines), x_sizes=True, y_log=wide)]


def _label(cell: Cell) -> str:
    label = cell.variant.label(memory=False)
    return f"{label}, sum of both directions" if cell.record.pattern == "bidirectional" else label


def _plain(found: Iterable[Cell], members: Sequence[Cell]) -> list[Cell]:
    """Returns single-process flows between the same devices and memories with equal cache state."""
    wanted = {_bytes_moved(cell) for cell in members if not is_latency(cell)}
    return [cell for cell in unidirectional(found) if _bytes_moved(cell) in wanted]


def _bytes_moved(cell: Cell) -> tuple[Hashable, ...]:
    return cell.source.device, cell.destination.device, *_memories(cell), cell.record.cache


def latency(index: Index) -> Iterator[Finding]:
    """Reports the latency of the smallest message for each link class and memory."""
    trips = [cell for cell in messages(index.between_ranks) if is_latency(cell)]
    for some in _alike(index, trips).values():
        size = min(cell.record.size_bytes for cell in some)
        smallest = pool([cell for cell in some if cell.record.size_bytes == size])
        first = smallest.cells[0]
        lead = _lead(index, first, trips)
        title = f"{lead}, an MPI message of {format_size(size)} takes {time_said(half(smallest))}"
        detail = f"Half of a round trip, {_paths(smallest)}, {memory(first)}{_with(first)}."
        yield finding(title, detail, MESSAGE_LATENCY, (smallest,))


def _lead(index: Index, cell: Cell, others: Iterable[Cell]) -> str:
    """Names where the ranks are, with the settings that distinguish these messages from others there."""
    place = where(index, cell)
    differing = {_setting(other) for other in others if where(index, other) == place}
    told = (part for part in _setting(cell) if part) if len(differing) > 1 else ()
    return ", ".join((place, *told))


def _alike(index: Index, cells: Iterable[Cell]) -> dict[tuple[str, Hashable], list[Cell]]:
    """Groups cells by location of the ranks and settings; only these are pooled."""
    return group_by(cells, lambda cell: (where(index, cell), cell.variant))


def _paths(group: Group) -> str:
    paths = len({cell.record.path for cell in group.cells})
    return f"median of {count(paths, 'path')}" if paths > 1 else group.cells[0].record.path


def _with(cell: Cell) -> str:
    told = settings(cell)
    return f", {told}" if told else ""


def _by_size(cells: Sequence[Cell]) -> dict[int, Group]:
    sizes = group_by(cells, lambda cell: cell.record.size_bytes)
    return {size: pool(some) for size, some in sorted(sizes.items())}


def _single_direction(index: Index) -> list[Cell]:
    return [
        cell
        for cell in messages(index.between_ranks)
        if not is_latency(cell) and cell.record.pattern == "unidirectional"
    ]


def bandwidth(index: Index) -> Iterator[Finding]:
    """Reports the highest bandwidth and the size with half of it (n½: R. Hockney, Parallel Comput. 10)."""
    plain = [cell for cell in _single_direction(index) if "window" not in cell.record.options]
    for some in _alike(index, plain).values():
        sizes = _by_size(some)
        size, best = max(sizes.items(), key=lambda item: item[1].value)
        middle = next(at for at, group in sizes.items() if 2 * group.value >= best.value)
        first = best.cells[0]
        lead = _lead(index, first, plain)
        title = f"{lead}, MPI messages reach {rate(best)} GB/s at {format_size(size)}"
        quoted = [best]
        if middle != size:
            title += f" and half of that at {format_size(middle)}"
            quoted.append(sizes[middle])
        detail = f"{sentence(_paths(best))}, {memory(first)}{_with(first)}, interval {span(best)} GB/s."
        yield finding(title, detail, MESSAGE_BANDWIDTH, quoted)


def beside_copy(index: Index) -> Iterator[Finding]:
    """Compares messages with plain copies of the same memory at the largest common size."""
    sent = [cell for cell in _single_direction(index) if "window" not in cell.record.options]
    for some in _alike(index, sent).values():
        # Only default copies; take them from all cells because `index.ranked` has no messages.
        copies = [
            cell
            for cell in _plain(index.ranked, some)
            if cell.record.interface in PLAIN and not settings(cell) and cell.stays
        ]
        common = {cell.record.size_bytes for cell in some} & {cell.record.size_bytes for cell in copies}
        if not common:
            continue
        size = max(common)
        ways = group_by(
            [cell for cell in copies if cell.record.size_bytes == size], lambda cell: cell.variant
        )
        plain = max(map(pool, ways.values()), key=lambda group: group.value)
        lead = f"{_lead(index, some[0], sent)}, messages of {format_size(size)}"
        yield from _beside(lead, _by_size(some)[size], plain, len(ways) + 1)


def _beside(lead: str, sent: Group, plain: Group, ways: int) -> Iterator[Finding]:
    first, name = sent.cells[0], plain.cells[0].record.interface
    names = "mpi", name
    claim = compare(sent, plain, kind="messages", ways=ways, match=_bytes_moved, names=names)
    if claim.differ:
        title = f"{lead}: {difference(claim)}"
    elif claim.verdict == TIE:
        title = f"{lead}: {tie(claim, names)}, {rate(sent)} and {rate(plain)} GB/s"
    else:
        return
    detail = (
        f"{memory(first)}{_with(first)}; {name} moves the same bytes within one process, "
        f"{plain.cells[0].record.path}."
    )
    yield finding(title, sentence(detail), BESIDE_COPY, (sent, plain), [claim])


def window_gain(index: Index) -> Iterator[Finding]:
    """Compares many messages in flight with one, at the size with the largest difference."""
    places = group_by(
        _single_direction(index), lambda cell: (where(index, cell), memory(cell), settings(cell, "window"))
    )
    for some in places.values():
        alike = group_by(some, lambda cell: (cell.record.size_bytes, window(cell)))
        sizes = dict.fromkeys(size for size, _ in alike)
        pairs = {size: sides for size in sizes if (sides := _windows(alike, size)) is not None}
        if pairs:
            yield from _gain(_lead(index, some[0], _single_direction(index)), pairs)


def _windows(
    alike: Mapping[tuple[int, int | None], Sequence[Cell]], size: int
) -> tuple[int, Group, Group] | None:
    """Returns the widest window at a size, and the results with it and with one message; else None."""
    widest = max((told for at, told in alike if at == size and told is not None), default=1)
    if widest == 1 or (size, 1) not in alike:
        return None
    return widest, pool(alike[size, widest]), pool(alike[size, 1])


def _gain(place: str, pairs: Mapping[int, tuple[int, Group, Group]]) -> Iterator[Finding]:
    claims = {
        size: compare(
            many,
            one,
            kind="window",
            ways=len(pairs) + 1,
            names=(f"a window of {widest} messages", "a window of 1"),
        )
        for size, (widest, many, one) in pairs.items()
    }
    size = max(claims, key=lambda size: (claims[size].gain, size))
    _, many, one = pairs[size]
    claim, first = claims[size], many.cells[0]
    lead = f"{place}, messages of {format_size(size)}"
    if claim.differ:
        title = f"{lead}: {difference(claim)}"
    elif claim.verdict == TIE:
        names = (claim.first.name, claim.second.name)
        title = f"{lead}: {tie(claim, names)}, {rate(many)} and {rate(one)} GB/s"
    else:  # some paths gain, others lose
        return
    told = [format_size(each) for each in claims]
    detail = f"{sentence(_paths(many))}, {memory(first)}; compared at {', '.join(told)}."
    yield finding(title, detail, WINDOW_GAIN, (many, one), claims.values())
