"""Chart data: bandwidth over size, sums over flows, latency over working set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from byteways.answers.results.selection import (
    PAIR_KINDS,
    WITH_OWN_TABLES,
    by_own_caches,
    chases,
    kind,
    link_class,
    unidirectional,
    variant,
)
from byteways.answers.results.summary import Result, ResultGroup, group_by, pool
from byteways.answers.results.variants import Variant
from byteways.base.units import format_bandwidth, format_size
from byteways.machine.model import Device, Topology
from byteways.questions.display.chart import SOFT, TRANSFER_SIZES, Axis, Chart, Point, ReferenceLine, Series

#: A peak this many times the greatest value is not drawn: it would flatten all curves.
FAR_PEAK = 4.0
#: Lines of a small chart that are named at their ends, and the most lines of a larger one.
MOST_DIRECT, MOST_HUBS = 4, 8
#: What hubs are called together.
HUBS = {"gpu": "one GPU", "cpu": "one NUMA domain"}
#: Ratio of bandwidths from which on their axis is logarithmic.
LOGARITHMIC_FROM = 100.0


def over_size(results: Sequence[Result], topology: Topology) -> list[Chart]:
    """Returns a chart per kind of pair and link class, one more for warm caches, and one for options; only
    series with at least two sizes, and of many those that are fastest at their largest.
    """
    drawn = []
    grouped = group_by(
        [cell for cell in unidirectional(results) if cell.record.interface not in WITH_OWN_TABLES],
        lambda cell: (
            kind(cell),
            link_class(topology, cell),
            cell.record.cache == "warm",
            bool(cell.variant.options),
        ),
    )
    order = list(PAIR_KINDS)
    for (name, class_name, warm, options), members in sorted(
        grouped.items(), key=lambda item: (order.index(item[0][0]), item[0][2:])
    ):
        lines = {
            way: Series(way.name, points)
            for way, cells in sorted(group_by(members, variant).items())
            if len(points := _points(cells, 1e9)) > 1
        }
        series = [*lines.values()]
        if series:
            peaks = {cell.peak for cell in members if cell.peak}
            parts = PAIR_KINDS[name], class_name, "warm caches" * warm, "with options" * options
            title = ", ".join(part for part in parts if part)
            plain = [line for way, line in lines.items() if _is_default_copy(way)]
            drawn.append(over_size_chart(title, series, peaks.pop() if len(peaks) == 1 else None, plain))
    return drawn


def _is_default_copy(way: Variant) -> bool:
    """Whether it is what a program gets from the vendor's copy call without any setting."""
    usual = {"device", "pinned"}
    return (
        way.interface == "copy"
        and not way.options
        and not way.environment
        and {way.source, way.destination} <= usual
    )


def over_size_chart(
    title: str, series: Sequence[Series], peak: float | None, plain: Sequence[Series] = ()
) -> Chart:
    """Returns the chart of some interfaces.

    Args:
        title: Of the chart.
        series: A line for each way.
        peak: In bytes/s, if they share one.
        plain: Those without settings: the fastest of them is drawn, whatever else is faster.
    """
    ordered = sorted(series, key=lambda line: -line.points[-1].y)
    default = next((line for line in ordered if line in plain), None)
    fastest = ordered[:MOST_DIRECT]
    if default is not None and default not in fastest:
        fastest[-1] = default
    chosen = tuple(line for line in series if line in fastest)
    caption, levels = [], []
    if peak:
        greatest = max(point.y for line in series for point in line.points)
        if peak <= FAR_PEAK * greatest * 1e9:
            levels.append(ReferenceLine(f"peak {format_bandwidth(peak)}", peak / 1e9))
        else:
            caption.append(f"The nominal peak, {format_bandwidth(peak)} per direction, is far above.")
    if len(chosen) < len(series):
        caption.append(f"{len(chosen)} of {len(series)} methods, chosen by their figure at the largest size.")
    return Chart(title, " ".join(caption), TRANSFER_SIZES, Axis("GB/s", "log"), chosen, tuple(levels))


def _points(members: Sequence[Result], scale: float) -> tuple[Point, ...]:
    by_size = group_by(members, lambda cell: cell.size_bytes)
    return tuple(result_point(size, pool(cells), scale) for size, cells in sorted(by_size.items()))


