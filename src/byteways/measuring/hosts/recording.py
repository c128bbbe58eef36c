"""Assembles the record of a group of hosts: the request, their answer, and the peak of a pair's NICs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteways.cases.case import PlannedCase
from byteways.measuring.conduct.recording import answered_record
from byteways.plan.peaks import algorithm_sets_peak
from byteways.record.record import Record
from byteways.record.samples import Samples

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

    def peaks() -> dict[str, Any]:
        if tournament is None:
            return {"peak_source": algorithm_sets_peak(planned.case.pattern), "limit_source": NO_LIMIT}
        rate, source = _peak(outcome["hosts"], len(planned.case.flows))
        return {"peak_bytes_per_s": rate, "peak_source": source, "limit_source": NO_LIMIT}

    if tournament is not None:
        happened["tournament"] = dict(tournament)
    return answered_record(planned, outcome, method_version, peaks, **happened)


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
