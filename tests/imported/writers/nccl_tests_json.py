"""JSON of nccl-tests, versions 1 to 3 of the document."""

from __future__ import annotations

import json
from typing import Any

from tests.imported.log import Log

_MODEL = "NVIDIA H100 80GB HBM3"


def _run(
    log: Log,
    version: int,
    program: str,
    pattern: str,
    ranks: int,
    factor: float,
    *,
    out: bool = True,
    time: str = "time",
) -> dict[str, Any]:
    """Returns a document, and expects its values; its environment must not come out."""
    results = []
    end = {
        "interface": "xccl",
        "pattern": pattern,
        "source": "0/?:device",
        "destination": "0/?:device",
        "ranks": ranks,
    }
    for number, size in enumerate((1024, 64 << 20)):
        row: dict[str, Any] = {
            "size": size,
            "count": size // 4,
            "type": "float",
            "redop": "sum",
            "root": "    -1",
        }
        for key, options in (("out_of_place", {}), ("in_place", {"options": {"in_place": "yes"}})):
            if key == "out_of_place" and not out:
                row[key] = None
                continue
            took = float(log.number(20.0 + size / 400_000, 6))
            rate = size / took / 1e3
            row[key] = {time: took, "alg_bw": rate, "bus_bw": rate * factor, "nwrong": None}
            for name, unit, counts in (
                (time, "us", None),
                ("alg_bw", "GB/s", "algorithm"),
                ("bus_bw", "GB/s", "bus"),
            ):
                differences = ["no-case"] if name == "cpu_time" else []
                log.expect(
                    program,
                    name,
                    repr(row[key][name]),
                    unit,
                    statistic="mean",
                    counts=counts,
                    size_bytes=size,
                    differences=differences,
                    pointer=f"/results/{number}/{key}/{name}",
                    **end,
                    **options,
                )
        row |= {"actual_iterations": 20, "experiment_name": ""}
        results.append(row)
    devices = [
        {
            "rank": rank,
            "group": 0,
            "pid": 42 + rank,
            "hostname": "node-a",
            "device": rank,
            "device_info": _MODEL,
        }
        for rank in range(ranks)
    ]
    log.hints = {
        "gpus": {str(rank): _MODEL for rank in range(ranks)},
        "hosts": ["node-a"],
        "version": f"document {version}",
    }
    return {
        "version": version,
        "start_time": "2026-07-25 06:28:30",
        "args": [f"/opt/nccl-tests/build/{program}", "-J", "out.json"],
        "env": ["SECRET_TOKEN=never"],
        "nccl_version": 22809,
        "config": {"nthreads": 1, "ngpus": ranks, **({"devices": devices} if version < 3 else {})},
        **({"devices": devices} if version >= 3 else {}),
        "results": results,
        "out_of_bounds": {"count": 0, "okay": True},
        "average_bus_bandwidth": {"bandwidth": 55.5, "okay": "unchecked"},
        "errors": [],
        "end_time": "2026-07-25 06:29:30",
    }


def first() -> Log:
    """Version 1, with text of the launcher before it."""
    log = Log(711)
    content = _run(log, 1, "all_reduce_perf", "allreduce", 8, 2 * 7 / 8)
    log.say("Warning: Permanently added 'node-a' to the list of known hosts.")
    log.document(content)
    return log


def second() -> Log:
    """Version 2 in one line, CRLF, in place alone."""
    log = Log(712)
    log.say(json.dumps(_run(log, 2, "reduce_scatter_perf", "reduce-scatter", 4, 3 / 4, out=False)))
    log.ends_line = "\r\n"
    return log


def third() -> Log:
    """Version 3: times of the calls alone (-C)."""
    log = Log(713)
    log.document(_run(log, 3, "all_reduce_perf", "allreduce", 2, 1.0, time="cpu_time"))
    return log


def bad() -> Log:
    """NaN as text, a negative time, and a document that is cut behind a complete one."""
    log = Log(714)
    content = _run(log, 3, "all_reduce_perf", "allreduce", 2, 1.0)
    first_result = content["results"][0]
    first_result["out_of_place"] |= {"bus_bw": "nan", "time": -1.0}
    gone = ("/results/0/out_of_place/bus_bw", "/results/0/out_of_place/time")
    log.values = [value for value in log.values if value["pointer"] not in gone]
    log.mistakes += [None, None]
    log.document(content)
    log.refuse()
    log.say("{", '  "version": 3,', '  "results": [')
    return log


VARIANTS = {
    "document-1.json": first,
    "document-2-crlf.json": second,
    "document-3-cpu-time.json": third,
    "bad.json": bad,
}
