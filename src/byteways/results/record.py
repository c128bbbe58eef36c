"""The record of one planned case: a line of `measurements.jsonl`. Base units in names, a generated schema.

Missing is null with a reason. Every planned case and round has exactly one record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

STATUSES = ("measured", "skipped", "failed", "corrupt", "timeout", "lost")
#: Beginnings of the reason of a case that was skipped for want of time alone, today's first.
WANT_OF_TIME = ("left out to fit", "dropped to fit")
#: The warning on a record that counts for nothing.
BEYOND_LIMIT = "beyond-limit"


@dataclass(frozen=True)
class Warning:
    """One warning: id, what was observed, what was required, and what to do about it."""

    id: str
    observed: float | str | None
    required: float | str | None
    advice: str


@dataclass(frozen=True)
class Times:
    """Statistics over the samples, in nanoseconds per operation."""

    median: float
    ci95: tuple[float, float]
    min: float
    max: float
    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class Record:
    """A case with its outcome. Fields that a case does not have are None and left out of the line."""

    # what was asked
    case_id: str
    round: int
    sweep: str
    category: str
    interface: str
    executor: str  # comma-separated when flows differ
    access: str  # read, write, local, remote
    pattern: str
    path: str
    source: str  # of the first flow
    destination: str
    flows: list[dict[str, Any]]
    size_bytes: int
    cache: str
    options: dict[str, Any]
    environment: dict[str, str]
    # what happened
    status: str
    reason: str | None
    method_version: int
    started_at: str | None = None  # ISO 8601, UTC
    wall_s: float | None = None
    worker: int | None = None  # process id
    # how it was timed
    timed_by: str | None = None
    gated: bool | None = None
    batch: int | None = None
    slope: bool | None = None
    timer_resolution_ns: float | None = None
    submit_ns: float | None = None  # median time of the host for enqueueing one operation
    host_ns: float | None = None  # median time of the host for one operation, submission and waiting included
    discarded_samples: int | None = None  # taken again, as their three times contradicted each other
    # figures
    time_ns: Times | None = None
    samples_ns: list[float] | None = None  # of early runs alone: RunFolder.samples() knows where they are
    bandwidth_bytes_per_s: float | None = None  # unidirectional: per direction; concurrent: the sum
    directions: dict[str, float] | None = None  # bytes/s by path
    end_to_end_bytes_per_s: dict[str, float] | None = None  # the same, timed from gate to last end
    load_bytes_per_s: float | None = None  # interference: what those that disturb moved in the same window
    latency_ns: float | None = None  # of a step, a round trip or a call
    half_round_trip_ns: float | None = None  # half of a round trip
    # "per-direction", "sum-of-directions", "read+write", "dependent-load", "round-trip", "call"
    counts: str | None = None
    other_count: dict[str, Any] | None = (
        None  # of "read+write": of one direction; of "bus": "algorithm"; bytes/s
    )
    peak_bytes_per_s: float | None = None
    peak_source: str | None = None
    fraction_of_peak: float | None = None
    # the physical limit of the narrowest resource of the path, for the same count as the bandwidth
    limit_bytes_per_s: float | None = None
    limit_source: str | None = None  # names the resource and where its limit comes from, or why it is unknown
    # of a simulated record
    simulated: bool | None = None
    rests_on: list[str] | None = None  # of "assumed", "nominal", "fitted": what the model's numbers are
    # how it is known
    engine: str | None = None
    engine_evidence: str | None = None
    verified: bool | None = None
    verification: str | None = None  # "every sample", "every sample, strided; first and last in full"
    corruption: dict[str, Any] | None = None  # path, first_offset_bytes, expected, got, bad_words
    launch: dict[str, Any] | None = None  # blocks, threads, … in effect
    parts: dict[str, float] | None = None  # of a route: which part of the bytes took which path
    distinct_bytes: dict[str, int] | None = None  # of each side: bytes touched before an address repeats
    page_bytes: dict[str, int] | None = None
    placement: dict[str, dict[str, int]] | None = None  # buffer -> NUMA domain -> sampled pages
    residency: dict[str, Any] | None = None  # managed pages by place, before and after an operation
    migrated_bytes: int | None = None  # that one operation moved, as whole pages
    migrated_bytes_per_touch: int | None = None  # of pages, when the executor touched one word of them
    window_ns: float | None = None
    end_to_end_ns: float | None = None
    clock_alignment_ns: float | None = None
    start_skew_ns: dict[str, float] | None = None
    health: dict[str, Any] | None = None  # clocks, temperature, power before and after
    link_bytes: dict[str, Any] | None = None  # link counters' difference against the case's bytes
    energy: dict[str, Any] | None = None  # of the operations sustained (run/energy.py), or why there is none
    warnings: list[Warning] = field(default_factory=list)

    @property
    def beyond_limit(self) -> bool:
        """Whether its figures are physically impossible: never ranked, compared, fitted or quoted."""
        return any(warning.id == BEYOND_LIMIT for warning in self.warnings)

    @property
    def told_status(self) -> str:
        """The status in the words of people, for whom a case without time was `left out` and not skipped."""
        without_time = self.status == "skipped" and (self.reason or "").startswith(WANT_OF_TIME)
        return "left out" if without_time else self.status

    def to_json(self) -> dict[str, Any]:
        """The line, without fields that this case does not have (`reason` stays)."""
        told = ((name, getattr(self, name)) for name in _names())
        data = {name: value for name, value in told if value is not None or name == "reason"}
        if self.time_ns is not None:
            data["time_ns"] = dict(vars(self.time_ns))
        data["warnings"] = [dict(vars(warning)) for warning in self.warnings]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """A record from JSON data; fields of newer versions are read over.

        Raises:
            ValueError: A field is missing or of another type.
        """
        from byteways.decoding import converted  # not for workers, who make warnings of this file only

        return converted(data, cls)


@cache
def _names() -> tuple[str, ...]:
    """Of the fields, in the order in which they stand in a line."""
    return tuple(entry.name for entry in fields(Record))
