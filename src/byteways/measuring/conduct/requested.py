"""The fields of a record that say what was asked, whatever came of it."""

from __future__ import annotations

from typing import Any

from byteways.cases.case import PlannedCase
from byteways.models.basis import rests_on
from byteways.models.model import MachineModel


def request_fields(planned: PlannedCase, model: MachineModel | None = None) -> dict[str, Any]:
    """Returns the request fields of a record; if simulated, also the model and what the value rests on."""
    case = planned.case
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
        **case.identity(),
        **({"simulated": True, "rests_on": rests_on(case, model)} if model else {}),
    }
