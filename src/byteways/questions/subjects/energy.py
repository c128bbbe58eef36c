"""Energy per gigabyte, by the devices' own counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot
from statistics import fmean, median
from typing import Any

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding, notice
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.wording import least_energy
from byteways.answers.results.case_names import describe
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.repeatability import Rounds, Spread, spreads
from byteways.answers.results.rounds import NORMAL_95
from byteways.answers.results.summary import Result, group_by
from byteways.base.units import format_size, three_digits
from byteways.cases.option_set import NO_OPTIONS
from byteways.questions.display.table import Columns, figures, tabulated, words
from byteways.questions.display.topic import Topic

#: Lower bound of the energy per GB, so that its logarithm exists when idle power cancels nearly all.
_LEAST_JOULES = 1e-6


@dataclass(frozen=True)
class Energy:
    """Medians over the rounds of a case; `cell` holds joules per GB as its value and interval."""

    cell: Result
    watts: float
    idle_watts: float
    bytes_per_s: float
    duration_s: float
    updates: int
    counted: tuple[str, ...]
    not_counted: tuple[str, ...]

    @property
    def joules_per_gb(self) -> float:
        return self.cell.value

    @property
    def low(self) -> float:
        return self.cell.low

    @property
    def high(self) -> float:
        return self.cell.high


def energies(results: Sequence[Result]) -> list[Energy]:
    """Returns the energy of every case that has energy measurements, in order of first appearance."""
    values = []
    for cell in results:
        fields = [record.energy for record in cell.records if record.energy and "reason" not in record.energy]
        if fields:
            values.append((cell, fields))
    cases = [_rounds(cell, fields) for cell, fields in values]
    return [
        Energy(
            _as_cell(cell, fields, spread),
            median(float(field["watts"]) for field in fields),
            median(float(field["idle_watts"]) for field in fields),
            median(float(field["bytes_per_s"]) for field in fields),
            min(float(field["duration_s"]) for field in fields),
            min(int(field["counter_updates"]) for field in fields),
            tuple(fields[0]["counted"]),
            tuple(fields[0]["not_counted"]),
        )
        for (cell, fields), spread in zip(values, spreads(cases), strict=True)
    ]


def _rounds(cell: Result, fields: Sequence[Mapping[str, Any]]) -> Rounds:
    """Returns joules per GB of each round; spreads are pooled by interface, else over the run."""
    costs = tuple(max(float(field["joules_per_GB"]), _LEAST_JOULES) for field in fields)
    within = fmean(
        (high - low) / 2 / NORMAL_95 / cost
        for cost, (low, high) in zip(costs, map(_interval, fields), strict=True)
    )
    return Rounds(costs, within, (("energy", cell.record.interface), ("energy",)))


def _as_cell(cell: Result, fields: Sequence[Mapping[str, Any]], spread: Spread) -> Result:
    costs = [float(field["joules_per_GB"]) for field in fields]
    cost = median(costs)
    low, high = spread.interval(cost, len(fields)) if len(fields) > 1 else _interval(fields[0])
    records = tuple(record for record in cell.records if record.energy and "reason" not in record.energy)
    by_round = dict(zip((record.round for record in records), costs, strict=True))
    return replace(cell, records=records, value=cost, low=low, high=high, spread=spread, by_round=by_round)


def _interval(field: Mapping[str, Any]) -> tuple[float, float]:
    """Returns the interval in joules per GB.

    Older records have none: it is then estimated with an error of one counter step at either end.
    """
    if "joules_per_GB_ci95" in field:
        low, high = field["joules_per_GB_ci95"]
        return float(low), float(high)
    cost, steps = float(field["joules_per_GB"]), max(int(field["counter_updates"]) - 1, 1)
    # The idle device was observed for at least as many counter steps.
    watts = hypot(float(field["watts"]), float(field["idle_watts"])) / steps
    half = watts / (float(field["bytes_per_s"]) / 1e9)
    return cost - half, cost + half


@dataclass(frozen=True)
class Unmeasured:
    """Why cases have no energy measurement."""

    reason: str
    cells: tuple[Result, ...]


def unmeasured(results: Sequence[Result]) -> list[Unmeasured]:
    """Returns the reasons why no round of a case has the requested energy, the most frequent first."""
    missing = []
    for cell in results:
        asked = [record.energy for record in cell.records if record.energy]
        if asked and all("reason" in field for field in asked):
            missing.append((str(asked[0]["reason"]), cell))
    reasons = group_by(missing, lambda each: each[0])
    return sorted(
        (Unmeasured(reason, tuple(cell for _, cell in members)) for reason, members in reasons.items()),
        key=lambda each: -len(each.cells),
    )


INTRODUCTION = (
    "Energy per gigabyte from the energy counters of the devices at both ends, minus their idle energy. "
    "Operations repeat until two seconds and 20 updates of every counter have passed, or ten seconds; "
    "both are listed. For STREAM kernels a gigabyte is one read or written, for others one that arrives. "
    "Devices without a counter are listed as not counted."
)


def topic(index: Index) -> Topic | None:
    """Returns the topic of energy; None if the run requested none."""
    asked = [cell for cell in index.cells if any(record.energy for record in cell.records)]
    if not asked:
        return None
    measured = energies(asked)
    columns: Columns[Energy] = (
        words("case", lambda one: describe(one.cell.record)),
        figures("size", lambda one: format_size(one.cell.size_bytes)),
        figures("J/GB", lambda one: three_digits(one.joules_per_gb)),
        figures("95 % interval", lambda one: f"{three_digits(one.low)} to {three_digits(one.high)}"),
        figures("W", lambda one: f"{one.watts:.0f}"),
        figures("idle, W", lambda one: f"{one.idle_watts:.0f}"),
        figures("GB/s", lambda one: three_digits(one.bytes_per_s / 1e9)),
        figures("seconds", lambda one: f"{one.duration_s:.2g}"),
        figures("steps", lambda one: str(one.updates)),
        words("counted", lambda one: ", ".join(one.counted)),
        words("not counted", lambda one: ", ".join(one.not_counted) or "–"),
    )
    tables = [tabulated("", columns, measured)] if measured else []
    if reasons := unmeasured(asked):
        why: Columns[Unmeasured] = (
            words("reason", lambda each: index.voice.quote(each.reason)),
            figures("cases", lambda each: str(len(each.cells))),
        )
        tables.append(tabulated("Cases without an energy result", why, reasons))
    return Topic("energy", "Energy", INTRODUCTION, tuple(tables))


def energy(index: Index) -> Iterator[Finding]:
    """Reports for each path the interface with the least energy per GB, at the largest size."""
    by_path = group_by(
        [each for each in energies(index.ranked) if each.cell.ranked],
        # STREAM counts bytes read and written, copies count bytes that arrive: not comparable.
        lambda each: (each.cell.record.source, each.cell.record.destination, each.cell.record.counts),
    )
    for of_path in by_path.values():
        size = max(each.cell.size_bytes for each in of_path)
        alike = [each for each in of_path if each.cell.size_bytes == size]
        if len({each.cell.record.interface for each in alike}) > 1:
            yield _ranked(alike)


def _ranked(alike: Sequence[Energy]) -> Finding:
    """Reports the interface with the least energy if its lead is significant; otherwise names the ties."""
    first = min(alike, key=lambda each: each.joules_per_gb)
    beside = {id(each): _beside(each, first, len(alike)) for each in alike if each is not first}
    mine = first.cell.record.interface
    ties, more = [_named([first, *_tied(alike, beside, mine)])], []
    for interface, ways in group_by(alike, lambda each: each.cell.record.interface).items():
        if interface == mine:
            continue
        least = min(ways, key=lambda each: each.joules_per_gb)
        tied = _tied(ways, beside, interface)
        if tied:
            ties.append(_named(tied))
        else:
            more.append(beside[id(least)])
    record = first.cell.record
    between = f"from {record.source} to {record.destination}"
    level = [claim for claim in beside.values() if not claim.leads]
    title = least_energy(between, ties, first.joules_per_gb, more, level)
    missing = f"; not counted: {listed(first.not_counted)}" if first.not_counted else ""
    ordered = sorted(alike, key=lambda each: each.joules_per_gb)
    detail = (
        f"{listed([_figure(each) for each in ordered])}. "
        f"{format_size(record.size_bytes)}; counters of {listed(first.counted)}{missing}; idle subtracted; "
        f"at least {min(each.duration_s for each in alike):.1f} s and "
        f"{min(each.updates for each in alike)} steps."
    )
    return finding(
        title,
        detail,
        Priority.ENERGY,
        [each.cell for each in ordered],
        beside.values(),
        about=(between, *ties),
    )


def _beside(other: Energy, first: Energy, ways: int) -> Claim:
    names = other.cell.variant.name, first.cell.variant.name
    return compare(other.cell, first.cell, kind="energy", ways=ways, quantity="energy", names=names)


def _tied(ways: Sequence[Energy], beside: Mapping[int, Claim], interface: str) -> list[Energy]:
    """Returns the variants of an interface without a significant difference from the best."""
    return [
        each
        for each in ways
        if each.cell.record.interface == interface and id(each) in beside and not beside[id(each)].leads
    ]


def _named(ways: Sequence[Energy]) -> str:
    """Names one interface with the settings that these variants share."""
    variants = [each.cell.variant for each in ways]

    def differs(part: str) -> bool:
        return len({getattr(variant, part) for variant in variants}) > 1

    blank: dict[str, Any] = {"access": "", "options": NO_OPTIONS, "environment": NO_OPTIONS, "cache": ""}
    return replace(variants[0], **{part: none for part, none in blank.items() if differs(part)}).name


def _figure(result: Energy) -> str:
    """'copy 0.453 J (0.39 to 0.51)'."""
    interval = f"{three_digits(result.low)} to {three_digits(result.high)}"
    return f"{result.cell.variant.name} {three_digits(result.joules_per_gb)} J ({interval})"


def no_energy(index: Index) -> Iterator[Finding]:
    """Reports in one sentence all cases whose requested energy is unavailable."""
    reasons = unmeasured(index.cells)
    if not reasons:
        return
    cases = count(sum(len(each.cells) for each in reasons), "case")
    measured = energies(index.cells)
    title = (
        f"No energy result for {cases}: {index.voice.quote(reasons[0].reason)}"
        if len(reasons) == 1
        else f"No energy result for {cases}"
    )
    texts = [f"{index.voice.quote(each.reason)} ({count(len(each.cells), 'case')})" for each in reasons]
    detail = "" if len(reasons) == 1 else f"{'; '.join(texts)}. "
    detail += "Their other results are unaffected." if measured else "This run has no energy results."
    yield notice(title, detail, Priority.NO_ENERGY)
