"""Charts of a watched program: what it moved by size, and when."""

from __future__ import annotations

from collections import defaultdict

from byteways.base.units import format_size, short_time
from byteways.ext.watch.advice.operations import method_in_words
from byteways.ext.watch.bins import Bin, Watched
from byteways.ext.watch.questions import time_of
from byteways.questions.display.chart import TRANSFER_SIZES, Axis, Chart, Point, Series

#: Methods with lines of their own; the others move less.
MOST_METHODS = 8


def size_chart(watched: Watched) -> Chart | None:
    """Returns the bytes of each method by the size of its operations; None if nothing was moved."""
    by_method: defaultdict[str, dict[int, list[Bin]]] = defaultdict(lambda: defaultdict(list))
    for each in watched.bins:
        if each.bytes:
            by_method[method_in_words(each)][_class(each)].append(each)
    moved = {
        name: sum(one.bytes for bins in sizes.values() for one in bins) for name, sizes in by_method.items()
    }
    chosen = sorted(moved, key=lambda name: -moved[name])[:MOST_METHODS]
    if not chosen:
        return None
    return Chart(
        "Bytes by size of the operation",
        "Sizes are classes of powers of two. The tooltip has the number of operations and their time.",
        TRANSFER_SIZES,
        Axis("bytes in all", "log", "bytes"),
        tuple(
            Series(name, tuple(_point(size, by_method[name][size]) for size in sorted(by_method[name])))
            for name in chosen
        ),
    )


def time_chart(watched: Watched) -> Chart | None:
    """Returns the rate of each kind of operation over time; None without a time line."""
    line = watched.timeline
    if line is None or not line.series:
        return None
    sums: defaultdict[str, list[int]] = defaultdict(list)
    for series in line.series:
        known = sums[series.what]
        known += [0] * (len(series.bytes) - len(known))
        for place, moved in enumerate(series.bytes):
            known[place] += moved
    return Chart(
        "Rate over time",
        f"All processes together, in intervals of {short_time(line.interval_ns)}.",
        Axis("time since the start", unit="ns"),
        Axis("GB/s"),
        tuple(
            Series(
                what,
                tuple(
                    Point((place + 0.5) * line.interval_ns, moved / line.interval_ns)
                    for place, moved in enumerate(rates)
                ),
                symbol="none",
            )
            for what, rates in sums.items()
            if any(rates)
        ),
    )


def _class(each: Bin) -> int:
    """Returns the power of two that the mean size of a bin has at least."""
    return 1 << max(each.bytes // each.count, 1).bit_length() - 1


def _point(size: int, bins: list[Bin]) -> Point:
    moved, number = sum(one.bytes for one in bins), sum(one.count for one in bins)
    times = [time for one in bins if (time := time_of(one)) is not None]
    took = f", {short_time(sum(times))}" if times else ""
    return Point(size, moved, text=f"{number:,} operations, {format_size(moved)}{took}")
