"""SuperBench's results-summary.jsonl: a node a line."""

from __future__ import annotations

import json
from typing import Any

from tests.imported.log import Log

_SIZE_UNKNOWN = {"differences": ["size-unknown"]}
_LINE = {"interface": "copy", "pattern": "unidirectional", "counts": "per-direction"}


class _Node:
    """A line that is being written."""

    def __init__(self, log: Log, name: str) -> None:
        self.log, self.content = log, {"node": name}
        self.fields: dict[str, Any] = self.content

    def metric(self, key: str, about: float, unit: str, **fields: Any) -> None:
        """Adds a metric with its value, and expects it."""
        number = float(self.log.number(about, 3))
        self.fields[key] = number
        benchmark, _, column = key.partition("/")
        pointer = "/" + key.replace("/", "~1")
        line = self.log.next_line
        self.log.expect(benchmark.split(":")[0], column, repr(number), unit, pointer=pointer, **fields)
        self.log.values[-1] |= {"line": line}

    def write(self) -> None:
        self.log.say(json.dumps(self.content))


def copies() -> Log:
    """Copies of GPUs: by their names, and by their rank."""
    log = Log(801)
    node = _Node(log, "node-0")
    pair = {**_LINE, **_SIZE_UNKNOWN}
    to_gpu = {"source": "cpu1:?", "destination": "gpu0:device", "executor": "gpu0"}
    node.metric("gpu-copy-bw:correctness/cpu_to_gpu0_by_dma_under_numa1_bw", 26.2, "GB/s", **pair, **to_gpu)
    reads = {"source": "gpu0:device", "destination": "gpu3:device", "executor": "gpu3", "interface": "kernel"}
    node.metric("gpu-copy-bw:perf/gpu0_to_gpu3_read_by_sm_bw", 230.0, "GB/s", **{**pair, **reads})
    both = {
        "source": "gpu0:device",
        "destination": "gpu1:device",
        "executor": "gpu0",
        "pattern": "bidirectional",
    }
    node.metric(
        "gpu-copy-bw:perf/gpu0_and_gpu1_write_by_dma_bw", 460.0, "GB/s", **{**pair, **both, "counts": None}
    )
    codes = {"differences": ["no-case", "size-unknown"]}
    node.metric("gpu-copy-bw/gpu_all_to_gpu1_write_by_sm_bw", 430.0, "GB/s", **codes)
    unknown = {"differences": ["memory-unknown", "size-unknown"]}
    node.metric(
        "mem-bw/h2d_bw:5", 25.1, "GB/s", source="?:?", destination="gpu5:device", **{**_LINE, **unknown}
    )
    local = {"source": "gpu5:device", "destination": "gpu5:device", "counts": None}
    node.metric("mem-bw/d2d_bw:5", 1150.0, "GB/s", **{**_LINE, **unknown, **local})
    node.fields["gpu-copy-bw:correctness/return_code"] = 0
    node.write()
    log.hints = {"hosts": ["node-0"]}
    return log


def others() -> Log:
    """Other benchmarks; models and monitors are left out."""
    log = Log(802)
    node = _Node(log, "node-1")
    ends: dict[str, Any] = {
        "interface": "xccl",
        "pattern": "allreduce",
        "source": "?:device",
        "destination": "?:device",
    }
    ends |= {"size_bytes": 8388608, "statistic": "mean", "differences": ["devices-unknown"]}
    node.metric("nccl-bw:nvlink/allreduce_8388608_time:0", 98.2, "us", **ends)
    node.metric("nccl-bw:nvlink/allreduce_8388608_algbw:0", 85.4, "GB/s", counts="algorithm", **ends)
    node.metric("rccl-bw/allreduce_0_1:8388608_busbw", 149.4, "GB/s", counts="bus", **ends)
    loop = {"interface": "stream-triad", "pattern": "unidirectional", "size_bytes": 8 * 33554432}
    gpu = {"source": "gpu2:device", "destination": "gpu2:device", "differences": ["extreme"]}
    key = "gpu-stream/STREAM_TRIAD_double_array_33554432"
    node.metric(f"{key}_bw:2", 2900.0, "GB/s", counts="read+write", statistic="max", **loop, **gpu)
    node.metric(f"{key}_time_min:2", 0.3, "s", statistic="min", **loop, **gpu)
    cpu: dict[str, Any] = {"interface": "stream-copy", "pattern": "unidirectional", "source": "?:pageable"}
    cpu |= {"destination": "?:pageable", "differences": ["extreme", "size-unknown"]}
    node.metric("cpu-stream/copy_throughput", 341000.0, "MB/s", counts="read+write", statistic="max", **cpu)
    node.metric(
        "nvbandwidth/host_to_device_memcpy_ce_cpu0_gpu1_bw",
        55.3,
        "GB/s",
        **{**_LINE, "statistic": "median", "size_bytes": 512 << 20, "executor": "gpu1"},
        source="?:pinned",
        destination="gpu1:device",
    )
    node.metric("nvbandwidth/host_to_device_memcpy_ce_sum_bw", 442.0, "GB/s", differences=["sum-of-turns"])
    memory = {"source": "cpu1:pageable", "destination": "cpu1:pageable", "executor": "cpu0"}
    codes = {"differences": ["no-case", "size-unknown"]}
    node.metric("cpu-memory-bw-latency/mem_bandwidth_matrix_numa_0_1_bw", 86000.0, "MB/s", **memory, **codes)
    node.metric("cpu-memory-bw-latency/mem_bandwidth_matrix_numa_0_1_lat", 175.0, "ns", **memory, **codes)
    link = {"statistic": "mean", "ranks": 2, "differences": ["no-case", "devices-unknown", "memory-unknown"]}
    node.metric("ib-loopback/ib_write_bw_8388608:3", 24.1, "GB/s", size_bytes=8388608, **link)
    launch = {"statistic": "mean", "executor": "gpu1", "differences": ["no-case"]}
    node.metric("kernel-launch/e2e_latency_us:1", 9.1, "us", **launch)
    node.metric("kernel-launch/event_time:1", 1.2, "ms", **launch)
    node.fields["resnet_models/pytorch-resnet50/fp16_train_throughput"] = 812.3
    node.fields["monitor/gpu_temperature:0"] = 41
    node.write()
    log.hints = {"hosts": ["node-1"]}
    return log


def nodes() -> Log:
    """Three nodes, CRLF; a value that is missing."""
    log = Log(803)
    for number in range(3):
        node = _Node(log, "node")
        fields = {
            "source": "gpu0:device",
            "destination": "?:?",
            "differences": ["memory-unknown", "size-unknown"],
        }
        node.metric("mem-bw/d2h_bw:0", 24.0 + number, "GB/s", **{**_LINE, **fields})
        node.fields["mem-bw/h2d_bw:0"] = None
        node.write()
    log.ends_line = "\r\n"
    return log


def bad() -> Log:
    """Values that are no numbers."""
    log = Log(804)
    log.mistakes += [1, 1, 1]
    log.say('{"node": "n", "mem-bw/h2d_bw:0": NaN, "mem-bw/d2h_bw:0": -3.5, "mem-bw/d2d_bw:0": "25,3"}')
    return log


VARIANTS = {
    "copies.jsonl": copies,
    "others.jsonl": others,
    "nodes-crlf.jsonl": nodes,
    "bad-numbers.jsonl": bad,
}
