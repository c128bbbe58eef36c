"""Latency under load: nanoseconds per dependent load over the bandwidth of a concurrent load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import supported
from byteways.answers.claims.wording import largest, multiple
from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.selection import chases
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size, three_digits
from byteways.cases.case import Case
from byteways.cases.interfaces import one_buffer
from byteways.cases.option_set import OptionSet
from byteways.questions.display.chart import Axis, Chart, Series
from byteways.questions.display.curves import result_point
from byteways.questions.display.table import Columns, Table, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.record.record import Record
from byteways.record.simulation_mark import Voice

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
    options: OptionSet
    environment: OptionSet

    @property
    def label(self) -> str:
        """'gpu0: gpu1:device, 512 MiB', then options and environment."""
        return self._named(": ")

    @property
    def title(self) -> str:
        """'gpu0 loads from gpu1:device, 512 MiB', then the same."""
        return self._named(" loads from ")

    def _named(self, between: str) -> str:
        rest = [each.text() for each in (self.options, self.environment) if each]
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


def disturber(case: Case, *, leave_out: str = "") -> str:
    """Describes the load: `copy gpu0>gpu1 by gpu0`, `kernel gpu0>gpu0 (blocks=264)`.

    Args:
        case: Its first flow is the measured one.
        leave_out: Name of an option to omit.
    """
    words = []
    for flow in case.flows[1:]:
        buffers = flow.source, flow.destination
        ends = [end.place for end in buffers]
        by = "" if ends[0] == ends[1] == flow.executor else f" by {flow.executor}"
        memories = [str(end).removeprefix(f"{end.place}:") for end in buffers]
        options = [f"{name}={value}" for name, value in flow.options.items() if name != leave_out]
        plain = [memory for memory in dict.fromkeys(memories) if memory != "device"]
        rest = ", ".join([*plain, *options])
        words.append(f"{case.interface_of(flow)} {'>'.join(ends)}{by}" + (f" ({rest})" if rest else ""))
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
        and not any(one_buffer(str(flow.interface)) for flow in cell.case.flows[1:])
    ]
    curves = []
    groups = group_by(
        loaded,
        lambda cell: (
            _walk(cell),
            disturber(cell.case, leave_out="pause_ns"),
            tuple(flow.size_bytes for flow in cell.case.flows[1:]),
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
        cell.case.flows[0].executor,
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
    def idle(curve: LoadCurve) -> str:
        return three_digits(curve.idle.value) if curve.idle else f"not {voice.measured}"

    columns: Columns[LoadCurve] = (
        words("latency of", lambda curve: curve.walk.label),
        words("under load of", lambda curve: curve.load),
        figures("points", lambda curve: str(len(curve.points))),
        figures("idle, ns", idle),
        figures("least load, GB/s", lambda curve: _load_at(curve.points[:1])),
        figures("ns", lambda curve: _latency_at(curve.points[:1])),
        figures("most load, GB/s", lambda curve: _load_at(curve.points[-1:])),
        figures("ns", lambda curve: _latency_at(curve.points[-1:])),
        figures("times idle", _times_idle),
    )
    excluded_cases = sum(curve.without_window for curve in curves)
    excluded = count(excluded_cases, "case")
    note = f"Excludes {excluded} in which the latency {voice.measurement} and the load did not overlap."
    return tabulated("", columns, curves, note if excluded_cases else "")


def _load_at(points: Sequence[LoadPoint]) -> str:
    return three_digits(points[0].load_bytes_per_s / 1e9) if points else "–"


def _latency_at(points: Sequence[LoadPoint]) -> str:
    return three_digits(points[0].cell.value) if points else "–"


def _times_idle(curve: LoadCurve) -> str:
    if not curve.idle or not curve.points:
        return "–"
    return f"{curve.points[-1].cell.value / curve.idle.value:.2f}"


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
