"""OSU Micro-Benchmarks 5.6 to 7.5: messages, one-sided, collectives, barriers, tails, and damaged outputs."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_HOST = {"interface": "mpi", "source": "0/?:pageable", "destination": "1/?:pageable", "ranks": 2}
_GPU = {**_HOST, "source": "0/?:device", "destination": "1/?:device"}
_US, _MBS = "us", "MB/s"


def _begin(log: Log, test: str, version: str, places: str = "") -> None:
    log.say(f"# OSU {test} v{version}")
    if places:
        send, receive = places.split()
        log.say(f"# Send Buffer on {send} ({send[0]}) and Receive Buffer on {receive} ({receive[0]})")
    log.hints = {"version": version}


def _latency(log: Log, test: str, column: str, fields: dict[str, Any], sizes: tuple[int, ...]) -> None:
    log.say(f"# Size{column:>22}")
    for size in sizes:
        text = log.number(3.0 + size / 20_000, 2)
        log.expect(
            test,
            column,
            text,
            _US,
            statistic="mean",
            counts="one-way",
            size_bytes=size,
            pattern="ping-pong",
            **fields,
        )
        log.say(f"{size:<14}{text:>12}")


def _bandwidth(
    log: Log, test: str, fields: dict[str, Any], sizes: tuple[int, ...], *, both: bool = False
) -> None:
    log.say("# Size      Bandwidth (MB/s)")
    pattern, counts = ("bidirectional", "sum-of-directions") if both else ("unidirectional", "per-direction")
    for size in sizes:
        text = log.number(min(size / 2.0, 24_000.0) + 1, 2)
        log.expect(
            test,
            "Bandwidth (MB/s)",
            text,
            _MBS,
            statistic="mean",
            counts=counts,
            size_bytes=size,
            pattern=pattern,
            **fields,
        )
        log.say(f"{size:<10}{text:>18}")


def host() -> Log:
    """5.6: latency and bandwidth in one file, with warnings of a network library between the rows."""
    log = Log(601)
    _begin(log, "MPI Latency Test", "5.6.2")
    _latency(log, "MPI Latency Test", "Latency (us)", _HOST, (0, 1, 8))
    log.say("[1699112233.123456] [node7:4242:0]  ucp_worker.c:1877 UCX  INFO  ep_cfg[2]: tag(rc/mlx5_0:1)")
    _latency_rows(log)
    log.say("")
    _begin(log, "MPI Bi-Directional Bandwidth Test", "5.6.2")
    _bandwidth(log, "MPI Bi-Directional Bandwidth Test", _HOST, (1, 4096, 4 << 20), both=True)
    return log


def _latency_rows(log: Log) -> None:
    for size in (4096, 1 << 20):
        text = log.number(3.0 + size / 20_000, 2)
        log.expect(
            "MPI Latency Test",
            "Latency (us)",
            text,
            _US,
            statistic="mean",
            counts="one-way",
            size_bytes=size,
            pattern="ping-pong",
            **_HOST,
        )
        log.say(f"{size:<14}{text:>12}")


def devices() -> Log:
    """7.2 between GPUs by Open MPI's launcher, with the line of the data type, CRLF."""
    log = Log(602)
    test = "MPI-CUDA Bandwidth Test"
    _begin(log, test, "7.2", "DEVICE DEVICE")
    _bandwidth(log, test, _GPU, (8, 65536))
    log.say("# Datatype: MPI_CHAR.")
    log.prefix("[1,0]<stdout>:")
    log.ends_line = "\r\n"
    return log


def tails() -> Log:
    """7.5 with -f and -z: least and greatest times, iterations, percentiles, validation, coloured."""
    log = Log(603)
    test = "MPI Allreduce Latency Test"
    _begin(log, test, "7.5")
    columns = [
        "Avg Latency(us)",
        "Min Latency(us)",
        "Max Latency(us)",
        "Iterations",
        "P99 Tail Lat(us)",
        "Validation",
    ]
    log.say("# Size       " + "".join(f"{column:>20}" for column in columns))
    end = {
        "interface": "mpi",
        "pattern": "allreduce",
        "source": "0/?:pageable",
        "destination": "0/?:pageable",
    }
    extreme = ["extreme"]
    for size in (4, 65536):
        texts = [log.number(5.0 + size / 5000, 2) for _ in range(4)]
        for column, text, statistic, differences in (
            (columns[0], texts[0], "mean", []),
            (columns[1], texts[1], "min", extreme),
            (columns[2], texts[2], "max", []),
            (columns[4], texts[3], "p99", extreme),
        ):
            log.expect(
                test, column, text, _US, statistic=statistic, size_bytes=size, differences=differences, **end
            )
        cells = [*texts[:3], "1000", texts[3], "Pass"]
        log.say(f"{size:<13}" + "".join(f"{cell:>20}" for cell in cells))
    log.colour()
    return log


