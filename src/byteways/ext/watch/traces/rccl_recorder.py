"""Calls that RCCL's recorder wrote (`RCCL_REPLAY_FILE=NAME.json`, ROCm 7): lines that only resemble JSON.

    { version : 1,
      AllReduce : [opCount : 0, …, count : 4, datatype : 7, …, context : [time : 1.5, …, captured : 0 …]]

A line is a call with the time at which it was made, in ms; how long it took is not recorded. A call inside a
stream capture is not executed: each launch of its graph is recorded again, without the mark.
"""

from __future__ import annotations

import re
from pathlib import Path

from byteways.ext.watch.bins import End
from byteways.ext.watch.traces.collecting import TraceCollector, TracedOperation, TraceRead
from byteways.ext.watch.traces.collectives import NAME_OF_CODE, SIZE_OF_CODE, size_of_all_blocks
from byteways.ext.watch.traces.content import lines_of_trace

RECORDER = "rccl-recorder"
_BEGINS = re.compile(rb"\s*\{\s*version\s*:\s*\d+")
_CALL = re.compile(r"\s*(\w+) : \[(.*)")
_FIELD = re.compile(r"(?<![\w.])([a-z][\w ]{0,40}?) : (-?[\w.()]+)")
_COUNTS = re.compile(r"sendcounts : \[([\d, ]*)\]")
#: NAME.PID.HOST.json: the recorder writes neither into the file.
_FILE = re.compile(r".*\.(\d{1,10})\.([^/]+?)\.json$")
_MESSAGES = ("Send", "Recv")
_COLLECTIVES = (
    *("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "AllReduceWithBias", "AllToAll"),
    *("AllToAllv", "Gather", "Scatter", "Bcast"),
)


def is_recorder(head: bytes) -> bool:
    """Whether a content begins as the recorder's."""
    return _BEGINS.match(head) is not None


def read_recorder(path: Path) -> TraceRead:
    """Reads a recording.

    Raises:
        OSError: It cannot be read.
        FormatError: It is no text.
    """
    found = TraceCollector(RECORDER)
    named = _FILE.match(path.name)
    process = found.process(int(named[1]) if named else 0, named[2] if named else "")
    for number, line in lines_of_trace(path):
        call = _CALL.match(line)
        if call is not None:
            _read_call(found, process, call[1], call[2], number)
        elif line.strip(" {},") and not line.strip().startswith("version"):
            found.refuse(number, "it is not a call")
    return found.read()


def _read_call(found: TraceCollector, process: int, name: str, text: str, line: int) -> None:
    known = (*_COLLECTIVES, *_MESSAGES, "MemAlloc", "MemFree")
    if name not in known:
        return
    fields = dict(_FIELD.findall(text))
    begin = _ms(fields.get("time"))
    if "]]" not in text or begin is None:
        found.refuse(line, f"{name} has no context with a time: it was cut")
        return
    if fields.get("captured") == "1":
        return
    device = _whole(fields.get("device"))
    end = End("device", f"gpu{device}" if device is not None else None)
    if name in ("MemAlloc", "MemFree"):
        what = "allocation" if name == "MemAlloc" else "release"
        size = _whole(fields.get("size")) if name == "MemAlloc" else None
        method = f"nccl{name}"
        found.add(TracedOperation(what, method, size, begin, process=process, destination=end), line)  # type: ignore[arg-type]
        return
    _add_collective(found, process, name, fields, _COUNTS.search(text), (begin, end, line))


def _add_collective(
    found: TraceCollector,
    process: int,
    name: str,
    fields: dict[str, str],
    counts: re.Match[str] | None,
    place: tuple[int, End, int],
) -> None:
    begin, end, line = place
    code, count = _whole(fields.get("datatype")), _whole(fields.get("count"))
    if counts is not None:
        count = sum(int(each) for each in counts[1].split(",") if each.strip().isdigit())
    if code is None or code >= len(SIZE_OF_CODE) or count is None:
        found.refuse(line, f"{name} has no count and datatype that are known")
        return
    rank, peer, ranks = (_whole(fields.get(key)) for key in ("globalrank", "root", "nranks"))
    source, destination, message = end, End(), name in _MESSAGES
    if message:
        own, other = End("device", end.device, rank), End(rank=peer)
        source, destination = (own, other) if name == "Send" else (other, own)
    operation = TracedOperation(
        *(
            "message" if message else "collective",
            f"nccl{name}",
            size_of_all_blocks(name, count * SIZE_OF_CODE[code], ranks),
            begin,
            None,
            process,
        ),
        *(source, destination, None if message else ranks or None),
        detail=(("datatype", NAME_OF_CODE[code]),),
    )
    found.add(operation, line)
    if rank is not None:
        found.change_process(process, rank=rank)


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"\d{1,18}", text) else None


def _ms(text: str | None) -> int | None:
    """Returns a time in ns of a number of ms."""
    if text is None or not re.fullmatch(r"\d{1,15}(\.\d{1,9})?", text):
        return None
    before, _, after = text.partition(".")
    return int(before) * 1_000_000 + int(f"{after:0<9}"[:9]) // 1000
