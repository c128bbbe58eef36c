"""The table of a watched program: operations that are alike, the longest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from byteways.base.units import format_duration, format_size, short_time
from byteways.ext.watch.bins import Bin, End, Process
from byteways.ext.watch.folder import WatchFolder
from byteways.questions.display.table import Table
from byteways.record.simulation_mark import mark_of

#: Rows without --all.
MOST_WATCH_ROWS = 15
_HEADINGS = ("what", "method", "size", "from → to", "count", "bytes", "time", "share")
_NUMERIC = (4, 5, 6, 7, 8)
#: A column where it was observed: the part of the time that passed while kernels ran on the device.
_OVERLAP = "beside kernels"
#: Links that have counters.
LINK_NAMES = {"nvlink": "NVLink", "pcie": "PCIe"}
#: What a row says of its call, by a detail of bins.
_PARTS = {
    ("direction", "send"): "send",
    ("direction", "receive"): "receive",
    ("size", "posted"): "posted size",
    ("requests", "collectives"): "for collectives",
    ("requests", "one-sided"): "for one-sided operations",
    ("requests", "several"): "for several kinds",
    ("requests", "unknown"): "for unknown requests",
}
#: Sizes of one row differ by less than this factor, as a power of two.
_ROW_BITS = 10


def simulation_mark(found: WatchFolder) -> str:
    """Returns the line above what happened on simulated GPUs; empty: nothing is simulated."""
    return mark_of(msgspec.to_builtins(found.manifest))


def watch_table(found: WatchFolder, every: bool) -> Table:
    """Returns the table. The share is of the time of all operations, which may overlap."""
    groups: dict[tuple[str, str, str, int], list[Bin]] = defaultdict(list)
    for one in found.watched.bins:
        magnitude = max(one.size_to.bit_length() - 1, 0) // _ROW_BITS
        groups[one.what, method_in_words(one), ends_in_words(one), magnitude].append(one)
    total = sum(one.time_ns or 0 for one in found.watched.bins)
    order = sorted(groups.items(), key=lambda item: (-_time(item[1]), item[0]))
    shown = order if every else order[:MOST_WATCH_ROWS]
    overlaps = any(one.overlap_ns is not None for one in found.watched.bins)
    rows = tuple(
        _row(what, method, ends, bins, total) + ((_overlap(bins),) if overlaps else ())
        for (what, method, ends, _), bins in shown
    )
    left = len(order) - len(shown)
    title = _title(found) + (f"; {left} rows more: --all" if left else "")
    headings = (*_HEADINGS, _OVERLAP) if overlaps else _HEADINGS
    return Table(title, headings, rows, tuple(at for at in _NUMERIC if at < len(headings)))


def links_table(found: WatchFolder) -> Table | None:
    """Returns what the links of the GPUs that the program used have seen; None: no counter was read."""
    links = found.manifest.links
    if not links:
        return None
    rows = tuple(
        (
            one.device,
            LINK_NAMES.get(one.link, one.link),
            *("–" if size is None else format_size(size) for size in (one.sent_bytes, one.received_bytes)),
        )
        for one in links
    )
    seconds = format_duration((links[0].to_ns - links[0].from_ns) / 1e9)
    title = f"Counters of the links of these GPUs, with the bytes of all programs, {seconds}"
    return Table(title, ("GPU", "link", "sent", "received"), rows, (2, 3))


def _row(what: str, method: str, ends: str, bins: Sequence[Bin], total_ns: int) -> tuple[str, ...]:
    time_ns = _time(bins)
    timed = any(one.time_ns is not None for one in bins)
    moved = sum(one.bytes for one in bins)
    return (
        what,
        method,
        _sizes(min(one.size_from for one in bins), max(one.size_to for one in bins)),
        ends,
        f"{sum(one.count for one in bins):,}",
        format_size(moved) if moved else "–",
        short_time(time_ns) if timed else "–",
        f"{100 * time_ns / total_ns:.1f} %" if timed and total_ns else "–",
    )


def _overlap(bins: Sequence[Bin]) -> str:
    """Returns the part of the time that passed while kernels ran, of the bins for which it was observed."""
    known = [one for one in bins if one.overlap_ns is not None and one.time_ns]
    whole = sum(one.time_ns or 0 for one in known)
    return f"{100 * sum(one.overlap_ns or 0 for one in known) / whole:.0f} %" if whole else "–"


def _time(bins: Sequence[Bin]) -> int:
    return sum(one.time_ns or 0 for one in bins)


def _sizes(least: int, most: int) -> str:
    if most == 0:
        return "–"
    return format_size(most) if least == most else f"{format_size(least)} … {format_size(most)}"


def method_in_words(one: Bin) -> str:
    """Returns the call, and which part of it where a bin has a part."""
    parts = (part for key, part in _PARTS.items() if one.detail.get(key[0]) == key[1])
    return ", ".join((one.method, *parts))


def ends_in_words(one: Bin) -> str:
    """Returns memories and devices of both ends; ranks are too many for a short table."""
    if one.ranks is not None:
        memory = f"{one.source.memory}, " if one.source.memory else ""
        return f"{memory}{one.ranks} ranks"
    source, destination = _end(one.source), _end(one.destination)
    if not source and not destination:
        return "–"
    return f"{source or '?'} → {destination or '?'}"


def _end(end: End) -> str:
    return " ".join(filter(None, (end.device, end.memory)))


def _title(found: WatchFolder) -> str:
    processes = found.watched.processes
    seconds = (found.manifest.duration_ns or 0) / 1e9
    # A simulated program's own time has nothing to do with those of its copies.
    lasted = f", {format_duration(seconds)}" if seconds and not found.manifest.simulated else ""
    return f"What {_count(processes)} moved{lasted}"


def _count(processes: Sequence[Process]) -> str:
    ranks = sum(one.rank is not None for one in processes)
    number = f"{len(processes)} process{'es' * (len(processes) != 1)}"
    if ranks > 1 and all(one.ranks in (1, None) for one in processes):
        return f"{number} (each rank 0 of 1)"
    return number if not ranks else f"{number} ({ranks} rank{'s' * (ranks != 1)})"
