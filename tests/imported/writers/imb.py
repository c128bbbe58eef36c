"""Intel MPI Benchmarks 4.0, 2018 and 2021.3, and pasted tables without a version."""

from __future__ import annotations

from typing import Any

from tests.imported.log import Log

_RULE = "#" + "-" * 51
_PAIR = {"interface": "mpi", "source": "0/?:pageable", "destination": "1/?:pageable", "ranks": 2}


def _begin(log: Log, version: str) -> None:
    log.say(_RULE, f"#    Intel (R) MPI Benchmarks {version}, MPI-1 part", _RULE)
    log.say("# Date                  : Thu Jun  1 23:13:46 2023", "# Machine               : x86_64", "")
    log.say("# Calling sequence was:", "# IMB-MPI1", "# MPI_Datatype                   :   MPI_BYTE", "#")
    log.hints = {"version": version}


def _title(log: Log, test: str, ranks: int) -> None:
    log.say(_RULE, f"# Benchmarking {test} ", f"# #processes = {ranks} ")
    if ranks == 2:
        log.say("# ( 62 additional processes waiting in MPI_Barrier)")
    log.say(_RULE)


def _expect(log: Log, test: str, column: str, text: str, unit: str, **fields: Any) -> None:
    log.expect(test, column, text, unit, statistic="mean", **fields)


def _ping_pong(log: Log, unit: str, *, noise: bool = False) -> None:
    _title(log, "PingPong", 2)
    log.say("       #bytes #repetitions      t[usec]   Mbytes/sec")
    divisor = {"MB/s": 1.0, "MiB/s": 2**20 / 1e6}[unit]
    for size, about in ((0, 1.66), (4096, 3.46), (65536, 10.2), (1 << 20, 96.9)):
        time = log.number(about, 2)
        rate = f"{size / float(time) / divisor:.2f}"
        fields = {**_PAIR, "pattern": "ping-pong", "size_bytes": size}
        _expect(log, "PingPong", "t[usec]", time, "us", counts="one-way", **fields)
        codes = ["no-case"]
        _expect(
            log, "PingPong", "Mbytes/sec", rate, unit, counts="per-direction", differences=codes, **fields
        )
        log.say(f"{size:>13} {1000:>12} {time:>12} {rate:>12}")
        if noise and size == 4096:
            log.say("[node7:4242] mca_btl_tcp_endpoint: a connection was closed")
    log.say("", "")


def _collective(log: Log, test: str, pattern: str, ranks: int, *, blocks: bool = False) -> None:
    _title(log, test, ranks)
    log.say("       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]")
    for size, about in ((0, 0.05), (1024, 9.1), (4 << 20, 3820.0)):
        times = [log.number(about, 2) for _ in range(3)]
        end = {"source": "0/?:pageable", "destination": "0/?:pageable", "ranks": ranks}
        fields = {
            "interface": "mpi",
            "pattern": pattern,
            **end,
            "size_bytes": size * (ranks if blocks else 1),
        }
        codes: tuple[list[str], ...] = (["extreme"], [], [])
        for column, text, differences in zip(("t_min", "t_max", "t_avg"), times, codes, strict=True):
            _expect(log, test, f"{column}[usec]", text, "us", differences=differences, **fields)
        log.say(f"{size:>13} {1000:>12} " + " ".join(f"{time:>12}" for time in times))
    log.say("")


def pairs() -> Log:
    """2018 by Open MPI's launcher: PingPong, Sendrecv of 2, Exchange of 4, with a line of the launcher."""
    log = Log(501)
    _begin(log, "2018")
    _ping_pong(log, "MB/s", noise=True)
    for test, ranks, counts in (("Sendrecv", 2, "sum-of-directions"), ("Exchange", 4, "sum-of-directions")):
        _title(log, test, ranks)
        log.say("       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec")
        fields = {**_PAIR, "ranks": ranks, "pattern": "bidirectional", "size_bytes": 65536}
        times, rate = [log.number(21.0, 2) for _ in range(3)], log.number(6200.0, 2)
        differences = (["extreme", "no-case"], ["no-case"], ["no-case"])
        for column, text, codes in zip(("t_min", "t_max", "t_avg"), times, differences, strict=True):
            _expect(log, test, f"{column}[usec]", text, "us", differences=codes, **fields)
        codes = [] if ranks == 2 else ["no-case"]
        _expect(log, test, "Mbytes/sec", rate, "MB/s", counts=counts, differences=codes, **fields)
        log.say(f"{65536:>13} {640:>12} " + " ".join(f"{number:>12}" for number in (*times, rate)))
        log.say("")
    log.prefix("[1,0]<stdout>:")
    return log


def collectives() -> Log:
    """2021.3, CRLF, in colour: collectives of 8 ranks, sizes that were not measured, a barrier."""
    log = Log(502)
    _begin(log, "2021.3")
    _collective(log, "Allreduce", "allreduce", 8)
    _collective(log, "Allgather", "allgather", 8, blocks=True)
    log.say('4194304 out-of-mem.; needed X=  0.250 GB; use flag "-mem X" or MAX_MEM_USAGE>=X')
    _title(log, "Barrier", 8)
    log.say(" #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]")
    fields = {"interface": "mpi-barrier", "pattern": "barrier", "ranks": 8, "counts": "call"}
    times = [log.number(4.4, 2) for _ in range(3)]
    for column, text, codes in zip(("t_min", "t_max", "t_avg"), times, (["extreme"], [], []), strict=True):
        _expect(log, "Barrier", f"{column}[usec]", text, "us", differences=codes, **fields)
    log.say(f"{1000:>13} " + " ".join(f"{time:>12}" for time in times))
    log.say("", "# All processes entering MPI_Finalize")
    log.colour()
    log.ends_line = "\r\n"
    return log


def old() -> Log:
    """4.0: MB of 2^20 bytes."""
    log = Log(503)
    _begin(log, "4.0")
    _ping_pong(log, "MiB/s")
    return log


def pasted(unit: str) -> Log:
    """A table without the version: its own time says what a megabyte is. Rows of size 0 do not."""
    log = Log(504)
    _title(log, "PingPong", 2)
    log.lines.clear()
    _ping_pong(log, unit)
    first = log.values[1]
    assert first["size_bytes"] == 0
    first["unit"] = "MB/s"
    return log


def bad() -> Log:
    """An unknown column, a row with too few cells, numbers that are none, a test without a case of ours."""
    log = Log(505)
    _begin(log, "2018")
    _title(log, "PingPong", 2)
    log.refuse()
    log.say("       #bytes #repetitions      t[furlongs]   Mbytes/sec")
    log.say("0 1000 1.0 0.0")
    _title(log, "Unidir_Get", 2)
    log.say("       #bytes #repetitions      t[usec]   Mbytes/sec")
    log.refuse()
    log.say("            4         1000         2.23")
    log.refuse()
    fields = {"size_bytes": 8, "differences": ["no-case"], "ranks": 2}
    _expect(log, "Unidir_Get", "Mbytes/sec", "3.50", "MB/s", **fields)
    log.say("            8         1000         2,23   3.50")
    log.refuse()
    log.mistakes[-1] = log.next_line + 1
    _title(log, "Bcast", 2)
    return log


VARIANTS = {
    "v2018-pairs-openmpi.txt": pairs,
    "v2021-collectives-colour-crlf.txt": collectives,
    "v4.0-pingpong.txt": old,
    "table-alone-2018.txt": lambda: pasted("MB/s"),
    "table-alone-4.0.txt": lambda: pasted("MiB/s"),
    "bad.txt": bad,
}
