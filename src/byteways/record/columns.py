"""The columns of a run as a table, one row per record: the one schema of data frame, Parquet and CSV.

Names carry base units, and every run has the same columns in the same order, so tables of several runs can be
concatenated. Data without a fixed shape (options, directions …) are JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec

from byteways.base.text import Sentence
from byteways.record.record import DEFINITION_FIELDS, Record
from byteways.record.simulation_mark import is_simulated, model_of
from byteways.record.warnings import Warning

TEXT_KIND, JSON_KIND, INTEGER_KIND, NUMBER_KIND, TRUTH_KIND, TIME_KIND = (
    "text",
    "JSON text",
    "integer",
    "number",
    "true or false",
    "time",
)


@dataclass(frozen=True)
class Column:
    """One column: its type, and what it is where its name is no field of a record."""

    name: str
    kind: str
    meaning: Sentence = ""
    place: str = ""  # field of the record, `time_ns.median` for one of a table; of a derived column its name


#: Kinds by the type of a record's field; any other type is JSON text.
_KINDS: Mapping[object, str] = {str: TEXT_KIND, int: INTEGER_KIND, float: NUMBER_KIND, bool: TRUTH_KIND}
_TIMES = frozenset({"started_at"})  # text that is a time


#: Types of the fields of a class; those of a record take a millisecond.
_hints = cache(get_type_hints)


def _type_at(place: str) -> object:
    """Returns the type of a record's field, without None, or of one within a table or tuple of it."""
    found: Any = Record
    for step in place.split("."):
        found = get_args(found)[int(step)] if step.isdigit() else _hints(found)[step]
        own = [one for one in get_args(found) if one is not NoneType]
        found = own[0] if len(own) == 1 and NoneType in get_args(found) else found
    return found


def _column(name: str, place: str = "", meaning: Sentence = "") -> Column:
    """Returns the column of a record's field: its type says the kind."""
    kind = TIME_KIND if name in _TIMES else _KINDS.get(_type_at(place or name), JSON_KIND)
    return Column(name, kind, meaning, place or name)


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(map(_column, names))


def _time(name: str, place: str, meaning: Sentence = "") -> Column:
    return _column(name, f"time_ns.{place}", f"`time_ns`: {meaning or f'`{place}`'}")


def _derived(name: str, meaning: Sentence, kind: str = TEXT_KIND) -> Column:
    return Column(name, kind, meaning, name)


#: Columns that tell of the run, or of devices.
_OF_RUN = (
    _derived("run_id", "of the run: `run_id` of its manifest"),
    _derived("host", "of the run: name of its host"),
    _derived("machine_model", "of a simulated run: name of its model"),
    _derived("source_device", "device of the first flow's source"),
    _derived("source_uuid", "its UUID; empty for a CPU"),
    _derived("destination_device", "device of the first flow's destination"),
    _derived("destination_uuid", "its UUID; empty for a CPU"),
    _derived("executor_uuid", "UUID of the first flow's executor; empty for a CPU"),
)
_SIMULATED = _derived("simulated", "of the run: whether it was simulated", TRUTH_KIND)
#: New columns are added at the end: scripts may count on the order.
COLUMNS: tuple[Column, ...] = (
    *_columns("case_id", "round", "sweep", "category", "interface", "executor", "access", "pattern", "path"),
    *_columns("source", "destination", "size_bytes", "cache", "options", "environment", "status", "reason"),
    *_columns("bandwidth_bytes_per_s", "latency_ns", "peak_bytes_per_s", "fraction_of_peak", "counts"),
    _time("time_median_ns", "median"),
    _time("time_ci95_low_ns", "ci95.0", "`ci95`, lower end"),
    _time("time_ci95_high_ns", "ci95.1", "`ci95`, upper end"),
    *(_time(f"time_{name}_ns", name) for name in ("min", "max", "mean", "sd")),
    _time("samples", "n"),
    *_columns("batch", "timed_by", "gated", "slope", "timer_resolution_ns", "engine", "engine_evidence"),
    *_columns("verified", "verification", "window_ns", "end_to_end_ns"),
    _column("directions_bytes_per_s", "directions", "`directions`"),
    *_columns("end_to_end_bytes_per_s", "flows", "launch", "placement", "warnings", "started_at", "wall_s"),
    *_columns("method_version"),
    _SIMULATED,
    *_columns("submit_ns", "half_round_trip_ns", "host_ns", "load_bytes_per_s", "limit_bytes_per_s"),
    *_columns("rests_on"),
    *_OF_RUN,
)
COLUMN_NAMES = frozenset(column.name for column in COLUMNS)
DERIVED = frozenset(column.name for column in (_SIMULATED, *_OF_RUN))
#: Columns that all rounds of a case share.
DEFINITION = COLUMN_NAMES.intersection(DEFINITION_FIELDS)
#: Records of which all columns are read together, while they are in the processor's caches: one column of
#: 100,000 records after the other takes three times as long.
TOGETHER = 256
#: In Parquet and data frames: every sample, if asked for.
SAMPLES_COLUMN = "samples_ns"


