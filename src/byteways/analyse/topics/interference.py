"""What a transfer costs others: slowdown of what is measured, and of the transfer."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from byteways.analyse.interference import Slowdown, slowdowns
from byteways.analyse.loaded import APART
from byteways.analyse.summary import UNSETTLED, Cell, Run
from byteways.analyse.topic import Table, Topic
from byteways.analyse.words import describe
from byteways.plan.interfaces import figure_of
from byteways.units import format_size, short_time, three_digits


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run with flows beside transfers of another kind; None of any other."""
    pairs = slowdowns(found)
    if not pairs:
        return None
    headings = (
        *("measured", "beside", "alone", "beside it", "time, × alone"),
        *("transfer alone, GB/s", "beside it, GB/s", "time, × alone"),
    )
    note = (
        "Both rates are from the window in which both ran. “time, × alone” is the time beside the other over "
        "the time alone; in brackets where the intervals do not tell both apart."
    )
    lead = "Arithmetic and memory-bound work alone, then beside a transfer: what each costs the other."
    tables = []
    if rows := tuple(_row(pair) for pair in pairs if pair.together):
        tables.append(Table("", headings, rows, (2, 3, 4, 5, 6, 7), note))
    if apart := [pair for pair in pairs if not pair.together]:
        tables.append(_apart(apart))
    return Topic("slowdown", "What a transfer costs others", lead, tuple(tables))


def _apart(pairs: Sequence[Slowdown]) -> Table:
    """What was measured of pairs that had no window in common."""
    headings = (
        *("measured", "beside", "alone", "with it", "transfer alone, GB/s", "while it ran, GB/s"),
        *("over the whole run, GB/s", "why"),
    )
    note = (
        "There was no window in which both ran: these are times and rates of each by itself, none is what "
        "the one costs the other."
    )
    rows = tuple(_row_apart(pair) for pair in pairs)
    return Table("Without a window in common", headings, rows, (2, 3, 4, 5, 6), note)


def _row_apart(pair: Slowdown) -> tuple[str, ...]:
    records = pair.cell.records
    whole = median(sum((record.end_to_end_bytes_per_s or {}).values()) for record in records)
    # Older records have the rate of the whole run twice.
    own = all(record.directions != record.end_to_end_bytes_per_s for record in records)
    why = [UNSETTLED[each] for each in sorted(APART & set(pair.cell.warning_ids), reverse=True)]
    return (
        *_what(pair),
        _figure(pair.alone),
        _figure(pair.cell),
        _alone(pair),
        three_digits(pair.load_bytes_per_s / 1e9) if own else "–",
        three_digits(whole / 1e9),
        ", ".join(why) or "no overlap",
    )


def _what(pair: Slowdown) -> tuple[str, str]:
    record = pair.alone.record
    return f"{describe(record)}, {format_size(record.size_bytes)}", pair.beside


def _alone(pair: Slowdown) -> str:
    return three_digits(pair.load_alone.value / 1e9) if pair.load_alone else "not measured"


def _row(pair: Slowdown) -> tuple[str, ...]:
    own = f"{pair.own:.2f}" if pair.own < 10 else f"{pair.own:.0f}"
    return (
        *_what(pair),
        _figure(pair.alone),
        _figure(pair.cell),
        own if pair.sure else f"({own})",
        _alone(pair),
        three_digits(pair.load_bytes_per_s / 1e9),
        "–" if pair.others is None else f"{pair.others:.2f}",
    )


def longer_by(factor: float) -> str:
    """'9.1 %', '0.2 %', '3.4 times': how much longer something takes."""
    return f"{factor:.2g} times as long" if factor >= 2 else f"{100 * (factor - 1):.2g} %"


def _figure(cell: Cell) -> str:
    if figure_of(cell.record.interface) == "bandwidth":
        return f"{three_digits(cell.value / 1e9)} GB/s"
    return short_time(cell.value)
