"""What a plan amounts to: counts, sizes and reasons as plain data, and as the text of `--dry-run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from byteways.plan.case import PlannedCase
from byteways.units import format_size


@dataclass(frozen=True)
class SweepSummary:
    """One sweep: what it measures, and how many of its cases will run and will not (rounds counted once)."""

    name: str
    interfaces: tuple[str, ...]
    patterns: tuple[str, ...]
    sizes: tuple[int, ...]  # bytes, ascending
    to_measure: int
    skipped: int


@dataclass(frozen=True)
class PlanSummary:
    """A plan in numbers. `reasons` counts the skipped cases that share each, most frequent first."""

    sweeps: tuple[SweepSummary, ...]
    to_measure: int  # cases
    rounds: int
    skipped: int
    sampling_s: float  # all rounds, at most
    estimated_s: float | None  # wall time, start-up and verification included
    reasons: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]


def describe(
    planned: Sequence[PlannedCase], notes: Iterable[str] = (), estimated_s: float | None = None
) -> PlanSummary:
    """Sums up a plan; `notes` and `estimated_s` as planner.Plan has them."""
    running = [entry for entry in planned if entry.reason is None]
    skipped = {entry.case.case_id: entry.reason or "" for entry in planned if entry.reason is not None}
    by_sweep: dict[str, list[PlannedCase]] = {}
    for entry in planned:
        by_sweep.setdefault(entry.sweep, []).append(entry)
    return PlanSummary(
        sweeps=tuple(_sweep(name, entries) for name, entries in sorted(by_sweep.items())),
        to_measure=len({entry.case.case_id for entry in running}),
        rounds=1 + max((entry.replicate for entry in running), default=0),
        skipped=len(skipped),
        sampling_s=sum(entry.budget_s for entry in running),
        estimated_s=estimated_s,
        reasons=tuple(Counter(skipped.values()).most_common()),
        notes=tuple(notes),
    )


def _sweep(name: str, entries: Sequence[PlannedCase]) -> SweepSummary:
    cases = [entry.case for entry in entries]
    running = {entry.case.case_id for entry in entries if entry.reason is None}
    return SweepSummary(
        name,
        tuple(dict.fromkeys(case.interface for case in cases)),
        tuple(dict.fromkeys(case.pattern for case in cases)),
        tuple(sorted({case.size_bytes for case in cases})),
        len(running),
        len({case.case_id for case in cases} - running),
    )


def text(summary: PlanSummary) -> str:
    """The summary as lines of text, without colour."""
    heads = ("sweep", "interfaces", "patterns", "sizes", "measured", "skipped")
    rows = [
        (
            sweep.name,
            ", ".join(sweep.interfaces),
            ", ".join(sweep.patterns),
            _sizes(sweep.sizes),
            str(sweep.to_measure),
            str(sweep.skipped),
        )
        for sweep in summary.sweeps
    ]
    lines = columns([heads, *rows], right=(4, 5))
    rounds = f" in {summary.rounds} rounds" if summary.rounds > 1 else ""
    cases = "1 case" if summary.to_measure == 1 else f"{summary.to_measure} cases"
    lines += ["", f"{cases} to measure{rounds}, {summary.skipped} skipped"]
    if summary.estimated_s is not None:
        lines.append(f"about {summary.estimated_s:.0f} s (an estimate to plan by, from assumed rates)")
    if summary.reasons:
        lines += ["", "skipped because"]
        lines += [f"  {count:4} × {reason}" for reason, count in summary.reasons]
    if summary.notes:
        lines += ["", "notes", *(f"  {note}" for note in summary.notes)]
    return "\n".join(lines)


def _sizes(sizes: Sequence[int]) -> str:
    if len(sizes) > 2:
        return f"{format_size(sizes[0])} to {format_size(sizes[-1])} ({len(sizes)})"
    return ", ".join(format_size(size) for size in sizes)


def columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Rows of texts in aligned columns, two blanks apart; columns of numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