def values(manifest: Mapping[str, Any], records: Sequence[Record]) -> dict[str, list[Any]]:
    """Returns the values of every column, in the order of the records; None: missing.

    Times are text as in the record (ISO 8601, UTC), JSON text is compact, empty tables and lists are missing.
    """
    found: dict[str, list[Any]] = {column.name: [] for column in COLUMNS}
    for _, part in parts(manifest, records):
        for name, told in part.items():
            found[name] += told
    return found


def parts(
    manifest: Mapping[str, Any], records: Sequence[Record], names: Collection[str] = COLUMN_NAMES
) -> Iterator[tuple[Sequence[Record], dict[str, list[Any]]]]:
    """Yields some consecutive records with the values of these columns, until all were yielded."""
    texts = _Texts()
    wanted = [column for column in COLUMNS if column.name in names]
    for begin in range(0, len(records), TOGETHER):
        some = records[begin : begin + TOGETHER]
        own = {} if DERIVED.isdisjoint(names) else derived(manifest, some)
        yield (
            some,
            {
                column.name: own[column.name] if column.name in own else _read(column, some, texts)
                for column in wanted
            },
        )


def places() -> dict[str, list[str | int]]:
    """Returns where each column is in a record as JSON, to which the `derived` ones were added."""
    steps = {column.name: column.place.split(".") for column in COLUMNS}
    return {name: [int(step) if step.isdigit() else step for step in path] for name, path in steps.items()}


def _read(column: Column, records: Sequence[Record], texts: _Texts) -> list[Any]:
    name, *inner = column.place.split(".")
    told: Iterable[Any] = map(attrgetter(name), records)
    if inner:
        of_table = attrgetter(inner[0])
        if inner[1:]:
            place = int(inner[1])
            return [None if table is None else of_table(table)[place] for table in told]
        return [None if table is None else of_table(table) for table in told]
    found = [*told]
    if column.kind != JSON_KIND:
        return found
    return [*map(texts.of, found)] if any(found) else [None] * len(found)


class _Texts:
    """JSON text of values; the rounds of a case share theirs (record/journal_lines.py)."""

    def __init__(self) -> None:
        self._encode = msgspec.json.Encoder().encode
        self._known: dict[int, str] = {}  # by identity: the records keep the values

    def of(self, value: Any) -> str | None:
        """Returns the text of a value; None if it is missing or empty."""
        if not value:
            return None
        text = self._known.get(id(value))
        if text is None:
            warned = isinstance(value, list) and isinstance(value[0], Warning)
            plain = [one.to_json() for one in value] if warned else value
            text = self._known[id(value)] = self._encode(plain).decode()
        return text


def derived(manifest: Mapping[str, Any], records: Sequence[Record]) -> dict[str, list[Any]]:
    """Returns the columns that are no field of a record: those of the run, and its devices."""
    count = len(records)
    sources = [_device(record.source) for record in records]
    destinations = [_device(record.destination) for record in records]
    executors = [record.executor.partition(",")[0] for record in records]
    uuid = partial(_uuids, _known(manifest), records)
    return {
        "simulated": [is_simulated(manifest)] * count,
        "run_id": [manifest.get("run_id")] * count,
        "host": [(manifest.get("host") or {}).get("name")] * count,
        "machine_model": [model_of(manifest) or None] * count,
        "source_device": sources,
        "source_uuid": uuid(sources, _source_host),
        "destination_device": destinations,
        "destination_uuid": uuid(destinations, _destination_host),
        "executor_uuid": uuid(executors, _source_host),
    }


def _device(buffer: str) -> str:
    """`gpu1` of `gpu1:device`, `1/gpu1:device` (a rank's) and `node7:gpu1:device` (a host's)."""
    *_, device, _memory = buffer.rpartition("/")[2].partition("@")[0].split(":")
    return device


def _source_host(record: Record) -> str:
    return record.source.partition(":")[0]


def _destination_host(record: Record) -> str:
    return record.destination.partition(":")[0]


def _known(manifest: Mapping[str, Any]) -> dict[str, str]:
    devices = manifest["topology"]["devices"]
    return {one["name"]: one["uuid"] for one in devices if one.get("uuid")}


def _uuids(
    known: Mapping[str, str],
    records: Sequence[Record],
    devices: Sequence[str],
    host_of: Callable[[Record], str],
) -> list[str | None]:
    """Returns the UUID of each device; of a run between hosts, that of the record's own host."""
    return [
        known.get(device) if record.hosts is None else _uuid_of(record.hosts, host_of(record), device)
        for device, record in zip(devices, records, strict=True)
    ]


def _uuid_of(hosts: Mapping[str, Any], host: str, device: str) -> str | None:
    """Returns the UUID of a device; `hosts` names hosts, or their devices where they have several ranks."""
    told = hosts.get(host) or hosts.get(f"{host}:{device}") or {}
    uuid: str | None = told.get("uuid")
    return uuid
