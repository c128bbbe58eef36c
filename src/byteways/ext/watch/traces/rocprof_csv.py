"""CSV files of rocprofv3: memory_copy_trace.csv, and what lies beside it under the same prefix.

agent_info.csv says which agents are GPUs, kernel_trace.csv what copies overlap, hip_api_trace.csv which call
began a copy, memory_allocation_trace.csv what was allocated. The file of copies has no sizes up to ROCm 7,
so that its bins have none; the JSON of rocprofv3 has them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from byteways.ext.watch.bins import End
from byteways.ext.watch.traces.agents import Agents
from byteways.ext.watch.traces.collecting import TraceCollector, TracedOperation, TraceRead
from byteways.ext.watch.traces.content import lines_of_trace
from byteways.ext.watch.traces.memories import copy_ends, direction_of, moves_memory, plain_call
from byteways.machine.foreign_text import FormatError

ROCPROF_CSV = "rocprofv3"
_COPIES = "memory_copy_trace"
_NEEDED = frozenset(("Direction", "Start_Timestamp", "End_Timestamp"))
_SIZES = ("Size", "Bytes", "Copy_Size", "Size_Bytes")
#: Columns by which other files of a trace are known, and their names.
_OTHERS = {
    "Kernel_Name": "kernel_trace",
    "Function": "an API trace",
    "Allocation_Size": "memory_allocation_trace",
}
#: Lines that are parsed together.
_BATCH = 1000
#: Rows with their lines.
_Rows = Iterator[tuple[int, dict[str, str]]]


def is_rocprof_csv(head: bytes) -> bool:
    """Whether the first line is the header of a file of copies, or of another of rocprofv3."""
    columns = set(_header(head))
    return bool(columns) and "Start_Timestamp" in columns and "End_Timestamp" in columns


def _header(head: bytes) -> list[str]:
    line = head.split(b"\n", 1)[0].rstrip(b"\r")
    try:
        return next(csv.reader([line.decode()]), [])
    except (UnicodeDecodeError, csv.Error):
        return []


def read_rocprof_csv(path: Path) -> TraceRead:
    """Reads a file of copies with the files beside it.

    Raises:
        OSError: It cannot be read.
        FormatError: It is another file of the trace, or no text.
    """
    found = TraceCollector(ROCPROF_CSV)
    rows = _rows(path, found)
    beside = _Beside(path, found)
    calls, pid = beside.calls()
    process = found.process(pid)
    agents = beside.agents()
    beside.read_kernels(agents)
    beside.read_allocations(agents, process)
    for number, row in rows:
        if not row.keys() >= _NEEDED:
            columns = next((name for column, name in _OTHERS.items() if column in row), None)
            what = (
                f"it is {columns} of rocprofv3, which has no copies"
                if columns
                else "it lacks the column 'Direction'"
            )
            raise FormatError(what, 1, "name the file memory_copy_trace.csv; the others are read beside it")
        _add_copy(found, process, agents, calls, row, number)
    return found.read()


def _add_copy(
    found: TraceCollector,
    process: int,
    agents: Agents,
    calls: dict[str, tuple[str, int]],
    row: Mapping[str, str],
    number: int,
) -> None:
    times = _times(row)
    direction = direction_of(row["Direction"])
    if times is None or direction is None:
        what = "its times are no numbers" if times is None else f"'{row['Direction']:.40}' is no direction"
        found.refuse(number, what)
        return
    devices = (
        agents.device(row.get("Source_Agent_Id", "")),
        agents.device(row.get("Destination_Agent_Id", "")),
    )
    source, destination = copy_ends(direction, (None, None), devices)
    text = next((row[name] for name in _SIZES if name in row), None)
    size = None if text is None else _whole(text)
    if text is not None and size is None:
        found.refuse(number, f"'{text:.40}' is not a size")
        return
    correlation = row.get("Correlation_Id", "")
    call, call_ns = calls.get(correlation, ("hsa_amd_memory_async_copy", None))
    if correlation in calls:
        calls[correlation] = (call, 0)  # a further copy of the same call
    begin, end = times
    operation = TracedOperation(
        *("copy", call, size, begin, end - begin, process, source, destination),
        call_ns=call_ns,
        beside_kernels=True,
    )
    found.add(operation, number)


class _Beside:
    """The files of a trace beside its file of copies; an absent one says nothing."""

    def __init__(self, path: Path, found: TraceCollector) -> None:
        self._path = path
        self._found = found

    def _rows(self, name: str) -> _Rows:
        if _COPIES not in self._path.name:
            return iter(())
        file = self._path.with_name(self._path.name.replace(_COPIES, name))
        return _rows(file, self._found) if file.is_file() else iter(())

    def agents(self) -> Agents:
        """Returns the agents of agent_info.csv."""
        return Agents(
            {
                "type": row.get("Agent_Type"),
                "node": _whole(row.get("Node_Id")),
                "logical": _whole(row.get("Logical_Node_Id")),
            }
            for _, row in self._rows("agent_info")
        )

    def calls(self) -> tuple[dict[str, tuple[str, int]], int]:
        """Returns the calls of hip_api_trace.csv that move memory by correlation, and the process."""
        calls, pid = {}, 0
        for _, row in self._rows("hip_api_trace"):
            call, times = plain_call(row.get("Function", "")), _times(row)
            pid = pid or _whole(row.get("Process_Id")) or 0
            if moves_memory(call) and times is not None and times[0] <= times[1]:
                calls[row.get("Correlation_Id", "")] = (call, times[1] - times[0])
        return calls, pid

    def read_kernels(self, agents: Agents) -> None:
        """Adds the kernels of kernel_trace.csv."""
        for number, row in self._rows("kernel_trace"):
            begin, end = _times(row) or (None, None)
            self._found.kernel(agents.device(row.get("Agent_Id", "")), begin, end, number)

    def read_allocations(self, agents: Agents, process: int) -> None:
        """Adds the allocations of memory_allocation_trace.csv."""
        for number, row in self._rows("memory_allocation_trace"):
            times, size = _times(row), _whole(row.get("Allocation_Size"))
            kind = row.get("Operation", "").upper()
            if times is None:
                self._found.refuse(number, "its times are no numbers")
                continue
            release = "FREE" in kind
            device = agents.device(row.get("Agent_Id", ""))
            operation = TracedOperation(
                *(
                    "release" if release else "allocation",
                    kind.removeprefix("MEMORY_ALLOCATION_").lower() or "allocate",
                ),
                *(None if release and not size else size, times[0], None, process),
                destination=End("device" if device else None, device),
                call_ns=times[1] - times[0],
            )
            self._found.add(operation, number)


def _rows(path: Path, found: TraceCollector) -> _Rows:
    """Yields the rows of a CSV by the names of their columns; a row of another length is a mistake."""
    header: list[str] | None = None
    for number, fields in _fields(path, found):
        if header is None:
            header = fields
        elif fields and len(fields) != len(header):
            found.refuse(
                number,
                f"it has {len(fields)} fields, not {len(header)}: it was cut, or another program wrote it",
            )
        elif fields:
            yield number, dict(zip(header, fields, strict=True))


def _fields(path: Path, found: TraceCollector) -> Iterator[tuple[int, list[str]]]:
    """Yields the fields of each line: no field of these files has a line break."""
    lines = lines_of_trace(path)
    while batch := list(islice(lines, _BATCH)):
        try:
            whole = all(text.count('"') % 2 == 0 for _, text in batch)
            parsed = [*csv.reader((text for _, text in batch), strict=True)] if whole else []
        except csv.Error:
            parsed = []
        if len(parsed) == len(batch):
            yield from ((number, fields) for (number, _), fields in zip(batch, parsed, strict=True))
            continue
        for number, text in batch:  # one of them is no row
            try:
                yield number, next(csv.reader([text], strict=True), [])
            except csv.Error as error:
                found.refuse(number, f"it is no row of CSV: {error}")


def _times(row: Mapping[str, str]) -> tuple[int, int] | None:
    begin, end = _whole(row.get("Start_Timestamp")), _whole(row.get("End_Timestamp"))
    return None if begin is None or end is None else (begin, end)


def _whole(text: str | None) -> int | None:
    text = "" if text is None else text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 19 else None