def collectives() -> Log:
    """6.1: alltoall, whose size is that of a block, and a barrier without sizes; NCCL's broadcast."""
    log = Log(604)
    test = "MPI All-to-All Personalized Exchange Latency Test"
    _begin(log, test, "6.1")
    log.say("# Size       Avg Latency(us)")
    end = {"interface": "mpi", "pattern": "alltoall", "source": "0/?:pageable", "destination": "0/?:pageable"}
    for size in (1, 1024):
        text = log.number(12.0, 2)
        log.expect(test, "Avg Latency(us)", text, _US, statistic="mean", differences=["size-unknown"], **end)
        log.say(f"{size:<10}{text:>18}")
    log.say("")
    test = "MPI Barrier Latency Test"
    _begin(log, test, "6.1")
    log.say("# Avg Latency(us)")
    text = log.number(2.5, 2)
    log.expect(
        test,
        "Avg Latency(us)",
        text,
        _US,
        statistic="mean",
        counts="call",
        interface="mpi-barrier",
        pattern="barrier",
    )
    log.say(f"{text:>17}")
    log.say("")
    test = "NCCL-CUDA Broadcast Latency Test"
    _begin(log, test, "6.1")
    log.say("# Size       Avg Latency(us)")
    end = {"interface": "xccl", "pattern": "broadcast", "source": "0/?:device", "destination": "0/?:device"}
    for size in (4, 4 << 20):
        text = log.number(20.0, 2)
        log.expect(test, "Avg Latency(us)", text, _US, statistic="mean", size_bytes=size, **end)
        log.say(f"{size:<10}{text:>18}")
    return log


def one_sided() -> Log:
    """7.0: puts between GPUs, several pairs, and a program of threads, which is no case of ours; by srun."""
    log = Log(605)
    test = "MPI_Put-CUDA Bandwidth Test"
    _begin(log, test, "7.0", "DEVICE DEVICE")
    _bandwidth(log, test, {**_GPU, "interface": "mpi-put"}, (8, 1 << 20))
    test = "MPI Multiple Bandwidth / Message Rate Test"
    _begin(log, test, "7.0")
    log.say("# [ pairs: 4 ] [ window size: 64 ]", "# Size                  MB/s        Messages/s")
    fields = {**_HOST, "ranks": 8, "pattern": "multi-pair", "differences": ["no-case"]}
    for size in (1, 65536):
        rate, messages = log.number(9000.0, 2), log.number(137_000.0, 2)
        for column, text, unit in (("MB/s", rate, _MBS), ("Messages/s", messages, "1/s")):
            log.expect(test, column, text, unit, statistic="mean", size_bytes=size, **fields)
        log.say(f"{size:<10}{rate:>18}{messages:>18}")
    test = "MPI Multi-threaded Latency Test"
    _begin(log, test, "7.0")
    log.say("# Size          Latency (us)")
    text = log.number(3.3, 2)
    log.expect(test, "Latency (us)", text, _US, statistic="mean", size_bytes=8, differences=["no-case"])
    log.say(f"8{text:>20}")
    log.prefix("0: ")
    return log


def bad() -> Log:
    """A decimal comma, NaN, a negative and a missing number; an unknown column; rows without a header; a cut
    end.
    """
    log = Log(606)
    log.refuse()
    log.say("8                 3.21")  # what comes before any title
    test = "MPI Latency Test"
    _begin(log, test, "7.4")
    log.say("# Size          Latency (us)")
    for text in ("3,21", "nan", "-1.00"):
        log.refuse()
        log.say(f"8{text:>20}")
    text = log.number(3.3, 2)
    log.expect(
        test,
        "Latency (us)",
        text,
        _US,
        statistic="mean",
        counts="one-way",
        size_bytes=16,
        pattern="ping-pong",
        **_HOST,
    )
    log.say(f"16{text:>19}")
    log.refuse()
    log.say("32")
    _begin(log, "MPI Bandwidth Test", "7.4")
    log.refuse()
    log.say("# Size      Bandwidth (furlongs)", "8            12.00")
    log.refuse()
    _begin(log, "MPI Bandwidth Test", "7.4")
    log.say("# Size      Bandwidth (MB/s)")
    return log


VARIANTS = {
    "v5.6-host.txt": host,
    "v7.2-devices-openmpi-crlf.txt": devices,
    "v7.5-tails-colour.txt": tails,
    "v6.1-collectives.txt": collectives,
    "v7.0-one-sided-srun.txt": one_sided,
    "bad.txt": bad,
}
