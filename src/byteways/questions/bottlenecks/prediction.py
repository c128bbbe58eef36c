"""Predicts the rates of concurrent flows from single-flow rates and link capacities.

The largest sum is a maximum flow with fixed routes (topology.capacity): no flow exceeds its single-flow
rate, no link direction its capacity. The capacity is the highest load measured on it, or its nominal rate
times the best fraction that any link of its kind reached. If several flows over a link reach less and only
that link can explain it, its capacity is the highest load measured. With even sharing of links the sum may
be lower than the largest, so the even shares (max-min fairness: D. Bertsekas and R. Gallager, Data Networks,
1992, section 6.5.2) are predicted, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from byteways.answers.claims.claim import Claim
from byteways.answers.claims.compare import compare, summed
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Result
from byteways.cases.case import Flow
from byteways.cases.interfaces import INTERFACES, metric_of
from byteways.machine.capacity import Arc, maximum_flow
from byteways.plan.peaks import arcs_of

#: Below this fraction of the even shares a sum is "held back"; smaller losses come from windows and start-up.
HELD_BACK = 0.97
#: All flows must run together for this fraction of the time in which any flow runs.
LEAST_TOGETHER = 0.2
#: Patterns whose value is not a sum over all flows.
_NO_SUM = ("unidirectional", "interference")
#: Relative residues below this are rounding errors.
_ROUNDING = 1e-9


#: A flow, its devices (source, executor, destination) and its rate in bytes/s.
Carried = tuple[Flow, tuple[str, str, str], float]


def _carried(flows: Sequence[Flow], rates: Sequence[float]) -> tuple[Carried, ...]:
    return tuple(
        (flow, (flow.source.device, flow.executor, flow.destination.device), rate)
        for flow, rate in zip(flows, rates, strict=True)
    )


@dataclass(frozen=True)
class Together:
    """A concurrent case: each flow's rate alone, by even shares, and measured, in bytes/s."""

    cell: Result
    flows: tuple[Flow, ...]
    alone: tuple[float, ...]
    shares: tuple[float, ...]  # by max-min fairness
    rates: tuple[float, ...]  # measured
    most: float  # the maximum flow
    limits: tuple[
        str, ...
    ]  # arcs that limit it: `nvswitch>gpu0`; empty if every flow keeps its single-flow rate
    claim: Claim  # measured versus even shares

    @cached_property
    def carried(self) -> tuple[Carried, ...]:
        return _carried(self.flows, self.rates)

    @cached_property
    def even(self) -> float:
        """The sum of even shares."""
        return sum(self.shares)

    @property
    def kept(self) -> float:
        """Measured fraction of the even shares."""
        return self.cell.value / self.even

    @property
    def setting(self) -> tuple[object, ...]:
        """Key of cases that meet the same limits."""
        record = self.cell.record
        memories = sorted({end.memory for flow in self.flows for end in (flow.source, flow.destination)})
        options = tuple(sorted((name, str(value)) for name, value in record.options.items()))
        environment = tuple(sorted(record.environment.items()))
        return record.interface, record.size_bytes, record.cache, options, environment, tuple(memories)

    @cached_property
    def held_back(self) -> bool:
        """Whether the sum is significantly below the even shares."""
        return self.claim.trails and self.cell.value < HELD_BACK * self.even

    @cached_property
    def slow(self) -> tuple[int, ...]:
        """Indices of flows below their share."""
        pairs = zip(self.rates, self.shares, strict=True)
        return tuple(index for index, (rate, share) in enumerate(pairs) if rate < HELD_BACK * share)


@dataclass(frozen=True)
class Seen:
    """Concurrent flows with their rates in bytes/s: lower bounds on capacities of shared resources."""

    flows: tuple[Flow, ...]
    rates: tuple[float, ...]

    @cached_property
    def carried(self) -> tuple[Carried, ...]:
        return _carried(self.flows, self.rates)


@dataclass(frozen=True)
class Predictions:
    """Predicted concurrent cases, the number of unpredictable ones, and all observed loads."""

    cases: tuple[Together, ...]
    lacking: int  # cases with a flow that was not measured alone
    seen: tuple[Seen, ...] = ()

    @property
    def held_back(self) -> list[Together]:
        return [case for case in self.cases if case.held_back]


