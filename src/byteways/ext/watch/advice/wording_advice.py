"""The advice on a watched program as a table and sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from byteways.answers.results.counting import count
from byteways.base.units import format_size, short_time
from byteways.ext.watch.advice.advice import CHANGES, NO_GAIN, Advice, AdvisedBin
from byteways.ext.watch.advice.operations import ends_in_words, method_in_words
from byteways.questions.display.table import Table

#: Rows without --all.
MOST_ADVISED_ROWS = 12


def advice_table(found: Advice, name: str, *, every: bool = False) -> Table:
    """Returns the bins with the largest gains, then with the longest times; those of processes are joined."""
    rows = _joined(found)
    return Table(
        f"Beside the best method of {name}",
        ("method", "from → to", "size", "count", "time", "of it waiting", "best time", "gain", "change"),
        tuple(map(_row, rows if every else rows[:MOST_ADVISED_ROWS])),
        (3, 4, 5, 6, 7),
    )


def advice_lines(found: Advice, *, every: bool = False) -> Iterator[str]:
    """Yields what the table sums up to, and why the rest has no gain."""
    gains = [one.gain for one in found.bins if one.gain]
    taken = short_time(found.taken_ns)
    if gains:
        low, high = sum(gain.low_ns for gain in gains), sum(gain.high_ns for gain in gains)
        yield f"all changes together save {_between(low, high)} of the {taken} in calls and transfers"
    else:
        yield f"no change is known that saves some of the {taken} in calls and transfers"
    if excess := sum(one.excess_ns or 0.0 for one in found.bins):
        yield f"{short_time(excess)} of it is waiting or contention: the run's own times are shorter"
    left = len(_joined(found)) - MOST_ADVISED_ROWS
    if not every and left > 0:
        yield f"{count(left, 'row')} more: --all"
    without: Counter[str] = Counter()
    for one in found.bins:
        if one.no_gain:
            without[one.no_gain] += round(one.taken_ns or 0)
    for code, time_ns in without.most_common():
        yield f"{short_time(time_ns)} without a gain: {NO_GAIN[code]}"


def _joined(found: Advice) -> list[Sequence[AdvisedBin]]:
    """Returns the bins in rows: those that differ in their process alone are one, also of a collective."""
    rows: dict[tuple[str, ...], list[AdvisedBin]] = defaultdict(list)
    for one in found.bins:
        method = method_in_words(one.bin)
        rows[method, ends_in_words(one.bin), _size(one), one.no_gain or "", _advice(one)].append(one)
    return [*rows.values()]


def _row(some: Sequence[AdvisedBin]) -> tuple[str, ...]:
    first = some[0]
    gains = [one.gain for one in some if one.gain]
    low, high = sum(gain.low_ns for gain in gains), sum(gain.high_ns for gain in gains)
    return (
        method_in_words(first.bin),
        ends_in_words(first.bin),
        _size(first),
        _count(some),
        _sum(one.taken_ns for one in some),
        _sum(one.excess_ns for one in some),
        _sum(one.best_ns.value if one.best_ns else None for one in some),
        _between(low, high) if gains else "–",
        _advice(first),
    )


def _count(some: Sequence[AdvisedBin]) -> str:
    """Returns the number of operations; of a collective how many each rank takes part in."""
    counts = [one.bin.count for one in some]
    if some[0].bin.what == "collective" and len(counts) > 1 and len({*counts}) == 1:
        return f"{counts[0]:,} × {len(counts)} ranks"
    return f"{sum(counts):,}"


def _sum(times: Iterable[float | None]) -> str:
    known = [time for time in times if time is not None]
    return short_time(sum(known)) if known else "–"


def _size(one: AdvisedBin) -> str:
    return format_size(round(one.bin.bytes / one.bin.count)) if one.bin.count else "–"


def _advice(one: AdvisedBin) -> str:
    if one.gain is None:
        return "–"
    doubt = "" if one.gain.answer.sure else ", not sure"
    return f"{CHANGES[one.gain.change]}: {one.gain.answer.method}{doubt}"


def _between(low_ns: float, high_ns: float) -> str:
    low, high = short_time(low_ns), short_time(high_ns)
    return low if low == high else f"{low} to {high}"
