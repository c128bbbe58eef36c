"""What a worker is asked to measure: one message to workers of every kind.

The path of a case, whoever measures it:

    CaseRequest        the conductor asks, over the worker's socket (protocol.py)
    measure()      a measurer of the worker: native, torch, ranks as processes or threads, hosts
    outcome        record fields that only the worker knows (work/outcome.py, work/failures.py)
    Record         the conductor adds the request, peaks and limits (conduct/recording.py)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from byteways.cases.case import Case, PlannedCase


@dataclass(frozen=True)
class CaseRequest:
    """A case, and how it is measured.

    Args:
        budget_s: Seconds for the samples of this round.
        precision: Half-width of the interval, counted over all rounds.
        rounds: Their number in total.
        key: Seed for data patterns and simulated noise.
        fresh: Whether to drop first the buffers kept from earlier cases, except page-locked host memory.
        cores: Of each rank; none: it shares cores.
        uuids: Of the GPUs, for workers that number them differently.
        devices_of_host: Number of devices of each kind on a simulated host; empty: there is only one host.
    """

    case: Case
    budget_s: float
    precision: float
    rounds: int
    key: int
    fresh: bool = False
    cores: tuple[tuple[int, ...], ...] = ()
    uuids: Mapping[str, str] = field(default_factory=dict)
    devices_of_host: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, planned: PlannedCase, budget_s: float, **more: Any) -> CaseRequest:
        """Returns the request for a planned case; `more` are further fields."""
        return cls(planned.case, budget_s, planned.precision, planned.rounds, key_of(planned), **more)

    def trial(self, budget_s: float) -> CaseRequest:
        """Returns the request to try the same in a short time."""
        return replace(self, budget_s=budget_s, rounds=1, precision=1.0)

    def to_json(self) -> dict[str, Any]:
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"do": "measure", **own, "case": self.case.identity()}

    @classmethod
    def from_json(cls, message: Mapping[str, Any]) -> CaseRequest:
        """Returns the request that a message has, whatever else is in it."""
        own = {one.name: message[one.name] for one in fields(cls) if one.name in message}
        cores = tuple(tuple(each) for each in message.get("cores", ()))
        return cls(**{**own, "case": Case.from_json(message["case"]), "cores": cores})


def key_of(planned: PlannedCase) -> int:
    """Returns a 40-bit seed for data patterns and simulated noise.

    It depends only on the case and its round, so a resumed run gives the same values as an uninterrupted one.
    """
    text = f"{planned.case.case_id} {planned.round}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:5], "big")
