"""SQLite exports of Nsight Systems (`nsys export --type sqlite`).

Tables are made when a report has rows for them, and columns differ by version: each query names only those
that are there. Rows are read one after another, so that a file of any size takes little memory; SQLite keeps
what it sorts in its own temporary files. Tables, columns and codes: "SQLite Export Schema Reference" of the
user guide.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote as percent_encoded

from byteways.ext.watch.bins import End, What
from byteways.ext.watch.traces.collecting import TraceCollector, TracedOperation, TraceRead
from byteways.ext.watch.traces.memories import (
    copy_ends,
    direction_of,
    memory_of,
    moves_memory,
    other_call,
    plain_call,
)
from byteways.ext.watch.traces.nsight_messages import read_messages
from byteways.ext.watch.traces.nsight_tables import ExportTables, Row, whole
from byteways.machine.foreign_text import FormatError

NSIGHT = "nsight-systems"
MAGIC = b"SQLite format 3\0"
#: Of older exports, which lack the tables of words (ENUM_…): codes of the schema reference.
_COPIES = (
    *("Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host", "Array-to-Array"),
    *("Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host", "Peer-to-Peer"),
    *("Unified Host-to-Device", "Unified Device-to-Host", "Unified Device-to-Device"),
)
_MEMORIES = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")
_WORDS_OF_CAUSES = ("user", "coherence", "prefetch", "eviction", "access-counters")
_CAUSES: dict[object, str] = dict(enumerate(_WORDS_OF_CAUSES, 1))
_WAITS = ("Unknown", "Event sync", "Stream wait event", "Stream sync", "Context sync")
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
#: Columns of operations that differ from row to row, before those of which a trace has few combinations.
_COLUMNS = ("start", "end", "correlationId", "bytes")
_COPY_COLUMNS = (
    *(
        "globalPid",
        "deviceId",
        "copyKind",
        "srcKind",
        "dstKind",
        "srcDeviceId",
        "dstDeviceId",
        "migrationCause",
    ),
    "copyCount",
)


def is_nsight(head: bytes) -> bool:
    """Whether a file begins as any SQLite database; read_nsight() refuses those of other programs."""
    return head.startswith(MAGIC)


def read_nsight(path: Path) -> TraceRead:
    """Reads an export.

    Raises:
        OSError: It cannot be read.
        FormatError: It is a database of another program, or damaged.
    """
    with path.open("rb") as file:  # for the errors of the system, which SQLite replaces by its own
        if file.read(len(MAGIC)) != MAGIC:
            raise FormatError("the database is compressed", hint="decompress it: gunzip FILE")
    address = f"file:{percent_encoded(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        database = sqlite3.connect(address, uri=True)
        try:
            return _Reader(database).read()
        finally:
            database.close()
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:  # also of the text of its errors
        hint = "export the report again: nsys export --type sqlite FILE.nsys-rep"
        raise FormatError(f"the database is damaged: {error}", hint=hint) from error


class _Copy(NamedTuple):
    """What copies of one kind have in common."""

    what: What
    named: str  # where the export does not have the call
    process: int
    source: End
    destination: End
    detail: tuple[tuple[str, str | int], ...]
    members: int  # of a batch that is one row


class _Reader:
    """Reads the tables of one export, kernels first."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.tables = ExportTables(database)
        self.found = TraceCollector(NSIGHT)
        self._refuse_others()
        self.copies = self.tables.words("ENUM_CUDA_MEMCPY_OPER", _COPIES)
        self.memories = self.tables.words("ENUM_CUDA_MEM_KIND", _MEMORIES)
        self._devices = self._read_devices()
        self._host = self.tables.host()
        self._programs = self.tables.programs()
        self._ranks = self.tables.ranks()
        self._processes: dict[int, int] = {}

    def _refuse_others(self) -> None:
        names = self.tables.names
        if any(name.startswith("rocpd_") for name in names):
            hint = "export it with sizes: rocprofv3 --output-format json -- COMMAND"
            raise FormatError("it is a database of rocprofv3 (rocpd)", hint=hint)
        if "StringIds" not in names or not any(
            name.startswith(("CUPTI_", "MPI_", "NVTX_", "CUDA_", "TARGET_")) for name in names
        ):
            known = ", ".join(f"'{name:.30}'" for name in sorted(names)[:3])
            raise FormatError(
                f"it is an SQLite database of another program, with the tables {known or '(none)'}",
                hint="byteways reads the exports of Nsight Systems: nsys export --type sqlite FILE.nsys-rep",
            )

    def read(self) -> TraceRead:
        """Reads all tables that are known."""
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"):
            for row in self.tables.rows(table, ("start", "end", "deviceId", "globalPid"), order="start"):
                self.found.kernel(self.device(row, "deviceId"), row["start"], row["end"], row.number, table)
        self._read_copies()
        self._read_sets()
        self._read_waits()
        self._read_allocations()
        self._read_faults()
        read_messages(self.tables, self.found, self.process)
        return self.found.read()

    def process(self, serial: object) -> int:
        """Returns the index of the process of a serialized identifier of a process or thread."""
        pid = (serial >> 24) & 0xFFFFFF if isinstance(serial, int) else 0
        index = self._processes.get(pid)
        if index is None:
            program = self._programs.get(pid, "")
            index = self.found.process(pid, self._host, program, self._ranks.get(pid))
            self._processes[pid] = index
        return index

    def device(self, row: Row, column: str) -> str | None:
        """Returns the GPU of a row, by the machine's numbers where the export has them."""
        number = row[column]
        if not isinstance(number, int) or not 0 <= number < 1 << 16:
            return None
        serial = row["globalPid"]
        pid = (serial >> 24) & 0xFFFFFF if isinstance(serial, int) else 0
        return f"gpu{self._devices.get((pid, number), number)}"

    def _read_devices(self) -> dict[tuple[int, int], int]:
        rows = self.tables.rows("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"))
        found = {}
        for row in rows:
            pid, number, device = row["pid"], row["cudaId"], row["gpuId"]
            if isinstance(pid, int) and isinstance(number, int) and isinstance(device, int):
                found[pid, number] = device
        return found

    def _called(self, row: Row, previous: Row | None) -> tuple[str | None, int | None]:
        """Returns the call that began an operation, and the time in it: 0 for a further one of the call."""
        code = row["called"]
        if code is None or not (name := self.tables.string(code)):
            return None, None
        call = plain_call(name)
        begin, end = row["called_at"], row["called_until"]
        if not moves_memory(call) or not isinstance(begin, int) or not isinstance(end, int):
            return call, None
        same = previous is not None and all(
            row[column] == previous[column] for column in ("correlationId", "globalPid")
        )
        return call, 0 if same else end - begin

    def _timed(
        self, table: str, columns: tuple[str, ...]
    ) -> Iterator[tuple[Row, str | None, int | None, int | None, int | None]]:
        """Yields rows of operations with their call, the time in it, begin, and duration.

        CUPTI writes 0 for both times of an operation that it could not time.
        """
        previous = None
        for row in self.tables.rows(table, (*_COLUMNS, *columns), calls=_CALLS):
            call, call_ns = self._called(row, previous)
            previous = row
            begin, end = row.values[:2]
            if begin == end == 0:
                yield row, call, call_ns, None, None
            elif isinstance(begin, int) and isinstance(end, int):
                yield row, call, call_ns, begin, end - begin
            else:
                self.found.refuse(row.number, "its times are no numbers", table)

    def _read_copies(self) -> None:
        first, last = len(_COLUMNS), len(_COLUMNS) + len(_COPY_COLUMNS)
        kinds: dict[tuple[object, ...], _Copy] = {}
        for row, call, call_ns, begin, time in self._timed("CUPTI_ACTIVITY_KIND_MEMCPY", _COPY_COLUMNS):
            if not self._is_sized(row):
                continue
            kind = kinds.get(row.values[first:last])
            if kind is None:
                kind = kinds[row.values[first:last]] = self._copy_of(row)
            size, members = whole(row["bytes"]), kind.members
            if size is None or size % members:
                members = 1
            operation = TracedOperation(
                kind.what,
                call or kind.named,
                None if size is None else size // members,
                begin,
                time,
                kind.process,
                kind.source,
                kind.destination,
                call_ns=call_ns,
                beside_kernels=True,
                detail=kind.detail,
                count=members,
            )
            self.found.add(operation, row.number, row.table)

    def _copy_of(self, row: Row) -> _Copy:
        """Returns what all copies have in common that have the same values in _COPY_COLUMNS."""
        word = self.copies.get(row["copyKind"], "Unknown")
        migration = word.startswith("Unified")
        letters = direction_of(word)
        own = self.device(row, "deviceId")
        devices = (self.device(row, "srcDeviceId"), self.device(row, "dstDeviceId"))
        memories = (self._memory(row, "srcKind"), self._memory(row, "dstKind"))
        ends = copy_ends(letters, memories, devices if letters == ("P", "P") else (own, own))
        named = f"Memcpy {letters[0]}to{letters[1]}" if letters else "Memcpy"
        if migration:
            named = "managed memory"
        members = max(1, whole(row["copyCount"]) or 1)
        cause = _CAUSES.get(row["migrationCause"]) if migration else None
        detail = (("cause", cause),) if cause else ()
        process = self.process(row["globalPid"])
        return _Copy("migration" if migration else "copy", named, process, *ends, detail, members)

    def _read_sets(self) -> None:
        for row, call, call_ns, begin, time in self._timed(
            "CUPTI_ACTIVITY_KIND_MEMSET", ("globalPid", "deviceId", "memKind")
        ):
            if not self._is_sized(row):
                continue
            end = End(self._memory(row, "memKind"), self.device(row, "deviceId"))
            operation = TracedOperation(
                *("set", call or "Memset", whole(row["bytes"]), begin, time, self.process(row["globalPid"])),
                destination=end,
                call_ns=call_ns,
                beside_kernels=True,
            )
            self.found.add(operation, row.number, row.table)

    def _read_waits(self) -> None:
        words = self.tables.words("ENUM_CUPTI_SYNC_TYPE", _WAITS)
        for row, call, _, begin, time in self._timed(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", ("globalPid", "deviceId", "syncType")
        ):
            word = words.get(row["syncType"], "Unknown")
            in_call = None if "wait" in word.lower() else time  # a stream waits there, not the caller
            operation = TracedOperation(
                *("synchronisation", call or word, 0, begin, time, self.process(row["globalPid"])),
                destination=End(device=self.device(row, "deviceId")),
                call_ns=in_call,
                waiting_ns=in_call,
            )
            self.found.add(operation, row.number, row.table)

    def _read_allocations(self) -> None:
        words = self.tables.words("ENUM_CUDA_DEV_MEM_EVENT_OPER", ("Allocation", "Deallocation"))
        columns = (
            "start",
            "globalPid",
            "deviceId",
            "bytes",
            "memKind",
            "memoryOperationType",
            "correlationId",
        )
        rows = self.tables.rows("CUDA_GPU_MEMORY_USAGE_EVENTS", columns, calls=_CALLS)
        for row in rows:
            if not self._is_sized(row):
                continue
            release = "dealloc" in words.get(row["memoryOperationType"], "").lower()
            what: What = "release" if release else "allocation"
            name = self.tables.string(row["called"])
            call = plain_call(name) if name and other_call(plain_call(name)) else what
            operation = TracedOperation(
                *(what, call, whole(row["bytes"]), whole(row["start"]), None, self.process(row["globalPid"])),
                destination=End(self._memory(row, "memKind"), self.device(row, "deviceId")),
            )
            self.found.add(operation, row.number, row.table)

    def _read_faults(self) -> None:
        columns = ("start", "end", "globalPid", "deviceId", "numberOfPageFaults")
        for row in self.tables.rows("CUDA_UM_GPU_PAGE_FAULT_EVENTS", columns):
            begin, end = row["start"], row["end"]
            time = end - begin if isinstance(begin, int) and isinstance(end, int) else None
            operation = TracedOperation(
                *("fault", "GPU page fault", 0, whole(begin), time, self.process(row["globalPid"])),
                destination=End("managed", self.device(row, "deviceId")),
                count=whole(row["numberOfPageFaults"]) or 1,
            )
            self.found.add(operation, row.number, row.table)
        for row in self.tables.rows("CUDA_UM_CPU_PAGE_FAULT_EVENTS", ("start", "globalPid")):
            process = self.process(row["globalPid"])
            fault = TracedOperation(
                "fault", "CPU page fault", 0, whole(row["start"]), None, process, destination=End("managed")
            )
            self.found.add(fault, row.number, row.table)

    def _is_sized(self, row: Row) -> bool:
        """Whether the bytes of a row are a number, or no column of this version; else a mistake."""
        if row["bytes"] is None or isinstance(row["bytes"], int):
            return True
        self.found.refuse(row.number, f"'{row['bytes']!s:.30}' is no number of bytes", row.table)
        return False

    def _memory(self, row: Row, column: str) -> str | None:
        return memory_of(self.memories.get(row[column]))
