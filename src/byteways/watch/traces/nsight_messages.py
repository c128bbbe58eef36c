"""Messages and collectives of an export of Nsight Systems: its tables of MPI, and NCCL's ranges of NVTX.

NCCL annotates each call with a payload, of which exports have a JSON text; the size is the caller's count
times the size of an element. Ranges are the time of the call on the host: what the device does is not linked
to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from byteways.decoding import decoded
from byteways.watch.bins import End, What
from byteways.watch.traces.collecting import TraceCollector, TracedOperation
from byteways.watch.traces.collectives import collective_of
from byteways.watch.traces.nsight_tables import ExportTables, Row, whole

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
        _add(found, row, process, "collective", name, whole(row["size"]), End(), End())
    for row in tables.rows("MPI_START_WAIT_EVENTS", _EVENT):
        name = tables.string(row["textId"]) or ""
        if "wait" in name.lower():
            _add(found, row, process, "synchronisation", name, 0, End(), End())
    for row in tables.rows("NVTX_EVENTS", (*_EVENT, "text", "jsonText", "jsonTextId")):
        _read_range(tables, found, process, row)


def _rank(ranks: Mapping[int, int], row: Row) -> int | None:
    thread = row["globalTid"]
    return ranks.get((thread >> 24) & 0xFFFFFF) if isinstance(thread, int) else None


def _read_range(tables: ExportTables, found: TraceCollector, process: Processes, row: Row) -> None:
    text = row["text"]
    name = text if isinstance(text, str) else tables.string(row["textId"])
    if name is None or not name.startswith("nccl") or (call := collective_of(name)) is None:
        return
    payload = row["jsonText"]
    if not isinstance(payload, str):
        payload = tables.string(row["jsonTextId"])
    size, detail = _payload(payload)
    what: What = "message" if call in ("Send", "Recv", "SendRecv") else "collective"
    _add(found, row, process, what, name, size, End(), End(), detail)


def _payload(text: str | None) -> tuple[int | None, tuple[tuple[str, str | int], ...]]:
    """Returns the size in bytes and the communicator that a payload has."""
    try:
        fields = decoded(text.encode()) if text else {}
    except ValueError:
        return None, ()
    size: int | None = None
    detail: tuple[tuple[str, str | int], ...] = ()
    for key, value in fields.items() if isinstance(fields, dict) else ():
        if "message size" in key.lower() and isinstance(value, int):
            size = value
        elif "communicator" in key.lower() and isinstance(value, (int, str)):
            detail = (("group", f"{value:x}" if isinstance(value, int) else value),)
    return size, detail


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
        call_ns=time,
        waiting_ns=time if what == "synchronisation" else None,
        detail=detail,
    )
    found.add(operation, row.number, row.table)
