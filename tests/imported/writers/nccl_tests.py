"""nccl-tests 2.8 to 2.20 and rccl-tests: stated and unstated programs, blank columns, damaged outputs."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_MODEL = "NVIDIA H100 80GB HBM3"
_COLUMNS = "time   algbw   busbw #wrong"


def _devices(log: Log, ranks: int, model: str = _MODEL) -> None:
    log.say("# Using devices")
    for rank in range(ranks):
        log.say(
            f"#  Rank {rank:2} Group  0 Pid  {4200 + rank} on    node-a device {rank:2} "
            f"[0000:{rank:02x}:00] {model}"
        )
    log.say("#")
    log.hints = {"gpus": {str(rank): model for rank in range(ranks)}, "hosts": ["node-a"]}


def _header(log: Log, *, root: bool = True, check: str = "#wrong") -> None:
    columns = _COLUMNS.replace("#wrong", check)
    middle = "redop    root" if root else "redop"
    log.say(
        "#" + " " * 62 + "out-of-place" + " " * 23 + "in-place",
        f"#       size         count      type   {middle}     {columns}     {columns}",
        "#        (B)    (elements)" + " " * 31 + "(us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
    )


def _row(
    log: Log,
    what: dict[str, Any],
    size: int,
    lead: str,
    factor: float,
    *,
    check: str = "0",
    times: float = 1.0,
) -> None:
    """A row whose bandwidths follow from its times, as the program prints them."""
    cells = []
    test = what["test"]
    fields = {key: item for key, item in what.items() if key != "test"}
    in_place = (
        {"options": {"in_place": "yes"}}
        if fields["interface"] == "xccl" and fields["pattern"] != "ring"
        else {}
    )
    for place, options in (("out of place", {}), ("in place", in_place)):
        time = log.number(times * (20.0 + size / 400_000), 2)
        rate = size / float(time) / 1e3
        texts = time, f"{rate:.2f}", f"{rate * factor:.2f}"
        for column, text, unit, counts in zip(
            ("time", "algbw", "busbw"), texts, ("us", "GB/s", "GB/s"), (None, "algorithm", "bus"), strict=True
        ):
            log.expect(
                test,
                f"{column} ({place})",
                text,
                unit,
                statistic="mean",
                counts=counts,
                size_bytes=size,
                **fields,
                **options,
            )
        cells.append(f"{texts[0]:>8} {texts[1]:>7} {texts[2]:>7} {check:>6}")
    log.say(f"{size:>12} {size // 4:>12} {lead}" + "".join(cells))


def _of(test: str, pattern: str, ranks: int, **more: Any) -> dict[str, Any]:
    end = "0/?:device"
    return {
        "test": test,
        "interface": "xccl",
        "pattern": pattern,
        "source": end,
        "destination": end,
        "ranks": ranks,
        **more,
    }


def stated() -> Log:
    """2.20: the output names its program and library; lines of NCCL between the rows."""
    log = Log(701)
    log.say("# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23206 nccl-library=22809")
    log.say("# Collective test starting: all_gather_perf")
    log.say(
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor)",
        "#",
    )
    _devices(log, 8)
    log.hints |= {"version": "2.20.0", "libraries": {"nccl": "2.28.9"}}
    _header(log)
    what = _of("all_gather_perf", "allgather", 8)
    _row(log, what, 1024, "   float    none      -1 ", 7 / 8)
    log.say("node-a:4200:4300 [0] NCCL INFO Connected all rings", "")
    _row(log, what, 128 << 20, "   float    none      -1 ", 7 / 8)
    log.say("# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 101.2", "#")
    log.say("# Collective test concluded: all_gather_perf")
    return log


def unstated() -> Log:
    """2.13: which collective it was follows from the ratio of bandwidths; two runs in one file, coloured."""
    log = Log(702)
    for lead, pattern, test, factor in (
        ("   float     sum      -1 ", "allreduce", "all_reduce_perf", 2 * 3 / 4),
        ("   float     sum      -1 ", "reduce-scatter", "reduce_scatter_perf", 3 / 4),
    ):
        log.say(
            "# nThread 1 nGpus 4 minBytes 33554432 maxBytes 67108864 step: 2(factor)",
            "#",
        )
        _devices(log, 4)
        _header(log)
        for size in (32 << 20, 64 << 20):
            _row(log, _of(test, pattern, 4), size, lead, factor)
        log.say("# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 88.1", "#")
    log.colour()
    return log


def old() -> Log:
    """2.8: no root, `error` as the last column; the ratio of two ranks tells the collective; CRLF."""
    log = Log(703)
    log.say("# nThread 1 nGpus 2 minBytes 1048576 maxBytes 1048576 step: 2(factor)")
    _devices(log, 2, "Tesla V100-SXM2-32GB")
    _header(log, root=False, check="error")
    _row(log, _of("all_reduce_perf", "allreduce", 2), 64 << 20, "   float     sum ", 1.0, check="0e+00")
    log.say("# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 55.0")
    log.ends_line = "\r\n"
    return log


def blank() -> Log:
    """alltoall and sendrecv of rccl-tests leave columns blank; validation is off; by srun."""
    log = Log(704)
    log.say("# rccl-tests version 2.18.3")
    log.say("# Collective test starting: alltoall_perf")
    log.say("# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor)")
    model = "AMD Instinct MI300X"
    _devices(log, 4, model)
    _header(log)
    _row(log, _of("alltoall_perf", "alltoall", 4), 1 << 20, "   float                 ", 3 / 4, check="N/A")
    log.say("# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 9.1")
    log.say("# Collective test starting: sendrecv_perf")
    _devices(log, 4, model)
    _header(log)
    what = _of("sendrecv_perf", "ring", 4, differences=["no-case"])
    what |= {"destination": "1/?:device"}
    _row(log, what, 1 << 20, "   float                 -1 ", 1.0)
    log.say("# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 9.1")
    log.prefix("0: ")
    return log


def bad() -> Log:
    """A decimal comma, a row that misses a number, rows too small to know the collective by, an unknown
    column, and a cut end.
    """
    log = Log(705)
    log.say("# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor)")
    _devices(log, 2)
    _header(log)
    what = _of("nccl-tests", "", 2, differences=["method-unknown"])
    _row(log, what, 8, "   float     sum      -1 ", 1.0)
    log.refuse()
    log.say("           16             4     float     sum      -1    11,80    0.00    0.00      0")
    log.refuse()
    log.say("           16             4     float     sum      -1    11.80")
    log.say("# Out of bounds values : 0 OK")
    log.say("# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor)")
    _devices(log, 2)
    log.refuse()
    log.say("#       size         count      type   redop    root     time   algbw   warp #wrong")
    log.say("           16             4     float     sum      -1    11.80   0.00   0.00      0")
    log.say("# Out of bounds values : 0 OK")
    log.refuse()
    log.say("# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor)")
    _devices(log, 2)
    return log


VARIANTS = {
    "v2.20.txt": stated,
    "v2.13-twice-colour.txt": unstated,
    "v2.8-crlf.txt": old,
    "rccl-blank-srun.txt": blank,
    "bad.txt": bad,
}
