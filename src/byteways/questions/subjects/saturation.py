"""Bandwidth over blocks: how many SMs or CUs saturate a link, by loads and stores and by bulk copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import percent, rate
from byteways.answers.claims.wording import fills
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import PAIR_KINDS, kind, variant
from byteways.answers.results.summary import Result, group_by
from byteways.answers.results.variants import Variant
from byteways.base.units import format_size
from byteways.cases.interfaces import counts_as_stream, metric_of
from byteways.cases.option_set import OptionSet
from byteways.machine.model import Topology, compute_units_name
from byteways.questions.display.chart import Axis, Chart, Series
from byteways.questions.display.curves import result_point
from byteways.questions.display.table import Columns, Table, figures, tabulated, words
from byteways.questions.display.topic import Topic

#: Values within this fraction of the best count as saturated.
NEAR_BEST = 0.05
#: Least number of block counts in a curve.
LEAST_COUNTS = 3


@dataclass(frozen=True)
class Saturation:
    """Bandwidth over blocks on one path.

    Attributes:
        interface: What moves the bytes.
        path: Source and destination devices.
        executor: The GPU that runs the blocks.
        points: Block count and value (bytes/s as the interface counts them), by ascending block count.
        multiprocessors: SMs or CUs of the executor; None if unknown.
    """

    variant: Variant  # all options except `blocks`
    path: str
    executor: str
    size_bytes: int
    points: tuple[tuple[int, Result], ...]
    multiprocessors: int | None

    @property
    def interface(self) -> str:
        return self.variant.interface

    @property
    def best(self) -> tuple[int, Result]:
        """The highest value and its block count."""
        return max(self.points, key=lambda point: point[1].value)

    @property
    def enough(self) -> tuple[int, Result]:
        """The least block count within 5 % of the best, and its value."""
        least = (1 - NEAR_BEST) * self.best[1].value
        return next(point for point in self.points if point[1].value >= least)

    @property
    def full(self) -> bool:
        """Whether more blocks than `enough` were measured; otherwise the curve may still rise."""
        return self.enough[0] < self.points[-1][0]

    @property
    def read_write(self) -> bool:
        """Whether the values count every array, as STREAM does."""
        return counts_as_stream(self.interface)


#: What the points of a curve share, and the points by ascending block count.
Curves = dict[tuple[Variant, str, str, int, str], list[tuple[int, Result]]]


def saturations(results: Iterable[Result], topology: Topology) -> list[Saturation]:
    """Returns every curve with enough points, in order of first appearance."""
    curves = []
    for (members, path, executor, size, _), points in _curves(results).items():
        known = executor in topology.names()
        processors = topology.device(executor).multiprocessors if known else None
        curves.append(Saturation(members, path, executor, size, tuple(points), processors))
    return curves


def below_the_best(results: Iterable[Result]) -> set[str]:
    """Returns ids of cases that lie on a curve over blocks without being its best.

    Comparisons of interfaces exclude them.
    """
    below: set[str] = set()
    for points in _curves(results).values():
        best = max(points, key=lambda point: point[1].value)
        below |= {cell.record.case_id for blocks, cell in points if blocks != best[0]}
    return below


def _curves(results: Iterable[Result]) -> Curves:
    swept = [
        cell
        for cell in results
        if "blocks" in cell.record.options
        and cell.record.pattern == "unidirectional"
        and metric_of(cell.record.interface) == "bandwidth"
    ]
    curves: Curves = {}
    for setting, members in group_by(swept, _curve).items():
        if len(members) >= LEAST_COUNTS:
            points = ((int(cell.record.options["blocks"]), cell) for cell in members)
            curves[setting] = sorted(points, key=lambda point: point[0])
    return curves


def _curve(cell: Result) -> tuple[Variant, str, str, int, str]:
    record = cell.record
    setting = replace(variant(cell), options=OptionSet(record.options).without("blocks"))
    return (
        setting,
        record.path,
        record.executor,
        record.size_bytes,
        str(cell.case.flows[0].second_source),
    )


#: Names of the two byte counts (key: whether reads and writes are counted).
COUNT_NAMES = {False: "one direction", True: "read + write"}


def topic(index: Index) -> Topic | None:
    """Returns the topic of saturation; None if the run swept no blocks."""
    curves = saturations(index.cells, index.topology)
    if not curves:
        return None
    alike = group_by(curves, lambda curve: (curve.path, curve.size_bytes, curve.read_write))
    return Topic(
        "saturation",
        "Blocks to saturate a link",
        f"The smallest number of blocks within {100 * NEAR_BEST:g} % of the maximum of each curve: the "
        "share of a GPU that a transfer occupies. A block occupies one multiprocessor (SM or CU); several "
        "blocks may share one.",
        (_table(curves),),
        tuple(_chart(path, size, counted, members) for (path, size, counted), members in alike.items()),
    )


def _table(curves: Sequence[Saturation]) -> Table:
    columns: Columns[Saturation] = (
        words("path", lambda curve: curve.path),
        words("interface", lambda curve: curve.variant.name),
        figures("size", lambda curve: format_size(curve.size_bytes)),
        words("counts", lambda curve: COUNT_NAMES[curve.read_write]),
        figures(
            "blocks to saturate",
            lambda curve: str(curve.enough[0]) if curve.full else f"> {curve.points[-1][0]}",
        ),
        figures("GB/s there", lambda curve: f"{curve.enough[1].value / 1e9:.1f}"),
        figures("best, GB/s", lambda curve: f"{curve.best[1].value / 1e9:.1f}"),
        figures("at blocks", lambda curve: str(curve.best[0])),
        figures("multiprocessors", lambda curve: str(curve.multiprocessors or "unknown")),
        figures("share of multiprocessors", _taken),
    )
    note = (
        "“>”: within 5 % of the maximum only at the largest number tried; more blocks may be faster. Share "
        "of multiprocessors: with one block per multiprocessor."
    )
    return tabulated("Blocks within 5 % of the best", columns, curves, note)


def _taken(curve: Saturation) -> str:
    if not curve.multiprocessors:
        return "unknown"
    return f"{100 * min(1.0, curve.enough[0] / curve.multiprocessors):.0f} %"


def _chart(path: str, size_bytes: int, read_write: bool, curves: Sequence[Saturation]) -> Chart:
    counted = ", read + write counted" * read_write
    return Chart(
        f"{path}, {format_size(size_bytes)}{counted}",
        "One point per number of blocks, with its 95 % interval.",
        Axis("blocks", "log", "count"),
        Axis(f"GB/s, {COUNT_NAMES[read_write]}"),
        tuple(
            Series(curve.variant.name, tuple(result_point(*point) for point in curve.points))
            for curve in curves
        ),
    )


#: An interface can saturate a link if its best reaches this fraction of the fastest interface.
SATURATES = 0.9


def saturation(index: Index) -> Iterator[Finding]:
    """Reports the least blocks that saturate a link, by interface, once for each kind of path."""
    curves = [
        curve for curve in saturations(index.ranked, index.topology) if not curve.read_write and curve.full
    ]
    for name in PAIR_KINDS:
        of_kind = [curve for curve in curves if kind(curve.best[1]) == name]
        by_path = group_by(of_kind, lambda curve: (curve.path, curve.executor, curve.size_bytes))
        # Prefer the path with the most interfaces, then the largest differences.
        chosen = max(by_path.values(), key=_worth, default=None)
        if chosen:
            yield _saturation(index, chosen)


def _worth(curves: list[Saturation]) -> tuple[int, float]:
    blocks = [curve.enough[0] for curve in curves]
    return len({curve.interface for curve in curves}), max(blocks) / min(blocks)


def _saturation(index: Index, curves: list[Saturation]) -> Finding:
    best_of = group_by(curves, lambda curve: curve.interface)
    order = sorted(
        (min(members, key=lambda curve: curve.enough[0]) for members in best_of.values()),
        key=lambda curve: curve.enough[0],
    )
    top = max(curve.best[1].value for curve in order)
    able = [curve for curve in order if curve.best[1].value >= SATURATES * top]
    first = able[0]
    title = fills([(curve.interface, curve.enough[0]) for curve in able], first.path)
    for curve in order:
        if curve not in able:
            title += f"; {curve.interface} reaches {rate(curve.best[1])} GB/s at most"
    ends = [f"{curve.interface} {rate(curve.best[1])} GB/s with {curve.best[0]}" for curve in order]
    processors = first.multiprocessors
    units = compute_units_name(index.topology.device(first.executor)) if processors else ""
    of = f" {first.executor} has {processors} {units}." if processors else ""
    if fewest := [curve.interface for curve in able if curve.enough[0] == curve.points[0][0]]:
        of += f" Fewer blocks were not {index.voice.measured} for {listed(fewest)}."
    within = f"Within {percent(NEAR_BEST)} of the best of each"
    detail = f"{within}, {format_size(first.size_bytes)}: {listed(ends)}.{of}"
    results = [curve.best[1] for curve in order]
    claims = [compare(results[0], other, kind="saturation", across=("path",)) for other in results[1:]]
    return finding(title, detail, Priority.SATURATION, results, claims)
