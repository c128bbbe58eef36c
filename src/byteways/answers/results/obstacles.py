"""Warnings and unmeasured cases of a run, grouped for tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from byteways.answers.results.case_names import describe
from byteways.answers.results.counting import listed
from byteways.answers.results.selection import device_order
from byteways.answers.results.summary import group_by
from byteways.base.text import Sentence
from byteways.base.units import format_bandwidth, format_size, format_time
from byteways.cases.folding import form_of
from byteways.plan.legality import kind_of
from byteways.record.record import Record
from byteways.record.warnings import Warning


def _percent(part: float) -> str:
    """'3.2 %', '188 %', '-75 %'."""
    value = 100 * part
    return f"{value:.0f} %" if abs(value) >= 9.95 else f"{value:.2g} %"


#: Formats of a warning's values; default: plain numbers.
WARNING_FORMATS: Mapping[str, Callable[[float], str]] = {
    "noisy": _percent,
    "drift": _percent,
    "placement": lambda value: f"{100 * value:.3g} %",
    "serialised": format_bandwidth,
    "unexpected-path": lambda value: format_size(round(value)),
    "ungated": lambda value: "gated" if value else "not gated",
    "gate-slows": format_time,
    "short-batch": _percent,
    "clock-drop": lambda value: f"{value:.0f} MHz",
    "host-busy": _percent,
    "steal": _percent,
    "cpu-throttled": lambda value: f"{value:.3g} s",
}


@dataclass(frozen=True)
class Reason:
    """Cases with the same status and reason."""

    status: str
    reason: Sentence
    count: int
    example: str
    interfaces: tuple[str, ...]


@dataclass(frozen=True)
class WarningGroup:
    id: str
    advice: Sentence
    count: int
    example: Sentence
    observed: Sentence
    required: Sentence


def not_measured(records: Iterable[Record]) -> list[Reason]:
    """Groups cases without a value by displayed status and reason, the gravest status first."""
    rest = [record for record in records if record.status != "measured"]
    grouped = group_by(rest, lambda record: (record.display_status, record.reason or "no reason was given"))
    reasons = [
        Reason(
            status,
            reason,
            len({record.case_id for record in members}),
            describe(members[0]),
            tuple(dict.fromkeys(record.interface for record in members)),
        )
        for (status, reason), members in grouped.items()
    ]
    return sorted(reasons, key=_gravity)


def _gravity(reason: Reason) -> tuple[int, int]:
    """Sort key: by status, the gravest first, then by number of cases."""
    order = ("corrupt", "failed", "lost", "timeout", "skipped", "left out")
    return order.index(reason.status), -reason.count


def of_equal_devices(reasons: Iterable[Reason]) -> list[Reason]:
    """Merges reasons that differ in one device alone: `… on gpu0: …; the same for gpu1 and gpu2`.

    They are sorted again, by status and number of cases.
    """
    merged = []
    for members in group_by(reasons, _but_for_device).values():
        first, others = members[0], members[1:]
        devices = sorted((form_of(other.reason)[1][0] for other in others), key=device_order)
        merged.append(
            replace(
                first,
                reason=f"{first.reason}; the same for {listed(devices)}" if others else first.reason,
                count=sum(member.count for member in members),
                interfaces=tuple(dict.fromkeys(name for member in members for name in member.interfaces)),
            )
        )
    return sorted(merged, key=_gravity)


def _but_for_device(reason: Reason) -> tuple[str, ...]:
    form, devices = form_of(reason.reason)
    return (reason.status, form, kind_of(devices[0])) if len(devices) == 1 else (reason.status, reason.reason)


def _excess(warning: Warning) -> float:
    """Returns by what factor a warning's value is off; 0 without two numbers."""
    observed, required = warning.observed, warning.required
    if not isinstance(observed, (int, float)) or not isinstance(required, (int, float)):
        return 0.0
    low, high = sorted((abs(observed), abs(required)))
    return high / low if low else 0.0


def warning_groups(records: Iterable[Record]) -> list[WarningGroup]:
    """Groups warnings by id, most frequent first, each with its worst example."""
    given = [(warning, record) for record in records for warning in record.warnings]
    groups = []
    for name, members in group_by(given, lambda pair: pair[0].id).items():
        warning, record = max(members, key=lambda pair: _excess(pair[0]))
        count = len({record.case_id for _, record in members})
        groups.append(
            WarningGroup(
                name,
                warning.advice,
                count,
                describe(record),
                _figure(name, warning.observed),
                _figure(name, warning.required),
            )
        )
    return sorted(groups, key=lambda group: -group.count)


def _figure(warning: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return WARNING_FORMATS[warning](value) if warning in WARNING_FORMATS else f"{value:.4g}"
