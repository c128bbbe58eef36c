"""Compares runs case by case: the first one with each other.

Only equal definitions are compared: the same case (`case_id`), method version, timer and count. Between
machines with different GPUs see across_machines.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import log
from typing import Any

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare_all
from byteways.answers.results.blamed_ranks import blamed_in
from byteways.answers.results.index import Index
from byteways.answers.results.summary import WHY_NOT_RANKED, RecordedRun, Result
from byteways.base.errors import BytewaysError
from byteways.machine.model import Topology
from byteways.questions.bottlenecks.culprits import parts_of
from byteways.record.imported_values import without_equal_case
from byteways.record.simulation_mark import is_simulated
from byteways.verdicts.two_runs.environments import differences
from byteways.verdicts.two_runs.paired_cases import DEFAULT_LEAST_EFFECT, ComparedCases, PairedCase
from byteways.verdicts.two_runs.pooled import pooled_changes
from byteways.verdicts.two_runs.setting import method_changed
from byteways.verdicts.two_runs.suspects import missing_links
from byteways.verdicts.two_runs.wording_comparison import page, whole_summary

#: Statuses of a case that was tried and gave no result.
WITHOUT_RESULT = ("failed", "corrupt", "timeout", "lost")
#: Properties that equal cases must share to be compared, besides those of every comparison.
_DEFINED: Mapping[str, Any] = {
    "timer": lambda record: record.timed_by,
    "count": lambda record: record.counts,
}


class Comparison(ComparedCases):
    """Two runs, case by case, which says itself what it found."""

    def __str__(self) -> str:
        """The summary, and what most slower cases have in common."""
        return whole_summary(self)

    def __repr__(self) -> str:
        """What a prompt shows: the summary. The fields hold whole records."""
        return f"<byteways comparison of {' and '.join(self.names)}: {self}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the summary and the cases that differ."""
        return page(self)


def compare_runs(
    runs: Sequence[RecordedRun],
    names: Sequence[str],
    *,
    mixed: bool = False,
    least_effect: float = DEFAULT_LEAST_EFFECT,
) -> list[Comparison]:
    """Compares the first run with each other one; all claims hold simultaneously (compare.compare_all).

    Args:
        runs: Two or more runs.
        names: What they are called.
        mixed: Whether simulated runs may stand beside measured ones.
        least_effect: Loss that a comparison must be able to find, as a part of 1; else it is not decided.

    Raises:
        BytewaysError: There is one run only, a run is named twice, simulated and measured runs are mixed
            unasked, the machines have different GPUs, or two runs have no case in common.
    """
    check(runs, names, mixed=mixed)
    first, *others = (Index.of(run) for run in runs)
    parts = [_common(first, other, (names[0], name)) for other, name in zip(others, names[1:], strict=True)]
    claims = iter(compare_all([(two, one) for pairs, _ in parts for one, two in pairs], kind="runs"))
    found = []
    for other, name, (pairs, reasons) in zip(others, names[1:], parts, strict=True):
        blamed = blamed_in(other.manifest, other.records)
        cases = [pair_of(one, two, next(claims), first.topology, blamed, least_effect) for one, two in pairs]
        found.append(_comparison((first, other), (names[0], name), cases, reasons, least_effect))
    return found


def pair_of(
    one: Result,
    two: Result,
    claim: Claim,
    topology: Topology,
    blamed: Mapping[str, frozenset[str]],
    least_effect: float = DEFAULT_LEAST_EFFECT,
) -> PairedCase:
    """Returns a case in two runs, with what it involves on the first run's machine, and the ranks that the
    second run blames.
    """
    parts = parts_of(one.record, topology) | blamed.get(one.record.case_id, frozenset())
    return PairedCase(describe(one), one, two, claim, parts, least_effect)


def _comparison(
    runs: tuple[Index, Index],
    names: tuple[str, str],
    pairs: Sequence[PairedCase],
    reasons: Mapping[str, int],
    least_effect: float,
) -> Comparison:
    first, second = runs
    here, there = ({cell.record.case_id for cell in run.cells} for run in runs)
    failed = {record.case_id: record for record in second.records if record.status in WITHOUT_RESULT}
    return Comparison(
        names,
        tuple(differences(first.manifest, second.manifest)),
        tuple(sorted(pairs, key=lambda pair: (not pair.claim.differ, -abs(log(pair.speed))))),
        reasons,
        tuple(failed[case] for case in failed if case in here),
        len(here - there - {*failed}),
        len(there - here),
        first.simulated or second.simulated,
        gpus(first.topology) == gpus(second.topology),
        missing_links(first.topology, second.topology),
        _missing(first, second),
        pooled_changes([pair.claim for pair in pairs], first),
        least_effect,
    )


