"""Checks a run against the nominal peaks of its machine: whether any way comes near the rate of each path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from byteways.answers.claims.claim import Reference
from byteways.answers.claims.compare import compare_with_reference
from byteways.answers.results.index import Index
from byteways.answers.results.selection import does_the_job, label_order, unidirectional
from byteways.answers.results.summary import WHY_NOT_RANKED, Result, group_by
from byteways.machine.capacity import one_memory
from byteways.verdicts.checks.common import failures, judged, ordered, sound, unjudged
from byteways.verdicts.checks.verdict import HIGH, PASS, Bounds, Judged

#: Least part of the peak that some way has to reach. Of the nominal rate, copies and kernels reach 77 to 88 %
#: on NVLink, Infinity Fabric and PCIe (docs/reference/machine-models.md).
AT_LEAST = 0.7
#: Smaller transfers are limited by what each costs, not by the link.
OVERHEAD_LIMITED_BELOW_BYTES = 16 * 2**20


def against_peak(run: Index, *, at_least: float, bounds: Bounds) -> tuple[Judged, ...]:
    """Judges each path by its best way, at 16 MiB and more, from cold caches.

    Args:
        run: The run to check.
        at_least: Part of the nominal peak below which a path is FAIL.
        bounds: What decides on a path; there is no tolerance.
    """
    paths = group_by((cell for cell in sound(run) if _suitable(cell)), lambda cell: cell.record.path)
    rated = sum(any(cell.ranked and cell.peak for cell in cells) for cells in paths.values())
    found = [_path(paths[path], at_least, rated, run, bounds) for path in sorted(paths, key=label_order)]
    return ordered([*found, *failures(run)])


def _suitable(cell: Result) -> bool:
    fits = cell.size_bytes >= OVERHEAD_LIMITED_BELOW_BYTES and cell.record.cache == "cold"
    return fits and cell.stays and does_the_job(cell) and bool(unidirectional([cell]))


def _path(cells: list[Result], at_least: float, comparisons: int, run: Index, bounds: Bounds) -> Judged:
    ends = cells[0].source.device, cells[0].destination.device
    if ends[0] != ends[1] and one_memory(run.topology, *ends):
        return unjudged(cells[0], "both ends are one memory", run.topology)
    rated = list(_rated(cells))
    if not rated:
        why = next((cell.record.peak_source for cell in cells if not cell.peak), None)
        return unjudged(
            cells[0], WHY_NOT_RANKED if why is None else f"its peak is unknown: {why}", run.topology
        )
    best, peak = max(rated, key=lambda one: one[0].value / one[1])
    reference = Reference(f"{100 * at_least:g} % of peak", at_least * peak)
    claim = compare_with_reference(best, reference, kind="check", comparisons=comparisons)
    told = judged(
        best,
        claim,
        replace(bounds, tolerance=0.0),
        f"{100 * at_least:g} % of {peak / 1e9:.4g} GB/s",
        run.topology,
    )
    if told.verdict == HIGH:  # above the threshold is what is asked for; above the peak is not explained
        told = replace(told, verdict=HIGH if best.low > peak else PASS)
    return told


def _rated(cells: list[Result]) -> Iterator[tuple[Result, float]]:
    for cell in cells:
        if cell.ranked and cell.peak:
            yield cell, cell.peak
