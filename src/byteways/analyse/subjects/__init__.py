"""The subjects of a run, one a file: its numbers, its topic in the report and its findings.

The two lists below are the one register of them: findings in the order of equal importance, topics in that of
the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from byteways.analyse.finding import Finding
from byteways.analyse.results_index import Index
from byteways.analyse.subjects import (
    calls,
    concurrency,
    contention,
    energy,
    faults,
    host,
    interference,
    latency,
    loaded,
    memory_cost,
    memory_kinds,
    missing_links,
    odd_pairs,
    pages,
    ping_pong,
    routes,
    rows,
    saturation,
    series,
    stream,
    study,
    submission,
    transfers,
)
from byteways.analyse.topic import Builder

FINDINGS: tuple[Callable[[Index], Iterable[Finding]], ...] = (
    faults.corruption,
    faults.beyond_limit,
    faults.failures,
    faults.damaged,
    missing_links.missing_link,
    faults.grave_warnings,
    faults.throttled,
    study.claims_repeated,
    series.over_time,
    odd_pairs.odd_pairs,
    routes.routes,
    transfers.best_ways,
    transfers.read_against_write,
    transfers.to_and_from_host,
    pages.prefetching,
    pages.crossover,
    pages.landing,
    contention.bottlenecks,
    concurrency.bidirectional,
    concurrency.fans,
    concurrency.in_turns,
    concurrency.all_pairs,
    concurrency.interference,
    rows.rows,
    submission.submitting,
    loaded.loaded_latency,
    interference.transfer_costs,
    energy.energy,
    energy.no_energy,
    host.memory_kinds,
    host.first_touch,
    host.threads,
    host.streaming,
    host.far_memory,
    saturation.saturation,
    stream.stream,
    ping_pong.places,
    ping_pong.cores,
    latency.gpu_hierarchy,
    latency.cpu_caches,
    calls.launches,
    calls.small_copies,
    memory_cost.registering,
    memory_cost.dearest,
    memory_cost.pools,
    faults.above_peak,
    faults.warned,
    faults.few_rounds,
    faults.skipped,
    faults.left_out,
)

TOPICS: tuple[Builder, ...] = (
    study.topic,
    contention.topic,
    ping_pong.topic,
    calls.topic,
    loaded.topic,
    interference.topic,
    energy.topic,
    memory_kinds.topic,
    memory_cost.topic,
    series.topic,
    stream.topic,
    saturation.topic,
    rows.topic,
    pages.topic,
    submission.topic,
)
