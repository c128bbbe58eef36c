"""What flows that run together should get, from what each gets alone and what the links carry.

The largest sum is a maximum flow with fixed routes (topology.capacity): no flow gets more than alone, and no
direction of a link carries more than it can. That is the most that was measured over it, or the best share
of its nominal rate that any link of its kind reached. Where flows share a link evenly the sum may be less
than the largest, so the even share (max-min fairness: D. Bertsekas and R. Gallager, Data Networks, 1992,
section 6.5.2) is predicted too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from byteways.analyse.claim import Claim
from byteways.analyse.compare import compare, summed
from byteways.analyse.results_index import Index
from byteways.analyse.summary import Cell
from byteways.plan.case import Flow
from byteways.plan.interfaces import INTERFACES, figure_of
from byteways.plan.peaks import arcs_of
from byteways.topology.capacity import Arc, maximum_flow

#: Below this part of the even share a sum is held back; less is what windows and starting together cost.
HELD_BACK = 0.97
#: Part of the time in which any flow ran that all of them must have run in.
LEAST_TOGETHER = 0.2
#: Patterns whose figure is no sum over all flows.
_NO_SUM = ("unidirectional", "interference")
#: Below this part of what is left a number is rounding.
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
    """A concurrent case: what each of its flows gets, alone, by even shares and together. All in bytes/s."""

    cell: Cell
    flows: tuple[Flow, ...]
    alone: tuple[float, ...]
    shares: tuple[float, ...]  # by max-min fairness
    rates: tuple[float, ...]  # measured
    most: float  # the maximum flow
    limits: tuple[
        str, ...
    ]  # arcs that limit it: `nvswitch>gpu0`; none where every flow gets what it gets alone
    claim: Claim  # what was measured beside the even shares

    @cached_property
    def carried(self) -> tuple[Carried, ...]:
        return _carried(self.flows, self.rates)

    @cached_property
    def even(self) -> float:
        """The sum of even shares."""
        return sum(self.shares)

    @property
    def kept(self) -> float:
        """Part of the even shares that was measured."""
        return self.cell.value / self.even

    @property
    def setting(self) -> tuple[object, ...]:
        """What must be equal for cases to meet the same limits."""
        record = self.cell.record
        memories = sorted({end.memory for flow in self.flows for end in (flow.source, flow.destination)})
        options = tuple(sorted((name, str(value)) for name, value in record.options.items()))
        environment = tuple(sorted(record.environment.items()))
        return record.interface, record.size_bytes, record.cache, options, environment, tuple(memories)

    @cached_property
    def held_back(self) -> bool:
        """Whether the sum is less than even shares allow, by more than the intervals do."""
        return self.claim.trails and self.cell.value < HELD_BACK * self.even

    @cached_property
    def slow(self) -> tuple[int, ...]:
        """Flows that get less than their share, by index."""
        pairs = zip(self.rates, self.shares, strict=True)
        return tuple(index for index, (rate, share) in enumerate(pairs) if rate < HELD_BACK * share)


@dataclass(frozen=True)
class Seen:
    """Flows that ran together at these rates in bytes/s: proof of what the resources they share can carry."""

    flows: tuple[Flow, ...]
    rates: tuple[float, ...]

    @cached_property
    def carried(self) -> tuple[Carried, ...]:
        return _carried(self.flows, self.rates)


@dataclass(frozen=True)
class Predictions:
    """Every concurrent case that could be predicted, how many could not, and all loads that were seen."""

    cases: tuple[Together, ...]
    lacking: int  # with a flow that was not measured alone
    seen: tuple[Seen, ...] = ()

    @property
    def held_back(self) -> list[Together]:
        return [case for case in self.cases if case.held_back]


def predictions(index: Index) -> Predictions:
    """Predicts the sums of a run's concurrent cases."""
    ways = _Ways(index)
    found, lacking = [], 0
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
        found.append(_together(cell, flows, alone, rates, ways))
    return Predictions(tuple(found), lacking, tuple(ways.seen))


def _together_long(cell: Cell) -> bool:
    """Whether the flows of a concurrent case ran together for long enough that their rates are of one time.

    Slow flows go on when fast ones have ended, so of the whole time it may be a small part.
    """
    return all(
        record.window_ns is None or record.window_ns >= LEAST_TOGETHER * (record.end_to_end_ns or 0.0)
        for record in cell.records
        if "serialised" not in {warning.id for warning in record.warnings}
    )


def _counted(interface: str) -> bool:
    """Whether its figure is bytes from source to destination, each counted once, on the one route there."""
    known = INTERFACES[interface]
    straight = known.buffers == "pair" and "relays" not in known.takes
    return figure_of(interface) == "bandwidth" and known.counts == "per-direction" and straight


def _rates(cell: Cell, flows: Sequence[Flow]) -> tuple[float, ...] | None:
    """Bytes/s of each flow, of the rounds that the sum is from; None where paths do not name the flows."""
    paths = [flow.path for flow in flows]
    if len(set(paths)) < len(paths) or set(paths) - set(cell.directions):
        return None
    return tuple(cell.directions[path] for path in paths)


