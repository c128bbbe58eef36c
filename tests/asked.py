"""Requests to measurers, as the conductor makes them."""

from __future__ import annotations

from typing import Any

from byteways.cases.case import Case
from byteways.measuring.shared.request import CaseRequest


def asked(case: Case, **fields: Any) -> CaseRequest:
    """A request for little time and precision; those between ranks share cores."""
    cores = ((),) * len(case.ranks)
    return CaseRequest(
        **{"budget_s": 0.01, "precision": 0.1, "rounds": 1, "key": 1, "cores": cores, **fields, "case": case}
    )
