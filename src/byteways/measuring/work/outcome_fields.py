"""What a worker answers of a case: the fields of record.record.Record that only it knows, and the samples.

Plain dictionaries, as they are sent: the record's own type needs a package that no worker loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from byteways.base.text import Sentence
from byteways.measuring.shared.messages import Message
from byteways.record.part_types import (
    Blame,
    ChoiceFields,
    Clocks,
    Corruption,
    DiscardedSample,
    Evidence,
    FirstUse,
    FlowTrace,
    HostEnd,
    HostHealth,
    LinkBytes,
    NoEnergy,
    OtherCount,
    PagesSeen,
    TimesFields,
    WrittenEnergy,
    WrittenHealth,
    WrittenRank,
)
from byteways.record.warnings import WarningData


class TimedSamples(TypedDict):
    """Times of each sample; empty where a time was not observed."""

    device_ns: list[float]
    submit_ns: list[float]
    host_ns: list[float]
    discarded: list[DiscardedSample]
    flows: list[FlowTrace]


class Outcome(TypedDict, total=False):
    """`status` and `reason` in any case; of the others those that apply. Their meanings are the record's."""

    status: str
    reason: Sentence | None
    reason_code: str
    reason_fields: Mapping[str, str | float]  # of a failed call: `call`, `error`
    blame: Blame
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
    time_ns: TimesFields
    bandwidth_bytes_per_s: float
    directions: dict[str, float]
    end_to_end_bytes_per_s: dict[str, float]
    load_bytes_per_s: float
    latency_ns: float
    half_round_trip_ns: float
    counts: str
    other_count: OtherCount | None
    engine: str
    engine_evidence: Sentence
    evidence: Evidence | None
    verified: bool
    verification: str
    corruption: Corruption
    launch: dict[str, int] | None
    parts: dict[str, float] | None
    distinct_bytes: dict[str, int]
    page_bytes: dict[str, int] | None
    placement: dict[str, dict[str, int]] | None
    first_touch: dict[str, str] | None
    residency: Mapping[str, PagesSeen]
    migrated_bytes: int
    migrated_bytes_per_touch: int
    window_ns: float
    end_to_end_ns: float
    clock_alignment_ns: float
    start_skew_ns: dict[str, float]
    ranks: list[WrittenRank]
    first_use: FirstUse
    library_choice: ChoiceFields
    hosts: Mapping[str, HostEnd]
    clocks: Clocks
    health: Mapping[str, WrittenHealth | HostHealth]
    link_bytes: Mapping[str, LinkBytes]
    energy: WrittenEnergy | NoEnergy
    warnings: list[WarningData]


class _Answered(TypedDict):
    outcome: Outcome


class MeasureAnswer(_Answered, total=False):
    """A worker's answer to a request to measure."""

    did: str
    leaving: bool  # it is the worker's last: one of its runtimes is unusable


class _HostsAnswered(TypedDict):
    outcomes: list[Message | None]


class HostsAnswer(_HostsAnswered, total=False):
    """The answer of hosts: an Outcome of each group that was asked, which is checked by itself, so that one
    costs its group alone; None: the group did not answer in time.
    """

    did: str
