"""Synthetic runs for tests: a fixture, not a measurement, of likely figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from byteways.questions.findings import findings
from byteways.record.run_folder import RunFolder
from byteways.record.warnings import Warning
from tests.report.run_builder import GIB, HOSTILE, KIB, MIB, Builder, topology

__all__ = [
    "GIB",
    "HOSTILE",
    "KIB",
    "MIB",
    "Builder",
    "cpu_only",
    "details",
    "four_pairs",
    "h200x4",
    "pair",
    "sentences",
    "topology",
]

SIZES = (4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB, GIB)


def at_size(gb_per_s: float, size: int, latency_ns: float) -> float:
    """GB/s of a transfer with a fixed cost, as curves over size have it."""
    return size / (latency_ns + size / gb_per_s)


def h200x4(*, rounds: int = 3, sizes: Sequence[int] = SIZES, gpus: int = 4) -> Builder:
    """A machine like 4×H200, with every section of the report filled."""
    build = Builder(topology(gpus), rounds=rounds)
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
                build.measure("copy", flows, rates, pattern="bidirectional", peak=900)
    for gpu in names:
        flows = [("cpu0:pinned", f"{gpu}:device", gpu), (f"{gpu}:device", "cpu0:pinned", gpu)]
        build.measure(
            "copy", flows, {f"cpu0>{gpu}": 43.0, f"{gpu}>cpu0": 42.0}, pattern="bidirectional", peak=126
        )
    down, up = (
        (55.5, 109.7, 151.4, 170.1, 171, 172, 173, 174),
        (55.2, 109.8, 134.7, 143.6, 144, 145, 146, 147),
    )
    for count in range(2, min(len(names), len(down)) + 1):
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
        build.measure("pointer-chase", [(buffer, buffer, executor)], 0.0, size=size, latency_ns=latency)
    cpu_chase(build, size)


def cpu_chase(build: Builder, size: int) -> None:
    """A walk by cpu0 whose time climbs with each cache."""
    latency = next(
        (ns for limit, ns in ((48 * KIB, 1.2), (2 * MIB, 4.1), (32 * MIB, 21.0)) if size <= limit), 96.0
    )
    build.measure(
        "pointer-chase", [("cpu0:pageable", "cpu0:pageable", "cpu0")], 0.0, size=size, latency_ns=latency
    )


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


def sentences(build: Builder, folder: Path) -> list[str]:
    """Titles of the findings of this run, in their order."""
    return [finding.title for finding in findings(RunFolder(build.write(folder)))]


def details(build: Builder, folder: Path, start: str) -> str:
    """The detail of the finding whose title starts so."""
    found = findings(RunFolder(build.write(folder)))
    return next(finding.detail for finding in found if finding.title.startswith(start))


def pair(build: Builder, a: str, b: str, rate: float, interface: str = "copy") -> None:
    """A read by `b` over NVLink."""
    build.measure(interface, [(f"{a}:device", f"{b}:device", b)], rate, peak=450)


def four_pairs(*, slow: float = 394.0, **options: float) -> Builder:
    """copy reads between three GPUs; gpu1>gpu2 gets `slow`."""
    build = Builder(topology(3), **options)  # type: ignore[arg-type]
    for a in range(3):
        for b in range(3):
            if a != b:
                pair(build, f"gpu{a}", f"gpu{b}", slow if (a, b) == (1, 2) else 394.0 + 0.1 * (a + b))
    return build
