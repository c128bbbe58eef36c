"""Multi-path transfers compared with the direct path: tables by number of paths and by piece size, and gains.

Pure functions on cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import of_peak, percent, rate, span
from byteways.answers.claims.wording import faster, faster_directly, least_gain, less
from byteways.answers.results.index import Index
from byteways.answers.results.selection import kind, unidirectional
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size
from byteways.questions.display.grids import grid_of
from byteways.questions.display.table import Table
from byteways.questions.display.topic import Topic
from byteways.record.simulation_mark import Voice

INTRODUCTION = (
    "One transfer split over several paths: one part takes the direct path; each relay (another GPU) "
    "forwards a part in pieces through its own memory. The split makes all paths finish together; the "
    "details of a cell list the parts."
)

STRAIGHT = "straight"
#: Options that set the pieces; cases with them form a sweep separate from that over sizes.
_CUT = ("piece_bytes", "depth")


@dataclass(frozen=True)
class RouteGain:
    """The gain of a multi-path transfer over the direct path, over its sizes."""

    path: str
    paths: int  # of the fastest split at the largest size
    via: str  # '4 paths', or 'via gpu1,gpu2'
    best: Result
    straight: Result  # the direct path at the same size
    pays_from: int | None  # bytes; the split is faster at every measured size from here on
    loses_at: int | None  # bytes; the largest size at which the direct path is faster
    claim: Claim  # the split versus the direct path, at the largest size


def routed(results: Iterable[Result]) -> list[Result]:
    """Returns unidirectional `route` transfers, including those over the direct path alone."""
    return [cell for cell in unidirectional(results) if cell.record.interface == "route"]


def paths_in(cell: Result) -> int:
    """Returns the number of paths that a transfer used."""
    return len(cell.record.parts or {}) or 1


def way_of(cell: Result) -> str:
    """'straight', '4 paths', 'via gpu1,gpu2'."""
    via = cell.record.options.get("via")
    if via is not None:
        return f"via {via}"
    count = paths_in(cell)
    return STRAIGHT if count == 1 else f"{count} paths"


def _line(cell: Result) -> tuple[object, ...]:
    """Returns what cases over sizes have in common, except the number of paths."""
    record, variant = cell.record, cell.variant
    return record.path, record.source, record.destination, record.executor, variant.cache, variant.environment


def _cut(cell: Result) -> bool:
    return any(name in cell.record.options for name in _CUT)


def topic(index: Index) -> Topic:
    return Topic("routes", "Routes", INTRODUCTION, tuple(route_tables(index.cells)))


def route_tables(results: Sequence[Result]) -> list[Table]:
    """Returns per pair of ends a table of paths × size, then pieces × depth for each number of paths."""
    cells = routed(results)
    grids = []
    for members in group_by([cell for cell in cells if not _cut(cell)], _line).values():
        record = members[0].record
        issued = members[0].variant.issued
        grids.append(
            _by_size(f"{record.source} > {record.destination}{', ' * bool(issued)}{issued}", members)
        )
    for (_, how, _), members in group_by(
        [cell for cell in cells if _cut(cell)],
        lambda cell: (_line(cell), way_of(cell), cell.size_bytes),
    ).items():
        title = f"{members[0].record.path}, {how}, by the size of pieces and how many are in flight"
        grids.append(_by_pieces(title, members))
    return grids


def _by_size(title: str, members: Sequence[Result]) -> Table:
    ordered = sorted(members, key=lambda cell: (paths_in(cell), way_of(cell)))
    sizes = sorted({cell.size_bytes for cell in members})
    names = list(dict.fromkeys(map(way_of, ordered))), list(map(format_size, sizes))
    at = ((way_of(cell), format_size(cell.size_bytes), cell) for cell in ordered)
    return grid_of(f"{title}, by number of paths", "paths \\ size", at, names)


def _by_pieces(title: str, members: Sequence[Result]) -> Table:
    from byteways.cases.relays import DEFAULT_DEPTH, DEFAULT_PIECE_BYTES

    at = {
        (
            int(cell.record.options.get("piece_bytes", DEFAULT_PIECE_BYTES)),
            int(cell.record.options.get("depth", DEFAULT_DEPTH)),
        ): cell
        for cell in members
    }
    pieces, depths = (sorted({key[axis] for key in at}) for axis in (0, 1))
    names = list(map(format_size, pieces)), list(map(str, depths))
    named = ((format_size(piece), str(depth), cell) for (piece, depth), cell in at.items())
    return grid_of(title, "piece \\ in flight", named, names)


def gains(results: Sequence[Result]) -> list[RouteGain]:
    """Returns, for each pair of ends with a direct path, the fastest split at the largest common size."""
    result = []
    for members in group_by([cell for cell in routed(results) if not _cut(cell)], _line).values():
        straight = {cell.size_bytes: cell for cell in members if paths_in(cell) == 1}
        splits = group_by([cell for cell in members if paths_in(cell) > 1], way_of)
        shared = [cell for group in splits.values() for cell in group if cell.size_bytes in straight]
        if not shared:
            continue
        largest = max(cell.size_bytes for cell in shared)
        best = max((cell for cell in shared if cell.size_bytes == largest), key=lambda cell: cell.value)
        pairs = [
            (cell, straight[cell.size_bytes])
            for cell in sorted(splits[way_of(best)], key=lambda cell: cell.size_bytes)
            if cell.size_bytes in straight
        ]
        claims = [
            (cell.size_bytes, compare(cell, alone, kind="split", ways=len(pairs) + 1))
            for cell, alone in pairs
        ]
        pays_from = None
        for size, claim in reversed(claims):
            if not claim.leads:
                break
            pays_from = size
        loses_at = max((size for size, claim in claims if claim.trails), default=None)
        result.append(
            RouteGain(
                best.record.path,
                paths_in(best),
                way_of(best),
                best,
                straight[largest],
                pays_from,
                loses_at,
                claims[-1][1],
            )
        )
    return result


#: Above the finding on the fastest interface: multi-path gains are unexpected.


def routes(index: Index) -> Iterator[Finding]:
    """Reports the largest gain of each kind of pair, or, without gains, that relays do not pay off."""
    for members in group_by(gains(index.ranked), lambda gain: kind(gain.best)).values():
        best = max(members, key=lambda gain: gain.claim.effect)
        if best.claim.leads:
            yield _gained(index, best, members)
        elif best.claim.trails:
            yield _lost(best, index.voice)


def _gained(index: Index, gain: RouteGain, others: list[RouteGain]) -> Finding:
    size = format_size(gain.best.size_bytes)
    title = (
        f"{gain.path} over {_paths(gain)} reaches {rate(gain.best)} GB/s{of_peak(gain.best)} at {size}, "
        f"{faster(gain.claim)} the same copies over the direct path ({rate(gain.straight)})"
    )
    parts = gain.best.record.parts or {}
    shares = ", ".join(f"{path} {percent(part)}" for path, part in parts.items())
    detail = f"Interval {span(gain.best)} GB/s. Split so that all paths finish together: {shares}."
    if gain.pays_from is not None and gain.pays_from != gain.best.size_bytes:
        detail += f" It pays off from {format_size(gain.pays_from)}."
    if gain.loses_at is not None:
        detail += f" It loses at {format_size(gain.loses_at)}."
    detail += least_gain({other.path: other.claim for other in others})
    results, claims = [gain.best, gain.straight], [rival.claim for rival in others]
    if (told := _faster_direct(index, gain)) is not None:
        claim, direct = told
        detail += faster_directly(direct.variant.name, claim)
        results.append(direct)
        claims.append(claim)
    return finding(title, detail, Priority.ROUTE_GAIN, results, claims)


def _faster_direct(index: Index, gain: RouteGain) -> tuple[Claim, Result] | None:
    """Returns the best other way over the direct path if it leads the split; None otherwise."""
    record = gain.best.record
    ways = [
        cell
        for cell in index.of_kind(kind(gain.best))
        if cell.stays
        and cell.record.interface != record.interface
        and (cell.record.path, cell.size_bytes, cell.record.cache)
        == (record.path, record.size_bytes, record.cache)
    ]
    if not ways:
        return None
    direct = max(ways, key=lambda cell: cell.value)
    claim = compare(direct, gain.best, kind="route", ways=len(ways) + 1)
    return (claim, direct) if claim.leads else None


def _lost(gain: RouteGain, voice: Voice) -> Finding:
    size = format_size(gain.best.size_bytes)
    title = (
        f"Relays do not pay off on {gain.path}: {_paths(gain)} reach {rate(gain.best)} GB/s at {size}, "
        f"{less(gain.claim)} than the direct path ({rate(gain.straight)})"
    )
    detail = (
        f"The links that the paths share are those of the direct path: "
        f"{voice.quote(gain.best.record.peak_source or 'their peak is not known')}."
    )
    return finding(title, detail, Priority.RELAYS_LOSE, (gain.best, gain.straight), [gain.claim])


def _paths(gain: RouteGain) -> str:
    return f"{gain.paths} paths ({gain.via})" if "via" in gain.best.record.options else f"{gain.paths} paths"
