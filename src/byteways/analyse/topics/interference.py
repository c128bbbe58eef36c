"""What a transfer costs others: slowdown of what is measured, and of the transfer."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.interference import Slowdown, slowdowns
from byteways.analyse.summary import Cell, Run
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
    rows = tuple(_row(pair) for pair in pairs)
    lead = "Arithmetic and memory-bound work alone, then beside a transfer: what each costs the other."
    table = Table("", headings, rows, (2, 3, 4, 5, 6, 7), note)
    return Topic("slowdown", "What a transfer costs others", lead, (table,))


def _row(pair: Slowdown) -> tuple[str, ...]:
    own = f"{pair.own:.2f}" if pair.own < 10 else f"{pair.own:.0f}"
    record = pair.alone.record
    return (
        f"{describe(record)}, {format_size(record.size_bytes)}",
        pair.beside,
        _figure(pair.alone),
        _figure(pair.cell),
        own if pair.sure else f"({own})",
        three_digits(pair.load_alone.value / 1e9) if pair.load_alone else "not measured",
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
