"""Repeated suites (`run --for`): every result over time, with clocks and error counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import moved
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.results.case_names import describe
from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.rounds import figure, interval
from byteways.answers.results.summary import RecordedRun, Result
from byteways.base.units import format_bandwidth, format_duration, format_size, format_time
from byteways.cases.interfaces import metric_of
from byteways.questions.display.chart import Axis, Chart, Point, Series
from byteways.questions.display.table import Columns, Table, TableColumn, figures, tabulated, words
from byteways.questions.display.topic import Topic
from byteways.record.record import Record

#: Least number of rounds for a plot or a verdict.
SERIES_FROM_ROUNDS = 3
#: Maximum number of lines in a plot: those that changed most.
MOST_SERIES_LINES = 8
#: Counters that never decrease: record field and column title.
COUNTERS = {"pcie_replays": "PCIe replays", "nvlink_errors": "link errors"}


@dataclass(frozen=True)
class ChangeOverRounds:
    """A case over the rounds. `first` and `last` are the medians of its first and last third."""

    cell: Result
    times_s: tuple[float, ...]  # of each round, since the first record of the run
    records: tuple[Record, ...]
    first: float
    last: float
    claim: Claim  # last third versus first, corrected for the number of series

    @property
    def relative(self) -> float:
        return self.last / self.first - 1

    @property
    def settled(self) -> bool:
        """Whether the last third differs from the first by more than neighbouring rounds do."""
        return self.claim.differ


def changes(run: RecordedRun, results: Sequence[Result]) -> list[ChangeOverRounds]:
    """Returns every case with at least LEAST_ROUNDS rounds, the largest change first."""
    if not _repeated(run):
        return []
    begun = min((_moment(record) for record in run.records if record.started_at), default=0.0)
    changed = []
    for cell in results:
        records = sorted(
            (record for record in cell.records if record.started_at and figure(record)),
            key=lambda record: record.round,
        )
        if len(records) >= SERIES_FROM_ROUNDS:
            changed.append((cell, tuple(records), [figure(record) or 0.0 for record in records]))
    claims = moved([(cell, values) for cell, _, values in changed])
    series = [
        ChangeOverRounds(
            cell,
            tuple(_moment(record) - begun for record in records),
            records,
            claim.second.value,
            claim.first.value,
            claim,
        )
        for (cell, records, _), claim in zip(changed, claims, strict=True)
    ]
    return sorted(series, key=lambda change: -abs(change.relative))


def topic(index: Index) -> Topic | None:
    """Returns the topic of a run with `--for`; None for other runs."""
    series = changes(index, index.cells)
    health = _health(index.records) if _repeated(index) else None
    if not series and health is None:
        return None
    tables = [table for table in (_table(series), health) if table is not None]
    return Topic(
        "series",
        "Time series",
        "The suite was repeated; each point is one round. A change is lasting if the last third of the "
        "rounds differs from the first by at least 1 % and by more than neighbouring rounds do, corrected"
        " for the number of cases.",
        tuple(tables),
        tuple(plot for unit in ("bandwidth", "latency") if (plot := _chart(series, unit))),
    )


def _repeated(run: RecordedRun) -> bool:
    return bool((run.manifest.get("options") or {}).get("for_s"))


def _moment(record: Record) -> float:
    """Returns seconds since the epoch. Python 3.10 cannot parse a trailing Z."""
    return datetime.fromisoformat(str(record.started_at).replace("Z", "+00:00")).timestamp()


def _named(record: Record) -> str:
    return f"{describe(record)}, warm" if record.cache == "warm" else describe(record)


def _unit(cell: Result) -> str:
    return "bandwidth" if metric_of(cell.record.interface) == "bandwidth" else "latency"


def _said(cell: Result, value: float) -> str:
    return format_bandwidth(value) if _unit(cell) == "bandwidth" else format_time(value)


def _table(series: Sequence[ChangeOverRounds]) -> Table | None:
    if not series:
        return None
    columns: Columns[ChangeOverRounds] = (
        words("case", lambda change: _named(change.cell.record)),
        figures("size", lambda change: format_size(change.cell.size_bytes)),
        figures("rounds", lambda change: str(len(change.records))),
        figures("first third", lambda change: _said(change.cell, change.first)),
        figures("last third", lambda change: _said(change.cell, change.last)),
        figures("change", lambda change: f"{100 * change.relative:+.2f} %"),
        words("settled", lambda change: "yes" if change.settled else "no"),
        figures("least", lambda change: _said(change.cell, min(_figures(change)))),
        figures("most", lambda change: _said(change.cell, max(_figures(change)))),
    )
    return tabulated("All cases over the rounds", columns, series)


def _figures(change: ChangeOverRounds) -> list[float]:
    return [figure(record) or 0.0 for record in change.records]


def _chart(series: Sequence[ChangeOverRounds], unit: str) -> Chart | None:
    chosen = [change for change in series if _unit(change.cell) == unit][:MOST_SERIES_LINES]
    if not chosen:
        return None
    scale, label = (1e9, "GB/s") if unit == "bandwidth" else (1.0, "ns")
    values = Axis(label) if unit == "bandwidth" else Axis("time", unit="ns")
    lines = tuple(
        Series(
            f"{_named(change.cell.record)}, {format_size(change.cell.size_bytes)}",
            tuple(
                _point(time_s / 60, record, scale, change.cell)
                for time_s, record in zip(change.times_s, change.records, strict=True)
            ),
        )
        for change in chosen
    )
    caption = f"The {len(lines)} largest changes. Each point is one round, with its 95 % interval."
    return Chart(f"Change over time, {label}", caption, Axis("minutes since the start"), values, lines)


def _point(minutes: float, record: Record, scale: float, cell: Result) -> Point:
    low, high = interval(record)
    value = figure(record) or 0.0
    said = f"round {record.round + 1}, {minutes:.1f} min: {_said(cell, value)}"
    return Point(minutes, value / scale, low / scale, high / scale, said)


def _health(records: Sequence[Record]) -> Table | None:
    """Tabulates clocks, temperature and power over the run, and the increments of error counters."""
    readings: dict[str, list[Mapping[str, Any]]] = {}
    for record in sorted(records, key=lambda record: record.started_at or ""):
        for device, pair in (record.health or {}).items():
            if device == "host":
                continue  # readings without clocks
            readings.setdefault(device, []).extend(pair[side] for side in ("before", "after") if side in pair)
    if not readings:
        return None

    def counter(name: str) -> TableColumn[tuple[str, Sequence[Mapping[str, Any]]]]:
        return figures(COUNTERS[name], lambda row: _increment(row[1], name))

    columns: Columns[tuple[str, Sequence[Mapping[str, Any]]]] = (
        words("GPU", lambda row: row[0]),
        figures("SM clock, MHz", lambda row: _span(row[1], "sm_clock_mhz")),
        figures("memory clock, MHz", lambda row: _span(row[1], "memory_clock_mhz")),
        figures("temperature, °C", lambda row: _span(row[1], "temperature_c")),
        figures("power, W", lambda row: _span(row[1], "power_mw", 1000)),
        *map(counter, COUNTERS),
    )
    note = "Minimum to maximum of all readings between cases; for counters, the increment."
    return tabulated("Health over the run", columns, sorted(readings.items()), note)


def _span(seen: Sequence[Mapping[str, Any]], name: str, unit: float = 1) -> str:
    values = [reading[name] / unit for reading in seen if (reading.get(name) or 0) > 0]
    return f"{min(values):.0f} to {max(values):.0f}" if values else "unknown"


def _increment(seen: Sequence[Mapping[str, Any]], name: str) -> str:
    counts = [value for reading in seen if (value := reading.get(name)) is not None]
    return str(counts[-1] - counts[0]) if counts else "unknown"


#: Maximum number of cases that a sentence names.
MOST_NAMED_CHANGES = 3


def over_time(index: Index) -> Iterator[Finding]:
    """Reports one finding on all series together."""
    series = changes(index, index.quotable)
    if not series:
        return
    span_s = max(change.times_s[-1] for change in series)
    rounds = max(len(change.records) for change in series)
    over = f"over {format_duration(span_s)} and {count(rounds, 'round')}"
    moved = [change for change in series if change.settled]
    if not moved:
        widest = series[0]
        title = f"No lasting change in {count(len(series), 'result')} {over}"
        detail = f"Last vs first third of the rounds, largest difference: {_change_said(widest)}."
        yield finding(title, detail, Priority.STEADY_OVER_TIME, (), [change.claim for change in series])
        return
    title = f"{len(moved)} of {count(len(series), 'result')} drifted {over}"
    detail = "; ".join(_change_said(change) for change in moved[:MOST_NAMED_CHANGES])
    detail = f"First vs last third of the rounds: {detail}."
    yield finding(
        title,
        detail,
        Priority.CHANGED_OVER_TIME,
        [change.cell for change in moved],
        [each.claim for each in series],
    )


def _change_said(change: ChangeOverRounds) -> str:
    record = change.cell.record
    formatted = format_bandwidth if record.latency_ns is None else format_time
    warm = ", warm" if record.cache == "warm" else ""
    return (
        f"{describe(record)}{warm} at {format_size(record.size_bytes)}, {100 * change.relative:+.1f} % "
        f"({formatted(change.first)} to {formatted(change.last)})"
    )
