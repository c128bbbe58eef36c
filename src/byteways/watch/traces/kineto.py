"""Traces of PyTorch's profiler (Kineto): JSON in the form of Chrome's trace events, compressed or not.

Times are in µs, to a ns where the trace has a base time; an older one counts from 1970, of which a double
holds a quarter of a µs. Devices are those that the process sees, in its own numbering. A kernel of NCCL has
its collective in its own arguments, or in the `record_param_comms` with its external id (older versions of
PyTorch).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from byteways.decoding import decoded
from byteways.topology.foreign_text import FormatError
from byteways.watch.bins import End
from byteways.watch.traces.collecting import TraceCollector, TracedOperation, TraceRead
from byteways.watch.traces.collectives import (
    SIZE_OF_SCALAR,
    collective_of,
    kernel_collective,
    size_of_all_blocks,
)
from byteways.watch.traces.content import document_of, json_of
from byteways.watch.traces.memories import (
    copy_ends,
    direction_of,
    memory_of,
    moves_memory,
    other_call,
    plain_call,
)

KINETO = "kineto"
#: One of these keys is among the first of each trace.
_KEYS = (b'"traceEvents"', b'"schemaVersion"', b'"deviceProperties"', b'"baseTimeNanoseconds"')
#: Categories of events, of which older versions wrote other spellings.
_KERNELS, _COPIES, _SETS = (
    ("kernel", "Kernel"),
    ("gpu_memcpy", "Memcpy", "memory_copy"),
    ("gpu_memset", "Memset"),
)
_CALLS = ("cuda_runtime", "cuda_driver", "Runtime", "hip_runtime")
_COMMS = "record_param_comms"
#: Collectives whose blocks lie together in what a rank sends, or gets; messages are what is received.
_WHOLE_SENT, _WHOLE_GOT = ("ReduceScatter", "AllToAll", "AllToAllv", "Scatter"), ("AllGather", "Recv")
#: Calls without a size that are waited for or do nothing on a device.
_EMPTY = ("wait", "init", "start_coalescing", "end_coalescing")


class _Event(msgspec.Struct, gc=False):
    """An event; arguments are decoded where they are needed."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    ts: Any = None
    dur: Any = None
    pid: Any = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _Where(msgspec.Struct, gc=False):
    """What matters of the arguments of a kernel."""

    device: Any = None


class _Trace(msgspec.Struct, gc=False):
    traceEvents: list[_Event] | None = None  # noqa: N815 the format's name
    distributedInfo: Any = None  # noqa: N815


class _LooseTrace(msgspec.Struct):
    """A trace with events that are no objects."""

    traceEvents: list[msgspec.Raw] | None = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815


def is_kineto(head: bytes) -> bool:
    """Whether a content begins as a trace of this form."""
    start = head.lstrip()
    return start.startswith(b"{") and any(key in head for key in _KEYS)


def read_kineto(path: Path) -> TraceRead:
    """Reads a trace.

    Raises:
        OSError: It cannot be read.
        FormatError: It is no JSON, cut, too large, or has no events.
    """
    content = document_of(path)
    found = TraceCollector(KINETO)
    try:
        trace = json_of(content, _Trace)
        events, about = trace.traceEvents, trace.distributedInfo
    except msgspec.ValidationError:
        events, about = _loose_events(content, found)
    if events is None:
        raise FormatError(
            "it has no list of 'traceEvents'", hint="export it again: profiler.export_chrome_trace(FILE)"
        )
    _Reader(found, about).read(events)
    return found.read()


def _loose_events(content: bytes, found: TraceCollector) -> tuple[list[_Event] | None, Any]:
    """Returns the events of a trace of which some are no events: these are mistakes."""
    try:
        trace = json_of(content, _LooseTrace)
    except msgspec.ValidationError as error:
        raise FormatError(f"it has not the form of a trace: {error}") from error
    events = []
    for index, raw in enumerate(trace.traceEvents or ()):
        try:
            events.append(decoded(bytes(raw), _Event))
        except ValueError as error:
            found.refuse(None, str(error), f"/traceEvents/{index}")
    return events if trace.traceEvents is not None else None, trace.distributedInfo


