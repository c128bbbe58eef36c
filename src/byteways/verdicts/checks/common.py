"""What all checks share: what a run lacks, verdicts from claims, and the order of cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from math import log

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import least_change
from byteways.answers.results.case_names import describe as named
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result, group_by
from byteways.answers.results.variants import variant_of
from byteways.base.units import format_size
from byteways.cases.case import Buffer
from byteways.cases.interfaces import OF_ALL, metric_of
from byteways.cases.reasons import OUT_OF_TIME
from byteways.machine.model import Topology
from byteways.questions.bottlenecks.culprits import parts_of
from byteways.record.record import Record
from byteways.verdicts.checks.verdict import (
    CHECK_VERDICTS,
    FAIL,
    MISSING,
    UNKNOWN,
    Bounds,
    CaseLabels,
    Judged,
)
from byteways.verdicts.two_runs.comparison import WITHOUT_RESULT, describe


def speed_of(claim: Claim, cell: Result) -> tuple[float, tuple[float, float]]:
    """Returns the first side's speed relative to the second's, with its interval; of times the inverse."""
    if metric_of(cell.record.interface) == "bandwidth":
        return claim.effect, (claim.low, claim.high)
    low, high = (1 / end if end else float("inf") for end in (claim.high, claim.low))
    return (1 / claim.effect if claim.effect else float("inf")), (low, high)


def judged(cell: Result, claim: Claim, bounds: Bounds, basis: str, topology: Topology) -> Judged:
    """Returns the verdict of a claim whose first side is the checked result."""
    speed, interval = speed_of(claim, cell)
    return replace(
        unjudged(cell, "", topology),
        verdict=bounds.verdict(
            claim,
            slower=claim.differ and speed <= 1 - bounds.tolerance,
            faster=claim.differ and speed >= 1 + bounds.tolerance,
            slowest=interval[0],
        ),
        expected=claim.second.value,
        speed=speed,
        interval=interval,
        basis=basis,
        claim=claim,
        least_change=max(least_change(claim), bounds.tolerance),
    )


def unjudged(cell: Result, reason: str, topology: Topology) -> Judged:
    """Returns a case with a result and nothing to judge it by."""
    record = cell.record
    figure, parts = metric_of(record.interface), parts_of(record, topology)
    return Judged(
        UNKNOWN,
        describe(cell),
        record.case_id,
        figure,
        cell.value,
        reason=reason,
        parts=parts,
        labels=_labels(record),
    )


def _labels(record: Record) -> CaseLabels:
    """Returns labels that depend on the case alone: a time series goes on when its result is missing."""
    ends = Buffer.parse(record.source), Buffer.parse(record.destination)
    method = variant_of(record, *ends, frozenset(OF_ALL)).name
    return CaseLabels(ends[0].device, ends[1].device, method, record.size_bytes, record.pattern)


def failures(
    index: Index,
    expected: Callable[[Record], bool] = lambda record: True,
    excused: Collection[str] = (),
) -> list[Judged]:
    """Returns the cases that failed in any round, or lack one: MISSING, if the reference has a result.

    Args:
        index: The run to check.
        expected: Whether the reference has a result of such a case. One that fails without is FAIL; one that
            only lost records is UNKNOWN.
        excused: Cases that have no result in the reference either: UNKNOWN, unless their data was wrong.
    """
    found = []
    for case, (record, reason) in _failed(index).items():
        one = absent(record, index.topology, reason)
        if not expected(record):
            wrong = record.status == "corrupt" or record.beyond_limit
            excuse = reason or (case in excused and not wrong)
            one = replace(one, verdict=UNKNOWN if excuse else FAIL)
        found.append(one)
    return found


def planned_here(index: Index) -> bool:
    """Whether a case without a record may have been planned: records of the run are lost."""
    return index.damaged_lines > 0 or len(index.records) < int(index.manifest.get("planned") or 0)


def sound(index: Index) -> list[Result]:
    """Returns the results of cases that failed in no round and lack none."""
    failed = _failed(index)
    return [cell for cell in index.cells if cell.record.case_id not in failed]


def without_result(index: Index) -> Iterator[Record]:
    """Yields a record of each case that has no result and did not fail: it was skipped."""
    known = {cell.record.case_id for cell in index.cells} | {*_failed(index)}
    cases = group_by(index.records, lambda record: record.case_id)
    yield from (records[0] for case, records in cases.items() if case not in known)


def _failed(index: Index) -> dict[str, tuple[Record, str]]:
    """Returns by case the first record that was tried and gave no result, or that was skipped although other
    rounds ran: too many workers were lost meanwhile. Or that of a case of which a planned round has no
    record: the reason then says so. A case that cannot run here is planned and recorded once, whatever the
    number of rounds.
    """
    measured = {record.case_id for record in index.records if record.status == "measured"}
    found: dict[str, tuple[Record, str]] = {}
    for record in index.records:
        gave_up = record.status == "skipped" and record.case_id in measured and not left_out(record)
        if record.status in WITHOUT_RESULT or record.beyond_limit or gave_up:
            found.setdefault(record.case_id, (record, ""))
    planned = int((index.manifest.get("suite") or {}).get("rounds") or 0)
    for case, records in group_by(index.records, lambda record: record.case_id).items():
        tried = any(record.status != "skipped" for record in records)
        if tried and (lost := planned - len(records)) > 0:
            has = "has" if lost == 1 else "have"
            found.setdefault(case, (records[0], f"{lost} of {planned} rounds {has} no record"))
    return found


def left_out(record: Record) -> bool:
    """Whether a case was left out for lack of time."""
    return record.status == "skipped" and record.reason_code == OUT_OF_TIME


def absent(record: Record, topology: Topology, reason: str = "") -> Judged:
    """Returns the verdict on a case whose result is missing."""
    if record.beyond_limit:
        reason = "void: beyond a physical limit"
    said = reason or f"{record.status}: {record.reason or 'no reason recorded'}"
    case = f"{named(record)}, {format_size(record.size_bytes)}"
    parts = parts_of(record, topology)
    return Judged(MISSING, case, record.case_id, reason=said, parts=parts, labels=_labels(record))


def ordered(cases: Iterable[Judged]) -> tuple[Judged, ...]:
    """Returns the cases by verdict, the largest differences first."""

    def key(one: Judged) -> tuple[int, float]:
        away = abs(log(one.speed)) if one.speed and one.speed < float("inf") else 0.0
        return CHECK_VERDICTS.index(one.verdict), -away

    return tuple(sorted(cases, key=key))
