"""ucx_perftest: tables of 1.3, 1.12 and 1.22, of both processes, and CSV."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_ALWAYS = ["no-case", "devices-unknown"]
_NO_BOX = [*_ALWAYS, "memory-unknown", "size-unknown"]
_WIDTHS = (14, 14, 10, 9, 9, 10, 10, 11, 11)


def _box(log: Log, test: str, memory: str, size: int, *, wide: int = 60) -> dict[str, Any]:
    """Writes the box of the server; returns the fields that values then have."""
    rows = {"API": "protocol layer", "Test": test, "Data layout": "(automatic)"}
    rows |= {"Send memory": memory, "Recv memory": memory, "Message size": str(size), "Window size": "32"}
    log.say("+" + "-" * (wide + 46) + "+")
    for name, value in rows.items():
        log.say(f"| {name + ':':13} {value:{wide}}" + " " * 31 + "|")
    end = {"cuda": "?:device", "host": "?:pageable"}[memory]
    name = test.removeprefix("UCP ")
    return {"test": name, "size_bytes": size, "source": end, "destination": end, "differences": _ALWAYS}


def _header(log: Log, kind: str, *, first: str = "Stage", rank: str = "50.0") -> None:
    frame = "+" + "+".join("-" * width for width in _WIDTHS) + "+"
    log.say(
        frame,
        f"|              |              |       {kind:>8} (usec)        |   bandwidth (MB/s)  |  rate |",
    )
    log.lines[-1] = log.lines[-1].replace("|  rate |", "|  message rate (msg/s) |")
    log.say(frame)
    names = ("average", "overall", "average", "overall", "average", "overall")
    log.say(f"|    {first:>5}     | # iterations | {rank}%ile | " + " | ".join(names) + " |", frame)


def _numbers(log: Log, time_us: float, mib_per_s: float, rate: float) -> list[str]:
    times = [log.number(time_us, 3) for _ in range(3)]
    bandwidths = [log.number(mib_per_s, 2) for _ in range(2)]
    return [*times, *bandwidths, *(log.number(rate, 0) for _ in range(2))]


def _expect(log: Log, numbers: list[str], kind: str, fields: dict[str, Any], rank: str = "50.0%ile") -> None:
    """Expects the values of a row."""
    unknown = {"source": "?:?", "destination": "?:?"}
    fields = {"test": "ucx_perftest", "differences": _NO_BOX, **unknown, **fields}
    test = fields.pop("test")
    columns = [
        f"{kind} {rank}",
        f"{kind} average",
        f"{kind} overall",
        "bandwidth average",
        "bandwidth overall",
    ]
    columns += ["message rate average", "message rate overall"]
    statistics = ["p99" if rank.startswith("99") else "median"] + ["mean"] * 6
    units = ["us"] * 3 + ["MiB/s"] * 2 + ["1/s"] * 2
    for column, number, unit, statistic in zip(columns, numbers, units, statistics, strict=True):
        counts = {"MiB/s": "per-direction", "us": "one-way" if kind == "latency" else None}.get(unit)
        common = {"pattern": "unidirectional", "ranks": 2, "statistic": statistic, "counts": counts}
        log.expect(test, column, number.replace(",", ""), unit, **common, **fields)


def _row(log: Log, label: str, numbers: list[str], iterations: str = "1000") -> None:
    widths = (10, 9, 9, 11, 10, 11, 11)
    cells = " ".join(f"{number:>{width}}" for number, width in zip(numbers, widths, strict=True))
    log.say(f"{label:10}{iterations:>18} {cells}")


def both() -> Log:
    """1.12, both processes in one file: the box after the header, log lines, windows of threads."""
    log = Log(201)
    log.say("[1666037945.840967] [node7:15805:0]  perftest.c:921  UCX  WARN  CPU affinity is not set")
    log.say("Waiting for connection...")
    _header(log, "overhead")
    log.say("Accepted connection from 127.0.0.1:52366")
    fields = _box(log, "tag match bandwidth", "cuda", 1 << 20)
    log.say("+" + "-" * 106 + "+")
    _row(log, "[thread 0]", _numbers(log, 30.0, 45000.0, 45000.0))
    log.say("[1666037946.100000] [node7:15805:0]  cuda_ipc.c:12  UCX  DIAG  a peer was mapped")
    numbers = _numbers(log, 21.0, 46000.0, 46000.0)
    _expect(log, numbers, "overhead", fields)
    _row(log, "Final:", numbers)
    return log


def client() -> Log:
    """A client's output alone, by srun: neither test, memory nor size are known; percentile 99.9, -N."""
    log = Log(202)
    _header(log, "latency", rank="99.9")
    numbers = _numbers(log, 2.46, 3.1, 406000.0)
    numbers[5:] = [f"{int(number):,}" for number in numbers[5:]]
    log.say("srun: job 7 has been queued")
    _expect(log, numbers, "latency", {}, rank="99.9%ile")
    for value in log.values:
        value["statistic"] = "p99.9" if value["column"].endswith("%ile") else "mean"
    _row(log, "Final:", numbers, iterations="1,000,000")
    log.prefix("0: ")
    return log


