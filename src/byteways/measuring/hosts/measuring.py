"""One host's part in the cases of some hosts: buffers, their communicator, clocks and identities."""

from __future__ import annotations

import heapq
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from byteways import _core
from byteways.base.units import short_time
from byteways.cases.case import Buffer, Case
from byteways.measuring.hosts.facts import ends_of, own_facts
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.failures import skipped
from byteways.measuring.work.outcome_fields import Outcome
from byteways.measuring.work.rank_ends import RankEnds, device_of
from byteways.measuring.work.rank_measuring import RankMeasurer
from byteways.plan.hosts.rule import HostGroup
from byteways.plan.legality import kind_of
from byteways.record import warnings
from byteways.record.stragglers import stragglers
from byteways.record.warnings import WarningFields

if TYPE_CHECKING:
    from byteways._core import ClockOffset, Communicator, Device, MeasureOptions
    from byteways.machine.model import Topology

    #: The offset of each host's clock, and the time of this host's when they were estimated, in ns.
    Clocks = tuple[Sequence[ClockOffset], float]

#: Round trips of an estimate of the clocks: the shortest of so many is near the least possible.
ROUND_TRIPS = 40
#: Oscillators of healthy computers differ by less than this (a hundred millionths, and as much for margin).
MOST_DRIFT = 2e-4


@dataclass(frozen=True)
class _Clock:
    """How far the clock of a host is from that of the first one, in ns, before a case and after it."""

    offset_ns: float
    uncertainty_ns: float
    drift_ns: float
    drift_uncertainty_ns: float
    allowed_ns: float  # the most that it drifts

    @property
    def doubt_ns(self) -> float:
        return self.uncertainty_ns + abs(self.drift_ns)

    def fields(self) -> dict[str, float]:
        return {
            "offset_ns": round(self.offset_ns),
            "uncertainty_ns": round(self.uncertainty_ns, 1),
            "drift_ns": round(self.drift_ns),
            "drift_uncertainty_ns": round(self.drift_uncertainty_ns, 1),
        }

    def stepped(self) -> list[dict[str, Any]]:
        """Returns a warning if the clock moved further than clocks drift."""
        if abs(self.drift_ns) <= self.allowed_ns:
            return []
        sign = "-" if self.drift_ns < 0 else ""
        observed, most = f"{sign}{short_time(abs(self.drift_ns))}", short_time(self.allowed_ns)
        fields: WarningFields = {"drift_ns": round(self.drift_ns), "allowed_ns": round(self.allowed_ns)}
        return [warnings.make("clock-step", f"{observed} apart", f"at most {most}", fields).to_json()]


def _known(first: ClockOffset, last: ClockOffset, most_drift_ns: float) -> _Clock:
    known_ns = first.uncertainty_ns + last.uncertainty_ns
    return _Clock(
        first.offset_ns,
        first.uncertainty_ns,
        last.offset_ns - first.offset_ns,
        known_ns,
        known_ns + most_drift_ns,
    )


