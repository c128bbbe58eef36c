"""Checks a run against what is normal: results of the same setting on machines like this one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from byteways.answers.claims.compare import compare_with_reference
from byteways.answers.results.counting import count
from byteways.answers.results.index import Index
from byteways.answers.results.machine_names import devices_of
from byteways.answers.results.summary import WHY_NOT_RANKED, Result, group_by
from byteways.base.errors import BytewaysError
from byteways.questions.subjects.missing_links import missing_pairs
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
from byteways.verdicts.checks.machines import links_of, same_machine
from byteways.verdicts.checks.normal import SINGLE_FAILS_UP_TO, Normal
from byteways.verdicts.checks.verdict import FAIL, MISSING, NOT_DECIDED, Bounds, Judged
from byteways.verdicts.two_runs.comparison import gpus
from byteways.verdicts.two_runs.setting import setting_of, since


def against_normal(
    run: Index,
    normal: Normal,
    names: tuple[str, str],
    *,
    bounds: Bounds,
    allow_missing: bool = False,
    mixed: bool = False,
    own: bool = False,
    least_rounds: bool = True,
) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """Judges every case of a run; all claims hold simultaneously.

    Args:
        run: The run to check.
        normal: What is normal.
        names: What run and reference are called.
        bounds: What decides on a case.
        allow_missing: Whether cases of which the run lost the records may be missing.
        mixed: Whether a simulated run may be judged by measured results, or the reverse.
        own: Whether it was learned of the user's own machines, of which all parts and cases must be there.
        least_rounds: Whether results of fewer than three rounds stay UNKNOWN.

    Returns:
        The verdicts, the worst first; and sentences about them.

    Raises:
        BytewaysError: One is simulated and the other measured.
    """
    if normal.simulated != run.simulated and not mixed:
        kinds = ["simulated" if one else "measured" for one in (run.simulated, normal.simulated)]
        hint = "add --mixed; or compare with a healthy run of the same machine: --against RUN"
        raise BytewaysError(
            "simulated results are compared with measured ones only with --mixed",
            cause=f"{names[0]}: {kinds[0]}, {names[1]}: {kinds[1]}",
            hint=hint,
        )
    results = sound(run)
    found = {cell.record.case_id: setting_of(run, cell.record) for cell in results}
    known = [cell for cell in results if not _obstacle(cell, found, normal, least_rounds)]
    places = (place for place, one in enumerate(normal.machines) if same_machine(one.uuids, one.name, run))
    itself = next(places, None) if own else None
    cases: list[Judged] = []
    single = 0
    for cell in results:
        if reason := _obstacle(cell, found, normal, least_rounds):
            cases.append(unjudged(cell, reason, run.topology))
            continue
        reference = normal.reference(str(found[cell.record.case_id]), itself)
        claim = compare_with_reference(cell, reference, kind="check", comparisons=len(known))
        one = judged(cell, claim, bounds, reference.name, run.topology)
        setting = normal.settings[str(found[cell.record.case_id])]
        by_one = len(setting.usual) == 1 and all(sample.machine != itself for sample in setting.samples)
        single += by_one
        cases.append(_beside_one(one) if by_one and itself is None else one)
    cases += failures(run, lambda record: setting_of(run, record) in normal.settings)
    cases += _unmeasured(run, normal)
    cases += _lost_links(run)
    notes: list[str] = []
    if own:
        lost = list(_lost_parts(run, normal))
        cases += lost
        fewer = {} if lost else _fewer_cases(run, normal)
        if planned_here(run) and not allow_missing:
            reasons = {key: f"the run lacks {number} such cases" for key, number in fewer.items()}
            cases += [Judged(MISSING, key, reason=reason) for key, reason in reasons.items()]
        elif fewer:
            notes.append(f"{count(sum(fewer.values()), 'case')} of such machines not planned in this run")
    if single:
        alone = f"{count(single, 'case')} of {len(cases)} {'is' if single == 1 else 'are'}"
        notes.append(
            f"{alone} judged by a single reference machine, where only a loss of "
            f"{100 * (1 - SINGLE_FAILS_UP_TO):.0f} % or more is FAIL"
        )
    return ordered(cases), tuple(notes)


def _beside_one(one: Judged) -> Judged:
    """Returns the verdict beside a single machine: it shows what is possible, and not what is usual."""
    if one.verdict != FAIL or (one.speed or 0.0) <= SINGLE_FAILS_UP_TO:
        return one
    return replace(one, verdict=NOT_DECIDED, least_change=max(one.least_change or 0, 1 - SINGLE_FAILS_UP_TO))


def _obstacle(cell: Result, keys: Mapping[str, str | None], normal: Normal, least_rounds: bool) -> str:
    """Returns why a result cannot be judged; '' if it can."""
    record = cell.record
    key = keys[record.case_id]
    if key is None or key not in normal.settings:
        return "no reference for such a machine or case"
    if least_rounds and not cell.ranked:
        return WHY_NOT_RANKED
    one = normal.settings[key]
    if record.counts != one.counts:
        return f"other count: {record.counts} and {one.counts}"
    if one.timed_by is not None and record.imported is None and record.timed_by != one.timed_by:
        return f"other timer: {record.timed_by} and {one.timed_by}"
    if record.method_version < since(record):
        return f"measured by method {record.method_version}; comparable since {since(record)}"
    return ""


def _unmeasured(run: Index, normal: Normal) -> Iterator[Judged]:
    """Yields cases that the run could not measure, and that machines with such devices and links can."""
    for record in without_result(run):
        if setting_of(run, record) in normal.settings and not left_out(record):
            yield absent(record, run.topology)


def _lost_links(run: Index) -> Iterator[Judged]:
    """Yields pairs of GPUs without the link that joins all others."""
    for a, b in missing_pairs(run.topology):
        parts = frozenset({a, b, f"{a}-{b}"})
        yield Judged(MISSING, f"link {a}-{b}", reason="such a link connects all other GPUs", parts=parts)


def _lost_parts(run: Index, normal: Normal) -> Iterator[Judged]:
    """Yields GPUs and links that the same machine had, or all machines that were learned from."""
    same = [one for one in normal.machines if same_machine(one.uuids, one.name, run)]
    shapes = [(one.gpus, one.links) for one in same or normal.machines]
    if any(shape != shapes[0] for shape in shapes):
        return
    had_gpus, had_links = shapes[0]
    for had, has in ((had_gpus, gpus(run.topology)), (had_links, links_of(run.topology))):
        for name, number in had.items():
            if (lost := number - has.get(name, 0)) > 0:
                reason = "the reference's machines have them"
                yield Judged(MISSING, f"{lost} of {number} {devices_of(name)}", reason=reason)


def _fewer_cases(run: Index, normal: Normal) -> dict[str, int]:
    """Returns settings of which the run has fewer cases than its suite has there, and how many."""
    suite = str(run.manifest["suite"].get("name"))
    records = [some[0] for some in group_by(run.records, lambda record: record.case_id).values()]
    here = Counter(setting_of(run, record) for record in records)
    lacks = {key: setting.suites.get(suite, 0) - here[key] for key, setting in normal.settings.items()}
    return {key: number for key, number in lacks.items() if number > 0}
