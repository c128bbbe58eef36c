"""One host's part in the cases of a pair: buffers, the pair's communicator, clocks and identities."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from byteways.plan.case import Buffer, Case
from byteways.plan.legality import kind_of
from byteways.results import warnings
from byteways.results.stragglers import stragglers
from byteways.run.hosts.facts import ends_of, own_facts
from byteways.run.rank_measuring import RankMeasurer

if TYPE_CHECKING:
    from byteways._core import ClockOffset, Communicator, Device, MeasureOptions
    from byteways.topology.model import Topology

#: Round trips of an estimate of the clocks: the shortest of so many is near the least possible.
ROUND_TRIPS = 40
#: Oscillators of healthy computers differ by less than this (a hundred millionths, and as much for margin).
MOST_DRIFT = 2e-4


class HostMeasurer(RankMeasurer):
    """Measures cases between this host and one other. Call meet() before the cases of a pair."""

    topology: Topology
    cores: Sequence[int]  # of this rank; empty: it shares them
    shared_ranks: int  # ranks of this host's kernel
    _pair: Communicator | None = None
    _hosts: tuple[str, ...] = ()
    _own = 0
    _offset: ClockOffset | None = None

    @property
    def devices(self) -> Sequence[Device]:
        """The devices of this host's runtimes."""
        return self._session.devices

    def meet(self, pair: Communicator, hosts: tuple[str, ...], own: int) -> None:
        """Begins the cases of a pair.

        Args:
            pair: Its two ranks, in the order of `hosts`.
            hosts: In the order of the case: the first one sends first.
            own: This host's place among them.
        """
        self._pair, self._hosts, self._own = pair, hosts, own
        self._vendors.clear()  # NCCL's and RCCL's communicators are of the pair before

    def _partners(self, case: Case) -> Hashable:
        """The hosts of the pair: its ranks have the same numbers as those of every other one."""
        return frozenset(self._hosts)

    def measure(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the outcome of the pair's case; both hosts return the same."""
        assert self._pair is not None
        case = Case.from_json(request["case"])
        own = self._described(case)
        told = [json.loads(text) for text in self._pair.gather(json.dumps(own).encode())]
        if lacking := next((one["lacking"] for one in told if "lacking" in one), None):
            return {"status": "skipped", "reason": lacking}
        before = self._clocks()
        outcome = super().measure({**request, "cores": [own["cores"]] * 2})
        if told[0]["boot_id"] and told[0]["boot_id"] == told[1]["boot_id"]:
            one = warnings.make("one-machine", "hosts with one kernel", "a kernel for each host")
            outcome["warnings"] = [*outcome.get("warnings", ()), asdict(one)]
        outcome["hosts"] = dict(zip(self._hosts, (one["end"] for one in told), strict=True))
        if outcome.get("ranks"):
            self._add_clocks(outcome, before, self._clocks())
        return outcome

    def _described(self, case: Case) -> dict[str, Any]:
        sends, receives = self._ends(case)
        end = sends or receives
        assert end is not None
        try:
            told = ends_of(self.topology, end)
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
        return self._pair

    def _number(self, case: Case) -> int:
        return self._own

    def _ends(self, case: Case) -> tuple[Buffer | None, Buffer | None]:
        sends, receives = super()._ends(case)
        return _local(sends), _local(receives)

    def _options(self, case: Case, request: Mapping[str, Any], rank: int) -> MeasureOptions:
        options = super()._options(case, request, rank)
        if self._own == 1 and self._offset is not None:
            options.clock_offset_ns = self._offset.offset_ns
        return options

    def _clocks(self) -> tuple[ClockOffset, float]:
        """Estimates the clocks' offset; returns it with the time of this host's clock in ns."""
        import time

        assert self._pair is not None
        self._offset = self._core.estimate_clock_offset(self._pair, self._session, ROUND_TRIPS)
        return self._offset, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def _add_clocks(
        self, outcome: dict[str, Any], before: tuple[ClockOffset, float], after: tuple[ClockOffset, float]
    ) -> None:
        """Adds the clocks' offset and how far it is known, and what this leaves of the ranks' delays."""
        (first, began), (last, ended) = before, after
        drift_ns = last.offset_ns - first.offset_ns
        known_ns = first.uncertainty_ns + last.uncertainty_ns
        outcome["clocks"] = {
            "reference": self._hosts[0],
            "host": self._hosts[1],
            "offset_ns": round(first.offset_ns),
            "uncertainty_ns": round(first.uncertainty_ns, 1),
            "drift_ns": round(drift_ns),
            "drift_uncertainty_ns": round(known_ns, 1),
        }
        allowed_ns = known_ns + MOST_DRIFT * (ended - began)
        doubt_ns = first.uncertainty_ns + abs(drift_ns)
        if abs(drift_ns) > allowed_ns:
            outcome["warnings"].append(
                asdict(
                    warnings.make(
                        "clock-step", f"{drift_ns / 1e3:.3g} µs apart", f"at most {allowed_ns / 1e3:.3g} µs"
                    )
                )
            )
        for host, rank in zip(self._hosts, outcome["ranks"], strict=True):
            rank["host"] = host
            rank["begin_ns"] = max(0.0, rank["begin_ns"] - doubt_ns)
            rank["end_ns"] = max(0.0, rank["end_ns"] - doubt_ns)
        self._keep_sure_stragglers(outcome)

    def _keep_sure_stragglers(self, outcome: dict[str, Any]) -> None:
        """Drops warnings of a delay that the doubt of the clocks explains."""
        batch_ns = outcome["batch"] * outcome["time_ns"]["median"]
        sure = {str(one.rank) for one in stragglers(outcome["ranks"], batch_ns)}
        outcome["warnings"] = [
            one
            for one in outcome["warnings"]
            if one["id"] != "straggler" or str(one["observed"]).split()[1] in sure
        ]


def _local(end: Buffer | None) -> Buffer | None:
    return None if end is None else replace(end, host=None, rank=None)