def old() -> Log:
    """1.3 to 1.9: no stage; every row is one of progress, and the last one is final. A batch of two tests."""
    log = Log(203)
    frame = "+" + "+".join("-" * width for width in _WIDTHS[1:]) + "+"
    log.say(
        frame,
        "|              |       latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |",
        frame,
    )
    log.say(
        "| # iterations | typical | average | overall |  average |  overall |   average |   overall |", frame
    )
    for test in ("put_lat", "am_lat/short"):
        log.say(f"+{test}" + "-" * 40 + "+" + "-" * 20 + "+")
        numbers = _numbers(log, 0.9, 8.1, 1e6)
        _row(log, "", _numbers(log, 0.9, 8.1, 1e6), iterations="500000")
        _expect(log, numbers, "latency", {"test": test}, rank="typical")
        _row(log, "", numbers, iterations="1000000")
    log.ends_line = "\r\n"
    return log


def newest() -> Log:
    """1.22 in colour: the box and the columns are one table, rows have frames."""
    log = Log(204)
    fields = _box(log, "put bandwidth", "host", 8 << 20, wide=85)
    _header(log, "overhead")
    numbers = _numbers(log, 170.0, 47000.0, 5900.0)
    log.say("| [thread 0]     | 40 | " + " | ".join(_numbers(log, 170.0, 47000.0, 5900.0)) + " |")
    _expect(log, numbers, "overhead", fields)
    log.say("| Final:         | 80 | ".lstrip("| ") + " | ".join(numbers) + " |")
    log.lines[-1] = "Final:         | 80 | " + " | ".join(numbers) + " |"
    log.colour()
    return log


def final_only() -> Log:
    """-f with a batch: final rows alone, each with the name of its test."""
    log = Log(205)
    _header(log, "overhead", first="Test")
    for test in ("tag_bw", "tag_sync_bw"):
        numbers = _numbers(log, 3.2, 9000.0, 9000.0)
        _expect(log, numbers, "overhead", {"test": test})
        _row(log, test, numbers)
    return log


def csv() -> Log:
    """-v: the trap of both ends on one GPU, and one row of several threads."""
    log = Log(206)
    log.say("iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr")
    numbers = ["47.430", "49.810", "49.810", "1284871.99", "1284871.99", "20076", "20076"]
    _expect(log, numbers, "lat", {})
    log.say(" 200," + ",".join(numbers))
    common = {"pattern": "unidirectional", "ranks": 2, "statistic": "mean", "differences": _NO_BOX}
    common |= {"source": "?:?", "destination": "?:?"}
    log.expect("ucx_perftest", "lat overall", "50.100", "us", **common)
    log.expect("ucx_perftest", "bandwidth overall", "1284.50", "MiB/s", counts="per-direction", **common)
    log.expect("ucx_perftest", "message rate overall", "20070", "1/s", **common)
    log.say(" 200,50.100,1284.50,20070")
    return log


def batch_csv() -> Log:
    """-v -b: the names of the test before the numbers; a row with too few, one that is no number."""
    log = Log(207)
    log.say("tests,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr")
    numbers = _numbers(log, 1.1, 7.2, 900000.0)
    _expect(log, numbers, "lat", {"test": "ucp_put_lat"})
    for value in log.values:
        if value["unit"] == "us":
            value["counts"] = "one-way"
    log.say("ucp_put_lat,1000000," + ",".join(numbers))
    log.refuse()
    log.say("tag_lat,1000000,1.0,1.1")
    log.refuse()
    numbers = _numbers(log, 1.1, 7.2, 900000.0)
    numbers[0] = "-nan"
    start = len(log.values)
    log.values += []
    _expect_but_first(log, numbers, start)
    log.say("tag_lat,1000000," + ",".join(numbers))
    return log


def _expect_but_first(log: Log, numbers: list[str], start: int) -> None:
    good = ["1", *numbers[1:]]
    _expect(log, good, "lat", {"test": "tag_lat"})
    del log.values[start]
    for value in log.values[start:]:
        if value["unit"] == "us":
            value["counts"] = "one-way"


def cut() -> Log:
    """The job ended before the final row."""
    log = Log(208)
    log.refuse()
    log.mistakes[-1] = 2  # where the output begins
    _header(log, "latency")
    _row(log, "[thread 0]", _numbers(log, 2.4, 3.1, 400000.0))
    return log


VARIANTS = {
    "v1.12-both.txt": both,
    "v1.12-client-srun.txt": client,
    "v1.9-batch-crlf.txt": old,
    "v1.22-colour.txt": newest,
    "final-only.txt": final_only,
    "one-device.csv": csv,
    "batch-bad.csv": batch_csv,
    "cut.txt": cut,
}
