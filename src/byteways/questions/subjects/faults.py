"""Problems: corruption and failures first, then results with warnings, then skipped cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from byteways.answers.claims.finding import Finding, finding, notice
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import gb, percent, rate
from byteways.answers.results.blamed_ranks import blamed_names
from byteways.answers.results.case_names import describe
from byteways.answers.results.counting import count, listed
from byteways.answers.results.index import Index
from byteways.answers.results.obstacles import Reason, not_measured
from byteways.answers.results.repeatability import LEAST_ROUNDS
from byteways.answers.results.summary import group_by
from byteways.base.units import format_size
from byteways.cases.folding import form_of
from byteways.record.record import Record
from byteways.record.simulation_mark import Voice
from byteways.record.warnings import CLOCK_DROP, THROTTLE_REASONS

#: Warnings that void the meaning of a result, with the finding's title.
GRAVE = {
    "unexpected-path": "Link counters do not match the bytes moved in {cases}",
    "page-size": "The memory does not have pages of the expected size in {cases}",
}


def corruption(index: Index) -> Iterator[Finding]:
    corrupt = [record for record in index.records if record.status == "corrupt"]
    if not corrupt:
        return
    record = corrupt[0]
    where = [_place(record)] if record.corruption else []
    detail = " ".join(
        [f"First: {describe(record)}.", *where, "Do not trust results on this path until this is explained."]
    )
    yield notice(
        f"Data arrived corrupt in {count(len(corrupt), index.voice.measurement)}",
        detail,
        Priority.CORRUPT_DATA,
    )


def _place(record: Record) -> str:
    bad = record.corruption or {}
    return (
        f"Offset {bad.get('first_offset_bytes')}: expected {bad.get('expected')}, got {bad.get('got')}; "
        f"{count(bad.get('bad_words') or 0, 'wrong word')} on {bad.get('path', record.path)}."
    )


def failures(index: Index) -> Iterator[Finding]:
    reasons = [
        reason for reason in not_measured(index.records) if reason.status in ("failed", "lost", "timeout")
    ]
    if not reasons:
        return
    total = sum(reason.count for reason in reasons)
    statuses = group_by(reasons, lambda reason: reason.status)
    words = {"failed": "failed", "lost": "lost its worker", "timeout": "timed out"}
    parts = [
        f"{sum(reason.count for reason in members)} {words[status]}" for status, members in statuses.items()
    ]
    detail = " ".join(f"{reason.example}: {index.voice.quote(reason.reason)}." for reason in reasons[:3])
    title = f"{count(total, 'case')} without a result: {listed(parts)}{_at_fault(index)}"
    yield notice(title, detail, Priority.FAILED_CASES)


def _at_fault(index: Index) -> str:
    """Returns `, 6 of them through rank 1 (gpu1 on node7)`: the rank that most of the reasons name."""
    tried = [record for record in index.records if record.status in ("failed", "lost", "timeout")]
    names = Counter(name for blamed in blamed_names(index.manifest, tried).values() for name in blamed)
    if not names:
        return ""
    (name, number), *_ = names.most_common(1)
    return f", {number} of them through {name}"


def damaged(index: Index) -> Iterator[Finding]:
    lines = index.damaged_lines
    if not lines:
        return
    title = f"{count(lines, 'line')} of measurements.jsonl could not be read"
    recorded = {(record.case_id, record.round) for record in index.records}
    if len(recorded) < index.manifest.get("planned", 0):
        detail = f"Their cases are missing; `byteways run --resume` {index.voice.measures} them again."
    else:
        detail = f"Every case still has a record: those cases were {index.voice.measured} again."
    yield notice(title, detail, Priority.DAMAGED_FILES)


def grave_warnings(index: Index) -> Iterator[Finding]:
    for group in index.warning_groups:
        if group.id in GRAVE:
            figures = f" (observed {group.observed}, required {group.required})" if group.observed else ""
            title = GRAVE[group.id].format(cases=count(group.count, "case"))
            yield notice(
                title,
                f"For example {group.example}{figures}. {index.voice.quote(group.advice)}",
                Priority.GRAVE_WARNING,
            )


def throttled(index: Index) -> Iterator[Finding]:
    """Reports throttled GPUs by name: their results are below what the hardware can do."""
    held = [
        (record, warning)
        for record in index.records
        for warning in record.warnings
        if warning.id in ("throttled", "clock-drop")
    ]
    if not held:
        return
    devices = Counter(device for record, _ in held for device in _throttled_devices(record))
    cases = len({(record.case_id, record.round) for record, _ in held})
    who = (
        f": {listed([f'{device} ({number})' for device, number in devices.most_common(4)])}"
        if devices
        else ""
    )
    record, warning = held[0]
    title = f"GPU clocks were throttled in {count(cases, index.voice.measurement)}{who}"
    figures = f"{warning.id}, observed {warning.observed}, required {warning.required}"
    yield notice(
        title,
        f"For example {describe(record)} ({figures}). {index.voice.quote(warning.advice)}",
        Priority.THROTTLED,
    )


def _throttled_devices(record: Record) -> list[str]:
    """Returns the devices whose readings show throttling; empty without readings."""
    throttled_devices = []
    dropped = any(warning.id == "clock-drop" for warning in record.warnings)
    for device, readings in (record.health or {}).items():
        before, after = readings.get("before") or {}, readings.get("after") or {}
        clocks = [reading.get("memory_clock_mhz") or 0 for reading in (before, after)]
        slower = dropped and 0 < clocks[1] < (1 - CLOCK_DROP) * clocks[0]
        if slower or any((after.get("throttle_reasons") or 0) & bit for bit in THROTTLE_REASONS):
            throttled_devices.append(device)
    return throttled_devices


def beyond_limit(index: Index) -> Iterator[Finding]:
    """Reports results beyond a physical limit: they are void, so no other finding quotes them."""
    if not index.void:
        return
    record = index.void[0]
    title = f"{count(len(index.void), 'result')} beyond the physical limit: void and not ranked"
    warning = next(each for each in record.warnings if each.id == "beyond-limit")
    example = f"{describe(record)}, {format_size(record.size_bytes)}"
    detail = f"For example {example}. {index.voice.quote(warning.advice)}"
    yield notice(title, detail, Priority.BEYOND_LIMIT)


def few_rounds(index: Index) -> Iterator[Finding]:
    """Reports results with too few rounds, which comparisons exclude."""
    few = [cell for cell in index.cells if cell.rounds < LEAST_ROUNDS]
    if not few:
        return
    results = f"{len(few)} of {count(len(index.cells), 'result')}"
    title = f"{results} {index.voice.measured} in fewer than {LEAST_ROUNDS} rounds"
    detail = "They are in the tables but not ranked, because differences between rounds are unknown. " + (
        "Import several outputs of each program." if index.imported else "Allow more time (--budget)."
    )
    yield notice(title, detail, Priority.FEW_ROUNDS)


def above_peak(index: Index) -> Iterator[Finding]:
    beyond = [cell for cell in index.quotable if cell.peak and cell.low > cell.peak]
    if not beyond:
        return
    worst = max(beyond, key=lambda cell: cell.fraction or 0)
    figures = count(len(beyond), "result")
    source = index.voice.quote(str(worst.record.peak_source))
    title = f"{figures} above the nominal peak: {describe(worst.record)} reaches {rate(worst)} GB/s"
    detail = (
        f"That is {percent(worst.fraction or 0)} of {gb(worst.peak or 0)} GB/s ({source}). "
        "Either the bytes did not cross that link (caches), or this machine's peak differs."
    )
    yield finding(title, detail + _overlap(worst.record), Priority.ABOVE_PEAK, (worst,))


def _overlap(record: Record) -> str:
    """Notes that flows overlapped less than half the time, so that the sum of their rates is too high."""
    together, whole = record.window_ns, record.end_to_end_ns
    if together is None or not whole or 2 * together >= whole:
        return ""
    share = percent(max(together, 0.0) / whole)
    return f" The flows overlapped for only {share} of the time, so the sum overstates the links' rate."


def warned(index: Index) -> Iterator[Finding]:
    own = {
        "serialised",
        "throttled",
        "clock-drop",
        "straggler",
        "beyond-limit",
        *GRAVE,
    }  # these have their own findings
    groups = [group for group in index.warning_groups if group.id not in own]
    if not groups:
        return
    ids = {warning.id for warning in groups}
    touched = [cell for cell in index.cells if ids & set(cell.warning_ids)]
    parts = [f"{group.id} ({group.count})" for group in groups]
    first = groups[0]
    figures = f" (observed {first.observed}, required {first.required})" if first.observed else ""
    verb = "carries" if len(touched) == 1 else "carry"
    whose = f"{len(touched)} of {count(len(index.cells), 'result')} {verb}"
    if not touched:
        whose = "Only cases without a result carry"
    title = f"{whose} a warning: {listed(parts)}"
    yield notice(
        title, f"For example {first.example}{figures}. {index.voice.quote(first.advice)}", Priority.WARNINGS
    )


def skipped(index: Index) -> Iterator[Finding]:
    yield from _not_tried(index, "skipped", "skipped", Priority.SKIPPED)


def left_out(index: Index) -> Iterator[Finding]:
    yield from _not_tried(index, "left out", "left out for lack of time", Priority.LEFT_OUT)


def _not_tried(index: Index, status: str, words: str, priority: Priority) -> Iterator[Finding]:
    reasons = [reason for reason in not_measured(index.records) if reason.status == status]
    if not reasons:
        return
    total = sum(reason.count for reason in reasons)
    # Reasons that differ only in the device count as one.
    alike = list(group_by(reasons, lambda reason: form_of(reason.reason)[0]).values())
    alike.sort(key=lambda members: -sum(reason.count for reason in members))
    detail = " ".join(_one_reason(members, index.voice) for members in alike[:4])
    more = f" And {count(len(alike) - 4, 'more reason')}." if len(alike) > 4 else ""
    yield notice(f"{count(total, 'case was', 'cases were')} {words}", detail + more, priority)


def _one_reason(reasons: list[Reason], voice: Voice) -> str:
    more = f" (and {count(len(reasons) - 1, 'more reason')} like it)" if len(reasons) > 1 else ""
    return (
        f"{count(sum(reason.count for reason in reasons), 'case')}: {voice.quote(reasons[0].reason)}{more}."
    )
