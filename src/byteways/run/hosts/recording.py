"""Assembles the record of a group of hosts: the request, their answer, and the peak of a pair's NICs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteways.plan.case import PlannedCase
from byteways.plan.peaks import algorithm_sets_peak
from byteways.record.record import RECORD_FIELDS, Record
from byteways.record.samples import Samples, of_outcome
from byteways.run.conduct.recording import WORKER_STATUSES, request_fields

_FIELDS = {*RECORD_FIELDS}
#: Why no record between hosts has a physical limit.
NO_LIMIT = "no raw signalling rate of the network between hosts is known"


def measured_between_hosts(
    planned: PlannedCase,
    outcome: Mapping[str, Any],
    method_version: int,
    tournament: Mapping[str, Any] | None,
    **happened: Any,
) -> tuple[Record, Samples | None]:
    """Returns the record of some hosts and its samples.

    Args:
        tournament: Of a pair: `round` and `rounds` of the tournament, pairs that measured at once, and link
            class. None: all hosts together.
        happened: `started_at`, `wall_s`.

    Raises:
        ValueError: The outcome is invalid.
    """
    if outcome.get("status") not in WORKER_STATUSES:
        raise ValueError(f"status '{outcome.get('status')}'")
    samples = of_outcome(planned.case.case_id, planned.round, outcome)
    told = {name: value for name, value in outcome.items() if name not in ("samples", "samples_ns")}
    if unknown := told.keys() - _FIELDS:
        raise ValueError(f"unknown field '{min(unknown)}'")
    fields = {
        **told,
        **happened,
        **request_fields(planned),
        "method_version": method_version,
        **({"tournament": dict(tournament)} if tournament is not None else {}),
    }
    fields.setdefault("reason", None)
    bandwidth = outcome.get("bandwidth_bytes_per_s")
    if bandwidth is not None and tournament is None:
        fields |= {"peak_source": algorithm_sets_peak(planned.case.pattern), "limit_source": NO_LIMIT}
    elif bandwidth is not None:
        rate, source = _peak(outcome["hosts"], len(planned.case.flows))
        fields |= {"peak_bytes_per_s": rate, "peak_source": source, "limit_source": NO_LIMIT}
        fields["fraction_of_peak"] = bandwidth / rate if rate else None
    return Record.from_json(fields), samples


def _peak(hosts: Mapping[str, Mapping[str, Any]], directions: int) -> tuple[float | None, str]:
    """Returns the nominal rate of the narrowest link on the path, in all directions, with its source."""
    rates = []
    for name, told in hosts.items():
        rate, source = told.get("peak_bytes_per_s"), f"{name}: {told.get('peak_source', 'unknown')}"
        if rate is None:
            return None, source
        rates.append((rate, source))
    rate, source = min(rates)
    return rate * directions, source if directions == 1 else f"both directions, {source}"
