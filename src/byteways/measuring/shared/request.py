"""What a worker is asked to measure: one message to workers of every kind.

The path of a case, whoever measures it:

    CaseRequest        the conductor asks, over the worker's socket (protocol.py)
    measure()      a measurer of the worker: native, torch, ranks as processes or threads, hosts
    outcome        record fields that only the worker knows (work/outcome.py, work/failures.py)
    Record         the conductor adds the request, peaks and limits (conduct/recording.py)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from byteways.cases.case import Case, PlannedCase
from byteways.measuring.shared.messages import Message, read


class HowMeasured(TypedDict):
    """What requests say of how to measure; CaseRequest has the meanings."""

    budget_s: float
    precision: float
    rounds: int
    key: int


class _OfOne(HowMeasured):
    case: Message  # of Case.identity()


class MeasureRequest(_OfOne, total=False):
    """A CaseRequest as it is sent."""

    do: str
    fresh: bool
    cores: Sequence[Sequence[int]]
    uuids: Mapping[str, str]
    devices_of_host: Mapping[str, int]


class HostsRequest(MeasureRequest):
    """What all ranks of a run between hosts are asked: a case that some groups of them measure."""

    hosts: Sequence[str]  # of each rank
    patience_s: float  # for all groups
    groups: Sequence[Sequence[int]]  # ranks of each, in the order of the case


class ChoicesRequest(HowMeasured):
    """What a process is asked whose library writes its log: collectives, one after the other."""

    do: str
    cases: Sequence[Message]
    cores: Sequence[Sequence[int]]


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
    def of(cls, planned: PlannedCase, budget_s: float, *, fresh: bool = False) -> CaseRequest:
        """Returns the request for a planned case."""
        return cls(planned.case, budget_s, planned.precision, planned.rounds, key_of(planned), fresh)

    def trial(self, budget_s: float) -> CaseRequest:
        """Returns the request to try the same in a short time."""
        return replace(self, budget_s=budget_s, rounds=1, precision=1.0)

    def to_json(self) -> MeasureRequest:
        return {
            "do": "measure",
            "case": self.case.identity(),
            "budget_s": self.budget_s,
            "precision": self.precision,
            "rounds": self.rounds,
            "key": self.key,
            "fresh": self.fresh,
            "cores": self.cores,
            "uuids": self.uuids,
            "devices_of_host": self.devices_of_host,
        }

    @classmethod
    def from_json(cls, message: Message) -> CaseRequest:
        """Returns the request that a message has, whatever else is in it.

        Raises:
            KeyError: It lacks a field.
            ValueError: A field is of another type.
        """
        told = read(MeasureRequest, message)
        return cls(
            Case.from_json(told["case"]),
            told["budget_s"],
            told["precision"],
            told["rounds"],
            told["key"],
            told.get("fresh", False),
            tuple(tuple(each) for each in told.get("cores", ())),
            told.get("uuids", {}),
            told.get("devices_of_host", {}),
        )


def key_of(planned: PlannedCase) -> int:
    """Returns a 40-bit seed for data patterns and simulated noise.

    It depends only on the case and its round, so a resumed run gives the same values as an uninterrupted one.
    """
    text = f"{planned.case.case_id} {planned.round}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:5], "big")
