"""Kernels: how many blocks fill a link, and what STREAM reaches."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.rules.facts import Facts, Finding, gb, listed, marked, of_peak, percent
from byteways.analyse.saturation import WITHIN, Saturation, saturations
from byteways.analyse.selection import KINDS, kind
from byteways.analyse.stream import Scan, is_local, other_count, scans
from byteways.analyse.summary import Cell, group_by
from byteways.units import format_size

SATURATION = 430.0
#: An interface fills what others do when its best is at least this part of theirs.
ABLE = 0.9
STREAM = {"gpu": 405.0, "remote": 404.0, "cpu": 394.5}


def saturation(facts: Facts) -> Iterator[Finding]:
    """The least blocks that fill a link, of each interface side by side, once for each kind of path."""
    curves = [
        curve for curve in saturations(facts.cells, facts.topology) if not curve.read_write and curve.full
    ]
    for name in KINDS:
        of_kind = [curve for curve in curves if kind(curve.best[1]) == name]
        by_path = group_by(of_kind, lambda curve: (curve.path, curve.executor, curve.size_bytes))
        # Most interfaces side by side tell most; the most different of those.
        chosen = max(by_path.values(), key=_worth, default=None)
        if chosen:
            yield _saturation(chosen)


def _worth(curves: list[Saturation]) -> tuple[int, float]:
    blocks = [curve.enough[0] for curve in curves]
    return len({curve.interface for curve in curves}), max(blocks) / min(blocks)


def _saturation(curves: list[Saturation]) -> Finding:
    best_of = group_by(curves, lambda curve: curve.interface)
    order = sorted(
        (min(some, key=lambda curve: curve.enough[0]) for some in best_of.values()),
        key=lambda curve: curve.enough[0],
    )
    top = max(curve.best[1].value for curve in order)
    able = [curve for curve in order if curve.best[1].value >= ABLE * top]
    first, rest = able[0], able[1:]
    needs = listed([f"{curve.interface} needs {curve.enough[0]}" for curve in rest]) if rest else ""
    title = f"{first.interface} fills {first.path} from {_blocks(first.enough[0])}"
    if rest and rest[-1].enough[0] == first.enough[0]:
        names = listed([curve.interface for curve in able])
        title = f"{names} fill {first.path} from {_blocks(first.enough[0])} alike"
    elif rest:
        title += f", {needs}"
    for curve in order:
        if curve not in able:
            title += f"; {curve.interface} never gets beyond {gb(curve.best[1].value)} GB/s"
    ends = [f"{curve.interface} {gb(curve.best[1].value)} GB/s with {curve.best[0]}" for curve in order]
    processors = first.multiprocessors
    of = f" {first.executor} has {processors} multiprocessors." if processors else ""
    detail = (
        f"Within {percent(WITHIN)} of the best of each, {format_size(first.size_bytes)}: {listed(ends)}.{of}"
    )
    return Finding(marked(title, *(curve.enough[1] for curve in order)), detail, SATURATION)


def _blocks(count: int) -> str:
    return f"{count} block" if count == 1 else f"{count} blocks"


def stream(facts: Facts) -> Iterator[Finding]:
    """Copy and triad in a GPU's own memory, in a peer's, and in a CPU's, with both counts."""
    chosen = [scan for scan in scans(facts.cells) if scan.largest.record.cache == "cold"] or scans(
        facts.cells
    )
    for name, importance in STREAM.items():
        members = [scan for scan in chosen if _class(scan) == name]
        by_place = group_by(members, lambda scan: scan.place)
        # The place with most kernels, of equals the fastest.
        some = max(
            by_place.values(),
            key=lambda scans: (len(scans), max(scan.largest.value for scan in scans)),
            default=None,
        )
        if some:
            yield _stream(some, importance)


def _class(scan: Scan) -> str:
    if is_local(scan.largest):
        return scan.largest.record.executor.rstrip("0123456789")
    return "remote"


def _of_one_size(some: list[Scan]) -> list[Cell]:
    """The largest size that all of the kernels have, or the largest one and the kernels that have it: a small
    array is in a cache, and stands beside none that is not.
    """
    by_size = [{cell.record.size_bytes: cell for cell in scan.cells} for scan in some]
    common = set.intersection(*({*sizes} for sizes in by_size))
    size = max(common or {size for sizes in by_size for size in sizes})
    return [sizes[size] for sizes in by_size if size in sizes]


def _stream(some: list[Scan], importance: float) -> Finding:
    cells = _of_one_size(some)
    speeds = [f"{cell.record.interface} {gb(cell.value)}{of_peak(cell)}" for cell in cells]
    title = f"STREAM on {some[0].place}: {listed(speeds)} GB/s, read and write counted"
    counts, rates = other_count(cells[0])
    sizes = listed(list(dict.fromkeys(format_size(cell.record.size_bytes) for cell in cells)))
    detail = f"Arrays of {sizes}."
    if counts == "per-direction":
        detail += f" {cells[0].record.interface} moves {gb(rates['bytes_per_s'])} GB/s in one direction."
    elif counts:
        read, written = rates["read_bytes_per_s"], rates["written_bytes_per_s"]
        detail += (
            f" Of {cells[0].record.interface}, {gb(read)} GB/s come in from others and {gb(written)} go out."
        )
    return Finding(marked(title, *cells), detail, importance)
