"""Traces of other profilers: one row a format, recognised by content, one reader a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from byteways.ext.watch.traces import inspector, kineto, nsight, rccl_recorder, rocprof_csv, rocprof_json
from byteways.ext.watch.traces.collecting import TraceRead


@dataclass(frozen=True)
class TraceFormat:
    """A format of traces."""

    name: str
    says: str  # for messages
    made_by: str  # a command that writes such a trace
    recognises: Callable[[bytes], bool]  # gets the beginning of the content, decompressed
    reader: Callable[[Path], TraceRead]


#: In order of precedence; the beginnings exclude each other.
TRACE_FORMATS: tuple[TraceFormat, ...] = (
    TraceFormat(
        nsight.NSIGHT,
        "SQLite exports of Nsight Systems",
        "nsys export --type sqlite REPORT.nsys-rep",
        nsight.is_nsight,
        nsight.read_nsight,
    ),
    TraceFormat(
        rocprof_json.ROCPROF_JSON,
        "JSON of rocprofv3",
        "rocprofv3 --sys-trace --output-format json -- COMMAND",
        rocprof_json.is_rocprof_json,
        rocprof_json.read_rocprof_json,
    ),
    TraceFormat(
        inspector.INSPECTOR,
        "lines of JSON of NCCL's inspector",
        "NCCL_INSPECTOR_ENABLE=1",
        inspector.is_inspector,
        inspector.read_inspector,
    ),
    TraceFormat(
        kineto.KINETO,
        "traces of PyTorch's profiler (JSON, also compressed)",
        "profiler.export_chrome_trace(FILE)",
        kineto.is_kineto,
        kineto.read_kineto,
    ),
    TraceFormat(
        rccl_recorder.RECORDER,
        "recordings of RCCL",
        "RCCL_REPLAY_FILE=NAME.json",
        rccl_recorder.is_recorder,
        rccl_recorder.read_recorder,
    ),
    TraceFormat(
        rocprof_csv.ROCPROF_CSV,
        "memory_copy_trace.csv of rocprofv3",
        "rocprofv3 --sys-trace --output-format csv -- COMMAND",
        rocprof_csv.is_rocprof_csv,
        rocprof_csv.read_rocprof_csv,
    ),
)
