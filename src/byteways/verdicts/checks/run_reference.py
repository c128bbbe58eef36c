"""Checks a run against another run: the same machine or one like it, when it was healthy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from byteways.answers.claims.compare import compare_all, least_change
from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.machine_names import devices_of
from byteways.answers.results.summary import Result
from byteways.base.errors import BytewaysError
from byteways.verdicts.checks.common import (
    absent,
    failures,
    judged,
    left_out,
    ordered,
    planned_here,
    sound,
    unjudged,
    without_result,
)
from byteways.verdicts.checks.verdict import FAIL, MISSING, NOT_DECIDED, PASS, Bounds, CaseLabels, Judged
from byteways.verdicts.checks.wording_check import basis_with_others
from byteways.verdicts.two_runs.comparison import check as comparable
from byteways.verdicts.two_runs.comparison import gpus, matched, why_no_case
from byteways.verdicts.two_runs.pooled import PooledChange, pooled_changes
from byteways.verdicts.two_runs.suspects import missing_links


@dataclass(frozen=True)
class RunVerdicts:
    """What a check against a run found."""

    cases: tuple[Judged, ...]  # the worst first
    missing_links: tuple[str, ...]  # of the reference's machine
    together: tuple[Judged, ...]  # cases pooled (two_runs/pooled.py)
    notes: tuple[str, ...]


def against_run(
    run: Index,
    reference: Index,
    names: tuple[str, str],
    *,
    bounds: Bounds,
    allow_missing: bool = False,
    mixed: bool = False,
) -> RunVerdicts:
    """Judges every case of either run; all claims hold simultaneously (compare.compare_all).

    Args:
        run: The run to check.
        reference: The run of a healthy machine.
        names: What they are called, in this order.
        bounds: What decides on a case.
        allow_missing: Whether cases that the run left out for lack of time, or lost, may be missing.
        mixed: Whether a simulated run may be judged by a measured one, or the reverse.

    Raises:
        BytewaysError: Both are the same run, one is simulated and the other measured, their GPUs are of
            different models, or they have no case in common.
    """
    comparable((reference, run), names[::-1], mixed=mixed)
    models, others = gpus(reference.topology), gpus(run.topology)
    if {*models} != {*others}:
        raise BytewaysError(
            f"{names[0]} and {names[1]} have different GPUs",
            cause=f"{', '.join(others) or 'none'}; {', '.join(models) or 'none'}",
            hint="byteways compare --by link-class compares fractions of the peak",
        )
    if not {record.case_id for record in run.records} & {record.case_id for record in reference.records}:
        raise BytewaysError(
            f"{names[0]} and {names[1]} have no case in common",
            cause=why_no_case(run, reference, names),
            hint="check runs of one suite",
        )
    pairs, unlike = matched(reference, run)
    intact = {cell.record.case_id for cell in sound(run)}
    pairs = [pair for pair in pairs if pair[1].record.case_id in intact]
    claims = compare_all([(own, healthy) for healthy, own in pairs], kind="check")
    changes = pooled_changes(claims, reference)
    together = tuple(_together(one, bounds, names[1]) for one in changes)
    slow = [one.case_ids for one, all_of in zip(changes, together, strict=True) if all_of.verdict == FAIL]
    cases = [
        _with_others(judged(own, claim, bounds, names[1], reference.topology), slow, bounds)
        for (_, own), claim in zip(pairs, claims, strict=True)
    ]
    links = missing_links(reference.topology, run.topology)
    rest = chain(
        _only_in_run(run, reference, unlike), _missing(run, reference, allow_missing), _lost(run, reference)
    )
    return RunVerdicts(ordered([*cases, *rest]), links, together, _notes(run, reference))


def _together(change: PooledChange, bounds: Bounds, basis: str) -> Judged:
    """Returns the verdict on cases together: their whole interval must lie beyond the tolerance.

    They show differences that are too small to matter, as between equal machines, or from hour to hour.
    """
    verdict = bounds.verdict(
        change,
        slower=change.high <= 1 - bounds.tolerance,
        faster=change.low >= 1 + bounds.tolerance,
        slowest=change.low,
    )
    where = ", ".join(filter(None, (change.between, change.link_class))) or "all"
    return Judged(
        verdict,
        f"{where}: {count(len(change.case_ids), 'case')} together",
        speed=change.effect,
        interval=(change.low, change.high),
        basis=basis,
        least_change=max(least_change(change), bounds.tolerance),
        labels=CaseLabels(method=where),
    )


def _with_others(one: Judged, slow: Sequence[frozenset[str]], bounds: Bounds) -> Judged:
    """Returns the verdict on a case that is slower together with others: it does not PASS if its own loss is
    beyond the tolerance. If it is too noisy to be decided alone and its loss is one that a check is made to
    find, it is FAIL.
    """
    speed = 1.0 if one.speed is None else one.speed
    if speed > 1 - bounds.tolerance or not any(one.case_id in some for some in slow):
        return one
    if one.verdict == NOT_DECIDED and speed <= 1 - bounds.least_effect:
        return replace(one, verdict=FAIL, basis=basis_with_others(one))
    return replace(one, verdict=NOT_DECIDED) if one.verdict == PASS else one


def _notes(run: Index, reference: Index) -> tuple[str, ...]:
    """Says what the reference measured and the run did not plan: no verdict on the machine."""
    if planned_here(run):
        return ()
    planned = {record.case_id for record in run.records}
    number = sum(cell.record.case_id not in planned for cell in reference.cells)
    return (f"{count(number, 'case')} of the reference not planned in this run",) if number else ()


def _only_in_run(run: Index, reference: Index, unlike: Mapping[str, str]) -> Iterator[Judged]:
    """Yields cases with a result that the reference does not have, or has of another definition."""
    there = {cell.record.case_id: cell for cell in reference.cells}
    same_software = _versions(run) == _versions(reference)
    for cell in sound(run):
        healthy = there.get(cell.record.case_id)
        if healthy is None:
            yield unjudged(cell, "the reference has no result of it", run.topology)
        elif same_software and (changed := _completes_differently(cell, healthy)):
            yield absent(cell.record, reference.topology, changed)
        elif reason := unlike.get(cell.record.case_id):
            yield unjudged(cell, reason, run.topology)


def _completes_differently(cell: Result, healthy: Result) -> str:
    """Returns how the calls of a case complete differently from the reference; '' if they do not.

    The timer is not chosen but follows from what an operation does: a call that blocks is timed by the host's
    clock, one that returns before the device is done by the device's events. With equal software and method
    it changes only if the operation does. Rounds of healthy machines agree on it (no case of the recorded
    runs has two timers).
    """
    here, there = ({record.timed_by for record in one.records} for one in (cell, healthy))
    methods = {record.method_version for one in (cell, healthy) for record in one.records}
    if len(methods) > 1 or here & there:
        return ""
    found, expected = (" or ".join(sorted(map(str, timers))) for timers in (here, there))
    return f"its calls complete differently: timed by {found}, in the reference by {expected}"


def _versions(run: Index) -> dict[str, str]:
    """Returns the versions of the libraries that a run found."""
    libraries = run.manifest.get("libraries") or ()
    return {str(one.get("library")): str(one.get("version")) for one in libraries}


def _missing(run: Index, reference: Index, allowed: bool) -> Iterator[Judged]:
    """Yields cases without a result: all that were tried, and planned ones that the reference measured."""
    healthy = {cell.record.case_id for cell in sound(reference)}
    without = {record.case_id for record in reference.records} - healthy
    failed = failures(run, lambda record: record.case_id in healthy, without)
    yield from failed
    known = {one.case_id for one in failed} | {cell.record.case_id for cell in run.cells}
    lost = planned_here(run) and not allowed
    records = {record.case_id: record for record in without_result(run)}
    for cell in reference.cells:
        if (case := cell.record.case_id) in known:
            continue
        record = records.get(case)
        if record is not None and not (allowed and left_out(record)):
            yield absent(record, reference.topology)
        elif record is None and lost:
            yield absent(cell.record, reference.topology, "the run has no record of this case")


def _lost(run: Index, reference: Index) -> Iterator[Judged]:
    """Yields GPUs and links of the reference's machine that this one lacks."""
    for model, number in (gpus(reference.topology) - gpus(run.topology)).items():
        total = gpus(reference.topology)[model]
        yield Judged(
            MISSING, f"{number} of {total} {devices_of(model)}", reason="the machine does not have it"
        )
    for name in missing_links(reference.topology, run.topology):
        yield Judged(MISSING, f"link {name}", reason="the machine does not have it", parts=frozenset({name}))