class HostMeasurer(RankMeasurer):
    """Measures cases between this host and others. Call meet() before the cases of a group of hosts."""

    topology: Topology
    cores: Sequence[int]  # of this rank; empty: it shares them
    shared_ranks: int  # ranks of this host's kernel
    gpu: str | None = None  # of this rank where its host has several; None: it uses all
    _together: Communicator | None = None
    _hosts: tuple[str, ...] = ()  # of each rank
    _members: HostGroup = ()
    _own = 0
    _offset_ns = 0.0  # of this host's clock against that of the first host

    @property
    def devices(self) -> Sequence[Device]:
        """The devices of this host's runtimes."""
        return self.session.devices

    def meet(self, together: Communicator, hosts: tuple[str, ...], own: int, members: HostGroup) -> None:
        """Begins the cases of a group of hosts.

        Args:
            together: Their ranks, in the order of `hosts`.
            hosts: Of each rank, in the order of the case: the first one of a pair sends first.
            own: This rank's place among them.
            members: The ranks by their numbers among all.
        """
        self._together, self._hosts, self._own, self._members = together, hosts, own, members
        self._vendors.clear()  # NCCL's and RCCL's communicators are of the group before

    def _partners(self, case: Case) -> Hashable:
        """The group's ranks among all: those of every pair have the same numbers in their case."""
        return frozenset(self._members)

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        """Returns the answer of the group; all of its hosts return the same."""
        assert self._together is not None
        own = self._described(request.case)
        told = [json.loads(text) for text in self._together.gather(json.dumps(own).encode())]
        if lacking := next((one["lacking"] for one in told if "lacking" in one), None):
            return WorkerAnswer(skipped(lacking))
        before = self._clocks()
        outcome = self._outcome(replace(request, cores=tuple(tuple(one["cores"]) for one in told)))
        kernels = {one["boot_id"] for one in told}
        if "" not in kernels and len(kernels) < len(set(self._hosts)):
            fields: WarningFields = {"hosts": len(set(self._hosts)), "kernels": len(kernels)}
            one = warnings.make("one-machine", "hosts with one kernel", "a kernel for each host", fields)
            outcome["warnings"] = [*outcome.get("warnings", ()), one.to_json()]
        outcome["hosts"] = self._named([one["end"] for one in told])
        if outcome.get("ranks"):
            self._add_clocks(outcome, before, self._clocks())
            if self._shares_host:
                for rank, one in zip(outcome["ranks"], told, strict=True):
                    rank["device"] = one["end"]["device"]
        return WorkerAnswer(outcome)

    @property
    def _shares_host(self) -> bool:
        """Whether several ranks of the group are on one host."""
        return len(set(self._hosts)) < len(self._hosts)

    def _named(self, ends: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Returns the ends by host, or by host and device where ranks of one host have different ones."""
        if not self._shares_host:
            return dict(zip(self._hosts, ends, strict=True))
        return {f"{host}:{end['device']}": end for host, end in zip(self._hosts, ends, strict=True)}

    def _described(self, case: Case) -> dict[str, Any]:
        sends, receives = self._ends(case)
        end = sends or receives
        assert end is not None
        try:
            told = ends_of(self.topology, end.device)
            return {"end": told, "cores": list(self._cores_of(end)), "boot_id": own_facts()["boot_id"]}
        except KeyError:
            return {"lacking": f"{self._hosts[self._own]} has no {end.device}"}

    def _cores_of(self, end: Buffer) -> Sequence[int]:
        """Returns the core for a case; none if ranks share cores."""
        if self.shared_ranks > 1:
            return self.cores
        cpu = end.device if kind_of(end.device) == "cpu" else self.topology.nearest_cpu(end.device)
        return self.topology.device(cpu).cores

    def _group(self, case: Case) -> Communicator | None:
        return self._together

    def _number(self, case: Case) -> int:
        return self._own

    def _ends(self, case: Case) -> tuple[Buffer | None, Buffer | None]:
        sends, receives = super()._ends(case)
        return _local(sends), _local(receives)

    def _executor(self, case: Case, ends: RankEnds, uuids: Mapping[str, str]) -> str:
        """Returns the device of this rank that executes the case: the one that the case names, as hosts are
        alike, or where hosts have several ranks its own.
        """
        executor = case.flows[0].executor
        if kind_of(device_of(ends)) == kind_of(executor):
            return device_of(ends)
        return self.gpu if self.gpu is not None and kind_of(executor) == "gpu" else executor

    def _options_of(self, request: CaseRequest, rank: int) -> MeasureOptions:
        options = super()._options_of(request, rank)
        options.clock_offset_ns = self._offset_ns
        return options

    def _clocks(self) -> Clocks:
        """Estimates the offset of every host's clock; returns them with the time of this host's in ns."""
        import time

        assert self._together is not None
        found = _core.estimate_clock_offsets(self._together, self.session, ROUND_TRIPS)
        self._offset_ns = found[self._own].offset_ns
        return found, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def _add_clocks(self, outcome: Outcome, before: Clocks, after: Clocks) -> None:
        """Adds how far the clocks are apart and how far that is known, and what this leaves of the ranks'
        delays. `clocks` is of the host whose clock is known least.
        """
        (first, began), (last, ended) = before, after
        known = [
            _known(first[place], last[place], MOST_DRIFT * (ended - began))
            for place in range(len(self._hosts))
        ]
        known_least = heapq.nlargest(2, (clock.doubt_ns for clock in known))
        for place, (host, rank) in enumerate(zip(self._hosts, outcome["ranks"], strict=True)):
            rank["host"] = host
            if len(self._hosts) > 2:
                rank["clock"] = known[place].fields()
            own_ns = known[place].doubt_ns
            doubt_ns = own_ns + known_least[own_ns == known_least[0]]  # a delay is between two clocks
            rank["begin_ns"] = max(0.0, rank["begin_ns"] - doubt_ns)
            rank["end_ns"] = max(0.0, rank["end_ns"] - doubt_ns)
        least = max(range(1, len(known)), key=lambda place: known[place].doubt_ns)
        outcome["clocks"] = {
            "reference": self._hosts[0],
            "host": self._hosts[least],
            **known[least].fields(),
        }
        for clock in known:
            outcome["warnings"] += clock.stepped()
        self._keep_sure_stragglers(outcome)

    def _keep_sure_stragglers(self, outcome: Outcome) -> None:
        """Drops warnings of a delay that the doubt of the clocks explains."""
        batch_ns = outcome["batch"] * outcome["time_ns"]["median"]
        sure = {one.rank for one in stragglers(outcome["ranks"], batch_ns)}
        outcome["warnings"] = [
            one for one in outcome["warnings"] if one["id"] != "straggler" or one["fields"]["rank"] in sure
        ]


def _local(end: Buffer | None) -> Buffer | None:
    return None if end is None else replace(end, host=None, rank=None)
