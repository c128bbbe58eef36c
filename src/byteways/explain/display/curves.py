"""Chart data: bandwidth over size, sums over flows, latency over working set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from byteways.explain.results.selection import (
    PAIR_KINDS,
    WITH_OWN_TABLES,
    chases,
    kind,
    link_class,
    unidirectional,
    variant,
)
from byteways.explain.results.summary import Result, group_by, pool
from byteways.explain.results.variants import Variant
from byteways.topology.model import Device, Topology


@dataclass(frozen=True)
class Point:
    x: float  # size in bytes, or number of flows
    value: float
    low: float
    high: float
    cells: int  # number of pooled cells


@dataclass(frozen=True)
class CurveSeries:
    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Family:
    """Curves of one chart; `peak` in bytes/s if they share one."""

    title: str
    series: tuple[CurveSeries, ...]
    peak: float | None = None


@dataclass(frozen=True)
class CacheMark:
    """A cache size, marked in charts of latency over working set."""

    label: str
    size_bytes: int


def over_size(found: Sequence[Result], topology: Topology) -> list[Family]:
    """Returns a chart per kind of pair and link class, one more for warm caches, and one for options; only
    series with at least two sizes.
    """
    families = []
    grouped = group_by(
        [cell for cell in unidirectional(found) if cell.record.interface not in WITH_OWN_TABLES],
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
        series = tuple(
            CurveSeries(same.label(), points)
            for same, some in sorted(group_by(members, variant).items())
            if len(points := _points(some)) > 1
        )
        if series:
            peaks = {cell.peak for cell in members if cell.peak}
            parts = PAIR_KINDS[name], class_name, "warm caches" * warm, "with options" * options
            title = ", ".join(part for part in parts if part)
            families.append(Family(title, series, peaks.pop() if len(peaks) == 1 else None))
    return families


def _points(members: Sequence[Result]) -> tuple[Point, ...]:
    by_size = group_by(members, lambda cell: cell.record.size_bytes)
    pooled = [(size, pool(some)) for size, some in sorted(by_size.items())]
    return tuple(Point(size, group.value, group.low, group.high, len(group.cells)) for size, group in pooled)


@dataclass(frozen=True)
class Scaling:
    """Sums over 1 … n flows of the same kind, with the multiples of a single flow."""

    title: str
    size_bytes: int
    points: tuple[Point, ...]


def over_flows(found: Sequence[Result]) -> dict[str, list[Scaling]]:
    """Returns fans of growing width at their largest size, by kind of hub; only those with two widths."""
    fans = [cell for cell in found if cell.record.pattern in ("fan-in", "fan-out")]
    singles = group_by(
        [cell for cell in unidirectional(found) if cell.record.cache == "cold"],
        lambda cell: (cell.variant, cell.record.size_bytes),
    )
    chosen: dict[str, list[Scaling]] = {}
    for (pattern, hub, other, same), members in group_by(fans, _fan_key).items():
        size = max(cell.record.size_bytes for cell in members)
        widths = group_by(
            [cell for cell in members if cell.record.size_bytes == size], lambda cell: len(cell.record.flows)
        )
        alone = [cell for cell in singles.get((same, size), ()) if _one_of(cell, pattern, hub, other)]
        points = {width: pool(some) for width, some in widths.items()}
        # Flows over links of different widths have no common single-flow rate.
        if alone and len({cell.peak for cell in alone}) == 1 and 1 not in points:
            points[1] = pool(alone)
        if len(points) < 2:
            continue
        ends = f"{_plural(other)} to {hub}" if pattern == "fan-in" else f"{hub} to {_plural(other)}"
        chosen.setdefault("GPUs" if hub.startswith("gpu") else "the host", []).append(
            Scaling(
                f"{ends}: {same.label()}",
                size,
                tuple(
                    Point(width, group.value, group.low, group.high, len(group.cells))
                    for width, group in sorted(points.items())
                ),
            )
        )
    return chosen


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
    found: Sequence[Result], topology: Topology, gpu_caches: Mapping[str, int]
) -> tuple[Family, tuple[CacheMark, ...]] | None:
    """Returns the latency of a dependent load, a series per executor and memory; None without two sizes.

    Args:
        found: All cells.
        topology: The machine, with its CPU caches.
        gpu_caches: Bytes of each GPU's last-level cache, where known.
    """
    both = len({cell.record.cache for cell in chases(found)}) > 1
    by_place = group_by(chases(found), lambda cell: _place(cell, both))
    series = tuple(
        CurveSeries(label, points) for label, some in by_place.items() if len(points := _points(some)) > 1
    )
    if not series:
        return None
    walked = {cell.record.executor for cell in chases(found)}
    return Family("Load latency vs working set", series), cache_marks(
        [device for device in topology.devices if device.name in walked], gpu_caches
    )


def cache_marks(walkers: Sequence[Device], gpu_caches: Mapping[str, int]) -> tuple[CacheMark, ...]:
    """Returns the caches of these devices by size; equal ones of several devices once."""
    owners: dict[tuple[str, int], list[str]] = {}
    for device in walkers:
        if device.kind == "gpu":
            caches = [("last-level cache", gpu_caches.get(device.name, 0))]
        else:
            caches = [(f"L{one.level}", one.size_bytes) for one in device.caches if one.kind != "instruction"]
        for name, size_bytes in caches:
            if size_bytes:
                owners.setdefault((name, size_bytes), []).append(device.name)
    marks = []
    for (name, size_bytes), names in owners.items():
        stem = names[0].rstrip("0123456789").upper()
        marks.append(CacheMark(f"{names[0] if len(names) == 1 else stem} {name}", size_bytes))
    return tuple(sorted(marks, key=lambda mark: mark.size_bytes))


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
    return f"{who}, {where}{warm}"
