"""Lines of SuperBench's results-summary.jsonl: one node a line, each metric with its value.

A metric is `benchmark[:annotation]/metric[:rank]`; in SuperBench's local mode the rank is the GPU. Metrics
of other quantities than bandwidths and times, such as those of models or monitors, are left out. Units are
those of its documentation (micro-benchmarks.md): GB/s are 10^9 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from byteways.ext.audit.imported.nvbandwidth_tests import Cell, meaning_of
from byteways.ext.audit.imported.reader import Found
from byteways.ext.audit.imported.reading import add_hints, add_value, text_of, written
from byteways.ext.audit.imported.value import ForeignValue, Operation, Unit
from byteways.machine.foreign_text import FormatError

_METRIC = re.compile(r"(?P<benchmark>[\w-]+)(?::[^/]+)?/(?P<metric>.+?)(?::(?P<rank>\d{1,6}))?$")
_GBS, _MBS, _US, _S, _NS = Unit("GB/s"), Unit("MB/s"), Unit("us"), Unit("s"), Unit("ns")
_MOVERS = {"dma": "copy", "sm": "kernel"}
_ENDS = {"h": "?:?", "d": "?:device"}
_COLLECTIVES = {
    "allreduce": "allreduce",
    "allgather": "allgather",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "reducescatter": "reduce-scatter",
    "alltoall": "alltoall",
}
_LOOPS = {"copy": "stream-copy", "mul": "stream-scale", "scale": "stream-scale", "add": "stream-add"}
_LOOPS["triad"] = "stream-triad"
_BYTES = {"double": 8, "float": 4}
_STATISTICS = {"min": "min", "max": "max", "avg": "mean"}


@dataclass(frozen=True)
class _Meaning:
    """What a metric is, as of a ForeignValue."""

    unit: Unit
    operation: Operation = field(default_factory=Operation)
    counts: str | None = None
    size_bytes: int | None = None
    statistic: str | None = None
    differences: tuple[str, ...] = ()


def read_superbench(document: Mapping[str, Any], line: int) -> Found:
    """Reads the results of a node.

    Raises:
        FormatError: It has no metric of SuperBench.
    """
    found = Found("superbench", line)
    if not any(_METRIC.match(key) for key in document):
        raise FormatError("it has a 'node' and no metric 'benchmark/metric'")
    if node := text_of(document["node"]):
        add_hints(found, hosts=(node,))
    failed = _failed(document)
    for key, content in document.items():
        parts = _METRIC.match(key)
        meaning = _meaning(parts) if parts else None
        if parts is None or meaning is None or content is None:
            continue
        pointer = "/" + key.replace("~", "~0").replace("/", "~1")
        value = ForeignValue(
            line=line,
            test=parts["benchmark"],
            column=key.partition("/")[2],
            text=written(content) or str(content)[:40],
            unit=meaning.unit,
            statistic=meaning.statistic,
            counts=meaning.counts,
            size_bytes=meaning.size_bytes,
            operation=meaning.operation,
            differences=meaning.differences,
            pointer=pointer,
        )
        if add_value(found, value) and (code := failed.get(key.partition("/")[0])) is not None:
            what = f"{parts['benchmark']} ended with return_code {code!s:.20}"
            found.call_wrong(line, what, len(found.values) - 1)
    return found


def _failed(document: Mapping[str, Any]) -> dict[str, object]:
    """Returns the return codes of benchmarks that failed, by the beginning of their keys."""
    codes = (key.partition("/") for key in document)
    return {
        benchmark: document[benchmark + slash + metric]
        for benchmark, slash, metric in codes
        if metric.partition(":")[0] == "return_code" and document[benchmark + slash + metric] not in (0, None)
    }


def _meaning(parts: re.Match[str]) -> _Meaning | None:
    """Returns what a metric is; None: another quantity, or one that is unknown here."""
    for benchmark, pattern, meaning in _KNOWN:
        if re.fullmatch(benchmark, parts["benchmark"]) and (found := pattern.fullmatch(parts["metric"])):
            return meaning(found, f"gpu{int(parts['rank'])}" if parts["rank"] else "?")
    return None


def _copy_bw(found: re.Match[str], gpu: str) -> _Meaning:
    """gpu-copy-bw: cpu_to_gpu0_by_dma_under_numa1_bw, gpu0_to_gpu1_read_by_sm_bw."""
    cpu = f"cpu{found['numa']}:?" if found["numa"] else "?:?"
    ends = [f"{end}:device" if end != "cpu" else cpu for end in (found["source"], found["destination"])]
    both = found["way"] == "and"
    gpus = [end for end in (found["source"], found["destination"]) if end != "cpu"]
    operation = Operation(
        _MOVERS[found["mover"]],
        "bidirectional" if both else "unidirectional",
        ends[0],
        ends[1],
        executor=gpus[-1] if found["access"] == "read" else gpus[0],
    )
    return _Meaning(_GBS, operation, None if both else "per-direction", differences=("size-unknown",))


def _all_peers(found: re.Match[str], gpu: str) -> _Meaning:
    return _Meaning(_GBS, differences=("no-case", "size-unknown"))


def _mem_bw(found: re.Match[str], gpu: str) -> _Meaning:
    """mem-bw: h2d_bw, the GPU by the rank."""
    ends = [f"{gpu}:device" if end == "d" else "?:?" for end in found["way"].split("2")]
    counts = None if found["way"] == "d2d" else "per-direction"
    operation = Operation("copy", "unidirectional", ends[0], ends[1])
    return _Meaning(_GBS, operation, counts, differences=("memory-unknown", "size-unknown"))


def _collective(found: re.Match[str], gpu: str) -> _Meaning:
    """nccl-bw, rccl-bw: allreduce_8388608_busbw; the number of ranks is not in the file."""
    pattern = _COLLECTIVES[found["collective"]]
    unit = _US if found["what"] == "time" else _GBS
    counts = {"algbw": "algorithm", "busbw": "bus"}.get(found["what"])
    operation = Operation("xccl", pattern, "?:device", "?:device")
    return _Meaning(unit, operation, counts, int(found["size"]), "mean", ("devices-unknown",))


def _gpu_stream(found: re.Match[str], gpu: str) -> _Meaning:
    """gpu-stream: STREAM_TRIAD_double_array_33554432_bw, from the shortest time."""
    statistic = _STATISTICS[found["statistic"]] if found["statistic"] else "max"
    interface = _LOOPS.get(found["loop"].lower(), "")
    size = int(found["elements"]) * _BYTES[found["type"]]
    end = f"{gpu}:device"
    operation = Operation(interface, "unidirectional" if interface else "", end, end)
    codes = {"no-case": not interface, "extreme": statistic != "mean"}
    rate = found["what"] == "bw"
    unit, counts = (_GBS, "read+write") if rate else (_S, None)
    return _Meaning(unit, operation, counts, size, statistic, tuple(code for code, on in codes.items() if on))


def _cpu_stream(found: re.Match[str], gpu: str) -> _Meaning:
    """cpu-stream: triad_throughput, from the shortest time."""
    statistic = _STATISTICS[found["statistic"]] if found["statistic"] else "max"
    operation = Operation(_LOOPS[found["loop"]], "unidirectional", "?:pageable", "?:pageable")
    extreme = ("extreme",) if statistic != "mean" else ()
    rate = found["what"] == "throughput"
    unit, counts = (_MBS, "read+write") if rate else (_S, None)
    return _Meaning(unit, operation, counts, None, statistic, (*extreme, "size-unknown"))


def _nvbandwidth(found: re.Match[str], gpu: str) -> _Meaning:
    """nvbandwidth: host_to_device_memcpy_ce_cpu0_gpu1_bw; its CPU is a row of nvbandwidth's matrix."""
    cell = Cell(int(found["row"]), int(found["column"]))
    meaning = meaning_of(found["test"], cell)
    unit = _NS if found["what"] == "lat" else _GBS
    return _Meaning(
        unit, meaning.operation, meaning.counts, meaning.size_bytes, "median", meaning.differences
    )