def result_point(x: float, result: Result | ResultGroup, scale: float = 1e9) -> Point:
    """Returns the point of a result with its interval, by default in GB/s."""
    return Point(x, result.value / scale, result.low / scale, result.high / scale)


def rates_over_size(title: str, caption: str, lines: Sequence[Series], unit: str = "GB/s") -> Chart:
    """Charts bandwidths over size; their axis is logarithmic where a linear one would flatten small ones."""
    values = [point.y for line in lines for point in line.points]
    wide = max(values) > LOGARITHMIC_FROM * min(values)
    return Chart(title, caption, TRANSFER_SIZES, Axis(unit, "log" if wide else "linear"), tuple(lines))


@dataclass(frozen=True)
class Fans:
    """Sums over 1 … n flows of the same kind, in GB/s; the first may be a single flow."""

    hub: str
    name: str  # with {} for the hub
    size_bytes: int
    points: tuple[Point, ...]

    def series(self) -> Series:
        return Series(self.name.format(self.hub), self.points)


def over_flows(results: Sequence[Result]) -> list[Chart]:
    """Returns a chart for each kind of hub: fans of growing width at their largest size, of two widths at
    least.
    """
    hubs = group_by(_fans(results), lambda fan: "GPUs" if fan.hub.startswith("gpu") else "the host")
    return [over_flows_chart(hub, members) for hub, members in hubs.items()]


def _fans(results: Sequence[Result]) -> Iterator[Fans]:
    fans = [cell for cell in results if cell.record.pattern in ("fan-in", "fan-out")]
    singles = group_by(
        [cell for cell in unidirectional(results) if cell.record.cache == "cold"],
        lambda cell: (cell.variant, cell.size_bytes),
    )
    for (pattern, hub, other, setting), members in group_by(fans, _fan_key).items():
        size = max(cell.size_bytes for cell in members)
        widths = group_by(
            [cell for cell in members if cell.size_bytes == size], lambda cell: len(cell.record.flows)
        )
        alone = [cell for cell in singles.get((setting, size), ()) if _one_of(cell, pattern, hub, other)]
        points = {width: pool(cells) for width, cells in widths.items()}
        # Flows over links of different widths have no common single-flow rate.
        if alone and len({cell.peak for cell in alone}) == 1 and 1 not in points:
            points[1] = pool(alone)
        if len(points) < 2:
            continue
        ends = f"{_plural(other)} to {{}}" if pattern == "fan-in" else f"{{}} to {_plural(other)}"
        made = tuple(result_point(width, group) for width, group in sorted(points.items()))
        yield Fans(hub, f"{ends}: {setting.name}", size, made)


def over_flows_chart(hub: str, fans: Sequence[Fans]) -> Chart:
    """Charts sums over the number of concurrent flows, with the multiple of one flow for comparison."""
    shown = fans if len(fans) <= MOST_HUBS else _over_hubs(fans)
    series = [fan.series() for fan in shown]
    widest = max(point.x for fan in fans for point in fan.points)
    single = [fan.points[0].y for fan in fans if fan.points[0].x == 1]
    if single:
        ends = Point(1, max(single)), Point(widest, max(single) * widest)
        label = "multiples of one flow alone"
        series.append(Series(label, ends, colour=SOFT, dash="dotted", symbol="none"))
    sizes = sorted({fan.size_bytes for fan in fans})
    caption = (
        f"Sum over all flows in their common window, {', '.join(map(format_size, sizes))} each. A line "
        "that falls below the dotted one has reached a shared bottleneck."
    )
    if shown != fans:
        caption += " A line is the median over its hubs, its band their range."
    title = f"Sum over the number of flows, to and from {hub}"
    return Chart(title, caption, Axis("concurrent flows", unit="count"), Axis("GB/s in total"), tuple(series))


