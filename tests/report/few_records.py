"""Runs of a few records that never were on disk, for tests of one rule or one topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from byteways.cases.interfaces import metric_of
from byteways.machine.model import Topology
from byteways.record.record import Record
from tests.changed import replace

GB = 1e9
KIB, MIB, GIB = 2**10, 2**20, 2**30


#: Rounds of every case that is given once.
ROUNDS = 3


@dataclass
class Fixture:
    """A run of these records; of what is given in one round, all rounds are equal."""

    records: list[Record]
    manifest: dict[str, Any] = field(default_factory=dict)
    topology: Topology = field(default_factory=lambda: Topology("host", (), ()))
    damaged_lines: int = 0

    def __post_init__(self) -> None:
        self.records = in_rounds(self.records)


def in_rounds(records: Iterable[Record], rounds: int = ROUNDS) -> list[Record]:
    """The same records, those that are alone of their case in several equal rounds."""
    given = list(records)
    alone = Counter(one.case_id for one in given)
    return [
        replace(one, round=number) if alone[one.case_id] == 1 else one
        for one in given
        for number in range(rounds if alone[one.case_id] == 1 else 1)
    ]


def flow(source: str, destination: str, executor: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "destination": destination, "executor": executor, **more}


def record(interface: str, flows: list[dict[str, Any]], value: float, size: int = MIB, **more: Any) -> Record:
    """A measured record with a figure of `value` (bytes/s, or ns) and an interval of 1 % of it."""
    by_time = metric_of(interface) != "bandwidth"
    time_ns = value if by_time else size / value * 1e9
    figure = {"latency_ns": value} if by_time else {"bandwidth_bytes_per_s": value}
    paths = [f"{one['source'].split(':')[0]}>{one['destination'].split(':')[0]}" for one in flows]
    beside = f" beside {','.join(paths[1:])}" if len(paths) > 1 else ""
    data = {
        "case_id": repr(
            (interface, flows, size, [more.get(name) for name in ("options", "environment", "cache")])
        ),
        "round": 0,
        "sweep": "s",
        "category": "direct access",
        "interface": interface,
        "executor": ",".join(dict.fromkeys(one["executor"] for one in flows)),
        "access": "local",
        "pattern": "interference" if beside else "unidirectional",
        "path": paths[0] + beside,
        "source": flows[0]["source"],
        "destination": flows[0]["destination"],
        "flows": flows,
        "size_bytes": size,
        "cache": "warm" if by_time else "cold",
        "options": {},
        "environment": {},
        "status": "measured",
        "reason": None,
        "method_version": 3,
        "time_ns": {
            "median": time_ns,
            "ci95": (time_ns * 0.995, time_ns * 1.005),
            "min": time_ns,
            "max": time_ns,
            "mean": time_ns,
            "sd": 0.0,
            "n": 30,
        },
        **figure,
        **more,
    }
    return Record.from_json(data)