class _Reader:
    """Reads the events of one process, kernels first."""

    def __init__(self, found: TraceCollector, about: Any) -> None:
        self.found = found
        about = about if isinstance(about, dict) else {}
        self.library = "" if about.get("backend", "nccl") != "nccl" else "nccl"
        rank = about.get("rank")
        self.rank = rank if type(rank) is int and 0 <= rank < 1 << 31 else None
        self.process = 0
        self.calls: dict[int, tuple[str, int]] = {}
        self.comms: dict[Any, list[dict[str, Any]]] = defaultdict(list)

    def read(self, events: list[_Event]) -> None:
        """Reads all events."""
        chosen: list[tuple[int, _Event, str]] = []
        collectives: list[tuple[int, _Event]] = []
        comms: list[tuple[int, _Event]] = []
        program, pid = "", 0
        for index, event in enumerate(events):
            category, name = event.cat, event.name
            if event.ph == "M" and name == "process_name" and not program:
                program, pid = _process_of(event)
            if event.ph != "X" or not isinstance(name, str) or not isinstance(category, str):
                continue
            if category in _KERNELS:
                collective = kernel_collective(name) is not None
                self._read_kernel(index, event, collective)
                if collective:
                    collectives.append((index, event))
            elif category in _COPIES or category in _SETS:
                chosen.append((index, event, "copy" if category in _COPIES else "set"))
            elif name == _COMMS:
                comms.append((index, event))
            elif category in _CALLS:
                self._note_call(index, event, chosen)
                pid = event.pid if type(event.pid) is int and not pid else pid
        self.process = self.found.process(pid if 0 <= pid < 1 << 31 else 0, "", program, self.rank)
        for index, event, kind in chosen:
            {"copy": self._read_copy, "set": self._read_set, "call": self._read_call}[kind](index, event)
        self._read_collectives(collectives, comms)

    def _refuse(self, index: int, what: str) -> None:
        self.found.refuse(None, what, f"/traceEvents/{index}")

    def _add(self, index: int, operation: TracedOperation) -> None:
        self.found.add(operation, place=f"/traceEvents/{index}")

    def _args(self, index: int, event: _Event) -> dict[str, Any] | None:
        """Returns the arguments of an event; None, and a mistake, if they are no object."""
        try:
            args = json_of(bytes(event.args), Any)
        except (FormatError, msgspec.ValidationError):
            args = None
        if not isinstance(args, dict):
            self._refuse(index, "its arguments are no object")
            return None
        return args

    def _times(self, index: int, event: _Event) -> tuple[int, int] | None:
        """Returns begin and duration in ns; None, and a mistake, if they are none."""
        times = [_ns(event.ts), _ns(event.dur)]
        if times[0] is None or times[1] is None or times[0] < 0 or times[1] < 0:
            self._refuse(index, f"ts {event.ts!s:.30} and dur {event.dur!s:.30} are no time and duration")
            return None
        return times[0], times[1]

    def _read_kernel(self, index: int, event: _Event, collective: bool) -> None:
        if collective:  # read with its collective; here only as what copies may overlap
            begin, duration = _ns(event.ts), _ns(event.dur)
            if begin is None or duration is None or begin < 0 or duration < 0:
                return
            times: tuple[int, int] | None = (begin, duration)
        else:
            times = self._times(index, event)
        if times is not None:
            try:
                device = _device(decoded(bytes(event.args), _Where).device)
            except ValueError:
                device = None
            end = times[0] + times[1]
            self.found.kernel(device or _device(event.pid), times[0], end, collective=collective)

    def _note_call(self, index: int, event: _Event, chosen: list[tuple[int, _Event, str]]) -> None:
        if moves_memory(event.name):
            correlation = (self._args(index, event) or {}).get("correlation")
            if type(correlation) is int and (times := self._times(index, event)):
                self.calls[correlation] = (plain_call(event.name), times[1])
        elif other_call(plain_call(event.name)):
            chosen.append((index, event, "call"))

    def _called(self, args: dict[str, Any], otherwise: str) -> tuple[str, int | None]:
        """Returns the call of an operation and the time in it; 0 for a further operation of one call."""
        correlation = args.get("correlation")
        call = self.calls.get(correlation) if isinstance(correlation, int) else None
        if call is None or not isinstance(correlation, int):
            return otherwise, None
        self.calls[correlation] = (call[0], 0)
        return call

    def _read_copy(self, index: int, event: _Event) -> None:
        if (times := self._times(index, event)) is None or (args := self._args(index, event)) is None:
            return
        words = event.name.partition("(")[2].rpartition(")")[0].split(" -> ")
        memories = (memory_of(words[0]), memory_of(words[-1])) if len(words) == 2 else (None, None)
        own = _device(args.get("device")) or _device(event.pid)
        devices = (_device(args.get("fromDevice")) or own, _device(args.get("toDevice")) or own)
        source, destination = copy_ends(direction_of(event.name), memories, devices)
        call, call_ns = self._called(args, event.name.partition(" (")[0])
        size = args.get("bytes", args.get("copy_bytes"))
        operation = TracedOperation(
            *("copy", call, size if type(size) is int else None, *times, self.process, source, destination),
            call_ns=call_ns,
            beside_kernels=True,
        )
        self._add(index, operation)

    def _read_set(self, index: int, event: _Event) -> None:
        if (times := self._times(index, event)) is None or (args := self._args(index, event)) is None:
            return
        memory = memory_of(event.name.partition("(")[2].rpartition(")")[0])
        end = End(memory, _device(args.get("device")) or _device(event.pid))
        call, call_ns = self._called(args, "Memset")
        size = args.get("bytes")
        operation = TracedOperation(
            *("set", call, size if type(size) is int else None, *times, self.process),
            destination=end,
            call_ns=call_ns,
            beside_kernels=True,
        )
        self._add(index, operation)

    def _read_call(self, index: int, event: _Event) -> None:
        call = plain_call(event.name)
        kind = other_call(call)
        if kind is None or (times := self._times(index, event)) is None:
            return
        what, memory = kind
        waits = what == "synchronisation"
        operation = TracedOperation(
            *(what, call, 0 if waits else None, times[0], times[1] if waits else None, self.process),
            destination=End(memory),
            call_ns=times[1],
            waiting_ns=times[1] if waits else None,
        )
        self._add(index, operation)

    def _read_collectives(self, kernels: list[tuple[int, _Event]], comms: list[tuple[int, _Event]]) -> None:
        """Reads collectives: kernels, which take the sizes of their calls; without kernels the calls."""
        if not kernels:
            for index, event in comms:
                args = self._args(index, event) or {}
                if args.get("Collective name") and (times := self._times(index, event)):
                    self._add_collective(index, args, None, {}, (times[0], None), call_ns=times[1])
            return
        if any(b'"Collective name"' not in bytes(event.args) for _, event in kernels):
            for index, event in comms:
                args = self._args(index, event) or {}
                if args.get("Collective name") not in (None, *_EMPTY) and "External id" in args:
                    self.comms[str(args["External id"])].append(args)
        for index, event in kernels:
            own = self._args(index, event) or {}
            calls = self.comms.get(str(own.get("External id"))) or [{}]
            args = own if "Collective name" in own else {**own, **calls.pop(0)}
            known = kernel_collective(event.name)
            if known is not None and (times := self._times(index, event)):
                self._add_collective(index, args, known[0], known[1], times)

    def _add_collective(
        self,
        index: int,
        args: dict[str, Any],
        name: str | None,
        detail: dict[str, str],
        times: tuple[int, int | None],
        call_ns: int | None = None,
    ) -> None:
        call = collective_of(str(args.get("Collective name", ""))) or name
        if call is None or args.get("Collective name") in _EMPTY:
            return
        message = call in ("Send", "Recv", "SendRecv")
        source, destination = self._ends(args, call)
        ranks = args.get("Group size")
        method = f"nccl{call}" if name is not None or self.library else str(args["Collective name"])
        group, scalar = args.get("Process Group Name"), args.get("dtype")
        facts = {**detail, "group": group, "datatype": scalar}
        operation = TracedOperation(
            *("message" if message else "collective", method, _size(args, call), *times, self.process),
            *(source, destination, ranks if type(ranks) is int and not message and ranks > 0 else None),
            call_ns=call_ns,
            beside_kernels=name is not None,
            detail=tuple((key, value) for key, value in facts.items() if isinstance(value, str) and value),
        )
        self._add(index, operation)

    def _ends(self, args: dict[str, Any], call: str) -> tuple[End, End]:
        device = _device(args.get("device"))
        memory = None if device is None else "device"
        ranks = [args.get(key) for key in ("Src Rank", "Dst Rank")]
        source, destination = (rank if type(rank) is int and rank >= 0 else None for rank in ranks)
        if call == "Recv":
            return End(rank=source), End(memory, device, self.rank if destination is None else destination)
        if call == "Send" and source is None:
            source = self.rank
        return End(memory, device, source), End(rank=destination)


