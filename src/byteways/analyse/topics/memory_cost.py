"""What it costs to have memory, over size and per GiB, and after how many copies registering pays."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.memory_cost import Cost, PayOff, costs, pay_offs
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Line, Plot, PlotPoint, Table, Topic
from byteways.units import format_size, format_time, short_time

_LEAD = (
    "What the calls cost that have memory, give it back or open it, timed by the host's clock; what undoes "
    "them between samples is not in the figures. Per GiB is what a GiB more costs, from the smallest size to "
    "the largest; “none” where these two cannot be told apart."
)


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """None of a run that measured no such step."""
    steps = costs(found)
    if not steps:
        return None
    paid = pay_offs(found)
    tables = [_table(steps), *([_payoff_table(paid)] if paid else [])]
    return Topic("memory-cost", "Cost of memory itself", _LEAD, tuple(tables), tuple(_plots(steps)))


def _table(steps: Sequence[Cost]) -> Table:
    sizes = sorted({cell.record.size_bytes for cost in steps for cell in cost.cells})
    rows = []
    for cost in steps:
        by_size = {cell.record.size_bytes: cell for cell in cost.cells}
        figures = [
            short_time(by_size[size].value) + _mark(by_size[size]) if size in by_size else ""
            for size in sizes
        ]
        per_gib = (
            "" if cost.per_gib_ns is None else short_time(cost.per_gib_ns) if cost.per_gib_ns else "none"
        )
        step = cost.step
        rows.append((step.interface, step.memory, step.devices, step.options, *figures, per_gib))
    headings = ("step", "memory", "devices", "options", *(format_size(size) for size in sizes), "per GiB")
    note = "* has a warning" if any("*" in text for row in rows for text in row) else ""
    return Table("Time of a call, by size", headings, tuple(rows), tuple(range(4, len(headings))), note)


def _mark(cell: Cell) -> str:
    return "*" if cell.warning_ids else ""


def _payoff_table(paid: Sequence[PayOff]) -> Table:
    rows = tuple(
        (
            each.path,
            format_size(each.size_bytes),
            short_time(each.step_ns),
            short_time(each.plain_ns),
            short_time(each.registered_ns),
            each.said,
        )
        for each in paid
    )
    headings = (
        "path",
        "size",
        "register and unregister",
        "copy of pageable",
        "copy of registered",
        "pays after copies",
    )
    note = (
        "Never: copies of registered memory take longer, beyond both intervals. Cannot be told: the "
        "intervals overlap."
    )
    return Table("When registering pays", headings, rows, (1, 2, 3, 4, 5), note)


def _plots(steps: Sequence[Cost]) -> list[Plot]:
    plots = []
    for interface, some in group_by(steps, lambda cost: cost.step.interface).items():
        lines = tuple(
            Line(
                ", ".join(part for part in (cost.step.memory, cost.step.devices, cost.step.options) if part),
                tuple(
                    PlotPoint(
                        cell.record.size_bytes,
                        cell.value / 1e3,
                        cell.low / 1e3,
                        cell.high / 1e3,
                        f"{format_size(cell.record.size_bytes)}: {format_time(cell.value)}",
                    )
                    for cell in cost.cells
                ),
            )
            for cost in some
            if len(cost.cells) > 1
        )
        if lines:
            plots.append(
                Plot(
                    f"{interface} over size",
                    "Time of one call; the band is the 95 % interval.",
                    "size",
                    "µs",
                    lines,
                    x_sizes=True,
                    x_log=True,
                    y_log=True,
                )
            )
    return plots