def _nvbandwidth_sum(found: re.Match[str], gpu: str) -> _Meaning:
    return _Meaning(_NS if found["what"] == "lat" else _GBS, differences=("sum-of-turns",))


def _numa(found: re.Match[str], gpu: str) -> _Meaning:
    """cpu-memory-bw-latency: Intel MLC from one NUMA domain's cores to another's memory."""
    memory = f"cpu{int(found['memory'])}:pageable"
    unit = _NS if found["what"] == "lat" else _MBS
    operation = Operation("", "", memory, memory, executor=f"cpu{int(found['cores'])}")
    return _Meaning(unit, operation, differences=("no-case", "size-unknown"))


def _loopback(found: re.Match[str], gpu: str) -> _Meaning:
    codes = ("no-case", "devices-unknown", "memory-unknown")
    return _Meaning(_GBS, Operation(ranks=2), None, int(found["size"]), "mean", codes)


def _launch(found: re.Match[str], gpu: str) -> _Meaning:
    """kernel-launch: e2e_latency_us; in older versions event_time and wall_time in milliseconds."""
    unit = _US if found[0].endswith("_us") else Unit("ms")
    return _Meaning(unit, Operation(executor=gpu), None, None, "mean", ("no-case",))


_GPU, _NUMBER = r"gpu\d{1,4}", r"\d{1,15}"
#: Benchmarks and metrics whose unit is known, each with what it is.
_KNOWN: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], str], _Meaning]], ...] = (
    (
        "gpu-copy-bw",
        re.compile(
            rf"(?P<source>cpu|{_GPU})_(?P<way>to|and)_(?P<destination>cpu|{_GPU})(?:_(?P<access>read|write))?"
            r"_by_(?P<mover>sm|dma)(?:_under_numa(?P<numa>\d{1,4}))?_bw"
        ),
        _copy_bw,
    ),
    ("gpu-copy-bw", re.compile(rf"(?:{_GPU}|gpu_all)_to_(?:{_GPU}|gpu_all)_write_by_sm_bw"), _all_peers),
    ("mem-bw", re.compile(r"(?P<way>h2d|d2h|d2d)_bw"), _mem_bw),
    (
        "[nr]ccl-bw",
        re.compile(
            rf"(?P<collective>{'|'.join(_COLLECTIVES)})_(?:\d+_\d+:)?(?P<size>{_NUMBER})"
            r"_(?P<what>time|algbw|busbw)"
        ),
        _collective,
    ),
    (
        "gpu-stream",
        re.compile(
            rf"STREAM_(?P<loop>COPY|MUL|ADD|TRIAD|DOT)_(?P<type>double|float)_array_(?P<elements>{_NUMBER})"
            r"_(?P<what>bw|time)(?:_(?P<statistic>min|max|avg))?"
        ),
        _gpu_stream,
    ),
    (
        "cpu-stream",
        re.compile(
            r"(?P<loop>copy|scale|add|triad)_(?P<what>throughput|time)(?:_(?P<statistic>min|max|avg))?"
        ),
        _cpu_stream,
    ),
    (
        "nvbandwidth",
        re.compile(r"(?P<test>\w+?)_[cg]pu(?P<row>\d{1,4})_[cg]pu(?P<column>\d{1,4})_(?P<what>bw|lat)"),
        _nvbandwidth,
    ),
    ("nvbandwidth", re.compile(r"(?P<test>\w+)_sum_(?P<what>bw|lat)"), _nvbandwidth_sum),
    (
        "cpu-memory-bw-latency",
        re.compile(r"mem_bandwidth_matrix_numa_(?P<cores>\d{1,4})_(?P<memory>\d{1,4})_(?P<what>bw|lat)"),
        _numa,
    ),
    ("ib-loopback", re.compile(rf"ib_(?:write|read|send)_bw_(?P<size>{_NUMBER})"), _loopback),
    (
        "kernel-launch",
        re.compile(r"(?:e2e_latency|host_dispatch|device_launch)_us|(?:event|wall)_time"),
        _launch,
    ),
)
