"""Messages and collectives of an export of Nsight Systems: its tables of MPI, and NCCL's ranges of NVTX.

NCCL annotates each call with a payload, of which exports have a JSON text; the size is the caller's count
times the size of an element. Ranges are the time of the call on the host: what the device does is not linked
to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from byteways.base.decoding import decoded
from byteways.ext.watch.bins import End, What
from byteways.ext.watch.traces.collecting import TraceCollector, TracedOperation
from byteways.ext.watch.traces.collectives import collective_of, size_of_all_blocks
from byteways.ext.watch.traces.nsight_tables import ExportTables, Row, whole

#: Ids of processes by the serialized identifier of their threads.
Processes = Callable[[object], int]
_EVENT = ("start", "end", "globalTid", "textId")


def read_messages(tables: ExportTables, found: TraceCollector, process: Processes) -> None:
    """Adds what ranks sent each other."""
    ranks = tables.ranks()
    for row in tables.rows("MPI_P2P_EVENTS", (*_EVENT, "remoteRank", "size")):
        name = tables.string(row["textId"]) or "MPI message"
        receives = "recv" in name.lower()
        own, other = _rank(ranks, row), whole(row["remoteRank"])
        ends = End(rank=own), End(rank=other if other is not None and other >= 0 else None)
        source, destination = reversed(ends) if receives else ends
        _add(found, row, process, "message", name, whole(row["size"]), source, destination)
    for row in tables.rows("MPI_COLLECTIVES_EVENTS", (*_EVENT, "size")):
        name = tables.string(row["textId"]) or "MPI collective"
        # Of one block, in a communicator whose size is not recorded: not that of the collective.
        size = size_of_all_blocks(collective_of(name) or "", whole(row["size"]), None)
        _add(found, row, process, "collective", name, size, End(), End())
    for row in tables.rows("MPI_START_WAIT_EVENTS", _EVENT):
        name = tables.string(row["textId"]) or ""
        if "wait" in name.lower():
            _add(found, row, process, "synchronisation", name, 0, End(), End())
    _read_ranges(tables, found, process)


def _rank(ranks: Mapping[int, int], row: Row) -> int | None:
    thread = row["globalTid"]
    return ranks.get((thread >> 24) & 0xFFFFFF) if isinstance(thread, int) else None


def _read_ranges(tables: ExportTables, found: TraceCollector, process: Processes) -> None:
    """Adds the ranges of NCCL's calls; those that make communicators say how many ranks these have."""
    columns = (*_EVENT, "text", "jsonText", "jsonTextId")
    ranks: dict[str, int] = {}
    for making in (True, False):
        for row in tables.rows("NVTX_EVENTS", columns):
            text = row["text"]
            name = text if isinstance(text, str) else tables.string(row["textId"])
            if name is None or not name.startswith("nccl") or name.startswith("ncclComm") is not making:
                continue
            payload = row["jsonText"]
            fields = _Payload.of(payload if isinstance(payload, str) else tables.string(row["jsonTextId"]))
            if making and fields.group and fields.ranks:
                ranks[fields.group] = fields.ranks
            elif not making and (call := collective_of(name)) is not None:
                known = fields.ranks or ranks.get(fields.group)
                size = size_of_all_blocks(call, fields.size, known)
                detail = (("group", fields.group),) if fields.group else ()
                what: What = "message" if call in ("Send", "Recv", "SendRecv") else "collective"
                _add(found, row, process, what, name, size, End(), End(), detail, known)


class _Payload(NamedTuple):
    """What the payload of a call says."""

    size: int | None = None  # in bytes, of the caller's count
    group: str = ""  # the communicator
    ranks: int | None = None  # of the communicator

    @classmethod
    def of(cls, text: str | None) -> _Payload:
        """Reads a payload as exports write it, by words of its keys, which differ by version."""
        try:
            fields = decoded(text.encode()) if text else {}
        except ValueError:
            return cls()
        found = cls()
        for key, value in fields.items() if isinstance(fields, dict) else ():
            word = key.lower()
            if "message size" in word and isinstance(value, int):
                found = found._replace(size=value)
            elif "communicator" in word and isinstance(value, (int, str)):
                found = found._replace(group=f"{value:x}" if isinstance(value, int) else value)
            elif "ranks" in word and isinstance(value, int) and 0 < value < 1 << 31:
                found = found._replace(ranks=value)
        return found


def _add(
    found: TraceCollector,
    row: Row,
    process: Processes,
    what: What,
    name: str,
    size: int | None,
    source: End,
    destination: End,
    detail: tuple[tuple[str, str | int], ...] = (),
    ranks: int | None = None,
) -> None:
    begin, end = row["start"], row["end"]
    time = end - begin if isinstance(begin, int) and isinstance(end, int) else None
    operation = TracedOperation(
        what,
        name,
        size,
        begin_ns=whole(begin),
        process=process(row["globalTid"]),
        source=source,
        destination=destination,
        ranks=ranks if what == "collective" else None,
        call_ns=time,
        waiting_ns=time if what == "synchronisation" else None,
        detail=detail,
    )
    found.add(operation, row.number, row.table)
