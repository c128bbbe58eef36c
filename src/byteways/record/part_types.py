"""The nested tables of a record, each declared once: workers write them, `record_parts` checks those that
readers compute with. Nothing but the standard library, as in all that workers load.

A type with a name in `Written…` has what a worker writes besides what readers use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from byteways.base.text import Sentence


class TimesFields(TypedDict):
    """`time_ns`: the fields of times.Times."""

    median: float
    ci95: tuple[float, float]
    min: float
    max: float
    mean: float
    sd: float
    n: int


class Blame(TypedDict, total=False):
    """`blame`: the fields of blame.FailureBlame."""

    device: str
    rank: int
    host: str


class FallbackUsed(TypedDict):
    """The fields of evidence.Fallback."""

    asked: str
    used: str
    reason: str


class Evidence(TypedDict, total=False):
    """`evidence`: the fields of evidence.EvidenceFields."""

    window: int
    library: str
    library_version: str
    fallback: FallbackUsed
    transports: Sequence[str]
    transports_unknown: str
    own_caches: bool
    call: str


class _OneCount(TypedDict):
    counts: str
    bytes_per_s: float


class OtherCount(_OneCount, total=False):
    """`other_count`: the rate of the other way to count, and of its parts."""

    read_bytes_per_s: float
    written_bytes_per_s: float


class Corruption(TypedDict, total=False):
    """`corruption`: place and values of the first wrong word."""

    path: str
    first_offset_bytes: int
    expected: str
    got: str
    bad_words: int
    overrun: str
    buffer_bytes: int


class GpuReading(TypedDict, total=False):
    """The state of a GPU before a case or after it."""

    sm_clock_mhz: float | None
    memory_clock_mhz: float | None
    temperature_c: float | None
    power_mw: float | None
    throttle_reasons: int | None
    pcie_replays: int | None
    nvlink_errors: int | None


class DeviceHealth(TypedDict, total=False):
    """`health` of one device."""

    before: GpuReading | None
    after: GpuReading | None
    unknown: dict[str, str]


class _OtherProcess(TypedDict):
    pid: int
    name: str
    kind: str


class OtherProcess(_OtherProcess, total=False):
    """Another process on a GPU."""

    memory_bytes: int


class WrittenHealth(DeviceHealth, total=False):
    other_processes: list[OtherProcess]
    utilisation_before: float


#: `health` of the host: shares and seconds by name (measuring/shared/health_host.py).
HostHealth = dict[str, float]


class LinkBytes(TypedDict):
    """`link_bytes` of one device: what its links have sent, and the least that the case has."""

    counted: int
    expected_at_least: int


class _Energy(TypedDict):
    joules_per_GB: float
    watts: float
    idle_watts: float
    duration_s: float
    counter_updates: int
    counted: list[str]
    not_counted: list[str]


class EnergyInterval(TypedDict, total=False):
    joules_per_GB_ci95: tuple[float, float]


class Energy(_Energy, EnergyInterval):
    """`energy`, if there are figures."""


class WrittenEnergy(Energy):
    bytes_per_s: float
    steps: dict[str, list[list[float]]]
    idle_steps: dict[str, list[list[float]]]


class NoEnergy(TypedDict):
    """`energy`, if there are none."""

    reason: Sentence


class ClockOfHost(TypedDict):
    offset_ns: float
    uncertainty_ns: float
    drift_ns: float
    drift_uncertainty_ns: float


class Clocks(ClockOfHost):
    """`clocks`: of the host whose clock is known least."""

    reference: str
    host: str


class _Rank(TypedDict):
    rank: int
    begin_ns: float
    end_ns: float
    begins_last: float
    no_cpu: float | None


class RankTimes(_Rank, total=False):
    """One of `ranks`."""

    time_ns: float
    clock: ClockOfHost


class WrittenRank(RankTimes, total=False):
    host: str
    device: str


class Newness(TypedDict):
    """Whether memory and connection of ranks were `new` or `used` before a case."""

    memory: str
    connection: str


class FirstUse(Newness):
    """`first_use`: the first operation between ranks."""

    time_ns: float


class ChoiceFields(TypedDict):
    """`library_choice`: the fields of library_choice.LibraryChoice."""

    algorithm: str | None
    protocol: str | None
    channels: int | None
    source: str | None
    reason: Sentence | None


class HostNic(TypedDict):
    name: str
    pci_address: str
    guid: str | None
    port: str | None
    interfaces: list[str]


class _End(TypedDict):
    device: str
    uuid: str | None
    pci_address: str | None
    peak_source: str


class HostEnd(_End, total=False):
    """One of `hosts`: the device of a host, and the way from it to its network."""

    numa_domain: int | None
    nic: HostNic
    links: list[str]
    peak_bytes_per_s: float


class PairMeeting(TypedDict):
    """`tournament`: when a pair of hosts met."""

    round: int
    rounds: int
    pairs_at_once: int
    link_class: str


class PagesSeen(TypedDict):
    """`residency` of one side of a flow: sampled pages by place."""

    sampled_pages: int
    before: dict[str, int]
    after: dict[str, int]


class DiscardedSample(TypedDict):
    reason: str
    time_ns: float


class FlowTrace(TypedDict):
    """One of concurrent flows: the n-th entry is of the n-th sample."""

    path: str
    operations: list[int]
    released_ns: list[float]
    marks_ns: list[list[float]]