def _size(args: dict[str, Any], call: str) -> int | None:
    """Returns the size of an operation: of collectives that exchange blocks that of all blocks."""
    if call == "Barrier":
        return 0
    element = SIZE_OF_SCALAR.get(str(args.get("dtype")))
    sent, got = (
        args[name] if type(args.get(name)) is int else None for name in ("In msg nelems", "Out msg nelems")
    )
    if call in _WHOLE_SENT:
        count = sent
    elif call in _WHOLE_GOT:
        count = got
    else:
        ranks = args.get("Group size")
        count = size_of_all_blocks(call, sent, ranks if type(ranks) is int and ranks > 0 else None)
    return None if element is None or count is None else element * count


def _process_of(event: _Event) -> tuple[str, int]:
    """Returns the name and the identifier of the process that an event of metadata names."""
    try:
        args = decoded(bytes(event.args))
    except ValueError:
        return "", 0
    name = args.get("name") if isinstance(args, dict) else None
    named = isinstance(name, str) and type(event.pid) is int and event.pid > 0
    return (name, event.pid) if named else ("", 0)  # type: ignore[return-value]


def _device(number: object) -> str | None:
    return f"gpu{number}" if type(number) is int and 0 <= number < 1 << 16 else None


def _ns(value: object) -> int | None:
    """Returns a time in ns of a number of µs."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e16:
        return round(value * 1000)
    return None
