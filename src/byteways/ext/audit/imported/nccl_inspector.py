"""Lines of JSON of NCCL's inspector plugin: one collective or message of an application, timed by itself.

GB/s are 10^9 bytes. Sizes of AllGather and ReduceScatter are those of one rank (algorithm bandwidth times
time gives the ranks' sum); here they are those of all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from byteways.base.quantities import quantity_or_none
from byteways.ext.audit.imported.reader import Found
from byteways.ext.audit.imported.reading import add_hints, add_value, text_of, written
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit
from byteways.machine.foreign_text import FormatError

_PATTERNS = {
    "AllReduce": "allreduce",
    "AllGather": "allgather",
    "ReduceScatter": "reduce-scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "AllToAll": "alltoall",
}
_MOST_RANKS = 10**7
_SIZED_BY_RANK = ("AllGather", "ReduceScatter")
#: Fields of a record behind `coll_` or `p2p_`, each with its unit and what it counts.
_FIELDS = (
    ("exec_time_us", Unit("us"), None),
    ("algobw_gbs", Unit("GB/s"), "algorithm"),
    ("busbw_gbs", Unit("GB/s"), "bus"),
)


class InspectorOperation(NamedTuple):
    """An operation of a record, as the inspector writes it."""

    key: str  # of its fields in the document
    prefix: str  # of the names of these fields
    name: str
    ranks: int | None  # of the communicator
    size_bytes: int | None  # of the caller's count
    fields: Mapping[str, Any]


def operations_of(document: Mapping[str, Any]) -> list[InspectorOperation]:
    """Returns the operations of one record of the inspector: one, or none of a record of statistics.

    Raises:
        FormatError: Its parts are no objects.
    """
    header, metadata = document["header"], document["metadata"]
    if not isinstance(header, Mapping) or not isinstance(metadata, Mapping):
        raise FormatError("'header' or 'metadata' is not an object")
    ranks = _ranks(header.get("n_ranks"))
    return [
        InspectorOperation(
            *(key, prefix, text_of(record.get(prefix)), ranks or None),
            *(quantity_or_none(record.get(f"{prefix}_msg_size_bytes"), "size"), record),
        )
        for key, prefix in (("coll_perf", "coll"), ("p2p_perf", "p2p"))
        if isinstance(record := document.get(key), Mapping)
    ]


def _ranks(value: object) -> int | None:
    ranks: int | None = quantity_or_none(value, "count")
    return ranks if ranks is not None and ranks < _MOST_RANKS else None


def read_nccl_inspector(document: Mapping[str, Any], line: int) -> Found:
    """Reads one record of the inspector.

    Raises:
        FormatError: Its parts are no objects.
    """
    found = Found("nccl-inspector", line)
    operations = operations_of(document)
    if host := text_of(document["metadata"].get("hostname")):
        add_hints(found, hosts=(host,))
    for operation in operations:
        _read_record(found, operation)
    return found


def _read_record(found: Found, read: InspectorOperation) -> None:
    key, prefix, name, ranks, size_bytes, record = read
    if name in _SIZED_BY_RANK and size_bytes is not None:
        size_bytes = None if ranks is None else size_bytes * ranks
    message = prefix == "p2p"
    pattern = "unidirectional" if message else _PATTERNS.get(name, "")
    operation = Operation("xccl", pattern, "?:device", "?:device", ranks=2 if message else ranks)
    for field, unit, counts in _FIELDS:
        column = f"{prefix}_{field}"
        if (text := written(record.get(column))) is None:
            continue
        value = ForeignValue(
            line=found.begins_at,
            test=name,
            column=column,
            text=text,
            unit=unit,
            statistic=None,  # one execution
            counts=("per-direction" if counts else None) if message else counts,
            size_bytes=size_bytes,
            operation=operation,
            differences=("no-case",) if size_bytes is not None else ("no-case", "size-unknown"),
            pointer=f"/{key}/{column}",
        )
        add_value(found, value)
