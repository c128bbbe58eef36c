"""The columns of a run as a table, one row per record: the one schema of data frame, Parquet and CSV.

Names carry base units, and every run has the same columns in the same order, so tables of several runs can be
concatenated. Data without a fixed shape (options, directions …) are JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec

from byteways.record.record import Record
from byteways.record.simulation_mark import is_simulated, model_of

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
    meaning: str = ""
    place: str = ""  # field of the record, `time_ns.median` for one of a table; '': the column's name


def _columns(kind: str, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name in names)


def _time(name: str, place: str, kind: str = NUMBER_KIND) -> Column:
    return Column(name, kind, f"`time_ns`: `{place}`", f"time_ns.{place}")


#: New columns are added at the end: scripts may count on the order.
COLUMNS: tuple[Column, ...] = (
    *_columns(TEXT_KIND, "case_id"),
    *_columns(INTEGER_KIND, "round"),
    *_columns(TEXT_KIND, "sweep", "category", "interface", "executor", "access", "pattern", "path", "source"),
    *_columns(TEXT_KIND, "destination"),
    *_columns(INTEGER_KIND, "size_bytes"),
    *_columns(TEXT_KIND, "cache"),
    *_columns(JSON_KIND, "options", "environment"),
    *_columns(TEXT_KIND, "status", "reason"),
    *_columns(NUMBER_KIND, "bandwidth_bytes_per_s", "latency_ns", "peak_bytes_per_s", "fraction_of_peak"),
    *_columns(TEXT_KIND, "counts"),
    _time("time_median_ns", "median"),
    Column("time_ci95_low_ns", NUMBER_KIND, "`time_ns`: `ci95`, lower end", "time_ns.ci95.0"),
    Column("time_ci95_high_ns", NUMBER_KIND, "`time_ns`: `ci95`, upper end", "time_ns.ci95.1"),
    *(_time(f"time_{name}_ns", name) for name in ("min", "max", "mean", "sd")),
    _time("samples", "n", INTEGER_KIND),
    *_columns(INTEGER_KIND, "batch"),
    *_columns(TEXT_KIND, "timed_by"),
    *_columns(TRUTH_KIND, "gated", "slope"),
    *_columns(NUMBER_KIND, "timer_resolution_ns"),
    *_columns(TEXT_KIND, "engine", "engine_evidence"),
    *_columns(TRUTH_KIND, "verified"),
    *_columns(TEXT_KIND, "verification"),
    *_columns(NUMBER_KIND, "window_ns", "end_to_end_ns"),
    Column("directions_bytes_per_s", JSON_KIND, "`directions`", "directions"),
    *_columns(JSON_KIND, "end_to_end_bytes_per_s", "flows", "launch", "placement", "warnings"),
    *_columns(TIME_KIND, "started_at"),
    *_columns(NUMBER_KIND, "wall_s"),
    *_columns(INTEGER_KIND, "method_version"),
    Column("simulated", TRUTH_KIND, "of the run: whether it was simulated"),
    *_columns(
        NUMBER_KIND, "submit_ns", "half_round_trip_ns", "host_ns", "load_bytes_per_s", "limit_bytes_per_s"
    ),
    *_columns(JSON_KIND, "rests_on"),
    Column("run_id", TEXT_KIND, "of the run: `run_id` of its manifest"),
    Column("host", TEXT_KIND, "of the run: name of its host"),
    Column("machine_model", TEXT_KIND, "of a simulated run: name of its model"),
    Column("source_device", TEXT_KIND, "device of the first flow's source"),
    Column("source_uuid", TEXT_KIND, "its UUID; empty for a CPU"),
    Column("destination_device", TEXT_KIND, "device of the first flow's destination"),
    Column("destination_uuid", TEXT_KIND, "its UUID; empty for a CPU"),
    Column("executor_uuid", TEXT_KIND, "UUID of the first flow's executor; empty for a CPU"),
)
COLUMN_NAMES = frozenset(column.name for column in COLUMNS)
#: Columns that tell of the run, or of devices.
DERIVED = frozenset(
    {"simulated", "run_id", "host", "machine_model"}
    | {"source_device", "source_uuid", "destination_device", "destination_uuid", "executor_uuid"}
)
#: Columns that all rounds of a case share.
DEFINITION = frozenset(
    {"case_id", "sweep", "category", "interface", "executor", "access", "pattern", "path", "source"}
    | {"destination", "size_bytes", "cache", "options", "environment", "flows"}
)
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
    steps = {column.name: (column.place or column.name).split(".") for column in COLUMNS}
    return {name: [int(step) if step.isdigit() else step for step in path] for name, path in steps.items()}


def _read(column: Column, records: Sequence[Record], texts: _Texts) -> list[Any]:
    name, *inner = (column.place or column.name).split(".")
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
            text = self._known[id(value)] = self._encode(value).decode()
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
