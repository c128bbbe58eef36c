"""What the readers of traces share: they add processes, kernels and operations, and get what was watched."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from byteways.base.quantities import mistake_in_quantity, quantity_or_none
from byteways.ext.audit.imported.reader import UnreadPlace
from byteways.ext.watch.bins import Bin, End, Process, Watched, What
from byteways.ext.watch.traces.overlap import BusyDevices
from byteways.ext.watch.traces.thinning import BinTable, TimeLineThinner, joined_lines

#: Mistakes that are named; the rest are counted.
MOST_NAMED_MISTAKES = 100
#: Behind the name of a device: its kernels of collectives.
_OF_COLLECTIVES = "/collectives"
#: Whether size, time, time in the call, waiting and overlap are known.
_Known = tuple[bool, bool, bool, bool, bool]
#: What, method, process, source, destination, ranks and detail.
_Kind = tuple[What, str, int, End, End, int | None, tuple[tuple[str, str | int], ...], _Known]


class TracedOperation(msgspec.Struct, frozen=True, gc=False):
    """An operation of a trace. Times in ns; None: the trace does not say."""

    what: What
    method: str
    size: int | None  # in bytes
    begin_ns: int | None = None  # by the clock of the trace
    time_ns: int | None = None
    process: int = 0
    source: End = End()
    destination: End = End()
    ranks: int | None = None
    call_ns: int | None = None
    waiting_ns: int | None = None
    beside_kernels: bool = False  # whether its overlap with kernels of its devices is asked for
    detail: tuple[tuple[str, str | int], ...] = ()
    count: int = 1


@dataclass
class TraceRead:
    """What a trace contains."""

    format: str  # name of its row in formats.py
    watched: Watched
    mistakes: list[UnreadPlace] = field(default_factory=list)  # at most MOST_NAMED_MISTAKES
    unread: int = 0  # events or rows that could not be read, those of `mistakes` included


class TraceCollector:
    """Collects the contents of one trace. Kernels come before the operations that may overlap them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.mistakes: list[UnreadPlace] = []
        self.unread = 0
        self.kernels_observed = False
        self.busy = BusyDevices()
        self._devices: dict[tuple[str, str | None, str | None], tuple[str, ...]] = {}
        self._processes: list[Process] = []
        self._spans: dict[int, tuple[int, int]] = {}
        self._table: BinTable[_Kind] = BinTable()
        self._line = TimeLineThinner()

    def process(self, pid: int, host: str = "", program: str = "", rank: int | None = None) -> int:
        """Adds a process and returns its index."""
        self._processes.append(Process(pid, host, program, rank, collectors=[self.name]))
        return len(self._processes) - 1

    def change_process(self, index: int, **fields: object) -> None:
        """Sets fields of a process that are known later: rank, host, lost."""
        self._processes[index] = msgspec.structs.replace(self._processes[index], **fields)

    def lose(self, process: int, count: int) -> None:
        """Counts operations that the profiler itself says it did not record."""
        self.change_process(process, lost=self._processes[process].lost + count)

    def refuse(self, line: int | None, what: str, place: str = "") -> None:
        """Notes an event or row that cannot be read.

        Args:
            line: Its line or row from 1; None: `place` says where it is.
            what: Completes "line 7: …".
            place: The table or the pointer into a document.
        """
        self.unread += 1
        if len(self.mistakes) < MOST_NAMED_MISTAKES:
            self.mistakes.append(UnreadPlace(line, f"{place}: {what}" if place else what))

    def kernel(
        self,
        device: str | None,
        begin: object,
        end: object,
        line: int | None = None,
        place: str = "",
        *,
        collective: bool = False,
    ) -> None:
        """Adds a kernel: one of a collective overlaps copies alone. Line and place as of refuse()."""
        self.kernels_observed = True
        wrong = _wrong_interval(begin, end)
        if wrong:
            self.refuse(line, wrong, place)
        elif device is not None and isinstance(begin, int) and isinstance(end, int):
            self.busy.add(f"{device}{_OF_COLLECTIVES}" if collective else device, begin, end)

    def add(self, operation: TracedOperation, line: int | None = None, place: str = "") -> bool:
        """Adds an operation, or a mistake if its size or times are impossible. Returns whether it is good.

        Args:
            operation: What is added.
            line: As of refuse().
            place: As of refuse().
        """
        if wrong := _wrong(operation):
            self.refuse(line, wrong, place)
            return False
        overlap = self._overlap(operation) if operation.beside_kernels else None
        time, call, waiting = operation.time_ns, operation.call_ns, operation.waiting_ns
        size = operation.size
        known: _Known = (
            size is not None,
            time is not None,
            call is not None,
            waiting is not None,
            overlap is not None,
        )
        kind: _Kind = (
            operation.what,
            operation.method,
            operation.process,
            operation.source,
            operation.destination,
            operation.ranks,
            operation.detail,
            known,
        )
        sums = self._table.sums_of(kind, operation.process, size or 0, operation.count)
        sums.time_ns += time or 0
        sums.call_ns += call or 0
        sums.waiting_ns += waiting or 0
        sums.overlap_ns += overlap or 0
        if operation.begin_ns is not None:
            self._note_time(operation, operation.begin_ns)
        return True

    def _overlap(self, operation: TracedOperation) -> int | None:
        begin, time = operation.begin_ns, operation.time_ns
        if not self.kernels_observed or begin is None or time is None:
            return None
        key = (operation.what, operation.source.device, operation.destination.device)
        devices = self._devices.get(key)
        if devices is None:
            devices = tuple(sorted({device for device in key[1:] if device is not None}))
            if operation.what not in ("collective", "message"):
                devices += tuple(f"{device}{_OF_COLLECTIVES}" for device in devices)
            self._devices[key] = devices
        return self.busy.overlap(devices, begin, begin + time) if devices else None

    def _note_time(self, operation: TracedOperation, begin: int) -> None:
        end = begin + (operation.time_ns or operation.call_ns or 0)
        known = self._spans.get(operation.process)
        if known is None or begin < known[0] or end > known[1]:
            first, last = known or (begin, end)
            self._spans[operation.process] = (min(begin, first), max(end, last))
        if operation.size:
            self._line.add(operation.what, operation.process, begin, operation.size * operation.count)

    def read(self) -> TraceRead:
        """Returns what was collected, bins in a fixed order."""
        processes = [
            process
            if (span := self._spans.get(index)) is None
            else msgspec.structs.replace(process, duration_ns=span[1] - span[0])
            for index, process in enumerate(self._processes)
        ]
        bins = sorted(self._bins(), key=_order)
        return TraceRead(
            self.name, Watched(processes, bins, self._line.time_line()), self.mistakes, self.unread
        )

    def _bins(self) -> list[Bin]:
        found = []
        for (kind, _, _), sums in self._table.sums.items():
            what, method, process, source, destination, ranks, detail, known = kind
            found.append(
                Bin(
                    what=what,
                    method=method,
                    count=sums.count,
                    bytes=sums.bytes,
                    size_from=sums.size_from,
                    size_to=sums.size_to,
                    sized=known[0],
                    process=process,
                    source=source,
                    destination=destination,
                    ranks=ranks,
                    time_ns=sums.time_ns if known[1] else None,
                    call_ns=sums.call_ns if known[2] else None,
                    waiting_ns=sums.waiting_ns if known[3] else None,
                    overlap_ns=sums.overlap_ns if known[4] else None,
                    detail=dict(detail),
                )
            )
        return found


