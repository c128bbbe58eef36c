"""Puts synthetic run folders together for tests: topology, records, manifest. `sample_run` fills them.

Everything is deterministic, so that tests can expect exact texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from byteways.measure.conduct.requested import request_fields

from byteways.cases.case import Case, Flow, PlannedCase
from byteways.machine.model import Cache, Device, Link, Topology
from byteways.record.record import SCHEMA_VERSION, Record
from byteways.record.times import Times
from byteways.record.warnings import Warning
from tests.changed import replace

KIB, MIB, GIB = 2**10, 2**20, 2**30
GB = 1e9
CACHES = (
    Cache(1, "data", 48 * KIB, 64, 1),
    Cache(2, "unified", 2 * MIB, 64, 1),
    Cache(3, "unified", 32 * MIB, 64, 2),
)

#: A name that would run as script if it reached the page as markup.
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">'`${}\u2028"


def topology(
    gpus: int = 4, cpus: int = 1, *, gpu_model: str = "NVIDIA H200", host: str = "fixture"
) -> Topology:
    """`gpus` of them on one NVSwitch and one PCIe link each; `cpus` NUMA domains in a row."""
    devices = [
        Device(
            f"cpu{index}",
            "cpu",
            "Fixture CPU",
            numa_domain=index,
            cores=(2 * index, 2 * index + 1),
            memory_bytes=64 * GIB,
            architecture="x86_64",
            caches=CACHES,
        )
        for index in range(cpus)
    ]
    links = [
        Link(
            f"cpu{n}",
            f"cpu{n + 1}",
            "numa",
            1,
            None,
            None,
            None,
            "the distance table names no rate",
            "NUMA link",
        )
        for n in range(cpus - 1)
    ]
    for index in range(gpus):
        near = f"cpu{index * cpus // gpus}"
        devices.append(
            Device(
                f"gpu{index}",
                "gpu",
                gpu_model,
                uuid=f"GPU-{index:08d}",
                pci_address=f"0000:{index + 1:02x}:00.0",
                numa_domain=0,
                memory_bytes=141 * GIB,
                memory_peak_bytes_per_s=4800 * GB,
                memory_peak_source="fixture",
                architecture="sm_90",
                multiprocessors=132,
            )
        )
        links.append(_link(f"gpu{index}", near, "pcie", 1, "5.0", 63.0, "PCIe 5.0 ×16"))
        if gpus > 1:
            links.append(_link(f"gpu{index}", "nvswitch", "nvlink", 18, "4", 450.0, "NVLink4 ×18"))
    return Topology(host, tuple(devices), ("nvswitch",) if gpus > 1 else (), tuple(links))


def _link(a: str, b: str, kind: str, count: int, generation: str, gb_per_s: float, name: str) -> Link:
    source = f"{name}: {gb_per_s:g} GB/s per direction, nominal"
    return Link(a, b, kind, count, generation, gb_per_s * GB, None, source, name)


#: What a simulated run's manifest says of its model.
MODEL = {
    "name": "toy",
    "title": "Toy",
    "digest": "0",
    "text": "",
    "faults": [],
    "sources": {"work": {"title": "A work", "address": "https://example.org"}},
    "fit": None,
}


class Builder:
    """Collects records, then writes the folder.

    Args:
        topology: The machine.
        rounds: How many times each case is measured; the rounds lie evenly around the rate.
        spread: Relative difference between neighbouring rounds.
        half_width: Half width of each interval, relative to the median.
    """

    def __init__(
        self, topology: Topology, *, rounds: int = 3, spread: float = 0.002, half_width: float = 0.003
    ) -> None:
        self.topology = topology
        self.records: list[Record] = []
        self.rounds, self.spread, self.half_width = rounds, spread, half_width
        self.extra_lines: list[str] = []
        self.suite_title = "Everything of interest in a minute"
        self.simulated = False
        self.options: dict[str, Any] = {}

    def measure(
        self,
        interface: str,
        flows: Sequence[tuple[str, str, str]],
        gb_per_s: float | Mapping[str, float],
        *,
        pattern: str = "unidirectional",
        size: int = GIB,
        peak: float | None = None,
        latency_ns: float | None = None,
        cache: str = "cold",
        options: Mapping[str, Any] | None = None,
        warnings: Iterable[Warning] = (),
        partner: str | None = None,
        **fields: Any,
    ) -> None:
        """A measured case; `flows` are (source, destination, executor), rates in GB/s (by path if many)."""
        case = self._case(interface, flows, pattern, size, cache, options)
        case = replace(case, flows=tuple(replace(flow, partner=partner) for flow in case.flows))
        directions = (
            {path: rate * GB for path, rate in gb_per_s.items()}
            if isinstance(gb_per_s, Mapping)
            else {case.path: gb_per_s * GB}
        )
        for round in range(self.rounds):
            slower = 1 + (round - (self.rounds - 1) / 2) * self.spread
            rate = sum(directions.values()) / slower
            total = size * (len(flows) if pattern != "interference" else 1)
            median = latency_ns * slower if latency_ns else total / rate * 1e9
            bandwidth = None if latency_ns else rate
            self.records.append(
                self._record(
                    case,
                    round,
                    status="measured",
                    timed_by="device-events",
                    gated=True,
                    batch=16,
                    slope=size < 64 * KIB,
                    timer_resolution_ns=500.0,
                    time_ns=self._times(median),
                    samples_ns=[median] * 30,
                    bandwidth_bytes_per_s=bandwidth,
                    latency_ns=median if latency_ns else None,
                    directions=None
                    if latency_ns
                    else {path: value / slower for path, value in directions.items()},
                    counts="dependent-load"
                    if latency_ns
                    else ("per-direction" if pattern == "unidirectional" else "sum-of-directions"),
                    peak_bytes_per_s=peak * GB if peak else None,
                    peak_source="fixture links" if peak else None,
                    fraction_of_peak=rate / (peak * GB) if peak and not latency_ns else None,
                    engine="copy-engine"
                    if interface == "copy"
                    else "kernel"
                    if "kernel" in interface
                    else "cpu",
                    engine_evidence="fixture",
                    verified=True,
                    verification="every sample",
                    warnings=[Warning(**told) if isinstance(told, dict) else told for told in warnings],
                    **fields,
                )
            )

    def lose(
        self,
        status: str,
        reason: str,
        interface: str,
        flows: Sequence[tuple[str, str, str]],
        *,
        pattern: str = "unidirectional",
        size: int = GIB,
        **fields: Any,
    ) -> None:
        """A case without a figure: skipped, failed, corrupt, timeout or lost."""
        case = self._case(interface, flows, pattern, size, "cold", None)
        for round in range(self.rounds):
            self.records.append(self._record(case, round, status=status, reason=reason, **fields))

    def _case(
        self,
        interface: str,
        flows: Sequence[tuple[str, str, str]],
        pattern: str,
        size: int,
        cache: str,
        options: Mapping[str, Any] | None,
    ) -> Case:
        parsed = tuple(
            Flow.from_json({"source": source, "destination": destination, "executor": executor})
            for source, destination, executor in flows
        )
        return Case(interface, pattern, parsed, size, cache, dict(options or {}))

    def _times(self, median: float) -> Times:
        half = median * self.half_width
        return Times(
            median, (median - half, median + half), median - 2 * half, median + 2 * half, median, half, 30
        )

    def _record(
        self, case: Case, round: int, *, status: str, reason: str | None = None, **fields: Any
    ) -> Record:
        return Record(
            **request_fields(PlannedCase(case, "fixture", round, 1.0, 0.01)),
            status=status,
            reason=reason,
            method_version=1,
            started_at="2026-01-02T03:04:05Z",
            wall_s=0.1,
            worker=4711,
            **fields,
        )

    def manifest(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "byteways_version": "0.0.0+fixture",
            "method_version": 1,
            "run_id": "feedc0de",
            "state": "complete",
            "started_at": "2026-01-02T03:04:05Z",
            "finished_at": "2026-01-02T03:05:01Z",
            "wall_s": 56.2,
            "simulated": self.simulated,
            "machine_model": MODEL if self.simulated else None,
            "command_line": ["byteways", "run", "quick"],
            "host": {
                "name": self.topology.host,
                "kernel": "6.1.0",
                "os": "Fixture Linux",
                "python": "3.11.2",
            },
            "suite": {
                "name": "quick",
                "title": self.suite_title,
                "text": "# fixture\n",
                "rounds": self.rounds,
            },
            "options": {"only": [], "sizes": None, "budget_s": 60.0, **self.options},
            "planned": len(self.records),
            "topology": self.topology.to_json(),
            "capabilities": {
                "devices": {},
                "memory": {},
                "interface": {},
                "peer": {},
                "pageable_access": {},
                "host_memory_bytes": 64 * GIB,
            },
            "libraries": [],
            "environment": {},
            "fingerprint": {"driver": "fixture", "topology": "0", "code": "0", "method_version": 1},
        }

    def write(self, folder: Path) -> Path:
        """Writes the run folder and returns it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps(self.manifest()))
        lines = [json.dumps(record.to_json()) for record in self.records] + self.extra_lines
        (folder / "measurements.jsonl").write_text("".join(line + "\n" for line in lines))
        return folder