def _over_hubs(fans: Sequence[Fans]) -> list[Fans]:
    """Returns one line for all hubs of a kind: medians, over the range of their intervals."""
    alike = group_by(fans, lambda fan: (fan.name, HUBS[fan.hub[:3]], fan.size_bytes))
    pooled = []
    for (name, hub, size), members in sorted(alike.items()):
        at = [{point.x: point for point in member.points} for member in members]
        shared = [[fan[x] for fan in at] for x in sorted(at[0]) if all(x in fan for fan in at)]
        medians = tuple(
            Point(
                points[0].x,
                median(point.y for point in points),
                min(point.low or point.y for point in points),
                max(point.high or point.y for point in points),
            )
            for points in shared
        )
        pooled += [Fans(hub, name, size, medians)] if medians else []
    return pooled


def _plural(stem: str) -> str:
    return {"gpu": "GPUs", "cpu": "NUMA domains"}.get(stem, stem)


def _fan_key(cell: Result) -> tuple[str, str, str, Variant]:
    source, destination = cell.source.device, cell.destination.device
    pattern = cell.record.pattern
    hub, other = (destination, source) if pattern == "fan-in" else (source, destination)
    return pattern, hub, other.rstrip("0123456789"), cell.variant


def _one_of(cell: Result, pattern: str, hub: str, other: str) -> bool:
    source, destination = cell.source.device, cell.destination.device
    near, far = (destination, source) if pattern == "fan-in" else (source, destination)
    return near == hub and far != hub and far.startswith(other)


def over_working_set(
    results: Sequence[Result], topology: Topology, gpu_caches: Mapping[str, int]
) -> Chart | None:
    """Returns the latency of a dependent load, a series per executor and memory; None without two sizes.

    Args:
        results: All cells.
        topology: The machine, with its CPU caches.
        gpu_caches: Bytes of each GPU's last-level cache, where known.
    """
    both = len({cell.record.cache for cell in chases(results)}) > 1
    by_place = group_by(chases(results), lambda cell: _place(cell, both))
    series = tuple(
        Series(label, points) for label, members in by_place.items() if len(points := _points(members, 1)) > 1
    )
    if not series:
        return None
    walked = {cell.record.executor for cell in chases(results)}
    sizes = [point.x for line in series for point in line.points]
    caches = cache_marks([device for device in topology.devices if device.name in walked], gpu_caches)
    inside = tuple(
        replace(mark, label=f"{mark.label} {format_size(round(mark.at))}")
        for mark in caches
        if min(sizes) < mark.at < max(sizes)
    )
    caption = "One dependent load along a random cycle; the band is the 95 % interval."
    if inside:
        caption += " Dotted lines: cache sizes of the executors."
    x, y = replace(TRANSFER_SIZES, label="working set"), Axis("time of a load", "log", "ns")
    return Chart("Load latency vs working set", caption, x, y, series, marks=inside)


def cache_marks(walkers: Sequence[Device], gpu_caches: Mapping[str, int]) -> tuple[ReferenceLine, ...]:
    """Returns the caches of these devices by size; equal ones of several devices once."""
    owners: dict[tuple[str, int], list[str]] = {}
    for device in walkers:
        if device.kind == "gpu":
            caches = [("last-level cache", gpu_caches.get(device.name, 0))]
        else:
            caches = [
                (f"L{cache.level}", cache.size_bytes)
                for cache in device.caches
                if cache.kind != "instruction"
            ]
        for name, size_bytes in caches:
            if size_bytes:
                owners.setdefault((name, size_bytes), []).append(device.name)
    marks = []
    for (name, size_bytes), names in owners.items():
        stem = names[0].rstrip("0123456789").upper()
        marks.append(ReferenceLine(f"{names[0] if len(names) == 1 else stem} {name}", size_bytes))
    return tuple(sorted(marks, key=lambda mark: mark.at))


def _place(cell: Result, named: bool) -> str:
    """Names the executor and the memory; `named`: also the cache state."""
    owner, executor = cell.source.device, cell.record.executor
    who = "GPU" if executor.startswith("gpu") else executor
    if owner == executor:
        where = "its own memory" if who == "GPU" else f"its own {cell.source.memory}"
    elif owner.startswith("gpu"):
        where = "a peer's memory" if who == "GPU" else f"{owner} memory"
    else:
        where = f"{owner} {cell.source.memory}"
    warm = ", warm" if named and cell.record.cache == "warm" else ""
    loads = ", ordinary loads" if by_own_caches(cell) else ""
    return f"{who}, {where}{warm}{loads}"
