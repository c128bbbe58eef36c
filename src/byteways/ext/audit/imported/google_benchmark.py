"""JSON of Google Benchmark, with the names of Comm|Scope's benchmarks.

An entry has the mean time of its iterations, or an aggregate over repetitions. Comm|Scope has its devices
in the name, `Comm_hipMemcpyAsync_PinnedToGPU/0/1/log2(N):30/manual_time`, and in counters beside the
times; what it copies is a copy call between events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from byteways.ext.audit.imported.reader import Found, UnreadPlace
from byteways.ext.audit.imported.reading import add_hints, add_value, objects, text_of, written
from byteways.ext.audit.imported.value import TIME_UNITS, ForeignValue, Operation, Unit
from byteways.machine.foreign_text import FormatError

_COPY = re.compile(
    r"Comm_(?:cuda|hip)Memcpy(?:Peer)?(?:Async)?_(?P<source>[A-Za-z]+)To(?P<destination>[A-Za-z]+?)(?:Peer)?"
    r"(?:_flush)?/(?P<first>\d{1,6})/(?P<second>\d{1,6})(?:/|$)"
)
_EXPONENT = re.compile(r"/log2\(N\):(?P<exponent>\d{1,2})(?:/|$)")
_MEMORIES = {
    "Pinned": "pinned",
    "Pageable": "pageable",
    "Host": "pageable",
    "NUMA": "pageable",
    "WC": "write-combined",
    "GPU": "device",
}
#: Counters of Comm|Scope with the number of the GPU.
_GPU_COUNTERS = ("hip_id", "cuda_id", "gpu_id")
#: Aggregates that are values, and what they are; others, such as a deviation, are none.
_AGGREGATES = {"mean": "mean", "median": "median", "min": "min", "max": "max"}
_LARGEST_EXPONENT = 48


def read_google_benchmark(document: Mapping[str, Any], line: int) -> Found:
    """Reads a document of Google Benchmark.

    Raises:
        FormatError: It has no list of benchmarks.
    """
    found, context = Found("google-benchmark", line), document["context"]
    if not isinstance(context, Mapping):
        raise FormatError("'context' is not an object")
    if host := text_of(context.get("host_name")):
        add_hints(found, hosts=(host,))
    if version := text_of(context.get("library_version")):
        add_hints(found, version=version.removeprefix("v"))
    for number, entry in enumerate(objects(document["benchmarks"], "'benchmarks'")):
        _read_entry(found, entry, f"/benchmarks/{number}")
    return found


def _read_entry(found: Found, entry: Mapping[str, Any], pointer: str) -> None:
    name = text_of(entry.get("name"))
    if entry.get("error_occurred"):
        found.mistakes.append(UnreadPlace(found.begins_at, f"{pointer}: {name[:80]} failed"))
        return
    statistic: str | None = "mean"
    if entry.get("run_type") == "aggregate":
        statistic = _AGGREGATES.get(text_of(entry.get("aggregate_name")))
        if statistic is None:
            return
    time_unit = text_of(entry.get("time_unit")) or "ns"
    cells = [("bytes_per_second", Unit("B/s"))]
    if time_unit in TIME_UNITS:
        cells.append(("real_time", Unit(time_unit)))
    elif "real_time" in entry:
        found.mistakes.append(
            UnreadPlace(found.begins_at, f"{pointer}: '{time_unit[:20]}' is no unit of time")
        )
    for column, unit in cells:
        if column in entry:
            text = written(entry[column])
            number, place = text or str(entry[column])[:40], f"{pointer}/{column}"
            add_value(found, value_of_entry(name, column, number, unit, statistic, entry, pointer=place))


def value_of_entry(
    name: str,
    column: str,
    text: str,
    unit: Unit,
    statistic: str | None,
    entry: Mapping[str, Any],
    *,
    line: int | None = None,
    pointer: str | None = None,
) -> ForeignValue:
    """Returns a number of an entry, whose counters are its other fields."""
    operation = _operation(name, entry)
    size_bytes = _size(name, entry)
    rate = unit.metric == "bandwidth"
    known = bool(operation.interface)
    missing = {
        "no-case": not known,
        "size-unknown": size_bytes is None,
        "extreme": statistic in ("min", "max"),
    }
    return ForeignValue(
        line=line,
        test=name,
        column=column,
        text=text,
        unit=unit,
        statistic=statistic,
        counts=("per-direction" if rate else "call") if known else None,
        size_bytes=size_bytes,
        operation=operation,
        differences=tuple(code for code, holds in missing.items() if holds),
        pointer=pointer,
    )


def _operation(name: str, entry: Mapping[str, Any]) -> Operation:
    """Returns what a benchmark of Comm|Scope copies; of another, nothing."""
    found = _COPY.match(name)
    if found is None or not {found["source"], found["destination"]} <= _MEMORIES.keys():
        return Operation()
    names = found["source"], found["destination"]
    numbers = [int(found["first"]), int(found["second"])]
    if names.count("GPU") == 1:  # the NUMA domain comes first in the name, whatever the direction
        gpu = next((entry[key] for key in _GPU_COUNTERS if _is_index(entry.get(key))), numbers[1])
        numa = entry["numa_id"] if _is_index(entry.get("numa_id")) else numbers[0]
        numbers = [int(gpu) if memory == "GPU" else int(numa) for memory in names]
    kinds = ["gpu" if memory == "GPU" else "cpu" for memory in names]
    ends = [
        f"{kind}{number}:{_MEMORIES[memory]}"
        for kind, number, memory in zip(kinds, numbers, names, strict=True)
    ]
    return Operation("copy", "unidirectional", ends[0], ends[1])


def _is_index(value: object) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value < 1024
        and value == int(value)
    )


def _size(name: str, entry: Mapping[str, Any]) -> int | None:
    """Returns the bytes of an iteration: of the name, else of the counter, which CSV rounds to six digits."""
    found = _EXPONENT.search(name)
    if found and int(found["exponent"]) <= _LARGEST_EXPONENT:
        return 1 << int(found["exponent"])
    counted = entry.get("bytes")
    if not isinstance(counted, (int, float)) or isinstance(counted, bool):
        return None
    return int(counted) if 0 < counted < 2**_LARGEST_EXPONENT and counted == int(counted) else None
