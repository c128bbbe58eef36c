"""Summarises a plan as plain data (counts, sizes, reasons), and describes a case's options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from byteways.base.units import format_size
from byteways.cases.case import Case, PlannedCase
from byteways.cases.folding import folded


@dataclass(frozen=True)
class SweepSummary:
    """One sweep: numbers of cases that will run and that will not (each counted once for all rounds)."""

    name: str
    to_measure: int
    left_out: int  # for lack of time only
    skipped: int  # impossible on this machine


@dataclass(frozen=True)
class PlanSummary:
    """A plan in numbers.

    `reasons` counts the skipped cases per reason, most frequent first; reasons that differ only in a device
    are merged. `reason_of` maps a planned case to its merged reason. `why_left_out` is the common reason of
    all cases left out.
    """

    sweeps: tuple[SweepSummary, ...]
    to_measure: int  # cases
    rounds: int
    left_out: int
    skipped: int
    sampling_s: float  # upper limit, all rounds
    estimated_s: float | None  # wall time, including start-up and verification
    reasons: tuple[tuple[str, int], ...]
    reason_of: Mapping[str, str]
    why_left_out: str
    notes: tuple[str, ...]


def describe(
    planned: Sequence[PlannedCase], notes: Iterable[str] = (), estimated_s: float | None = None
) -> PlanSummary:
    """Summarises a plan; `notes` and `estimated_s` as in planner.Plan."""
    running = [entry for entry in planned if entry.reason is None]
    spares = {entry.case.case_id: entry.reason or "" for entry in planned if entry.spare}
    skipped = {entry.case.case_id: entry for entry in planned if entry.reason is not None and not entry.spare}
    reasons = [entry.reason or "" for entry in skipped.values()]
    stands = folded(reasons)
    by_sweep: dict[str, list[PlannedCase]] = {}
    for entry in planned:
        by_sweep.setdefault(entry.sweep, []).append(entry)
    return PlanSummary(
        sweeps=tuple(_sweep(name, entries) for name, entries in by_sweep.items()),
        to_measure=len({entry.case.case_id for entry in running}),
        rounds=1 + max((entry.round for entry in running), default=0),
        left_out=len(spares),
        skipped=len(skipped),
        sampling_s=sum(entry.budget_s for entry in running),
        estimated_s=estimated_s,
        reasons=tuple(Counter(stands[reason] for reason in reasons).most_common()),
        reason_of=stands,
        why_left_out=next(iter(spares.values()), ""),
        notes=tuple(notes),
    )


def _sweep(name: str, entries: Sequence[PlannedCase]) -> SweepSummary:
    cases = {entry.case.case_id for entry in entries}
    running = {entry.case.case_id for entry in entries if entry.reason is None}
    left_out = {entry.case.case_id for entry in entries if entry.spare}
    return SweepSummary(name, len(running), len(left_out), len(cases - running - left_out))


def options_text(case: Case) -> str:
    """Formats `blocks=8, submit=graph`, and the background load."""
    parts = [f"{name}={value}" for name, value in sorted(case.options.items())]
    beside = [f"{name}={value}" for flow in case.flows for name, value in sorted(flow.options.items())]
    return ", ".join([*parts, *([f"beside {told}"] if (told := concurrent_text(case)) else []), *beside])


def concurrent_text(case: Case) -> str:
    """Formats a background flow without its options, `copy of 256 MiB`; '' if it inherits everything."""
    texts = []
    for flow in case.flows:
        if flow.interface is not None:
            size = "" if flow.size_bytes is None else f" of {format_size(flow.size_bytes)}"
            texts.append(flow.interface + size)
    return ", ".join(texts)
