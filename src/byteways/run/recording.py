"""Puts a record together: what was asked, what the worker answered, and the peak it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteways.analyse.peaks import peak
from byteways.machines.basis import rests_on
from byteways.machines.model import MachineModel
from byteways.plan.case import PlannedCase
from byteways.results.record import Record
from byteways.run.journal import encode
from byteways.topology.model import Topology

#: What a worker may say about a case; the other statuses are the conductor's.
WORKER_STATUSES = ("measured", "failed", "corrupt", "skipped")


def asked(planned: PlannedCase, model: MachineModel | None = None) -> dict[str, Any]:
    """The "what was asked" fields of a record; of a simulated one also that it is, and what it rests on."""
    case = planned.case
    identity = case.identity()
    return {
        "case_id": case.case_id,
        "round": planned.round,
        "sweep": planned.sweep,
        "category": case.category,
        "executor": ",".join(case.executors),
        "access": case.access,
        "path": case.path,
        "source": str(case.flows[0].source),
        "destination": str(case.flows[0].destination),
        **identity,
        **({"simulated": True, "rests_on": rests_on(case, model)} if model else {}),
    }


def unmeasured(
    planned: PlannedCase,
    method_version: int,
    status: str,
    reason: str,
    model: MachineModel | None = None,
    **happened: Any,
) -> Record:
    """The record of a case without figures: `skipped`, `timeout` or `lost`. `model`: what is simulated."""
    return Record.from_json(
        {
            **asked(planned, model),
            "status": status,
            "reason": reason,
            "method_version": method_version,
            **happened,
        }
    )


def measured(
    planned: PlannedCase,
    outcome: Mapping[str, Any],
    method_version: int,
    topology: Topology,
    model: MachineModel | None = None,
    **happened: Any,
) -> Record:
    """The record of a case that a worker answered.

    Args:
        model: What is simulated; None: a real machine is measured.
        happened: `started_at`, `wall_s`, `worker`.

    Raises:
        ValueError: The outcome is none (unknown fields or status, a figure that is not a number).
    """
    if outcome.get("status") not in WORKER_STATUSES:
        raise ValueError(f"status '{outcome.get('status')}'")
    fields = {**outcome, **happened, **asked(planned, model), "method_version": method_version}
    fields.setdefault("reason", None)
    bandwidth = outcome.get("bandwidth_bytes_per_s")
    if bandwidth is not None:
        nominal = peak(topology, planned.case)
        fields["peak_bytes_per_s"] = nominal.bytes_per_s
        fields["peak_source"] = nominal.source
        fields["fraction_of_peak"] = bandwidth / nominal.bytes_per_s if nominal.bytes_per_s else None
    try:
        record = Record.from_json(fields)
        encode(record)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(str(error)) from error
    return record
