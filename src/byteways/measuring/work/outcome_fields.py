"""What a worker answers of a case: the fields of record.record.Record that only it knows, and the samples.

Plain dictionaries, as they are sent: the record's own type needs a package that no worker loads.
"""

from __future__ import annotations

from typing import Any, TypedDict

from byteways.base.text import Sentence


class TimedSamples(TypedDict):
    """Times of each sample; empty where a time was not observed."""

    device_ns: list[float]
    submit_ns: list[float]
    host_ns: list[float]
    discarded: list[dict[str, Any]]
    flows: list[dict[str, Any]]


class Outcome(TypedDict, total=False):
    """`status` and `reason` in any case; of the others those that apply. Their meanings are the record's."""

    status: str
    reason: Sentence | None
    reason_code: str
    reason_fields: dict[str, Any]
    blame: dict[str, Any]
    timed_by: str
    gated: bool
    batch: int
    slope: bool
    timer_resolution_ns: float
    submit_ns: float | None
    host_ns: float | None
    discarded_samples: int | None
    samples_ns: list[float]
    samples: TimedSamples
    time_ns: dict[str, Any]
    bandwidth_bytes_per_s: float
    directions: dict[str, float]
    end_to_end_bytes_per_s: dict[str, float]
    load_bytes_per_s: float
    latency_ns: float
    half_round_trip_ns: float
    counts: str
    other_count: dict[str, Any] | None
    engine: str
    engine_evidence: Sentence
    evidence: dict[str, Any] | None
    verified: bool
    verification: str
    corruption: dict[str, Any]
    launch: dict[str, int] | None
    parts: dict[str, float] | None
    distinct_bytes: dict[str, int]
    page_bytes: dict[str, int] | None
    placement: dict[str, dict[str, int]] | None
    first_touch: dict[str, str] | None
    residency: dict[str, Any]
    migrated_bytes: int
    migrated_bytes_per_touch: int
    window_ns: float
    end_to_end_ns: float
    clock_alignment_ns: float
    start_skew_ns: dict[str, float]
    ranks: list[dict[str, Any]]
    first_use: dict[str, Any]
    library_choice: dict[str, Any]
    hosts: dict[str, Any]
    clocks: dict[str, Any]
    health: dict[str, Any]
    link_bytes: dict[str, Any]
    energy: dict[str, Any]
    warnings: list[dict[str, Any]]
