"""Converts the native core's Measurement to the record fields that only the worker knows."""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from byteways.plan.case import Buffer as PlannedBuffer
from byteways.plan.case import Case, Flow
from byteways.plan.interfaces import INTERFACES, counts_as_stream, is_memory_step, metric_of
from byteways.plan.legality import PLACED_BY_TOUCH
from byteways.record import warnings
from byteways.record.times import Times
from byteways.record.warnings import Warning
from byteways.run.work.evidence import evidence_of
from byteways.run.work.failures import refuted
from byteways.run.work.residency import about_pages

if TYPE_CHECKING:
    from byteways._core import Buffer, Measurement, Summary, Verification

Held = TypeVar("Held")

#: Digits kept of a sample: 1e-6 is far below any timer's resolution over any batch.
SIGNIFICANT = 7
#: Values of `verification`: what was checked after each sample.
EVERY_WORD = "every sample"
SOME_WORDS = "every sample, strided; first and last in full"
#: Host memory whose pages do not migrate.
PLACED = ("pageable", "hugepage", "pinned", "pinned-noncoherent", "write-combined", "registered")
#: Whether a memory kind means pages of the system's base size, or of a larger one. Vendors choose the pages
#: of the kinds that are not listed.
BASE_PAGES = {"pageable": True, "registered": True, "hugepage": False}
#: What another device's first touch did, by whether it places the pages.
FIRST_TOUCH_EFFECTS = {
    True: "placed the pages: {} wrote them first",
    False: "filled the pages, which the allocation had placed: {} wrote them before the measurement",
}
#: Fraction of sampled pages that must lie as requested; the kernel may place a few elsewhere.
LEAST_PLACED = 0.99


def rounded(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT}g}")


