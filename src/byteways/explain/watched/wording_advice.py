"""The advice on a watched program as a table and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from byteways.explain.display.table import Table
from byteways.explain.results.counting import count
from byteways.explain.watched.advice import CHANGES, NO_GAIN, Advice, AdvisedBin
from byteways.explain.watched.operations import ends_in_words
from byteways.units import format_size, short_time

#: Rows without --all.
MOST_ADVISED_ROWS = 12


def advice_table(found: Advice, name: str, *, every: bool = False) -> Table:
    """Returns the bins with the largest gains, then with the longest times."""
    shown = found.bins if every else found.bins[:MOST_ADVISED_ROWS]
    return Table(
        f"Beside the best method of {name}",
        ("method", "from → to", "size", "count", "time", "best time", "gain", "change"),
        tuple(map(_row, shown)),
        (3, 4, 5, 6),
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
    if not every and len(found.bins) > MOST_ADVISED_ROWS:
        yield f"{count(len(found.bins) - MOST_ADVISED_ROWS, 'row')} more: --all"
    without: Counter[str] = Counter()
    for one in found.bins:
        if one.no_gain:
            without[one.no_gain] += round(one.taken_ns or 0)
    for code, time_ns in without.most_common():
        yield f"{short_time(time_ns)} without a gain: {NO_GAIN[code]}"


def _row(one: AdvisedBin) -> tuple[str, ...]:
    each, gain = one.bin, one.gain
    size = format_size(round(each.bytes / each.count)) if each.count else "–"
    return (
        each.method,
        ends_in_words(each),
        size,
        f"{each.count:,}",
        short_time(one.taken_ns) if one.taken_ns else "–",
        short_time(one.best_ns.value) if one.best_ns else "–",
        _between(gain.low_ns, gain.high_ns) if gain else "–",
        _advice(one),
    )


def _advice(one: AdvisedBin) -> str:
    if one.gain is None:
        return "–"
    doubt = "" if one.gain.answer.sure else ", not sure"
    return f"{CHANGES[one.gain.change]}: {one.gain.answer.method}{doubt}"


def _between(low_ns: float, high_ns: float) -> str:
    low, high = short_time(low_ns), short_time(high_ns)
    return low if low == high else f"{low} to {high}"
