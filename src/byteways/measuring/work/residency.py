"""Location of managed pages before and after an operation: observed, and compared with what the case claims.

The system's page tables show which pages are on the host, or on a GPU whose memory is a NUMA domain (GH200).
For other pages the runtime reports the last prefetch destination, which is trusted for pages that the host
does not have. Correct data prove nothing: they are correct wherever the pages are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from byteways.cases.case import Case, Flow
from byteways.cases.interfaces import moves_pages
from byteways.measuring.work.outcome_fields import Outcome
from byteways.record import warnings
from byteways.record.warnings import Warning, WarningFields

if TYPE_CHECKING:
    from byteways._core import Buffer, FlowResult, Measurement, SideResidency

#: Pages that are not on the host, on an unknown GPU.
OFF_HOST = "off-host"
#: Fraction of the sampled pages that must be at the claimed location; a system may keep a few back.
LEAST_RESIDENT_PART = 0.99
#: When pages were looked at, in words.
_WHEN = {
    "before": "before the operation",
    "timed": "after timed prefetches",
    "after": "after a prefetch",
}


@dataclass(frozen=True)
class Pages:
    """Sampled pages of one side by location; `known` is false if the location is unavailable."""

    sampled: int
    where: Mapping[str, int]
    known: bool = True

    def part(self, device: str, twins: Mapping[str, str]) -> float:
        """Returns the fraction of pages on the device. Each NUMA domain counts separately.

        Args:
            twins: Devices that share one memory, by device.
        """
        places = {device, twins.get(device, device)}
        return sum(count for place, count in self.where.items() if place in places) / max(1, self.sampled)


def pages_of(seen: SideResidency, fresh: bool) -> Pages:
    """Converts an observation to locations.

    Args:
        fresh: Whether only prefetches moved pages since the runtime's report; otherwise the report is
            outdated and only shows that pages are off the host.
    """
    where = {**seen.on_host, **seen.on_gpus}
    away = seen.sampled - sum(where.values())
    told = seen.prefetched_to if fresh else ""
    if away <= 0:
        return Pages(seen.sampled, where)
    if told == "host":  # contradiction: prefetched to the host, but absent from its page tables
        return Pages(seen.sampled, where, known=False)
    return Pages(seen.sampled, {**where, told or OFF_HOST: away}, known=bool(told) or not fresh)


def about_pages(
    case: Case,
    measurement: Measurement,
    buffers: Sequence[tuple[Buffer | None, ...]],
    twins: Mapping[str, str] | None = None,
) -> tuple[Outcome, list[Warning], str | None]:
    """Returns record fields on migrating pages, warnings, and the reason that voids the values, if any.

    Args:
        twins: Devices that share one memory, by device.
    """
    twins = twins or {}
    fields: dict[str, Any] = {}
    found: list[Warning] = []
    refuted: str | None = None
    moved: int | None = 0
    for index, (flow, result) in enumerate(zip(case.flows, measurement.flows, strict=True)):
        if not result.before:
            continue
        prefetch = moves_pages(case.interface_of(flow))
        for before, after in zip(result.before, result.after, strict=True):
            owner = (flow.destination if before.side == "destination" else flow.source).device
            first, then = pages_of(before, True), pages_of(after, prefetch)
            name = f"{flow.path} {before.side}"
            fields[name] = {
                "sampled_pages": first.sampled,
                "before": dict(first.where),
                "after": dict(then.where),
            }
            if not first.known:
                found.append(_unconfirmed(first, owner, "before"))
            elif first.part(owner, twins) < LEAST_RESIDENT_PART:
                refuted = refuted or _elsewhere(f"{name}, {_WHEN['before']}", first, owner, twins)
            if index == 0:
                end = buffers[0][0 if before.side != "destination" else -1]
                page = end.page_bytes if end is not None else 0
                moved = _sum(moved, _moved_bytes(case.size_of(flow), page, first, then, prefetch))
        if prefetch:
            reason, warning = _judge(flow, result, twins)
            refuted = refuted or reason
            found += [warning] if warning is not None else []
    if not fields:
        return {}, [], None
    data: Outcome = {"residency": fields}
    if moved is not None:
        data["migrated_bytes"] = moved
    if measurement.flows[0].bytes_per_touch:
        data["migrated_bytes_per_touch"] = measurement.flows[0].bytes_per_touch
    return data, found, refuted


def _sum(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more


def _moved_bytes(size: int, page: int, before: Pages, after: Pages, fresh: bool) -> int | None:
    """Returns the bytes of the pages that an operation moved; None if unknown.

    A page that was off the host before and after may have moved between GPUs.
    """
    if not before.known or not after.known or page <= 0:
        return None
    away = max(0, before.sampled - sum(n for place, n in before.where.items() if place.startswith("cpu")))
    if not fresh and away and after.where.get(OFF_HOST, 0):
        return None
    stayed = sum(min(count, after.where.get(place, 0)) for place, count in before.where.items())
    pages = -(-size // page)
    return round((before.sampled - stayed) / max(1, before.sampled) * pages) * page


def _judge(flow: Flow, result: FlowResult, twins: Mapping[str, str]) -> tuple[str | None, Warning | None]:
    """Returns why a prefetch did not move its pages, or a warning that this is unknown."""
    wanted = flow.destination.device
    for when, seen in [("timed", result.timed), ("after", result.after)]:
        for side in seen:
            pages = pages_of(side, True)
            if not pages.known:
                return None, _unconfirmed(pages, wanted, when)
            if pages.part(wanted, twins) < LEAST_RESIDENT_PART:
                return _elsewhere(f"{flow.path}: {_WHEN[when]}", pages, wanted, twins), None
    return None, None


def _unconfirmed(pages: Pages, device: str, when: str) -> Warning:
    fields: WarningFields = {
        "device": device,
        "when": when,
        "pages": dict(pages.where),
        "unknown_pages": pages.sampled - sum(pages.where.values()),
    }
    return warnings.make("residency", _seen(pages), f"{device}, {_WHEN[when]}", fields)


def _elsewhere(when: str, pages: Pages, wanted: str, twins: Mapping[str, str]) -> str:
    """Returns why the case is void: its value would belong to another path."""
    away = pages.sampled - round(pages.part(wanted, twins) * pages.sampled)
    return f"{when}, {away} of {pages.sampled} sampled pages were not on {wanted}: {_seen(pages)}"


def _seen(pages: Pages) -> str:
    """`cpu0: 64 pages, gpu1: 0 …`."""
    places = [f"{place}: {count}" for place, count in sorted(pages.where.items())]
    if not pages.known:
        places.append(f"unknown: {pages.sampled - sum(pages.where.values())}")
    return f"sampled pages on {', '.join(places)}" if places else "no sampled page"