def outcome_of(
    case: Case,
    measurement: Measurement,
    buffers: list[tuple[Buffer, ...]],
    twins: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Returns the record fields of a finished measurement; status `measured`, `corrupt` or `failed`.

    Args:
        twins: Devices that share one memory, by device.
    """
    fields: dict[str, Any] = {
        "status": "measured",
        "reason": None,
        "timed_by": measurement.timed_by,
        "gated": measurement.gated,
        "batch": measurement.batch,
        "slope": measurement.slope,
        "timer_resolution_ns": rounded(measurement.timer_resolution_ns),
        "submit_ns": rounded(measurement.submit_ns) if measurement.submit_ns else None,
        "host_ns": rounded(measurement.host_ns) if measurement.host_ns else None,
        "discarded_samples": len(measurement.discarded) or None,
        "samples": _samples(case, measurement),
        "samples_ns": [rounded(sample) for sample in measurement.samples_ns],
        "engine": measurement.engine,
        "engine_evidence": measurement.engine_evidence,
        "evidence": evidence_of(measurement.evidence),
        "verified": measurement.verified,
        "verification": EVERY_WORD if measurement.verified_every_sample else SOME_WORDS,
        "distinct_bytes": {
            "source": measurement.distinct_source_bytes,
            "destination": measurement.distinct_destination_bytes,
        },
        **_about_buffers(case, buffers),
        "launch": _launch(measurement),
        "parts": _parts(measurement),
        "warnings": [asdict(warning) for warning in _warnings(measurement)],
    }
    if measurement.samples_ns:
        fields |= _figures(case, measurement)
    fields |= _corruption(case, measurement)
    pages, found, wrong = about_pages(case, measurement, buffers, twins)
    fields |= pages
    fields["warnings"] += [asdict(warning) for warning in found]
    if wrong is not None and fields["status"] == "measured":
        fields = {**without_figures(fields), **refuted(wrong)}
    return {name: value for name, value in fields.items() if value is not None or name == "reason"}


#: Fields removed from a case whose operations did not do what was requested.
_FIGURES = (
    *(
        "time_ns",
        "samples",
        "samples_ns",
        "host_ns",
        "bandwidth_bytes_per_s",
        "directions",
        "end_to_end_bytes_per_s",
        "latency_ns",
    ),
    *("counts", "window_ns", "end_to_end_ns", "start_skew_ns"),
)


def times_of(summary: Summary) -> Times:
    """Converts the statistics of a series to those of a record."""
    return Times(
        median=rounded(summary.median),
        ci95=(rounded(summary.ci95[0]), rounded(summary.ci95[1])),
        min=rounded(summary.min),
        max=rounded(summary.max),
        mean=rounded(summary.mean),
        sd=rounded(summary.sd),
        n=summary.n,
    )


def without_figures(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in _FIGURES}


def _figures(case: Case, measurement: Measurement) -> dict[str, Any]:
    """Returns times and rates. A sample of concurrent flows is one operation of each, at the summed rate."""
    summary = measurement.time_ns
    times = times_of(summary)
    fields: dict[str, Any] = {"time_ns": asdict(times)}
    interface = INTERFACES[case.interface]
    if case.pattern == "interference":
        disturbing = [flow.bytes_per_s for flow in measurement.flows[1:]]
        fields["load_bytes_per_s"] = rounded(sum(disturbing))
    if interface.figure != "bandwidth":
        halved = interface.counts == "round-trip" and case.options.get("pace") != "one-at-a-time"
        unidirectional = {"half_round_trip_ns": rounded(times.median / 2)} if halved else {}
        fields |= {"latency_ns": times.median, **unidirectional, "counts": interface.counts}
        return {**fields, **_window(case, measurement)} if len(case.flows) > 1 else fields
    if len(case.flows) == 1:
        bandwidth = interface.counted * case.size_bytes / summary.median * 1e9
        directions = {case.flows[0].path: rounded(bandwidth)}
        return {
            **fields,
            "bandwidth_bytes_per_s": rounded(bandwidth),
            "directions": directions,
            "counts": interface.counts,
            "other_count": _other_count(case, summary.median),
        }
    measured = 1 if case.pattern == "interference" else len(case.flows)
    bandwidth = measured * interface.counted * case.size_bytes / summary.median * 1e9
    return {
        **fields,
        "bandwidth_bytes_per_s": rounded(bandwidth),
        "counts": interface.counts
        if measured == 1 or counts_as_stream(case.interface)
        else "sum-of-directions",
        **_window(case, measurement),
    }


def _samples(case: Case, measurement: Measurement) -> dict[str, Any]:
    """Returns data kept per sample besides its time: the three times of one operation (an empty list if a
    time was not observed), discarded samples, and each flow's data.

    `released_ns` and `marks_ns` share one time axis, in ns since the release of the sample's first flow. The
    marks of a flow are spread evenly over its operations.
    """

    def seen(values: list[float]) -> list[float]:
        return [rounded(value) for value in values] if any(values) else []

    origins = [min(trace.released for trace in run) for run in measurement.traces]
    flows = [
        {
            "path": flow.path,
            "operations": [run[index].operations[-1] for run in measurement.traces],
            "released_ns": [
                rounded(run[index].released - origin)
                for run, origin in zip(measurement.traces, origins, strict=True)
            ],
            "marks_ns": [
                [rounded(mark - origin) for mark in run[index].marks]
                for run, origin in zip(measurement.traces, origins, strict=True)
            ],
        }
        for index, flow in enumerate(case.flows if measurement.traces else [])
    ]
    return {
        "device_ns": seen([times.device_ns for times in measurement.times]),
        "submit_ns": seen([times.submit_ns for times in measurement.times]),
        "host_ns": seen([times.host_ns for times in measurement.times]),
        "discarded": [
            {"reason": each.reason, "time_ns": rounded(each.time_ns)} for each in measurement.discarded
        ],
        "flows": flows,
    }


def _window(case: Case, measurement: Measurement) -> dict[str, Any]:
    """Returns each flow's rate in the common window, and the quality of that window."""
    return {
        "directions": _by_path(case, [flow.bytes_per_s for flow in measurement.flows]),
        "end_to_end_bytes_per_s": _by_path(case, [flow.end_to_end_bytes_per_s for flow in measurement.flows]),
        "start_skew_ns": {
            flow.path: rounded(result.start_skew_ns)
            for flow, result in zip(case.flows, measurement.flows, strict=True)
        },
        "window_ns": rounded(measurement.window_ns),
        "end_to_end_ns": rounded(measurement.end_to_end_ns),
        "clock_alignment_ns": rounded(measurement.clock_alignment_ns),
    }


def _other_count(case: Case, median_ns: float) -> dict[str, Any] | None:
    """Returns the rate of one direction for values that count every array.

    Local arrays: the bytes that arrive at the destination. Arrays on another device: the bytes read from it
    and written to it by the executor.
    """
    if not counts_as_stream(case.interface):
        return None
    flow = case.flows[0]
    rate = case.size_bytes / median_ns * 1e9
    sources, destinations = case.arrays_of(flow)
    read = rate * sum(source.device != flow.executor for source in sources)
    written = rate * sum(destination.device != flow.executor for destination in destinations)
    if not read and not written:
        return {"counts": "per-direction", "bytes_per_s": rounded(rate)}
    return {
        "counts": "between-agents",
        "bytes_per_s": rounded(read + written),
        "read_bytes_per_s": rounded(read),
        "written_bytes_per_s": rounded(written),
    }


def _by_path(case: Case, rates: list[float]) -> dict[str, float]:
    """Returns rates by path, summed over flows on the same path; without flows that move no bytes."""
    total: dict[str, float] = defaultdict(float)
    for flow, rate in zip(case.flows, rates, strict=True):
        if metric_of(case.interface_of(flow)) == "bandwidth":
            total[flow.path] += rate
    return {path: rounded(rate) for path, rate in total.items()}


def corrupt(path: str, found: Verification) -> dict[str, Any]:
    """Returns status `corrupt` with the place and values of the first wrong word."""
    corruption: dict[str, Any] = {
        "path": path,
        "first_offset_bytes": found.first_offset_bytes,
        "expected": f"0x{found.expected:016x}",
        "got": f"0x{found.got:016x}",
        "bad_words": found.bad_count,
    }
    where = f"{found.bad_count} wrong words in {found.checked_bytes} bytes"
    if found.guard_of:
        corruption |= {"overrun": found.guard_of, "buffer_bytes": found.buffer_bytes}
        where = (
            f"{found.bad_count} words were written behind the {found.buffer_bytes} bytes of a buffer of "
            f"{found.guard_of}"
        )
    reason = (
        f"{path}: {where}, the first at byte {found.first_offset_bytes}: "
        f"expected {corruption['expected']}, got {corruption['got']}"
    )
    return {"status": "corrupt", "reason": reason, "corruption": corruption}


def _corruption(case: Case, measurement: Measurement) -> dict[str, Any]:
    """Returns status `corrupt` with place and values if any word was wrong."""
    for flow, result in zip(case.flows, measurement.flows, strict=True):
        found: Verification = result.verification
        if found.ok:
            continue
        return corrupt(flow.path, found)
    if not measurement.verified:
        return {"status": "corrupt", "reason": "the data were not verified"}
    return {}


def _about_buffers(case: Case, buffers: list[tuple[Buffer, ...]]) -> dict[str, Any]:
    """Returns page sizes of the first flow's buffers, and the location of every host buffer's pages.

    Empty for steps that allocate their own memory, whose buffer only names the memory kind, and for memory of
    another library.
    """
    if is_memory_step(case.interface) or not buffers:
        return {}
    pages = {"source": buffers[0][0].page_bytes, "destination": buffers[0][-1].page_bytes}
    placement: dict[str, dict[str, int]] = {}
    touched: dict[str, str] = {}
    for flow, held in zip(case.flows, buffers, strict=True):
        for planned, buffer in _planned(case, flow, held):
            if planned.first_touch not in (None, planned.device):
                touched[str(planned)] = FIRST_TOUCH_EFFECTS[planned.memory in PLACED_BY_TOUCH].format(
                    planned.first_touch
                )
            domains = buffer.placement()
            if domains:
                placement[str(planned)] = {str(domain): count for domain, count in sorted(domains.items())}
    return {
        "page_bytes": {side: size for side, size in pages.items() if size} or None,
        "placement": placement or None,
        "first_touch": touched or None,
    }


def _planned(case: Case, flow: Flow, held: tuple[Held, ...]) -> list[tuple[PlannedBuffer, Held]]:
    """Returns each buffer of a flow as planned and as allocated; a single buffer appears twice."""
    planned = case.buffers_of(flow) if len(held) > 2 else (flow.source, flow.destination)
    return list(zip(planned, held, strict=True))


def _launch(measurement: Measurement) -> dict[str, int] | None:
    """Returns blocks and threads of the first flow as launched: all flows of a case have the same options."""
    if not measurement.flows:
        return None
    first = measurement.flows[0]
    return {"blocks": first.blocks, "threads": first.threads} if first.blocks else None


def _parts(measurement: Measurement) -> dict[str, float] | None:
    """Returns the fraction of bytes by path, for flows over several paths."""
    parts = {path: rounded(part) for flow in measurement.flows for path, part in flow.parts.items()}
    return parts or None


def misplaced(case: Case, buffers: list[tuple[Buffer, ...]], numa_domain: Mapping[str, int]) -> list[Warning]:
    """Returns a warning for each buffer with pages outside their NUMA domain: that of the first toucher, or
    of the owner if the allocation places them.
    """
    found: dict[str, Warning] = {}
    for flow, held in zip(case.flows, buffers, strict=True):
        for planned, buffer in _planned(case, flow, held):
            by_touch = planned.memory in PLACED_BY_TOUCH
            placer = (planned.first_touch if by_touch else None) or planned.device
            wanted = numa_domain.get(placer, -1)
            pages = buffer.placement()
            if wanted < 0 or not pages or planned.memory not in PLACED:
                continue
            share = pages.get(wanted, 0) / sum(pages.values())
            if share < LEAST_PLACED:
                found[str(planned)] = warnings.make("placement", rounded(share), LEAST_PLACED)
    return list(found.values())


def on_other_pages(case: Case, buffers: Sequence[tuple[Buffer | None, ...]]) -> list[Warning]:
    """Returns a warning for each buffer whose pages are not of the size that its memory kind means.

    Steps that allocate their own memory hold no buffer whose pages could be looked at.
    """
    if is_memory_step(case.interface):
        return []
    found: dict[str, Warning] = {}
    for flow, held in zip(case.flows, buffers, strict=True):
        for planned, buffer in _planned(case, flow, held):
            if buffer is None or planned.memory not in BASE_PAGES:
                continue
            got, base, small = buffer.page_bytes, resource.getpagesize(), BASE_PAGES[planned.memory]
            if got > base if small else got <= base:  # 0: not known, or huge pages in part of it
                required = f"{base} B" if small else f"more than {base} B"
                found[str(planned)] = warnings.make(
                    "page-size", f"{got} B" if got else "several sizes", required
                )
    return list(found.values())


def _warnings(measurement: Measurement) -> list[Warning]:
    return [
        warnings.make(warning.id, rounded(warning.observed), rounded(warning.required))
        for warning in measurement.warnings
    ]
