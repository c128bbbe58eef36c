"""The subjects of a run, one file each: values, report topic and findings.

The two lists below register them: findings in the order that breaks ties, topics in report order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from byteways.answers.claims.finding import Finding
from byteways.answers.results.index import Index
from byteways.extensions import hook
from byteways.questions.display.topic import Builder, Topic
from byteways.questions.subjects import (
    all_interfaces,
    applications,
    blocks,
    calls,
    collectives,
    concurrency,
    contention,
    dips,
    energy,
    faults,
    first_touch,
    host,
    interference,
    ipc,
    latency,
    loaded,
    memory_cost,
    memory_kinds,
    message_rate,
    message_windows,
    messages,
    missing_links,
    odd_pairs,
    pages,
    ping_pong,
    placement,
    random_access,
    routes,
    rows,
    saturation,
    series,
    staging,
    stragglers,
    stream,
    submission,
    transfers,
)


def _of_study(index: Index) -> Iterable[Finding]:
    """Returns the findings of a run that repeats a study."""
    found: Iterable[Finding] = hook("study findings")(index) if index.manifest.get("study") else ()
    return found


def _study_topic(index: Index) -> Topic | None:
    """Returns the topic of a run that repeats a study."""
    found: Topic | None = hook("study topic")(index) if index.manifest.get("study") else None
    return found


FINDINGS: tuple[Callable[[Index], Iterable[Finding]], ...] = (
    faults.corruption,
    faults.beyond_limit,
    faults.failures,
    faults.damaged,
    missing_links.missing_link,
    faults.grave_warnings,
    faults.throttled,
    stragglers.named,
    _of_study,
    series.over_time,
    odd_pairs.odd_pairs,
    routes.routes,
    transfers.best_ways,
    transfers.read_against_write,
    transfers.to_and_from_host,
    dips.curve_dips,
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
    blocks.changes,
    submission.submitting,
    loaded.loaded_latency,
    interference.transfer_costs,
    energy.energy,
    energy.no_energy,
    host.memory_kinds,
    first_touch.matters,
    host.threads,
    host.streaming,
    host.far_memory,
    placement.placement,
    saturation.saturation,
    stream.stream,
    ping_pong.places,
    ping_pong.cores,
    message_rate.message_rate,
    messages.latency,
    messages.bandwidth,
    messages.compared_with_copy,
    message_windows.window_gain,
    staging.direct,
    applications.best_over_staging,
    ipc.compared_with_one_process,
    collectives.allreduce,
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
    _study_topic,
    contention.topic,
    ping_pong.topic,
    messages.topic,
    all_interfaces.topic,
    message_rate.topic,
    collectives.topic,
    applications.topic,
    ipc.topic,
    calls.topic,
    loaded.topic,
    interference.topic,
    energy.topic,
    memory_kinds.topic,
    memory_cost.topic,
    series.topic,
    stream.topic,
    random_access.topic,
    saturation.topic,
    rows.topic,
    blocks.topic,
    pages.topic,
    submission.topic,
)
