"""Blocks against bandwidth: how much of a GPU fills a link, by loads and stores and by bulk copies."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.saturation import WITHIN, Saturation, saturations
from byteways.analyse.summary import Cell, Run, group_by
from byteways.analyse.topic import Line, Plot, PlotPoint, Table, Topic
from byteways.units import format_bandwidth, format_size

#: Names of the two counts, for tables and axes.
COUNTS = {False: "one direction", True: "read + write"}


def topic(run: Run, found: Sequence[Cell]) -> Topic | None:
    """Of a run that swept blocks; None of any other."""
    curves = saturations(found, run.topology)
    if not curves:
        return None
    alike = group_by(curves, lambda curve: (curve.path, curve.size_bytes, curve.read_write))
    return Topic(
        "saturation",
        "Blocks that fill a link",
        f"The least number of blocks within {100 * WITHIN:g} % of the best of its own curve: what a transfer "
        "takes of a GPU from whatever else runs there. A block occupies one multiprocessor (SM or CU), and "
        "several may share one.",
        (_table(curves),),
        tuple(_plot(path, size, counted, some) for (path, size, counted), some in alike.items()),
    )


def _table(curves: Sequence[Saturation]) -> Table:
    headings = (
        *("path", "interface", "size", "counts", "full from, blocks", "GB/s there", "best, GB/s"),
        *("at blocks", "multiprocessors", "most of them taken"),
    )
    rows = tuple(_row(curve) for curve in curves)
    note = (
        "“>”: within 5 % of the best only at the largest number tried, so more blocks may give more. "
        "“Most of them taken”: were each of these blocks alone on a multiprocessor."
    )
    return Table("Blocks within 5 % of the best", headings, rows, (2, 4, 5, 6, 7, 8, 9), note)


def _row(curve: Saturation) -> tuple[str, ...]:
    (enough, there), (at, best) = curve.enough, curve.best
    processors = curve.multiprocessors
    taken = f"{100 * min(1.0, enough / processors):.0f} %" if processors else "not told"
    return (
        curve.path,
        curve.variant.label(),
        format_size(curve.size_bytes),
        COUNTS[curve.read_write],
        str(enough) if curve.full else f"> {curve.points[-1][0]}",
        f"{there.value / 1e9:.1f}",
        f"{best.value / 1e9:.1f}",
        str(at),
        str(processors) if processors else "not told",
        taken,
    )


def _plot(path: str, size_bytes: int, read_write: bool, curves: Sequence[Saturation]) -> Plot:
    lines = tuple(
        Line(
            curve.variant.label(),
            tuple(
                PlotPoint(
                    blocks,
                    cell.value / 1e9,
                    cell.low / 1e9,
                    cell.high / 1e9,
                    f"{blocks} blocks: {format_bandwidth(cell.value)}",
                )
                for blocks, cell in curve.points
            ),
        )
        for curve in curves
    )
    counted = ", read + write counted" * read_write
    return Plot(
        f"{path}, {format_size(size_bytes)}{counted}",
        "Each point is one number of blocks, with its 95 % interval.",
        "blocks",
        f"GB/s, {COUNTS[read_write]}",
        lines,
        x_log=True,
    )
