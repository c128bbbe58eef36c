"""Assembles a record: the request, the worker's answer, and the peaks and limits it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from byteways.measure.conduct.requested import request_fields

from byteways.cases.case import PlannedCase
from byteways.cases.reasons import NO_ANSWER, WORKER_LOST
from byteways.machine.model import Topology
from byteways.models.model import MachineModel
from byteways.plan.peaks import peak
from byteways.plan.physical import judged
from byteways.record.blame import FailureBlame
from byteways.record.record import RECORD_FIELDS, Record
from byteways.record.samples import Samples, of_outcome

_FIELDS = {*RECORD_FIELDS}
#: Statuses that a worker may report; only the conductor sets the others.
WORKER_STATUSES = ("measured", "failed", "corrupt", "skipped")
#: Codes of the reason by the status of a case whose worker did not answer.
_CODES = {"lost": WORKER_LOST, "timeout": NO_ANSWER}


def record_without_values(
    planned: PlannedCase,
    method_version: int,
    status: str,
    reason: str,
    model: MachineModel | None = None,
    *,
    code: str | None = None,
    blame: FailureBlame | None = None,
    **happened: Any,
) -> Record:
    """Returns the record of a case without values: `skipped`, `timeout` or `lost`.

    Args:
        model: The simulated machine; None: a real one.
        code: Of the reason; None: that of the status.
        blame: What the case blames.
        happened: `started_at`, `wall_s`, `worker`.
    """
    return Record.from_json(
        {
            **request_fields(planned, model),
            "status": status,
            "reason": reason,
            "reason_code": code or _CODES.get(status),
            "blame": blame,
            "method_version": method_version,
            **happened,
        }
    )


def answered_record(
    planned: PlannedCase,
    outcome: Mapping[str, Any],
    method_version: int,
    peaks: Callable[[], Mapping[str, Any]],
    model: MachineModel | None = None,
    **happened: Any,
) -> tuple[Record, Samples | None]:
    """Returns the record of an answered case, and its samples, which are stored separately.

    Args:
        peaks: Returns what a bandwidth is compared with, as record fields.
        model: The simulated machine; None: a real one.
        happened: `started_at`, `wall_s` and other fields that the conductor knows.

    Raises:
        ValueError: The outcome is invalid (unknown field or status, or a value that is NaN or infinite).
    """
    if outcome.get("status") not in WORKER_STATUSES:
        raise ValueError(f"status '{outcome.get('status')}'")
    samples = of_outcome(planned.case.case_id, planned.round, outcome)
    told = {name: value for name, value in outcome.items() if name not in ("samples", "samples_ns")}
    if unknown := told.keys() - _FIELDS:
        raise ValueError(f"unknown field '{min(unknown)}'")
    fields = {"reason": None, **told, **happened, **request_fields(planned, model)}
    fields["method_version"] = method_version
    bandwidth = outcome.get("bandwidth_bytes_per_s")
    if bandwidth is not None:
        fields |= peaks()
        nominal = fields.get("peak_bytes_per_s")
        fields["fraction_of_peak"] = bandwidth / nominal if nominal else None
    return Record.from_json(fields), samples


def measured_record(
    planned: PlannedCase,
    outcome: Mapping[str, Any],
    method_version: int,
    topology: Topology,
    model: MachineModel | None = None,
    **happened: Any,
) -> tuple[Record, Samples | None]:
    """Returns the record of a case within a host, see answered_record(); `topology`: source of peaks."""

    def peaks() -> dict[str, Any]:
        nominal = peak(topology, planned.case)
        return {"peak_bytes_per_s": nominal.bytes_per_s, "peak_source": nominal.source}

    record, samples = answered_record(planned, outcome, method_version, peaks, model, **happened)
    return judged(record, planned.case, topology), samples
