"""Checks a run against another run: the same machine or one like it, when it was healthy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from byteways.errors import BytewaysError
from byteways.explain.checks.common import (
    absent,
    failures,
    judged,
    left_out,
    ordered,
    sound,
    unjudged,
    without_result,
)
from byteways.explain.checks.verdict import MISSING, Judged
from byteways.explain.claims.compare import compare_all
from byteways.explain.results.index import Index
from byteways.explain.results.machine_names import devices_of
from byteways.explain.results.summary import Result
from byteways.explain.two_runs.comparison import check as comparable
from byteways.explain.two_runs.comparison import gpus, matched
from byteways.explain.two_runs.suspects import missing_links


def against_run(
    run: Index,
    reference: Index,
    names: tuple[str, str],
    *,
    tolerance: float,
    allow_missing: bool = False,
    mixed: bool = False,
) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """Judges every case of either run; all claims hold simultaneously (compare.compare_all).

    Args:
        run: The run to check.
        reference: The run of a healthy machine.
        names: What they are called, in this order.
        tolerance: Least relative difference that is LOW or HIGH.
        allow_missing: Whether cases that the run did not plan, or left out for lack of time, may be missing.
        mixed: Whether a simulated run may be judged by a measured one, or the reverse.

    Returns:
        The verdicts, the worst first; and the links that the run's machine lacks.

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
            hint="byteways compare --by link-class compares parts of the peak",
        )
    if not {record.case_id for record in run.records} & {record.case_id for record in reference.records}:
        raise BytewaysError(
            f"{names[0]} and {names[1]} have no case in common", hint="check runs of one suite"
        )
    pairs, unlike = matched(reference, run)
    intact = {cell.record.case_id for cell in sound(run)}
    pairs = [pair for pair in pairs if pair[1].record.case_id in intact]
    claims = compare_all([(own, healthy) for healthy, own in pairs], kind="check")
    cases = [
        judged(own, claim, tolerance, names[1], reference.topology)
        for (_, own), claim in zip(pairs, claims, strict=True)
    ]
    links = missing_links(reference.topology, run.topology)
    rest = chain(
        _only_in_run(run, reference, unlike), _missing(run, reference, allow_missing), _lost(run, reference)
    )
    return ordered([*cases, *rest]), links


def _only_in_run(run: Index, reference: Index, unlike: Mapping[str, str]) -> Iterator[Judged]:
    """Yields cases with a result that the reference does not have, or has of another definition."""
    there = {cell.record.case_id: cell for cell in reference.cells}
    same_software = _versions(run) == _versions(reference)
    for cell in sound(run):
        healthy = there.get(cell.record.case_id)
        if healthy is None:
            yield unjudged(cell, "the reference has no result of it", run.topology)
        elif same_software and (changed := _ends_otherwise(cell, healthy)):
            yield absent(cell.record, reference.topology, changed)
        elif reason := unlike.get(cell.record.case_id):
            yield unjudged(cell, reason, run.topology)


def _ends_otherwise(cell: Result, healthy: Result) -> str:
    """Returns how the operations of a case end otherwise than in the reference; '' if they do not.

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
    return f"its operations end otherwise: timed by {found}, in the reference by {expected}"


def _versions(run: Index) -> dict[str, str]:
    """Returns the versions of the libraries that a run found."""
    libraries = run.manifest.get("libraries") or ()
    return {str(one.get("library")): str(one.get("version")) for one in libraries}


def _missing(run: Index, reference: Index, allowed: bool) -> Iterator[Judged]:
    """Yields cases without a result: all that were tried, and all that the reference has."""
    failed = failures(run)
    yield from failed
    known = {one.case_id for one in failed} | {cell.record.case_id for cell in run.cells}
    records = {record.case_id: record for record in without_result(run)}
    for cell in reference.cells:
        if (case := cell.record.case_id) in known:
            continue
        record = records.get(case)
        if record is not None and not (allowed and left_out(record)):
            yield absent(record, reference.topology)
        elif record is None and not allowed:
            yield absent(cell.record, reference.topology, "the run does not have this case")


def _lost(run: Index, reference: Index) -> Iterator[Judged]:
    """Yields GPUs and links of the reference's machine that this one lacks."""
    for model, number in (gpus(reference.topology) - gpus(run.topology)).items():
        total = gpus(reference.topology)[model]
        yield Judged(
            MISSING, f"{number} of {total} {devices_of(model)}", reason="the machine does not have it"
        )
    for name in missing_links(reference.topology, run.topology):
        yield Judged(MISSING, f"link {name}", reason="the machine does not have it", parts=frozenset({name}))
