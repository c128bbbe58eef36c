"""Converts the native core's Measurement to the record fields that only the worker knows: of flows of one
process, of ranks, and of calls of another library.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from byteways.base.units import short_time
from byteways.cases.case import Buffer as PlannedBuffer
from byteways.cases.case import Case, Flow
from byteways.cases.interfaces import is_memory_step
from byteways.measuring.work.failures import refuted
from byteways.measuring.work.figures import figures_of, rounded
from byteways.measuring.work.loaded_libraries import second_runtime
from byteways.measuring.work.outcome_fields import Outcome
from byteways.measuring.work.residency import about_pages
from byteways.plan.legality import PLACED_BY_TOUCH
from byteways.record import warnings
from byteways.record.stragglers import LATE_NS, LATE_SHARE, NO_CPU, stragglers
from byteways.record.warnings import Warning, WarningFields

if TYPE_CHECKING:
    from byteways._core import Buffer, EvidenceFields, Measurement, Verification

    #: The buffers of each flow; None: this rank has none at that end.
    Held = Sequence[tuple[Buffer | None, ...]]

One = TypeVar("One")

#: Values of `verification`: what was checked after each sample.
EVERY_WORD = "every sample"
SOME_WORDS = "every sample, strided; first and last in full"
SOME_WORDS_LATER = "every sample, strided; last in full"
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


def outcome_of(
    case: Case,
    measurement: Measurement,
    buffers: Held,
    twins: Mapping[str, str] | None = None,
    newness: Mapping[str, str] | None = None,
) -> Outcome:
    """Returns the record fields of a finished measurement; status `measured`, `corrupt` or `failed`.

    Args:
        buffers: Of each flow; between ranks, the send and the receive buffer of this one; empty where another
            library has them.
        twins: Devices that share one memory, by device.
        newness: Between ranks: whether `memory` and `connection` were `new` or `used` before the case's first
            operation. The fields are then valid for all ranks.
    """
    fields: Outcome = {
        "status": "measured",
        "reason": None,
        "timed_by": measurement.timed_by,
        "batch": measurement.batch,
        "slope": measurement.slope,
        "timer_resolution_ns": rounded(measurement.timer_resolution_ns),
        "host_ns": rounded(measurement.host_ns) if measurement.host_ns else None,
        "discarded_samples": len(measurement.discarded) or None,
        "samples_ns": [rounded(sample) for sample in measurement.samples_ns],
        "engine": measurement.engine,
        "engine_evidence": measurement.engine_evidence,
        "evidence": _evidence(measurement.evidence),
        "verified": measurement.verified,
        "verification": _verification(measurement),
        "distinct_bytes": {
            "source": measurement.distinct_source_bytes,
            "destination": measurement.distinct_destination_bytes,
        },
        "page_bytes": _page_bytes(case, buffers),
        "warnings": [warning.to_json() for warning in (*_warnings(measurement), *second_runtime(case))],
    }
    if measurement.samples_ns:
        fields |= figures_of(case, measurement)
    if newness is None:
        fields |= _within_process(case, measurement, buffers)
        fields |= _corruption([flow.path for flow in case.flows], measurement)
        fields = _with_pages(case, fields, measurement, buffers, twins)
    else:
        found = on_other_pages(replace(case, flows=case.flows[:1]), buffers)
        fields["warnings"] = [*(warning.to_json() for warning in found), *fields["warnings"]]
        fields |= _between_ranks(measurement)
        if measurement.samples_ns:
            fields["first_use"] = {"time_ns": rounded(measurement.first_ns), **newness}
            _add_ranks(fields, case, measurement)
        fields |= _corruption([case.path], measurement)
    told = {name: value for name, value in fields.items() if value is not None or name == "reason"}
    return cast(Outcome, told)


def _verification(measurement: Measurement) -> str:
    if measurement.verified_every_sample:
        return EVERY_WORD
    return SOME_WORDS if measurement.verified_first else SOME_WORDS_LATER


def _within_process(case: Case, measurement: Measurement, buffers: Held) -> Outcome:
    return {
        "gated": measurement.gated,
        "submit_ns": rounded(measurement.submit_ns) if measurement.submit_ns else None,
        "samples": {
            "device_ns": _seen([times.device_ns for times in measurement.times]),
            "submit_ns": _seen([times.submit_ns for times in measurement.times]),
            "host_ns": _seen([times.host_ns for times in measurement.times]),
            "discarded": _discarded(measurement),
            "flows": _traces(case, measurement),
        },
        **_places(case, buffers),
        "launch": _launch(measurement),
        "parts": _parts(measurement),
    }


def _between_ranks(measurement: Measurement) -> Outcome:
    """Ranks wait for each other instead of a gate, and only the host sees when all have ended."""
    return {
        "gated": False,
        "samples": {
            "device_ns": [],
            "submit_ns": [],
            "host_ns": [rounded(times.host_ns) for times in measurement.times],
            "discarded": _discarded(measurement),
            "flows": [],
        },
    }


def _with_pages(
    case: Case,
    fields: Outcome,
    measurement: Measurement,
    buffers: Held,
    twins: Mapping[str, str] | None,
) -> Outcome:
    """Adds where managed pages were seen, which may refute the figures."""
    pages, found, wrong = about_pages(case, measurement, buffers, twins)
    fields = {**fields, **pages}
    fields["warnings"] += [warning.to_json() for warning in found]
    if wrong is not None and fields["status"] == "measured":
        return {**without_figures(fields), **refuted(wrong)}
    return fields


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


def without_figures(fields: Outcome) -> Outcome:
    return cast(Outcome, {name: value for name, value in fields.items() if name not in _FIGURES})


def _evidence(noted: EvidenceFields) -> dict[str, Any] | None:
    """Returns the fields of record.evidence.EvidenceFields; None if none applies."""
    fields: dict[str, Any] = {}
    if noted.window_messages:
        fields["window"] = noted.window_messages
    if noted.library:
        fields |= {"library": noted.library, "library_version": noted.library_version}
    if noted.call:
        fields["call"] = noted.call
    if noted.transports:
        fields["transports"] = tuple(noted.transports)
    elif noted.library == "UCX":
        fields["transports_unknown"] = "old-library"
    if noted.own_caches:
        fields["own_caches"] = True
    if noted.fallback.from_:
        fallback = noted.fallback
        fields["fallback"] = {"asked": fallback.from_, "used": fallback.to, "reason": fallback.reason}
    return fields or None


def _seen(values: list[float]) -> list[float]:
    """Empty if a time was not observed."""
    return [rounded(value) for value in values] if any(values) else []


def _discarded(measurement: Measurement) -> list[dict[str, Any]]:
    return [{"reason": each.reason, "time_ns": rounded(each.time_ns)} for each in measurement.discarded]


def _traces(case: Case, measurement: Measurement) -> list[dict[str, Any]]:
    """Returns what is kept per sample of concurrent flows.

    `released_ns` and `marks_ns` share one time axis, in ns since the release of the sample's first flow. The
    marks of a flow are spread evenly over its operations.
    """
    origins = [min(trace.released for trace in run) for run in measurement.traces]
    return [
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


def _add_ranks(fields: Outcome, case: Case, measurement: Measurement) -> None:
    """Adds when each rank began and ended, in the order of the communicator, and a warning for each that the
    others wait for; nothing where one thread called for all.
    """
    if not measurement.ranks:
        return
    fields["ranks"] = ranks = [
        {
            "rank": rank,
            "begin_ns": rounded(skew.begin_ns),
            "end_ns": rounded(skew.end_ns),
            "begins_last": rounded(skew.begins_last),
            "no_cpu": None if skew.waiting is None else rounded(skew.waiting),
            **({"time_ns": rounded(skew.time_ns)} if skew.time_ns else {}),
        }
        for rank, skew in zip(case.members, measurement.ranks, strict=True)
    ]
    batch_ns = measurement.batch * measurement.time_ns.median
    late = f"below {short_time(max(LATE_NS, LATE_SHARE * batch_ns))}"
    for one in stragglers(ranks, batch_ns):
        allowed = late if one.late_ns else f"below {100 * NO_CPU:.0f} %"
        fields["warnings"].append(warnings.make("straggler", str(one), allowed, one.fields()).to_json())


def corrupt(path: str, found: Verification) -> Outcome:
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


def _corruption(paths: Sequence[str], measurement: Measurement) -> Outcome:
    """Returns status `corrupt` with place and values if any word was wrong, on any rank."""
    for path, result in zip(paths, measurement.flows, strict=False):
        if result.verification is not None and not result.verification.ok:
            return corrupt(path, result.verification)
    if not measurement.verified:
        return {"status": "corrupt", "reason": "the data were not verified"}
    return {}


def _page_bytes(case: Case, buffers: Held) -> dict[str, int] | None:
    """Returns the page sizes of the first flow's buffers, or of this rank's; None if unknown.

    Steps that allocate their own memory hold a buffer only to name the memory kind.
    """
    if is_memory_step(case.interface) or not buffers:
        return None
    ends = {"source": buffers[0][0], "destination": buffers[0][-1]}
    return {side: end.page_bytes for side, end in ends.items() if end is not None and end.page_bytes} or None


def _places(case: Case, buffers: Held) -> Outcome:
    """Returns the location of every host buffer's pages, and which device's first touch placed them."""
    placement: dict[str, dict[str, int]] = {}
    touched: dict[str, str] = {}
    for flow, held in zip(case.flows, buffers, strict=False) if not is_memory_step(case.interface) else ():
        for planned, buffer in _planned(case, flow, held):
            if planned.first_touch not in (None, planned.device):
                touched[str(planned)] = FIRST_TOUCH_EFFECTS[planned.memory in PLACED_BY_TOUCH].format(
                    planned.first_touch
                )
            if buffer is not None and (domains := buffer.placement()):
                placement[str(planned)] = {str(domain): count for domain, count in sorted(domains.items())}
    return {"placement": placement or None, "first_touch": touched or None}


def _planned(case: Case, flow: Flow, held: tuple[One, ...]) -> list[tuple[PlannedBuffer, One]]:
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


def misplaced(case: Case, buffers: Held, numa_domain: Mapping[str, int]) -> list[Warning]:
    """Returns a warning for each buffer with pages outside their NUMA domain: that of the first toucher, or
    of the owner if the allocation places them.
    """
    found: dict[str, Warning] = {}
    for flow, held in zip(case.flows, buffers, strict=True):
        for planned, buffer in _planned(case, flow, held):
            by_touch = planned.memory in PLACED_BY_TOUCH
            placer = (planned.first_touch if by_touch else None) or planned.device
            wanted = numa_domain.get(placer, -1)
            pages = buffer.placement() if buffer is not None else {}
            if wanted < 0 or not pages or planned.memory not in PLACED:
                continue
            share = pages.get(wanted, 0) / sum(pages.values())
            if share < LEAST_PLACED:
                found[str(planned)] = warnings.make("placement", rounded(share), LEAST_PLACED)
    return list(found.values())


def on_other_pages(case: Case, buffers: Held) -> list[Warning]:
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
                fields: WarningFields = {"buffer": str(planned), "page_bytes": got or None}
                fields["base_page_bytes"] = base
                observed = f"{got} B" if got else "several sizes"
                found[str(planned)] = warnings.make("page-size", observed, required, fields)
    return list(found.values())


def _warnings(measurement: Measurement) -> list[Warning]:
    return [
        warnings.make(warning.id, rounded(warning.observed), rounded(warning.required))
        for warning in measurement.warnings
    ]


def warnings_of(obstacle: str) -> list[dict[str, Any]]:
    """Returns a warning where ranks exchange through host memory for want of peer access."""
    if not obstacle:
        return []
    wanted = "access of every pair of GPUs"
    return [warnings.make("no-peer-access", obstacle, wanted, {"used": "host-memory"}).to_json()]
