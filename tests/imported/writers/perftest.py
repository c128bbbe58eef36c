"""linux-rdma perftest: bandwidths in MB, MiB and Gb, latencies."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_RULE = "-" * 87
_CODES = ["no-case", "devices-unknown", "memory-unknown"]
_ENDS = {"source": "0/?:?", "destination": "1/?:?", "ranks": 2}


def _begin(log: Log, test: str) -> None:
    log.say(_RULE, f"                    {test}")
    log.say(
        " Dual-port       : OFF\t\tDevice         : mlx5_0", " Number of qps   : 1\t\tTransport type : IB"
    )
    log.say(
        " Connection type : RC\t\tUsing SRQ      : OFF",
        " TX depth        : 128",
        " Mtu             : 4096[B]",
    )
    log.say(" Link type       : IB", _RULE)
    log.say(
        " local address: LID 0x08 QPN 0x0087 PSN 0x8c1e3d",
        " remote address: LID 0x09 QPN 0x0088 PSN 0x8c",
        _RULE,
    )


def _bandwidths(log: Log, test: str, unit: str, *, both: bool = False) -> None:
    _begin(log, test)
    log.say(f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]")
    name = {"MB/sec": "MiB/s", "MiB/sec": "MiB/s", "Gb/sec": "Gb/s"}[unit]
    for size in (65536, 1 << 23):
        peak, average = (log.number(24500.0, 2) for _ in range(2))
        fields = _fields(both=both, size_bytes=size, counts="sum-of-directions" if both else "per-direction")
        codes = {"statistic": "max", "differences": [*_CODES, "extreme"]}
        log.expect(test, "BW peak", peak, name, **{**fields, **codes})
        log.expect(test, "BW average", average, name, statistic="mean", **fields)
        log.say(f" {size:<11}5000             {peak}           {average}\t\t   0.392000")
    log.say(_RULE)


def _fields(*, both: bool = False, **more: Any) -> dict[str, Any]:
    pattern = "bidirectional" if both else "unidirectional"
    return {**_ENDS, "pattern": pattern, "differences": _CODES, **more}


def writes() -> Log:
    """Old units; a warning of the launcher between the lines."""
    log = Log(841)
    log.say("* Waiting for client to connect... *")
    log.lines.insert(0, "************************************")
    _bandwidths(log, "RDMA_Write BW Test", "MB/sec")
    log.say("srun: a warning of the launcher")
    return log


def both_ways() -> Log:
    """--report_gbits, both directions; two programs in a file, CRLF."""
    log = Log(842)
    _bandwidths(log, "RDMA_Write Bidirectional BW Test", "Gb/sec", both=True)
    _bandwidths(log, "Send BW Test", "MiB/sec")
    log.ends_line = "\r\n"
    return log


def latencies() -> Log:
    """Latencies by Hydra, in colour: half of a round trip but for reads."""
    log = Log(843)
    for test, counts in (("RDMA_Read Latency Test", "round-trip"), ("Send Latency Test", "one-way")):
        _begin(log, test)
        names = ("t_min", "t_max", "t_typical", "t_avg", "t_stdev", "99% percentile", "99.9% percentile")
        log.say(" #bytes #iterations    " + "    ".join(f"{name}[usec]" for name in names) + "   ")
        texts = [log.number(1.9, 2) for _ in names]
        statistics = ("min", "max", "median", "mean", None, "p99", "p99.9")
        for name, statistic, text in zip(names, statistics, texts, strict=True):
            if statistic is not None:
                codes = [*_CODES, "extreme"] if statistic in ("min", "max") else _CODES
                fields = _fields(size_bytes=2, counts=counts, differences=codes)
                log.expect(test, name, text, "us", statistic=statistic, **fields)
        log.say(" 2       1000          " + "           ".join(texts) + "   ", _RULE)
    log.prefix("[1] ")
    log.colour()
    return log


def bad() -> Log:
    """A row that was cut, a number that is none, an unknown unit, an output without a row."""
    log = Log(844)
    _begin(log, "Send BW Test")
    log.say(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]")
    log.refuse()
    log.say(" 65536      5000             24500.00")
    log.refuse()
    log.expect(
        "Send BW Test",
        "BW average",
        "24500.00",
        "MiB/s",
        statistic="mean",
        **_fields(size_bytes=65536, counts="per-direction"),
    )
    log.say(" 65536      5000             24.500,00          24500.00       0.392000")
    log.mistakes += [log.next_line + 1]
    _begin(log, "Send BW Test")
    log.refuse()
    log.say(" #bytes     #iterations    BW peak[furlong/sec]    MsgRate[Mpps]")
    return log


VARIANTS = {
    "write-bw.txt": writes,
    "two-programs-crlf.txt": both_ways,
    "latencies-hydra-colour.txt": latencies,
    "bad.txt": bad,
}
