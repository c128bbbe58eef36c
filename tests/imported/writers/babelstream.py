"""BabelStream 3.4 to 5.0: text and CSV, MB and MiB, Triad alone."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_LOOPS = {
    "Copy": "stream-copy",
    "Mul": "stream-scale",
    "Add": "stream-add",
    "Triad": "stream-triad",
    "Dot": "",
}


def _begin(
    log: Log, implementation: str, size: str, *, version: str = "5.0", precision: str = "double"
) -> None:
    log.say("BabelStream", f"Version: {version}", f"Implementation: {implementation}")
    log.say("Running kernels 100 times", f"Precision: {precision}", f"Array size: {size} (=0.3 GB)")
    log.say("Total size: 805.3 MB (=0.8 GB)")
    log.hints = {"version": version}


def _fields(loop: str, end: str, size: int | None, **more: Any) -> dict[str, Any]:
    interface = _LOOPS[loop]
    fields = {"interface": interface, "source": end, "destination": end, "size_bytes": size}
    return {**fields, "pattern": "unidirectional" if interface else "", **more}


def _differences(loop: str, end: str, size: int | None, *, extreme: bool) -> list[str]:
    codes = {"no-case": not _LOOPS[loop], "extreme": extreme, "memory-unknown": end == "?:?"}
    return [code for code, holds in {**codes, "size-unknown": size is None}.items() if holds]


def _rows(log: Log, end: str, size: int | None, about: float, *, unit: str = "MBytes/sec") -> None:
    log.say(f"{'Function':12}{unit:12}{'Min (sec)':12}{'Max':12}{'Average':12}")
    name = {"MBytes/sec": "MB/s", "MiBytes/sec": "MiB/s"}[unit]
    for loop in _LOOPS:
        numbers = [log.number(about, 3), *(log.number(0.0004, 5) for _ in range(3))]
        columns = (
            (unit, name, "max"),
            ("Min (sec)", "s", "min"),
            ("Max", "s", "max"),
            ("Average", "s", "mean"),
        )
        for (column, of, statistic), text in zip(columns, numbers, strict=True):
            codes = _differences(loop, end, size, extreme=statistic != "mean")
            counts = "read+write" if of != "s" else None
            common = _fields(loop, end, size, statistic=statistic, counts=counts, differences=codes)
            log.expect(loop, column, text, of, **common)
        log.say(f"{loop:12}" + "".join(f"{number:12}" for number in numbers))


def cuda() -> Log:
    """5.0 on an NVIDIA GPU: 2^25 doubles, times of initialization and reading back."""
    log = Log(401)
    _begin(log, "CUDA", "268.4 MB")
    log.say("Using CUDA device NVIDIA H100 80GB HBM3", "Driver: 12040", "Memory: DEFAULT")
    log.say("Reduction kernel config: 528 groups of (fixed) size 1024")
    for phase in ("Init", "Read"):
        time, rate = log.number(0.0706, 5), log.number(11402.4, 1)
        none = {"source": "?:device", "destination": "?:device", "differences": ["no-case", "size-unknown"]}
        log.expect(phase, "time", time, "s", **none)
        log.expect(phase, "MBytes/sec", rate, "MB/s", **none)
        log.say(f"{phase}: {time:>7} s (={rate} MBytes/sec)")
    _rows(log, "?:device", 2**28, 2.9e6)
    log.hints["gpus"] = {"0": "NVIDIA H100 80GB HBM3"}
    return log


def openmp() -> Log:
    """4.0 on a CPU by Hydra: MiB, floats, an array that is no power of two."""
    log = Log(402)
    _begin(log, "OpenMP", "95.4 MiB", version="4.0", precision="float")
    log.say("OMP: Warning #96: Cannot form a team with 128 threads")
    _rows(log, "?:pageable", None, 203000.0, unit="MiBytes/sec")
    log.prefix("[0] ")
    log.ends_line = "\r\n"
    return log


def sycl() -> Log:
    """SYCL, in colour: it may run on a CPU or a GPU. Two runs in one file."""
    log = Log(403)
    for _ in range(2):
        _begin(log, "SYCL", "268.4 MB", version="4.0")
        _rows(log, "?:?", 2**28, 900000.0)
    log.colour()
    return log


def triad() -> Log:
    """--triad-only: the rate and the time of all iterations."""
    log = Log(404)
    log.say("BabelStream", "Version: 4.0", "Implementation: HIP", "Running triad 100 times")
    log.say("Number of elements: 33554432", "Precision: double", "Array size: 268.4 MB (=0.3 GB)")
    log.say("Total size: 805.3 MB (=0.8 GB)", "Using HIP device AMD Instinct MI300X", "Driver: 60443484")
    log.say("-" * 32)
    log.hints = {"version": "4.0", "gpus": {"0": "AMD Instinct MI300X"}}
    time, rate = log.number(0.0214, 5), log.number(3760.0, 3)
    fields = _fields("Triad", "?:device", 2**28)
    log.expect("Triad", "Runtime (seconds)", time, "s", differences=["no-case"], **fields)
    log.say(f"Runtime (seconds): {time}")
    log.expect("Triad", "Bandwidth (GB/s)", rate, "GB/s", counts="read+write", **fields)
    log.say(f"Bandwidth (GB/s):  {rate}")
    return log


def csv(*, mebi: bool = False) -> Log:
    """--csv: the size is exact, the implementation unknown."""
    log = Log(405)
    unit, name = ("MiB/s", "max_mibytes_per_sec") if mebi else ("MB/s", "max_mbytes_per_sec")
    elements, size = 30_000_000, 8 * 30_000_000
    log.say(f"phase,n_elements,sizeof,{name},runtime")
    for phase in ("Init", "Read"):
        rate, time = log.number(11402.4, 1), log.number(0.063, 6)
        codes = ["no-case", "memory-unknown"]
        none = {"source": "?:?", "destination": "?:?", "size_bytes": size, "differences": codes}
        log.expect(phase, name, rate, unit, **none)
        log.expect(phase, "runtime", time, "s", **none)
        log.say(f"{phase},{elements},8,{rate},{time}")
    log.say(f"function,num_times,n_elements,sizeof,{name},min_runtime,max_runtime,avg_runtime")
    for loop in _LOOPS:
        numbers = [log.number(2.9e6, 0), *(log.number(0.00016, 8) for _ in range(3))]
        columns = ((name, unit, "max"), ("min_runtime", "s", "min"), ("max_runtime", "s", "max"))
        for (column, of, statistic), text in zip(
            (*columns, ("avg_runtime", "s", "mean")), numbers, strict=True
        ):
            codes = _differences(loop, "?:?", size, extreme=statistic != "mean")
            counts = "read+write" if of != "s" else None
            common = _fields(loop, "?:?", size, statistic=statistic, counts=counts, differences=codes)
            log.expect(loop, column, text, of, **common)
        log.say(f"{loop},100,{elements},8," + ",".join(numbers))
    return log


def bad() -> Log:
    """Numbers that are none, a row that was cut, an unknown column."""
    log = Log(406)
    log.say("function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime")
    log.mistakes += [2, 2, 2, 2]
    log.say("Copy,100,1024,8,inf,0.1.2,-0.5,nan")
    log.refuse()
    log.say("Mul,100,1024,8,5.0,0.1")
    log.refuse()
    log.mistakes.append(log.next_line)  # an output without a rate
    log.say("function,num_times,n_elements,sizeof,max_furlongs_per_sec,min_runtime,max_runtime,avg_runtime")
    log.say("Copy,100,1024,8,5.0,0.1,0.2,0.3")
    return log


VARIANTS = {
    "v5.0-cuda.txt": cuda,
    "v4.0-openmp-hydra-crlf.txt": openmp,
    "v4.0-twice-colour.txt": sycl,
    "v4.0-triad-only.txt": triad,
    "v5.0.csv": csv,
    "v5.0-mebi.csv": lambda: csv(mebi=True),
    "bad-numbers.csv": bad,
}