def _order(one: Bin) -> tuple[object, ...]:
    return (
        *(one.process, one.what, one.method, str(one.source), str(one.destination), one.ranks or 0),
        *(str(one.detail), one.size_from, one.size_to, one.sized, str(one.time_ns), str(one.call_ns)),
    )


def _wrong(operation: TracedOperation) -> str:
    """Returns what is impossible about an operation; empty: nothing."""
    for value, kind in (
        (operation.size, "size"),
        (operation.count or -1, "count"),
        (operation.time_ns, "time"),
        (operation.call_ns, "time"),
        (operation.waiting_ns, "time"),
        (operation.begin_ns, "moment"),
    ):
        if value is not None and (wrong := mistake_in_quantity(value, kind)):
            return f"'{value!s:.24}' {wrong}"
    return ""


def _wrong_interval(begin: object, end: object) -> str:
    for time in (begin, end):
        if quantity_or_none(time, "moment") is None:
            return f"'{time!s:.40}' is not a time"
    return "" if begin <= end else "it ends before it begins"  # type: ignore[operator]


def joined(reads: list[TraceRead]) -> Watched:
    """Returns what several traces contain together, as of the ranks of one job.

    Clocks of traces differ: the time line of each begins at its own first operation.
    """
    processes: list[Process] = []
    bins: list[Bin] = []
    lines = []
    for read in reads:
        first = len(processes)
        processes += read.watched.processes
        bins += [msgspec.structs.replace(one, process=one.process + first) for one in read.watched.bins]
        if read.watched.timeline is not None:
            lines.append((first, read.watched.timeline))
    return Watched(processes, bins, joined_lines(lines))
