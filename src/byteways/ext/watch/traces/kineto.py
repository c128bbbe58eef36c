"""Traces of PyTorch's profiler (Kineto): JSON in the form of Chrome's trace events, compressed or not.

Times are in µs, to a ns where the trace has a base time; an older one counts from 1970, of which a double
holds a quarter of a µs. Devices are those that the process sees, in its own numbering. A kernel of NCCL has
its collective in its own arguments, or in the `record_param_comms` with its external id (older versions of
PyTorch).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from byteways.base.decoding import decoded
from byteways.ext.watch.bins import End
from byteways.ext.watch.traces.collecting import TraceCollector, TracedOperation, TraceRead
from byteways.ext.watch.traces.collectives import (
    SIZE_OF_SCALAR,
    collective_of,
    kernel_collective,
    size_of_all_blocks,
)
from byteways.ext.watch.traces.content import ElementsOfArray, json_of, without_infinities
from byteways.ext.watch.traces.memories import (
    copy_ends,
    direction_of,
    memory_of,
    moves_memory,
    other_call,
    plain_call,
)
from byteways.machine.foreign_text import FormatError

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


class _Rest(msgspec.Struct):
    """A trace without its events."""

    traceEvents: Any = None  # noqa: N815 the format's name
    distributedInfo: Any = None  # noqa: N815
    deviceProperties: Any = None  # noqa: N815


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
    found = TraceCollector(KINETO)
    events = _Events(path, found)
    reader = _Reader(found)
    for index, event in events.of_first_pass():
        reader.look_at(index, event)
    rest = events.about()
    reader.know(rest.distributedInfo)
    for index, event in events.again():
        reader.read(index, event)
    return _with_listed_devices(found.read(), rest.deviceProperties, counts_all=reader.counts_all)


class _Events:
    """The events of a trace, which are read twice: kernels and calls, then what needs them."""

    def __init__(self, path: Path, found: TraceCollector) -> None:
        self._found = found
        self._first = True
        self._index = 0  # of the first event of a part
        self._elements = ElementsOfArray(path, "traceEvents", self._decoded)

    def of_first_pass(self) -> Iterator[tuple[int, _Event]]:
        """Yields events with their places; elements that are none become mistakes."""
        yield from self._pass()
        self._first = False

    def again(self) -> Iterator[tuple[int, _Event]]:
        """Yields them again."""
        return self._pass()

    def about(self) -> _Rest:
        """Returns the trace without its events. Raises FormatError if the document is no trace."""
        try:
            rest: _Rest = json_of(self._elements.rest, _Rest)
        except msgspec.ValidationError as error:
            raise FormatError(f"it has not the form of a trace: {error}") from error
        if rest.traceEvents != []:
            raise FormatError(
                "it has no list of 'traceEvents'", hint="export it again: profiler.export_chrome_trace(FILE)"
            )
        return rest

    def _pass(self) -> Iterator[tuple[int, _Event]]:
        self._index = 0
        for part in self._elements:
            for index, event in enumerate(part, self._index):
                if event is not None:
                    yield index, event
            self._index += len(part)

    def _decoded(self, text: bytes) -> list[_Event | None]:
        """Decodes a part. Raises ValueError if it is no JSON."""
        try:
            events: list[_Event | None] = _with_numbers(text, list[_Event])
        except msgspec.ValidationError:
            raws: list[msgspec.Raw] = _with_numbers(text, list[msgspec.Raw])
            events = [self._event(number, raw) for number, raw in enumerate(raws)]
        return events

    def _event(self, number: int, raw: msgspec.Raw) -> _Event | None:
        try:
            event: _Event = decoded(bytes(raw), _Event)
            return event
        except ValueError as error:
            if self._first:
                self._found.refuse(None, str(error), f"/traceEvents/{self._index + number}")
            return None


def _with_numbers(text: bytes, kind: Any) -> Any:
    """Decodes JSON, and numbers that it lacks as null. Raises ValueError."""
    try:
        return decoded(text, kind)
    except msgspec.ValidationError:
        raise
    except ValueError:
        if (without := without_infinities(text)) is None:
            raise
        return decoded(without, kind)


class _Reader:
    """Reads the events of one process, kernels first."""

    def __init__(self, found: TraceCollector) -> None:
        self.found = found
        self.library = "nccl"
        self.rank: int | None = None
        self.process = 0
        self.counts_all = False  # whether CPUs may be counted in numbers of devices: by ROCm's profiler
        self.calls: dict[int, tuple[str, int]] = {}
        self.sizes: dict[int, int] = {}  # that calls have, where the operations do not
        self.comms: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        self._program, self._pid = "", 0
        self._has_collectives = False  # kernels of collectives
        self._lacks_names = False  # some of them do not name their collective

    def look_at(self, index: int, event: _Event) -> None:
        """Takes an event in the first pass: kernels, and what operations have of others."""
        category, name = event.cat, event.name
        if event.ph == "M" and name == "process_name" and not self._program:
            self._program, self._pid = _process_of(event)
        if event.ph != "X" or not isinstance(name, str) or not isinstance(category, str):
            return
        if category in _KERNELS:
            collective = kernel_collective(name) is not None
            self._read_kernel(index, event, collective)
            self._has_collectives = self._has_collectives or collective
            if collective and b'"Collective name"' not in bytes(event.args):
                self._lacks_names = True
        elif name == _COMMS:
            args = _object(event.args) or {}
            if args.get("Collective name") not in (None, *_EMPTY) and "External id" in args:
                self.comms[str(args["External id"])].append(args)
        elif category in _CALLS:
            self.counts_all = self.counts_all or name.startswith("hip")
            self._note_call(index, event)
            self._pid = event.pid if type(event.pid) is int and not self._pid else self._pid

    def know(self, about: Any) -> None:
        """Takes what the trace says of its process, after the first pass."""
        about = about if isinstance(about, dict) else {}
        self.library = "" if about.get("backend", "nccl") != "nccl" else "nccl"
        rank = about.get("rank")
        self.rank = rank if type(rank) is int and 0 <= rank < 1 << 31 else None
        pid = self._pid if 0 <= self._pid < 1 << 31 else 0
        self.process = self.found.process(pid, "", self._program, self.rank)

    def read(self, index: int, event: _Event) -> None:
        """Takes an event in the second pass: operations."""
        category, name = event.cat, event.name
        if event.ph != "X" or not isinstance(name, str) or not isinstance(category, str):
            return
        if category in _COPIES:
            self._read_copy(index, event)
        elif category in _SETS:
            self._read_set(index, event)
        elif category in _KERNELS:
            if kernel_collective(name) is not None:
                self._read_collective(index, event)
        elif name == _COMMS:
            self._read_comms(index, event)
        elif category in _CALLS and not moves_memory(name) and other_call(plain_call(name)):
            self._read_call(index, event)

    def _refuse(self, index: int, what: str) -> None:
        self.found.refuse(None, what, f"/traceEvents/{index}")

    def _add(self, index: int, operation: TracedOperation) -> None:
        self.found.add(operation, place=f"/traceEvents/{index}")

    def _args(self, index: int, event: _Event) -> dict[str, Any] | None:
        """Returns the arguments of an event; None, and a mistake, if they are no object."""
        if (args := _object(event.args)) is None:
            self._refuse(index, "its arguments are no object")
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

    def _note_call(self, index: int, event: _Event) -> None:
        if moves_memory(event.name):
            args = self._args(index, event) or {}
            correlation, size = args.get("correlation"), args.get("size")
            if type(correlation) is int and (times := self._times(index, event)):
                self.calls[correlation] = (plain_call(event.name), times[1])
                if type(size) is int:
                    self.sizes[correlation] = size

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
        correlation = args.get("correlation")
        of_call = self.sizes.get(correlation) if isinstance(correlation, int) else None
        size = args.get("bytes", args.get("copy_bytes", of_call))
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

    def _read_comms(self, index: int, event: _Event) -> None:
        """Reads the call of a collective, where no kernels show it."""
        if self._has_collectives:
            return
        args = self._args(index, event) or {}
        if args.get("Collective name") and (times := self._times(index, event)):
            self._add_collective(index, args, None, {}, (times[0], None), call_ns=times[1])

    def _read_collective(self, index: int, event: _Event) -> None:
        """Reads the kernel of a collective, which takes the size of its call."""
        own = self._args(index, event) or {}
        calls = (self.comms.get(str(own.get("External id"))) if self._lacks_names else None) or [{}]
        args = own if "Collective name" in own else {**own, **calls.pop(0)}
        known = kernel_collective(event.name)
        if known is None or (times := self._times(index, event)) is None:
            return
        if known[0] is None and collective_of(str(args.get("Collective name", ""))) is None:
            self._add_unnamed(index, event, own, times)
        else:
            self._add_collective(index, args, known[0], known[1], times)

    def _add_unnamed(self, index: int, event: _Event, args: dict[str, Any], times: tuple[int, int]) -> None:
        """Adds the kernel of a collective that nothing names, as RCCL has one for all, as its own method."""
        device = _device(args.get("device")) or _device(event.pid)
        end = End("device" if device else None, device)
        method = event.name.partition("(")[0].strip()[:80]
        operation = TracedOperation(
            *("collective", method, None, *times, self.process, end), beside_kernels=True
        )
        self._add(index, operation)

    def _add_collective(
        self,
        index: int,
        args: dict[str, Any],
        name: str | None,
        detail: dict[str, str],
        times: tuple[int, int | None],
        call_ns: int | None = None,
    ) -> None:
        called = str(args.get("Collective name", ""))
        call = collective_of(called) or name
        if called in _EMPTY:
            return
        if call is None:
            self._refuse(index, f"its collective '{called[:40]}' is not known")
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


def _object(text: msgspec.Raw) -> dict[str, Any] | None:
    """Returns an object; None: it is none."""
    try:
        found = json_of(bytes(text), Any)
    except (FormatError, msgspec.ValidationError):
        return None
    return found if isinstance(found, dict) else None


def _with_listed_devices(read: TraceRead, listed: Any, *, counts_all: bool) -> TraceRead:
    """Returns a trace with devices as the file lists them.

    ROCm's profiler numbers CPUs and GPUs together: gpu9 may be the only GPU of the list, whose number is 0.
    Where the numbers do not decide which GPU of the list it was, the device is unknown.

    Args:
        read: With devices as events number them.
        listed: The list of the file.
        counts_all: Whether numbers may count CPUs.
    """
    rows = listed if isinstance(listed, list) else []
    known = sorted({row["id"] for row in rows if isinstance(row, dict) and type(row.get("id")) is int})
    ends = {end.device for one in read.watched.bins for end in (one.source, one.destination)}
    seen = sorted(int(device.removeprefix("gpu")) for device in ends if device)
    if not known or seen == known or (not counts_all and {*seen} <= {*known}):
        return read
    numbers = dict(zip(seen, known, strict=True)) if len(seen) == len(known) else {}
    names = {f"gpu{number}": f"gpu{numbers[number]}" if numbers else None for number in seen}

    def renamed(end: End) -> End:
        return end if end.device is None else msgspec.structs.replace(end, device=names[end.device])

    bins = [
        msgspec.structs.replace(one, source=renamed(one.source), destination=renamed(one.destination))
        for one in read.watched.bins
    ]
    return replace(read, watched=msgspec.structs.replace(read.watched, bins=bins))


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
