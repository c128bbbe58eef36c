"""JSON of rocprofv3 (`--output-format json`): a document with agents, copies and kernels of each process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from byteways.base.quantities import quantity_or_none
from byteways.ext.watch.bins import End
from byteways.ext.watch.traces.agents import Agents
from byteways.ext.watch.traces.collecting import TraceCollector, TracedOperation, TraceRead
from byteways.ext.watch.traces.content import document_of, json_of
from byteways.ext.watch.traces.memories import copy_ends
from byteways.machine.foreign_text import FormatError

ROCPROF_JSON = "rocprofv3-json"
_KEY = "rocprofiler-sdk-tool"
#: By rocprofiler_memory_copy_operation_t: host to host, host to device, device to host, device to device.
_DIRECTIONS = {1: ("H", "H"), 2: ("H", "D"), 3: ("D", "H"), 4: ("D", "D")}
_GPU = 2  # of rocprofiler_agent_type_t


class _Handle(msgspec.Struct, frozen=True):
    handle: Any = None


class _Correlation(msgspec.Struct, frozen=True):
    internal: Any = None


class _Copy(msgspec.Struct, frozen=True):
    operation: Any = None
    start_timestamp: Any = None
    end_timestamp: Any = None
    src_agent_id: _Handle = _Handle()
    dst_agent_id: _Handle = _Handle()
    correlation_id: _Correlation = _Correlation()
    bytes: Any = None


class _Dispatch(msgspec.Struct, frozen=True):
    agent_id: _Handle = _Handle()


class _Kernel(msgspec.Struct, frozen=True):
    start_timestamp: Any = None
    end_timestamp: Any = None
    dispatch_info: _Dispatch = _Dispatch()


class _Records(msgspec.Struct, frozen=True):
    memory_copy: list[_Copy] = []
    kernel_dispatch: list[_Kernel] = []
    memory_allocation: list[dict[str, Any]] = []


class _Agent(msgspec.Struct, frozen=True):
    id: _Handle = _Handle()
    type: Any = None
    node_id: Any = None


class _Tool(msgspec.Struct, frozen=True):
    metadata: dict[str, Any] = {}
    agents: list[_Agent] = []
    buffer_records: _Records = msgspec.field(default_factory=_Records)


class _Document(msgspec.Struct, rename={"tools": _KEY}):
    tools: list[_Tool]


def is_rocprof_json(head: bytes) -> bool:
    """Whether a content begins as the document."""
    return head.lstrip().startswith(b"{") and f'"{_KEY}"'.encode() in head[:4096]


def read_rocprof_json(path: Path) -> TraceRead:
    """Reads a document.

    Raises:
        OSError: It cannot be read.
        FormatError: It is no JSON, cut, too large, or has other parts.
    """
    try:
        document = json_of(document_of(path), _Document)
    except msgspec.ValidationError as error:
        raise FormatError(f"it has not the form of rocprofv3's JSON: {error}") from error
    found = TraceCollector(ROCPROF_JSON)
    for index, tool in enumerate(document.tools):
        _read_tool(found, index, tool)
    return found.read()


def _read_tool(found: TraceCollector, index: int, tool: _Tool) -> None:
    place = f"/{_KEY}/{index}/buffer_records"
    pid, node = tool.metadata.get("pid"), tool.metadata.get("node")
    host = node.get("hostname") if isinstance(node, dict) else None
    known = type(pid) is int and 0 <= pid < 1 << 31
    process = found.process(pid if known else 0, host if isinstance(host, str) else "")  # type: ignore[arg-type]
    devices = _devices(tool.agents)
    for number, kernel in enumerate(tool.buffer_records.kernel_dispatch):
        times = (kernel.start_timestamp, kernel.end_timestamp)
        if _are_times(found, times, f"{place}/kernel_dispatch/{number}"):
            found.kernel(devices.get(_key(kernel.dispatch_info.agent_id)), *times)
    for number, copy in enumerate(tool.buffer_records.memory_copy):
        times = (copy.start_timestamp, copy.end_timestamp)
        where = f"{place}/memory_copy/{number}"
        if not _are_times(found, times, where):
            continue
        direction = _DIRECTIONS.get(copy.operation) if type(copy.operation) is int else None
        if (size := quantity_or_none(copy.bytes, "size")) is None:
            found.refuse(None, f"its bytes {copy.bytes!s:.30} are not a size", where)
            continue
        ends = (devices.get(_key(copy.src_agent_id)), devices.get(_key(copy.dst_agent_id)))
        source, destination = copy_ends(direction, (None, None), ends)
        method = "hsa_amd_memory_async_copy"
        begin, time = times[0], times[1] - times[0]
        ends_of = (process, source, destination)
        found.add(TracedOperation("copy", method, size, begin, time, *ends_of, beside_kernels=True))
    _read_allocations(found, process, devices, tool.buffer_records.memory_allocation)


def _read_allocations(
    found: TraceCollector, process: int, devices: dict[object, str], records: list[dict[str, Any]]
) -> None:
    for record in records:
        size, begin = record.get("allocation_size"), record.get("start_timestamp")
        agent = record.get("agent_id")
        if type(size) is int and size > 0 and type(begin) is int:  # a release has no size
            device = (
                devices.get(agent.get("handle"))
                if isinstance(agent, dict) and _is_key(agent.get("handle"))
                else None
            )
            end = End("device" if device else None, device)
            found.add(
                TracedOperation("allocation", "allocate", size, begin, process=process, destination=end)
            )


def _devices(agents: list[_Agent]) -> dict[object, str]:
    """Returns the GPUs of a machine by the handles of their agents."""
    rows = [
        {"type": "GPU" if agent.type == _GPU else "CPU", "node": agent.node_id, "logical": agent.node_id}
        for agent in agents
    ]
    numbers = Agents(rows)
    return {
        _key(agent.id): device
        for agent in agents
        if type(agent.node_id) is int and (device := numbers.device(str(agent.node_id))) is not None
    }


def _is_key(value: object) -> bool:
    return isinstance(value, (int, str))


def _key(handle: _Handle) -> object:
    return handle.handle if _is_key(handle.handle) else None


def _are_times(found: TraceCollector, times: tuple[Any, Any], where: str) -> bool:
    moments = [quantity_or_none(time, "moment") for time in times]
    good = None not in moments and times[0] <= times[1]
    if not good:
        found.refuse(None, "its times are no interval", where)
    return good
