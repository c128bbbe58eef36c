"""bandwidthTest: tables of CUDA 12 and 6, and CSV."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_WAYS = {"H2D": ("Host", "Device"), "D2H": ("Device", "Host"), "D2D": ("Device", "Device")}


def _fields(way: str, memory: str, gpu: str, size: int, **more: Any) -> dict[str, Any]:
    ends = [f"?:{memory}" if end == "H" else f"{gpu}:device" for end in (way[0], way[2])]
    common = {"interface": "copy", "pattern": "unidirectional", "statistic": "mean", "size_bytes": size}
    return {**common, "source": ends[0], "destination": ends[1], **more}


def _table(log: Log, way: str, memory: str, unit: str, sizes: dict[int, float], *, gpu: str = "?") -> None:
    names = _WAYS[way]
    log.say(f" {names[0]} to {names[1]} Bandwidth, 1 Device(s)")
    log.say(f" {'PINNED' if memory == 'pinned' else 'PAGEABLE'} Memory Transfers")
    log.say(f"   Transfer Size (Bytes)\tBandwidth({unit})")
    for size, about in sizes.items():
        text = log.number(about, 1)
        counts = "read+write" if way == "D2D" else "per-direction"
        fields = _fields(way, memory, gpu, size, counts=counts)
        log.expect(way, "Bandwidth", text, {"GB/s": "GB/s", "MB/s": "MiB/s"}[unit], **fields)
        log.say(f"   {size}\t\t\t{text}")
    log.say("")


def quick() -> Log:
    """CUDA 12: GB of 10^9 bytes, decimal sizes."""
    log = Log(611)
    log.say("[CUDA Bandwidth Test] - Starting...", "Running on...", "", " Device 2: NVIDIA A100-SXM4-40GB")
    log.say(" Quick Mode", "")
    for way, about in (("H2D", 25.3), ("D2H", 26.2), ("D2D", 1154.2)):
        _table(log, way, "pinned", "GB/s", {32_000_000: about}, gpu="gpu2")
    log.say("Result = PASS", "", "NOTE: The CUDA Samples are not meant for performance measurements.")
    log.hints = {"gpus": {"2": "NVIDIA A100-SXM4-40GB"}}
    return log


def old() -> Log:
    """CUDA 6 in colour: MB of 2^20 bytes, a range of sizes, plain memory."""
    log = Log(612)
    log.say(
        "[CUDA Bandwidth Test] - Starting...", "Running on...", "", " Device 0: Tesla K40m", " Range Mode"
    )
    _table(log, "H2D", "pageable", "MB/s", {1024: 180.0, 33_554_432: 6012.3}, gpu="gpu0")
    _table(log, "D2D", "pageable", "MB/s", {33_554_432: 187000.0}, gpu="gpu0")
    log.colour()
    return log


def twice() -> Log:
    """Two runs by Open MPI's launcher, CRLF, two GPUs each: which of them copied is not known."""
    log = Log(613)
    for _ in range(2):
        log.say(
            "[CUDA Bandwidth Test] - Starting...",
            "Running on...",
            " Device 0: Tesla P100",
            " Device 1: Tesla P100",
        )
        log.say("[node7:1] a warning of the launcher")
        _table(log, "D2H", "pinned", "GB/s", {32_000_000: 12.9})
    log.prefix("[1,0]<stdout>:")
    log.ends_line = "\r\n"
    return log


def csv() -> Log:
    """--csv: rates, times and sizes in a line; one was cut, one has a comma."""
    log = Log(614)
    for way, memory, about in (("H2D", "Pinned", 25.3), ("D2H", "Paged", 9.3), ("D2D", "Pinned", 1154.2)):
        rate, time = log.number(about, 4), log.number(0.00132, 5)
        kind = {"Pinned": "pinned", "Paged": "pageable"}[memory]
        counts = "read+write" if way == "D2D" else "per-direction"
        log.expect(way, "Bandwidth", rate, "GB/s", counts=counts, **_fields(way, kind, "?", 33554432))
        log.expect(way, "Time", time, "s", counts="call", **_fields(way, kind, "?", 33554432))
        begin = f"bandwidthTest-{way}-{memory}, Bandwidth = {rate} GB/s, Time = {time} s"
        log.say(f"{begin}, Size = 33554432 bytes, NumDevsUsed = 1")
    log.refuse()
    log.say("bandwidthTest-D2H-Pinned, Bandwidth = 25.3 GB/s, Time = 0.0")
    log.refuse()
    log.expect("D2H", "Time", "0.00132", "s", counts="call", **_fields("D2H", "pinned", "?", 33554432))
    log.say(
        "bandwidthTest-D2H-Pinned, Bandwidth = 25,3 GB/s, Time = 0.00132 s,"
        " Size = 33554432 bytes, NumDevsUsed = 1"
    )
    return log


def cut() -> Log:
    """The output ends before the row."""
    log = Log(615)
    log.say(" Host to Device Bandwidth, 1 Device(s)", " PINNED Memory Transfers")
    log.mistakes.append(1)
    log.say("   Transfer Size (Bytes)\tBandwidth(GB/s)")
    return log


VARIANTS = {
    "cuda-12.txt": quick,
    "cuda-6-colour.txt": old,
    "twice-openmpi-crlf.txt": twice,
    "lines.csv": csv,
    "cut.txt": cut,
}
