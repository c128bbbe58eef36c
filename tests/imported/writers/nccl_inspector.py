"""NCCL's inspector, formats v4.0 to v4.3: a record a line."""

from __future__ import annotations

import json
from typing import Any

from tests.imported.log import Log


def _record(log: Log, collective: str, pattern: str, size: int, **options: Any) -> None:
    """Writes a record of a collective of 8 ranks."""
    ranks, version, host = 8, options.get("version", "v4.0"), "node7"
    prefix = options.get("prefix", "coll")
    numbers = {
        f"{prefix}_exec_time_us": int(log.number(61974.0, 0)),
        f"{prefix}_algobw_gbs": float(log.number(277.2, 6)),
        f"{prefix}_busbw_gbs": float(log.number(485.1, 6)),
    }
    record: dict[str, Any] = {prefix: collective, f"{prefix}_sn": 1407, f"{prefix}_msg_size_bytes": size}
    by_rank = collective in ("AllGather", "ReduceScatter")
    counts = ["", "algorithm", "bus"] if prefix == "coll" else ["", "per-direction", "per-direction"]
    for (column, number), unit, count in zip(numbers.items(), ("us", "GB/s", "GB/s"), counts, strict=True):
        fields: dict[str, Any] = {
            "interface": "xccl",
            "pattern": pattern,
            "source": "?:device",
            "destination": "?:device",
        }
        fields |= {"ranks": ranks if prefix == "coll" else 2, "size_bytes": size * ranks if by_rank else size}
        pointer = f"/{prefix}_perf/{column}"
        line, codes = log.next_line, ["no-case"]
        log.expect(
            collective, column, repr(number), unit, pointer=pointer, counts=count, differences=codes, **fields
        )
        log.values[-1]["line"] = line
    metadata = {"inspector_output_format_version": version, "git_rev": "", "hostname": host, "pid": 4242}
    content = {
        "header": {"id": "0x7f8c496ae9f661", "rank": 2, "n_ranks": ranks, "nnodes": 1},
        "metadata": metadata,
        f"{prefix}_perf": {**record, **numbers, **options.get("more", {})},
    }
    log.say(json.dumps(content))
    log.hints = {"hosts": [host]}


def plain() -> Log:
    log = Log(811)
    _record(log, "AllReduce", "allreduce", 17179869184)
    _record(log, "ReduceScatter", "reduce-scatter", 2147483648)
    _record(log, "AllGather", "allgather", 65536)
    _record(log, "Broadcast", "broadcast", 65536)
    return log


def verbose() -> Log:
    """With the trace of events, which is left out, and the source of the time."""
    log = Log(812)
    trace = {"event_trace_sn": {"coll_start_sn": 1, "kernel_events": [{"channel_id": 0}]}}
    _record(log, "AllReduce", "allreduce", 4194304, more={"coll_timing_source": "kernel_gpu", **trace})
    log.ends_line = "\r\n"
    return log


def messages() -> Log:
    """v4.3: messages, and a record of what was lost, which has no numbers of a transfer."""
    log = Log(813)
    _record(log, "Send", "unidirectional", 1048576, prefix="p2p", version="v4.3")
    content: dict[str, Any] = {"header": {"id": "0x7f", "rank": 2, "n_ranks": 8, "nnodes": 1}}
    content["metadata"] = {"inspector_output_format_version": "v4.3", "hostname": "node7"}
    log.say(json.dumps({**content, "dump_stats": {"coll_records": 1024, "coll_dropped_total": 4096}}))
    return log


def bad() -> Log:
    """A rate that is none, a size that is none."""
    log = Log(814)
    header = '{"header": {"n_ranks": 8}, "metadata": {}, "coll_perf": {"coll": "AllReduce", '
    log.refuse()
    fields: dict[str, Any] = {
        "interface": "xccl",
        "pattern": "allreduce",
        "source": "?:device",
        "destination": "?:device",
    }
    fields |= {
        "ranks": 8,
        "differences": ["no-case", "size-unknown"],
        "pointer": "/coll_perf/coll_exec_time_us",
    }
    log.expect("AllReduce", "coll_exec_time_us", "12", "us", **fields)
    log.values[-1]["line"] = 1
    log.say(header + '"coll_msg_size_bytes": -5, "coll_exec_time_us": 12, "coll_busbw_gbs": Infinity}}')
    return log


VARIANTS = {
    "v4.0.jsonl": plain,
    "v4.0-verbose-crlf.jsonl": verbose,
    "v4.3-messages.jsonl": messages,
    "bad-numbers.jsonl": bad,
}
