"""Findings: plain sentences with their numbers and the reason, the most important first.

Every sentence is computed from records. A difference is claimed only where the intervals do not overlap; with
rounds an interval spans all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from byteways.analyse.rules import (
    bottlenecks,
    calls,
    company,
    concurrency,
    energy,
    faults,
    host,
    kernels,
    latency,
    managed,
    memory,
    ping_pong,
    routes,
    rows,
    series,
    studies,
    submission,
    transfers,
)
from byteways.analyse.rules.facts import Facts, Finding
from byteways.analyse.summary import Run
from byteways.results.simulated import is_simulated, worded

__all__ = ["Finding", "findings"]

RULES: tuple[Callable[[Facts], Iterable[Finding]], ...] = (
    faults.corruption,
    faults.failures,
    faults.damaged,
    faults.grave_warnings,
    faults.throttled,
    studies.repeated,
    series.over_time,
    transfers.odd_pairs,
    routes.routes,
    transfers.fastest,
    transfers.read_against_write,
    transfers.to_and_from_host,
    managed.prefetching,
    managed.crossover,
    bottlenecks.bottlenecks,
    concurrency.bidirectional,
    concurrency.fans,
    concurrency.in_turns,
    concurrency.all_pairs,
    concurrency.interference,
    rows.rows,
    submission.submitting,
    company.loaded_latency,
    company.transfer_costs,
    energy.energy,
    energy.no_energy,
    host.memory_kinds,
    host.first_touch,
    host.threads,
    host.streaming,
    host.far_memory,
    kernels.saturation,
    kernels.stream,
    ping_pong.places,
    ping_pong.cores,
    latency.gpu_hierarchy,
    latency.cpu_caches,
    calls.launches,
    calls.small_copies,
    memory.registering,
    memory.dearest,
    memory.pools,
    faults.above_peak,
    faults.warned,
    faults.skipped,
    faults.left_out,
)


def findings(run: Run) -> list[Finding]:
    """What this run says, the most important first; empty when nothing was measured, skipped or lost."""
    facts = Facts(run)
    found = [finding for rule in RULES for finding in rule(facts)]
    if is_simulated(run.manifest):
        found = [_of_a_model(finding) for finding in found]
    return sorted(found, key=lambda finding: -finding.importance)


def _of_a_model(finding: Finding) -> Finding:
    """The finding as it must read of a simulated run, also where it stands alone."""
    title, detail = worded(finding.title, True), worded(finding.detail, True)
    return replace(finding, title=f"Simulated: {title}", detail=detail)
