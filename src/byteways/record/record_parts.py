"""Types of the nested tables in a record, as far as readers use them.

Additional keys are allowed: this only prevents, for example, text where a sum is computed.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, TypedDict

from byteways.base.decoding import converted
from byteways.record.record import Record


class _OtherCount(TypedDict):
    counts: str
    bytes_per_s: float


class _OtherWays(_OtherCount, total=False):
    read_bytes_per_s: float
    written_bytes_per_s: float


class _Corruption(TypedDict, total=False):
    path: str
    first_offset_bytes: int
    expected: str
    got: str
    bad_words: int
    overrun: str
    buffer_bytes: int


class _Reading(TypedDict, total=False):
    sm_clock_mhz: float | None
    memory_clock_mhz: float | None
    temperature_c: float | None
    power_mw: float | None
    throttle_reasons: int | None
    pcie_replays: int | None
    nvlink_errors: int | None


class _Readings(TypedDict, total=False):
    before: _Reading | None
    after: _Reading | None
    unknown: dict[str, str]


class _Energy(TypedDict):
    joules_per_GB: float
    watts: float
    idle_watts: float
    duration_s: float
    counter_updates: int
    counted: list[str]
    not_counted: list[str]


class _EnergyWithInterval(_Energy, total=False):
    joules_per_GB_ci95: tuple[float, float]


class _NoEnergy(TypedDict):
    reason: str


class _RankBase(TypedDict):
    rank: int
    begin_ns: float
    end_ns: float
    begins_last: float
    no_cpu: float | None


class _Clock(TypedDict):
    offset_ns: float
    uncertainty_ns: float
    drift_ns: float
    drift_uncertainty_ns: float


class _Rank(_RankBase, total=False):
    time_ns: float
    clock: _Clock


class _FirstUse(TypedDict):
    time_ns: float
    memory: str
    connection: str


class _LibraryChoice(TypedDict):
    algorithm: str | None
    protocol: str | None
    channels: int | None
    source: str | None
    reason: str | None


class _HostNic(TypedDict):
    name: str
    pci_address: str
    guid: str | None
    port: str | None
    interfaces: list[str]


class _HostBase(TypedDict):
    device: str
    uuid: str | None
    pci_address: str | None
    peak_source: str


class _Host(_HostBase, total=False):
    numa_domain: int | None
    nic: _HostNic
    links: list[str]
    peak_bytes_per_s: float


class _Clocks(_Clock):
    reference: str
    host: str


class _Tournament(TypedDict):
    round: int
    rounds: int
    pairs_at_once: int
    link_class: str


#: The type of each table that readers compute with.
TYPES_OF_PARTS: dict[str, Any] = {
    "hosts": dict[str, _Host],
    "clocks": _Clocks,
    "tournament": _Tournament,
    "ranks": list[_Rank],
    "first_use": _FirstUse,
    "library_choice": _LibraryChoice,
    "other_count": _OtherWays,
    "corruption": _Corruption,
    "health": dict[str, _Readings],
    "energy": _EnergyWithInterval,
}
_parts = attrgetter(*TYPES_OF_PARTS)


def wrong_part(record: Record) -> str:
    """Returns which table has an invalid value; empty if none has."""
    values = _parts(record)
    if values.count(None) == len(values):  # so are most
        return ""
    for value, (name, kind) in zip(values, TYPES_OF_PARTS.items(), strict=True):
        if value is not None and (reason := _wrong(name, value, kind)):
            return reason
    return ""


def _wrong(name: str, value: Any, kind: Any) -> str:
    if name == "energy" and "reason" in value:
        kind = _NoEnergy
    try:
        converted(value, kind)
    except ValueError as error:
        return f"{name}: {error}"
    return ""
