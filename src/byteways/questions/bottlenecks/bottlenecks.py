"""Names the bottleneck of flows below prediction: the fewest shared resources that explain them.

A resource explains slow flows if their total load on it equals its capacity: the same in every case that it
limits, and not exceeded by any record of the run, whatever its interface and settings. Many resources would
fit a single case, so a bottleneck needs two. The result may be "unexplained".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from byteways.answers.results.summary import group_by
from byteways.cases.case import Flow
from byteways.machine.model import Topology
from byteways.questions.bottlenecks.prediction import Carried, Predictions, Together
from byteways.questions.bottlenecks.resources import Resource, Uses, resources

#: A resource counts as full from this fraction of its greatest observed load: the load grows slightly with
#: the number of flows (three H200 write 156 GB/s to host memory, four 163:
#: docs/reference/measured-h200x4.md).
FULL = 0.9
#: Least number of cases that a named resource must limit.
LEAST_CASES = 2
#: Maximum number of resources to explain one setting: more could explain anything.
MOST_RESOURCES = 5


@dataclass(frozen=True)
class Bottleneck:
    """A resource that limits flows. `names` includes others that the cases cannot distinguish from it."""

    resource: Resource
    names: tuple[str, ...]
    bytes_per_s: float  # its greatest load in any record: a limit that one of them passes would be none
    cases: tuple[Together, ...]
    example: Together  # the slowest of the cases with the fewest other bottlenecks


@dataclass(frozen=True)
class Explanation:
    """The cases of one setting below prediction, and the bottlenecks that explain them."""

    setting: tuple[object, ...]
    bottlenecks: tuple[Bottleneck, ...]
    unexplained: tuple[Together, ...]

    def of(self, case: Together) -> list[Bottleneck]:
        """Returns the bottlenecks of a case."""
        return [each for each in self.bottlenecks if case in each.cases]


def explanations(topology: Topology, predicted: Predictions) -> list[Explanation]:
    """Returns one per setting with a case below prediction; serialised flows are no evidence."""
    explanations_found = []
    cases = [case for case in predicted.cases if "serialised" not in case.cell.warning_ids]
    loads = _Loads(predicted)
    for setting, members in group_by(cases, lambda case: case.setting).items():
        if any(case.held_back for case in members):
            explanations_found.append(_explain(topology, setting, members, loads))
    return [
        _without_excluded_names(
            explanation, [other for other in explanations_found if other is not explanation]
        )
        for explanation in explanations_found
    ]


def _without_excluded_names(explanation: Explanation, others: Sequence[Explanation]) -> Explanation:
    """Removes names of a bottleneck that another setting rules out: kernels use no copy engine."""
    known = [set(bottleneck.names) for other in others for bottleneck in other.bottlenecks]
    kept = []
    for bottleneck in explanation.bottlenecks:
        names = bottleneck.names
        for other in known:
            names = tuple(name for name in names if name in other) or names
        kept.append(replace(bottleneck, names=names))
    return replace(explanation, bottlenecks=tuple(kept))


#: Flows of a case, as bits: bit 0 stands for its first flow.
_Bits = int


@dataclass(frozen=True)
class _Candidate:
    """A resource that may limit cases of one setting."""

    resource: Resource
    names: tuple[str, ...]
    capacity: float
    holds: tuple[_Bits, ...]  # by case: its flows that use a full member


@dataclass(frozen=True)
class _Below:
    """A case of a setting, with what is asked of it for every resource."""

    case: Together
    place: int
    held_back: bool
    slow: _Bits
    loads: dict[_Bits, float]  # bytes/s by flows

    def load(self, flows: _Bits) -> float:
        """Returns the rate of some flows together."""
        known = self.loads.get(flows)
        if known is None:
            known = self.loads[flows] = _sum(self.case.rates, flows)
        return known

    def holds(self, members: Sequence[_Bits], capacity: float) -> _Bits:
        """Returns the flows that use a full member: shared by several flows, and loaded to its capacity."""
        held = 0
        for flows in members:
            if flows & (flows - 1) and self.load(flows) >= FULL * capacity:
                held |= flows
        return held


def _sum(rates: Sequence[float], flows: _Bits) -> float:
    return sum(rate for index, rate in enumerate(rates) if flows >> index & 1)


def _explain(
    topology: Topology, setting: tuple[object, ...], cases: Sequence[Together], seen: _Loads
) -> Explanation:
    pairs = [case for case in cases if case.held_back and len(case.flows) == 2]
    below = [
        _Below(case, seen.place(case.carried), case.held_back, sum(1 << index for index in case.slow), {})
        for case in cases
    ]
    candidates = _candidates(resources(topology, cases, pairs), below, seen)
    held = [index for index, candidate in enumerate(below) if candidate.held_back]
    chosen = _chosen(candidates, below, held)
    explained = [index for index in held if _explained(chosen, below, index)]
    holding = {
        index: [candidate for candidate in chosen if candidate.holds[index] & below[index].slow]
        for index in explained
    }
    bottlenecks = []
    for candidate in chosen:
        mine = [index for index in explained if candidate in holding[index]]
        if not mine:
            continue
        example = min(mine, key=lambda index: (len(holding[index]), cases[index].kept))
        held_back = tuple(cases[index] for index in mine)
        bottlenecks.append(
            Bottleneck(candidate.resource, candidate.names, candidate.capacity, held_back, cases[example])
        )
    rest = tuple(cases[index] for index in held if index not in explained)
    return Explanation(setting, tuple(bottlenecks), rest)


def _chosen(
    candidates: Sequence[_Candidate], cases: Sequence[_Below], held: Sequence[int]
) -> list[_Candidate]:
    """Returns the fewest resources that explain most cases."""
    chosen: list[_Candidate] = []
    while len(chosen) < MOST_RESOURCES:
        best = max(
            candidates, key=lambda candidate: _score([*chosen, candidate], cases, held), default=None
        )  # among equals the first, which is the most specific
        if best is None or _score([*chosen, best], cases, held) <= _score(chosen, cases, held):
            break
        chosen.append(best)
    explained = [index for index in held if _explained(chosen, cases, index)]
    for each in list(chosen):  # remove those made redundant by later ones
        rest = [other for other in chosen if other is not each]
        if all(_explained(rest, cases, index) for index in explained):
            chosen = rest
    return [
        each
        for each in chosen
        if sum(bool(each.holds[index] & cases[index].slow) for index in explained) >= LEAST_CASES
    ]


def _candidates(all_resources: Sequence[Resource], cases: Sequence[_Below], seen: _Loads) -> list[_Candidate]:
    """Returns resources that could limit LEAST_CASES cases; merges equal users, keeping all names."""
    by_users: dict[object, _Candidate] = {}
    for resource in all_resources:
        members = [seen.users_of(uses) for uses in resource.uses]
        users = [[seen.indices(case.place, member) for member in members] for case in cases]
        if not _limits_enough(users, cases, 0.0):
            continue
        capacity = max(case.load(flows) for case, each in zip(cases, users, strict=True) for flows in each)
        if not _limits_enough(users, cases, capacity):
            continue
        capacity = max(capacity, seen.most(members))
        if not _limits_enough(users, cases, capacity):
            continue
        holds = tuple(case.holds(each, capacity) for case, each in zip(cases, users, strict=True))
        twin = by_users.get(holds)
        if twin is None:
            by_users[holds] = _Candidate(resource, (resource.name,), capacity, holds)
        elif twin.resource.family == resource.family and not resource.hidden:  # a known resource suffices
            by_users[holds] = replace(twin, names=(*twin.names, resource.name))
    return [*by_users.values()]


def _limits_enough(users: Sequence[Sequence[_Bits]], cases: Sequence[_Below], capacity: float) -> bool:
    """Whether members of this capacity would limit LEAST_CASES cases."""
    limited = 0
    for case, members in zip(cases, users, strict=True):
        limited += case.held_back and bool(case.holds(members, capacity) & case.slow)
        if limited == LEAST_CASES:
            return True
    return False


#: The flows that use a member of a resource, by devices, which alone decide: source, executor, destination.
_Users = frozenset[tuple[str, str, str]]


class _Loads:
    """The rates of all flows of a run, by the devices of the flows that ran together: records of the same
    devices, at other sizes or by other interfaces, use the same resources.
    """

    def __init__(self, predicted: Predictions) -> None:
        self._flows: dict[tuple[str, str, str], Flow] = {}  # one of each devices
        self._places: dict[tuple[tuple[str, str, str], ...], int] = {}
        self._devices: list[tuple[tuple[str, str, str], ...]] = []  # by place
        self._rates: list[list[tuple[float, ...]]] = []  # likewise
        self._users: dict[Uses, _Users] = {}
        self._indices: dict[tuple[int, _Users], _Bits] = {}
        self._loads: dict[tuple[int, _Bits], float] = {}  # by place, and flows
        self._most: dict[_Users, float] = {}
        for case in predicted.cases:
            self.place(case.carried)
        for each in predicted.seen:
            self._rates[self.place(each.carried)].append(each.rates)

    def place(self, carried: Sequence[Carried]) -> int:
        """Returns the number of these devices together."""
        devices = tuple([device for _, device, _ in carried])
        place = self._places.get(devices)
        if place is None:
            place = self._places[devices] = len(self._rates)
            self._rates.append([])
            self._devices.append(devices)
            self._flows |= {device: flow for flow, device, _ in carried}
        return place

    def users_of(self, uses: Uses) -> _Users:
        """Returns the devices of all flows of the run that use a member of a resource."""
        known = self._users.get(uses)
        if known is None:
            known = frozenset([devices for devices, flow in self._flows.items() if uses(flow)])
            self._users[uses] = known
        return known

    def indices(self, place: int, member: _Users) -> _Bits:
        """Returns which of the flows at a place use a member."""
        known = self._indices.get((place, member))
        if known is None:
            devices = self._devices[place]
            known = sum(1 << index for index, device in enumerate(devices) if device in member)
            self._indices[place, member] = known
        return known

    def most(self, members: Sequence[_Users]) -> float:
        """Returns the greatest load of a resource's member in any record, in bytes/s."""
        return max(map(self._most_of, members), default=0.0)

    def _most_of(self, member: _Users) -> float:
        if member not in self._most:
            places = [place for place, rates in enumerate(self._rates) if rates]
            loads = [self._load(place, self.indices(place, member)) for place in places]
            self._most[member] = max(loads, default=0.0)
        return self._most[member]

    def _load(self, place: int, flows: _Bits) -> float:
        """Returns the greatest load by these flows of a place in any record."""
        if (place, flows) not in self._loads:
            self._loads[place, flows] = max(_sum(each, flows) for each in self._rates[place])
        return self._loads[place, flows]


def _score(chosen: Sequence[_Candidate], cases: Sequence[_Below], held: Sequence[int]) -> tuple[int, int]:
    """Returns the numbers of explained cases and of slow flows that use something full."""
    whole = sum(_explained(chosen, cases, index) for index in held)
    flows = sum((_held_flows(chosen, index) & cases[index].slow).bit_count() for index in held)
    return whole, flows


def _explained(chosen: Sequence[_Candidate], cases: Sequence[_Below], index: int) -> bool:
    """Whether every slow flow uses something full."""
    slow = cases[index].slow
    return bool(chosen) and bool(slow) and not slow & ~_held_flows(chosen, index)


def _held_flows(chosen: Sequence[_Candidate], index: int) -> _Bits:
    held = 0
    for candidate in chosen:
        held |= candidate.holds[index]
    return held
