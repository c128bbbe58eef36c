"""The record of one planned case: a line of `measurements.jsonl`. Names have base units; the schema is
generated.

Missing values are null with a reason. Every planned case and round has exactly one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from byteways.base.decoding import converted
from byteways.base.text import Sentence
from byteways.cases.case import IDENTITY_FIELDS
from byteways.cases.reasons import OUT_OF_TIME
from byteways.record.blame import FailureBlame
from byteways.record.evidence import EvidenceFields
from byteways.record.times import Times
from byteways.record.warnings import Warning

#: Of runs as they are written: their manifest and their records.
SCHEMA_VERSION = 3
#: Of early runs; version1.py translates their names, and version2.py what both said in sentences.
FIRST_SCHEMA_VERSION = 1
READABLE_VERSIONS = (FIRST_SCHEMA_VERSION, 2, SCHEMA_VERSION)

STATUSES = ("measured", "skipped", "failed", "corrupt", "timeout", "lost")
#: The warning that makes a record void.
BEYOND_LIMIT = "beyond-limit"


# A run may have 100,000 records. A Struct takes half of the memory of a dataclass and of its time to read.
# The garbage collector does not look at records: nothing that they hold refers to them.
class Record(msgspec.Struct, frozen=True, gc=False):
    """A case with its result. Absent fields are None and omitted from the line."""

    # what was asked
    case_id: str
    round: int
    sweep: str
    category: str
    interface: str
    executor: str  # comma-separated if flows differ
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
    reason: Sentence | None
    method_version: int
    started_at: str | None = None  # ISO 8601, UTC
    wall_s: float | None = None
    worker: int | None = None  # process id
    blame: FailureBlame | None = None
    reason_code: str | None = None  # of `reason`, for programs (plan.reasons, plan.legality.rules)
    reason_fields: dict[str, Any] | None = None  # of a failed call: `call`, `error`
    # how it was timed
    timed_by: str | None = None
    gated: bool | None = None
    batch: int | None = None
    slope: bool | None = None
    timer_resolution_ns: float | None = None
    submit_ns: float | None = None  # median host time to enqueue one operation
    host_ns: float | None = None  # median host time of one operation, including submission and wait
    discarded_samples: int | None = None  # repeated because their three times contradicted each other
    # figures
    time_ns: Times | None = None
    samples_ns: list[float] | None = None  # in early runs only; RunFolder.samples() finds all
    bandwidth_bytes_per_s: float | None = None  # unidirectional: per direction; concurrent: the sum
    directions: dict[str, float] | None = None  # bytes/s by path
    end_to_end_bytes_per_s: dict[str, float] | None = None  # like `directions`, from gate to last end
    load_bytes_per_s: float | None = None  # interference: rate of the background load in the same window
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
    # physical limit of the path's narrowest resource, in the byte count of the bandwidth
    limit_bytes_per_s: float | None = None
    limit_source: str | None = None  # the resource and the source of its limit, or why it is unknown
    # of a simulated record
    simulated: bool | None = None
    rests_on: list[str] | None = None  # kinds of the model's numbers: "assumed", "nominal", "fitted"
    # of a value that another program printed: program, version, test, column, text, unit, statistic, place
    imported: dict[str, Any] | None = None
    # how it is known
    engine: str | None = None
    engine_evidence: Sentence | None = None  # a sentence; what readers need of it is in `evidence`
    evidence: EvidenceFields | None = None
    verified: bool | None = None
    verification: str | None = None  # "every sample", "every sample, strided; first and last in full", …
    corruption: dict[str, Any] | None = None  # see record_parts._Corruption
    launch: dict[str, int] | None = None  # blocks, threads, … in effect
    parts: dict[str, float] | None = None  # of a route: fraction of the bytes by path
    distinct_bytes: dict[str, int] | None = None  # by side: bytes touched before an address repeats
    page_bytes: dict[str, int] | None = None
    placement: dict[str, dict[str, int]] | None = None  # buffer -> NUMA domain -> sampled pages
    first_touch: dict[str, str] | None = None  # buffer -> what the first touch of another device did
    residency: dict[str, Any] | None = None  # managed pages by location, before and after an operation
    migrated_bytes: int | None = None  # per operation, in whole pages
    migrated_bytes_per_touch: int | None = None  # in pages, when the executor touched one word of each
    window_ns: float | None = None
    end_to_end_ns: float | None = None
    clock_alignment_ns: float | None = None
    start_skew_ns: dict[str, float] | None = None
    ranks: list[dict[str, Any]] | None = None  # by rank: begin_ns, end_ns, begins_last, no_cpu, time_ns
    first_use: dict[str, Any] | None = None  # first operation between ranks: time_ns, memory, connection
    library_choice: dict[str, Any] | None = (
        None  # of NCCL or RCCL: algorithm, protocol, channels, or a reason
    )
    hosts: dict[str, Any] | None = None  # by host or its device: uuid and PCI address, NIC, links, peak
    clocks: dict[str, Any] | None = None  # offset of two hosts' clocks, its uncertainty and drift, in ns
    tournament: dict[str, Any] | None = None  # round, rounds, pairs_at_once, link_class
    health: dict[str, Any] | None = None  # clocks, temperature, power before and after
    link_bytes: dict[str, Any] | None = None  # increase of link counters compared with the case's bytes
    energy: dict[str, Any] | None = None  # of sustained operations (measuring/work/energy.py), or a reason
    warnings: list[Warning] = []

    @property
    def beyond_limit(self) -> bool:
        """Whether the value is physically impossible: never ranked, compared, fitted or quoted."""
        return bool(self.warnings) and BEYOND_LIMIT in [warning.id for warning in self.warnings]

    @property
    def display_status(self) -> str:
        """The displayed status: a case skipped for lack of time is `left out`."""
        without_time = self.status == "skipped" and self.reason_code == OUT_OF_TIME
        return "left out" if without_time else self.status

    def to_json(self) -> dict[str, Any]:
        """Returns the line's data, without absent fields (`reason` stays)."""
        data = {name: value for name, value in self.fields() if value is not None or name == "reason"}
        if self.time_ns is not None:
            data["time_ns"] = msgspec.to_builtins(self.time_ns)
        if self.evidence is not None:
            data["evidence"] = msgspec.to_builtins(self.evidence)
        if self.blame is not None:
            data["blame"] = msgspec.to_builtins(self.blame)
        data["warnings"] = [warning.to_json() for warning in self.warnings]
        return data

    @property
    def definition(self) -> dict[str, Any]:
        """The fields that make the case (plan.case.Case.from_json)."""
        return {name: getattr(self, name) for name in IDENTITY_FIELDS}

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yields every field by name, in the order of a line."""
        return zip(RECORD_FIELDS, msgspec.structs.astuple(self), strict=True)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """Creates a record from JSON data; unknown fields of newer versions are ignored.

        Raises:
            ValueError: A field is missing or has the wrong type.
        """
        return converted(data, cls)


#: Names of the fields, in the order of a line.
RECORD_FIELDS = Record.__struct_fields__
#: Those that all rounds of a case share: all that was asked but the round.
DEFINITION_FIELDS = tuple(name for name in RECORD_FIELDS[: RECORD_FIELDS.index("status")] if name != "round")
