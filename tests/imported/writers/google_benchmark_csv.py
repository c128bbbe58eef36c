"""CSV of Google Benchmark: Comm|Scope with its counters, another program, aggregates."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_HEADER = "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label"
_ERRORS = ",error_occurred,error_message"


def _row(log: Log, name: str, unit: str, rate: str, fields: dict[str, Any], counters: str = "") -> None:
    """Writes a row with a time and, for those that count bytes, a rate."""
    statistic = fields.pop("statistic", "mean")
    known = "interface" in fields
    if rate:
        counts = "per-direction" if known else None
        log.expect(name, "bytes_per_second", rate, "B/s", counts=counts, statistic=statistic, **fields)
    time = log.number(41.5, 4)
    log.expect(name, "real_time", time, unit, counts="call" if known else None, statistic=statistic, **fields)
    log.say(f'"{name}",100,{time},83.0,{unit},{rate},,,,{counters}')


def _copy(source: str, destination: str, size: int) -> dict[str, Any]:
    ends = {"source": source, "destination": destination}
    return {**ends, "interface": "copy", "pattern": "unidirectional", "size_bytes": size}


def cuda() -> Log:
    """Comm|Scope: counters of all benchmarks in the header, a benchmark that failed, text before it."""
    log = Log(851)
    log.say("2023-02-27T10:00:00-08:00", "Running ./comm_scope", "Run on (128 X 2450 MHz CPU s)")
    log.say("Load Average: 0.50, 0.40, 0.30", "***WARNING*** CPU scaling is enabled")
    log.say(f'{_HEADER}{_ERRORS},"bytes","cuda_id","numa_id"')
    name = "Comm_cudaMemcpyAsync_PinnedToGPU/1/3/log2(N):30/manual_time"
    copy = _copy("cpu1:pinned", "gpu3:device", 1 << 30)
    _row(log, name, "ms", "2.59e+10", copy, ",1.07374e+09,3,1")
    name = "Comm_cudaMemcpyAsync_GPUToPinned/1/3/log2(N):10/manual_time"
    _row(log, name, "us", "3.40196e+08", _copy("gpu3:device", "cpu1:pinned", 1024), ",1024,3,1")
    log.refuse()
    log.say('"Comm_cudaMemcpyAsync_PinnedToGPU/1/4/log2(N):8",0,0,0,ns,,,,true,"failed to set the device",,,')
    return log


def aggregates() -> Log:
    """Another program, CRLF: repetitions and what follows from them; a deviation is no value."""
    log = Log(852)
    log.say(f"{_HEADER}{_ERRORS}")
    for suffix in ("", "_mean", "_median", "_stddev", "_cv"):
        name = f"BM_memcpy/4096{suffix}"
        if suffix in ("_stddev", "_cv"):
            log.say(f'"{name}",3,0.5,0.5,ns,1e+08,,,,')
            continue
        fields = {"differences": ["no-case", "size-unknown"], "statistic": suffix.lstrip("_") or "mean"}
        _row(log, name, "ns", "7.8e+10", fields)
    log.ends_line = "\r\n"
    return log


def twice() -> Log:
    """Two runs by srun, without rates."""
    log = Log(853)
    for _ in range(2):
        log.say(f"{_HEADER}{_ERRORS}")
        _row(log, "BM_launch", "us", "", {"differences": ["no-case", "size-unknown"]})
    log.prefix("0: ")
    return log


def bad() -> Log:
    """Numbers that are none, a row that was cut, an unknown unit of time."""
    log = Log(854)
    log.say(f"{_HEADER}{_ERRORS}")
    log.refuse()
    log.refuse()
    log.say('"BM_x/1",100,nan,83.0,ns,-5,,,,')
    log.refuse()
    log.say('"BM_x/2",100,41.5,83.0,ns,5,,')
    log.refuse()
    unknown = {"differences": ["no-case", "size-unknown"], "statistic": "mean"}
    log.expect("BM_x/3", "bytes_per_second", "5", "B/s", **unknown)
    log.say('"BM_x/3",100,41.5,83.0,fortnights,5,,,,')
    return log


VARIANTS = {
    "comm-scope-cuda.csv": cuda,
    "aggregates-crlf.csv": aggregates,
    "twice-srun.csv": twice,
    "bad-numbers.csv": bad,
}
