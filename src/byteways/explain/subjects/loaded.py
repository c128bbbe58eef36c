"""Latency under load: nanoseconds per dependent load over the bandwidth of a concurrent load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byteways.explain.claims.claim import Claim
from byteways.explain.claims.compare import compare
from byteways.explain.claims.finding import Finding, finding
from byteways.explain.claims.importance import Priority
from byteways.explain.claims.phrases import supported
from byteways.explain.claims.wording import largest, multiple
from byteways.explain.display.chart import Axis, Chart, Series
from byteways.explain.display.curves import result_point
from byteways.explain.display.table import Table
from byteways.explain.display.topic import Topic
from byteways.explain.results.counting import count
from byteways.explain.results.index import Index
from byteways.explain.results.selection import chases
from byteways.explain.results.summary import Result, group_by
from byteways.plan.interfaces import one_buffer
from byteways.record.record import Record
from byteways.record.simulation_mark import Voice
from byteways.units import format_size, three_digits

#: Warnings that the rates do not come from one window of all flows.
NOT_SIMULTANEOUS = {"serialised", "few-operations"}


@dataclass(frozen=True)
class LoadPoint:
    """`load_bytes_per_s` was reached in the same window as the latency."""

    load_bytes_per_s: float
    cell: Result


@dataclass(frozen=True)
class Walk:
    """Identifies a pointer chase: equal fields mean the same chase."""

    walker: str
    memory: str  # `gpu1:device`
    size_bytes: int
    cache: str
    options: str
    environment: str

    @property
    def label(self) -> str:
        """'gpu0: gpu1:device, 512 MiB', then options and environment."""
        return self._named(": ")

    @property
    def title(self) -> str:
        """'gpu0 loads from gpu1:device, 512 MiB', then the same."""
        return self._named(" loads from ")

    def _named(self, between: str) -> str:
        rest = [part for part in (self.options, self.environment) if part]
        return ", ".join([f"{self.walker}{between}{self.memory}", format_size(self.size_bytes), *rest])


@dataclass(frozen=True)
class LoadCurve:
    """One pointer chase under one kind of load; `idle` is the same chase without load.

    Has no points if no case had a window common to all flows.
    """

    walk: Walk
    load: str
    idle: Result | None
    points: tuple[LoadPoint, ...]  # by load, ascending
    without_window: int = 0  # cases whose flows had no common window, hence no value


def disturber(record_flows: Sequence[Mapping[str, Any]], interface: str, *, leave_out: str = "") -> str:
    """Describes the load: `copy gpu0>gpu1 by gpu0`, `kernel gpu0>gpu0 (blocks=264)`.

    Args:
        record_flows: `flows` of a record; the first is the measured one.
        interface: The record's interface, for flows that name none.
        leave_out: Name of an option to omit.
    """
    words = []
    for flow in record_flows[1:]:
        source, destination = (str(flow[end]) for end in ("source", "destination"))
        ends = [source.partition(":")[0], destination.partition(":")[0]]
        by = "" if ends[0] == ends[1] == flow["executor"] else f" by {flow['executor']}"
        memories = [end.partition(":")[2] for end in (source, destination)]
        options = [
            f"{name}={value}" for name, value in (flow.get("options") or {}).items() if name != leave_out
        ]
        plain = [memory for memory in dict.fromkeys(memories) if memory != "device"]
        rest = ", ".join([*plain, *options])
        words.append(
            f"{flow.get('interface') or interface} {'>'.join(ends)}{by}" + (f" ({rest})" if rest else "")
        )
    return " and ".join(dict.fromkeys(words))


def in_window(cell: Result) -> bool:
    """Whether the rates of all flows come from one common window.

    Without one (serialised flows, or a flow with a single mark) each rate covers the flow's own time, or in
    older records the whole run, and says nothing about interference.
    """
    return not any(_not_simultaneous(record) for record in cell.records)


def _not_simultaneous(record: Record) -> bool:
    if NOT_SIMULTANEOUS & {warning.id for warning in record.warnings}:
        return True
    if record.window_ns is not None and record.window_ns <= 0:
        return True
    # Older records: a rate within a window never equals the rate of the whole run exactly.
    return bool(record.directions) and record.directions == record.end_to_end_bytes_per_s


def load_curves(results: Sequence[Result]) -> list[LoadCurve]:
    """Returns one curve for every chase and kind of load, in order of first appearance."""
    idle = {_walk(cell): cell for cell in chases(results)}
    loaded = [
        cell
        for cell in results
        if cell.record.pattern == "interference"
        and cell.record.interface == "pointer-chase"
        and not any(one_buffer(str(flow.get("interface"))) for flow in cell.record.flows[1:])
    ]
    curves = []
    groups = group_by(
        loaded,
        lambda cell: (
            _walk(cell),
            disturber(cell.record.flows, "pointer-chase", leave_out="pause_ns"),
            tuple(flow.get("size_bytes") for flow in cell.record.flows[1:]),
        ),
    )
    for (walk, load, _), cells in groups.items():
        points = [LoadPoint(_load(cell), cell) for cell in cells if in_window(cell)]
        points.sort(key=lambda point: point.load_bytes_per_s)
        curves.append(LoadCurve(walk, load, idle.get(walk), tuple(points), len(cells) - len(points)))
    return curves


def _walk(cell: Result) -> Walk:
    record = cell.record
    return Walk(
        str(record.flows[0]["executor"]),
        record.source,
        record.size_bytes,
        record.cache,
        cell.variant.options,
        cell.variant.environment,
    )


def _load(cell: Result) -> float:
    return cell.load.value


INTRODUCTION = (
    "Latency of one dependent load against the bandwidth of concurrent flows in the same window. Where the "
    "curve rises, requests queue."
)
#: Shown with simulated curves: a flat one is not a prediction.
NO_QUEUES = " A machine model delays loads only in GPU memory, not in links or host memory."


def topic(index: Index) -> Topic | None:
    """Returns the topic of pointer chases under load; None if the run has none."""
    curves = load_curves(index.cells)
    if not curves:
        return None
    walks = group_by((curve for curve in curves if curve.points), lambda curve: curve.walk)
    charts = tuple(_chart(walk, members) for walk, members in walks.items())
    lead = INTRODUCTION + (NO_QUEUES if index.simulated else "")
    return Topic("loaded-latency", "Latency under load", lead, (_table(curves, index.voice),), charts)


def _table(curves: Sequence[LoadCurve], voice: Voice) -> Table:
    headings = (
        "latency of",
        "under load of",
        "points",
        "idle, ns",
        "least load, GB/s",
        "ns",
        "most load, GB/s",
        "ns",
        "times idle",
    )
    rows = []
    for curve in curves:
        idle = curve.idle
        alone = three_digits(idle.value) if idle else f"not {voice.measured}"
        if not curve.points:
            rows.append((curve.walk.label, curve.load, "0", alone, *["–"] * 5))
            continue
        first, last = curve.points[0], curve.points[-1]
        rows.append(
            (
                curve.walk.label,
                curve.load,
                str(len(curve.points)),
                alone,
                three_digits(first.load_bytes_per_s / 1e9),
                three_digits(first.cell.value),
                three_digits(last.load_bytes_per_s / 1e9),
                three_digits(last.cell.value),
                f"{last.cell.value / idle.value:.2f}" if idle else "–",
            )
        )
    excluded_cases = sum(curve.without_window for curve in curves)
    excluded = count(excluded_cases, "case")
    note = f"Excludes {excluded} in which the latency {voice.measurement} and the load did not overlap."
    return Table("", headings, tuple(rows), tuple(range(2, len(headings))), (note if excluded_cases else "",))


def _chart(walk: Walk, curves: Sequence[LoadCurve]) -> Chart:
    lines = []
    for curve in curves:
        points = [result_point(point.load_bytes_per_s / 1e9, point.cell, 1) for point in curve.points]
        if curve.idle is not None:
            points.insert(0, result_point(0.0, curve.idle, 1))
        lines.append(Series(curve.load, tuple(points)))
    return Chart(
        walk.title,
        "The point at 0 is the idle latency. Interval: 95 % of the median.",
        Axis("GB/s of concurrent load"),
        Axis("time of a load", unit="ns"),
        tuple(lines),
    )


def loaded_latency(index: Index) -> Iterator[Finding]:
    """Reports for each chase the load with the highest latency."""
    curves = [curve for curve in load_curves(index.ranked) if curve.idle is not None and curve.points]
    for walk, members in group_by(curves, lambda curve: curve.walk).items():
        if finding := _worst(walk, members):
            yield finding


def _worst(walk: Walk, curves: Sequence[LoadCurve]) -> Finding | None:
    candidates: list[tuple[Claim, LoadCurve, Result, Result]] = []
    for curve in curves:
        assert curve.idle is not None
        slowest = max(curve.points, key=lambda point: point.cell.value)
        names = f"under {curve.load}", "alone"
        how = ("pattern", "counts")
        ways = len(curve.points) + 1
        claim = compare(
            slowest.cell, curve.idle, kind="loaded latency", ways=ways, across=how, match=None, names=names
        )
        candidates.append((claim, curve, curve.idle, slowest.cell))
    claim, curve, idle, cell = max(candidates, key=lambda entry: entry[0].effect)
    if not claim.leads:
        return None
    load = supported(cell.load.value / 1e9, cell.load.low / 1e9, cell.load.high / 1e9)
    title = (
        f"Latency of {walk.memory} from {walk.walker}: {three_digits(idle.value)} ns alone, "
        f"{three_digits(cell.value)} ns ({multiple(claim)}) under {curve.load} at {load} GB/s"
    )
    detail = (
        f"One dependent load, random cycle over {format_size(walk.size_bytes)}; latency and load are of the "
        "same window."
    )
    if len(curves) > 1:
        detail += f" {largest(f'increase of {len(curves)} kinds of load')}"
    return finding(
        title,
        detail,
        Priority.LOADED_LATENCY,
        (idle, cell),
        [entry[0] for entry in candidates],
        about=(walk.memory, walk.walker, curve.load),
    )
