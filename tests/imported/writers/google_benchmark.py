"""Google Benchmark: Comm|Scope for CUDA and HIP, another program, aggregates."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_CONTEXT = {
    "date": "2023-02-27T10:00:00",
    "host_name": "node7",
    "executable": "./comm_scope",
    "num_cpus": 128,
    "caches": [{"type": "Data", "level": 1, "size": 32768}],
    "library_version": "v1.8.0",
    "library_build_type": "release",
}


class _Benchmarks:
    def __init__(self, log: Log) -> None:
        self.log = log
        self.entries: list[dict[str, Any]] = []

    def add(
        self, name: str, time: float, unit: str, rate: float | None, fields: dict[str, Any], **more: Any
    ) -> None:
        """Adds an entry with a time and, for those that count bytes, a rate."""
        log, pointer = self.log, f"/benchmarks/{len(self.entries)}"
        statistic = fields.pop("statistic", "mean")
        entry = {"name": name, "run_name": name, "run_type": "iteration", "iterations": 100, **more}
        known = "interface" in fields
        if rate is not None:
            number = float(log.number(rate, 2))
            entry["bytes_per_second"] = number
            counts = "per-direction" if known else None
            at = f"{pointer}/bytes_per_second"
            log.expect(
                name,
                "bytes_per_second",
                repr(number),
                "B/s",
                pointer=at,
                counts=counts,
                statistic=statistic,
                **fields,
            )
        number = float(log.number(time, 6))
        entry |= {"real_time": number, "cpu_time": 2 * number, "time_unit": unit}
        counts, at = "call" if known else None, f"{pointer}/real_time"
        log.expect(
            name, "real_time", repr(number), unit, pointer=at, counts=counts, statistic=statistic, **fields
        )
        self.entries.append(entry)

    def write(self) -> Log:
        self.log.document({"context": _CONTEXT, "benchmarks": self.entries})
        self.log.hints = {"hosts": ["node7"], "version": "1.8.0"}
        return self.log


def _copy(source: str, destination: str, size: int) -> dict[str, Any]:
    ends = {"source": source, "destination": destination}
    return {**ends, "interface": "copy", "pattern": "unidirectional", "size_bytes": size}


def hip() -> Log:
    """Comm|Scope on AMD: the devices in counters, a flush, three units of time."""
    found = _Benchmarks(Log(821))
    name = "Comm_hipMemcpyAsync_PinnedToGPU/3/5/log2(N):30/manual_time"
    counters = {"bytes": 1073741824.0, "hip_id": 5.0, "numa_id": 3.0}
    found.add(name, 41.5, "ms", 25.9e9, _copy("cpu3:pinned", "gpu5:device", 1 << 30), **counters)
    name = "Comm_hipMemcpyAsync_GPUToPinned_flush/3/5/log2(N):20/manual_time"
    counters = {"bytes": 1048576.0, "hip_id": 5.0, "numa_id": 3.0}
    found.add(name, 47.0, "us", 22.3e9, _copy("gpu5:device", "cpu3:pinned", 1 << 20), **counters)
    name = "Comm_hipMemcpyAsync_GPUToGPU/0/1/log2(N):30/manual_time"
    found.add(name, 21500000.0, "ns", 49.9e9, _copy("gpu0:device", "gpu1:device", 1 << 30))
    name = "Comm_implicit_managed_GPURdHost_fine/0/0/log2(N):12/manual_time"
    found.add(name, 9.0, "us", 0.4e9, {"size_bytes": 4096, "differences": ["no-case"]}, bytes=4096.0)
    return found.write()


def cuda() -> Log:
    """Comm|Scope on NVIDIA, and an entry that failed."""
    log = Log(822)
    found = _Benchmarks(log)
    name = "Comm_cudaMemcpyPeerAsync_GPUToGPUPeer/1/0/log2(N):28/manual_time"
    found.add(name, 5.9, "ms", 45.2e9, _copy("gpu1:device", "gpu0:device", 1 << 28))
    name = "Comm_cudaMemcpyAsync_WCToGPU/0/1/log2(N):28/manual_time"
    found.add(name, 22.0, "ms", 12.2e9, _copy("cpu0:write-combined", "gpu1:device", 1 << 28))
    failed = {"name": "Comm_cudaMemcpyAsync_PinnedToGPU/0/2/log2(N):28", "error_occurred": True}
    found.entries.append({**failed, "error_message": "failed to set the device", "real_time": 0.0})
    log.mistakes.append(1)
    return found.write()


def repetitions() -> Log:
    """Another program with aggregates over repetitions: a deviation is no value."""
    found = _Benchmarks(Log(823))
    unknown = ["no-case", "size-unknown"]
    for aggregate in ("mean", "median", "stddev", "cv"):
        more = {"run_type": "aggregate", "aggregate_name": aggregate, "aggregate_unit": "time"}
        if aggregate in ("mean", "median"):
            fields = {"differences": unknown, "statistic": aggregate}
            found.add(f"BM_memcpy/4096_{aggregate}", 52.0, "ns", 78.0e9, fields, **more)
        else:
            entry = {"name": f"BM_memcpy/4096_{aggregate}", "real_time": 0.5, "time_unit": "ns", **more}
            found.entries.append(entry)
    found.add("BM_sort/1024", 3.0, "us", None, {"differences": unknown})
    return found.write()


def bad() -> Log:
    """Values that are no numbers, an unknown unit of time."""
    log = Log(824)
    log.mistakes += [None, None, 1]
    entry = {"name": "BM_x", "run_type": "iteration", "time_unit": "fortnights", "real_time": 1.0}
    content = [
        {**entry, "bytes_per_second": -5.0},
        {"name": "BM_y", "real_time": float("nan"), "time_unit": "ns"},
    ]
    log.document({"context": {}, "benchmarks": content})
    return log


VARIANTS = {
    "comm-scope-hip.json": hip,
    "comm-scope-cuda.json": cuda,
    "repetitions.json": repetitions,
    "bad-numbers.json": bad,
}
