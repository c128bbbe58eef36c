"""Lines of JSON of NCCL's inspector plugin: each a collective or message with its time and the caller's size.

The records have no time of day at which an operation began, so there is no time line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from byteways.base.decoding import decoded
from byteways.ext.audit.imported.nccl_inspector import InspectorOperation, operations_of
from byteways.ext.audit.imported.reading import text_of
from byteways.ext.watch.bins import End
from byteways.ext.watch.traces.collecting import TraceCollector, TracedOperation, TraceRead
from byteways.ext.watch.traces.collectives import size_of_all_blocks
from byteways.ext.watch.traces.content import lines_of_trace
from byteways.machine.foreign_text import FormatError

INSPECTOR = "nccl-inspector"
#: No collective takes a year, in µs.
_MOST_US = 3.2e13
#: Fields of a record beside its size and times that say how it was done, and their names here.
_DETAILS = (
    ("algo", "algorithm"),
    ("proto", "protocol"),
    ("n_channels", "channels"),
    ("timing_source", "timing"),
)


def is_inspector(head: bytes) -> bool:
    """Whether the first line is a record."""
    line = head.split(b"\n", 1)[0]
    return line.lstrip().startswith(b"{") and b'"header"' in line and b'"metadata"' in line


def read_inspector(path: Path) -> TraceRead:
    """Reads a file of records.

    Raises:
        OSError: It cannot be read.
        FormatError: It is no text.
    """
    found = TraceCollector(INSPECTOR)
    processes: dict[tuple[int, str, int | None], int] = {}
    for number, line in lines_of_trace(path):
        if not line.strip():
            continue
        try:
            document = decoded(line.encode())
            if not isinstance(document, dict) or not {"header", "metadata"} <= document.keys():
                raise FormatError("it is not a record of the inspector")
            operations = operations_of(document)
        except ValueError as error:
            found.refuse(number, str(error))
            continue
        process = _process(found, processes, document)
        for operation in operations:
            _add(found, process, operation, text_of(document["header"].get("id")), number)
        statistics = document.get("dump_stats")
        dropped = statistics.get("coll_dropped_total") if isinstance(statistics, dict) else None
        if type(dropped) is int and 0 < dropped < 1 << 62:  # a total: the last one counts
            found.change_process(process, lost=dropped)
    return found.read()


def _process(
    found: TraceCollector, known: dict[tuple[int, str, int | None], int], document: Mapping[str, Any]
) -> int:
    header, metadata = document["header"], document["metadata"]
    pid, rank, host = metadata.get("pid"), header.get("rank"), text_of(metadata.get("hostname"))
    pid = pid if type(pid) is int and 0 <= pid < 1 << 31 else 0
    rank = rank if type(rank) is int and 0 <= rank < 1 << 31 else None
    key = (pid, host, rank if pid == 0 else None)
    if key not in known:
        known[key] = found.process(pid, host)
    return known[key]


def _add(found: TraceCollector, process: int, read: InspectorOperation, group: str, line: int) -> None:
    time = read.fields.get(f"{read.prefix}_exec_time_us")
    if not isinstance(time, (int, float)) or not 0 <= time < _MOST_US:
        found.refuse(line, f"{read.prefix}_exec_time_us {time!s:.30} is not a duration")
        return
    if not read.name:
        found.refuse(line, f"it does not name its {read.prefix}")
        return
    if read.size_bytes is None:
        found.refuse(line, f"{read.prefix}_msg_size_bytes is not a size")
        return
    message = read.prefix == "p2p"
    detail: list[tuple[str, str | int]] = [("group", group)] if group else []
    for field, name in _DETAILS:
        value = read.fields.get(f"{read.prefix}_{field}")
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            detail.append((name, value))
    operation = TracedOperation(
        *(
            "message" if message else "collective",
            f"nccl{read.name}",
            size_of_all_blocks(read.name, read.size_bytes, read.ranks),
            None,
            round(time * 1000),
            process,
        ),
        source=End("device"),
        ranks=None if message else read.ranks,
        detail=tuple(detail),
    )
    found.add(operation, line)
