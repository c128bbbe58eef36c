"""Builds synthetic run folders for tests: a fixture, not a measurement, of likely figures.

Everything is deterministic, so that tests can expect exact texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from byteways.plan.case import Case, Flow
from byteways.results.record import Record, Times, Warning
from byteways.topology.model import Agent, Cache, Link, Topology

KIB, MIB, GIB = 2**10, 2**20, 2**30
GB = 1e9
SIZES = (4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB, GIB)
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
    agents = [
        Agent(
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
        agents.append(
            Agent(
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
    return Topology(host, tuple(agents), ("nvswitch",) if gpus > 1 else (), tuple(links))


def _link(a: str, b: str, kind: str, count: int, generation: str, gb_per_s: float, name: str) -> Link:
    source = f"{name}: {gb_per_s:g} GB/s per direction, nominal"
    return Link(a, b, kind, count, generation, gb_per_s * GB, None, source, name)


class Builder:
    """Collects records, then writes the folder.

    Args:
        topology: The machine.
        replicates: How many times each case is measured; replicate n is slower by n times `spread`.
        spread: Relative difference between neighbouring replicates.
        half_width: Half width of each interval, relative to the median.
    """

    def __init__(
        self, topology: Topology, *, replicates: int = 1, spread: float = 0.002, half_width: float = 0.003
    ) -> None:
        self.topology = topology
        self.records: list[Record] = []
        self.replicates, self.spread, self.half_width = replicates, spread, half_width
        self.extra_lines: list[str] = []
        self.suite_title = "Everything of interest in a minute"
        self.simulated = False

    def measure(
        self,
        interface: str,
        flows: Sequence[tuple[str, str, str]],
        gb_per_s: float | Mapping[str, float],
        *,
        pattern: str = "one-way",
        size: int = GIB,
        peak: float | None = None,
        latency_ns: float | None = None,
        cache: str = "cold",
        options: Mapping[str, Any] | None = None,
        warnings: Iterable[Warning] = (),
        **fields: Any,
    ) -> None:
        """A measured case; `flows` are (source, destination, executor), rates in GB/s (by path if many)."""
        case = self._case(interface, flows, pattern, size, cache, options)
        directions = (
            {path: rate * GB for path, rate in gb_per_s.items()}
            if isinstance(gb_per_s, Mapping)
            else {case.path: gb_per_s * GB}
        )
        for replicate in range(self.replicates):
            slower = 1 + replicate * self.spread
            rate = sum(directions.values()) / slower
            total = size * (len(flows) if pattern != "interference" else 1)
            median = latency_ns * slower if latency_ns else total / rate * 1e9
            bandwidth = None if latency_ns else rate
            self.records.append(
                self._record(
                    case,
                    replicate,
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
                    else ("one-direction" if pattern == "one-way" else "sum-of-directions"),
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
                    warnings=list(warnings),
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
        pattern: str = "one-way",
        size: int = GIB,
        **fields: Any,
    ) -> None:
        """A case without a figure: skipped, failed, corrupt, timeout or lost."""
        case = self._case(interface, flows, pattern, size, "cold", None)
        for replicate in range(self.replicates):
            self.records.append(self._record(case, replicate, status=status, reason=reason, **fields))

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
        self, case: Case, replicate: int, *, status: str, reason: str | None = None, **fields: Any
    ) -> Record:
        flow = case.flows[0]
        return Record(
            case_id=case.case_id,
            replicate=replicate,
            sweep="fixture",
            category=case.category,
            interface=case.interface,
            executor=",".join(case.executors),
            access=case.access,
            pattern=case.pattern,
            path=case.path,
            source=str(flow.source),
            destination=str(flow.destination),
            flows=[flow.to_json() for flow in case.flows],
            size_bytes=case.size_bytes,
            cache=case.cache,
            options=dict(case.options),
            environment={},
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
            "format_version": 1,
            "byteways_version": "0.0.0+fixture",
            "method_version": 1,
            "run_id": "feedc0de",
            "state": "complete",
            "started_at": "2026-01-02T03:04:05Z",
            "finished_at": "2026-01-02T03:05:01Z",
            "wall_s": 56.2,
            "simulated": self.simulated,
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
                "replicates": self.replicates,
            },
            "options": {"only": [], "sizes": None, "budget_s": 60.0},
            "planned": len(self.records),
            "topology": self.topology.to_json(),
            "capabilities": {
                "agents": {},
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


def at_size(gb_per_s: float, size: int, latency_ns: float) -> float:
    """GB/s of a transfer with a fixed cost, as curves over size have it."""
    return size / (latency_ns + size / gb_per_s)


def h200x4(*, replicates: int = 1, sizes: Sequence[int] = SIZES, gpus: int = 4) -> Builder:
    """A machine like 4×H200, with every section of the report filled."""
    build = Builder(topology(gpus), replicates=replicates)
    names = [f"gpu{index}" for index in range(gpus)]
    for size in sizes:
        _pairs(build, names, size)
        _host(build, names, size)
    _concurrent(build, names)
    _first_touch(build)
    for exponent in range(12, 31, 2):
        _gpu_chase(build, names, 2**exponent)
    build.lose("skipped", "gpu0 has no bulk copies", "kernel-bulk", [("gpu0:device", "cpu0:managed", "gpu0")])
    return build


def _pairs(build: Builder, names: Sequence[str], size: int) -> None:
    for a in names:
        local = [(f"{a}:device", f"{a}:device", a)]
        build.measure("copy", local, at_size(2094, size, 2500), size=size, peak=2400)
        for b in names:
            if a == b:
                continue
            read, write = [(f"{a}:device", f"{b}:device", b)], [(f"{a}:device", f"{b}:device", a)]
            build.measure("copy", read, at_size(394.1, size, 1600), size=size, peak=450)
            build.measure("copy", write, at_size(396.4, size, 1600), size=size, peak=450)
            build.measure(
                "kernel", read, at_size(375.2, size, 3000), size=size, peak=450, launch={"blocks": 1056}
            )
            build.measure(
                "kernel", write, at_size(369.9, size, 3000), size=size, peak=450, launch={"blocks": 1056}
            )
            bulk = {"blocks": 8, "threads": 32}
            build.measure("kernel-bulk", read, at_size(367.0, size, 3200), size=size, peak=450, launch=bulk)


def _host(build: Builder, names: Sequence[str], size: int) -> None:
    for gpu in names:
        for memory, down, up in (("pinned", 55.4, 55.2), ("pageable", 14.2, 11.8), ("managed", 48.0, 47.0)):
            host, device = f"cpu0:{memory}", f"{gpu}:device"
            warnings = (
                [Warning("noisy", "3.1 %", "1 %", "Give it more time.")] if memory == "pageable" else []
            )
            build.measure(
                "copy",
                [(host, device, gpu)],
                at_size(down, size, 2000),
                size=size,
                peak=63,
                warnings=warnings,
            )
            build.measure("copy", [(device, host, gpu)], at_size(up, size, 2000), size=size, peak=63)


def _concurrent(build: Builder, names: Sequence[str]) -> None:
    for a in names:
        for b in names:
            if a < b:
                flows = [(f"{a}:device", f"{b}:device", a), (f"{b}:device", f"{a}:device", b)]
                rates = {f"{a}>{b}": 391.6, f"{b}>{a}": 392.0}
                build.measure("copy", flows, rates, pattern="two-way", peak=900)
    for gpu in names:
        flows = [("cpu0:pinned", f"{gpu}:device", gpu), (f"{gpu}:device", "cpu0:pinned", gpu)]
        build.measure("copy", flows, {f"cpu0>{gpu}": 43.0, f"{gpu}>cpu0": 42.0}, pattern="two-way", peak=126)
    down, up = (
        (55.5, 109.7, 151.4, 170.1, 171, 172, 173, 174),
        (55.2, 109.8, 134.7, 143.6, 144, 145, 146, 147),
    )
    for count in range(2, len(names) + 1):
        part = names[:count]
        to_gpus = [("cpu0:pinned", f"{gpu}:device", gpu) for gpu in part]
        to_host = [(f"{gpu}:device", "cpu0:pinned", gpu) for gpu in part]
        shares = {f"cpu0>{gpu}": down[count - 1] / count for gpu in part}
        build.measure("copy", to_gpus, shares, pattern="fan-out", peak=63 * count)
        build.measure(
            "copy",
            to_host,
            {f"{gpu}>cpu0": up[count - 1] / count for gpu in part},
            pattern="fan-in",
            peak=63 * count,
        )
        if count > 2:
            into = [(f"{gpu}:device", f"{names[0]}:device", gpu) for gpu in part[1:]]
            rates = {f"{gpu}>{names[0]}": 399.0 / (count - 1) for gpu in part[1:]}
            build.measure("copy", into, rates, pattern="fan-in", peak=450)
    pairs = [(f"{a}:device", f"{b}:device", a) for a in names for b in names if a != b]
    rates = {f"{a}>{b}": 1480.0 / len(pairs) for a in names for b in names if a != b}
    build.measure("copy", pairs, rates, pattern="all-pairs", peak=450 * len(names))


def _first_touch(build: Builder) -> None:
    for touch, rate in (("cpu0", 12.4), ("gpu0", 310.0)):
        flows = [(f"cpu0:managed@{touch}", "gpu0:device", "gpu0")]
        build.measure("kernel", flows, rate, size=256 * MIB)


def _gpu_chase(build: Builder, names: Sequence[str], size: int) -> None:
    own = 210.0 if size <= 32 * MIB else 640.0
    walks = [("gpu0", f"{names[0]}:device", own), ("gpu0", "cpu0:pinned", 1171.0)]
    walks += [("gpu0", f"{names[1]}:device", 828.0)] if len(names) > 1 else []
    for executor, buffer, latency in walks:
        build.measure("chase", [(buffer, buffer, executor)], 0.0, size=size, latency_ns=latency)
    cpu_chase(build, size)


def cpu_chase(build: Builder, size: int) -> None:
    """A walk by cpu0 whose time climbs with each cache."""
    latency = next(
        (ns for limit, ns in ((48 * KIB, 1.2), (2 * MIB, 4.1), (32 * MIB, 21.0)) if size <= limit), 96.0
    )
    build.measure("chase", [("cpu0:pageable", "cpu0:pageable", "cpu0")], 0.0, size=size, latency_ns=latency)


def cpu_only(*, cpus: int = 1) -> Builder:
    """A machine without a GPU."""
    build = Builder(topology(0, cpus))
    for size in (64 * KIB, 4 * MIB, 256 * MIB):
        for a in range(cpus):
            for b in range(cpus):
                flow = [(f"cpu{a}:pageable", f"cpu{b}:pageable", f"cpu{a}")]
                away = 1.0 if a == b else 0.6
                build.measure("memcpy", flow, 9.8 * away, size=size)
                build.measure("memcpy-stream", flow, 11.6 * away, size=size)
                build.measure("memcpy-mt", flow, 17.5 * away, size=size, launch={"blocks": 2, "threads": 1})
    huge = [("cpu0:hugepage", "cpu0:hugepage", "cpu0")]
    build.measure("memcpy", huge, 10.6, size=256 * MIB)
    for exponent in range(12, 31, 2):
        cpu_chase(build, 2**exponent)
    for memory in ("pinned", "device"):
        build.lose("skipped", "there is no GPU", "copy", [(f"cpu0:{memory}", "cpu0:pageable", "cpu0")])
    return build