def predictions(index: Index) -> Predictions:
    """Predicts the sums of a run's concurrent cases."""
    ways = _Ways(index)
    predicted, lacking = [], 0
    for cell in index.ranked:
        record = cell.record
        if record.pattern in _NO_SUM or not _counted(record.interface) or not _together_long(cell):
            continue
        flows = tuple(Flow.from_json(flow) for flow in record.flows)
        alone = [part for part in index.alone(cell) if part is not None]
        rates = _rates(cell, flows)
        if len(alone) < len(flows) or rates is None:
            lacking += 1
            continue
        predicted.append(_together(cell, flows, alone, rates, ways))
    return Predictions(tuple(predicted), lacking, tuple(ways.seen))


def _together_long(cell: Result) -> bool:
    """Whether the flows of a concurrent case overlapped long enough for their rates to be simultaneous.

    Slow flows continue after fast ones have ended, so the overlap may be a small part of the total time.
    """
    return all(
        record.window_ns is None or record.window_ns >= LEAST_TOGETHER * (record.end_to_end_ns or 0.0)
        for record in cell.records
        if "serialised" not in {warning.id for warning in record.warnings}
    )


def _counted(interface: str) -> bool:
    """Whether the value counts each byte from source to destination once, on a single route."""
    known = INTERFACES[interface]
    straight = known.buffers == "pair" and "relays" not in known.takes
    return metric_of(interface) == "bandwidth" and known.counts == "per-direction" and straight


def _rates(cell: Result, flows: Sequence[Flow]) -> tuple[float, ...] | None:
    """Returns the bytes/s of each flow in the rounds of the sum; None if paths do not identify flows."""
    paths = [flow.path for flow in flows]
    if len(set(paths)) < len(paths) or set(paths) - set(cell.directions):
        return None
    return tuple(cell.directions[path] for path in paths)


def _together(
    cell: Result, flows: tuple[Flow, ...], alone: Sequence[Result], rates: tuple[float, ...], ways: _Ways
) -> Together:
    """Returns a case with its predictions."""
    caps = tuple(part.value for part in alone)
    uses = [ways.of(flow) for flow in flows]
    capacities = ways.capacities(cell.record.interface, dict.fromkeys(name for use in uses for name in use))
    own = {_own(index): cap for index, cap in enumerate(caps)}
    bounded = [Counter({**use, _own(index): 1}) for index, use in enumerate(uses)]
    most, full = maximum_flow(bounded, {**capacities, **own})
    limits = tuple(name for name in full if name not in own)
    shares = even_shares(bounded, {**capacities, **own})
    claim = _beside_shares(cell, alone, sum(shares))
    return Together(cell, flows, caps, shares, rates, most, limits, claim)


def _beside_shares(cell: Result, alone: Sequence[Result], even: float) -> Claim:
    """Compares the measured sum with even shares, whose uncertainty is that of the single-flow rates."""
    total = summed(alone)
    part = even / total.value
    expected = replace(total, value=even, low=total.low * part, high=total.high * part)
    names = "measured", "predicted"
    how = ("pattern", "counts")
    return compare(cell, expected, kind="contention", across=how, match=None, names=names)


def _own(index: int) -> str:
    """Returns the name of a flow's own limit; no arc has such a name."""
    return f"flow {index}"


def even_shares(uses: Sequence[Mapping[str, int]], capacities: Mapping[str, float]) -> tuple[float, ...]:
    """Returns rates that grow equally until an arc is full; its flows then stop and the others continue.

    Args:
        uses: How often each flow crosses each arc; each crosses at least one with a capacity.
        capacities: bytes/s by arc.
    """
    rates = [0.0] * len(uses)
    crossing: defaultdict[str, set[int]] = defaultdict(set)  # still growing flows by arc
    loads: defaultdict[str, float] = defaultdict(float)
    for index, use in enumerate(uses):
        for name, crossings in use.items():
            if name in capacities:
                crossing[name].add(index)
                loads[name] += crossings
    left = {name: capacities[name] for name in loads}
    reached = 0.0
    while left:
        step = min(left[name] / loads[name] for name in left)
        reached += step
        for name in left:
            left[name] -= step * loads[name]
        full = [name for name, rest in left.items() if rest <= _ROUNDING * capacities[name] * loads[name]]
        for index in {index for name in full for index in crossing[name]}:
            rates[index] = reached
            for name, crossings in uses[index].items():
                if name in loads and index in crossing[name]:
                    crossing[name].discard(index)
                    loads[name] -= crossings
        left = {name: rest for name, rest in left.items() if crossing[name]}
    return tuple(rates)