def _together(
    cell: Cell, flows: tuple[Flow, ...], alone: Sequence[Cell], rates: tuple[float, ...], ways: _Ways
) -> Together:
    """A case with its predictions."""
    caps = tuple(part.value for part in alone)
    uses = [ways.of(flow) for flow in flows]
    capacities = ways.capacities(cell.record.interface, {name for use in uses for name in use})
    own = {_own(index): cap for index, cap in enumerate(caps)}
    bounded = [Counter({**use, _own(index): 1}) for index, use in enumerate(uses)]
    most, full = maximum_flow(bounded, {**capacities, **own})
    limits = tuple(name for name in full if name not in own)
    shares = even_shares(bounded, {**capacities, **own})
    claim = _beside_shares(cell, alone, sum(shares))
    return Together(cell, flows, caps, shares, rates, most, limits, claim)


def _beside_shares(cell: Cell, alone: Sequence[Cell], even: float) -> Claim:
    """What was measured beside the sum of even shares, which is as sure as what the flows get alone."""
    total = summed(alone)
    part = even / total.value
    expected = replace(total, value=even, low=total.low * part, high=total.high * part)
    names = "measured", "predicted"
    how = ("pattern", "counts")
    return compare(cell, expected, kind="contention", across=how, match=None, names=names)


def _own(index: int) -> str:
    """The name of the limit that a flow has by itself; no arc is called so."""
    return f"flow {index}"


def even_shares(uses: Sequence[Mapping[str, int]], capacities: Mapping[str, float]) -> tuple[float, ...]:
    """Rates that grow together until an arc is full, where its flows stop and the others go on.

    Args:
        uses: How often each flow crosses each arc; each crosses one that has a capacity.
        capacities: bytes/s by arc.
    """
    rates = [0.0] * len(uses)
    crossing: defaultdict[str, set[int]] = defaultdict(set)  # flows that go on growing, by arc
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
    """What each flow crosses, and what that can carry."""

    def __init__(self, index: Index) -> None:
        self._topology = index.topology
        self._arcs: dict[str, Arc] = {}
        self._uses: dict[tuple[str, str, str], Counter[str]] = {}
        self._best: dict[str, dict[str, float]] = {}  # by interface and arc
        self.seen: list[Seen] = []
        for cell in index.ranked:
            self._learn(cell)
        self._efficiency = {interface: self._shares(best) for interface, best in self._best.items()}

    def of(self, flow: Flow) -> Counter[str]:
        """How often a flow crosses each arc; empty where the topology knows no way."""
        key = flow.source.device, flow.executor, flow.destination.device
        if key not in self._uses:
            known = set(self._topology.names())
            way = (arcs_of(self._topology, flow) if known.issuperset(key) else None) or []
            self._arcs |= {arc.name: arc for arc in way}
            self._uses[key] = Counter(arc.name for arc in way)
        return self._uses[key]

    def capacities(self, interface: str, names: set[str]) -> dict[str, float]:
        """Bytes/s by arc: the most measured over it, or what its kind reaches of the nominal rate."""
        found = {}
        for name in names:
            arc, most = self._arcs[name], self._best.get(interface, {}).get(name, 0.0)
            if arc.capacity is not None:
                part = self._efficiency.get(interface, {}).get(_kind(arc), 1.0)
                found[name] = max(most, part * arc.capacity)
        return found

    def _learn(self, cell: Cell) -> None:
        """The load of each arc in a case, the greatest of which is known to be possible."""
        record = cell.record
        if not _counted(record.interface) or record.pattern == "interference" or not cell.stays:
            return
        flows = tuple(Flow.from_json(flow) for flow in record.flows)
        rates = (cell.value,) if len(flows) == 1 else _rates(cell, flows)
        if rates is None or "serialised" in cell.warning_ids:
            return
        self.seen.append(Seen(flows, rates))
        if cell.doubts:
            return  # enough to rule out a bottleneck, but no proof of a capacity
        loads: defaultdict[str, float] = defaultdict(float)
        for flow, rate in zip(flows, rates, strict=True):
            for name, times in self.of(flow).items():
                loads[name] += times * rate
        best = self._best.setdefault(record.interface, {})
        for name, load in loads.items():
            best[name] = max(best.get(name, 0.0), load)

    def _shares(self, best: Mapping[str, float]) -> dict[str, float]:
        """The best share of its nominal rate that an arc of each kind reached, at most all of it."""
        shares: defaultdict[str, float] = defaultdict(float)
        for name, most in best.items():
            capacity = self._arcs[name].capacity
            if capacity:
                kind = _kind(self._arcs[name])
                shares[kind] = max(shares[kind], min(most / capacity, 1.0))
        return shares


def _kind(arc: Arc) -> str:
    """`NVLink4`, `PCIe`, `xGMI`: link classes without their widths."""
    return arc.kind.split(" ")[0]