def _missing(first: Index, second: Index) -> tuple[frozenset[str], ...]:
    """Returns what the cases involve that the second run failed or skipped, and the first has a result of."""
    planned = {record.case_id for record in second.records}
    there = {cell.record.case_id for cell in second.cells}
    blamed = blamed_in(second.manifest, second.records)
    gone = (cell.record for cell in first.cells if cell.record.case_id in planned - there)
    return tuple(
        parts_of(record, first.topology) | blamed.get(record.case_id, frozenset()) for record in gone
    )


def check(runs: Sequence[RecordedRun], names: Sequence[str], *, mixed: bool) -> None:
    """Raises BytewaysError if these runs are not compared: too few, one twice, simulated beside measured."""
    if len(runs) < 2:
        raise BytewaysError("a comparison needs two runs", hint="byteways compare RUN_A RUN_B")
    known: dict[Hashable, str] = {}
    for run, name in zip(runs, names, strict=True):
        own = run.manifest.get("run_id") or name
        if own in known:
            raise BytewaysError(f"{known[own]} and {name} are the same run", hint="name two different runs")
        known[own] = name
    kinds = {is_simulated(run.manifest) for run in runs}
    if len(kinds) > 1 and not mixed:
        named = (
            f"{name}: {'simulated' if is_simulated(run.manifest) else 'measured'}"
            for run, name in zip(runs, names, strict=True)
        )
        raise BytewaysError(
            "simulated runs are compared with measured ones only with --mixed",
            cause=", ".join(named),
            hint="add --mixed (in Python: mixed=True)",
        )


def _common(
    first: Index, second: Index, names: tuple[str, str]
) -> tuple[list[tuple[Result, Result]], Counter[str]]:
    """Returns the results of equal cases that can be compared, and counts the others by reason.

    There may be none: a run whose ranks all died has lost what the other one measured.
    """
    pairs, others = matched(first, second)
    planned = ({record.case_id for record in run.records} for run in (first, second))
    if not pairs and not others and set.intersection(*planned):
        return [], Counter()
    if not pairs and not others:
        hint = "compare runs of one suite"
        if gpus(first.topology) != gpus(second.topology):
            hint = "the machines differ: --by link-class compares kinds of links by their part of the peak"
        raise BytewaysError(
            f"{names[0]} and {names[1]} have no case in common",
            cause=why_no_case(first, second, names),
            hint=hint,
        )
    reasons = Counter(others.values())
    if not pairs:
        why = "; ".join(f"{reason} ({number})" for reason, number in reasons.items())
        hint = "measure both runs again with one version of byteways and 3 rounds: byteways run --rounds 3"
        raise BytewaysError(f"no case of {names[0]} and {names[1]} can be compared", cause=why, hint=hint)
    return pairs, reasons


def why_no_case(first: Index, second: Index, names: tuple[str, str]) -> str | None:
    """Returns which values of imported runs are not comparable, and why; None: all are."""
    why = zip(names, map(without_equal_case, (first.manifest, second.manifest)), strict=True)
    return " | ".join(f"values of {name} without an equal case: {text}" for name, text in why if text) or None


def matched(first: Index, second: Index) -> tuple[list[tuple[Result, Result]], dict[str, str]]:
    """Returns the results of equal cases that can be compared, and for others the reason by case id."""
    there = {cell.record.case_id: cell for cell in second.cells}
    pairs: list[tuple[Result, Result]] = []
    others: dict[str, str] = {}
    for one in first.cells:
        two = there.get(one.record.case_id)
        if two is None:
            continue
        if reason := _unlike(one, two):
            others[one.record.case_id] = reason
        else:
            pairs.append((one, two))
    return pairs, others


def _unlike(one: Result, two: Result) -> str:
    """Returns why two results of a case are not compared; '' if they are."""
    imported = one.record.imported is not None or two.record.imported is not None
    methods = one.record.method_version, two.record.method_version
    if not imported and method_changed(one.record, *methods):
        return f"other method version: {methods[0]} and {methods[1]}"
    for what, read in _DEFINED.items():
        if imported and what == "timer":  # of another program: it is a part of its method
            continue
        if read(one.record) != read(two.record):
            return f"other {what}: {read(one.record)} and {read(two.record)}"
    if not (one.ranked and two.ranked):
        return WHY_NOT_RANKED
    return ""


def gpus(topology: Topology) -> Counter[str]:
    """Returns the models of the GPUs with their number."""
    return Counter(device.model for device in topology.devices if device.kind == "gpu")


def describe(cell: Result) -> str:
    """`copy issued by the source, gpu0>gpu1, 1 GiB`: a case with all that distinguishes it from others."""
    from byteways.base.units import format_size

    record = cell.record
    pattern = "" if record.pattern in ("unidirectional", record.interface) else record.pattern
    by = f"by {record.executor}" if record.access == "remote" else ""
    parts = (cell.variant.name, by, pattern, record.path, format_size(record.size_bytes))
    return ", ".join(part for part in parts if part)