class _Ways:
    """The arcs of each flow and their capacities."""

    def __init__(self, index: Index) -> None:
        self._topology = index.topology
        self._arcs: dict[str, Arc] = {}
        self._uses: dict[tuple[str, str, str], Counter[str]] = {}
        self._best: dict[str, dict[str, float]] = {}  # by interface and arc
        self._alone: dict[str, dict[frozenset[str], float]] = {}  # best single flow by interface and its arcs
        self.seen: list[Seen] = []
        for cell in index.ranked:
            self._learn(cell)
        self._efficiency = {interface: self._shares(best) for interface, best in self._best.items()}

    def of(self, flow: Flow) -> Counter[str]:
        """Returns how often a flow crosses each arc; empty without a known route."""
        key = flow.source.device, flow.executor, flow.destination.device
        if key not in self._uses:
            known = set(self._topology.names())
            way = (arcs_of(self._topology, flow) if known.issuperset(key) else None) or []
            self._arcs |= {arc.name: arc for arc in way}
            self._uses[key] = Counter(arc.name for arc in way)
        return self._uses[key]

    def capacities(self, interface: str, names: Iterable[str]) -> dict[str, float]:
        """Returns bytes/s by arc: the highest load measured, or nominal rate × best fraction of its kind."""
        known = {}
        for name in names:
            arc, most = self._arcs[name], self._best.get(interface, {}).get(name, 0.0)
            if arc.capacity is not None:
                part = self._efficiency.get(interface, {}).get(_kind(arc), 1.0)
                usual = part * arc.capacity
                slow = most < HELD_BACK * usual and self._explains(interface, name)
                known[name] = most if slow else max(most, usual)
        return known

    def _explains(self, interface: str, name: str) -> bool:
        """Whether only this arc can hold back several flows that cross it: by the same interface each other
        arc on their ways carried more.
        """
        best = self._best.get(interface, {})
        crossing = {arcs: rate for arcs, rate in self._alone.get(interface, {}).items() if name in arcs}
        return len(crossing) > 1 and all(
            best[other] > rate / HELD_BACK for arcs, rate in crossing.items() for other in arcs - {name}
        )

    def _learn(self, cell: Result) -> None:
        """Records the load of each arc in a case; the greatest is possible."""
        record = cell.record
        if not _counted(record.interface) or record.pattern == "interference" or not cell.stays:
            return
        flows = tuple(Flow.from_json(flow) for flow in record.flows)
        rates = (cell.value,) if len(flows) == 1 else _rates(cell, flows)
        if rates is None or "serialised" in cell.warning_ids:
            return
        self.seen.append(Seen(flows, rates))
        if cell.doubts:
            return  # rules out a bottleneck, but does not prove a capacity
        loads: defaultdict[str, float] = defaultdict(float)
        for flow, rate in zip(flows, rates, strict=True):
            for name, times in self.of(flow).items():
                loads[name] += times * rate
        if len(flows) == 1:
            alone, arcs = self._alone.setdefault(record.interface, {}), frozenset(loads)
            alone[arcs] = max(alone.get(arcs, 0.0), cell.value)
        best = self._best.setdefault(record.interface, {})
        for name, load in loads.items():
            best[name] = max(best.get(name, 0.0), load)

    def _shares(self, best: Mapping[str, float]) -> dict[str, float]:
        """Returns the best fraction of the nominal rate reached by each kind of arc, at most 1."""
        shares: defaultdict[str, float] = defaultdict(float)
        for name, most in best.items():
            capacity = self._arcs[name].capacity
            if capacity:
                kind = _kind(self._arcs[name])
                shares[kind] = max(shares[kind], min(most / capacity, 1.0))
        return shares


def _kind(arc: Arc) -> str:
    """Returns `NVLink4`, `PCIe`, `xGMI`: link class without width."""
    return arc.kind.split(" ")[0]
