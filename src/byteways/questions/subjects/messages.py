"""MPI messages between two ranks: latency and bandwidth over size, gain from windows, plain copies."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from byteways.answers.claims.claim import TIE
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import rate, sentence, span, time_said
from byteways.answers.claims.wording import difference, tie
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import (
    between_ranks,
    ipc_results,
    label_order,
    unidirectional,
    uses_ipc,
)
from byteways.answers.results.summary import Part, Result, ResultGroup, group_by, pool
from byteways.base.units import format_size
from byteways.cases.case import OF_ALL_RANKS
from byteways.cases.interface_rows import UCX
from byteways.cases.interfaces import INTERFACES, metric_of
from byteways.cases.options import WINDOW
from byteways.questions.display.chart import Chart, Series
from byteways.questions.display.curves import rates_over_size, result_point
from byteways.questions.display.table import Table, TableColumn, figures, tabulated
from byteways.questions.display.topic import Topic
from byteways.questions.subjects import first_use, rank_memories, rank_pairs
from byteways.questions.subjects.ranks import (
    AS_OSU,
    as_osu,
    gb_figure,
    library,
    marked,
    memory,
    settings,
    us_figure,
    versions,
    where,
)

INTRODUCTION = (
    "Messages from one rank to another, one library per table and line. Latency is half of a round trip, "
    "one message at a time. For bandwidth, MPI sends windows of messages: the receiver acknowledges a "
    "window before the sender starts the next. NCCL and RCCL enqueue messages back to back on both GPUs. "
    "Bidirectional is the sum of both directions."
)
ABOUT_ONE_SIDED = (
    " A put or get is one rank's call. A flush or a fence completes each window of them; the latency is the "
    "time of a window of one."
)
ABOUT_UCX = " UCX without MPI sends windows as MPI does, and a flush of its endpoint completes puts and gets."
#: From this number of paths of one class on, they share a table with their median.
MOST_PATHS = 3
#: Moves the same bytes inside one process, with one call or one launch.
PLAIN = ("memcpy", "copy", "kernel")


def messages(results: Iterable[Result]) -> list[Result]:
    """Returns the cells of messages between two ranks, bandwidth and ping-pong."""
    return [cell for cell in results if between_ranks(cell) and cell.record.pattern not in OF_ALL_RANKS]


def is_latency(cell: Result) -> bool:
    """Whether the value is the round trip of one message."""
    return metric_of(cell.record.interface) == "latency"


def half(result: Result | ResultGroup) -> Part:
    """Returns half of a round trip in ns, with its interval."""
    return Part(result.value / 2, result.low / 2, result.high / 2)


def one_sided(cell: Result) -> bool:
    """Whether it is a put or get."""
    return INTERFACES[cell.record.interface].one_sided


def is_single(cell: Result) -> bool:
    """Whether the value says how long one message takes: a round trip, or a put or get that is completed
    before the next.
    """
    return is_latency(cell) or (one_sided(cell) and cell.record.options.get(WINDOW.name) == 1)


def one_way_time(result: Result | ResultGroup) -> Part:
    """Returns the time of one message in ns, with its interval: half of a round trip, or of a put or get."""
    first = result.cells[0] if isinstance(result, ResultGroup) else result
    if is_latency(first):
        return half(result)
    size = first.size_bytes * 1e9
    return Part(size / result.value, size / result.high, size / result.low)


def named(cell: Result, number: int = 2) -> str:
    """`MPI messages`, `NCCL message`, `MPI puts`."""
    noun = library(cell) if one_sided(cell) else f"{library(cell)} message"
    return noun if number == 1 else f"{noun}s"


def of_size(cell: Result, size_bytes: int) -> str:
    """`messages of 8 B`, `MPI puts of 8 B`."""
    return f"{named(cell) if one_sided(cell) else 'messages'} of {format_size(size_bytes)}"


def window(cell: Result) -> int | None:
    """Returns the number of messages in flight from the case or its evidence; None if unknown."""
    asked = cell.record.options.get("window")
    if asked is not None:
        return int(asked)
    return cell.record.evidence.window if cell.record.evidence else None


def _one_way(cell: Result) -> str:
    """Returns the path of the first flow: the same for bandwidth and ping-pong."""
    return cell.record.path.replace("<>", ">")


def setting_of(cell: Result) -> tuple[str, str]:
    """Returns the settings that messages of one table share, except library and window."""
    return memory(cell), _settled(cell)


def _settled(cell: Result) -> str:
    """Returns the settings that a latency and the bandwidths beside it share: no latency has a window."""
    return settings(cell, WINDOW.name)


def _has_windows(cell: Result) -> bool:
    """Whether its messages are sent in windows at all."""
    return WINDOW in INTERFACES[cell.record.interface].options


def topic(index: Index) -> Topic | None:
    """Returns the topic of messages between ranks; None if the run has none."""
    cells = messages(index.cells)
    if not cells:
        return None
    tables: list[Table] = []
    charts: list[Chart] = []
    places = _places(index, cells)
    for members in places:
        named = f"{library(members[0])}, {_title(index, members)}"
        tables += [*_tables(named, members), *first_use.tables(named, members)]
    tables += rank_pairs.matrices(cells)
    tables += rank_memories.matrices(cells)
    for title, alike in group_by(places, lambda members: _title(index, members)).items():
        members = [cell for place in alike for cell in place]
        charts += _charts(title, members, [*_plain(index.cells, members), *_by_ipc(index.cells, members)])
    by_ucx = any(INTERFACES[cell.record.interface].between == UCX for cell in cells)
    introduction = INTRODUCTION + ABOUT_ONE_SIDED * any(map(one_sided, cells)) + ABOUT_UCX * by_ucx
    return Topic("messages", "Messages between ranks", introduction, tuple(tables), tuple(charts))


def _places(index: Index, cells: Sequence[Result]) -> list[list[Result]]:
    """Groups messages by path, or by link class if it has many paths."""
    places = []
    # Latency has no cache state of its own, and stands beside the bandwidth whatever that is measured with.
    alike = group_by(cells, lambda cell: (library(cell), where(index, cell), _memories(cell)))
    for members in alike.values():
        by_path = group_by(members, _one_way)
        many = len(by_path) > MOST_PATHS
        for group in [members] if many else [by_path[path] for path in sorted(by_path, key=label_order)]:
            for settled in group_by(group, _settled).values():
                latencies = [cell for cell in settled if is_latency(cell)]
                rates = group_by((cell for cell in settled if not is_latency(cell)), memory)
                places += [[*own, *latencies] for own in rates.values()] or [latencies]
    return places


def _title(index: Index, members: Sequence[Result]) -> str:
    """Names the ranks and the settings that the messages share, without the library."""
    return ", ".join(part for part in (_ends(index, members), *setting_of(members[0])) if part)


def _memories(cell: Result) -> tuple[str, str]:
    return cell.variant.source, cell.variant.destination


def _ends(index: Index, members: Sequence[Result]) -> str:
    """`0/cpu0>1/cpu0`, or the kind of pair if there are many paths."""
    paths = dict.fromkeys(map(_one_way, members))
    if len(paths) <= MOST_PATHS:
        return next(iter(paths))
    between = where(index, members[0])
    return f"{between[0].lower()}{between[1:]}, median of {count(len(paths), 'path')}"


def _tables(title: str, members: Sequence[Result]) -> Iterator[Table]:
    """Yields a table for each window; each includes the latency, which has no window."""
    rates = [cell for cell in members if not is_latency(cell)]
    latency = [cell for cell in members if is_latency(cell)]
    windows = group_by(rates, lambda cell: cell.record.options.get(WINDOW.name))
    default = windows.pop(None, [])
    if default or not rates:
        sizes = {cell.size_bytes for cell in (*default, *latency)}
        text = f"{title}, default window" if any(map(_has_windows, default)) else title
        yield _table(text, sizes, (*default, *latency))
    for asked, group in sorted(windows.items(), key=lambda item: int(item[0] or 0)):
        sizes = {cell.size_bytes for cell in group}
        yield _table(f"{title}, window of {asked}", sizes, (*group, *latency))


class _MessagesOfSize(NamedTuple):
    """The messages of one size: a single one, and those in a window in one and in both directions."""

    size_bytes: int
    single: ResultGroup | None
    there: ResultGroup | None
    both: ResultGroup | None
    in_flight: tuple[str, ...]


def _single_latency(row: _MessagesOfSize) -> str:
    return us_figure(one_way_time(row.single), row.single) if row.single else ""


def _table(title: str, sizes: Iterable[int], members: Sequence[Result]) -> Table:
    columns: list[TableColumn[_MessagesOfSize]] = [
        figures("size", lambda row: format_size(row.size_bytes)),
        figures("latency, µs", _single_latency),
        figures("unidirectional, GB/s", lambda row: gb_figure(row.there) if row.there else ""),
        figures("bidirectional, GB/s", lambda row: gb_figure(row.both) if row.both else ""),
    ]
    if any(map(_has_windows, members)):
        columns.append(figures("messages in a window", lambda row: ", ".join(row.in_flight)))
    by_size = group_by(members, lambda cell: cell.size_bytes)
    rows = []
    for size in sorted(sizes):
        of = group_by(by_size[size], lambda cell: (is_latency(cell), cell.record.pattern))
        trips, there, both = (
            pool(of[key]) if key in of else None
            for key in ((True, "unidirectional"), (False, "unidirectional"), (False, "bidirectional"))
        )
        single = there if trips is None and there and all(map(is_single, there.cells)) else trips
        rates = [cell for cell in by_size[size] if not is_latency(cell)]
        in_flight = tuple(dict.fromkeys(str(asked) for cell in rates if (asked := window(cell)) is not None))
        rows.append(_MessagesOfSize(size, single, there, both, in_flight))
    return marked(tabulated(title, columns, rows), AS_OSU * as_osu(members), versions(members))


def _charts(title: str, members: Sequence[Result], plain: Sequence[Result]) -> list[Chart]:
    """Draws bandwidth over size of messages and of copies within one process."""
    rates = [cell for cell in members if not is_latency(cell)]
    lines = []
    rates.sort(key=lambda cell: (cell.record.pattern != "unidirectional", WINDOW.name in cell.record.options))
    for label, group in group_by([*rates, *plain], _label).items():
        sizes = group_by(group, lambda cell: cell.size_bytes)
        points = tuple(result_point(size, pool(cells)) for size, cells in sorted(sizes.items()))
        lines += [Series(label, points)] if len(points) > 1 else []
    if not any(between_ranks(cell) for cell in members) or not lines:
        return []
    caption = "Medians with their 95 % intervals."
    for opened, group in group_by(plain, uses_ipc).items():
        names = dict.fromkeys(cell.record.interface for cell in group)
        lead = "Into memory of another process (IPC)" if opened else "Within one process"
        caption += f" {lead} the same bytes are moved by {listed([*names])}."
    return [rates_over_size(title, caption, lines)]


def _label(cell: Result) -> str:
    label = cell.variant.named(library(cell) if between_ranks(cell) else None, memory=False)
    if uses_ipc(cell):
        label += ", IPC"
    return f"{label}, sum of both directions" if cell.record.pattern == "bidirectional" else label


def _plain(results: Iterable[Result], members: Sequence[Result]) -> list[Result]:
    """Returns single-process flows between the same devices and memories with equal cache state."""
    wanted = {_bytes_moved(cell) for cell in members if not is_latency(cell)}
    return [cell for cell in unidirectional(results) if _bytes_moved(cell) in wanted]


def _by_ipc(results: Iterable[Result], members: Sequence[Result]) -> list[Result]:
    """Returns the same flows with one end in memory of another process."""
    wanted = {_bytes_moved(cell) for cell in members if not is_latency(cell)}
    return [
        cell
        for cell in ipc_results(results)
        if (cell.source.device, cell.destination.device, "device", "device", cell.record.cache) in wanted
    ]


def _bytes_moved(cell: Result) -> tuple[Hashable, ...]:
    return cell.source.device, cell.destination.device, *_memories(cell), cell.record.cache


def latency(index: Index) -> Iterator[Finding]:
    """Reports the latency of the smallest message for each link class and memory."""
    trips = [cell for cell in messages(index.between_ranks) if is_single(cell) and _is_one_way(cell)]
    for group in _alike(index, trips).values():
        size = min(cell.size_bytes for cell in group)
        smallest = pool([cell for cell in group if cell.size_bytes == size])
        first = smallest.cells[0]
        lead = lead_of(index, first, trips)
        time = time_said(one_way_time(smallest))
        article = "a" if library(first).startswith("UCX") else "an"  # an MPI message, an NCCL message
        title = f"{lead}, {article} {named(first, 1)} of {format_size(size)} takes {time}"
        what = "Half of a round trip" if is_latency(first) else "Completed before the next"
        detail = f"{what}, {paths_of(smallest)}, {memory(first)}{_with(first)}."
        yield finding(
            title, detail, Priority.MESSAGE_LATENCY, (smallest,), about=(lead, library(first), size)
        )


def _is_one_way(cell: Result) -> bool:
    return cell.record.pattern == "unidirectional"


def lead_of(index: Index, cell: Result, others: Iterable[Result]) -> str:
    """Names where the ranks are, with the settings that distinguish these messages from others there."""
    place = where(index, cell)
    alike = [other for other in others if where(index, other) == place and library(other) == library(cell)]
    differing = set(map(setting_of, alike))
    parts = (part for part in setting_of(cell) if part) if len(differing) > 1 else ()
    return ", ".join((place, *parts))


def _alike(index: Index, cells: Iterable[Result]) -> dict[tuple[str, str, Hashable], list[Result]]:
    """By library, where both ranks are and how the messages are sent: only these are pooled."""
    return group_by(cells, lambda cell: (library(cell), where(index, cell), cell.variant))


def paths_of(group: ResultGroup) -> str:
    paths = len({cell.record.path for cell in group.cells})
    return f"median of {count(paths, 'path')}" if paths > 1 else group.cells[0].record.path


def _with(cell: Result) -> str:
    text = settings(cell)
    return f", {text}" if text else ""


def _by_size(cells: Sequence[Result]) -> dict[int, ResultGroup]:
    sizes = group_by(cells, lambda cell: cell.size_bytes)
    return {size: pool(members) for size, members in sorted(sizes.items())}


def single_direction(index: Index) -> list[Result]:
    return [
        cell
        for cell in messages(index.between_ranks)
        if not is_latency(cell) and cell.record.pattern == "unidirectional"
    ]


def bandwidth(index: Index) -> Iterator[Finding]:
    """Reports the highest bandwidth and between which sizes half of it lies (n½: R. Hockney, Parallel Comput.
    10).
    """
    plain = [cell for cell in single_direction(index) if "window" not in cell.record.options]
    for sent in _alike(index, plain).values():
        sizes = _by_size(sent)
        size, best = max(sizes.items(), key=lambda item: item[1].value)
        middle = next(at for at, group in sizes.items() if 2 * group.value >= best.value)
        first = best.cells[0]
        lead = lead_of(index, first, plain)
        title = f"{lead}, {named(first)} reach {rate(best)} GB/s at {format_size(size)}"
        quoted = [best]
        if min(sizes) < middle < size:  # else no size shows where it begins
            below = max(smaller for smaller in sizes if smaller < middle)
            title += f" and half of that between {format_size(below)} and {format_size(middle)}"
            quoted += [sizes[below], sizes[middle]]
        detail = f"{sentence(paths_of(best))}, {memory(first)}{_with(first)}, interval {span(best)} GB/s."
        yield finding(title, detail, Priority.MESSAGE_BANDWIDTH, quoted, about=(lead, library(first), size))


def compared_with_copy(index: Index) -> Iterator[Finding]:
    """Messages beside plain copies of the same memory, at the largest size that messages and copies have."""
    sent = [cell for cell in single_direction(index) if "window" not in cell.record.options]
    for alike in _alike(index, sent).values():
        # Only default copies; take them from all cells because `index.ranked` has no messages.
        copies = [
            cell
            for cell in _plain(index.ranked, alike)
            if cell.record.interface in PLAIN and not settings(cell) and cell.stays
        ]
        common = {cell.size_bytes for cell in alike} & {cell.size_bytes for cell in copies}
        if not common:
            continue
        size = max(common)
        ways = group_by([cell for cell in copies if cell.size_bytes == size], lambda cell: cell.variant)
        rising = sorted(map(pool, ways.values()), key=lambda group: group.value)
        fastest = {group.cells[0].record.interface: group for group in rising}
        plain = sorted(fastest.values(), key=lambda group: -group.value)
        lead = f"{lead_of(index, alike[0], sent)}, {of_size(alike[0], size)}"
        yield from _beside(lead, _by_size(alike)[size], plain, len(ways) + 1)


def _beside(lead: str, sent: ResultGroup, plain: Sequence[ResultGroup], ways: int) -> Iterator[Finding]:
    """The title tells of the fastest interface within one process, the detail of the others."""
    first = sent.cells[0]
    claims, texts = [], []
    for other in plain:
        names = library(first), other.cells[0].record.interface
        claim = compare(sent, other, kind="messages", ways=ways, match=_bytes_moved, names=names)
        if claim.differ:
            texts.append(difference(claim))
        elif claim.verdict == TIE:
            texts.append(f"{tie(claim, names)}, {rate(sent)} and {rate(other)} GB/s")
        elif texts:  # no one thing is true of all paths
            continue
        else:
            return
        claims.append(claim)
    fastest = plain[0].cells[0].record
    place = f"{fastest.interface} moves the same bytes within one process, {fastest.path}"
    detail = "; ".join([f"{memory(first)}{_with(first)}", place, *texts[1:]]) + "."
    yield finding(
        f"{lead}: {texts[0]}",
        sentence(detail),
        Priority.MESSAGE_BESIDE_COPY,
        (sent, *plain),
        claims,
        about=(lead, library(first)),
    )
